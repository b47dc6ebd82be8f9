"""Finds the data files that travel with the package: grammars, the ontology, profiles.

In a wheel they lie under `hybridkg/_data`; in a checkout at the top level.
"""

from __future__ import annotations

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
