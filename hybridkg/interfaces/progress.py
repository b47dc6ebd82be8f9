"""Progress reports of long work; the command line draws a bar, other callers are silent."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives start, any number of advances, done, and perhaps the next start, from the working thread.

    Bytes are those of the file on disk (compressed, where it is), so `bytes so far / total_bytes` is the completed
    share.
    """

    def start(self, label: str, total_bytes: int | None) -> None:
        """Begins a piece of work: a file name or a step, and its size if known."""

    def advance(self, bytes_read: int, items: int) -> None:
        """Adds to the counts since the last call; both at least 0."""

    def done(self, items: int) -> None:
        """Ends the piece; `items` is its total."""


class _Silent:
    def start(self, label: str, total_bytes: int | None) -> None:
        pass

    def advance(self, bytes_read: int, items: int) -> None:
        pass

    def done(self, items: int) -> None:
        pass


SILENT: Progress = _Silent()
