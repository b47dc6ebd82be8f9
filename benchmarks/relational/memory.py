"""Memory of this process: all of it, and what is no file's."""

from __future__ import annotations

import resource
import threading
from pathlib import Path


def peak_mb() -> int:
    """Maximum resident memory of the process, mapped files included."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


class AnonymousMemory:
    """Maximum of the memory that is no file's, looked at every 20 ms."""

    def __init__(self) -> None:
        self._most, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            lines = Path("/proc/self/status").read_text().splitlines()
            self._most = max(self._most, *(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))

    def stop(self) -> int:
        """Megabytes."""
        self._over.set()
        self._thread.join()
        return round(self._most / 1000)
