"""Judged rows: the first rows of a topic, with features and grades."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.reranker import RerankCandidates, Surroundings
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.prepared import PreparedQuery
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.ranking.rerankers.row_features import RowFeatures, names_of
from hybridkg.rdf.terms import BlankNode, NamedNode, Node
from hybridkg.results.formats.trec import ranking


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The rows of a topic, of which the first are reranked.

    Args:
        documents: (entity, score) of all rows, in the order of the query.
        features: float64[first rows, features].
        grades: int64[first rows], at least 0.
    """

    documents: tuple[tuple[str, float], ...]
    features: NDArray[np.float64]
    grades: NDArray[np.int64]

    def ranked(self, scores: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
        """The first rows reordered by float64[first rows] (a stable sort), then the other rows."""
        order = np.argsort(-scores, kind="stable").tolist()
        first = tuple((self.documents[i][0], float(scores[i])) for i in order)
        return (*first, *self.documents[len(order) :])


def read_rows(
    kb: KnowledgeBase,
    prepared: PreparedQuery,
    text: str,
    grades: Mapping[str, int],
    top: int,
    depth: int,
    names: tuple[str, ...] | None,
) -> tuple[tuple[str, ...], JudgedRows]:
    """(names of the features, rows of a topic); `names` None selects all features."""
    result = prepared.query({"text": text}, limit=max(top, depth))
    documents = tuple(ranking(result)) if len(result) else ()
    first: dict[str, tuple[Node, Mapping[str, float]]] = {}
    for row in result:
        if len(first) == top:
            break  # the scores of further rows are not used
        # `ranking` refuses a row without an entity.
        term = next(t for name in result.columns if isinstance(t := row.term(name), NamedNode | BlankNode))
        document = term.value if isinstance(term, NamedNode) else f"_:{term.value}"
        if document not in first:
            first[document] = (term, row.scores)
    chosen = [document for document, _ in documents[:top]]
    nodes = tuple(first[document][0] for document in chosen)
    labels = sorted(set(result.score_names))
    scores = {
        label: np.array([first[document][1].get(label, math.nan) for document in chosen], np.float64)
        for label in labels
    }
    state = snapshot_of(kb)
    ids = np.full(len(nodes), -1) if state.nodes is None else state.nodes.find_many(nodes)
    candidates = RerankCandidates(nodes, (text,) * len(nodes), scores, ids)
    names = names_of(state.ranked, labels) if names is None else names
    if not nodes:
        return names, JudgedRows(documents, np.zeros((0, len(names))), np.zeros(0, np.int64))
    around = Surroundings(state.store, state.ranked, state.texts, lambda: None)
    features = RowFeatures(candidates, around).matrix(names)
    own = np.array([max(0, grades.get(document, 0)) for document in chosen], np.int64)
    return names, JudgedRows(documents, features, own)
