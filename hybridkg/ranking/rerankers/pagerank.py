"""PageRank reranker: the stationary distribution of a walk over the document graph, without learning.

    p <- (1 - d) t + d (P' p + dangling t)

P is the sum of the normalised channels, divided by its row sums; t is uniform, or the score of the rows, scaled to
0..1, over its sum; `dangling` is the probability of rows without an edge. Source: Brin and Page (WWW 1998); t as in
Haveliwala, "Topic-sensitive PageRank" (WWW 2002).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError, RerankerError
from hybridkg.interfaces.reranker import RerankCandidates, Reranked, RerankPlace, Setting, Surroundings
from hybridkg.ranking.rerankers.document_graph import RARE, document_graph
from hybridkg.ranking.rerankers.edges import EDGE_SOURCES, DocumentEdges
from hybridkg.ranking.rerankers.row_features import by_question, unit
from hybridkg.registry import did_you_mean

Floats = NDArray[np.float64]

MAX_DAMPING = 0.99
"""Maximum damping: 2,361 rounds, half a second for 1,000 rows; the number of rounds grows as 1 / (1 - damping)."""

SMALLEST_CHANGE = 1e-10
"""Sum of the changes of all probabilities below which a round is the last one."""

RANK, UNIFORM = "rank", "uniform"


class PageRankReranker:
    """The reranker `pagerank`."""

    settings: ClassVar[Mapping[str, Setting]] = {
        "edges": Setting("graph", note="sources of edges, with commas: graph, types"),
        "damping": Setting(0.85, 0, MAX_DAMPING, note="probability of following an edge"),
        "start": Setting(RANK, words=(RANK, UNIFORM), note="where the walk begins anew: by the score of the rows"),
        "score": Setting("", note="the score of `start`; default: rank, or the only one"),
    }
    takes_file, needs_query, repeatable, most = False, False, True, 1_000

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        self._edges = [name.strip() for name in str(values["edges"]).split(",") if name.strip()]
        self._damping, self._start = float(values["damping"]), str(values["start"])
        self._score = str(values["score"])
        if not self._edges:
            raise ConfigError("pagerank needs a source of edges", hint=f"edges='{EDGE_SOURCES.default}'")
        if len(set(self._edges)) < len(self._edges):
            raise ConfigError(f"a source of edges is named twice: {', '.join(self._edges)}")
        self._sources: list[DocumentEdges] = [EDGE_SOURCES.get(name) for name in self._edges]

    @property
    def name(self) -> str:
        return f"pagerank ({', '.join(self._edges)})"

    def rerank(self, candidates: RerankCandidates, around: Surroundings) -> Reranked:
        """Probabilities, of the rows of each question separately."""
        scores = np.zeros(len(candidates))
        for places, own in by_question(candidates):
            items = [one for source in self._sources for one in source.items(own.nodes, around)]
            weights = document_graph(items, len(own), RARE).messages()
            scores[places] = pagerank(weights, self._starts(own), self._damping)
            around.check()
        return Reranked(scores)

    def _starts(self, candidates: RerankCandidates) -> Floats:
        n = len(candidates)
        if self._start == UNIFORM:
            return np.full(n, 1.0 / n)
        names = list(candidates.scores)
        name = self._score or (RANK if RANK in names or len(names) != 1 else names[0])
        if name not in names:
            raise RerankerError(
                f"pagerank has no score {name!r} to start from; the rows have: {', '.join(names) or 'none'}",
                hint=did_you_mean(name, names) or "name one: score='...', or start='uniform'",
            )
        scaled = unit(candidates.scores[name])
        return scaled / scaled.sum() if scaled.sum() > 0 else np.full(n, 1.0 / n)


def pagerank(weights: Floats, start: Floats, damping: float) -> Floats:
    """float64[n]: the probabilities of a walk, which add up to 1.

    Args:
        weights: float64[n, n] of edges, at least 0.
        start: float64[n], adding up to 1.
        damping: 0 <= d < 1. A round multiplies the distance to the result by at most d, so the rounds end.

    Two rows, of which only the first is started from, and an edge between them: p = (1 - d) / (1 - d^2) for the first.

    >>> pagerank(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]), 0.5).round(4).tolist()
    [0.6667, 0.3333]
    """
    sums = weights.sum(axis=1)
    steps = np.divide(weights, sums[:, None], out=np.zeros_like(weights), where=sums[:, None] > 0)
    p = start
    change = math.inf
    while change >= SMALLEST_CHANGE:
        new = (1 - damping) * start + damping * (steps.T @ p + p[sums == 0].sum() * start)
        change = float(np.abs(new - p).sum())
        p = new
    return p
