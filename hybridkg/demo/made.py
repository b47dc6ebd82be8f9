"""Record of the files that the demo has written into a folder, so that it overwrites no others.

`.hybridkg-demo.json` has the SHA-256 of each file as written, and for a knowledge base that of kb.toml and the manifest
of its live generation. A file with another digest has been changed since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from hybridkg.errors import HybridkgError, StorageError, UserError
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.manifest import NAME as MANIFEST

NOTE = ".hybridkg-demo.json"
MAX_NOTE_LENGTH = 1 << 20
"""Bytes of the record that are read."""


class Made:
    """The record of one existing folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._digests = _read_record(folder / NOTE)

    def check(self, names: Iterable[str], texts: Mapping[str, str]) -> None:
        """Checks that writing `names` overwrites no file of other origin, unless it has its future text already.

        Raises:
            UserError: a file of other origin, or changed since, is in the way.
        """
        for name in names:
            path = self.folder / name
            digest = _digest(path)
            if digest is None or digest == self._digests.get(name):
                continue
            if name in texts and digest == _sha256(texts[name].encode()):
                continue
            why = "has been changed since the demo made it" if name in self._digests else "was not made by the demo"
            raise UserError(
                f"{str(path)!r} exists and {why}; nothing has been written",
                hint="move it, or choose another folder: hybridkg demo FOLDER",
            )

    def note(self, name: str) -> None:
        """Records the present state of a file or a knowledge base.

        Raises:
            StorageError: the record cannot be written.
        """
        digest = _digest(self.folder / name)
        if digest is not None:
            self._digests[name] = digest
        try:
            (self.folder / NOTE).write_text(json.dumps(self._digests, indent=1) + "\n", encoding="utf-8")
        except OSError as e:
            raise StorageError(f"cannot write {NOTE!r}: {e.strerror}", place=str(self.folder / NOTE)) from e


def _read_record(path: Path) -> dict[str, str]:
    """Digests by name; empty if the record cannot be read, so that no file counts as the demo's."""
    try:
        with path.open("rb") as file:
            record = json.loads(file.read(MAX_NOTE_LENGTH))
    except (OSError, ValueError, RecursionError):
        return {}
    return {str(name): str(digest) for name, digest in record.items()} if isinstance(record, dict) else {}


def _digest(path: Path) -> str | None:
    """The digest of a file or a knowledge base; None if the path does not exist, empty for anything else."""
    try:
        if not path.exists() and not path.is_symlink():
            return None
        if path.is_file():
            return _sha256(path.read_bytes())
        folder = Folder.open(path)
        return _sha256((path / "kb.toml").read_bytes(), (path / folder.live_name() / MANIFEST).read_bytes())
    except (OSError, HybridkgError):
        return ""


def _sha256(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()
