"""Judged rows: the first rows of a topic, with features and grades."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.reranker import RerankCandidates, Surroundings
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.prepared import PreparedQuery
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.ranking.rerankers.row_features import RowFeatures, names_of
from hybridkg.rdf.terms import BlankNode, NamedNode, Node
from hybridkg.results.formats.trec import ranking
from hybridkg.results.result_set import ResultSet


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
        """The first rows reordered by float64[first rows], then the other rows."""
        return reordered(self.documents, scores)


@dataclass(frozen=True, eq=False)
class FoundRows:
    """The rows of a topic as a reranker gets them.

    Args:
        documents: (entity, score) of all rows, in the order of the query.
        candidates: the first rows.
        around: of the knowledge base.
        grades: int64[first rows], at least 0.
        ranked_by: the scores that are equal to the one that ranks the rows, for each row; sorted.
    """

    documents: tuple[tuple[str, float], ...]
    candidates: RerankCandidates
    around: Surroundings
    grades: NDArray[np.int64]
    ranked_by: tuple[str, ...]

    def ranked(self, scores: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
        """As JudgedRows.ranked."""
        return reordered(self.documents, scores)


def reordered(documents: Sequence[tuple[str, float]], scores: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
    """The first documents reordered by float64[first] (a stable sort), then the others.

    >>> reordered([("a", 3.0), ("b", 2.0), ("c", 1.0)], np.array([0.25, 0.5]))
    (('b', 0.5), ('a', 0.25), ('c', 1.0))
    """
    order = np.argsort(-scores, kind="stable").tolist()
    first = tuple((documents[i][0], float(scores[i])) for i in order)
    return (*first, *documents[len(order) :])


def rows_query(kb: KnowledgeBase, query: str) -> PreparedQuery:
    """The query whose rows are reranked.

    Raises:
        UnsupportedQueryError: it does not rank, has no $text, or has a RERANK.
        HybridkgError: it is invalid.
    """
    prepared = kb.prepare(query, name="the query to rerank")
    if not prepared.ranks or prepared.parameters != ("text",):
        raise UnsupportedQueryError(
            "the rows to be reranked come from a query that ranks, and has $text for the words of a topic",
            hint="SELECT ?e ?s { ?e MATCH $text AS ?s } RANK BY ?s",
        )
    if prepared.reranks:
        raise UnsupportedQueryError("the query has a RERANK already", hint="give it without: training adds its own")
    return prepared


def found_rows(
    kb: KnowledgeBase, prepared: PreparedQuery, text: str, grades: Mapping[str, int], top: int, depth: int
) -> FoundRows:
    """The rows of a topic, of which the first `top` are candidates."""
    return rows_of(kb, prepared.query({"text": text}, limit=max(top, depth)), text, grades, top)


def rows_of(kb: KnowledgeBase, result: ResultSet, text: str, grades: Mapping[str, int], top: int) -> FoundRows:
    """The rows of a result, of which the first `top` are candidates; `text` is their query."""
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
    rank = np.array([score for _, score in documents[:top]], np.float64)
    ranked_by = tuple(label for label in labels if np.array_equal(scores[label], rank))
    state = snapshot_of(kb)
    ids = np.full(len(nodes), -1) if state.nodes is None else state.nodes.find_many(nodes)
    candidates = RerankCandidates(nodes, (text,) * len(nodes), scores, ids)
    around = Surroundings(
        state.store, state.ranked, state.texts, lambda: None, state.graph, state.anchors, state.question
    )
    own = np.array([max(0, grades.get(document, 0)) for document in chosen], np.int64)
    return FoundRows(documents, candidates, around, own, ranked_by)


def read_rows(
    kb: KnowledgeBase,
    prepared: PreparedQuery,
    text: str,
    grades: Mapping[str, int],
    top: int,
    depth: int,
    names: tuple[str, ...] | None,
    *,
    with_question: bool = False,
) -> tuple[tuple[str, ...], JudgedRows]:
    """(names of the features, rows of a topic); `names` None selects all features, those of questions if asked for."""
    found = found_rows(kb, prepared, text, grades, top, depth)
    return judged(found, names, with_question=with_question)


def judged(
    found: FoundRows, names: tuple[str, ...] | None, *, with_question: bool = False
) -> tuple[tuple[str, ...], JudgedRows]:
    """As read_rows, of found rows."""
    scores = list(found.candidates.scores)
    names = names_of(found.around.text, scores, with_question=with_question) if names is None else names
    if not len(found.candidates):
        return names, JudgedRows(found.documents, np.zeros((0, len(names))), found.grades)
    features = RowFeatures(found.candidates, found.around).matrix(names)
    return names, JudgedRows(found.documents, features, found.grades)
