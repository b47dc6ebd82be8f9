"""GROUP BY over ranked rows, by Oxigraph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hybridkg.interfaces.text_index import TextIndex
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import inline
from hybridkg.order import row_key
from hybridkg.query import ast
from hybridkg.query.walk import variables
from hybridkg.query.write import write
from hybridkg.rdf.batch import Solutions

NOTHING = ast.Group(())
PLACE = "urn:hybridkg:rows"


@dataclass(frozen=True)
class GroupRows(OneChild):
    """One row for each group, with its aggregates; in term order, because groups have no order of their own."""

    keys: tuple[ast.GroupKey, ...]
    having: tuple[ast.Expression, ...]
    projection: tuple[ast.Projection, ...]

    @property
    def query(self) -> ast.SelectQuery:
        """The aggregation as a query over an empty group."""
        return ast.SelectQuery(self.projection, NOTHING, modifiers=ast.Modifiers(self.keys, self.having))

    def _around(self) -> tuple[str, str]:
        """The text of the aggregation before and behind its pattern.

        The pattern is found by an IRI that occurs nowhere else, whatever strings the aggregation has.
        """
        name, text = PLACE, write(self.query)
        while name in text:
            name += "-"
        place = ast.Iri(name)
        pattern = ast.Group((ast.Triples((ast.TriplePattern(place, place, place),)),))
        head, _, tail = write(replace(self.query, where=pattern)).partition(write(pattern))
        return head, tail

    def estimate(self, text: TextIndex | None) -> float | None:
        """Unknown without statistics, one where nothing is grouped by."""
        return None if self.keys else 1.0

    def run(self, context: ExecutionContext) -> Solutions:
        """Sends the used columns to Oxigraph with the aggregation around them."""
        solutions = context.run(self.child)
        used = variables(self.query)
        names = tuple(name for name in solutions.variables if name in used)
        at = [solutions.variables.index(name) for name in names]
        row_name = "row"
        while row_name in used:
            row_name += "_"
        pattern, triples = inline(names, [tuple(row[i] for i in at) for row in solutions.rows], row_name)
        head, tail = self._around()
        stream = context.scratch(triples).select(f"{head}{{\n{pattern}\n}}{tail}")
        rows = sorted(context.collect(stream.rows), key=row_key)
        return Solutions(stream.variables, rows)

    def describe(self) -> str:
        """The aggregation."""
        head, tail = self._around()
        return f"GroupRows {' '.join(head.split())} {' '.join(tail.split())}".replace(" WHERE", "").rstrip()
