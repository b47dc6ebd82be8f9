"""Values of predicates beside the text, and what it means that an entity has one that is asked for.

A text engine on a server stores them (hk:filters of a profile), so that it can leave out entities which the graph
would exclude anyway. A value is the text that `str` gives of a term which the store returned: equal texts are equal
terms. tests/operators/test_pushdown_conditions.py holds `satisfies` to Oxigraph's triple patterns and comparisons.
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
"""How the numbers of each datatype are written; NaN, which is in no range, is left out."""

_PLAIN = re.compile(r'"[^"\\\x00-\x1f\x7f\ufffe\uffff]*"(?:@.*|\^\^.*)?')
"""A quoted literal that SPARQL TSV and N-Triples write alike."""

_NUMERIC_TOKEN = re.compile(rf"(?P<integer>{_INTEGER})|(?P<decimal>{_DECIMAL})|(?P<double>{_DOUBLE})")


def n_triples(token: str) -> str:
    r"""What N-Triples writes for an IRI or a literal of SPARQL TSV: the `str` of the term.

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
    found = _NUMERIC_TOKEN.fullmatch(token)
    return f'"{token}"^^<{XSD}{found.lastgroup if found else "boolean"}>'


def number_of(value: str) -> float | None:
    """The number of a literal, the nearest double; None for NaN and for everything that is no number.

    Infinities, and numbers beyond the doubles, are the largest finite double with their sign; there is one zero.

    Args:
        value: as N-Triples writes it.

    >>> number_of('"2019"^^<http://www.w3.org/2001/XMLSchema#integer>')
    2019.0
    >>> number_of('"2019"'), number_of('"2019"^^<http://www.w3.org/2001/XMLSchema#gYear>')
    (None, None)
    """
    text, mark, datatype = value.rpartition('"^^<')
    pattern = _NUMBERS.get(datatype[:-1]) if mark else None
    if pattern is None or not pattern.fullmatch(text, 1):
        return None
    most = sys.float_info.max
    return max(-most, min(most, float(text[1:]))) + 0.0  # which turns -0.0 into 0.0


def agrees(values_of: Callable[[str], Sequence[str]], condition: PushdownCondition | AnyCondition) -> bool:
    """Whether an entity satisfies a condition, or the conditions of one of the branches.

    Args:
        values_of: the objects of a predicate, as N-Triples writes them.
        condition: a condition, or branches.
    """
    if isinstance(condition, AnyCondition):
        return any(all(agrees(values_of, one) for one in branch) for branch in condition.branches)
    return satisfies(values_of(condition.predicate), condition)


def satisfies(values: Sequence[str], condition: PushdownCondition) -> bool:
    """Whether an entity with these values of the condition's predicate satisfies it: whether one of them does.

    Args:
        values: the objects, as N-Triples writes them.
        condition: a constant, or a range that includes its bounds.

    >>> years = ['"2019"^^<http://www.w3.org/2001/XMLSchema#integer>']
    >>> satisfies(years, Condition("http://e/year", low=2018.0)), satisfies(years, Condition("http://e/year", "<x:y>"))
    (True, False)
    """
    if condition.equals is not None:
        return condition.equals in values
    numbers = [number for value in values if (number := number_of(value)) is not None]
    return any(
        (condition.low is None or number >= condition.low) and (condition.high is None or number <= condition.high)
        for number in numbers
    )
