"""Texts of expressions are kept for the next evaluation, but for long ones."""

from __future__ import annotations

from hybridkg.operators.expressions import MAX_CACHED_LENGTH, _short_text_of, text_of
from hybridkg.query import ast


def test_long_expressions_are_not_kept() -> None:
    _short_text_of.cache_clear()
    short, long = ast.Binary("+", ast.Var("x"), ast.Var("y")), ast.Lit("x" * (MAX_CACHED_LENGTH + 1))
    assert text_of(short) is text_of(short)
    assert text_of(long) == text_of(long)
    assert text_of(long) is not text_of(long)
    assert _short_text_of.cache_info().currsize == 1
