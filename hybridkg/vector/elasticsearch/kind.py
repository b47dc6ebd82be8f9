"""Builds and opens indexes of vectors in Elasticsearch: a new one for each build, which the generation then names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridkg.errors import ConfigError, HybridkgError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.text_index import Ids
from hybridkg.interfaces.vector_index import Encoded, StoredVectors
from hybridkg.rdf.terms import Node
from hybridkg.remote.elasticsearch.names import alias_of, check_alias, owner_of
from hybridkg.remote.elasticsearch.new_index import NewIndex
from hybridkg.remote.elasticsearch.orphans import Left
from hybridkg.remote.elasticsearch.server import Body, Server
from hybridkg.storage.arrays import MappedArrays, Writer
from hybridkg.vector.elasticsearch import bodies
from hybridkg.vector.elasticsearch.index import LAYOUT, VECTORS_AT_ONCE, ElasticVectorIndex
from hybridkg.vector.elasticsearch.recall import MIN_BREADTH, measured
from hybridkg.vector.encoders.embedding_cache import HASH_BYTES, CachedEmbeddings, Hashes
from hybridkg.vector.index.flat_files import TEXTS, check_vectors
from hybridkg.vector.index.vector_query import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybridkg.config.settings import Config
    from hybridkg.interfaces.progress import Progress

LENGTHENED = 1e-5
"""How far a square length may be from 1. Elasticsearch refuses 1e-4."""


class ElasticVectors:
    """The VectorIndexKind of ElasticVectorIndex, on the server that kb.toml, or the environment, names.

    Args:
        path: of the knowledge base.
        config: its settings.
    """

    title = "Elasticsearch"
    is_remote = True
    section = "elasticsearch"
    takes_pieces = False
    engine = "elasticsearch"

    def __init__(self, path: Path, config: Config):
        self._server = Server(config.elasticsearch)
        self._owner, self._alias = owner_of(path), alias_of(path, config.elasticsearch)
        self._made, self._what = "", config.encoding.what

    def ready(self) -> None:
        """As VectorIndexKind has it: the server answers, is new enough, and has no other use for the alias."""
        check_whole("elasticsearch", self._what)
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
        """As VectorIndexKind has it; a failure removes the new index, if the server can be reached."""
        if not 0 < encoder.dimensions <= bodies.MAX_DIMENSIONS:
            raise ConfigError(
                f"vectors of {encoder.dimensions:,} numbers; Elasticsearch takes {bodies.MAX_DIMENSIONS:,}",
                hint='another encoder, or index = "flat" in the table [vectors] of kb.toml',
            )
        settings = self._server.settings

        def body(meta: Mapping[str, str]) -> Body:
            return bodies.index_body(encoder.dimensions, settings, meta)

        new = NewIndex(self._server, self._alias, self._owner, body, named=f"{self._alias}-vectors")
        self._made = new.name
        writer = Writer(LAYOUT, folder)
        try:
            with ExitStack() as stack:
                ids = stack.enter_context(closing(writer.stream("ids", np.uint32)))
                texts = stack.enter_context(closing(writer.stream(TEXTS, np.uint8, HASH_BYTES))) if hashed else None
                for batch in batches:
                    check_vectors(batch.vectors, encoder)
                    kept = batch.vectors.any(axis=1)
                    for node, row in zip(batch.ids[kept].tolist(), lengthened(batch.vectors[kept]), strict=True):
                        new.put({"node": node, "vector": row})
                    ids.append(batch.ids[kept])
                    if texts is not None and batch.texts is not None:
                        texts.append(batch.texts[kept])
                count = ids.rows
            progress.start("linking vectors on the server", count)
            new.finish(count, merged=True)
            progress.done(count)
            Left(new.name, new.build, count, settings.shards).write(folder)
            about = {"kind": kind, "encoder": encoder.name, "dimensions": encoder.dimensions}
            writer.finish({**about, "breadth": MIN_BREADTH, "recall": {}})
            breadth, recall = measured(self.open(folder, lambda node: None, lambda ids: ids), progress)
            writer.finish({**about, "breadth": breadth, "recall": recall})
        except BaseException:
            new.abandon()
            raise
        return {**about, "entities": count, **recall}

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> ElasticVectorIndex:
        """As VectorIndexKind has it."""
        return ElasticVectorIndex(self._server, folder, find, rank)

    def known(self, folder: Path, encoder: str) -> CachedEmbeddings | None:
        """As VectorIndexKind has it: by hashes that are here, read from the server when they are needed."""
        with suppress(HybridkgError):
            reader = MappedArrays(LAYOUT, folder)
            if reader.about("encoder") == encoder and reader.has(TEXTS):
                texts = reader.array(TEXTS)
                index = ElasticVectorIndex(self._server, folder, lambda node: None, lambda ids: ids)
                if texts.shape == (index.size, HASH_BYTES):
                    index.vectors(index.ids[:1])  # whether they can be had at all
                    return KnownThere(texts, index)
        return None

    def stored(self, folder: Path) -> StoredVectors:
        """As VectorIndexKind has it: with the bits that were sent, read from the server."""
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
        """As VectorIndexKind has it, if the server can be reached; `prune` lists what stays."""
        if not self._made:
            return
        name = self._made
        with suppress(HybridkgError):
            self._server.ask(
                "removing an index",
                lambda client: client.options(ignore_status=404).indices.delete(index=name, ignore_unavailable=True),
                again=False,
            )


class KnownThere(CachedEmbeddings):
    """Vectors that are on a server, by the hash of their text.

    Args:
        texts: uint8[n, HASH_BYTES].
        index: has the vectors; its ids are in the same order.
    """

    def __init__(self, texts: Hashes, index: ElasticVectorIndex):
        super().__init__(texts, np.empty((0, index.dimensions), np.float32))
        self._index = index

    def _take(self, rows: NDArray[np.int64]) -> Vectors:
        return self._index.vectors(self._index.ids[rows])


def lengthened(vectors: Vectors) -> Vectors:
    """float32[n, dimensions], contiguous: those of another length than 1 brought to it, the others as they are."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    off = np.abs(squares - 1) > LENGTHENED
    found = np.ascontiguousarray(vectors, np.float32)
    if off.any():
        found = found.copy()
        found[off] /= np.sqrt(squares[off])[:, None]
    return found
