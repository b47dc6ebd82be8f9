"""What the demo has written into a folder, so that it replaces only that and never somebody's own.

`.hybridkg-demo.json` beside the files has a SHA-256 of each as it was written; of a knowledge base, of what says what
is in it: kb.toml and the manifest of its live generation. What differs from its line there has been changed since.
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
"""Bytes of a note that are read."""


class Made:
    """The files of one folder that were made here.

    Args:
        folder: an existing folder.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._digests = _noted(folder / NOTE)

    def check(self, names: Iterable[str], texts: Mapping[str, str]) -> None:
        """Looks whether everything can be written without losing what somebody else wrote.

        Args:
            names: of all files and folders that will be written.
            texts: of those whose text is known already; a file with just that text may stay.

        Raises:
            UserError: something of another origin, or changed since, is in the way.
        """
        for name in names:
            path = self.folder / name
            found = _digest(path)
            if found is None or found == self._digests.get(name):
                continue
            if name in texts and found == _of(texts[name].encode()):
                continue
            why = "has been changed since the demo made it" if name in self._digests else "was not made by the demo"
            raise UserError(
                f"{str(path)!r} is there already and {why}; nothing has been written",
                hint="move it away, or give another folder: hybridkg demo FOLDER",
            )

    def note(self, name: str) -> None:
        """Remembers a file, or a knowledge base, as it is now.

        Raises:
            StorageError: the note cannot be written.
        """
        found = _digest(self.folder / name)
        if found is not None:
            self._digests[name] = found
        try:
            (self.folder / NOTE).write_text(json.dumps(self._digests, indent=1) + "\n", encoding="utf-8")
        except OSError as e:
            raise StorageError(f"cannot write {NOTE!r}: {e.strerror}", place=str(self.folder / NOTE)) from e


def _noted(path: Path) -> dict[str, str]:
    """What a note says; nothing where there is none that can be read, so that nothing is taken for the demo's."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(MAX_NOTE_LENGTH))
    except (OSError, ValueError, RecursionError):
        return {}
    return {str(name): str(digest) for name, digest in found.items()} if isinstance(found, dict) else {}


def _digest(path: Path) -> str | None:
    """Of a file or a knowledge base as it is now; None where nothing is there, empty for anything else."""
    try:
        if not path.exists() and not path.is_symlink():
            return None
        if path.is_file():
            return _of(path.read_bytes())
        folder = Folder.open(path)
        return _of((path / "kb.toml").read_bytes(), (path / folder.live_name() / MANIFEST).read_bytes())
    except (OSError, HybridkgError):
        return ""


def _of(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()
