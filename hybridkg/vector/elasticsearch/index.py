"""Elasticsearch vector index: answers NEAR from an index on a server.

One script over the float32 vectors of the server computes every score, so a score has the same bits in every strategy.
Top-k among many entities uses the server's HNSW graph; the script scores what it finds in the same request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hybridkg.errors import CorruptError, HybridkgError, TextServerError
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.remote.elasticsearch.numbers import DocumentNumbers
from hybridkg.remote.elasticsearch.orphans import Left, check_left
from hybridkg.remote.elasticsearch.pages import BY_NODE, IDS_AT_ONCE, PagedRows, scores_of
from hybridkg.remote.elasticsearch.server import Body, Server, Steps
from hybridkg.storage.arrays import FolderLayout, MappedArrays
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.vector.elasticsearch import bodies
from hybridkg.vector.index.similarity import padded
from hybridkg.vector.index.stable_prefix import RankedList, stable_top_k
from hybridkg.vector.index.vector_query import VectorIndexBase, relation_mask

LAYOUT = FolderLayout("hybridkg vectors in elasticsearch", 1, "vectors.json", "vector index")

MAX_REMOTE_SCAN = 2_000
"""Rows of a relation beyond which a graph pattern is evaluated first; as of the remote text index."""

DEPTH, DEEPER = 32, 4
"""Results that the first graph search is for, and the factor to the next search; planners deepen by the same factor."""

SCRIPT_PER_CANDIDATE = 30
"""Vectors that the script scores in the time of one candidate of the graph: 0.55 us and 15 us for 384 numbers, one
server on a machine with two busy cores."""

ROUND_TRIP, PER_SCORED, PER_SENT_ID = 250_000, 24, 10
"""Costs in vectors that a local index compares, 23 ns each: of a request (6 ms to a local server), of a vector that the
script scores, and of an id that is sent (0.25 us)."""

MIN_PAGE = 100
"""Rows of the first page of a ranking."""

VECTORS_AT_ONCE = 500
"""Vectors of one request: 4 MB."""

T = TypeVar("T")


class ElasticVectorIndex(VectorIndexBase):
    """A VectorIndex on a server, without requests before the first query; `ElasticVectors.build` fills `folder`."""

    is_remote = True
    max_remote_scan = MAX_REMOTE_SCAN

    def __init__(self, server: Server, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]):
        reader = MappedArrays(LAYOUT, folder)
        super().__init__(folder, reader, find, rank)
        self._left = Left.read(folder)
        if (
            not isinstance(self._dimensions, int)
            or not 0 < self._dimensions <= bodies.MAX_DIMENSIONS
            or self._ids.shape != (self._left.documents,)
            or self._ids.dtype != np.dtype("<u4")
        ):
            raise CorruptError("the vectors do not fit their header", hint="index again", place=str(folder))
        self.breadth = int(reader.about("breadth"))
        self._recall = dict(reader.about("recall"))
        self._numbers = DocumentNumbers.read(reader, self._ids)
        self._server, self._rows = server, PagedRows(server, self._left.index, self._numbers)
        self._connecting, self._connected = threading.Lock(), False

    def about(self) -> dict[str, Any]:
        """Name, health, size and recall of the index on the server, and its encoder; `problem` on failure."""
        report: dict[str, Any] = {"index": "elasticsearch", "encoder": self._name, "entities": self.size}
        report |= {"dimensions": self._dimensions, "name": self._left.index, **self._recall}
        useless = self.is_exact(VectorQuery(), 1)
        report["graph"] = "not used: comparing all is as fast" if useless else f"{self.breadth} looked at"
        try:
            report["url"] = self._server.url
            self._server.ask("asking how it is", lambda client: client.info(), again=False)
            report["version"] = self._server.version
            self._connect()
            name = self._left.index
            stats = self._server.ask(
                "reading sizes", lambda client: client.indices.stats(index=name, metric="store"), again=False
            )
            health = self._server.ask(
                "reading the health", lambda client: client.cluster.health(index=name), again=False
            )
            report["bytes"] = int(stats["_all"]["primaries"]["store"]["size_in_bytes"])
            report["health"] = str(health["status"])
        except HybridkgError as e:
            report["problem"] = e.message
        return report

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        """Whether no search uses the graph."""
        return k < 1 or next(self._searches(query, among), None) is None

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """Cost of a request, of the vectors that it scores, and of the ids that it sends."""
        candidates = self.size if among is None else min(among, self.size)
        sent = 0 if among is None else min(candidates, self.size - candidates)
        search = next(self._searches(query, among), None)
        scored = candidates
        if search is not None:
            scored = min(candidates, SCRIPT_PER_CANDIDATE * search[1] * self._per_candidate(candidates))
        return ROUND_TRIP + PER_SCORED * scored + PER_SENT_ID * sent

    def _per_candidate(self, candidates: float) -> float:
        """Vectors that the graph visits for each candidate."""
        return self.size / max(candidates, 1)

    def _searches(self, query: VectorQuery, among: float | None) -> Iterator[tuple[int, int]]:
        """(depth, breadth) of each graph search that is cheaper than scoring all candidates."""
        if query.exact or query.within is not None or not self.size:
            return
        candidates = self.size if among is None else min(among, self.size)
        depth, breadth = DEPTH, self.breadth
        visited = self._per_candidate(candidates)
        while breadth <= bodies.MAX_CANDIDATES and SCRIPT_PER_CANDIDATE * breadth * visited < candidates:
            yield depth, breadth
            depth, breadth = depth * DEEPER, breadth * DEEPER

    def score_all(self, query: VectorQuery) -> tuple[Ids, Scores]:
        resolved = self._resolve(query)
        if resolved.vector is None:
            return np.empty(0, np.uint32), np.empty(0)
        ids, scores = self._score(resolved.vector[: self._dimensions], None, query.within)
        members = relation_mask(query, resolved, ids, scores)
        return ids[members], scores[members]

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Top-k without those entities that the graph misses."""
        resolved = self._resolve(query)
        if resolved.vector is None or k < 1 or not self.size:
            return np.empty(0, np.uint32), np.empty(0)
        searches = self._searches(query, None if among is None else len(among))
        vector, filtering = resolved.vector[: self._dimensions], None
        if among is not None:
            among = among[self._places(among)[0]]
            if not len(among):
                return np.empty(0, np.uint32), np.empty(0)
            filtering = bodies.entity_filter(among, self._ids, self._numbers)

        def ranked(ids: Ids, scores: Scores) -> RankedList:
            members = relation_mask(query, resolved, ids, scores)
            ids, scores = ids[members], scores[members]
            best = np.lexsort((self._rank(ids), -scores))
            return ids[best], scores[best]

        def approximate(breadth: int) -> RankedList:
            body = bodies.knn_query(vector, breadth, filtering)
            return ranked(*self._run(self._best(body, breadth, complete=False)))

        def exact(n: int) -> RankedList:
            # One more, for the query's own entity, which is excluded.
            body = bodies.score_query(vector, filtering, query.within)
            ids, scores = ranked(*self._run(self._best(body, n + 1, complete=True)))
            return ids[:n], scores[:n]

        return stable_top_k(k, searches, approximate, exact, self._rank)

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, Scores, float]:
        """The exact similarities: sending them dominates the time."""
        if among is None:
            return *self.score_all(query), 0.0
        scores = self.score(query, among)
        members = ~np.isnan(scores)
        return among[members], scores[members], 0.0

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        """Similarities, by requests of at most 65,536 entities."""
        resolved = self._resolve(query)
        distinct, place = np.unique(np.asarray(ids, np.uint32), return_inverse=True)
        answer = np.full(len(distinct), np.nan)
        if resolved.vector is None:
            return answer[place]
        stored = distinct[self._places(distinct)[0]]
        vector = resolved.vector[: self._dimensions]
        for start in range(0, len(stored), IDS_AT_ONCE):
            among = bodies.entity_filter(stored[start : start + IDS_AT_ONCE], self._ids, self._numbers)
            matches, scores = self._score(vector, among, query.within)
            members = relation_mask(query, resolved, matches, scores)
            answer[np.searchsorted(distinct, matches[members])] = scores[members]
        return answer[place]

    def vectors(self, ids: Ids) -> Vectors:
        """float32[n, dimensions]: vectors of entities that have one, in the order of `ids`; the bits that were sent.

        Raises:
            TextServerError: the server does not answer, or lacks some of them.
        """
        vectors = np.zeros((len(ids), self._dimensions), np.float32)
        for start in range(0, len(ids), VECTORS_AT_ONCE):
            part = ids[start : start + VECTORS_AT_ONCE]
            distinct = sorted_distinct(part)
            vectors[start : start + VECTORS_AT_ONCE] = self._run(self._fetch(distinct))[np.searchsorted(distinct, part)]
        return vectors

    def _vector_of(self, place: int) -> Vectors | None:
        vector = np.zeros(padded(self._dimensions), np.float32)
        vector[: self._dimensions] = self.vectors(self._ids[place : place + 1])[0]
        return vector

    def _score(self, vector: Vectors, among: Body | None, within: float | None) -> tuple[Ids, Scores]:
        """(ids ascending, cosines); all that satisfy `within`, and perhaps some just below it."""
        ids, scores = self._run(self._rows.scored(bodies.score_query(vector, among, within)))
        return ids, bodies.cosines(scores)

    def _best(self, body: Body, k: int, *, complete: bool) -> Steps[tuple[Ids, Scores]]:
        """At least the k best of a query and ties of the last one, in any order; the first page unless `complete`."""
        ids, scores = [np.empty(0, np.uint32)], [np.empty(0)]
        size = max(k + k // 8, MIN_PAGE) if complete else k * self._left.shards
        with closing(self._rows.best_first(body, size)) as pages:
            while hits := (yield from pages.following()):
                ids.append(self._rows.entities(hits, 1))
                scores.append(scores_of(hits))
                scored = np.concatenate(scores)
                if not complete or (len(scored) > k and scored[k - 1] > scored[-1]):
                    break
        return np.concatenate(ids), bodies.cosines(np.concatenate(scores))

    def _fetch(self, ids: Ids) -> Steps[Vectors]:
        """float32[n, dimensions] of entities, ascending and distinct."""
        numbers = self._numbers.of(ids).tolist()
        body: Body = {"query": {"terms": {"node": numbers}}, "size": len(ids), "sort": BY_NODE, "_source": False}
        (response,) = yield [{**body, "script_fields": {"vector": {"script": {"source": bodies.VECTOR}}}}]
        hits = response.get("hits", {}).get("hits", [])
        rows = [hit["fields"]["vector"] for hit in hits]
        vectors = np.array([row[0] if isinstance(row[0], list) else row for row in rows], np.float32)
        entities = self._rows.entities(hits)
        order = np.argsort(entities)
        if entities[order].tolist() != ids.tolist() or vectors.shape != (len(ids), self._dimensions):
            raise TextServerError(
                f"the server returned the vectors of {len(hits):,} of {len(ids):,} entities",
                hint="nothing was returned; try again",
            )
        return vectors[order]

    def _run(self, steps: Steps[T]) -> T:
        with self._connecting:
            self._connect()
        return self._server.together(self._left.index, [steps], dfs=False)[0]

    def _connect(self) -> None:
        """Checks once that the index is the one that was built, with the same number of documents."""
        if not self._connected:
            check_left(self._server, self._left.index, self._left.build, self._left.documents)
            self._connected = True
