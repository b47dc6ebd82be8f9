"""Finds the data files that travel with the package, and the folder for what can be computed again.

In a wheel the grammars, the ontology and the profiles lie under
`hybridkg/_data`; in a checkout at the top level. Parser tables and compiled
kernels are kept in the user's own cache directory, never in a shared one:
a file that somebody else can write is never loaded.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from hybridkg.errors import StorageError


def resource(*parts: str) -> Path:
    """Path of a shipped file or folder, e.g. `resource("grammar", "hybrid.lark")`.

    Raises:
        StorageError: neither place has it, so the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for base in (package / "_data", package.parent):
        path = base.joinpath(*parts)
        if path.exists():
            return path
    raise StorageError(f"the installation lacks {'/'.join(parts)!r}", hint="reinstall hybridkg")


def cache_dir() -> Path | None:
    """The user's cache folder of hybridkg, made with mode 0700 if it was missing; None where nothing is writable.

    `$HYBRIDKG_CACHE` names it exactly. Otherwise it is `hybridkg` inside
    `$XDG_CACHE_HOME`, or inside the platform's cache folder under the home
    directory. A folder that belongs to another user, or that others can write
    to, is not used.
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
        # The XDG specification says to ignore a relative path.
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
