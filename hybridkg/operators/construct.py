"""CONSTRUCT over ranked rows: a graph whose triples come best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import XSD_STRING, BlankNode, Literal, NamedNode, Term


@dataclass(frozen=True)
class Construct(OneChild):
    """Template instantiated for each row, each triple once.

    A triple with an unbound variable, or that is not RDF, is left out (SPARQL 1.1 section 16.2). A blank node of the
    template is a new one for each row, named `r<row>x<label>`; no stored node has such a name.
    """

    template: tuple[ast.TriplePattern, ...]

    def estimate(self, estimates: EstimationContext) -> float | None:
        return times(estimates.rows(self.child), float(len(self.template)))

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run(self.child)
        triples: dict[Row, None] = {}
        for number, row in enumerate(solutions.rows, 1):
            triples.update(dict.fromkeys(self._filled(dict(zip(solutions.variables, row, strict=True)), number)))
        return Solutions(GRAPH_COLUMNS, context.collect(triples))

    def _filled(self, values: Mapping[str, Term | None], number: int) -> Iterator[Row]:
        for triple in self.template:
            subject, predicate, target = (
                _term(part, values, number) for part in (triple.subject, triple.predicate, triple.object)
            )
            if isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode) and target is not None:
                yield subject, predicate, target

    def describe(self) -> str:
        return f"Construct {' '.join(write(ast.Group((ast.Triples(self.template),))).split())}"


def _term(part: ast.Syntax, values: Mapping[str, Term | None], number: int) -> Term | None:
    match part:
        case ast.Var(name):
            return values.get(name)
        case ast.Iri(value):
            return NamedNode(value)
        case ast.Blank(label):
            return BlankNode(f"r{number}x{label}")
        case ast.Lit(lexical, _, str(language)):
            return Literal(lexical, language=language)
        case ast.Lit(lexical, datatype):
            return Literal(lexical, datatype=NamedNode(datatype) if datatype else XSD_STRING)
    raise TypeError(f"no term of a template: {part!r}")
