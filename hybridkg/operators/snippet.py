"""SNIPPET: the best passage of an entity's texts, for the rows that survived."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.interfaces.text_index import TextQuery
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.text_query import text_query
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node, Term


@dataclass(frozen=True)
class Snippet(OneChild):
    """Rows of the child with a passage; unbound if the row has no score of this MATCH.

    The texts of all entities are read together, and each is searched once for each query text.
    """

    match: ast.Match
    score: str

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run(self.child)
        assert self.match.snippet is not None
        name = self.match.snippet.name
        requests = [self._request(solutions, row) for row in solutions.rows]
        passages = self._passages([one for one in dict.fromkeys(requests) if one is not None], context)
        snippets = [None if one is None else passages[one] for one in requests]
        if name not in solutions.variables:
            rows: list[Row] = [(*row, value) for row, value in zip(solutions.rows, snippets, strict=True)]
            return Solutions((*solutions.variables, name), rows)
        at = solutions.variables.index(name)
        return Solutions(
            solutions.variables,
            [
                (*row[:at], value if row[at] is None else row[at], *row[at + 1 :])
                for row, value in zip(solutions.rows, snippets, strict=True)
            ],
        )

    def _request(self, solutions: Solutions, row: Row) -> tuple[Node, Term | None] | None:
        """Entity of a row, and its text if a variable binds it; None without a score of this MATCH."""
        cells = dict(zip(solutions.variables, row, strict=True))
        entity = cells.get(self.match.entity.name)
        if cells.get(self.score) is None or not isinstance(entity, NamedNode | BlankNode):
            return None
        return entity, cells.get(self.match.text.name) if isinstance(self.match.text, ast.Var) else None

    def _passages(
        self, requests: list[tuple[Node, Term | None]], context: ExecutionContext
    ) -> dict[tuple[Node, Term | None], Literal | None]:
        index, _ = context.checked(self.match)
        nodes = list(dict.fromkeys(node for node, _ in requests))
        texts = dict(zip(nodes, context.texts(nodes, [field.name for field in self.match.fields]), strict=True))
        queries: dict[Term | None, TextQuery] = {}
        for _, text in requests:
            if text not in queries:
                words, language = (text.value, text.language or "") if isinstance(text, Literal) else (None, "")
                queries[text] = text_query(self.match, words, language)
        passages: dict[tuple[Node, Term | None], Literal | None] = {}
        for node, text in requests:
            passage = index.passage(queries[text], texts[node])
            passages[node, text] = Literal(passage) if passage else None
        return passages

    def describe(self) -> str:
        assert self.match.snippet is not None
        return f"Snippet ?{self.match.snippet.name} of ?{self.match.entity.name}"
