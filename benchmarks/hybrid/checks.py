"""Whether an answer is right: complete, only papers that satisfy pattern and text, the best by the engine's own scores.

Formulas differ between engines, so no engine's ranking is held against
another's. What can be checked without knowing a formula: an engine tells its own
score of every paper for a text; the best k of those, among the papers that
truly satisfy the pattern, are the scores that it has to return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.contract import Found
from benchmarks.hybrid.graph import Graph
from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import doi

TOLERANCE = 1e-4
"""Of a score, relatively: most engines compute in single precision."""
SHORT, WRONG, TWICE, DOI, TEXT, NOT_BEST = (
    "short",
    "wrong papers",
    "papers twice",
    "doi",
    "misses the text",
    "not the best",
)


def faults(
    question: Question, answer: Sequence[Found], true: NDArray[np.int32], graph: Graph, own: Mapping[int, float] | None
) -> list[str]:
    """What is wrong with an answer.

    Args:
        question: that was asked.
        answer: in the engine's order.
        true: the papers that satisfy pattern and text, ascending.
        graph: for the DOIs.
        own: the engine's own score of every paper for the text; None: not checked.
    """
    papers = np.array([paper for paper, _, _ in answer], np.int64)
    found = []
    if len(answer) < min(question.k, len(true)):
        found.append(SHORT)
    if len(np.unique(papers)) < len(papers):
        found.append(TWICE)
    if not np.isin(papers, true).all():
        found.append(WRONG)
    if question.shape == "optional" and any(
        given != (doi(paper) if graph.has_doi[paper] else "") for paper, _, given in answer
    ):
        found.append(DOI)
    if own is not None:
        scores = [own.get(paper) for paper in true.tolist()]
        known = np.array([score for score in scores if score is not None])
        if len(known) < len(scores):
            found.append(TEXT)
        best = np.sort(known)[::-1][: question.k]
        given = np.array([score for _, score, _ in answer])
        if len(given) != len(best) or not np.allclose(given, best, rtol=TOLERANCE, atol=0):
            found.append(NOT_BEST)
    return found
