"""GRAPH ?variable around more than a join: one graph after another (SPARQL 1.1 section 18.6, Graph)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hybridkg.errors import QueryLimitError, UnsupportedQueryError
from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import NamedNode

MAX_GRAPHS = 10_000
"""Maximum named graphs queried one by one; each costs about a millisecond and its own rows."""


@dataclass(frozen=True)
class GraphEach(OneChild):
    """Rows of `about` for each named graph, with the name of the graph. The child shows in EXPLAIN the operators for
    one graph; it never runs.
    """

    variable: str
    columns: tuple[str, ...]
    about: Callable[[str], PhysicalOperator]
    dataset: tuple[ast.DatasetClause, ...] = ()

    @property
    def sparql(self) -> str:
        """Query for the names of the graphs."""
        pattern = ast.GraphPattern(ast.Var(self.variable), ast.Group(()))
        columns = (ast.SelectItem(ast.Var(self.variable)),)
        return write(ast.SelectQuery(columns, ast.Group((pattern,)), "DISTINCT", self.dataset))

    def estimate(self, estimates: EstimationContext) -> float | None:
        return None

    def work(self, estimates: EstimationContext) -> Work | None:
        return None

    def run(self, context: ExecutionContext) -> Solutions:
        names = [row[0] for row in context.collect(context.store.select(self.sparql).rows)]
        if len(names) > MAX_GRAPHS:
            raise QueryLimitError(
                f"GRAPH ?{self.variable} would ask {len(names):,} graphs one by one; at most {MAX_GRAPHS:,}",
                hint="write OPTIONAL, MINUS, UNION or sub-selects outside of GRAPH, or name the graph",
            )
        iris: list[NamedNode] = []
        for name in names:
            if not isinstance(name, NamedNode):
                raise UnsupportedQueryError(
                    f"a named graph is called {name}, and a blank node cannot be queried by name",
                    hint=f"leave nothing but triples, MATCH and FILTER inside GRAPH ?{self.variable}",
                )
            iris.append(name)
        columns = tuple(sorted({*self.columns, self.variable}))
        graphs = sorted(iris, key=lambda node: node.value)
        return Solutions(columns, context.collect(row for iri in graphs for row in self._rows(columns, iri, context)))

    def _rows(self, columns: tuple[str, ...], name: NamedNode, context: ExecutionContext) -> Iterator[Row]:
        """Rows for one graph, compatible with its name, which is added."""
        solutions = context.run(self.about(name.value))
        at = {column: solutions.variables.index(column) for column in columns if column in solutions.variables}
        own = at.get(self.variable)
        for row in solutions.rows:
            if own is None or row[own] is None or row[own] == name:
                yield tuple(
                    name if column == self.variable else row[at[column]] if column in at else None for column in columns
                )

    def asks(self, estimates: EstimationContext) -> str:
        return self.sparql

    def describe(self) -> str:
        return f"GraphEach ?{self.variable}"
