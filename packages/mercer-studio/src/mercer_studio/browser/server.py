"""The studio behind an address: this machine only, with a token, apart for every visitor."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from concurrent.futures import Future
from html import escape
from pathlib import Path
from typing import Any

import panel as pn
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler

from mercer_studio.browser.parts import css
from mercer_studio.browser.result_pages import SCHEME
from mercer_studio.browser.screen import Screen
from mercer_studio.browser.session import MAX_UPLOAD, Session
from mercer_studio.cli.tables import Memory

HOST = "127.0.0.1"
"""The server is not reached from other machines."""

# A file travels as text, a third longer than it is.
MAX_MESSAGE = int(1.4 * MAX_UPLOAD)

TEMPLATE = Path(__file__).with_name("page.html").read_text(encoding="utf-8")


class NoEntry(RequestHandler):
    """What is answered without the token."""

    def prepare(self) -> None:
        """Refuse every request."""
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("Open the address that 'mercer studio' printed: it has a token.\n")


def make_server(
    path: str | None = None,
    *,
    port: int = 0,
    token: str | None = None,
    memory: Memory | None = None,
    folder: Path | None = None,
    session: Session | None = None,
) -> Any:
    """Return a server that is not started, with the token in its address.

    Parameters
    ----------
    path : str, optional
        The table that every visitor begins with.
    port : int, default=0
        Any that is free by default.
    token : str, optional
        Drawn at random by default.
    memory : Memory, optional
        What every process of a visitor may take.
    folder : Path, optional
        Where files may be opened; the current one by default.
    session : Session, optional
        One for all pages, which stays when they are closed; by default each visitor has their own.
    """
    token = secrets.token_urlsafe(24) if token is None else token
    port = _free() if port == 0 else port
    place = Path.cwd() if folder is None else folder

    def page() -> Any:
        # Called for every visitor: what one loads is apart from what others load.
        screen = Screen(Session(memory) if session is None else session, folder=place)
        if path is not None:
            screen.open(path)
        made = pn.Template(TEMPLATE.replace("STYLE", css("page")).replace("SCHEME", SCHEME))
        made.add_panel("studio", screen.view)
        if session is None:
            pn.state.on_session_destroyed(lambda context: screen.close())
        pn.state.onload(send_at_once)
        screen.watch()
        return made

    origins = [f"{HOST}:{port}", f"localhost:{port}"]
    server: Any = pn.io.server.get_server(
        {f"/{token}": page},
        port=port,
        address=HOST,
        websocket_origin=origins,
        title="Mercer studio",
        show=False,
        start=False,
        verbose=False,
        use_index=False,
        redirect_root=False,
        extra_patterns=[(r"/", NoEntry)],
        websocket_max_message_size=MAX_MESSAGE,
        # Visitors who are gone are forgotten soon, and their processes end.
        unused_session_lifetime_milliseconds=10_000,
        check_unused_sessions_milliseconds=5_000,
    )
    server.studio_address = f"http://{HOST}:{port}/{token}"
    return server


def send_at_once() -> None:
    """Let small messages of the current session leave without waiting for each other.

    Bokeh's messages are several small packets, and Nagle's algorithm holds all but the first back
    until the browser has confirmed it, which takes 40 ms.
    """
    for connection in pn.state.curdoc.session_context.session._subscribed_connections:
        connection._socket.set_nodelay(True)


def address_of(server: Any) -> str:
    """Return the address of a server, with its token.

    Parameters
    ----------
    server : Server
        As :func:`make_server` returns it.
    """
    return str(server.studio_address)


def serve(
    path: str | None = None,
    *,
    port: int = 0,
    memory: Memory | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Run the studio until it is interrupted.

    Parameters
    ----------
    path : str, optional
        The table to begin with.
    port : int, default=0
        Any that is free by default.
    memory : Memory, optional
        What every process of a visitor may take.
    browser : bool, default=True
        Open the address in the browser of this machine.
    say : callable
        Where the address is said.
    """
    server = make_server(path, port=port, memory=memory)
    address = address_of(server)
    say(f"studio: {address}\nEnd it with Ctrl-C.")
    server.start()
    if browser:
        server.io_loop.call_later(0.5, lambda: webbrowser.open(address))
    loop: IOLoop = server.io_loop
    signal.signal(signal.SIGINT, lambda *_: loop.add_callback_from_signal(loop.stop))
    try:
        loop.start()
    finally:
        server.stop()
        sys.stdout.flush()


def _free() -> int:
    """Return a port that nobody listens to."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


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
