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

import contextlib
import hashlib
import logging
import os
import re
import shutil
import threading
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PATIENCE = 3_000_000
"""Postings, or steps of like cost, that a process takes with numpy (about 0.12 s) before a kernel is loaded."""

PACKAGE = Path(__file__).resolve().parent

CACHES = "hybridkg-"
"""How the folders of compiled kernels begin."""

KEPT_DAYS = 30

_log = logging.getLogger(__name__)


class LazyKernel:
    """A module of numba kernels, imported when the work of this process has earned it.

    Args:
        module: dotted name; the module imports numba and compiles or loads its kernels when imported.
        behind: whether `for_work` loads it in a thread of its own, while numpy goes on: for what answers queries, and
            takes half a minute to be compiled.
    """

    def __init__(self, module: str, *, behind: bool = False):
        self._name, self._behind = module, behind
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
                if self._behind:
                    threading.Thread(target=self._load_locked, name="hybridkg-kernel").start()
                else:
                    self._load_locked()
        return self._module

    @property
    def loaded(self) -> ModuleType | None:
        """The module, if it is there already."""
        return self._module

    @property
    def settled(self) -> bool:
        """Whether it is there, or will never be: from now on the same work takes the same time."""
        return self._module is not None or self._unavailable

    def load(self) -> ModuleType | None:
        """The module, loaded now; None where numba cannot be imported or cannot keep its cache."""
        with self._lock:
            self._load()
        return self._module

    def _load_locked(self) -> None:
        try:
            self._load()
        finally:
            self._lock.release()

    def _load(self) -> None:
        if self._module is None and not self._unavailable:
            try:
                self._module = _import_with_cache(self._name)
            except (ImportError, RuntimeError, OSError) as e:
                self._unavailable = True
                _log.info("no compiled kernel %s, numpy does its work: %s", self._name, e)


class _CacheFolder:
    """numba's setting of its cache folder, while kernels are imported; several threads may do so at a time.

    numba looks at the file of a function only to tell whether what it has cached is still the same; functions of other
    files that were compiled into it may have changed since. So each state of the sources has a folder of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users, self._before = 0, ""

    def __enter__(self) -> None:
        from numba.core import config

        settings: Any = config
        with self._lock:
            if not self._users:
                folder = _folder_of_caches(settings.CACHE_DIR) / f"{CACHES}{digest_of_sources(PACKAGE)}"
                _prepare(folder)
                self._before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)
            self._users += 1

    def __exit__(self, *raised: object) -> None:
        from numba.core import config

        settings: Any = config
        with self._lock:
            self._users -= 1
            if not self._users:
                settings.CACHE_DIR = self._before


def digest_of_sources(package: Path) -> str:
    """16 hexadecimal digits of all that kernels are compiled from: their files, and what these import of the package.

    Args:
        package: folder of the package; files with `kernel` in their names have kernels.
    """
    imported = re.compile(rf"^from ({package.name}[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
    found: dict[Path, bytes] = {}
    waiting = list(package.rglob("*kernel*.py"))
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found[path] = path.read_bytes()
            for module, names in imported.findall(found[path].decode()):
                here = package.parent.joinpath(*module.split("."))
                waiting += [here.with_suffix(".py"), here / "__init__.py"]
                waiting += [here / f"{name}.py" for name in re.findall(r"\w+", names)]
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.relative_to(package).as_posix()} {len(found[path])}\n".encode() + found[path])
    return digest.hexdigest()[:16]


def _folder_of_caches(chosen: str) -> Path:
    if chosen:
        return Path(chosen)
    from hybridkg.resources import cache_dir

    folder = cache_dir()
    if folder is None:
        raise OSError("no folder for the cache of compiled kernels")
    return folder / "numba"


def _prepare(folder: Path) -> None:
    """Makes the folder of a state of the sources, and removes those of others that nobody has used for KEPT_DAYS."""
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for other in folder.parent.glob(f"{CACHES}*"):
        with contextlib.suppress(OSError):
            if other.stat().st_mtime < time.time() - KEPT_DAYS * 86_400:
                shutil.rmtree(other, ignore_errors=True)


_cache_folder = _CacheFolder()


def _import_with_cache(name: str) -> ModuleType:
    """Imports a kernel module; numba caches it in the user's cache folder unless NUMBA_CACHE_DIR says where."""
    # numba picks the cache folder when a function is decorated, that is, during this import.
    with _cache_folder:
        return import_module(name)
