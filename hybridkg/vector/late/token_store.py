"""Stored token vectors of documents, by the hash of their text: segments of memory-mapped arrays in one folder.

A vector of length 1 is stored as whole numbers of one byte and the factor that they are multiplied with: a quarter of
float32. A segment is written whole or not at all, so an interrupted run goes on behind the last one, and a later run
adds the texts that are new. A text whose hash is not stored has no vectors here; so stored vectors are never of an
earlier text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError, CorruptError, StorageError
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.storage.arrays import FolderLayout, MappedArrays, Writer
from hybridkg.vector.encoders.embedding_cache import HASH_BYTES, CachedEmbeddings, hashes
from hybridkg.vector.late.token_model import TokenModel

LAYOUT = FolderLayout("hybridkg token vectors", 1, "tokens.json", "folder of token vectors")

SEGMENT = "part"
"""What the names of all files of a folder begin with."""

AT_ONCE = 64
"""Texts that the model gets at once."""

SEGMENT_TEXTS = 4_096
"""Texts of a segment; an interrupted run loses at most as many."""

LEVELS = 127
"""Greatest whole number of a byte with sign."""

SETTINGS = ("fields", "form", "max_length", "model")
"""Keys of a header that say which text of an entity has vectors, and by which model."""


def quantised(vectors: Vectors) -> tuple[NDArray[np.int8], Vectors]:
    """Whole numbers int8[n, dimensions] and factors float32[n], whose products differ from the vectors by at most half
    a factor.

    >>> numbers, factors = quantised(np.array([[0.6, -0.8], [0.0, 0.0]], np.float32))
    >>> numbers.tolist(), round(float(factors[0]) * 127, 4)
    ([[95, -127], [0, 0]], 0.8)
    """
    factors = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(LEVELS)
    divisors = np.where(factors > 0, factors, np.float32(1.0))[:, None]
    return np.rint(vectors / divisors).astype(np.int8), factors.astype(np.float32)


class TokenStore:
    """The stored vectors of a folder.

    Args:
        folder: with at least one segment.

    Raises:
        ConfigError: there is none.
        CorruptError: a file is missing or damaged.
    """

    def __init__(self, folder: Path):
        readers = list(_segments(folder))
        if not readers:
            raise ConfigError(f"no token vectors in {str(folder)!r}", hint="hybridkg tokens KB --out DIR makes them")
        first = readers[0]
        self.fingerprint, self.dimensions = first.about("fingerprint"), first.about("dimensions")
        if not isinstance(self.fingerprint, str) or type(self.dimensions) is not int or self.dimensions < 1:
            raise CorruptError("token vectors do not fit their header", hint="make them again", place=str(folder))
        self.settings: Mapping[str, Any] = {key: first.about(key) for key in SETTINGS}
        self._segments = [_Segment(reader, self.fingerprint, self.dimensions, folder) for reader in readers]

    def __len__(self) -> int:
        return sum(len(segment.starts) - 1 for segment in self._segments)

    @property
    def tokens(self) -> int:
        """Number of vectors."""
        return sum(len(segment.factors) for segment in self._segments)

    def known(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """int64[len(texts), 2]: segment and row of each text; -1, -1 for one without vectors."""
        found = np.full((len(texts), 2), -1)
        keys = hashes(texts)
        for number, segment in enumerate(self._segments):
            rows = segment.by_hash.places(keys)
            has = (rows >= 0) & (found[:, 0] < 0)
            found[has, 0], found[has, 1] = number, rows[has]
        return found

    def vectors(self, segment: int, row: int) -> Vectors:
        """float32[tokens, dimensions] of one text."""
        return self._segments[segment].vectors(row)


class _Segment:
    def __init__(self, reader: MappedArrays, fingerprint: str, dimensions: int, folder: Path):
        self.starts = reader.array("starts")
        self._numbers, self.factors, keys = (reader.array(name) for name in ("numbers", "factors", "hashes"))
        if (
            (reader.about("fingerprint"), reader.about("dimensions")) != (fingerprint, dimensions)
            or self.starts.ndim != 1
            or not len(self.starts)
            or keys.shape != (len(self.starts) - 1, HASH_BYTES)
            or self._numbers.shape != (len(self.factors), dimensions)
            or [a.dtype.str for a in (self.starts, self._numbers, self.factors, keys)] != ["<i8", "|i1", "<f4", "|u1"]
            or (int(self.starts[0]), int(self.starts[-1])) != (0, len(self.factors))
            or bool((np.diff(self.starts) < 0).any())
        ):
            raise CorruptError("token vectors do not fit their header", hint="make them again", place=str(folder))
        self.by_hash = CachedEmbeddings(keys, self.factors)

    def vectors(self, row: int) -> Vectors:
        own = slice(int(self.starts[row]), int(self.starts[row + 1]))
        made: Vectors = self._numbers[own].astype(np.float32)
        made *= self.factors[own, None]
        return made


def store(
    folder: Path,
    model: TokenModel,
    texts: Iterable[str],
    count: int,
    settings: Mapping[str, Any],
    progress: Progress,
) -> int:
    """Adds the texts that a folder lacks.

    Args:
        folder: is made where it is missing.
        model: of the vectors.
        texts: may repeat.
        count: their number, for the progress.
        settings: values of SETTINGS.
        progress: counts texts.

    Returns:
        Number of texts added.

    Raises:
        ConfigError: the folder has vectors of another model or other settings, or files of something else.
        StorageError: it cannot be written to.
    """
    _prepare(folder)
    number = len(list(_segments(folder)))
    known = TokenStore(folder) if number else None
    if known is not None and (known.fingerprint != model.fingerprint or dict(known.settings) != dict(settings)):
        raise ConfigError(
            f"{str(folder)!r} has token vectors of {known.fingerprint} with {dict(known.settings)}, not of "
            f"{model.fingerprint} with {dict(settings)}",
            hint="write into another folder",
        )
    added, pending, seen = 0, list[str](), set[str]()
    progress.start("encoding texts token by token", count)

    def flush() -> None:
        nonlocal number, added
        if pending or number == 0:
            try:
                _write_segment(folder, number, model, pending, settings, progress)
            except OSError as e:
                raise _unwritable(folder, e) from e
            number, added = number + 1, added + len(pending)
            pending.clear()

    for some in _batches(texts):
        new = some if known is None else [t for t, at in zip(some, known.known(some), strict=True) if at[0] < 0]
        progress.advance(len(some) - len(new), 0)
        for text in new:
            if text not in seen:
                seen.add(text)
                pending.append(text)
            if len(pending) == SEGMENT_TEXTS:
                flush()
                seen.clear()
                known = TokenStore(folder)
    flush()
    progress.done(added)
    return added


def _prepare(folder: Path) -> None:
    """Makes the folder, and refuses one of something else, such as a model, whose files vectors would stand among."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        other = min((path.name for path in folder.iterdir() if not path.name.startswith(SEGMENT)), default=None)
    except OSError as e:
        raise _unwritable(folder, e) from e
    if other is not None:
        raise ConfigError(
            f"{str(folder)!r} is no folder of token vectors: it has {other!r}", hint="write into another folder"
        )


def _unwritable(folder: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {str(folder)!r}: {error.strerror or error}")


def _write_segment(
    folder: Path,
    number: int,
    model: TokenModel,
    texts: Sequence[str],
    settings: Mapping[str, Any],
    progress: Progress,
) -> None:
    writer = Writer(LAYOUT, folder, f"{SEGMENT}{number:04}")
    lengths: list[int] = []
    with (
        closing(writer.stream("numbers", np.int8, model.dimensions)) as numbers,
        closing(writer.stream("factors", np.float32)) as factors,
    ):
        for first in range(0, len(texts), AT_ONCE):
            some = texts[first : first + AT_ONCE]
            for vectors in model.documents(some):
                whole, own = quantised(vectors)
                numbers.append(whole)
                factors.append(own)
                lengths.append(len(own))
            progress.advance(len(some), len(some))
    writer.write("starts", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    writer.write("hashes", hashes(texts))
    about = {key: settings[key] for key in SETTINGS}
    writer.finish({"fingerprint": model.fingerprint, "dimensions": model.dimensions, **about})


def _segments(folder: Path) -> Iterator[MappedArrays]:
    number = 0
    while (folder / LAYOUT.header_name(f"{SEGMENT}{number:04}")).is_file():
        yield MappedArrays(LAYOUT, folder, f"{SEGMENT}{number:04}")
        number += 1


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
