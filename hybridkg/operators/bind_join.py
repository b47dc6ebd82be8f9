"""A join that asks the store only about the entities that matched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.join import Compatible
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.batch import Row, Solutions
from hybridkg.rdf.terms import NamedNode, Term

PROBES_AT_ONCE = 500
"""Values in one question. Above 1,000 Oxigraph 0.5.13 starts the join from the other end: 3.9 ms for 1,000 values
become 4.9 s for 1,100 (design, planner.md, trap 1)."""

SMALL_FRAGMENT = 2_000
"""A fragment with no more rows than this is read whole: that takes about 5 ms, and 500 probes about 2 ms."""

MOST_PROBES = 50_000
"""With more distinct entities than this the whole fragment is cheaper, at 2 us a row against 4 us a probe."""


@dataclass(frozen=True)
class BindJoin(PhysicalOperator):
    """Joins the child's rows with a fragment, by probing the fragment for the child's values of one variable.

    A fragment that turns out to be small is read whole instead; so is one that would be probed too often, or
    for blank nodes, which cannot be written in a query. The rows are those of HashJoin(fragment, child).
    """

    child: PhysicalOperator
    fragment: SparqlFragment
    variable: str

    @property
    def children(self) -> tuple[PhysicalOperator, ...]:
        """The child; the fragment is part of this operator."""
        return (self.child,)

    def run(self, context: ExecutionContext) -> Solutions:
        """Reads the child, then decides how to ask for the fragment."""
        right = context.run(self.child)
        left = self._fragment_rows(right, context)
        pairs = Compatible(left, right)
        merged = (pairs.merged(row, other) for row in left.rows for other in pairs.rows_for(row))
        return Solutions(pairs.variables, context.collect(merged))

    def _fragment_rows(self, right: Solutions, context: ExecutionContext) -> Solutions:
        stream = context.store.select(self.fragment.sparql)
        first = list(islice(stream.rows, SMALL_FRAGMENT + 1))
        columns = self.fragment.columns
        if len(first) <= SMALL_FRAGMENT:
            return Solutions(columns, first)
        at = right.variables.index(self.variable)
        values = list(dict.fromkeys(row[at] for row in right.rows))
        if len(values) > MOST_PROBES or not all(isinstance(value, NamedNode) for value in values):
            return Solutions(columns, first + context.collect(stream.rows))
        return Solutions(columns, context.collect(self._probed(values, context)))

    def _probed(self, values: list[Term | None], context: ExecutionContext) -> Iterator[Row]:
        for start in range(0, len(values), PROBES_AT_ONCE):
            rows = tuple(
                (ast.Iri(value.value),)
                for value in values[start : start + PROBES_AT_ONCE]
                if isinstance(value, NamedNode)
            )
            data = ast.InlineData((ast.Var(self.variable),), rows)
            group = ast.Group((data, *self._elements()))
            bound = SparqlFragment(group, self.fragment.columns, self.fragment.dataset)
            yield from context.store.select(bound.sparql).rows

    def _elements(self) -> tuple[ast.Element, ...]:
        """The fragment's own elements; nested where one of them depends on what stands before it."""
        elements = self.fragment.group.elements
        in_order = (ast.OptionalPattern, ast.MinusPattern, ast.Bind)
        return (self.fragment.group,) if any(isinstance(e, in_order) for e in elements) else elements

    @property
    def sparql(self) -> str:
        """The fragment without the values."""
        return self.fragment.sparql

    def describe(self) -> str:
        """The variable and the fragment."""
        return f"BindJoin on ?{self.variable}: {' '.join(write(self.fragment.group).split())}"
