"""A bounded wait at the end of a write, for kernels that this process could have used and that are being compiled."""

from __future__ import annotations

import time
from contextlib import suppress

from hybridkg.compute import compilation
from hybridkg.compute.kernel_list import KERNELS
from hybridkg.interfaces.progress import Progress

MAX_WAIT = 15.0
"""Seconds in the life of a process; other processes then compile the rest, while this one goes on."""

LABEL = "compiling search kernels, once per installation"


_waits: list[float] = []
"""Seconds of each wait of this process."""


def await_kernels(progress: Progress) -> None:
    """Waits for the kernels, at most MAX_WAIT; not at all where none was missed. Ctrl-C ends only the wait."""
    left = MAX_WAIT - sum(_waits)
    if not compilation.has_asked() or left <= 0.0:
        return
    with suppress(ImportError, OSError):  # numpy does their work then
        ready = len(compilation.compiled())
        if ready == len(KERNELS) or not compilation.is_running():
            return
        progress.start(LABEL, len(KERNELS))
        progress.advance(ready, ready)
        before = ready

        def report(compiled: int) -> None:
            nonlocal before
            progress.advance(compiled - before, compiled - before)
            before = compiled

        began = time.monotonic()
        with suppress(KeyboardInterrupt):  # the write is complete
            compilation.wait(left, report)
        _waits.append(time.monotonic() - began)
        progress.done(before)
