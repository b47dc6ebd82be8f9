"""Lazy loading of compiled kernels, when the work of a process pays for it.

Importing numba and a cached kernel costs about 0.4 s, compiling the largest of them about ten seconds, once for each
installation; numpy answers a single query in a fraction of that. So the first queries of a process run on numpy; once
they have together read LOAD_AFTER_POSTINGS postings, the kernel is loaded. Both give the same bits. A loaded kernel is
faster at every size, so it is then always used.
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
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

LOAD_AFTER_POSTINGS = 3_000_000
"""Postings, or steps of like cost, that a process takes with numpy (about 0.12 s) before a kernel is loaded."""

PACKAGE = Path(__file__).resolve().parents[1]

BEGAN = time.time()

CACHES = "hybridkg-kernels-"
"""Prefix of the folders of compiled kernels."""

MAX_UNUSED_DAYS = 30

_log = logging.getLogger(__name__)


class LazyKernel:
    """A module of numba kernels, imported after LOAD_AFTER_POSTINGS.

    Args:
        module: dotted name; the module imports numba and compiles or loads its kernels when imported.
        background: whether `for_work` loads it in a thread, while numpy goes on: for kernels that answer queries and
            take half a minute to compile.
    """

    def __init__(self, module: str, *, background: bool = False):
        self._name, self._background = module, background
        self._lock = threading.Lock()
        self._seen = 0
        self._module: ModuleType | None = None
        self._unavailable = False

    def for_work(self, postings: int) -> ModuleType | None:
        """The module, or None when numpy should read these postings: too early, being loaded, or no numba."""
        if self._module is None and not self._unavailable:
            self._seen += postings
            # One thread loads, the others continue with numpy.
            if self._seen >= LOAD_AFTER_POSTINGS and self._lock.acquire(blocking=False):
                if self._background:
                    threading.Thread(target=self._load_locked, name="hybridkg-kernel").start()
                else:
                    self._load_locked()
        return self._module

    @property
    def loaded(self) -> ModuleType | None:
        return self._module

    def load(self) -> ModuleType | None:
        """The module, loaded now; None where numba cannot be imported or cannot write its cache."""
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
    """numba's cache folder while kernels are imported, possibly by several threads.

    numba compares the file of a function with its cache, but not the files of functions that were inlined into it. So
    each state of the sources has its own folder.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users, self._before = 0, ""
        self._folder, self._sources = Path(), frozenset[Path]()

    def __enter__(self) -> None:
        from numba.core import config

        settings: Any = config
        with self._lock:
            if not self._users:
                current = sources(PACKAGE)
                _refuse_if_changed(current)
                self._folder = _folder_for(f"{CACHES}{digest_of(current, PACKAGE)}", settings.CACHE_DIR)
                self._sources = frozenset(current)
                self._before, settings.CACHE_DIR = settings.CACHE_DIR, str(self._folder)
            self._users += 1

    def check(self) -> None:
        """Verifies that the compiled sources are those of the folder's name; removes the folder otherwise.

        Raises:
            OSError: the sources have changed meanwhile.
        """
        try:
            _refuse_if_changed(self._sources)
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __exit__(self, *raised: object) -> None:
        from numba.core import config

        settings: Any = config
        with self._lock:
            self._users -= 1
            if not self._users:
                settings.CACHE_DIR = self._before


def sources(package: Path) -> dict[Path, bytes]:
    """Sources of the kernels: the files of a package folder with `kernel` in their names, and their imports of it."""
    imported = re.compile(rf"^from ({package.name}[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
    contents: dict[Path, bytes] = {}
    waiting = list(package.rglob("*kernel*.py"))
    while waiting:
        path = waiting.pop()
        if path not in contents and path.is_file():
            contents[path] = path.read_bytes()
            for module, names in imported.findall(contents[path].decode()):
                base = package.parent.joinpath(*module.split("."))
                for one in (base, *(base / name for name in re.findall(r"\w+", names))):
                    waiting += [one.with_suffix(".py"), one / "__init__.py"]
    return contents


def digest_of(found: Mapping[Path, bytes], package: Path) -> str:
    """16 hexadecimal digits of the paths and contents."""
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.relative_to(package).as_posix()} {len(found[path])}\n".encode() + found[path])
    return digest.hexdigest()[:16]


def _refuse_if_changed(found: Iterable[Path]) -> None:
    # Modules that are imported already have the old sources, and would be cached as if compiled from the new ones.
    for path in found:
        state = path.stat()
        if max(state.st_mtime, state.st_ctime) > BEGAN:
            raise OSError(f"{path} has changed since this process began")


def _folder_for(name: str, chosen: str) -> Path:
    """Cache folder: the user's choice, or in the user's cache folder.

    Raises:
        OSError: neither is writable.
    """
    from hybridkg.resources import cache_dir

    own = cache_dir()
    for parent in (Path(chosen) if chosen else None, None if own is None else own / "numba"):
        if parent is not None:
            folder = parent / name
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                if os.access(folder, os.W_OK | os.X_OK):
                    _remove_old(folder)
                    return folder
            _log.info("compiled kernels cannot be cached in %s", folder)
    raise OSError("no folder for the cache of compiled kernels")


def _remove_old(folder: Path) -> None:
    """Removes the folders of other states of the sources, unused for MAX_UNUSED_DAYS."""
    with contextlib.suppress(OSError):  # a folder that cannot be listed is used all the same
        os.utime(folder)
        for other in folder.parent.iterdir():
            is_ours = (
                re.fullmatch(rf"{CACHES}[0-9a-f]{{16}}", other.name) and not other.is_symlink() and other != folder
            )
            if is_ours and other.stat().st_mtime < time.time() - MAX_UNUSED_DAYS * 86_400:
                shutil.rmtree(other, ignore_errors=True)


_cache_folder = _CacheFolder()


def _import_with_cache(name: str) -> ModuleType:
    """Imports a kernel module; numba caches it in the user's cache folder or in NUMBA_CACHE_DIR."""
    # numba chooses the cache folder when a function is decorated, that is, during this import.
    with _cache_folder:
        module = import_module(name)
        _cache_folder.check()
        return module
