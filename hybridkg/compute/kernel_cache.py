"""Cache of compiled kernels: its folder, what is in it, and imports that read or fill it.

numba compares the file of a function with its cache, but not the files of functions that were inlined into it. So each
state of the sources has its own folder, in the user's cache folder or in NUMBA_CACHE_DIR, and in it one for each
processor and version of numba, which would replace the files of another. A module whose functions are all in the folder
has a mark there, written last, with the checksums of numba's files: what a killed process leaves behind, and what has
changed since, is compiled again, and not by the query that would load it.
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
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from hybridkg.storage.durable import checksum

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
                self._before, settings.CACHE_DIR = settings.CACHE_DIR, str(self._folder / machine_digest())
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
def machine_digest() -> str:
    """8 hexadecimal digits of the processor, and of the versions and settings of numba and Python.

    Raises:
        ImportError: there is no numba.
    """
    from llvmlite import binding

    try:
        version = metadata.version("numba")
    except metadata.PackageNotFoundError as e:
        raise ImportError("there is no numba", name="numba") from e
    chosen = [os.environ.get(f"NUMBA_{name}", "") for name in ("CPU_NAME", "CPU_FEATURES", "DISABLE_JIT")]
    features = binding.get_host_cpu_features().flatten()
    parts = [version, str(sys.implementation.cache_tag), binding.get_host_cpu_name(), features, *chosen]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


@cache
def state_digest() -> str:
    """8 hexadecimal digits of what numba stores machine code by, besides the text of the sources.

    These are the machine, as in `machine_digest`, and the places and times of the sources.

    Raises:
        ImportError: there is no numba.
        OSError: a source cannot be read.
    """
    places = [f"{path} {path.stat().st_mtime_ns}" for path in sorted(sources(PACKAGE))]
    return hashlib.sha256("\n".join([machine_digest(), *places]).encode()).hexdigest()[:8]


def mark_of(name: str) -> Path:
    """The file that says that all kernels of a module are in the cache, and in it the seconds that this took.

    Raises:
        ImportError, OSError: as `folder` and `state_digest`.
    """
    return folder() / f"{name}.{state_digest()}.compiled"


def write_mark(module: ModuleType, name: str, seconds: float) -> None:
    """Marks a module that has been imported as compiled: the seconds, then numba's files and their checksums."""
    mark = mark_of(name)
    lines = [
        f"{seconds:.1f}",
        *(f"{checksum(path)} {path.relative_to(folder()).as_posix()}" for path in _stored_files(module)),
    ]
    temporary = mark.with_name(f"{mark.name}.{os.getpid()}")
    temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    temporary.replace(mark)


def is_compiled(name: str) -> bool:
    """Whether all kernels of a module are in the cache, as they were stored. Raises as `mark_of`.

    A file that has been removed, damaged, or overwritten by another version of numba would be an error of the query
    that imports the module, or be compiled again by it, without a word and for seconds.
    """
    marked = _marked(name)
    return marked is not None and all(_is_whole(path, digest) for path, digest in marked)


def remove_damaged(name: str) -> None:
    """Removes what is left of a module whose files have changed, so that importing it compiles it. Raises as `mark_of`.

    numba raises an error of pickle for a damaged file.
    """
    for path, _ in _marked(name) or ():
        path.unlink(missing_ok=True)
    mark_of(name).unlink(missing_ok=True)


def _marked(name: str) -> list[tuple[Path, str]] | None:
    """numba's files of a marked module, and their checksums; None without a mark."""
    try:
        _, *lines = mark_of(name).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    return [(folder() / path, digest) for digest, _, path in (line.partition(" ") for line in lines)]


def _is_whole(path: Path, digest: str) -> bool:
    try:
        return checksum(path) == digest
    except OSError:
        return False


def seconds_of(name: str) -> float:
    """The seconds that the compilation of a compiled module took."""
    return float(mark_of(name).read_text(encoding="utf-8").partition("\n")[0])


def _stored_files(module: ModuleType) -> Iterator[Path]:
    """numba's files of the kernels of a module.

    Not those of functions that only kernels call: they are in the machine code of each kernel, and every kernel that is
    compiled later adds to their files.
    """
    for kernel in vars(module).values():
        folder = getattr(getattr(kernel, "stats", None), "cache_path", None)
        if folder is not None and kernel.__module__ == module.__name__ and not kernel._can_compile:
            source = module.__name__.rpartition(".")[2]
            name = f"{source}.{kernel.__qualname__}-{kernel.py_func.__code__.co_firstlineno}."
            yield from sorted(path for path in Path(folder).iterdir() if path.name.startswith(name))
