"""Builders of the additions to SPARQL: MATCH, NEAR, functions of RANK BY, RERANK."""

from __future__ import annotations

import math
from typing import Any

from hybridkg.query import ast
from hybridkg.query.builders.patterns import Patterns


class RankingBuilders(Patterns):
    """Builders of ranked predicates, which stand among the triples, and of ranking modifiers."""

    def match_item(self, c: list[Any], start: int, end: int) -> list[ast.Match]:
        return [ast.Match(entity=c[0], **c[1], span=self.span(start, end))]

    def match(self, c: list[Any], start: int, end: int) -> dict[str, Any]:
        """The fields of ast.Match after the entity."""
        names = ("all_terms", "query_syntax", "text", "fields", "model", "top", "score", "snippet")
        return dict(zip(names, c[1:], strict=True))

    def match_all(self, c: list[Any], start: int, end: int) -> bool:
        """Whether an optional keyword is present."""
        return bool(c)

    match_query = match_all

    def second_or_none(self, c: list[Any], start: int, end: int) -> Any:
        """The symbol after an optional keyword."""
        return c[1] if c else None

    using_clause = as_clause = snippet_clause = rerank_on = second_or_none

    def on_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.OnField, ...]:
        return tuple(c[2]) if c else ()

    def on_field(self, c: list[Any], start: int, end: int) -> ast.OnField:
        return ast.OnField(c[0].text, c[1], c[2], tuple(c[3]), span=self.span(start, end))

    def on_language(self, c: list[Any], start: int, end: int) -> str | None:
        return self.language(c[0]) if c else None

    def on_weight(self, c: list[Any], start: int, end: int) -> float | None:
        if not c:
            return None
        weight = float(c[1].lexical)
        if not math.isfinite(weight):
            raise self.error("a weight must be a finite number", start + 1, end)
        return weight

    def model_by_name(self, c: list[Any], start: int, end: int) -> ast.Model:
        return ast.Model(c[0].text, span=self.span(start, start + len(c[0].text)))

    def model_with_arguments(self, c: list[Any], start: int, end: int) -> ast.Model:
        files = [item for item in c[2] if isinstance(item, str)]
        if len(files) > 1:
            raise self.error("a model takes its parameters from one file", start, end)
        arguments = tuple(item for item in c[2] if isinstance(item, ast.NamedArgument))
        return ast.Model(c[0].text, arguments, *files, span=self.span(start, start + len(c[0].text)))

    def parameter_file(self, c: list[Any], start: int, end: int) -> str:
        return str(c[0].text[1:])

    def file_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        """`name=@links.tsv` is the text, including its `@`."""
        return ast.Lit(c[0].text, span=self.span(start, end))

    def argument(self, c: list[Any], start: int, end: int) -> ast.NamedArgument:
        return ast.NamedArgument(c[0].text, c[2], span=self.span(start, end))

    def top_clause(self, c: list[Any], start: int, end: int) -> int | None:
        return self.counted(c[1]) if c else None

    def near_item(self, c: list[Any], start: int, end: int) -> list[ast.Near]:
        return [ast.Near(c[0], *c[1], span=self.span(start, end))]

    def near(self, c: list[Any], start: int, end: int) -> tuple[Any, ...]:
        """The values after the entity, in the order of the fields of ast.Near."""
        exact, target, encoder, top, within, score = c[1:]
        return target, exact, encoder, top, within, score

    near_exact = match_all

    def vector(self, c: list[Any], start: int, end: int) -> ast.Vector:
        return ast.Vector(tuple(self._finite(number, "of a vector") for number in c[1]), span=self.span(start, end))

    def within_clause(self, c: list[Any], start: int, end: int) -> float | None:
        return self._finite(c[1], "behind WITHIN") if c else None

    def _finite(self, number: ast.Lit, place: str) -> float:
        value = float(number.lexical)
        if not math.isfinite(value):
            raise self.error(f"a number {place} must be finite", number.span.start, number.span.end)
        return value

    def rank_by(self, c: list[Any], start: int, end: int) -> ast.RankBy:
        return ast.RankBy(c[2], c[3], span=self.span(start, end))

    def rank_function(self, c: list[Any], start: int, end: int) -> ast.RankFunction:
        """`rrf(?a^weight, ?b, k=60)`, `minmax(?a)` and the other FUSIONS."""
        lists = tuple(item for item in c[2] if isinstance(item, ast.RankedList))
        arguments = tuple(item for item in c[2] if isinstance(item, ast.NamedArgument))
        return ast.RankFunction(c[0].text.lower(), lists, arguments, span=self.span(start, end))

    def ranked_list(self, c: list[Any], start: int, end: int) -> ast.RankedList:
        return ast.RankedList(c[0], c[1], span=self.span(start, end))

    def rerank_clause(self, c: list[Any], start: int, end: int) -> ast.Rerank | None:
        return ast.Rerank(self.counted(c[2]), c[4], c[5], c[6], span=self.span(start, end)) if c else None
