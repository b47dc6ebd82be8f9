"""CONSTRUCT: the triples of a template for each solution, as columns, best first where the solutions are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import OneChild
from hybridkg.operators.column_join import stacked
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn, TermColumn, columns_of
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, cells, times
from hybridkg.operators.partition import FEW, Keys, Places, are_distinct, partition
from hybridkg.query import ast
from hybridkg.query.constants import term_of_constant
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import BlankNode, NamedNode, Term, triple_of


@dataclass(frozen=True)
class Construct(OneChild):
    """Template instantiated for each row, each triple once, in the order of the rows.

    A triple with an unbound variable, or that is not RDF, is left out (SPARQL 1.1 section 16.2). A blank node of the
    template is a new one for each row, named `r<row>x<label>`; no stored node has such a name.
    """

    template: tuple[ast.TriplePattern, ...]

    def estimate(self, estimates: EstimationContext) -> float | None:
        return times(estimates.rows(self.child), float(len(self.template)))

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(estimates.rows(self), estimates.rows(self))

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = columns_of(context.run(self.child), context.made)
        parts: list[InColumns] = []
        rows_of: list[Places] = []
        for triple in self.template:
            rows = _legal_rows(triple, solutions)
            targets: TermColumn | None = None
            if isinstance(triple.object, ast.TripleTerm):
                rows, targets = _triple_terms(triple.object, solutions, rows)
            context.allow(sum(part.size for part in parts) + len(rows))
            context.meter.check()
            parts.append(_instances(triple, solutions, rows, targets, context))
            rows_of.append(rows)
        if not parts:
            return Solutions(GRAPH_COLUMNS, [])
        triples = parts[0]
        if len(parts) > 1:
            triples = stacked(parts).take(np.argsort(np.concatenate(rows_of), kind="stable"))
        keys = [_identity(column) for column in triples.columns.values()]
        if are_distinct(keys):
            return triples
        _, first = partition(keys, triples.size)
        return triples if len(first) == triples.size else triples.take(np.sort(first))

    def describe(self) -> str:
        return f"Construct {' '.join(write(ast.Group((ast.Triples(self.template),))).split())}"


def _legal_rows(triple: ast.TriplePattern, solutions: InColumns) -> Places:
    """Rows for which the triple is one of RDF."""
    legal: NDArray[np.bool_] | None = None
    for part, kinds in (
        (triple.subject, (NamedNode, BlankNode)),
        (triple.predicate, (NamedNode,)),
        (triple.object, ()),
    ):
        if isinstance(part, ast.Var):
            own = _are(solutions.column(part.name), kinds)
        elif isinstance(part, ast.Lit | ast.TripleTerm) and kinds:
            own = np.zeros(solutions.size, np.bool_)
        else:
            continue
        if own is not None:
            legal = own if legal is None else legal & own
    return np.arange(solutions.size) if legal is None else np.flatnonzero(legal)


def _are(column: Column, kinds: tuple[type[Term], ...]) -> NDArray[np.bool_] | None:
    """bool[n]: which cells are bound, and of one of the kinds if any are given; None for all."""
    if not kinds:
        return column.is_bound if column.has_unbound else None
    if isinstance(column, NumberColumn):
        return np.zeros(len(column.numbers), np.bool_)
    if isinstance(column, IdColumn) and BlankNode in kinds and (column.ids < column.graph.n_nodes).all():
        return None
    distinct, place = column.each()
    own = np.array([isinstance(term, kinds) for term in distinct.cells()], np.bool_)
    return own[place]


def _triple_terms(term: ast.TripleTerm, solutions: InColumns, rows: Places) -> tuple[Places, TermColumn]:
    """The rows for which a triple term is one of RDF, and its terms there."""
    made = _made(term, solutions, rows)
    there = [place for place, one in enumerate(made) if one is not None]
    return rows[there], TermColumn.of([made[place] for place in there])


def _made(part: ast.Syntax, solutions: InColumns, rows: Places) -> Sequence[Term | None]:
    """The term of a part of a triple term for each of some rows; None where RDF has none."""
    match part:
        case ast.Var(name):
            return solutions.column(name).take(rows).cells()
        case ast.Blank(label):
            return _blank_nodes(label, rows)
        case ast.TripleTerm(subject, predicate, target):
            parts = [_made(one, solutions, rows) for one in (subject, predicate, target)]
            return [triple_of(*terms) for terms in zip(*parts, strict=True)]
    return [term_of_constant(part)] * len(rows)


def _blank_nodes(label: str, rows: Places) -> list[BlankNode]:
    return [BlankNode(f"r{row}x{label}") for row in (rows + 1).tolist()]


def _instances(
    triple: ast.TriplePattern,
    solutions: InColumns,
    rows: Places,
    targets: TermColumn | None,
    context: ExecutionContext,
) -> InColumns:
    """The triple for some rows; `targets` are the objects if they are triple terms."""
    columns: dict[str, Column] = {}
    for name, part in zip(GRAPH_COLUMNS, (triple.subject, triple.predicate, triple.object), strict=True):
        match part:
            case ast.Var(variable):
                columns[name] = solutions.column(variable).take(rows)
            case ast.Blank(label):
                columns[name] = _coded(_blank_nodes(label, rows), np.arange(len(rows)))
            case ast.TripleTerm():
                columns[name] = TermColumn.of([]) if targets is None else targets
            case _:
                columns[name] = _constant(term_of_constant(part), name, len(rows), context)
    return InColumns(columns, len(rows), context.made)


def _constant(term: Term, place: str, size: int, context: ExecutionContext) -> Column:
    """The term in each of some rows: its id where that spares terms for the nodes of the other triples."""
    if size > FEW and place != "predicate" and isinstance(term, NamedNode) and context.graph is not None:
        (number,) = context.graph.find([term]).tolist()
        if number >= 0:
            return IdColumn(np.full(size, number, np.uint32), context.graph)
    return _coded([term], np.zeros(size, np.intp))


def _coded(terms: Sequence[Term], codes: Places) -> TermColumn:
    held = np.empty(len(terms), object)
    held[:] = terms
    return TermColumn(held, codes)


def _identity(column: Column) -> Keys:
    """Integers, equal exactly where the terms are the same: a graph may have 1 and 01, which are equal for SPARQL."""
    return column.codes if isinstance(column, TermColumn) else column.keys
