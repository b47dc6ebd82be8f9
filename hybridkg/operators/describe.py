"""DESCRIBE over ranked rows: what the graph says of the best nodes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import BlankNode, NamedNode, Node


@dataclass(frozen=True)
class Describe(OneChild):
    """The description of each node, each triple once: the store's own DESCRIBE, which follows blank nodes."""

    subjects: tuple[ast.Var | ast.Iri, ...]
    dataset: tuple[ast.DatasetClause, ...]

    def estimate(self, known: EstimationContext) -> float | None:
        """How many triples a description has is not known."""
        return None

    def work(self, known: EstimationContext) -> Work | None:
        """How many triples a description has is not known."""
        return None

    def run(self, context: ExecutionContext) -> Solutions:
        """Asks the store about one node after another."""
        solutions = context.run(self.child)
        text = self.sparql
        made: dict[Row, None] = {}
        for node in dict.fromkeys(self._nodes(solutions)):
            context.meter.check()
            for triple in context.store.triples(text, {"node": node}):
                made[triple.subject, triple.predicate, triple.object] = None
        return Solutions(GRAPH_COLUMNS, context.collect(made))

    def _nodes(self, solutions: Solutions) -> Iterator[Node]:
        names = [subject.name for subject in self.subjects if isinstance(subject, ast.Var)]
        at = [solutions.variables.index(name) for name in names]
        for row in solutions.rows:
            for i in at:
                cell = row[i]
                if isinstance(cell, NamedNode | BlankNode):
                    yield cell
        if solutions.rows:  # without a solution Oxigraph describes nothing, named or not
            yield from (NamedNode(subject.value) for subject in self.subjects if isinstance(subject, ast.Iri))

    @property
    def sparql(self) -> str:
        """What the store is asked about each node."""
        return write(ast.DescribeQuery((ast.Var("node"),), ast.Group(()), self.dataset))

    def asks(self, known: EstimationContext) -> str:
        """The text sent to the store."""
        return self.sparql

    def describe(self) -> str:
        """The variables and IRIs."""
        return " ".join(["Describe", *map(write, self.subjects)])
