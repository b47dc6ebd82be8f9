"""Cache of compiled kernels: its folder, what is in it, and imports that read or fill it.

numba compares the file of a function with its cache, but not the files of functions that were inlined into it. So each
state of the sources has its own folder, in the user's cache folder or in NUMBA_CACHE_DIR. A module whose functions are
all in the folder has a mark there, written last: what a killed process leaves behind is compiled again, not loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]

BEGAN = time.time()

CACHES = "hybridkg-kernels-"
"""Prefix of the folders of compiled kernels."""

MAX_UNUSED_DAYS = 30

_log = logging.getLogger(__name__)


class _CacheFolder:
    """numba's cache folder while kernels are imported, possibly by several threads."""

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
                self._folder = _folder_for(f"{CACHES}{digest_of(current, PACKAGE)}")
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


def _folder_for(name: str) -> Path:
    """Cache folder: the user's choice, NUMBA_CACHE_DIR, or in the user's cache folder.

    Raises:
        OSError: neither is writable.
    """
    from hybridkg.resources import cache_dir

    chosen, own = os.environ.get("NUMBA_CACHE_DIR"), cache_dir()
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


def imported(name: str) -> ModuleType:
    """Imports a kernel module, which loads its kernels from the cache, or compiles and stores them.

    Raises:
        ImportError: there is no numba.
        OSError: no folder can be written, or the sources have changed since this process began.
    """
    # numba chooses the cache folder when a function is decorated, that is, during this import.
    with _cache_folder:
        module = import_module(name)
        _cache_folder.check()
        return module


@cache
def folder() -> Path:
    """The cache folder of the sources as they are.

    Raises:
        OSError: none can be written, or the sources have changed since this process began.
    """
    current = sources(PACKAGE)
    _refuse_if_changed(current)
    return _folder_for(f"{CACHES}{digest_of(current, PACKAGE)}")


@cache
def state_digest() -> str:
    """8 hexadecimal digits of what numba stores machine code by, besides the text of the sources.

    These are the places and times of the sources, the processor, and the versions of numba and Python.

    Raises:
        ImportError: there is no numba.
        OSError: a source cannot be read.
    """
    from llvmlite import binding

    try:
        version = metadata.version("numba")
    except metadata.PackageNotFoundError as e:
        raise ImportError("there is no numba", name="numba") from e
    chosen = [os.environ.get(f"NUMBA_{name}", "") for name in ("CPU_NAME", "CPU_FEATURES", "DISABLE_JIT")]
    features = binding.get_host_cpu_features().flatten()
    places = [f"{path} {path.stat().st_mtime_ns}" for path in sorted(sources(PACKAGE))]
    parts = [version, str(sys.implementation.cache_tag), binding.get_host_cpu_name(), features, *chosen, *places]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def mark_of(name: str) -> Path:
    """The file that says that all kernels of a module are in the cache, and in it the seconds that this took.

    Raises:
        ImportError, OSError: as `folder` and `state_digest`.
    """
    return folder() / f"{name}.{state_digest()}.compiled"


def is_compiled(name: str) -> bool:
    """Whether all kernels of a module are in the cache. Raises as `mark_of`."""
    return mark_of(name).exists()
