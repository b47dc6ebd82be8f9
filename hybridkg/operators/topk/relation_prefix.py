"""Running a plan over a part of its ranked relations.

A strategy that need not see every row runs the rest of the plan again and again over growing parts ("slices") of the
relations of its MATCHes, and stops when no row that is still missing can be among the first. What it has chosen is in
the ExecutionContext while the plan below runs; `PrefixScan` stands in the plan where the complete relation would.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.index_access import scores_among
from hybridkg.operators.rank_functions import ListStatistics
from hybridkg.operators.text_query import checked_index, describe, ranked_query
from hybridkg.operators.text_relation import rows_of
from hybridkg.query import ast
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import BlankNode, NamedNode, Term


@dataclass(frozen=True)
class RelationPrefix:
    """Parts of ranked relations, and what the rest of them can still bring.

    Args:
        relations: by the score variable of a MATCH, (ids, scores) of the entities that take part.
        bound: no row with an entity outside of these has a greater rank score; -inf where there is none.
        ties_follow: whether rows of entities outside that reach the bound come behind those of the entities inside.
        lists: what rank functions have to know of all surviving scores, where the expression has any.
        floors: what absent ones of the scores that OPTIONAL adds count as.
        again: whether this holds what earlier slices held, so that their rows do not count any more.
    """

    relations: dict[str, tuple[Ids, Scores]]
    bound: float = -np.inf
    ties_follow: bool = False
    lists: dict[str, ListStatistics] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)
    again: bool = False

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.bound == -np.inf


@dataclass(frozen=True)
class PrefixScan(PhysicalOperator):
    """The relation (entity, score) of a MATCH, of the entities that the operator above has chosen."""

    match: ast.RankedItem
    score: str

    def estimate(self, known: EstimationContext) -> float | None:
        """As many as the operator above takes; all that match, where nobody says."""
        return known.sliced[self.score] if self.score in known.sliced else known.match_count_bound(self.match)

    def run(self, context: ExecutionContext) -> Solutions:
        """The chosen ones, best first."""
        assert context.slice is not None
        return rows_of(self.match, self.score, context.slice.relations[self.score], context)

    def describe(self) -> str:
        """Entity and score."""
        return f"PrefixScan ?{self.match.entity.name} ?{self.score}"

    def details(self, known: EstimationContext) -> str:
        """Model, fields, terms with df."""
        return describe(self.match, known.text)


def relation_among(
    match: ast.RankedItem, terms: Iterable[Term | None], context: ExecutionContext, given: Term | None = None
) -> tuple[Ids, Scores]:
    """The part of the relation of a MATCH without TOP that is about some terms, repeated or not.

    Args:
        match: the MATCH or NEAR.
        terms: whom it is about.
        context: of the run.
        given: its text or target, where a variable gives it.

    Returns:
        (ids uint32[m], scores float64[m]), ascending.
    """
    index = checked_index(context.text, match)
    assert context.nodes is not None
    nodes = [term for term in dict.fromkeys(terms) if isinstance(term, NamedNode | BlankNode)]
    found = context.nodes.find_many(nodes)
    ids = np.sort(found[found >= 0]).astype(np.uint32)
    scores = scores_among(index, ranked_query(match, given), ids, context)
    matching = ~np.isnan(scores)
    return ids[matching], scores[matching]
