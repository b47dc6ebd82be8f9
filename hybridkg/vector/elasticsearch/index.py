"""Answers NEAR from an index of vectors in Elasticsearch.

Whoever asks gets the score of one script over the float32 vectors of the server, so a score has the same bits in
every strategy. The best few of many come from the server's graph; what it finds is scored by that script, in the same
request.
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
from hybridkg.remote.elasticsearch.orphans import Left, check_left
from hybridkg.remote.elasticsearch.pages import BY_NODE, IDS_AT_ONCE, PagedRows, scores_of
from hybridkg.remote.elasticsearch.server import Body, Server, Steps
from hybridkg.storage.arrays import FolderLayout, MappedArrays
from hybridkg.vector.elasticsearch import bodies
from hybridkg.vector.index.similarity import padded
from hybridkg.vector.index.stable_prefix import Listed, deepened
from hybridkg.vector.index.vector_query import Asking, kept_in

LAYOUT = FolderLayout("hybridkg vectors in elasticsearch", 1, "vectors.json", "vector index")

MAX_REMOTE_SCAN = 2_000
"""Rows of a relation beyond which a pattern of the graph is read first; as of the text index there."""

DEPTH, DEEPER = 32, 4
"""The best that a first search of the graph is for, and how many times more the next; as planners go deeper."""

STEP = 30
"""Vectors that the script passes over in the time of one candidate of the graph: 0.55 us and 15 us for 384 numbers, one
server on a machine with two busy cores."""

ROUND_TRIP, PASSED, SENT = 250_000, 24, 10
"""Vectors that an index on this machine could compare, 23 ns each, in the time of a request (6 ms, there), of one that
the script passes over, and of one id that is sent (0.25 us)."""

MIN_PAGE = 100
"""Rows of the first page of a ranking."""

VECTORS_AT_ONCE = 500
"""Of one request: 4 MB."""

T = TypeVar("T")


class ElasticVectorIndex(Asking):
    """A VectorIndex on a server; asks nothing before the first query.

    Args:
        server: has it.
        folder: filled by `ElasticVectors.build`.
        find: the id of a node, None where it has none.
        rank: order of the nodes, for ties: ids -> ranks.
    """

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
        self._server, self._rows = server, PagedRows(server, self._left.index)
        self._connecting, self._connected = threading.Lock(), False

    def about(self) -> dict[str, Any]:
        """Which index on which server, how that is, and of what the vectors are."""
        told: dict[str, Any] = {"index": "elasticsearch", "encoder": self._name, "entities": self.size}
        told |= {"dimensions": self._dimensions, "name": self._left.index, **self._recall}
        useless = self.is_exact(VectorQuery(), 1)
        told["graph"] = "not asked: to compare all is as quick" if useless else f"{self.breadth} looked at"
        try:
            told["url"] = self._server.url
            self._server.ask("asking how it is", lambda client: client.info(), again=False)
            told["version"] = self._server.version
            self._connect()
            name = self._left.index
            stats = self._server.ask(
                "reading sizes", lambda client: client.indices.stats(index=name, metric="store"), again=False
            )
            health = self._server.ask(
                "reading the health", lambda client: client.cluster.health(index=name), again=False
            )
            told["bytes"] = int(stats["_all"]["primaries"]["store"]["size_in_bytes"])
            told["health"] = str(health["status"])
        except HybridkgError as e:
            told["problem"] = e.message
        return told

    # --- what it will do ---------------------------------------------------------

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        """As VectorIndex has it: unless the graph is asked."""
        return k < 1 or next(self._looks(query, among), None) is None

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """As VectorIndex has it: a request, what it passes over, and what it sends."""
        taking_part = self.size if among is None else min(among, self.size)
        sent = 0 if among is None else min(taking_part, self.size - taking_part)
        look = next(self._looks(query, among), None)
        passed = taking_part if look is None else min(taking_part, STEP * look[1] * self._per_candidate(taking_part))
        return ROUND_TRIP + PASSED * passed + SENT * sent

    def _per_candidate(self, taking_part: float) -> float:
        """Vectors that the graph passes for each that takes part."""
        return self.size / max(taking_part, 1)

    def _looks(self, query: VectorQuery, among: float | None) -> Iterator[tuple[int, int]]:
        """(best that it is for, candidates) of each search of the graph that is quicker than to compare everyone."""
        if query.exact or query.within is not None or not self.size:
            return
        taking_part = self.size if among is None else min(among, self.size)
        depth, breadth = DEPTH, self.breadth
        while breadth <= bodies.MAX_CANDIDATES and STEP * breadth * self._per_candidate(taking_part) < taking_part:
            yield depth, breadth
            depth, breadth = depth * DEEPER, breadth * DEEPER

    # --- questions ---------------------------------------------------------------

    def score_all(self, query: VectorQuery) -> tuple[Ids, Scores]:
        """As VectorIndex has it: read page by page."""
        asked = self._asked(query)
        if asked.vector is None:
            return np.empty(0, np.uint32), np.empty(0)
        ids, scores = self._compared(self._sent(asked.vector), None, query.within)
        kept = kept_in(query, asked, ids, scores)
        return ids[kept], scores[kept]

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """As VectorIndex has it, without those of the best that the graph overlooks."""
        asked = self._asked(query)
        if asked.vector is None or k < 1 or not self.size:
            return np.empty(0, np.uint32), np.empty(0)
        looks = self._looks(query, None if among is None else len(among))
        vector, filtering = self._sent(asked.vector), None
        if among is not None:
            among = among[self._places(among)[0]]
            if not len(among):
                return np.empty(0, np.uint32), np.empty(0)
            filtering = bodies.entities(among, self._ids)

        def kept(ids: Ids, scores: Scores) -> Listed:
            own = kept_in(query, asked, ids, scores)
            ids, scores = ids[own], scores[own]
            best = np.lexsort((self._rank(ids), -scores))
            return ids[best], scores[best]

        def found(breadth: int) -> Listed:
            return kept(*self._run(self._best(bodies.nearest(vector, breadth, filtering), breadth, whole=False)))

        def exactly(n: int) -> Listed:
            # One more, for the entity that is left out.
            best = self._run(self._best(bodies.compared(vector, filtering, query.within), n + 1, whole=True))
            ids, scores = kept(*best)
            return ids[:n], scores[:n]

        return deepened(k, looks, found, exactly, self._rank)

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, Scores, float]:
        """As VectorIndex has it: the similarities themselves, for what takes time is to send them."""
        if among is None:
            return *self.score_all(query), 0.0
        scores = self.score(query, among)
        known = ~np.isnan(scores)
        return among[known], scores[known], 0.0

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        """As VectorIndex has it; asked for 65,536 entities at a time."""
        asked = self._asked(query)
        wanted, place = np.unique(np.asarray(ids, np.uint32), return_inverse=True)
        answer = np.full(len(wanted), np.nan)
        if asked.vector is None:
            return answer[place]
        there = wanted[self._places(wanted)[0]]
        vector = self._sent(asked.vector)
        for start in range(0, len(there), IDS_AT_ONCE):
            among = bodies.entities(there[start : start + IDS_AT_ONCE], self._ids)
            found, scores = self._compared(vector, among, query.within)
            kept = kept_in(query, asked, found, scores)
            answer[np.searchsorted(wanted, found[kept])] = scores[kept]
        return answer[place]

    def vectors(self, ids: Ids) -> Vectors:
        """float32[n, dimensions]: those of some entities that have one, in their order; the bits that were sent.

        Raises:
            TextServerError: the server does not answer, or has not all of them.
        """
        found = np.zeros((len(ids), self._dimensions), np.float32)
        for start in range(0, len(ids), VECTORS_AT_ONCE):
            some = np.unique(ids[start : start + VECTORS_AT_ONCE])
            own = self._run(self._numbers_of(some))
            found[start : start + VECTORS_AT_ONCE] = own[np.searchsorted(some, ids[start : start + VECTORS_AT_ONCE])]
        return found

    # --- how they are answered ---------------------------------------------------

    def _sent(self, vector: Vectors) -> Vectors:
        return vector[: self._dimensions]

    def _vector_of(self, place: int) -> Vectors | None:
        found = np.zeros(padded(self._dimensions), np.float32)
        found[: self._dimensions] = self.vectors(self._ids[place : place + 1])[0]
        return found

    def _compared(self, vector: Vectors, among: Body | None, within: float | None) -> tuple[Ids, Scores]:
        """(ids ascending, cosines) of everyone or of some; all that are within, and perhaps some that nearly are."""
        ids, scores = self._run(self._rows.scored(bodies.compared(vector, among, within)))
        return ids, bodies.cosines(scores)

    def _best(self, body: Body, k: int, *, whole: bool) -> Steps[tuple[Ids, Scores]]:
        """At least the k best of a query, and all that are as good as the last of them, in any order.

        Args:
            body: the query.
            k: how many.
            whole: whether to read on until that is so; otherwise the first page is all.
        """
        ids, scores = [np.empty(0, np.uint32)], [np.empty(0)]
        size = max(k + k // 8, MIN_PAGE) if whole else k * self._left.shards
        with closing(self._rows.best_first(body, size)) as pages:
            while hits := (yield from pages.following()):
                ids.append(np.array([hit["sort"][1] for hit in hits], np.uint32))
                scores.append(scores_of(hits))
                every = np.concatenate(scores)
                if not whole or (len(every) > k and every[k - 1] > every[-1]):
                    break
        return np.concatenate(ids), bodies.cosines(np.concatenate(scores))

    def _numbers_of(self, ids: Ids) -> Steps[Vectors]:
        """float32[n, dimensions] of some entities, ascending and distinct."""
        body: Body = {"query": {"terms": {"node": ids.tolist()}}, "size": len(ids), "sort": BY_NODE, "_source": False}
        (response,) = yield [{**body, "script_fields": {"vector": {"script": {"source": bodies.VECTOR}}}}]
        hits = response.get("hits", {}).get("hits", [])
        rows = [hit["fields"]["vector"] for hit in hits]
        found = np.array([row[0] if isinstance(row[0], list) else row for row in rows], np.float32)
        if [hit["sort"][0] for hit in hits] != ids.tolist() or found.shape != (len(ids), self._dimensions):
            raise TextServerError(
                f"vectors of {len(hits):,} of {len(ids):,} entities came from the server",
                hint="nothing was returned; try again",
            )
        return found

    def _run(self, steps: Steps[T]) -> T:
        with self._connecting:
            self._connect()
        return self._server.together(self._left.index, [steps], dfs=False)[0]

    def _connect(self) -> None:
        """Looks once whether the index is the one that was left there, with as many documents."""
        if not self._connected:
            check_left(self._server, self._left.index, self._left.build, self._left.documents)
            self._connected = True
