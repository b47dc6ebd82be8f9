"""Functions of strings of a few terms, one term after the other, with the values of Oxigraph.

The arrays of TextFunctions take .1 ms a function whatever their length, and a question to the store .25 ms; a function
of one term takes about 1 us here. What is not certain to be Oxigraph's is left to it: changes of case of what is not
ASCII, which depend on the version of Unicode, and literals that are no plain texts, but for their language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridkg.operators.text_functions import ARITHMETIC, COMPARISONS, INTEGER, INTEGERS, MAX_STEPS, SIMPLE
from hybridkg.query import ast
from hybridkg.rdf.terms import XSD_STRING, Literal, NamedNode, Term


class _UnknownError(Exception):
    """A value that is left to Oxigraph."""


def values_of_few(expression: ast.Expression, terms: Sequence[Term | None]) -> list[Literal] | None:
    """The value of an expression of one variable for each of its terms; None if one of them is left to Oxigraph.

    >>> shout = ast.Call("UCASE", (ast.Call("SUBSTR", (ast.Var("t"), ast.Lit("1", INTEGER), ast.Lit("2", INTEGER))),))
    >>> [value.value for value in values_of_few(shout, [Literal("red"), Literal("")])]
    ['RE', '']
    """
    try:
        return [Literal(_value(expression, term)) for term in terms]
    except _UnknownError:
        return None


def _value(expression: ast.Expression, term: Term | None) -> str | int | bool:
    """A plain text, an integer or a truth value."""
    match expression:
        case ast.Var():
            return _plain(term)
        case ast.Lit(lexical, datatype, None, None) if datatype in SIMPLE:
            return lexical
        case ast.Lit(lexical, datatype) if datatype == INTEGER and INTEGERS.fullmatch(lexical):
            return int(lexical)
        case ast.Call("STR", (ast.Var(),)):
            return term.value if isinstance(term, NamedNode) else _text(term)
        case ast.Call("LANG", (ast.Var(),)) if isinstance(term, Literal):
            return term.language or ""
        case ast.Call("STRLEN", (ast.Var(),)):
            return len(_text(term))
        case ast.Call(str() as name, arguments):
            return _called(name, [_value(argument, term) for argument in arguments])
        case ast.Unary("!", operand):
            return not _truth(operand, term)
        case ast.Binary("&&", left, right):
            return _truth(left, term) & _truth(right, term)
        case ast.Binary("||", left, right):
            return _truth(left, term) | _truth(right, term)
        case ast.Binary(op, left, right) if op in COMPARISONS:
            return _compared(op, _value(left, term), _value(right, term))
        case ast.Binary(op, left, right) if op in ARITHMETIC:
            a, b = _value(left, term), _value(right, term)
            if type(a) is int and type(b) is int and abs(number := int(ARITHMETIC[op](a, b))) <= MAX_STEPS:
                return number
    raise _UnknownError


def _plain(term: Term | None) -> str:
    """The text of a plain literal."""
    if type(term) is Literal and term.datatype == XSD_STRING:
        return term.value
    raise _UnknownError


def _text(term: Term | None) -> str:
    """The text of a literal with a language or without."""
    if type(term) is Literal and (term.language is not None or term.datatype == XSD_STRING):
        return term.value
    raise _UnknownError


def _truth(expression: ast.Expression, term: Term | None) -> bool:
    value = _value(expression, term)
    if type(value) is bool:
        return value
    raise _UnknownError


def _compared(op: str, left: Any, right: Any) -> bool:
    """Texts are compared by code points."""
    if type(left) is type(right) and type(left) in (str, int):
        return bool(COMPARISONS[op](left, right))
    raise _UnknownError


def _called(name: str, arguments: list[Any]) -> str | int | bool:
    if any(type(argument) is bool for argument in arguments):  # which Python takes for an integer
        raise _UnknownError
    match name, arguments:
        case "STRLEN", [str(text)]:
            return len(text)
        case "UCASE", [str(text)] if text.isascii():
            return text.upper()
        case "LCASE", [str(text)] if text.isascii():
            return text.lower()
        case "CONCAT", [str(), *_] if all(type(argument) is str for argument in arguments):
            return "".join(arguments)
        case "SUBSTR", [str(text), int(first)] if first > 0:
            return text[first - 1 :]
        case "SUBSTR", [str(text), int(first), int(length)] if first > 0:
            return text[first - 1 : first - 1 + max(length, 0)]
        case "CONTAINS", [str(text), str(part)]:
            return part in text
        case "STRSTARTS", [str(text), str(part)]:
            return text.startswith(part)
        case "STRENDS", [str(text), str(part)]:
            return text.endswith(part)
        case "STRBEFORE", [str(text), str(part)] if part:
            return text.partition(part)[0] if part in text else ""
        case "STRAFTER", [str(text), str(part)] if part:
            return text.partition(part)[2]
    raise _UnknownError
