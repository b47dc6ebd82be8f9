"""Text relation of a MATCH: (entity, score), complete or its top k."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.interfaces.meter import POSTINGS, ROWS, SCORED_POSTINGS, TEXT_QUESTIONS, Work
from hybridkg.interfaces.ranked_index import RankedIndex, RankedRequest
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn
from hybridkg.operators.context import ExecutionContext, Nodes
from hybridkg.operators.estimation_context import EstimationContext, work_of
from hybridkg.operators.index_access import best_matches, every_entity, every_match
from hybridkg.operators.late_scores import LateScores, is_late
from hybridkg.operators.text_join import scores_of_ids
from hybridkg.operators.text_query import checked_index, describe, ranked_query
from hybridkg.query import ast
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.term_texts import TaggedTexts, TermTexts, tagged
from hybridkg.rdf.terms import Term, double


@dataclass(frozen=True)
class TextRelation(PhysicalOperator):
    """Every entity that matches, in node order; with `top` the best only, in ranked order.

    `top` comes from `TOP n` (a smaller relation) or from a LIMIT directly above. With `scores_some`, a join above may
    want the scores of its own entities only.
    """

    match: ast.RankedItem
    score: str
    top: int | None = None
    scores_some: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.match.entity.name, self.score)

    def estimate(self, estimates: EstimationContext) -> float | None:
        most = estimates.match_count_bound(self.match)
        return most if self.top is None or most is None else min(most, float(self.top))

    def work(self, estimates: EstimationContext) -> Work | None:
        read = SCORED_POSTINGS if self.top is None and not is_late(self.match, estimates.text) else POSTINGS
        return work_of({TEXT_QUESTIONS: 1, read: estimates.match_count_bound(self.match), ROWS: estimates.rows(self)})

    def questions(self, text: RankedIndex) -> tuple[RankedRequest, ...]:
        """Its one request; none if the index rejects it, an error reported by the run."""
        try:
            checked_index(text, self.match)
        except HybridkgError:
            return ()
        return (question(self.match, top=self.top),)

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return (self,) if self.scores_some and variable == self.match.entity.name else ()

    def run(self, context: ExecutionContext) -> Solutions:
        index, _ = context.checked(self.match)
        bound = context.bounds.get(id(self))
        if bound is not None:
            (wanted,) = bound.values()
            answer = scores_of_ids(wanted, ranked_query(self.match), index, context)
            return rows_of(self.match, self.score, answer, context)
        request = question(self.match, top=self.top)
        if request.k is None and is_late(self.match, index):
            ids = every_entity(index, request.query, context)
            return _in_columns(self.match, self.score, ids, LateScores(ids, request.query, index), context)
        return rows_of(self.match, self.score, _answer(index, request, context), context)

    def describe(self) -> str:
        top = "" if self.top is None else f" k={self.top}"
        return f"Text{'Relation' if self.top is None else 'TopK'} ?{self.match.entity.name}{top} ?{self.score}"

    def details(self, estimates: EstimationContext) -> str:
        return describe(self.match, estimates.text)


def _answer(index: RankedIndex, request: RankedRequest, context: ExecutionContext) -> tuple[Ids, Scores]:
    if request.k is None:
        return every_match(index, request.query, context)
    return best_matches(index, request.query, request.k, context)


def question(match: ast.RankedItem, *, given: Term | None = None, top: int | None = None) -> RankedRequest:
    """Request of a MATCH or NEAR; `given` is the text or entity bound by a variable."""
    query = ranked_query(match, given)
    return RankedRequest(query, top if top is not None else match.top)


def rows_of(match: ast.RankedItem, score: str, answer: tuple[Ids, Scores], context: ExecutionContext) -> Solutions:
    """Answer of the text index as columns (entity, score).

    Raises:
        QueryLimitError: more than the rows allowed.
    """
    ids, scores = answer
    return _in_columns(match, score, ids, NumberColumn(scores, double), context)


def _in_columns(match: ast.RankedItem, score: str, ids: Ids, scores: Column, context: ExecutionContext) -> Solutions:
    assert context.nodes is not None
    context.allow(len(ids))
    entities = IdColumn(ids, EntityTerms(context.nodes) if context.graph is None else context.graph)
    columns: dict[str, Column] = {match.entity.name: entities, score: scores}
    return InColumns(columns, len(ids), context.made)


@dataclass(frozen=True, eq=False)
class EntityTerms:
    """Names and order of the ids of the text index, where there is no projection."""

    nodes: Nodes
    n_nodes: int = int(UNBOUND)

    def terms(self, ids: Ids) -> list[Term | None]:
        """Term of each id; None for UNBOUND."""
        bound = ids != UNBOUND
        if bound.all():
            return list(self.nodes.nodes(ids))
        nodes = iter(self.nodes.nodes(ids[bound]))
        return [next(nodes) if is_bound else None for is_bound in bound.tolist()]

    def tagged(self, ids: Ids) -> TaggedTexts:
        """Tags and texts of a few terms."""
        return tagged(self.terms(ids))

    def texts(self, ids: Ids) -> TermTexts:
        """Text of each term of ascending ids."""
        texts = TermTexts.of(self.terms(ids))
        assert texts is not None  # entities are nodes
        return texts

    def order_keys(self, ids: Ids, *, total: bool) -> Ids | None:
        """Rank of each id; None where one is UNBOUND."""
        return None if (ids == UNBOUND).any() else self.nodes.rank(ids)
