"""Data files of the package, and the user's cache folder.

Grammars, ontology and profiles are in `hybridkg/_data` of a wheel, or at the top level of a checkout. Parser tables and
compiled kernels are cached in a folder of the user only: a file that others can write is never loaded.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from hybridkg.errors import StorageError


def resource(*parts: str) -> Path:
    """Path of a shipped file, e.g. `resource("grammar", "hybrid.lark")`. Raises StorageError: it is missing."""
    package = Path(__file__).resolve().parent
    for base in (package / "_data", package.parent):
        path = base.joinpath(*parts)
        if path.exists():
            return path
    raise StorageError(f"the installation lacks {'/'.join(parts)!r}", hint="reinstall hybridkg")


def cache_dir() -> Path | None:
    """The user's cache folder of hybridkg, created with mode 0700; None if it is not writable.

    It is `$HYBRIDKG_CACHE`, else `hybridkg` in `$XDG_CACHE_HOME`, else in the platform's cache folder below the home
    directory. A folder that belongs to another user, or that others can write to, is not used.
    """
    path = _cache_path()
    if path is None:
        return None
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path if _is_ours(path) else None
    except OSError:
        return None


def _cache_path() -> Path | None:
    if chosen := os.environ.get("HYBRIDKG_CACHE"):
        return Path(chosen)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        # The XDG specification requires relative paths to be ignored.
        if (base := os.environ.get(variable)) and Path(base).is_absolute():
            return Path(base) / "hybridkg"
    with contextlib.suppress(RuntimeError):
        home = Path.home()
        return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "hybridkg"
    return None


def _is_ours(path: Path) -> bool:
    if not os.access(path, os.W_OK | os.X_OK):
        return False
    if sys.platform == "win32":
        return True
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
