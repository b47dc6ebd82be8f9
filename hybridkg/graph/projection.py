"""The projection as the engine asks it: patterns of ids, answered from sorted adjacency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import ProjectionColumns
from hybridkg.graph.match.cardinality_bounds import bounds_of, work_each_of, work_of
from hybridkg.graph.match.compile import Preparing, Truth
from hybridkg.graph.match.conditions import Combined, IdTest, OfColumn, SameColumns
from hybridkg.graph.match.ids import distinct, inside
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.join_shape import JoinShape
from hybridkg.graph.match.nodes import PatternNode
from hybridkg.graph.match.paths import Relations
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.shape import PatternDeclined
from hybridkg.graph.match.strings import TermStrings
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.interfaces.graph_index import AskedPattern, BoundPattern, Cardinality, Ids, IdTable, Pattern, Test
from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.parameter import Bindings, Substitution
from hybridkg.rdf.terms import Term

MAX_ROWS = 10_000_000
"""Rows that an intermediate result may have, as in operators/context.py."""

MAX_PREPARED = 256
"""Patterns that are remembered, ready to be asked, and templates of patterns."""

CLOSED = (JoinShape, SolutionTable, dict, OfColumn, SameColumns, Combined)
"""Parts of a prepared pattern that have no parameters."""


class Projection:
    """A GraphIndex over columns.

    Args:
        columns: the projection of a graph, in memory or mapped.
        truth: evaluates a SPARQL expression over `?x` for each value, as Oxigraph does; an error is false.
        max_rows: the most rows of an intermediate result.
    """

    def __init__(self, columns: ProjectionColumns, truth: Truth, max_rows: int = MAX_ROWS):
        self._columns, self._truth, self._max_rows = columns, truth, max_rows
        self.n_entities, self.n_nodes = columns.terms.n_entities, columns.terms.n_nodes
        self._strings = TermStrings(columns.terms)
        self._relations = Relations(columns)
        self._tests: dict[Test, IdTest] = {}
        self._prepared: dict[int, tuple[AskedPattern, Prepared | None]] = {}
        self._templates: dict[int, tuple[Pattern, Substitution | None]] = {}

    def compile(self, pattern: AskedPattern) -> Prepared | None:
        """As GraphIndex has it; remembered, because a plan that runs again asks for the same patterns."""
        known = self._prepared.get(id(pattern))
        if known is not None:
            return known[1]
        node = self._bound(pattern) if isinstance(pattern, BoundPattern) else self._node(pattern)
        found = None if node is None else Prepared(node, self._max_rows)
        if len(self._prepared) >= MAX_PREPARED:
            self._prepared.clear()
        self._prepared[id(pattern)] = pattern, found  # which keeps the pattern, and so its identity
        return found

    def _bound(self, pattern: BoundPattern) -> PatternNode | None:
        """By the node of the template, unless it takes more, as for an IRI that the graph does not have."""
        known = self._templates.get(id(pattern.template))
        if known is None:
            node = self._node(pattern.template)
            if len(self._templates) >= MAX_PREPARED:
                self._templates.clear()
            known = pattern.template, None if node is None else Substitution(node, CLOSED)
            self._templates[id(pattern.template)] = known
        template, id_of = known[1], self._columns.terms.id_of
        if template is not None:
            ids = [0 if term is None else id_of(term) for term in pattern.values]
            if -1 not in ids:
                bound: PatternNode = template(Bindings(ids))
                return bound
        return self._node(pattern.template, pattern.values)

    def _node(self, pattern: Pattern, values: Sequence[Term | None] | None = None) -> PatternNode | None:
        preparing = Preparing(
            self._columns, self._relations.of, self._strings, self._truth, self._tests, pattern, values
        )
        try:
            return preparing.prepared()
        except PatternDeclined:
            return None

    def terms(self, ids: Ids) -> list[Term | None]:
        """As GraphIndex has it."""
        return self._columns.terms.terms(ids)

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        """As GraphIndex has it."""
        return self._columns.terms.find(terms)


@dataclass(frozen=True)
class Prepared:
    """A PreparedPattern."""

    node: PatternNode
    max_rows: int

    @property
    def variables(self) -> tuple[str, ...]:
        """As PreparedPattern has it."""
        return self.node.variables

    def size(self, variable: str | None = None) -> Cardinality:
        """As PreparedPattern has it."""
        low, high = bounds_of(self.node, variable)
        guess = float(high) if low == high else min(max(self.node.estimate(variable), low), high)
        return Cardinality(low, guess, high)

    def work(self, variable: str | None = None) -> float:
        """As PreparedPattern has it."""
        return work_of(self.node, variable)

    def work_each(self, variable: str) -> float:
        """As PreparedPattern has it."""
        return work_each_of(self.node, variable)

    def candidates(
        self, variable: str, meter: Meter, among: Ids | None = None, bound: Mapping[str, Ids] | None = None
    ) -> Ids:
        """As PreparedPattern has it."""
        run = PatternRun(meter, self.max_rows)
        if not bound:
            return self.node.values(variable, among, run)
        if isinstance(self.node, JoinNode):
            found = self.node.values_where(variable, among, bound, run)
            if found is not None:
                return found
        bound = bound if among is None else {**bound, variable: among}
        return distinct(self.rows([variable], meter, bound).column(variable))

    def rows(self, columns: Sequence[str], meter: Meter, bound: Mapping[str, Ids] | None = None) -> IdTable:
        """As PreparedPattern has it."""
        hints = dict(bound or {})
        table = self.node.rows(frozenset(columns) | frozenset(hints), hints, PatternRun(meter, self.max_rows))
        for name, ids in hints.items():
            mask = inside(table.columns[name], ids)
            if not mask.all():
                table = table.take(mask)
        return IdTable(tuple(columns), tuple(table.column(name) for name in columns), table.size)
