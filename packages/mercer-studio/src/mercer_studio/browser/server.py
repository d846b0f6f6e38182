"""The studio behind an address: this machine only, with a token, apart for every visitor."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler

from mercer_studio.browser.files import MAX_UPLOAD
from mercer_studio.browser.look import PAGE
from mercer_studio.browser.result_pages import SCHEME
from mercer_studio.browser.screen import Screen
from mercer_studio.browser.session import Session
from mercer_studio.cli.memory import Memory

__all__ = ["address_of", "make_server", "send_at_once", "serve"]

HOST = "127.0.0.1"
"""The server is not reached from other machines."""

# A file travels as text, a third longer than it is.
MAX_MESSAGE = int(1.4 * MAX_UPLOAD)

TEMPLATE = (
    """
{% extends base %}
{% block postamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<style>"""
    + PAGE
    + """</style>
{% endblock %}
{% block contents %}{{ embed(roots.studio) }}
<script>
const dark = matchMedia("(prefers-color-scheme: dark)");
const tell = () => {
  for (const one of (window.Bokeh || {documents: []}).documents)
    for (const model of one.all_models)
      if (model.title === """
    + f'"{SCHEME}"'
    + """) { model.value = dark.matches ? "dark" : "light"; return; }
  setTimeout(tell, 200);
};
tell();
dark.addEventListener("change", tell);
</script>
{% endblock %}
"""
)


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
        made = pn.Template(TEMPLATE)
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
