"""Embedding cache: vectors by the hash of their text, from the live index and from the log of an interrupted run.

The log is appended to while an index is built and removed when the index is live. Its records have one size and a
checksum each; it is read up to the first damaged or incomplete record.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.encoder import Vectors

NAME = ".vector-work"
"""Folder of the log, in the folder of the knowledge base."""

HASH_BYTES = 32

MAX_BYTES = 8 << 30
"""Maximum size of a log that is continued; a longer one is started again. Five million vectors of 384 numbers."""

Hashes = NDArray[np.uint8]
"""uint8[n, HASH_BYTES]: SHA-256 of the UTF-8 of texts."""


def hashes(texts: Sequence[str]) -> Hashes:
    """uint8[n, HASH_BYTES]: the hash of each text.

    >>> hashes(["abc"])[0, :3].tobytes().hex()
    'ba7816'
    """
    joined = b"".join(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts)
    return np.frombuffer(joined, np.uint8).reshape(-1, HASH_BYTES)


class CachedEmbeddings:
    """Vectors by the hash of their text: texts uint8[n, HASH_BYTES], vectors float32[n, at least dimensions]."""

    def __init__(self, texts: Hashes, vectors: Vectors):
        self._texts, self._vectors = texts, vectors
        first = _first_bytes(texts)
        self._order = np.argsort(first, kind="stable")
        self._sorted = first[self._order]

    def places(self, texts: Hashes) -> NDArray[np.int64]:
        """int64[n]: the row of each vector; -1 for none.

        Of two texts whose hashes share the first 8 bytes only one is found; the other is encoded again.
        """
        if not len(self._sorted):
            return np.full(len(texts), -1)
        at = np.minimum(np.searchsorted(self._sorted, _first_bytes(texts)), len(self._sorted) - 1)
        rows = self._order[at]
        return np.where((self._texts[rows] == texts).all(axis=1), rows, -1)

    def fill(self, texts: Hashes, target: Vectors, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Copies the cached vectors into the wanted rows of float32[n, dimensions].

        Returns:
            bool[wanted rows], whether each was cached.
        """
        rows = self.places(texts[wanted])
        cached = rows >= 0
        target[np.flatnonzero(wanted)[cached]] = self._take(rows[cached])[:, : target.shape[1]]
        return cached

    def _take(self, rows: NDArray[np.int64]) -> Vectors:
        """float32[n, at least dimensions] of some rows."""
        return self._vectors[rows]


def _first_bytes(texts: Hashes) -> NDArray[np.uint64]:
    return np.ascontiguousarray(texts[:, :8]).view(np.uint64).reshape(-1)


class EmbeddingLog:
    """Log of the vectors of one encoder, in a folder that is made; logs of other encoders in it are removed."""

    def __init__(self, folder: Path, encoder: str, dimensions: int):
        folder.mkdir(exist_ok=True)
        name = hashlib.sha256(f"{encoder} {dimensions}".encode()).hexdigest()[:16]
        path = folder / f"{name}.log"
        for other in folder.glob("*.log"):
            if other != path:
                other.unlink(missing_ok=True)
        self._record = np.dtype([("text", "u1", HASH_BYTES), ("vector", "<f4", dimensions), ("check", "<u4")])
        self._file = path.open("a+b")
        self.known = self._read(path)

    def _read(self, path: Path) -> CachedEmbeddings:
        size = path.stat().st_size
        whole = 0 if size > MAX_BYTES else size // self._record.itemsize
        records: NDArray[Any] = np.zeros(0, self._record)
        if whole:
            records = np.memmap(path, self._record, "r", shape=(whole,))
            covered = self._record.itemsize - 4
            intact = (zlib.crc32(record.tobytes()[:covered]) == record["check"] for record in records)
            records = records[: next((i for i, good in enumerate(intact) if not good), whole)]
        self._file.truncate(len(records) * self._record.itemsize)
        return CachedEmbeddings(np.asarray(records["text"]), np.asarray(records["vector"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def append(self, texts: Hashes, vectors: Vectors) -> None:
        """Appends records; they survive the end of this process."""
        records = np.zeros(len(texts), self._record)
        records["text"], records["vector"] = texts, vectors
        covered = self._record.itemsize - 4
        records["check"] = [zlib.crc32(record.tobytes()[:covered]) for record in records]
        self._file.write(records.tobytes())
        self._file.flush()


def remove_logs(folder: Path) -> None:
    """Removes the logs, and the folder unless it has other files."""
    with suppress(OSError):
        for log in folder.glob("*.log"):
            log.unlink(missing_ok=True)
        folder.rmdir()
