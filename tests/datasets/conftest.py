"""A small server on this machine that has good, cut, altered and moved files."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Files(BaseHTTPRequestHandler):
    """Sends `server.files`; breaks off after `server.cut` bytes as often as it is told to."""

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        content = server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = 0
        if (wanted := self.headers.get("Range")) and server.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
        else:
            self.send_response(200)
        rest = content[start:]
        if server.says_length:
            self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if server.breaks > 0:
            server.breaks -= 1
            rest = rest[: server.cut]
        self.wfile.write(rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as found:
        found.files, found.asked = {}, []
        found.ranges, found.says_length, found.breaks, found.cut = True, True, 0, 1000
        found.address = f"http://127.0.0.1:{found.server_port}"
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()
