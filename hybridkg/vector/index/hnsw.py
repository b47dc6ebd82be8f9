"""The vector index `hnsw`: a flat index, and a graph that finds the best of many vectors without reading them all.

What the graph finds is scored as everything is, so scores have the same bits. Who is overlooked is missing, and only
that: see `HnswIndex.topk`. A filter is looked up in what the graph finds nearest without it, so that what is found
nearest is really that, however filter and query are correlated; where too few of those pass, the exact search answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError, HybridkgError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import Encoded, StoredVectors, VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.vector.encoders.embedding_cache import CachedEmbeddings
from hybridkg.vector.index.flat import ONE_OF_SOME, Flat, FlatIndex
from hybridkg.vector.index.hnsw_graph import LINKS, GraphHeader, HnswGraph, check_installed, read_header
from hybridkg.vector.index.stable_prefix import deepened
from hybridkg.vector.index.vector_query import ResolvedVectorQuery, check_whole

if TYPE_CHECKING:
    from hybridkg.config.settings import Config
    from hybridkg.interfaces.progress import Progress

_log = logging.getLogger(__name__)

STEP = 60
"""Vectors that an exact search passes over in the time of one of those that a graph search looks at: 1.4 us and 23 ns
for 384 numbers, 100,000 vectors."""

MIN_SHARE = 0.83 / LINKS
"""Of all vectors, below which a candidate set is never left to the graph."""

DEPTH, DEEPER = 32, 4
"""The best that a first search of the graph is for, and how many times more the next; as planners go deeper."""

MIN_BREADTH = 64
"""Vectors that the first search looks at, at least."""

WANTED_RECALL = 0.99
"""Of questions without a filter; with one a few more are overlooked, and .95 is wanted of those."""

SAMPLE = 200
"""Vectors of each kind that measure the recall: standard error at most .007 at .99."""

BESIDE = 1.0
"""Length of what is added to a vector of the index to have one beside it: their cosine is .71."""


class Hnsw:
    """The VectorIndexKind of HnswIndex.

    Args:
        path: of the knowledge base.
        config: its settings.
        seed: of the graph, and of the sample that measures it.
    """

    title = "the index hnsw"
    is_remote = False
    section = ""
    takes_pieces = False
    engine = ""

    def __init__(self, path: Path, config: Config, seed: int = 0):
        self._flat, self._seed = Flat(path, config), seed
        self._what = config.encoding.what

    def ready(self) -> None:
        """As VectorIndexKind has it; a graph is one of whole entities."""
        check_whole("hnsw", self._what)
        check_installed()

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
        """As VectorIndexKind has it; no graph where an exact search is as quick."""
        counts = self._flat.build(folder, encoder, kind, batches, progress, hashed=hashed)
        header = build_graph(folder, self._seed, progress)
        return counts if header is None else {**counts, **_about(header)}

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> HnswIndex:
        """As VectorIndexKind has it."""
        return HnswIndex(folder, find, rank)

    def known(self, folder: Path, encoder: str) -> CachedEmbeddings | None:
        """As VectorIndexKind has it."""
        return self._flat.known(folder, encoder)

    def stored(self, folder: Path) -> StoredVectors:
        """As VectorIndexKind has it."""
        return self._flat.stored(folder)

    def discard(self) -> None:
        """Nothing is outside the folder."""


class HnswIndex(FlatIndex):
    """A FlatIndex whose best few of many come from a graph, unless a query says EXACT or WITHIN.

    Args:
        folder: filled by `Hnsw.build`.
        find: the id of a node, None where it has none.
        rank: order of the nodes, for ties: ids -> ranks.
    """

    def __init__(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]):
        super().__init__(folder, find, rank)
        self._problem = ""
        try:
            self._header = read_header(folder)
            if self._header is not None:
                check_installed()
        except HybridkgError as e:
            self._lose(e)

    def _lose(self, error: HybridkgError) -> None:
        self._header, self._problem = None, f"the graph is not used: {error.message}"
        _log.warning(
            "the graph of vectors cannot be used (%s; %s); every vector is compared instead", error.message, error.hint
        )

    def about(self) -> dict[str, Any]:
        """As of the flat index; and the recall that was measured, or why there is no graph."""
        found = {**super().about(), "index": "hnsw"}
        if self._problem:
            return {**found, "problem": self._problem}
        if self._header is None:
            return {**found, "graph": "none: an exact search is as quick"}
        return {**found, **_about(self._header)}

    @cached_property
    def _graph(self) -> HnswGraph | None:
        if self._header is None:
            return None
        try:
            return HnswGraph.read(self._folder, self._vectors.shape)
        except CorruptError as e:
            self._lose(e)
            return None

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        """As VectorIndex has it."""
        return k < 1 or next(self._looks(query, among), None) is None or self._graph is None

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """As VectorIndex has it."""
        look = next(self._looks(query, among), None)
        return super().comparisons(query, among) if look is None else float(STEP * look[1])

    def _looks(self, query: VectorQuery, among: float | None) -> Iterator[tuple[int, int]]:
        """(best that it is for, vectors it looks at) of each search of the graph that is quicker than an exact one."""
        if self._header is None or query.exact or query.within is not None or not self.size:
            return
        taking_part = self.size if among is None else min(among, self.size)
        share, exact = taking_part / self.size, taking_part * (1 if among is None else ONE_OF_SOME)
        depth, breadth = DEPTH, self._header.breadth
        while share >= MIN_SHARE and STEP * breadth / share < exact:
            yield depth, int(breadth / share)
            depth, breadth = depth * DEEPER, breadth * DEEPER

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """As VectorIndex has it, without those of the best that the graph overlooks.

        Lists begin alike, and none is shorter than an exact one: see `deepened`.
        """
        asked = self._asked(query)
        if asked.vector is None or self.is_exact(query, k, None if among is None else len(among)):
            return super().topk(query, k, among)
        assert self._graph is not None
        graph, exactly = self._graph, super().topk
        looks = self._looks(query, None if among is None else len(among))
        return deepened(
            k,
            looks,
            lambda breadth: self._found(graph, asked, breadth, among),
            lambda n: exactly(query, n, among),
            self._rank,
        )

    def _found(
        self, graph: HnswGraph, asked: ResolvedVectorQuery, breadth: int, among: Ids | None
    ) -> tuple[Ids, Scores]:
        """What a search of the graph finds of some or of all, best first."""
        assert asked.vector is not None
        places = np.sort(graph.near(asked.vector, breadth))
        ids = self._ids[places]
        kept = ids != asked.entity
        if among is not None:
            at = np.minimum(np.searchsorted(among, ids), len(among) - 1)
            kept &= among[at] == ids
        ids, places = ids[kept], places[kept]
        scores = self._similar(places, asked.vector)
        best = np.lexsort((self._rank(ids), -scores))
        return ids[best], scores[best]


def _about(header: GraphHeader) -> dict[str, Any]:
    names = ("recall@10", "recall@10 beside", "recall@10 between")
    return {"graph": f"{header.breadth} looked at", **dict(zip(names, header.recall, strict=True))}


def build_graph(folder: Path, seed: int, progress: Progress) -> GraphHeader | None:
    """Writes the graph of the vectors of a folder; its breadth is raised until the recall is WANTED_RECALL.

    That is asked for of vectors of the index, and of those beside them. What lies between two vectors that have nothing
    in common is near to nothing, its best ten are anywhere, and the recall of such questions is only told.

    Returns:
        What is known of it; None where no graph would be quicker than an exact search, and none is written.

    Raises:
        StorageError: there is not enough memory.
    """
    index = FlatIndex(folder, lambda node: None, lambda ids: ids)
    vectors = index.vectors
    n = index.size
    if n <= STEP * MIN_BREADTH:
        return None
    graph = HnswGraph.of(vectors, seed, progress)
    kinds = _asked(vectors, seed)
    asked = [(number == 0, vector) for number, kind in enumerate(kinds) for vector in kind]
    progress.start("measuring the recall of the graph", len(asked))
    # Nobody overlooks the vector that is asked about.
    truth = [index.best_rows(vector, 11)[1:] if own else index.best_rows(vector, 10) for own, vector in asked]
    breadth = MIN_BREADTH
    while True:
        found = [_recall(graph.near(vector, breadth), best) for (_, vector), best in zip(asked, truth, strict=True)]
        recall = np.array(found).reshape(len(kinds), -1).mean(axis=1).round(4)
        if recall[:2].min() >= WANTED_RECALL or breadth * STEP >= n:
            break
        breadth += breadth // 2
    progress.done(len(asked))
    if breadth * STEP >= n:
        return None
    header = GraphHeader(breadth, tuple(recall.tolist()), len(kinds[0]), seed)
    graph.write(folder, header)
    return header


def _asked(vectors: Vectors, seed: int) -> list[Vectors]:
    """float32[m, columns] each, of length 1: vectors of the index; some beside them; some between two of them."""
    random = np.random.default_rng(seed)
    rows = random.choice(len(vectors), (2, min(SAMPLE, len(vectors))))
    own, others = vectors[rows[0]], vectors[rows[1]]
    noise = random.standard_normal(own.shape, dtype=np.float32) * own.any(axis=0)
    beside = own + np.float32(BESIDE) * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    between = np.where(np.abs(own + others).max(axis=1, keepdims=True) > 0, own + others, own)
    return [own, *(some / np.linalg.norm(some, axis=1, keepdims=True) for some in (beside, between))]


def _recall(found: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    return float(np.isin(truth, found).mean())
