"""Generations whose manifest is made to agree with a file that a test has changed, as if it had been written so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hybridkg.storage.durable import checksum
from hybridkg.store.generations.manifest import NAME, FileEntry, read_manifest


def reseal(generation: Path, name: str) -> None:
    """Writes the size and the checksum of a file into the manifest of its generation; removes a missing file there."""
    manifest, file = read_manifest(generation), generation / name
    files = {other: entry for other, entry in manifest.files.items() if other != name}
    if file.exists():
        files[name] = FileEntry(file.stat().st_size, checksum(file))
    (generation / NAME).write_text(replace(manifest, files=files).to_json(), encoding="utf-8")
