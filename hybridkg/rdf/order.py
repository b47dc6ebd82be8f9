"""The one total order of rows: score descending, then terms (architecture.md, law b).

SPARQL 1.1 section 15.1 orders unbound < blank nodes < IRIs < literals, and literals by the `<` operator where it
applies; SPARQL 1.2 adds triple terms behind them, ordered by subject, predicate and object. Here two rows tie only when
they are equal: literals come as numbers, booleans, instants (xsd:dateTime and xsd:date), plain strings, tagged strings,
others. The others come by datatype, all durations together, and those of a datatype by value, times and years for
example. Equal values come by datatype and text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain, groupby
from typing import Any, TypeVar

from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Literal, NamedNode, Term, Triple
from hybridkg.rdf.time_values import comparable_kind, time_value

T = TypeVar("T")

NUMERIC = frozenset(
    XSD + name
    for name in [
        "integer",
        "decimal",
        "double",
        "float",
        "nonPositiveInteger",
        "negativeInteger",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
        "positiveInteger",
    ]
)
STRING, LANGUAGE_STRING = XSD + "string", RDF_LANG_STRING.value
INSTANTS = frozenset(XSD + name for name in ("dateTime", "dateTimeStamp", "date"))
LOWEST = Decimal("-Infinity")


def term_key(term: Term | None) -> tuple[Any, ...]:
    """A sort key; the keys of any two terms are comparable.

    >>> a, b = Literal(9), Literal(10)
    >>> sorted([b, a, None, NamedNode("x:y")], key=term_key)[0] is None
    True
    >>> term_key(a) < term_key(b)
    True
    """
    kind = type(term)
    if kind is NamedNode:
        return (2, term.value)  # type: ignore[union-attr]
    if kind is Literal:
        return _literal_key(term)  # type: ignore[arg-type]
    if term is None:
        return (0,)
    if isinstance(term, BlankNode):
        return (1, term.value)
    return (4, _parts(term, term_key))  # type: ignore[arg-type]


def value_key(term: Term | None) -> tuple[Any, ...]:
    """A sort key by value: as `term_key`, but equal for terms that ORDER BY does not distinguish.

    >>> value_key(Literal(1)) == value_key(Literal(1.0)), term_key(Literal(1)) == term_key(Literal(1.0))
    (True, False)
    """
    if isinstance(term, Triple):
        return (4, _parts(term, value_key))
    key = term_key(term)
    if len(key) < 3 or key[1] in (3, 4):
        return key
    if key[1] == 5 and not key[3]:
        return key  # it has no value
    return key[:4] if key[1] in (0, 5) else key[:3]


def _parts(triple: Triple, key: Callable[[Term], tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    return key(triple.subject), key(triple.predicate), key(triple.object)


def _literal_key(literal: Literal) -> tuple[Any, ...]:
    text, name = literal.value, literal.datatype.value
    if name == STRING:
        return (3, 3, text)
    if name == LANGUAGE_STRING or literal.language:
        direction = literal.direction
        return (3, 4, text, literal.language or "", "" if direction is None else direction.value)
    if name in NUMERIC:
        number = _number(text)
        if number is not None:
            is_nan = number.is_nan()
            return (3, 0, not is_nan, LOWEST if is_nan else number, name, text)
    if name == XSD + "boolean" and text in ("true", "false", "1", "0"):
        return (3, 1, text in ("true", "1"), text)
    value = time_value(name, text)
    if value is not None and name in INSTANTS:
        return (3, 2, value, name, text)
    return (3, 5, comparable_kind(name), value or (), name, text)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace("INF", "Infinity") if "INF" in text else text)
    except InvalidOperation:
        return None


def row_key(terms: Sequence[Term | None]) -> tuple[tuple[Any, ...], ...]:
    """The sort key of several terms, compared from left to right."""
    return tuple(term_key(term) for term in terms)


def sorted_rows(rows: list[Row], columns: Sequence[int]) -> list[Row]:
    """The rows in the order of the row_key of some columns; a later column gets keys only to break ties.

    >>> [[str(cell) for cell in row] for row in sorted_rows([(Literal("b"), None), (Literal("a"), None)], [1, 0])]
    [['"a"', 'None'], ['"b"', 'None']]
    """
    cells = ([row[column] for row in rows] for column in columns)
    return [rows[n] for n in sorted_places(len(rows), cells, term_key)]


def sorted_places(n: int, columns: Iterable[Sequence[T]], key: Callable[[T], Any]) -> list[int]:
    """The positions of n rows in the order of the keys of their cells; a column that decides nothing is not read.

    >>> sorted_places(3, [[Literal("b"), Literal("a"), Literal("b")], [None, None, None]], term_key)
    [1, 0, 2]
    """
    runs, rest = [list(range(n))], iter(columns)
    while any(len(run) > 1 for run in runs) and (column := next(rest, None)) is not None:
        finer: list[list[int]] = []
        for run in runs:
            if len(run) < 2:
                finer.append(run)
                continue
            keys = {place: key(column[place]) for place in run}
            run.sort(key=keys.__getitem__)
            finer += [list(tied) for _, tied in groupby(run, key=keys.__getitem__)]
        runs = finer
    return list(chain.from_iterable(runs))
