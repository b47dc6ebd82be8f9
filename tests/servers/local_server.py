"""A server in a thread of the test, gone when its block ends."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class LocalHandler(BaseHTTPRequestHandler):
    """Answers by HTTP/1.1, each piece at once.

    Without TCP_NODELAY the second piece of an answer waits until the client has acknowledged the first, and clients
    delay that by 40 ms: a request took 50 ms of waiting and 1 ms of work.
    """

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


class LocalServer:
    """Answers on a port of this machine while the block of `with` lasts.

    Args:
        handler: answers a request.
        port: 0 for a free one.
    """

    def __init__(self, handler: type[LocalHandler], port: int = 0):
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
