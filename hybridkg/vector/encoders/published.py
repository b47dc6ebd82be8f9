"""Published vectors of given texts: `encoder = "published:FOLDER"`, without the model that made them.

The folder has the vectors of passages and of queries by the hash of their text. A passage without one has no vector; a
query without one is an error, because nothing here can encode it. `hybridkg dataset stark --embeddings` writes such a
folder. The folder of the index keeps the queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError, CorruptError, EncoderError
from hybridkg.interfaces.encoder import NO_MODEL, ModelChoice, Texts, Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.storage.arrays import FolderLayout, MappedArrays, Writer
from hybridkg.vector.encoders.embedding_cache import CachedEmbeddings, hashes
from hybridkg.vector.encoders.lsa import unit

KIND = "published"

LAYOUT = FolderLayout("hybridkg published vectors", 1, "published.json", "folder of published vectors")

PASSAGES, QUERIES = ("passages.texts", "passages.vectors"), ("queries.texts", "queries.vectors")
"""The arrays: uint8[n, 32], SHA-256 of texts, and float32[n, dimensions]."""


class Published:
    """The encoder kind `published`."""

    takes_model, has_tokens, is_billed = True, False, False

    def __init__(self, choice: ModelChoice = NO_MODEL):
        self._choice = choice

    def fingerprint(self) -> str:
        """Kind, version, model, and the digest in the header of the folder."""
        source = self._source()
        return f"{KIND}/{LAYOUT.version} {source.about('model')} {source.about('digest')}"

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> PublishedEncoder:
        """Copies the queries, and reads the passages from the folder that kb.toml names."""
        del texts, count, progress
        source = self._source()
        if not (folder / LAYOUT.header).exists():
            writer = Writer(LAYOUT, folder)
            for name in QUERIES:
                writer.write(name, source.array(name))
            writer.finish(
                {"name": self.fingerprint(), "model": source.about("model"), "digest": source.about("digest")}
            )
        return PublishedEncoder(folder, source)

    def open(self, folder: Path) -> PublishedEncoder:
        return PublishedEncoder(folder)

    def _source(self) -> MappedArrays:
        path = self._choice.folder / Path(self._choice.model).expanduser()
        try:
            return MappedArrays(LAYOUT, path)
        except CorruptError as e:
            raise ConfigError(
                f"the encoder 'published' needs a folder of published vectors, and {self._choice.model!r} is none: "
                f"{e.message}",
                hint="hybridkg dataset stark --embeddings DIR writes one",
            ) from e


class PublishedEncoder:
    """Looks vectors up by the hash of their text.

    Args:
        folder: of the index, with the queries.
        source: with the passages; without it no passage has a vector.

    Raises:
        CorruptError: a file is missing or damaged.
    """

    def __init__(self, folder: Path, source: MappedArrays | None = None):
        reader = MappedArrays(LAYOUT, folder)
        self._name = str(reader.about("name"))
        self._queries = _cached(reader, QUERIES)
        self._count, self._dimensions = (int(n) for n in reader.array(QUERIES[1]).shape)
        self._passages = None if source is None else _cached(source, PASSAGES)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; zeros where none was published."""
        rows = np.zeros((len(texts), self._dimensions), np.float32)
        if self._passages is not None:
            self._passages.fill(hashes(texts), rows, np.ones(len(texts), bool))
        return unit(rows)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]. Raises EncoderError: a text has no published vector."""
        rows = np.zeros((len(texts), self._dimensions), np.float32)
        found = self._queries.fill(hashes(texts), rows, np.ones(len(texts), bool))
        if not found.all():
            text = texts[int(np.argmin(found))]
            raise EncoderError(
                f"no published vector for the text {text[:60]!r}",
                hint=f"{self._name} has those of {self._count:,} questions, written as in topics.tsv, and no model",
            )
        return unit(rows)


def _cached(reader: MappedArrays, names: tuple[str, str]) -> CachedEmbeddings:
    texts, vectors = (reader.array(name) for name in names)
    if texts.ndim != 2 or vectors.ndim != 2 or len(texts) != len(vectors):
        raise CorruptError(f"{names[0]!r} and {names[1]!r} do not fit together", hint="make the folder again")
    return CachedEmbeddings(texts, vectors)


def write_published(
    folder: Path, model: str, passages: tuple[NDArray[Any], NDArray[Any]], queries: tuple[NDArray[Any], NDArray[Any]]
) -> None:
    """Writes a folder of published vectors.

    Args:
        folder: is made.
        model: its name.
        passages: (uint8[n, 32], SHA-256 of the texts; float32[n, dimensions]).
        queries: the same of the texts of queries.
    """
    folder.mkdir(parents=True)
    writer, digest = Writer(LAYOUT, folder), hashlib.sha256(model.encode())
    for names, arrays in ((PASSAGES, passages), (QUERIES, queries)):
        for name, array in zip(names, arrays, strict=True):
            writer.write(name, array)
            for first in range(0, len(array), 1 << 16):
                digest.update(np.ascontiguousarray(array[first : first + (1 << 16)]).tobytes())
    writer.finish({"model": model, "digest": digest.hexdigest()[:12]})
