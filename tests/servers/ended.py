"""Whether a process that nobody waits for comes to its end."""

from __future__ import annotations

import os
import time


def assert_ends(pid: int, seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the process lives on")
