"""Lazy loading of compiled kernels, when the work of a process pays for it and they are compiled.

Importing numba and a cached kernel costs about 0.4 s, compiling all of them 45 s, once for each installation; numpy
answers a single query in a fraction of that. So the first queries of a process run on numpy; once they have together
read LOAD_AFTER_POSTINGS postings, the kernel is loaded. Where it is not compiled yet, other processes compile it
(compilation.py), and numpy goes on until they have. Both give the same bits. A loaded kernel is faster at every size,
so it is then always used.
"""

from __future__ import annotations

import logging
import threading
import time
from types import ModuleType

from hybridkg.compute import compilation
from hybridkg.compute.kernel_cache import imported, is_compiled

LOAD_AFTER_POSTINGS = 3_000_000
"""Postings, or steps of like cost, that a process takes with numpy (about 0.12 s) before a kernel is loaded."""

LOOK_AGAIN = 0.2
"""Seconds after which a kernel that was not compiled is looked for again."""

_log = logging.getLogger(__name__)

_of_queries: list[LazyKernel] = []
"""Those that load in the background, because they answer queries."""


def load_for_queries() -> None:
    """Loads now, in this thread, the kernels that answer queries, where they are compiled: 0.5 to 2 s, once.

    A process that asks many queries calls it before the first one, which then has no thread beside it that imports.
    """
    for kernel in _of_queries:
        kernel.load_compiled()


class LazyKernel:
    """A module of numba kernels, imported after LOAD_AFTER_POSTINGS, if it is compiled.

    Args:
        module: dotted name, of KERNELS (kernel_list.py); importing it imports numba and compiles or loads its kernels.
        background: whether `for_work` loads it in a thread, while numpy goes on: for kernels that answer queries.
    """

    def __init__(self, module: str, *, background: bool = False):
        self._name, self._background = module, background
        self._lock = threading.Lock()
        self._seen = 0
        self._module: ModuleType | None = None
        self._unavailable = False
        self._look_at = 0.0
        if background:
            _of_queries.append(self)

    def for_work(self, postings: int) -> ModuleType | None:
        """The module, or None when numpy should read these postings: too early, not compiled or loaded, no numba."""
        if self._module is None and not self._unavailable:
            self._seen += postings
            if self._seen >= LOAD_AFTER_POSTINGS:
                return self.if_compiled()
        return self._module

    def if_compiled(self) -> ModuleType | None:
        """The module, which is loaded now if it is compiled; if not, lets it be compiled and returns None."""
        # One thread loads, the others continue with numpy.
        if self._module is None and time.monotonic() >= self._look_at and self._lock.acquire(blocking=False):
            if not self._is_compiled():
                self._lock.release()
            elif self._background:
                threading.Thread(target=self._load_locked, name="hybridkg-kernel").start()
            else:
                self._load_locked()
        return self._module

    def load_compiled(self) -> None:
        """Loads the module in this thread, if it is compiled; if not, lets it be compiled."""
        with self._lock:
            if self._module is None and self._is_compiled():
                self._load()

    @property
    def loaded(self) -> ModuleType | None:
        return self._module

    @property
    def is_pending(self) -> bool:
        """Whether it will serve this installation, and is not compiled yet."""
        return self._module is None and not self._is_compiled() and not self._unavailable

    def load(self) -> ModuleType | None:
        """The module, compiled and loaded now; None where numba cannot be imported or cannot write its cache."""
        with self._lock:
            self._load()
        return self._module

    def _is_compiled(self) -> bool:
        if self._unavailable:
            return False
        try:
            if is_compiled(self._name):
                return True
        except (ImportError, OSError) as e:
            self._give_up(e)
            return False
        compilation.ask()
        self._look_at = time.monotonic() + LOOK_AGAIN
        return False

    def _load_locked(self) -> None:
        try:
            self._load()
        finally:
            self._lock.release()

    def _load(self) -> None:
        if self._module is None and not self._unavailable:
            try:
                compilation.compile_here(self._name)
                self._module = imported(self._name)
            except (ImportError, RuntimeError, OSError) as e:
                self._give_up(e)

    def _give_up(self, e: Exception) -> None:
        self._unavailable = True
        _log.info("no compiled kernel %s, numpy does its work: %s", self._name, e)
