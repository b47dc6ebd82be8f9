"""Relation prefixes: runs of a plan over a part of its ranked relations.

A strategy that need not see every row runs the rest of the plan over growing prefixes ("slices") of the relations of
its MATCHes, and stops when no missing row can be among the first. The current prefix is in the ExecutionContext while
the plan below runs; `PrefixScan` replaces the complete relation in the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.index_access import scores_among
from hybridkg.operators.rank_functions import ListStatistics
from hybridkg.operators.text_query import describe, ranked_query
from hybridkg.operators.text_relation import rows_of
from hybridkg.query import ast
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import BlankNode, NamedNode, Term

NOTHING: Mapping[str, Any] = MappingProxyType({})


class RelationPrefix(NamedTuple):
    """Parts of ranked relations, and a bound on the rest.

    Args:
        relations: by the score variable of a MATCH, (ids, scores) of the selected entities.
        bound: upper bound on the rank score of a row with any other entity; -inf if there is none.
        ties_follow: whether rows of other entities at the bound come after those of the selected ones.
        lists: statistics of all surviving scores for rank functions.
        floors: floors of absent scores of OPTIONAL.
        again: whether this contains the earlier slices, whose rows it replaces.
    """

    relations: dict[str, tuple[Ids, Scores]]
    bound: float = -np.inf
    ties_follow: bool = False
    lists: Mapping[str, ListStatistics] = NOTHING
    floors: Mapping[str, float] = NOTHING
    again: bool = False

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.bound == -np.inf


@dataclass(frozen=True)
class PrefixScan(PhysicalOperator):
    """Relation (entity, score) of a MATCH for the entities that the operator above has selected, best first."""

    match: ast.RankedItem
    score: str

    def estimate(self, estimates: EstimationContext) -> float | None:
        if self.score in estimates.sliced:
            return estimates.sliced[self.score]
        return estimates.match_count_bound(self.match)

    def run(self, context: ExecutionContext) -> Solutions:
        assert context.slice is not None
        return rows_of(self.match, self.score, context.slice.relations[self.score], context)

    def describe(self) -> str:
        return f"PrefixScan ?{self.match.entity.name} ?{self.score}"

    def details(self, estimates: EstimationContext) -> str:
        return describe(self.match, estimates.text)


def relation_among(
    match: ast.RankedItem, terms: Iterable[Term | None], context: ExecutionContext, given: Term | None = None
) -> tuple[Ids, Scores]:
    """(ids uint32[m], scores float64[m]), ascending: part of the relation of a MATCH without TOP for some terms,
    repeated or not. `given` is its text or target, if a variable binds it.
    """
    assert context.nodes is not None
    nodes = [term for term in dict.fromkeys(terms) if isinstance(term, NamedNode | BlankNode)]
    node_ids = context.nodes.find_many(nodes)
    return relation_of_entities(match, np.sort(node_ids[node_ids >= 0]).astype(np.uint32), context, given)


def relation_of_entities(
    match: ast.RankedItem, ids: Ids, context: ExecutionContext, given: Term | None = None
) -> tuple[Ids, Scores]:
    """`relation_among` of a set of entities."""
    index, _ = context.checked(match)
    scores = scores_among(index, ranked_query(match, given), ids, context)
    matching = ~np.isnan(scores)
    return ids[matching], scores[matching]
