"""Columns for the reranker `features`: constraints of a question that nodes satisfy, and paths that lead to them.

    constraints   the confidence of the satisfied constraints, divided by that of all; 0 without a constraint
    paths N       the routes of N steps from a node that the question names: 1 / ln(2 + reach) for each that reaches it

The constraints are those of the interpretation. The routes are all that the schema has between the classes of the two
nodes, so they say something also where no constraint was read; a route with many answers counts less.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hybridkg.asking.anchors import named_nodes
from hybridkg.asking.base import AskedBase
from hybridkg.asking.interpret import interpret
from hybridkg.asking.paths import MAX_HOPS, TRIED, routes
from hybridkg.asking.slots import AbsenceConstraint, Constraint, PathConstraint, Slots
from hybridkg.asking.values import having, lacking
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.reranker import QUESTION_FEATURES


def question_columns(
    text: str, ids: NDArray[np.int64], base: AskedBase, weights: QuestionWeights = DEFAULT_WEIGHTS
) -> NDArray[np.float64]:
    """float64[len(ids), QUESTION_FEATURES] of a question, each at least 0.

    Args:
        text: the question; one without a word has zeros.
        ids: nodes; -1 for one that is in no index.
        base: the knowledge base.
        weights: of the interpretation.

    Raises:
        QueryLimitError: the question is too long.
    """
    if not base.names.analyzer.words(text):
        return np.zeros((len(ids), len(QUESTION_FEATURES)))
    return slot_columns(interpret(text, base, {}, weights=weights).slots, ids, base)


def slot_columns(slots: Slots, ids: NDArray[np.int64], base: AskedBase) -> NDArray[np.float64]:
    """The same of a question that is interpreted."""
    columns = np.zeros((len(ids), len(QUESTION_FEATURES)))
    parts = list(_parts(slots, base))
    total = sum(confidence for confidence, _ in parts)
    for confidence, answers in parts:
        columns[:, 0] += confidence / total * _inside(ids, answers)
    kinds = {kind for id in ids[ids >= 0].tolist() if (kind := base.schema.kind(id)) is not None}
    for node in named_nodes(slots.question, base):
        own = base.schema.kind(int(base.graph.find([node])[0]))
        for kind in sorted(kinds) if own is not None else ():
            for steps in routes(base, str(own), kind)[:TRIED]:
                reached = base.reach(node.value, steps)
                columns[:, len(steps)] += _inside(ids, reached) / np.log(2 + len(reached))
    return columns


def _parts(slots: Slots, base: AskedBase) -> Iterator[tuple[float, Ids]]:
    """The confidence and the answers of each constraint, and of the class where it is one of them (emit.py)."""
    if slots.target is None or not slots.constraints:
        return
    if not slots.is_class_sure:
        yield slots.target.confidence, base.instances(slots.target.iri)
    for one in slots.constraints:
        yield one.confidence, answers_of(one, slots.target.iri, base)


def answers_of(constraint: Constraint, target: str, base: AskedBase) -> Ids:
    """Ids of the instances of the target that satisfy one constraint, ascending."""
    if isinstance(constraint, PathConstraint):
        return base.reach(constraint.anchor.iri, constraint.steps)
    if isinstance(constraint, AbsenceConstraint):
        return lacking(constraint.step, target, base)
    return having(constraint.predicate, constraint.tests, target, base, years=constraint.years)


def _inside(ids: NDArray[np.int64], some: Ids) -> NDArray[np.bool_]:
    """Whether each node is one of some."""
    return np.isin(ids, some.astype(np.int64))


assert len(QUESTION_FEATURES) == 1 + MAX_HOPS
