"""SNIPPET: the best passage of an entity's texts, for the rows that survived."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.interfaces.text_index import TextQuery
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.text_query import checked_index, text_query
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node, Term


@dataclass(frozen=True)
class Snippet(OneChild):
    """The child's rows with a passage; unbound where the row has no score of this MATCH."""

    match: ast.Match
    score: str

    def run(self, context: ExecutionContext) -> Solutions:
        """Reads the texts of all entities together, and looks at each once for each text that it was asked about."""
        solutions = context.run(self.child)
        assert self.match.snippet is not None
        name = self.match.snippet.name
        asked = [self._asked(solutions, row) for row in solutions.rows]
        passages = self._passages([one for one in dict.fromkeys(asked) if one is not None], context)
        found = [None if one is None else passages[one] for one in asked]
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

    def _asked(self, solutions: Solutions, row: Row) -> tuple[Node, Term | None] | None:
        """The entity of a row, and the text where a variable gives it; None without a score of this MATCH."""
        cells = dict(zip(solutions.variables, row, strict=True))
        entity = cells.get(self.match.entity.name)
        if cells.get(self.score) is None or not isinstance(entity, NamedNode | BlankNode):
            return None
        return entity, cells.get(self.match.text.name) if isinstance(self.match.text, ast.Var) else None

    def _passages(
        self, asked: list[tuple[Node, Term | None]], context: ExecutionContext
    ) -> dict[tuple[Node, Term | None], Literal | None]:
        index = checked_index(context.text, self.match)
        nodes = list(dict.fromkeys(node for node, _ in asked))
        texts = dict(zip(nodes, context.texts(nodes, [field.name for field in self.match.fields]), strict=True))
        queries: dict[Term | None, TextQuery] = {}
        for _, text in asked:
            if text not in queries:
                words, language = (text.value, text.language or "") if isinstance(text, Literal) else (None, "")
                queries[text] = text_query(self.match, words, language)
        passages: dict[tuple[Node, Term | None], Literal | None] = {}
        for node, text in asked:
            found = index.passage(queries[text], texts[node])
            passages[node, text] = Literal(found) if found else None
        return passages

    def describe(self) -> str:
        """The variables."""
        assert self.match.snippet is not None
        return f"Snippet ?{self.match.snippet.name} of ?{self.match.entity.name}"
