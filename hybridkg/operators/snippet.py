"""SNIPPET: the best passage of an entity's texts, for the rows that survived."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.text_query import checked_index, text_query
from hybridkg.query import ast
from hybridkg.rdf.batch import Row, Solutions
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term


@dataclass(frozen=True)
class Snippet(OneChild):
    """The child's rows with a passage; unbound where the row has no score of this MATCH."""

    match: ast.Match
    score: str

    def run(self, context: ExecutionContext) -> Solutions:
        """Reads the texts of each distinct entity once for each text it was asked about."""
        solutions = context.run(self.child)
        index = checked_index(context.text, self.match)
        assert self.match.snippet is not None
        name = self.match.snippet.name
        fields = [field.name for field in self.match.fields]
        passages: dict[tuple[Term, Term | None], Literal | None] = {}

        def passage(row: Row) -> Literal | None:
            cells = dict(zip(solutions.variables, row, strict=True))
            entity = cells.get(self.match.entity.name)
            if cells.get(self.score) is None or not isinstance(entity, NamedNode | BlankNode):
                return None
            asked = cells.get(self.match.text.name) if isinstance(self.match.text, ast.Var) else None
            text, language = (asked.value, asked.language or "") if isinstance(asked, Literal) else (None, "")
            if (entity, asked) not in passages:
                found = index.passage(text_query(self.match, text, language), context.texts(entity, fields))
                passages[entity, asked] = Literal(found) if found else None
            return passages[entity, asked]

        found = [passage(row) for row in solutions.rows]
        if name not in solutions.variables:
            rows: list[Row] = [(*row, value) for row, value in zip(solutions.rows, found, strict=True)]
            return Solutions((*solutions.variables, name), rows)
        at = solutions.variables.index(name)
        return Solutions(
            solutions.variables,
            [
                (*row[:at], value if row[at] is None else row[at], *row[at + 1 :])
                for row, value in zip(solutions.rows, found, strict=True)
            ],
        )

    def describe(self) -> str:
        """The variables."""
        assert self.match.snippet is not None
        return f"Snippet ?{self.match.snippet.name} of ?{self.match.entity.name}"
