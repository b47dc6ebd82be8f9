"""The vector index `hnsw`: a flat index with an HNSW graph for approximate top-k.

The candidates that the graph proposes get exact scores, so scores have the same bits as in the flat index; only misses
of the graph differ. A filter is applied to the nearest neighbours found without it, so recall does not depend on the
correlation of filter and query; where too few of these pass, the exact search takes over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridkg.errors import CorruptError, HybridkgError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import Encoded, StoredVectors, VectorChange, VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.vector.encoders.embedding_cache import CachedEmbeddings
from hybridkg.vector.index.flat import CANDIDATE_COST, Flat, FlatIndex
from hybridkg.vector.index.hnsw_graph import LINKS, GraphHeader, HnswGraph, check_installed, read_header
from hybridkg.vector.index.merged import merged
from hybridkg.vector.index.stable_prefix import stable_top_k
from hybridkg.vector.index.vector_query import ResolvedVectorQuery, check_takes_entities

if TYPE_CHECKING:
    from hybridkg.config.settings import Config
    from hybridkg.interfaces.progress import Progress

_log = logging.getLogger(__name__)

VISIT_COST = 60
"""Cost of a vector that a graph search visits, in vectors of an exact scan: 1.4 us and 23 ns for 384 numbers, 100,000
vectors."""

MIN_SHARE = 0.83 / LINKS
"""Minimum selectivity of a candidate set for which the graph is used."""

DEPTH, DEEPER = 32, 4
"""Results that the first graph search is for, and the factor to the next search; planners deepen by the same factor."""

MIN_BREADTH = 64
"""Minimum number of vectors that the first search visits."""

WANTED_RECALL = 0.99
"""Recall of queries without a filter; a filter costs some recall, and .95 is wanted there."""

SAMPLE = 200
"""Vectors of each kind that measure the recall: standard error at most .007 at .99."""

NOISE = 1.0
"""Length of the noise that is added to a vector of the index to make a query near it: their cosine is .71."""


class Hnsw:
    """VectorIndexKind of HnswIndex; `seed` is of the graph and of the sample that measures it."""

    title = "the index hnsw"
    is_remote = False
    section = ""
    takes_pieces = False
    engine = ""

    @classmethod
    def follows(cls, config: Config) -> bool:
        """Always."""
        del config
        return True

    def __init__(self, path: Path, config: Config, seed: int = 0):
        self._flat, self._seed = Flat(path, config), seed
        self._what = config.encoding.what

    def ready(self) -> None:
        """Checks that entities have one vector, and that FAISS is installed."""
        check_takes_entities("hnsw", self._what)
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
        """Builds a flat index, and a graph unless an exact search is as fast."""
        counts = self._flat.build(folder, encoder, kind, batches, progress, hashed=hashed)
        header = build_graph(folder, self._seed, progress)
        return counts if header is None else {**counts, **_about(header)}

    def follow(self, previous: Path, folder: Path, change: VectorChange, progress: Progress) -> dict[str, Any]:
        """Builds the index from the stored vectors with the changed ones."""
        stored = self.stored(previous)
        return self.build(folder, stored, stored.kind, merged(stored, change), progress, hashed=stored.hashed)

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> HnswIndex:
        return HnswIndex(folder, find, rank)

    def known(self, folder: Path, encoder: str) -> CachedEmbeddings | None:
        return self._flat.known(folder, encoder)

    def stored(self, folder: Path) -> StoredVectors:
        return self._flat.stored(folder)

    def discard(self) -> None:
        """Has nothing outside the folder."""


class HnswIndex(FlatIndex):
    """A FlatIndex with approximate top-k by a graph, except for queries with EXACT or WITHIN."""

    def __init__(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]):
        super().__init__(folder, find, rank)
        self._problem = ""
        try:
            self._header = read_header(folder)
            if self._header is not None:
                check_installed()
        except HybridkgError as e:
            self._disable_graph(e)

    def _disable_graph(self, error: HybridkgError) -> None:
        self._header, self._problem = None, f"the graph is not used: {error.message}"
        _log.warning(
            "the graph of vectors cannot be used (%s; %s); every vector is compared", error.message, error.hint
        )

    def about(self) -> dict[str, Any]:
        """As of the flat index, with the measured recall, or the reason why there is no graph."""
        report = {**super().about(), "index": "hnsw"}
        if self._problem:
            return {**report, "problem": self._problem}
        if self._header is None:
            return {**report, "graph": "none: an exact search is as fast"}
        return {**report, **_about(self._header)}

    @cached_property
    def _graph(self) -> HnswGraph | None:
        if self._header is None:
            return None
        try:
            return HnswGraph.read(self._folder, self._vectors.shape)
        except CorruptError as e:
            self._disable_graph(e)
            return None

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        return k < 1 or next(self._searches(query, among), None) is None or self._graph is None

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        search = next(self._searches(query, among), None)
        return super().comparisons(query, among) if search is None else float(VISIT_COST * search[1])

    def _searches(self, query: VectorQuery, among: float | None) -> Iterator[tuple[int, int]]:
        """(depth, vectors visited) of each graph search that is cheaper than an exact one."""
        if self._header is None or query.exact or query.within is not None or not self.size:
            return
        candidates = self.size if among is None else min(among, self.size)
        share, exact = candidates / self.size, candidates * (1 if among is None else CANDIDATE_COST)
        depth, breadth = DEPTH, self._header.breadth
        while share >= MIN_SHARE and VISIT_COST * breadth / share < exact:
            yield depth, int(breadth / share)
            depth, breadth = depth * DEEPER, breadth * DEEPER

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Top-k without those entities that the graph misses; see `stable_top_k` for its laws."""
        resolved = self._resolve(query)
        if resolved.vector is None or self.is_exact(query, k, None if among is None else len(among)):
            return super().topk(query, k, among)
        assert self._graph is not None
        graph, exact = self._graph, super().topk
        return stable_top_k(
            k,
            self._searches(query, None if among is None else len(among)),
            lambda breadth: self._search(graph, resolved, breadth, among),
            lambda n: exact(query, n, among),
            self._rank,
        )

    def _search(
        self, graph: HnswGraph, resolved: ResolvedVectorQuery, breadth: int, among: Ids | None
    ) -> tuple[Ids, Scores]:
        """Results of one graph search, among some entities or all, best first, with exact scores."""
        assert resolved.vector is not None
        places = np.sort(graph.near(resolved.vector, breadth))
        ids = self._ids[places]
        members = ids != resolved.entity
        if among is not None:
            at = np.minimum(np.searchsorted(among, ids), len(among) - 1)
            members &= among[at] == ids
        ids, places = ids[members], places[members]
        scores = self._similar(places, resolved.vector)
        best = np.lexsort((self._rank(ids), -scores))
        return ids[best], scores[best]


def _about(header: GraphHeader) -> dict[str, Any]:
    names = ("recall@10", "recall@10 beside", "recall@10 between")
    return {"graph": f"{header.breadth} looked at", **dict(zip(names, header.recall, strict=True))}


def build_graph(folder: Path, seed: int, progress: Progress) -> GraphHeader | None:
    """Writes the graph of the vectors of a folder, raising its breadth until the recall is WANTED_RECALL.

    The criterion is the recall of vectors of the index, and of vectors near them. A query between two unrelated vectors
    is near to nothing and its best ten are arbitrary, so the recall of these is reported only.

    Returns:
        The header; None, without a graph, where an exact search is as fast.

    Raises:
        StorageError: there is not enough memory.
    """
    index = FlatIndex(folder, lambda node: None, lambda ids: ids)
    vectors, n = index.vectors, index.size
    if n <= VISIT_COST * MIN_BREADTH:
        return None
    graph = HnswGraph.of(vectors, seed, progress)
    kinds = _sample_queries(vectors, seed)
    queries = [(number == 0, vector) for number, kind in enumerate(kinds) for vector in kind]
    progress.start("measuring the recall of the graph", len(queries))
    # A vector of the index always finds itself, so it does not count.
    truth = [index.best_rows(vector, 11)[1:] if own else index.best_rows(vector, 10) for own, vector in queries]
    breadth = MIN_BREADTH
    while True:
        pairs = zip(queries, truth, strict=True)
        shares = [np.isin(best, graph.near(vector, breadth)).mean() for (_, vector), best in pairs]
        recall = np.array(shares).reshape(len(kinds), -1).mean(axis=1).round(4)
        if recall[:2].min() >= WANTED_RECALL or breadth * VISIT_COST >= n:
            break
        breadth += breadth // 2
    progress.done(len(queries))
    if breadth * VISIT_COST >= n:
        return None
    header = GraphHeader(breadth, tuple(recall.tolist()), len(kinds[0]), seed)
    graph.write(folder, header)
    return header


def _sample_queries(vectors: Vectors, seed: int) -> list[Vectors]:
    """float32[m, columns] each, of length 1: vectors of the index; vectors near them; vectors between two of them."""
    random = np.random.default_rng(seed)
    rows = random.choice(len(vectors), (2, min(SAMPLE, len(vectors))))
    own, others = vectors[rows[0]], vectors[rows[1]]
    noise = random.standard_normal(own.shape, dtype=np.float32) * own.any(axis=0)
    near = own + np.float32(NOISE) * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    between = np.where(np.abs(own + others).max(axis=1, keepdims=True) > 0, own + others, own)
    return [own, *(some / np.linalg.norm(some, axis=1, keepdims=True) for some in (near, between))]
