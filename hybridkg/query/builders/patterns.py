"""Builders of graph patterns (productions 53-69)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hybridkg.errors import QueryCheckError, Span
from hybridkg.query import ast
from hybridkg.query.builders.expressions import Expressions
from hybridkg.query.lexer import Token

MAX_COUNT = 2**63 - 1
"""Maximum of LIMIT, OFFSET and TOP: a 64-bit integer."""


@dataclass(frozen=True)
class BracedSelect:
    """`{ SELECT ... }`: a sub-select as an element, a group of one elsewhere."""

    query: ast.SelectQuery
    span: Span


class Patterns(Expressions):
    """Builders of groups and their elements."""

    def as_group(self, value: Any) -> ast.Group:
        if isinstance(value, BracedSelect):
            return ast.Group((ast.SubSelect(value.query, span=value.span),), span=value.span)
        assert isinstance(value, ast.Group)
        return value

    def sub_select_group(self, c: list[Any], start: int, end: int) -> BracedSelect:
        return BracedSelect(c[1], self.span(start, end))

    def group(self, c: list[Any], start: int, end: int) -> ast.Group:
        return ast.Group(tuple(c[1]), span=self.span(start, end))

    def group_body(self, c: list[Any], start: int, end: int) -> list[ast.Element]:
        """Alternating triples blocks and other patterns."""
        if len(c) == 1:
            return [] if c[0] is None else [c[0]]
        elements: list[ast.Element] = c[0]
        elements.append(c[1])
        if c[3] is not None:
            elements.append(c[3])
        return elements

    def triples_block_opt(self, c: list[Any], start: int, end: int) -> Any:
        """An optional symbol."""
        return c[0] if c else None

    where_clause_opt = triples_block_opt

    def dot_opt(self, c: list[Any], start: int, end: int) -> None:
        """An optional dot, without a value."""

    undef = dot_opt

    def optional_pattern(self, c: list[Any], start: int, end: int) -> ast.OptionalPattern:
        return ast.OptionalPattern(self.as_group(c[1]), span=self.span(start, end))

    def minus_pattern(self, c: list[Any], start: int, end: int) -> ast.MinusPattern:
        return ast.MinusPattern(self.as_group(c[1]), span=self.span(start, end))

    def graph_pattern(self, c: list[Any], start: int, end: int) -> ast.GraphPattern:
        return ast.GraphPattern(c[1], self.as_group(c[2]), span=self.span(start, end))

    silent = Expressions.distinct

    def service_pattern(self, c: list[Any], start: int, end: int) -> ast.ServicePattern:
        return ast.ServicePattern(c[2], self.as_group(c[3]), c[1], span=self.span(start, end))

    def single_group(self, c: list[Any], start: int, end: int) -> ast.Group | ast.SubSelect:
        """A group without UNION; a sub-select in braces is an element itself."""
        if isinstance(c[0], BracedSelect):
            return ast.SubSelect(c[0].query, span=c[0].span)
        return self.as_group(c[0])

    def group_or_union(self, c: list[Any], start: int, end: int) -> ast.UnionPattern:
        return ast.UnionPattern(tuple(map(self.as_group, c[0])), span=self.span(start, end))

    def filter(self, c: list[Any], start: int, end: int) -> ast.Filter:
        return ast.Filter(c[1], span=self.span(start, end))

    def bind(self, c: list[Any], start: int, end: int) -> ast.Bind:
        return ast.Bind(c[2], c[4], span=self.span(start, end))

    def inline_data(self, c: list[Any], start: int, end: int) -> ast.InlineData:
        data: ast.InlineData = c[1]
        return ast.InlineData(data.variables, data.rows, span=self.span(start, end))

    def data_one_variable(self, c: list[Any], start: int, end: int) -> ast.InlineData:
        """`?x { a b }`."""
        return ast.InlineData((c[0],), tuple((value,) for value in c[2]), span=self.span(start, end))

    def data_full(self, c: list[Any], start: int, end: int) -> ast.InlineData:
        """`(?x ?y) { (a b) }`."""
        variables, rows = tuple(c[1]), tuple(tuple(row) for row, _, _ in c[4])
        for values, row_start, row_end in c[4]:
            if len(values) != len(variables):
                raise QueryCheckError(
                    f"this row of VALUES has {_count(len(values), 'value')} for {_count(len(variables), 'variable')}",
                    hint="write UNDEF for a missing value",
                    span=self.span(row_start, row_end),
                )
        return ast.InlineData(variables, rows, span=self.span(start, end))

    def data_row(self, c: list[Any], start: int, end: int) -> tuple[list[Any], int, int]:
        """`(a b)`, with its offsets."""
        return c[1], start, end

    def counted(self, token: Token) -> int:
        """The number of LIMIT, OFFSET or TOP."""
        if len(token.text) > 4000 or int(token.text) > MAX_COUNT:
            raise self.error(f"this number is above {MAX_COUNT}", token.start, token.end)
        return int(token.text)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
