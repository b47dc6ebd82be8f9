"""DESCRIBE over ranked rows: descriptions of the best nodes first."""

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
    """Description of each node, each triple once: the store's own DESCRIBE, which follows blank nodes."""

    subjects: tuple[ast.Var | ast.Iri, ...]
    dataset: tuple[ast.DatasetClause, ...]

    def estimate(self, estimates: EstimationContext) -> float | None:
        return None

    def work(self, estimates: EstimationContext) -> Work | None:
        return None

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run(self.child)
        text = self.sparql
        triples: dict[Row, None] = {}
        for node in dict.fromkeys(self._nodes(solutions)):
            context.meter.check()
            for triple in context.store.triples(text, {"node": node}):
                triples[triple.subject, triple.predicate, triple.object] = None
        return Solutions(GRAPH_COLUMNS, context.collect(triples))

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
        """Query to the store for one node."""
        return write(ast.DescribeQuery((ast.Var("node"),), ast.Group(()), self.dataset))

    def asks(self, estimates: EstimationContext) -> str:
        return self.sparql

    def describe(self) -> str:
        return " ".join(["Describe", *map(write, self.subjects)])
