"""The studio: a table seen, fitted and understood in the browser; it needs the extra ``studio``."""

from typing import Any

from mercer._lazily import lazily

__all__ = ["app", "serve"]

_serve = lazily("mercer_studio.browser.server", "serve")
_view = lazily("mercer_studio.browser.server", "NotebookView")
_session = lazily("mercer_studio.browser.session", "Session")


def app(X: Any = None, y: Any = None, *, height: int = 900, port: int = 0, **settings: Any) -> Any:
    """Return the studio as a part of a notebook, with its session.

    Parameters
    ----------
    X : data frame, array or path, optional
        A table.
    y : array, optional
        Targets; without them a column of the table is chosen.
    height : int, default=900
        Of the frame, in pixels.
    port : int, default=0
        Of this machine; any that is free by default. Where the notebook runs on another machine
        than the browser, forward this port.
    **settings : object
        Of the question: `target`, `task`, `drop`, `categorical`, `gaps`, as in
        :meth:`mercer_studio.browser.session.Session.prepare`.

    Returns
    -------
    NotebookView
        Shown by a notebook. Its `session` holds what was done: ``view.session.value("fit").model``
        is the model.

    Examples
    --------
    >>> import mercer_studio.browser
    >>> view = mercer_studio.browser.app([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> type(view).__name__
    'NotebookView'
    >>> view.close()
    """
    session = _session()
    if X is not None:
        session.load(X, y)
        if y is not None:
            settings = {"target": str(getattr(y, "name", None) or "target"), **settings}
        session.prepare(**settings)
    return _view(session, height=height, port=port)


def serve(path: str | None = None, **how: Any) -> None:
    """Run the studio on this machine until it is interrupted, as ``mercer studio`` does.

    Parameters
    ----------
    path : str, optional
        The table to begin with, in the current folder.
    **how : object
        `port`, `memory` and `browser`, see :func:`mercer_studio.browser.server.serve`.
    """
    _serve(path, **how)
