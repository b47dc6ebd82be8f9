"""PENDING: settings that become live together with a generation.

CURRENT and kb.toml cannot be replaced in one step. So a writer first puts the new kb.toml here, with its generation
and the checksum of the kb.toml that it replaces. It is effective as soon as CURRENT names that generation; this or the
next writer then moves it into place. A kb.toml that was edited meanwhile has another checksum, and wins.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from hybridkg.storage.durable import fsync_folder, write_durably
from hybridkg.store.generations.settings_lock import settings_lock

NAME = "PENDING"


def write_pending(folder: Path, generation: str, settings: str) -> None:
    """Stores the text of a kb.toml that becomes effective when CURRENT names the generation."""
    value = {"generation": generation, "instead_of": _checksum(folder), "settings": settings}
    write_durably(folder / NAME, json.dumps(value) + "\n")


def pending_settings(folder: Path) -> str | None:
    """The text of an effective kb.toml that is not in its place yet; None where the file itself is effective."""
    try:
        value = json.loads((folder / NAME).read_text(encoding="utf-8"))
        live = (folder / "CURRENT").read_text(encoding="ascii").strip()
        if (value["generation"], value["instead_of"]) == (live, _checksum(folder)):
            return str(value["settings"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # missing or half-written: its generation never became live
    return None


def settle(folder: Path) -> None:
    """Moves effective pending settings into place, or removes others; for writers. Raises OSError."""
    with settings_lock(folder):
        settings = pending_settings(folder)
        if settings is not None:
            write_durably(folder / "kb.toml", settings)
    if (folder / NAME).exists():
        (folder / NAME).unlink()
        fsync_folder(folder)


def _checksum(folder: Path) -> str:
    """CRC-32 of kb.toml in hexadecimal digits; empty where it cannot be read."""
    try:
        return f"{zlib.crc32((folder / 'kb.toml').read_bytes()):08x}"
    except OSError:
        return ""
