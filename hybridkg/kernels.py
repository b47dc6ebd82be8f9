"""Decides when a compiled kernel is worth loading, and loads it.

Importing numba and a cached kernel costs about 0.4 s, compiling the largest of
them about ten seconds, once for each installation; numpy answers a single
query in far less. So the first queries of a process run on numpy; once they
have together read PATIENCE postings, the process is one that keeps asking, and
the kernel is loaded. Both give the same bits, so nobody can tell from a score
which one ran. A loaded kernel is quicker at every size, so it is then used for
everything.
"""

from __future__ import annotations

import logging
import threading
from importlib import import_module
from types import ModuleType
from typing import Any

PATIENCE = 3_000_000
"""Postings, or steps of like cost, that a process takes with numpy (about 0.12 s) before a kernel is loaded."""

_log = logging.getLogger(__name__)


class LazyKernel:
    """A module of numba kernels, imported when the work of this process has earned it.

    Args:
        module: dotted name; the module imports numba and compiles or loads its kernels when imported.
    """

    def __init__(self, module: str):
        self._name = module
        self._lock = threading.Lock()
        self._seen = 0
        self._module: ModuleType | None = None
        self._unavailable = False

    def for_work(self, postings: int) -> ModuleType | None:
        """The module, or None when numpy should do the work: too early, being loaded, or no numba here.

        Args:
            postings: how many the caller is about to read.
        """
        if self._module is None and not self._unavailable:
            self._seen += postings
            # While one thread loads, the others go on with numpy.
            if self._seen >= PATIENCE and self._lock.acquire(blocking=False):
                try:
                    self._load()
                finally:
                    self._lock.release()
        return self._module

    @property
    def loaded(self) -> ModuleType | None:
        """The module, if it is there already."""
        return self._module

    def load(self) -> ModuleType | None:
        """The module, loaded now; None where numba cannot be imported or cannot keep its cache."""
        with self._lock:
            self._load()
        return self._module

    def _load(self) -> None:
        if self._module is None and not self._unavailable:
            try:
                self._module = _import_with_cache(self._name)
            except (ImportError, RuntimeError, OSError) as e:
                self._unavailable = True
                _log.info("no compiled kernel %s, numpy does its work: %s", self._name, e)


def _import_with_cache(name: str) -> ModuleType:
    """Imports a kernel module; numba caches it in the user's cache folder unless NUMBA_CACHE_DIR says where."""
    from numba.core import config

    settings: Any = config
    before = settings.CACHE_DIR
    if not before:
        from hybridkg.resources import cache_dir

        folder = cache_dir()
        if folder is None:
            raise OSError("no folder for the cache of compiled kernels")
        settings.CACHE_DIR = str(folder / "numba")
    try:
        # numba picks the cache folder when a function is decorated, that is, during this import.
        return import_module(name)
    finally:
        settings.CACHE_DIR = before
