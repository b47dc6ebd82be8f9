"""Elasticsearch vector index kind: each build makes a new index, which the generation names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridkg.errors import ConfigError, HybridkgError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.text_index import Ids
from hybridkg.interfaces.vector_index import Encoded, StoredVectors, VectorChange
from hybridkg.rdf.terms import Node
from hybridkg.remote.elasticsearch.names import alias_of, check_alias, owner_of
from hybridkg.remote.elasticsearch.new_index import ClonedIndex, NewIndex
from hybridkg.remote.elasticsearch.numbers import DocumentNumbers, NumberEdit
from hybridkg.remote.elasticsearch.orphans import Left, check_left
from hybridkg.remote.elasticsearch.server import Body, Server
from hybridkg.storage.arrays import MappedArrays, Writer
from hybridkg.vector.elasticsearch import bodies
from hybridkg.vector.elasticsearch.index import LAYOUT, VECTORS_AT_ONCE, ElasticVectorIndex
from hybridkg.vector.elasticsearch.recall import MIN_BREADTH, calibrate_breadth
from hybridkg.vector.encoders.embedding_cache import HASH_BYTES, CachedEmbeddings, Hashes
from hybridkg.vector.index.flat_files import TEXTS, check_vectors
from hybridkg.vector.index.vector_query import check_takes_entities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybridkg.config.settings import Config
    from hybridkg.interfaces.progress import Progress

MAX_DEVIATION = 1e-5
"""Maximum of a squared length from 1 without normalising again; Elasticsearch refuses 1e-4."""


class ElasticVectors:
    """VectorIndexKind of ElasticVectorIndex, on the server that kb.toml or the environment names."""

    title = "Elasticsearch"
    is_remote = True
    section = "elasticsearch"
    takes_pieces = False
    engine = "elasticsearch"

    @classmethod
    def follows(cls, config: Config) -> bool:
        """As kb.toml says."""
        return config.elasticsearch.follow == "commit"

    def __init__(self, path: Path, config: Config):
        self._server = Server(config.elasticsearch)
        self._owner, self._alias = owner_of(path), alias_of(path, config.elasticsearch)
        self._built, self._what = "", config.encoding.what

    def ready(self) -> None:
        """Checks that the server answers, is new enough, and does not use the alias for anything else."""
        check_takes_entities("elasticsearch", self._what)
        _ = self._server.version
        check_alias(self._server, self._alias)

    def build(
        self,
        folder: Path,
        encoder: VectorSpace,
        kind: str,
        batches: Iterable[Encoded],
        progress: Progress,
        *,
        hashed: bool,
    ) -> dict[str, Any]:
        """Builds a new index; a failure removes it, if the server can be reached."""
        if not 0 < encoder.dimensions <= bodies.MAX_DIMENSIONS:
            raise ConfigError(
                f"vectors of {encoder.dimensions:,} numbers; Elasticsearch takes at most {bodies.MAX_DIMENSIONS:,}",
                hint='another encoder, or index = "flat" in the table [vectors] of kb.toml',
            )
        settings = self._server.settings

        def body(meta: Mapping[str, str]) -> Body:
            return bodies.index_body(encoder.dimensions, settings, meta)

        new = NewIndex(self._server, self._alias, self._owner, body, named=f"{self._alias}-vectors")
        self._built = new.name
        writer = Writer(LAYOUT, folder)
        try:
            with ExitStack() as stack:
                ids = stack.enter_context(closing(writer.stream("ids", np.uint32)))
                texts = stack.enter_context(closing(writer.stream(TEXTS, np.uint8, HASH_BYTES))) if hashed else None
                for batch in batches:
                    check_vectors(batch.vectors, encoder)
                    present = batch.vectors.any(axis=1)
                    for node, row in zip(batch.ids[present].tolist(), normalized(batch.vectors[present]), strict=True):
                        new.put({"node": node, "vector": row})
                    ids.append(batch.ids[present])
                    if texts is not None and batch.texts is not None:
                        texts.append(batch.texts[present])
                count = ids.rows
            return self._finish(new, settings.shards, count, encoder, kind, writer, folder, progress)
        except BaseException:
            new.abandon()
            raise

    def _finish(
        self,
        new: NewIndex,
        shards: int,
        count: int,
        encoder: VectorSpace,
        kind: str,
        writer: Writer,
        folder: Path,
        progress: Progress,
    ) -> dict[str, Any]:
        """Completes an index of so many vectors, measures its graph, and writes the header; returns the counts."""
        progress.start("linking vectors on the server", count)
        new.finish(count, merged=True)
        progress.done(count)
        Left(new.name, new.build, count, shards).write(folder)
        about = {"kind": kind, "encoder": encoder.name, "dimensions": encoder.dimensions}
        writer.finish({**about, "breadth": MIN_BREADTH, "recall": {}})
        breadth, recall = calibrate_breadth(self.open(folder, lambda node: None, lambda ids: ids), progress)
        writer.finish({**about, "breadth": breadth, "recall": recall})
        return {**about, "entities": count, **recall}

    def follow(self, previous: Path, folder: Path, change: VectorChange, progress: Progress) -> dict[str, Any]:
        """Clones the earlier index, and replaces the changed vectors; a failure removes the clone, if possible.

        Where no vector has changed, the next generation has the same index.
        """
        reader, left, stored = MappedArrays(LAYOUT, previous), Left.read(previous), self.stored(previous)
        earlier: Ids = reader.array("ids")
        edit = _Edit.of(DocumentNumbers.read(reader, earlier), earlier, change)
        writer = Writer(LAYOUT, folder)
        writer.write("ids", edit.ids)
        edit.numbers.write(writer)
        if stored.hashed and change.new.texts is not None:
            writer.write(TEXTS, edit.rows(reader.array(TEXTS), change.new.texts))
        if not len(edit.numbers.removed) and not len(edit.entering):
            left.write(folder)
            about = {name: reader.about(name) for name in ("kind", "encoder", "dimensions", "breadth", "recall")}
            writer.finish(about)
            return {**about.pop("recall"), **about, "entities": len(edit.ids)}
        check_left(self._server, left.index, left.build, left.documents)
        new = ClonedIndex(self._server, left.index, self._alias, self._owner, named=f"{self._alias}-vectors")
        self._built = new.name
        try:
            for number in edit.numbers.removed.tolist():
                new.delete(number)
            rows = normalized(change.new.vectors[edit.entering])
            for number, row in zip(edit.numbers.added.tolist(), rows, strict=True):
                new.put({"node": number, "vector": row})
            return self._finish(new, left.shards, len(edit.ids), stored, stored.kind, writer, folder, progress)
        except BaseException:
            new.abandon()
            raise

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> ElasticVectorIndex:
        return ElasticVectorIndex(self._server, folder, find, rank)

    def known(self, folder: Path, encoder: str) -> CachedEmbeddings | None:
        """Cached vectors: hashes are local, vectors are read from the server on demand."""
        with suppress(HybridkgError):
            reader = MappedArrays(LAYOUT, folder)
            if reader.about("encoder") == encoder and reader.has(TEXTS):
                texts = reader.array(TEXTS)
                index = ElasticVectorIndex(self._server, folder, lambda node: None, lambda ids: ids)
                if texts.shape == (index.size, HASH_BYTES):
                    index.vectors(index.ids[:1])  # fails where the server no longer has the index
                    return RemoteEmbeddings(texts, index)
        return None

    def stored(self, folder: Path) -> StoredVectors:
        """The vectors as they were sent, read from the server."""
        reader = MappedArrays(LAYOUT, folder)
        index = self.open(folder, lambda node: None, lambda ids: ids)
        texts: Hashes | None = reader.array(TEXTS) if reader.has(TEXTS) else None

        def read() -> Iterator[Encoded]:
            for start in range(0, index.size, VECTORS_AT_ONCE):
                some = slice(start, start + VECTORS_AT_ONCE)
                ids = np.array(index.ids[some])
                yield Encoded(ids, index.vectors(ids), None if texts is None else np.array(texts[some]))

        kind = str(reader.about("kind"))
        return StoredVectors(index.made_by, index.dimensions, kind, index.size, texts is not None, False, read)

    def discard(self) -> None:
        """Removes the new index, if the server can be reached; `prune` lists what remains."""
        if not self._built:
            return
        name = self._built
        with suppress(HybridkgError):
            self._server.ask(
                "removing an index",
                lambda client: client.options(ignore_status=404).indices.delete(index=name, ignore_unavailable=True),
                again=False,
            )


@dataclass(frozen=True, eq=False)
class _Edit:
    """The entities with a vector after a change.

    Args:
        ids: uint32[n], ascending: the entities afterwards.
        after: int64[earlier vectors], the place of each in `ids`; -1 for one that goes.
        entering: int64[m], rows of the new vectors that are not 0.
        places: int64[m], their places in `ids`.
        numbers: of the documents.
    """

    ids: Ids
    after: NDArray[np.int64]
    entering: NDArray[np.int64]
    places: NDArray[np.int64]
    numbers: NumberEdit

    @classmethod
    def of(cls, numbers: DocumentNumbers, earlier: Ids, change: VectorChange) -> _Edit:
        next_ids = change.old_to_new[earlier]
        entering = np.flatnonzero(change.new.vectors.any(axis=1))
        own = change.new.ids[entering]
        ids = np.sort(np.concatenate([next_ids[next_ids >= 0], own])).astype(np.uint32)
        after = np.where(next_ids >= 0, np.searchsorted(ids, next_ids), -1)
        places = np.searchsorted(ids, own)
        return cls(ids, after, entering, places, NumberEdit(numbers, earlier, after, places.astype(np.uint32)))

    def rows(self, earlier: NDArray[np.uint8], new: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """uint8[n, columns]: the rows of the entities, from those of the earlier ones and of the new texts."""
        rows = np.zeros((len(self.ids), earlier.shape[1]), np.uint8)
        rows[self.after[self.after >= 0]] = earlier[self.after >= 0]
        rows[self.places] = new[self.entering]
        return rows


class RemoteEmbeddings(CachedEmbeddings):
    """Vectors of an index on a server, by the hashes of their texts uint8[n, HASH_BYTES] in the order of its ids."""

    def __init__(self, texts: Hashes, index: ElasticVectorIndex):
        super().__init__(texts, np.empty((0, index.dimensions), np.float32))
        self._index = index

    def _take(self, rows: NDArray[np.int64]) -> Vectors:
        return self._index.vectors(self._index.ids[rows])


def normalized(vectors: Vectors) -> Vectors:
    """float32[n, dimensions], contiguous: rows that deviate from length 1 are normalised, the others unchanged."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    off = np.abs(squares - 1) > MAX_DEVIATION
    rows = np.ascontiguousarray(vectors, np.float32)
    if off.any():
        rows = rows.copy()
        rows[off] /= np.sqrt(squares[off])[:, None]
    return rows
