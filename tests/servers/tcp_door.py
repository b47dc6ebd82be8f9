"""A door before a real server, which a test closes or blocks while the server behind it serves the others."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Door:
    """Passes bytes between its own port and that of a server of this machine; used like one that is killed or paused.

    Args:
        port: of the server.
    """

    def __init__(self, port: int):
        self._behind = port
        self._listening: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._passing = threading.Event()
        self._passing.set()
        self._port = 0

    @property
    def url(self) -> str:
        """Its address; the same after `kill` and `start`."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """For the first time, or again after `kill`."""
        self._listening = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()
        return self

    def kill(self) -> None:
        """Connections end, and new ones are refused; may be called again."""
        if self._listening is not None:
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None
        self._cut()
        self._passing.set()

    def pause(self) -> None:
        """Connections stay, and nothing passes until `resume`."""
        self._passing.clear()

    def resume(self) -> None:
        """After `pause`; what was sent meanwhile does not arrive."""
        self._cut()
        self._passing.set()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                here = listening.accept()[0]
                self._open.add(here)
                there = socket.create_connection(("127.0.0.1", self._behind))
                self._open.add(there)
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._passing.wait()
                target.sendall(data)
        self._end(source, target)

    def _cut(self) -> None:
        self._end(*self._open)

    def _end(self, *ends: socket.socket) -> None:
        for one in ends:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            self._open.discard(one)
