"""The lower bound: each question by hand, from offsets, targets and sorted values of the projection alone.

The terms of the answer are included, the match of a text is not: ids and scores are there before the clock starts.
Opening copies offsets to one type and builds the columns of single-valued predicates, as a kernel would have them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.writing import BASE
from benchmarks.relational import hybrid, kernels
from benchmarks.relational.contract import Places, Rows, text_of

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LIMIT = 10


class Direction:
    """One direction of a predicate, with offsets of one type and the place of each key."""

    def __init__(self, adjacency: Any, nodes: int):
        self.keys = np.ascontiguousarray(adjacency.keys)
        self.offsets = adjacency.offsets.astype(np.int64)
        self.targets = np.ascontiguousarray(adjacency.targets)
        self.place = np.full(nodes, -1, np.int64)
        inside = self.keys < nodes
        self.place[self.keys[inside]] = np.flatnonzero(inside)


class Arrays:
    """The projection of an open knowledge base."""

    def __init__(self, places: Places):
        from hybridkg import KnowledgeBase

        self._kb = KnowledgeBase.open(places.data.engines / "kb", warm_up=True)
        snapshot = self._kb._snapshot
        self._columns: Any = snapshot.projection
        self._text: Any = snapshot.text
        self._terms: Any = self._columns.terms
        nodes: Any = snapshot.nodes
        self._entity_text, offsets = nodes.texts()
        self._entity_offsets = offsets.astype(np.int64)
        others = self._terms._others  # no public way gives the bytes of nodes that have no text
        self._other_text, self._other_offsets = np.asarray(others.text), np.asarray(others.offsets).astype(np.int64)
        self._n_entities, n_nodes = self._terms.n_entities, self._terms.n_nodes
        self._n_nodes = n_nodes

        def direction(name: str, which: str) -> Direction:
            return Direction(getattr(self._columns.predicates[BASE + name], which), n_nodes)

        self._cites, self._cited = direction("cites", "forward"), direction("cites", "backward")
        self._authors, self._papers = direction("author", "forward"), direction("author", "backward")
        self._field = direction("field", "backward")
        self._years, self._venues = direction("year", "backward"), direction("venue", "backward")
        self._institutions = direction("affiliation", "backward")
        self._year, self._venue, self._affiliation = map(self._column, ("year", "venue", "affiliation"))
        self._whole: dict[str, Callable[[], Any]] = {
            "most cited ten papers": self._most_cited,
            "papers a year": self._papers_a_year,
            "papers by field and year, top ten": self._fields_and_years,
            "citations within one venue, counted": self._within_a_venue,
            "triples by predicate": self._by_predicate,
            "pairs of co-authors, counted": self._co_authors,
            "ten newest papers": self._newest,
            "three papers that cite each other, counted": self._papers_in_triangles,
            "three co-authors, counted": self._authors_in_triangles,
        }
        self._around: dict[str, Callable[[Any, Any], Any]] = dict(
            zip(
                hybrid.FORMS,
                (self._count, self._experts, self._per_year, self._best, self._distinct, self._rows, self._newest_of),
                strict=True,
            )
        )

    def _column(self, name: str) -> NDArray[np.uint32]:
        """uint32[nodes]: the one target of each node; 0 where it has none."""
        adjacency = self._columns.predicates[BASE + name].forward
        if len(adjacency.keys) != len(adjacency.targets):
            raise ValueError(f"{name} has several values for one subject")
        found = np.zeros(self._n_nodes, np.uint32)
        found[adjacency.keys] = adjacency.targets
        return found

    def ready(self, text: str) -> Callable[[], Any]:
        """`QUESTION` or `QUESTION|words`, whose matches are found here."""
        name, _, words = text.partition("|")
        if not words:
            return self._whole[name]
        from hybridkg.interfaces.text_index import TextQuery

        match = partial(self._text.score_all, TextQuery(words, syntax=False))
        if name == hybrid.MATCH:
            return match
        ids, scores = match()
        return partial(self._around[name], np.ascontiguousarray(ids), np.ascontiguousarray(scores))

    def plain(self, answer: Any) -> Rows:
        """Columns of texts and numbers as rows; nothing for the match alone."""
        if not isinstance(answer, list):
            return []
        return [tuple(map(text_of, row)) for row in zip(*answer, strict=True)]

    def close(self) -> None:
        """Lets go of the files."""
        self._kb.close()

    def _texts(self, ids: NDArray[Any]) -> list[str]:
        """The IRIs of nodes, of one kind: all entities, or none; all bytes are decoded at once."""
        if not len(ids):
            return []
        if int(ids[0]) < self._n_entities:
            found = kernels.gathered(self._entity_text, self._entity_offsets, ids.astype(np.int64))
        else:
            found = kernels.gathered(self._other_text, self._other_offsets, ids.astype(np.int64) - self._n_entities)
        texts: list[str] = found.tobytes().decode().split("\n")
        texts.pop()
        return texts

    def _numbers(self, ids: NDArray[Any]) -> list[int]:
        """The integers of literals."""
        literals = self._terms.parts[0]
        first, _ = literals.segments["number"]
        values: list[int] = literals.values("number")[ids.astype(np.int64) - first].astype(np.int64).tolist()
        return values

    def _most_cited(self) -> Any:
        counts = np.diff(self._cited.offsets)
        least = np.partition(counts, -LIMIT)[-LIMIT]
        able = np.flatnonzero(counts >= least)
        best = able[np.lexsort((self._cited.keys[able], -counts[able]))][:LIMIT]
        return [self._texts(self._cited.keys[best]), counts[best].tolist()]

    def _papers_a_year(self) -> Any:
        return [self._numbers(self._years.keys), np.diff(self._years.offsets).tolist()]

    def _fields_and_years(self) -> Any:
        first = int(self._years.keys[0])
        width = int(self._years.keys[-1]) - first + 1
        counts = kernels.counted_pairs(self._field.offsets, self._field.targets, self._year, first, width).ravel()
        best = np.argpartition(counts, -LIMIT)[-LIMIT:]
        best = best[np.argsort(-counts[best], kind="stable")]
        return [
            self._texts(self._field.keys[best // width]),
            self._numbers(best % width + first),
            counts[best].tolist(),
        ]

    def _within_a_venue(self) -> Any:
        return [[kernels.same_value(self._cites.keys, self._cites.offsets, self._cites.targets, self._venue)]]

    def _by_predicate(self) -> Any:
        names = list(self._columns.predicates)
        return [names, [self._columns.predicates[name].triples for name in names]]

    def _co_authors(self) -> Any:
        degrees = np.diff(self._authors.offsets)
        return [[int((degrees * (degrees - 1)).sum())]]

    def _newest(self) -> Any:
        papers, years = list[int](), list[int]()
        for at in range(len(self._years.keys) - 1, -1, -1):
            own = self._years.targets[self._years.offsets[at] : self._years.offsets[at + 1]][: LIMIT - len(papers)]
            papers += own.tolist()
            years += [int(self._years.keys[at])] * len(own)
            if len(papers) == LIMIT:
                break
        return [self._texts(np.array(papers)), self._numbers(np.array(years))]

    def _papers_in_triangles(self) -> Any:
        own = self._cites
        return [[kernels.directed_triangles(own.keys, own.offsets, own.targets, self._n_nodes)]]

    def _authors_in_triangles(self) -> Any:
        authors = np.searchsorted(self._papers.keys, self._authors.targets)
        papers = self._authors.place[self._papers.targets]
        edges = kernels.shared(self._authors.offsets, authors, self._papers.offsets, papers)
        return [[kernels.weighted_triangles(*edges)]]

    def _count(self, ids: NDArray[Any], scores: NDArray[Any]) -> Any:
        return [[len(ids)]]

    def _experts(self, ids: NDArray[Any], scores: NDArray[Any]) -> Any:
        own, groups = self._authors, self._institutions.keys
        first, width = int(groups[0]), int(groups[-1]) - int(groups[0]) + 1
        sums = kernels.summed_two_hops(
            ids, scores, own.place, own.offsets, own.targets, self._affiliation, first, width
        )
        best = np.argsort(-sums, kind="stable")[:LIMIT]
        best = best[sums[best] >= 0]
        return [self._texts(best + first), sums[best].tolist()]

    def _per_year(self, ids: NDArray[Any], scores: NDArray[Any]) -> Any:
        first = int(self._years.keys[0])
        counts = np.bincount(self._year[ids] - np.uint32(first))
        found = np.flatnonzero(counts)
        return [self._numbers(found + first), counts[found].tolist()]

    def _best(self, ids: NDArray[Any], scores: NDArray[Any]) -> Any:
        groups = self._venues.keys
        first, width = int(groups[0]), int(groups[-1]) - int(groups[0]) + 1
        best = kernels.greatest(ids, scores, self._venue, first, width)
        found = np.flatnonzero(best >= 0)
        return [self._texts(found + first), best[found].tolist()]

    def _distinct(self, ids: NDArray[Any], scores: NDArray[Any]) -> Any:
        own, people = self._authors, self._papers.keys
        first, width = int(people[0]), int(people[-1]) - int(people[0]) + 1
        found = kernels.marked_targets(ids, own.place, own.offsets, own.targets, first, width)
        return [self._texts(np.flatnonzero(found) + first)]

    def _rows(self, ids: NDArray[Any], scores: NDArray[Any]) -> Any:
        return [self._texts(ids), self._numbers(self._year[ids]), scores.tolist()]

    def _newest_of(self, ids: NDArray[Any], scores: NDArray[Any]) -> Any:
        first = int(self._years.keys[0])
        years = self._year[ids] - np.uint32(first)
        counts = np.cumsum(np.bincount(years)[::-1])  # of the newest years
        least = len(counts) - 1 - int(np.searchsorted(counts, min(LIMIT, len(ids))))
        able = np.flatnonzero(years >= least)
        best = able[np.argsort(-years[able].astype(np.int64), kind="stable")[:LIMIT]]
        return [self._texts(ids[best]), self._numbers(years[best] + first)]


def load(places: Places) -> dict[str, Any]:  # noqa: ARG001
    """Nothing: the projection is that of hybridkg."""
    return {}


def open(places: Places, patience_s: float) -> Arrays:  # noqa: ARG001
    """The projection."""
    return Arrays(places)
