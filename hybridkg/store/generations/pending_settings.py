"""PENDING: settings that become live with a generation, so that a crash leaves old index and old kb.toml, or both new.

CURRENT and kb.toml are two files, and only one can be replaced at once. So the new kb.toml is first written here,
with the generation that it belongs to and the checksum of the kb.toml that it replaces. From the moment in which
CURRENT names that generation it counts, wherever the settings are read; the writer then moves it to its place, or the
next writer does. Somebody who has edited kb.toml meanwhile is right: its checksum is another one.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from hybridkg.storage.durable import fsync_folder, write_durably

NAME = "PENDING"


def write_pending(folder: Path, generation: str, settings: str) -> None:
    """Leaves the text of a kb.toml, for when CURRENT names a generation."""
    value = {"generation": generation, "instead_of": _checksum(folder), "settings": settings}
    write_durably(folder / NAME, json.dumps(value) + "\n")


def pending_settings(folder: Path) -> str | None:
    """The text of the kb.toml that counts already and is not in its place; None where that file itself counts."""
    try:
        value = json.loads((folder / NAME).read_text(encoding="utf-8"))
        live = (folder / "CURRENT").read_text(encoding="ascii").strip()
        if (value["generation"], value["instead_of"]) == (live, _checksum(folder)):
            return str(value["settings"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # none, or half of one: then its generation never came to life
    return None


def settle(folder: Path) -> None:
    """Moves what is pending to its place, or removes it where it does not count. Only a writer may.

    Raises:
        OSError: the folder cannot be written.
    """
    settings = pending_settings(folder)
    if settings is not None:
        write_durably(folder / "kb.toml", settings)
    if (folder / NAME).exists():
        (folder / NAME).unlink()
        fsync_folder(folder)


def _checksum(folder: Path) -> str:
    """Of kb.toml; empty where it cannot be read."""
    try:
        return f"{zlib.crc32((folder / 'kb.toml').read_bytes()):08x}"
    except OSError:
        return ""
