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
"""Named graphs that are asked one by one; each costs about a millisecond and its own rows."""


@dataclass(frozen=True)
class GraphEach(OneChild):
    """The child's rows about each named graph, with the name of the graph.

    Args:
        child: shows in EXPLAIN what is asked of each graph; it never runs.
        variable: gets the name.
        columns: the variables of the child.
        about: makes the operators for the graph of a name.
        dataset: FROM and FROM NAMED.
    """

    variable: str
    columns: tuple[str, ...]
    about: Callable[[str], PhysicalOperator]
    dataset: tuple[ast.DatasetClause, ...] = ()

    @property
    def sparql(self) -> str:
        """Asks for the names of the graphs."""
        pattern = ast.GraphPattern(ast.Var(self.variable), ast.Group(()))
        columns = (ast.SelectItem(ast.Var(self.variable)),)
        return write(ast.SelectQuery(columns, ast.Group((pattern,)), "DISTINCT", self.dataset))

    def estimate(self, known: EstimationContext) -> float | None:
        """How many graphs there are is not known."""
        return None

    def work(self, known: EstimationContext) -> Work | None:
        """How many graphs there are is not known."""
        return None

    def run(self, context: ExecutionContext) -> Solutions:
        """Asks graph after graph, in the order of their names."""
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
                    f"a named graph is called {name}, and a blank node cannot be asked for by name",
                    hint=f"leave nothing but triples, MATCH and FILTER inside GRAPH ?{self.variable}",
                )
            iris.append(name)
        columns = tuple(sorted({*self.columns, self.variable}))
        graphs = sorted(iris, key=lambda node: node.value)
        return Solutions(columns, context.collect(row for iri in graphs for row in self._rows(columns, iri, context)))

    def _rows(self, columns: tuple[str, ...], name: NamedNode, context: ExecutionContext) -> Iterator[Row]:
        """The rows about one graph that its name is compatible with, and it in them."""
        found = context.run(self.about(name.value))
        at = {column: found.variables.index(column) for column in columns if column in found.variables}
        own = at.get(self.variable)
        for row in found.rows:
            if own is None or row[own] is None or row[own] == name:
                yield tuple(
                    name if column == self.variable else row[at[column]] if column in at else None for column in columns
                )

    def asks(self, known: EstimationContext) -> str:
        """The text sent to the store."""
        return self.sparql

    def describe(self) -> str:
        """The variable; the operators below are those for one graph."""
        return f"GraphEach ?{self.variable}"
