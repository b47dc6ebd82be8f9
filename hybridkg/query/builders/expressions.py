"""Builders of expressions (productions 110-128)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hybridkg.query import ast
from hybridkg.query.builders.triples import TripleBuilders
from hybridkg.query.lexer import Token


class Expressions(TripleBuilders):
    """Builders of operators, built-in calls and aggregates; `as_group` is defined with the patterns."""

    def bracketed(self, c: list[Any], start: int, end: int) -> Any:
        return c[1]

    bracketed_expressions = bracketed

    def binary(self, c: list[Any], start: int, end: int) -> ast.Binary:
        return ast.Binary(c[1].text, c[0], c[2], span=self.span(start, end))

    def signed_addition(self, c: list[Any], start: int, end: int) -> ast.Binary:
        """`?x -1` is a subtraction, although the W3C tokens contain a negative number (production 116)."""
        chain: list[ast.Binary] = []
        first: ast.Expression = c[1]
        while isinstance(first, ast.Binary):
            chain.append(first)
            first = first.left
        assert isinstance(first, ast.Lit)
        right: ast.Expression = replace(first, lexical=first.lexical[1:])
        for node in reversed(chain):
            right = replace(node, left=right)
        return ast.Binary(first.lexical[0], c[0], right, span=self.span(start, end))

    def sign_or_not(self, c: list[Any], start: int, end: int) -> ast.Unary:
        return ast.Unary(c[0].text, c[1], span=self.span(start, end))

    def in_list(self, c: list[Any], start: int, end: int) -> ast.In:
        return ast.In(c[0], tuple(c[2]), span=self.span(start, end))

    def not_in_list(self, c: list[Any], start: int, end: int) -> ast.In:
        return ast.In(c[0], tuple(c[3]), negated=True, span=self.span(start, end))

    def no_expressions(self, c: list[Any], start: int, end: int) -> list[ast.Expression]:
        return []

    def no_arguments(self, c: list[Any], start: int, end: int) -> tuple[bool, list[ast.Expression]]:
        """`()` after the IRI of a function."""
        return False, []

    def arguments(self, c: list[Any], start: int, end: int) -> tuple[bool, list[ast.Expression]]:
        """`(a, b)` after the IRI of a function."""
        return False, c[1]

    def distinct_arguments(self, c: list[Any], start: int, end: int) -> tuple[bool, list[ast.Expression]]:
        """`(DISTINCT a)` after the IRI of a function."""
        return True, c[2]

    def function_call(self, c: list[Any], start: int, end: int) -> ast.Call:
        distinct, arguments = c[1]
        return ast.Call(c[0], tuple(arguments), distinct, span=self.span(start, end))

    def call(self, c: list[Any], start: int, end: int) -> ast.Call:
        """A built-in with a fixed number of arguments."""
        arguments = tuple(x for x in c[2:] if not isinstance(x, Token))
        name = c[0].text.upper()
        base = self.base or None if name in ("IRI", "URI") else None
        return ast.Call(name, arguments, base=base, span=self.span(start, end))

    def call_list(self, c: list[Any], start: int, end: int) -> ast.Call:
        """CONCAT or COALESCE with any number of arguments."""
        return ast.Call(c[0].text.upper(), tuple(c[1]), span=self.span(start, end))

    def exists(self, c: list[Any], start: int, end: int) -> ast.Exists:
        return ast.Exists(self.as_group(c[1]), span=self.span(start, end))

    def not_exists(self, c: list[Any], start: int, end: int) -> ast.Exists:
        return ast.Exists(self.as_group(c[2]), negated=True, span=self.span(start, end))

    def as_group(self, value: Any) -> ast.Group:
        raise NotImplementedError

    def distinct(self, c: list[Any], start: int, end: int) -> bool:
        return bool(c)

    def separator(self, c: list[Any], start: int, end: int) -> str | None:
        return c[3] if c else None

    def count_all(self, c: list[Any], start: int, end: int) -> ast.Aggregate:
        return ast.Aggregate("COUNT", None, c[2], span=self.span(start, end))

    def aggregate(self, c: list[Any], start: int, end: int) -> ast.Aggregate:
        """Any other aggregate; GROUP_CONCAT has a separator after its argument."""
        separator = c[4] if len(c) == 6 else None
        return ast.Aggregate(c[0].text.upper(), c[3], c[2], separator, span=self.span(start, end))
