"""A list of kernels whose compilation is a line in a file: for the test and for the processes that it starts."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import ModuleType

from hybridkg.compute import compilation, kernel_cache
from hybridkg.compute.kernel_list import Kernel

LOG = "compiled.txt"

KERNELS = (
    Kernel("first", "made.first"),
    Kernel("second", "made.second"),
    Kernel("third", "made.third", ("made.first", "made.second")),
    Kernel("fourth", "made.fourth", ("made.third",)),
    Kernel("fifth", "made.fifth"),
)


def use(folder: str | Path, *, seconds: float = 0.0, dies_at: str = "", fails_at: str = "") -> None:
    """Takes the list in place of the real one; the cache is in `folder`."""

    def imported(module: str) -> ModuleType:
        time.sleep(seconds)
        if module == dies_at:
            os._exit(9)
        if module == fails_at:
            raise RuntimeError(f"no {module}")
        with Path(folder, LOG).open("a", encoding="utf-8") as log:
            log.write(f"{module} {os.getpid()}\n")
        return sys.modules[__name__]

    compilation.KERNELS = KERNELS  # type: ignore[misc]
    kernel_cache.imported = imported
    kernel_cache.folder = lambda: Path(folder)  # type: ignore[assignment]
    kernel_cache.state_digest = lambda: "00000000"  # type: ignore[assignment]


def log_of(folder: str | Path) -> list[str]:
    """The modules that were compiled, in the order of time."""
    log = Path(folder, LOG)
    return [line.split()[0] for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
