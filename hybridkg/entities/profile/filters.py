"""Filter values: objects of predicates that a text server stores next to the text, for predicate pushdown.

The server excludes entities (hk:filters of a profile) that the graph would exclude anyway. A value is the `str` of a
term from the store: equal texts are equal terms. tests/operators/test_pushdown_conditions.py compares `satisfies` with
Oxigraph's triple patterns and comparisons.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from hybridkg.interfaces.text_index import AnyCondition, PushdownCondition
from hybridkg.rdf.terms import XSD, Literal
from hybridkg.rdf.tsv import unescaped

_INTEGER = r"[+-]?[0-9]+"
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DOUBLE = rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?|[+-]?INF"
_INTEGERS = (
    *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"),
    *("negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
)
_NUMBERS = {
    **{XSD + name: re.compile(_INTEGER) for name in _INTEGERS},
    XSD + "decimal": re.compile(_DECIMAL),
    XSD + "float": re.compile(_DOUBLE),
    XSD + "double": re.compile(_DOUBLE),
}
"""Lexical forms of each datatype; without NaN, which is in no range."""

_PLAIN = re.compile(r'"[^"\\\x00-\x1f\x7f\ufffe\uffff]*"(?:@.*|\^\^.*)?')
"""A quoted literal that is the same in SPARQL TSV and N-Triples."""

_NUMERIC_TOKEN = re.compile(rf"(?P<integer>{_INTEGER})|(?P<decimal>{_DECIMAL})|(?P<double>{_DOUBLE})")


def n_triples(token: str) -> str:
    r"""An IRI or a literal of SPARQL TSV in N-Triples: the `str` of the term.

    >>> n_triples("2019")
    '"2019"^^<http://www.w3.org/2001/XMLSchema#integer>'
    >>> n_triples('"two\nwords"@en')
    '"two\\nwords"@en'
    """
    if token.startswith("<") or _PLAIN.fullmatch(token):
        return token
    if token.startswith('"'):
        end = token.rindex('"')  # neither a language tag nor an IRI has a quotation mark
        return str(Literal(unescaped(token[1:end]))) + token[end + 1 :]
    number = _NUMERIC_TOKEN.fullmatch(token)
    return f'"{token}"^^<{XSD}{number.lastgroup if number else "boolean"}>'


def number_of(value: str) -> float | None:
    """The number of a literal in N-Triples, the nearest double; None for NaN and for other terms.

    Infinities, and numbers beyond the doubles, are the largest finite double with their sign; there is one zero.

    >>> number_of('"2019"^^<http://www.w3.org/2001/XMLSchema#integer>')
    2019.0
    >>> number_of('"2019"'), number_of('"2019"^^<http://www.w3.org/2001/XMLSchema#gYear>')
    (None, None)
    """
    text, mark, datatype = value.rpartition('"^^<')
    pattern = _NUMBERS.get(datatype[:-1]) if mark else None
    if pattern is None or not pattern.fullmatch(text, 1):
        return None
    limit = sys.float_info.max
    return max(-limit, min(limit, float(text[1:]))) + 0.0  # turns -0.0 into 0.0


def agrees(values_of: Callable[[str], Sequence[str]], condition: PushdownCondition | AnyCondition) -> bool:
    """Whether an entity satisfies a condition, or all of one of its branches.

    `values_of` returns the entity's objects of a predicate, in N-Triples.
    """
    if isinstance(condition, AnyCondition):
        return any(all(agrees(values_of, one) for one in branch) for branch in condition.branches)
    return satisfies(values_of(condition.predicate), condition)


def satisfies(values: Sequence[str], condition: PushdownCondition) -> bool:
    """Whether one of the values of the condition's predicate, in N-Triples, satisfies it: a constant or a closed range.

    >>> years = ['"2019"^^<http://www.w3.org/2001/XMLSchema#integer>']
    >>> year = "http://e/year"
    >>> [satisfies(years, PushdownCondition(year, low=2018.0)), satisfies(years, PushdownCondition(year, "<x:y>"))]
    [True, False]
    """
    if condition.equals is not None:
        return condition.equals in values
    numbers = [number for value in values if (number := number_of(value)) is not None]
    return any(
        (condition.low is None or number >= condition.low) and (condition.high is None or number <= condition.high)
        for number in numbers
    )
