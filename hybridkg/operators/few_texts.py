"""Functions of strings of a few terms, one term after the other, with the values of Oxigraph.

The arrays of TextFunctions take .1 ms a function whatever their length, and a question to the store .25 ms; a function
of one term takes about 0.5 us here. What is not certain to be Oxigraph's is left to it: changes of case of what is not
ASCII, which depend on the version of Unicode, and literals that are no plain texts, but for their language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hybridkg.operators.text_functions import ARITHMETIC, COMPARISONS, INTEGER, INTEGERS, MAX_STEPS, SIMPLE
from hybridkg.query import ast
from hybridkg.rdf.terms import XSD_STRING, Literal, NamedNode, Term

Value: TypeAlias = "str | int | bool"

OfTerm: TypeAlias = Callable[["Term | None"], Value]
"""Computes a plain text, an integer or a truth value of the term of the only variable of an expression."""


class _UnknownError(Exception):
    """A value that is left to Oxigraph."""


def of_term(expression: ast.Expression) -> OfTerm | None:
    """The function that an expression of one variable is; None if it is left to Oxigraph whatever the term is."""
    try:
        return _compiled(expression)
    except _UnknownError:
        return None


def values_of_few(function: OfTerm | None, terms: Sequence[Term | None]) -> list[Literal] | None:
    """The value of a function for each term; None if one of them is left to Oxigraph.

    >>> shout = ast.Call("UCASE", (ast.Call("SUBSTR", (ast.Var("t"), ast.Lit("1", INTEGER), ast.Lit("2", INTEGER))),))
    >>> [value.value for value in values_of_few(of_term(shout), [Literal("red"), Literal("")])]
    ['RE', '']
    """
    if function is None:
        return None if terms else []
    try:
        return [Literal(function(term)) for term in terms]
    except _UnknownError:
        return None


def _compiled(expression: ast.Expression) -> OfTerm:
    match expression:
        case ast.Var():
            return _plain
        case ast.Lit(lexical, datatype, None, None) if datatype in SIMPLE:
            return lambda _: lexical
        case ast.Lit(lexical, datatype) if datatype == INTEGER and INTEGERS.fullmatch(lexical):
            number = int(lexical)
            return lambda _: number
        case ast.Call("STR", (ast.Var(),)):
            return lambda term: term.value if isinstance(term, NamedNode) else _text(term)
        case ast.Call("LANG", (ast.Var(),)):
            return _language
        case ast.Call("STRLEN", (ast.Var(),)):
            return lambda term: len(_text(term))
        case ast.Call(str() as name, arguments):
            return _called(name, [*map(_compiled, arguments)])
        case ast.Unary("!", operand):
            negated = _truth(operand)
            return lambda term: not negated(term)
        case ast.Binary("&&", left, right):
            one, other = _truth(left), _truth(right)
            return lambda term: one(term) & other(term)
        case ast.Binary("||", left, right):
            one, other = _truth(left), _truth(right)
            return lambda term: one(term) | other(term)
        case ast.Binary(op, left, right) if op in COMPARISONS:
            return _compared(COMPARISONS[op], _compiled(left), _compiled(right))
        case ast.Binary(op, left, right) if op in ARITHMETIC:
            return _arithmetic(ARITHMETIC[op], _compiled(left), _compiled(right))
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


def _language(term: Term | None) -> str:
    if isinstance(term, Literal):
        return term.language or ""
    raise _UnknownError


def _truth(expression: ast.Expression) -> Callable[[Term | None], bool]:
    function = _compiled(expression)

    def truth(term: Term | None) -> bool:
        value = function(term)
        if type(value) is bool:
            return value
        raise _UnknownError

    return truth


def _compared(compare: Callable[[Any, Any], Any], left: OfTerm, right: OfTerm) -> OfTerm:
    """Texts are compared by code points."""

    def compared(term: Term | None) -> bool:
        a, b = left(term), right(term)
        if type(a) is type(b) and type(a) in (str, int):
            return bool(compare(a, b))
        raise _UnknownError

    return compared


def _arithmetic(compute: Callable[[Any, Any], Any], left: OfTerm, right: OfTerm) -> OfTerm:
    def computed(term: Term | None) -> int:
        a, b = left(term), right(term)
        if type(a) is int and type(b) is int and abs(number := int(compute(a, b))) <= MAX_STEPS:
            return number
        raise _UnknownError

    return computed


def _called(name: str, arguments: Sequence[OfTerm]) -> OfTerm:
    n = len(arguments)
    kinds, function = FUNCTIONS.get((name, n), ((), None))
    if name == "CONCAT" and n:
        kinds, function = (str,) * n, lambda *texts: "".join(texts)
    if function is None:
        raise _UnknownError

    def called(term: Term | None) -> Value:
        values = [argument(term) for argument in arguments]
        if (*map(type, values),) != kinds:  # type(True) is not int
            raise _UnknownError
        return function(*values)

    return called


def _cased(change: Callable[[str], str]) -> Callable[[str], str]:
    def cased(text: str) -> str:
        if text.isascii():
            return change(text)
        raise _UnknownError

    return cased


def _from(text: str, first: int) -> str:
    if first > 0:
        return text[first - 1 :]
    raise _UnknownError


def _part(text: str, first: int, length: int) -> str:
    return _from(text, first)[: max(length, 0)]


def _before(text: str, part: str) -> str:
    if part:
        return text.partition(part)[0] if part in text else ""
    raise _UnknownError


def _after(text: str, part: str) -> str:
    if part:
        return text.partition(part)[2]
    raise _UnknownError


FUNCTIONS: dict[tuple[str, int], tuple[tuple[type, ...], Callable[..., Value]]] = {
    ("STRLEN", 1): ((str,), len),
    ("UCASE", 1): ((str,), _cased(str.upper)),
    ("LCASE", 1): ((str,), _cased(str.lower)),
    ("SUBSTR", 2): ((str, int), _from),
    ("SUBSTR", 3): ((str, int, int), _part),
    ("CONTAINS", 2): ((str, str), lambda text, part: part in text),
    ("STRSTARTS", 2): ((str, str), str.startswith),
    ("STRENDS", 2): ((str, str), str.endswith),
    ("STRBEFORE", 2): ((str, str), _before),
    ("STRAFTER", 2): ((str, str), _after),
}
"""By name and number of arguments: the classes of the arguments, and the function of them."""
