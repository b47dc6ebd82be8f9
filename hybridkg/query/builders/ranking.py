"""Builds what HybridQL adds to SPARQL: MATCH, NEAR, functions of RANK BY, RERANK."""

from __future__ import annotations

import math
from typing import Any

from hybridkg.query import ast
from hybridkg.query.builders.patterns import Patterns


class RankingBuilders(Patterns):
    """Ranked predicates stand among the triples; the rest are solution modifiers."""

    # --- MATCH ----------------------------------------------------------------------

    def match_item(self, c: list[Any], start: int, end: int) -> list[ast.Match]:
        """`?entity MATCH ...`, among the triples."""
        fields = {"entity": c[0], **c[1]}
        return [ast.Match(**fields, span=self.span(start, end))]

    def match(self, c: list[Any], start: int, end: int) -> dict[str, Any]:
        """Everything behind the entity."""
        names = ("all_terms", "query_syntax", "text", "fields", "model", "top", "score", "snippet")
        return dict(zip(names, c[1:], strict=True))

    def match_all(self, c: list[Any], start: int, end: int) -> bool:
        """A keyword, or nothing."""
        return bool(c)

    match_query = match_all

    def second_or_none(self, c: list[Any], start: int, end: int) -> Any:
        """What stands behind a keyword, or nothing."""
        return c[1] if c else None

    using_clause = as_clause = snippet_clause = second_or_none

    def on_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.OnField, ...]:
        """`ON (field, ...)`, or nothing."""
        return tuple(c[2]) if c else ()

    def on_field(self, c: list[Any], start: int, end: int) -> ast.OnField:
        """`field[@language][^weight] [name=value ...]`."""
        return ast.OnField(c[0].text, c[1], c[2], tuple(c[3]), span=self.span(start, end))

    def on_language(self, c: list[Any], start: int, end: int) -> str | None:
        """`@en`, or nothing."""
        return self.language(c[0]) if c else None

    def on_weight(self, c: list[Any], start: int, end: int) -> float | None:
        """`^3`, or nothing."""
        if not c:
            return None
        weight = float(c[1].lexical)
        if not math.isfinite(weight):
            raise self.error("a weight must be a finite number", start + 1, end)
        return weight

    def model_by_name(self, c: list[Any], start: int, end: int) -> ast.Model:
        """A model without arguments."""
        return ast.Model(c[0].text, span=self.span(start, start + len(c[0].text)))

    def model_with_arguments(self, c: list[Any], start: int, end: int) -> ast.Model:
        """`model(@file, name=value, ...)`."""
        files = [item for item in c[2] if isinstance(item, str)]
        if len(files) > 1:
            raise self.error("a model takes its parameters from one file", start, end)
        arguments = tuple(item for item in c[2] if isinstance(item, ast.NamedArgument))
        return ast.Model(c[0].text, arguments, *files, span=self.span(start, start + len(c[0].text)))

    def parameter_file(self, c: list[Any], start: int, end: int) -> str:
        """`@params.toml`."""
        return str(c[0].text[1:])

    def file_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        """`name=@links.tsv` is the text with its `@`."""
        return ast.Lit(c[0].text, span=self.span(start, end))

    def argument(self, c: list[Any], start: int, end: int) -> ast.NamedArgument:
        """`name=value`."""
        return ast.NamedArgument(c[0].text, c[2], span=self.span(start, end))

    def top_clause(self, c: list[Any], start: int, end: int) -> int | None:
        """`TOP n`, or nothing."""
        return self.counted(c[1]) if c else None

    # --- NEAR -----------------------------------------------------------------------

    def near_item(self, c: list[Any], start: int, end: int) -> list[ast.Near]:
        """`?entity NEAR ...`, among the triples."""
        return [ast.Near(c[0], *c[1], span=self.span(start, end))]

    def near(self, c: list[Any], start: int, end: int) -> tuple[Any, ...]:
        """Everything behind the entity, in the order of the fields of ast.Near."""
        exact, target, encoder, top, within, score = c[1:]
        return target, exact, encoder, top, within, score

    near_exact = match_all

    def vector(self, c: list[Any], start: int, end: int) -> ast.Vector:
        """`[0.1, ...]`."""
        return ast.Vector(tuple(self._finite(number, "of a vector") for number in c[1]), span=self.span(start, end))

    def within_clause(self, c: list[Any], start: int, end: int) -> float | None:
        """`WITHIN threshold`, or nothing."""
        return self._finite(c[1], "behind WITHIN") if c else None

    def _finite(self, number: ast.Lit, place: str) -> float:
        value = float(number.lexical)
        if not math.isfinite(value):
            raise self.error(f"a number {place} must be finite", number.span.start, number.span.end)
        return value

    # --- RANK BY and RERANK -----------------------------------------------------------

    def rank_by(self, c: list[Any], start: int, end: int) -> ast.RankBy:
        """`RANK BY expression [AS ?score]`."""
        return ast.RankBy(c[2], c[3], span=self.span(start, end))

    def rank_function(self, c: list[Any], start: int, end: int) -> ast.RankFunction:
        """`rrf(?a^weight, ?b, k=60)`, `minmax(?a)` and the others of FUSIONS."""
        lists = tuple(item for item in c[2] if isinstance(item, ast.RankedList))
        arguments = tuple(item for item in c[2] if isinstance(item, ast.NamedArgument))
        return ast.RankFunction(c[0].text.lower(), lists, arguments, span=self.span(start, end))

    def ranked_list(self, c: list[Any], start: int, end: int) -> ast.RankedList:
        """`?score[^weight]`."""
        return ast.RankedList(c[0], c[1], span=self.span(start, end))

    def rerank_clause(self, c: list[Any], start: int, end: int) -> ast.Rerank | None:
        """`RERANK TOP n USING reranker [ON ?var] [AS ?score]`, or nothing."""
        return ast.Rerank(self.counted(c[2]), c[4], c[5], c[6], span=self.span(start, end)) if c else None

    def rerank_on(self, c: list[Any], start: int, end: int) -> ast.Var | None:
        """`ON ?variable`, or nothing."""
        return c[1] if c else None
