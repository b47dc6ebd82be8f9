"""Candidate sets: the entities of a variable that satisfy the graph patterns and filters of a query."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hybridkg.algebra.certain import certain
from hybridkg.algebra.guarded_order import guarded
from hybridkg.algebra.small_joins import in_small_joins
from hybridkg.interfaces.graph_index import IdTable, PreparedPattern
from hybridkg.interfaces.meter import GRAPH_QUESTIONS, STORE_QUESTIONS, STORE_ROWS
from hybridkg.interfaces.ranked_index import is_remote_relation
from hybridkg.interfaces.text_index import Ids
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.graph_fragment import GraphFragment, restricted
from hybridkg.operators.id_sets import below, both, distinct_ids, held
from hybridkg.operators.index_access import every_entity, scores_among
from hybridkg.operators.probing import FEW_VALUES, rows_meeting
from hybridkg.operators.pushdown_conditions import whole
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import BlankNode, NamedNode, Term
from hybridkg.storage.distinct import sorted_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

MATCHES_PER_CANDIDATE = 2
"""Number of candidates tested in the time of reading one more entity of a complete relation."""


@dataclass(frozen=True)
class CandidateSetScan:
    """Scan for the entities of one variable that satisfy the fragments and filtering MATCHes of a query.

    Args:
        variable: bound in every row of every fragment.
        fragments: the graph patterns.
        filters: MATCHes whose scores order nothing; on this variable or others of the fragments.
    """

    variable: str
    fragments: tuple[GraphFragment, ...]
    filters: tuple[ast.RankedItem, ...] = ()

    @property
    def unrestricted(self) -> bool:
        """Whether every entity is a candidate."""
        return not self.fragments and not self.filters

    @property
    def shown(self) -> str:
        """Patterns and filters in one line; empty if every entity is a candidate."""
        filters = (" ".join(write(match).split()) for match in self.filters)
        return " and ".join([*(fragment.shown for fragment in self.fragments), *filters])

    def asks(self, estimates: EstimationContext) -> list[str]:
        """Queries sent to the store for fragments that the projection does not hold, without values."""
        outside = [fragment for fragment in self.fragments if estimates.prepared(fragment.pattern) is None]
        others = dict.fromkeys(match.entity.name for match in self.filters if match.entity.name != self.variable)
        return [
            _sparql(fragment, (self.variable, *(name for name in others if name in certain(fragment.group))))
            for fragment in outside
        ]

    def estimate(self, estimates: EstimationContext) -> float | None:
        """Expected size; None if only the store can evaluate a fragment."""
        expected: float | None = estimates.entities
        for fragment in self.fragments:
            size = estimates.size(fragment.pattern, self.variable)
            expected = times(expected, size, 1 / max(estimates.entities, 1.0))
        for match in self.filters:
            expected = times(expected, estimates.share(match))
        return expected

    def find(self, context: ExecutionContext, among: Ids | None = None) -> Ids | None:
        """uint32[n], ascending and distinct, below the number of entities; None if every entity is a candidate. The
        result is a subset of `among` (ascending and distinct).
        """
        if not self.filters:
            for fragment in self.fragments:
                among = _candidates(fragment, fragment.prepared(context), self.variable, among, {}, context)
            return among
        own = [match for match in self.filters if match.entity.name == self.variable]
        others: dict[str, list[ast.RankedItem]] = {}
        for match in self.filters:
            if match.entity.name != self.variable:
                others.setdefault(match.entity.name, []).append(match)
        last = among is None and bool(own) and self._graph_leaves_less(own, context)
        candidates = among if last else self._filtered(own, among, context)
        for fragment in self.fragments:
            sure = certain(fragment.group) if others else frozenset()
            tested = {name: matches for name, matches in others.items() if name in sure}
            candidates = self._of_fragment(fragment, tested, candidates, context)
        return self._filtered(own, candidates, context) if last else candidates

    def _graph_leaves_less(self, own: list[ast.RankedItem], context: ExecutionContext) -> bool:
        """Whether the fragments are expected to have fewer entities than the shortest relation."""
        prepared = [fragment.prepared(context) for fragment in self.fragments]
        sizes = [one.size(self.variable).estimate for one in prepared if one is not None]
        if not sizes or len(sizes) < len(prepared):
            return False
        return min(sizes) < min(_match_bound(match, context) for match in own)

    def _filtered(self, filters: list[ast.RankedItem], candidates: Ids | None, context: ExecutionContext) -> Ids | None:
        for match in filters:
            candidates = self._matching(match, context, candidates)
        return candidates

    def _passing(self, filters: list[ast.RankedItem], candidates: Ids | None, context: ExecutionContext) -> Ids:
        passing = self._filtered(filters, candidates, context)
        assert passing is not None
        return passing

    def _matching(self, match: ast.RankedItem, context: ExecutionContext, among: Ids | None) -> Ids:
        """Entities that match, among the remaining ones."""
        index, query = context.checked(match)
        if among is None:
            return every_entity(index, query, context)
        if not is_remote_relation(index, query) and len(among) > MATCHES_PER_CANDIDATE * index.match_count_bound(query):
            return both(among, every_entity(index, query, context))
        return among[~np.isnan(scores_among(index, query, among, context))]

    def _of_fragment(
        self,
        fragment: GraphFragment,
        tested: dict[str, list[ast.RankedItem]],
        among: Ids | None,
        context: ExecutionContext,
    ) -> Ids:
        """Entities in the solutions of a fragment whose other variables pass their filters.

        Either all entities that match are found first, or the solutions, whose entities are then scored: whichever are
        expected to be fewer.
        """
        prepared = fragment.prepared(context)
        if prepared is not None and tested:
            size = prepared.size().estimate
            if among is not None:
                size = min(size, len(among) * size / max(prepared.size(self.variable).estimate, 1.0))
            if size < min(_match_bound(match, context) for matches in tested.values() for match in matches):
                bound = {} if among is None else {self.variable: among}
                context.meter.add(GRAPH_QUESTIONS, 1)
                table = prepared.rows([self.variable, *tested], context.meter, bound)
                return self._of_table(table, tested, context)
        bound = {name: self._passing(matches, None, context) for name, matches in tested.items()}
        return _candidates(fragment, prepared, self.variable, among, bound, context)

    def _of_table(self, table: IdTable, tested: dict[str, list[ast.RankedItem]], context: ExecutionContext) -> Ids:
        assert context.graph is not None
        passes = np.ones(table.size, bool)
        for name, matches in tested.items():
            column = table.column(name)
            ids = _entities_of(distinct_ids(column), context)
            passes &= held(column, self._passing(matches, ids, context))
        return _entities_of(distinct_ids(table.column(self.variable)[passes]), context)


def _match_bound(match: ast.RankedItem, context: ExecutionContext) -> float:
    """Upper bound on the entities that match; inf for a remote index, whose complete relations are not to be read."""
    index, query = context.checked(match)
    return index.match_count_bound(query) if not is_remote_relation(index, query) else inf


def _candidates(
    fragment: GraphFragment,
    prepared: PreparedPattern | None,
    variable: str,
    among: Ids | None,
    bound: dict[str, Ids],
    context: ExecutionContext,
) -> Ids:
    """Entities in the solutions of a fragment in which other variables have the given ids."""
    if prepared is not None:
        context.meter.add(GRAPH_QUESTIONS, 1)
        return _entities_of(prepared.candidates(variable, context.meter, among, bound), context)
    wanted = bound if among is None else {**bound, variable: among}
    if (columns := fragment.over_columns(context, wanted)) is not None:
        column = restricted(columns, wanted).ids(variable)
        if column is not None:
            return _entities_of(distinct_ids(column.ids), context)
    candidates = _by_store(fragment, variable, among, bound, context)
    return candidates if among is None else both(candidates, among)


def _entities_of(ids: Ids, context: ExecutionContext) -> Ids:
    """Prefix of a set of nodes and literals that are entities of the text index."""
    assert context.graph is not None
    return below(ids, context.graph.n_entities)


def _by_store(
    fragment: GraphFragment, variable: str, among: Ids | None, bound: dict[str, Ids], context: ExecutionContext
) -> Ids:
    """`_candidates` from the store, for a few entities or for all; perhaps a superset of `among`."""
    assert context.nodes is not None
    names = (variable, *bound)
    rows = None if among is None else _probed(fragment, names, among, context)
    if rows is None:
        rows = context.collect(context.store.select(_sparql(fragment, names), joined=True).rows)
    context.meter.add(STORE_QUESTIONS, 1)
    context.meter.add(STORE_ROWS, len(rows))
    passes = np.ones(len(rows), bool)
    for at, name in enumerate(names[1:], 1):
        passes &= held(_entities([row[at] for row in rows], context), bound[name])
    wanted = _entities([row[0] for row in rows], context)[passes]
    return sorted_distinct(wanted[wanted >= 0].astype(np.uint32))


def _sparql(fragment: GraphFragment, names: tuple[str, ...]) -> str:
    projection = tuple(ast.SelectItem(ast.Var(name)) for name in names)
    group = in_small_joins(guarded(whole(fragment.bound_group)))
    return write(ast.SelectQuery(projection, group, reduction="DISTINCT", dataset=fragment.dataset))


def _probed(fragment: GraphFragment, names: tuple[str, ...], among: Ids, context: ExecutionContext) -> list[Row] | None:
    """Rows of a few entities; None if querying all is cheaper, or they cannot be named in a query."""
    assert context.nodes is not None
    if len(among) > FEW_VALUES:
        return None
    terms = context.nodes.nodes(among)
    if not all(isinstance(term, NamedNode) for term in terms):
        return None
    fragment_of_names = SparqlFragment(fragment.bound_group, names, fragment.dataset)
    return rows_meeting(fragment_of_names, names[0], len(terms), lambda: terms, context)


def _entities(terms: list[Term | None], context: ExecutionContext) -> NDArray[np.int64]:
    """int64[len(terms)]: id of each, -1 for a term that is no entity."""
    assert context.nodes is not None
    distinct = dict.fromkeys(term for term in terms if isinstance(term, NamedNode | BlankNode))
    ids: dict[Term | None, int] = dict(zip(distinct, context.nodes.find_many(list(distinct)).tolist(), strict=True))
    return np.array([ids.get(term, -1) for term in terms], np.int64)
