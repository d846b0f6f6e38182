"""Show the studio in a cell of a notebook: a frame around a page of this machine."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from html import escape
from typing import Any

from mercer_studio.browser.server import address_of, make_server
from mercer_studio.browser.session import Session

__all__ = ["NotebookView"]


class NotebookView:
    """A studio that a notebook shows, and its session.

    The page is the one of ``mercer studio``: it asks nobody but this machine for anything, while
    widgets that a notebook holds itself would ask others for their styles.

    Parameters
    ----------
    session : Session
        What is worked on, by every page that is opened.
    height : int, default=900
        Of the frame, in pixels.
    port : int, default=0
        Any that is free by default. Where the notebook runs on another machine than the browser,
        forward this port.

    Examples
    --------
    >>> view = NotebookView(Session())
    >>> view.address.startswith("http://127.0.0.1:")
    True
    >>> view.close()
    """

    def __init__(self, session: Session, *, height: int = 900, port: int = 0) -> None:
        self.session, self.height = session, height
        started: Future[Any] = Future()
        self._thread = threading.Thread(target=_serve, args=(session, port, started), daemon=True)
        self._thread.start()
        self._server = started.result()
        self.address = address_of(self._server)

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{escape(self.address)}" title="Mercer studio" width="100%" '
            f'height="{self.height}" style="border: 0"></iframe>'
        )

    def close(self) -> None:
        """End the server and the processes of the session."""
        self._server.io_loop.add_callback(self._server.io_loop.stop)
        self._thread.join()
        self.session.close()


def _serve(session: Session, port: int, started: Future[Any]) -> None:
    """Serve pages of a session until the loop of this thread is stopped."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        server = make_server(port=port, session=session)
        server.start()
    except BaseException as error:
        started.set_exception(error)
    else:
        started.set_result(server)
        server.io_loop.start()
        server.stop()
    finally:
        loop.close()
