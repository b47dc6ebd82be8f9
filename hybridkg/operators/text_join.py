"""Text join: a fragment joined with the relation of one MATCH, in ids; only joined entities become terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.graph_index import PreparedPattern
from hybridkg.interfaces.meter import (
    ADJACENCY,
    GRAPH_QUESTIONS,
    POSTINGS,
    PROBES,
    ROWS,
    SCORED_POSTINGS,
    TEXT_QUESTIONS,
    Work,
)
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest, is_remote_relation
from hybridkg.interfaces.text_index import AnyCondition, Ids, PushdownCondition, Scores, TextQuery
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import Column, InColumns, NumberColumn
from hybridkg.operators.context import JOINED, ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.operators.graph_fragment import NARROW_SHARE, GraphFragment
from hybridkg.operators.id_sets import below, distinct_ids, held, places
from hybridkg.operators.index_access import every_entity, every_match, scores_among
from hybridkg.operators.late_scores import LateScores, is_late
from hybridkg.operators.partition import KERNEL
from hybridkg.operators.predicate_pushdown import pushdown_conditions, shown, with_conditions
from hybridkg.operators.probing import PartialRead, read_up_to, rows_meeting
from hybridkg.operators.text_query import checked_index, describe, ranked_query
from hybridkg.operators.topk.candidates import CandidateSetScan
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node, Term, double

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.operators.context import Nodes

MANY_MATCHES = 1_000
"""Below this count, all matches are scored whatever the graph has; their number explains a short answer."""


@dataclass(frozen=True)
class TextJoin(PhysicalOperator):
    """Rows of HashJoin(fragment, TextRelation), without making terms of entities that do not join.

    The fragment binds the MATCH's entity in every row. Not for a MATCH with TOP or whose text is a variable. If a
    remote index has many matches, the fragment is read first; if it proves smaller, only its entities are scored.
    """

    match: ast.RankedItem
    score: str
    fragment: GraphFragment

    def estimate(self, estimates: EstimationContext) -> float | None:
        rows_each = self.fragment.rows_each(estimates, self.match.entity.name)
        return times(estimates.match_count_bound(self.match), rows_each)

    def work(self, estimates: EstimationContext) -> Work | None:
        most = estimates.match_count_bound(self.match)
        probe = self.fragment.work_for(estimates, self.match.entity.name, most)
        return work_of({TEXT_QUESTIONS: 1, self._read(estimates.text): most, **probe, ROWS: estimates.rows(self)})

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return (self,) if self.fragment.restrictable(variable) else ()

    def run(self, context: ExecutionContext) -> Solutions:
        index, whole = context.checked(self.match)
        nodes = context.nodes
        assert nodes is not None
        query = self._narrowed(whole, index)
        variable = self.match.entity.name
        prepared = self.fragment.prepared(context)
        if prepared is not None or self._is_narrow(index, query, context):
            joined = self._in_columns(index, whole, query, prepared, context)
            if joined is not None:
                return joined
        columns = self.fragment.over_columns(context)
        if columns is not None and (entities := columns.ids(variable)) is not None:
            scored = scored_rows(columns, entities.ids, whole, index, context)
            context.record_count(JOINED, scored.matching, self.match)
            return scored.joined(self.score)
        at = self.fragment.columns.index(variable)
        partial: PartialRead | None = None
        if is_remote_relation(index, query) and (most := index.match_count_bound(query)) > index.max_remote_scan:
            partial = read_up_to(self.fragment.in_store, min(most, context.max_rows), context)
            if partial.is_whole:
                scores_of = _scored(_distinct(partial.rows, at), whole, index, context)
                return self._joined(partial.rows, scores_of, context)
        ids, scores = every_match(index, query, context)
        rows = rows_meeting(self.fragment.in_store, variable, len(ids), lambda: nodes.nodes(ids), context, partial)
        return self._joined(rows, _looked_up(_distinct(rows, at), ids, scores, nodes), context)

    def _is_narrow(self, index: RankedIndex, query: RankedQuery, context: ExecutionContext) -> bool:
        """Whether operators over columns run for the matches only, or for those that are wanted, which are few."""
        if self.fragment.relational is None or context.graph is None or is_remote_relation(index, query):
            return False
        wanted = context.bounds.get(id(self), {}).get(self.match.entity.name)
        most = index.match_count_bound(query) if wanted is None else len(wanted)
        return most <= NARROW_SHARE * context.graph.n_nodes

    def _in_columns(
        self,
        index: RankedIndex,
        whole: RankedQuery,
        query: RankedQuery,
        prepared: PreparedPattern | None,
        context: ExecutionContext,
    ) -> InColumns | None:
        """Vectorized join with the rows of a fragment; None where it has no columns of ids. `query` is the `whole` one
        with the pushed-down conditions.
        """
        import numpy as np

        variable = self.match.entity.name
        scores: Scores | None = None
        bound = {} if is_remote_relation(index, whole) else context.bounds.get(id(self), {})
        if variable in bound:
            ids, scores = scores_of_ids(bound[variable], whole, index, context)
            wanted = held(ids, bound[variable])
            ids, scores = ids[wanted], scores[wanted]
        elif self._graph_first(index, query, prepared, context):
            candidates = CandidateSetScan(variable, (self.fragment,)).find(context)
            assert candidates is not None
            scores = scores_among(index, whole, candidates, context)
            ids, scores = candidates[~np.isnan(scores)], scores[~np.isnan(scores)]
        elif is_late(self.match, index):
            ids = every_entity(index, whole, context)
        else:
            ids, scores = every_match(index, query, context)
        solutions = self.fragment.columns_within(prepared, context, {**bound, variable: ids})
        entities = None if solutions is None else solutions.ids(variable)
        if solutions is None or entities is None:
            return None
        if entities.ids is ids or (len(entities.ids) == len(ids) and bool((entities.ids == ids).all())):
            matching = len(ids)
        else:
            scores, matching = scores_of_rows(entities.ids, ids, scores)
        if not bound:
            context.record_count(JOINED, matching, self.match)
        column: Column = LateScores(entities.ids, whole, index)
        if scores is not None:
            column = NumberColumn(scores, double)
        return solutions.having({**solutions.columns, self.score: column})

    def _graph_first(
        self, index: RankedIndex, query: RankedQuery, prepared: PreparedPattern | None, context: ExecutionContext
    ) -> bool:
        """Whether to score the entities of the fragment in place of the complete relation."""
        variable, most = self.match.entity.name, index.match_count_bound(query)
        if is_remote_relation(index, query):
            return most > index.max_remote_scan
        if prepared is None or most < MANY_MATCHES:
            return False
        entities = int(prepared.size(variable).estimate)
        each = prepared.work_each(variable)
        candidates = int(prepared.work(variable) + min(entities, most) * each)
        graph_first = {ADJACENCY: candidates, GRAPH_QUESTIONS: 1, PROBES: entities}
        text_first = {ADJACENCY: int(most * each), self._read(index): most}
        return context.price(graph_first) < context.price(text_first)

    def _read(self, index: RankedIndex | None) -> str:
        """The kind of work of reading the complete relation."""
        return POSTINGS if is_late(self.match, index) else SCORED_POSTINGS

    def sized(self, text: RankedIndex) -> tuple[RankedQuery, ...]:
        try:
            checked_index(text, self.match)
        except HybridkgError:
            return ()
        return (self.narrowed(text),)

    def questions(self, text: RankedIndex) -> tuple[RankedRequest, ...]:
        return tuple(
            RankedRequest(query)
            for query in self.sized(text)
            if not is_remote_relation(text, query) or text.match_count_bound(query) <= text.max_remote_scan
        )

    def narrowed(self, index: RankedIndex) -> RankedQuery:
        """Query with the pushed-down conditions of the fragment."""
        return self._narrowed(ranked_query(self.match), index)

    def _narrowed(self, query: RankedQuery, index: RankedIndex) -> RankedQuery:
        return with_conditions(query, lambda: self._conditions, index) if index.is_remote else query

    @cached_property
    def _conditions(self) -> tuple[PushdownCondition | AnyCondition, ...]:
        return pushdown_conditions(self.match.entity.name, self.fragment)

    def _joined(self, rows: list[Row], score_of: Mapping[Term | None, Literal], context: ExecutionContext) -> Solutions:
        context.record_count(JOINED, len(score_of), self.match)
        at = self.fragment.columns.index(self.match.entity.name)
        joined: list[Row] = [(*row, score) for row in rows if (score := score_of.get(row[at])) is not None]
        return Solutions((*self.fragment.columns, self.score), joined)

    def asks(self, estimates: EstimationContext) -> str:
        return self.fragment.asks(estimates)

    def describe(self) -> str:
        return f"TextJoin ?{self.match.entity.name} ?{self.score}"

    def details(self, estimates: EstimationContext) -> str:
        query = None if estimates.text is None else self.narrowed(estimates.text)
        pushed = query.conditions if isinstance(query, TextQuery) else ()
        return f"{describe(self.match, estimates.text)}{shown(pushed)}\n{self.fragment.details(estimates)}"


MATCHES_PER_PROBE = 20
"""Matches of a complete relation that cost as much as scoring one entity, in a local index."""

FEW_MATCHES = 500
"""Matches of a complete relation that cost no more than a request to a remote index: 1.2 to 1.5 ms."""


def scores_of_entities(
    entities: Iterable[Term | None], query: RankedQuery, index: RankedIndex, context: ExecutionContext
) -> dict[Term | None, Literal]:
    """Score of each entity that matches; unbound values and literals have none.

    The index scores these entities alone, or returns its complete relation if that is cheaper.
    """
    assert context.nodes is not None
    nodes = [term for term in entities if isinstance(term, NamedNode | BlankNode)]
    is_remote = is_remote_relation(index, query) and not context.is_answered(RankedRequest(query))
    few = is_remote or len(nodes) * MATCHES_PER_PROBE < index.match_count_bound(query)
    if few:
        return _scored(nodes, query, index, context)
    ids, scores = every_match(index, query, context)
    return _looked_up(nodes, ids, scores, context.nodes)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows in columns, with the scores of their entities.

    Args:
        solutions: the rows.
        matches: bool[rows], whether the entity matches.
        scores: float64[number of True in matches].
        matching: number of distinct entities that match.
    """

    solutions: InColumns
    matches: NDArray[np.bool_]
    scores: Scores
    matching: int

    def joined(self, score: str) -> InColumns:
        """The rows that match, with a column of scores."""
        rows = self.solutions.take(self.matches.nonzero()[0])
        return rows.having({**rows.columns, score: NumberColumn(self.scores, double)})


def scored_rows(
    solutions: InColumns, entities: Ids, query: RankedQuery, index: RankedIndex, context: ExecutionContext
) -> ScoredRows:
    """Scores of rows, of which `entities` are the ids of one variable."""
    distinct = distinct_ids(entities)
    ids, scores = scores_of_ids(distinct, query, index, context)
    matches = held(entities, ids)
    return ScoredRows(solutions, matches, scores[places(entities[matches], ids)], int(held(distinct, ids).sum()))


def scores_of_rows(rows: Ids, ids: Ids, scores: Scores | None) -> tuple[Scores | None, int]:
    """(scores, number of distinct ids) of rows, each of which has one of the ascending ids; without scores, None.

    >>> import numpy as np
    >>> scores_of_rows(np.array([7, 7, 3], np.uint32), np.array([3, 5, 7], np.uint32), np.array([0.5, 1.0, 2.0]))
    (array([2. , 2. , 0.5]), 2)
    """
    import numpy as np

    if scores is None or not len(rows):
        return scores if scores is None else scores[:0], len(distinct_ids(rows))
    if (kernel := KERNEL.for_work(len(rows))) is not None:
        found, is_found = np.empty(len(rows)), np.zeros(len(ids), np.bool_)
        rows, ids = np.ascontiguousarray(rows), np.ascontiguousarray(ids)
        return found, kernel.scores_of_rows(rows, ids, np.ascontiguousarray(scores), found, is_found)
    at = places(rows, ids)
    return scores[at], int(np.count_nonzero(np.bincount(at)))


def scores_of_ids(ids: Ids, query: RankedQuery, index: RankedIndex, context: ExecutionContext) -> tuple[Ids, Scores]:
    """(ids, scores) of at least those of some entities that match, ascending; requested as in `scores_of_entities`."""
    import numpy as np

    if context.graph is not None:
        ids = below(ids, context.graph.n_entities)
    is_remote = is_remote_relation(index, query) and not context.is_answered(RankedRequest(query))
    if not is_remote and len(ids) * MATCHES_PER_PROBE >= index.match_count_bound(query):
        return every_match(index, query, context)
    if not len(ids):
        return ids, np.zeros(0)
    scores = scores_among(index, query, ids, context)
    matching = ~np.isnan(scores)
    return ids[matching], scores[matching]


def _distinct(rows: list[Row], at: int) -> list[Node]:
    return [term for term in dict.fromkeys(row[at] for row in rows) if isinstance(term, NamedNode | BlankNode)]


def _looked_up(entities: list[Node], ids: Ids, scores: Scores, nodes: Nodes) -> dict[Term | None, Literal]:
    """Score of each entity that is in a relation; ids ascend."""
    import numpy as np

    if not entities or not len(ids):
        return {}
    wanted = nodes.find_many(entities)
    place = np.minimum(np.searchsorted(ids, np.maximum(wanted, 0)), len(ids) - 1)
    matches = (wanted >= 0) & (ids[place] == wanted)
    return _by_entity(entities, scores[place], matches)


def _scored(
    entities: list[Node], query: RankedQuery, index: RankedIndex, context: ExecutionContext
) -> dict[Term | None, Literal]:
    import numpy as np

    if not entities:
        return {}
    assert context.nodes is not None
    wanted = context.nodes.find_many(entities)
    is_entity = wanted >= 0
    if not is_entity.any():
        return {}
    scores = np.full(len(wanted), np.nan)
    scores[is_entity] = scores_among(index, query, wanted[is_entity].astype(np.uint32), context)
    return _by_entity(entities, scores, ~np.isnan(scores))


def _by_entity(entities: list[Node], scores: Scores, matches: NDArray[np.bool_]) -> dict[Term | None, Literal]:
    return {
        entity: double(score)
        for entity, score, hit in zip(entities, scores.tolist(), matches.tolist(), strict=True)
        if hit
    }
