"""What long work reports while it runs; the command line draws a bar, everything else stays silent."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called from the thread that does the work: start, any number of advances, done; then perhaps the next start.

    Bytes are those of the file on disk (compressed, where it is), so `bytes so far / total_bytes` is the
    share done and rate and remaining time follow from it.
    """

    def start(self, label: str, total_bytes: int | None) -> None:
        """A piece of work begins: a file name or a step, and its size where it is known."""

    def advance(self, bytes_read: int, items: int) -> None:
        """What came since the last call; both at least 0."""

    def done(self, items: int) -> None:
        """The piece is finished; `items` is its total."""


class _Silent:
    def start(self, label: str, total_bytes: int | None) -> None:
        pass

    def advance(self, bytes_read: int, items: int) -> None:
        pass

    def done(self, items: int) -> None:
        pass


SILENT: Progress = _Silent()
"""Reports nothing."""
