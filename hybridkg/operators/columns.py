"""Columnar solutions: columns of ids, numbers or coded terms, whose rows become terms only when they are read.

A query that groups thousands of rows and returns the ten best groups needs the terms of ten. Operators without a
columnar implementation use `rows`, which are equivalent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.operators.partition import FEW, Keys, Places, partition
from hybridkg.rdf.order import term_key, value_key
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.term_texts import PLAIN_TAGS, UNBOUND_KIND, AsTerm, TaggedTexts, TermTexts, TextForm, tagged
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD_STRING, Literal, Term, Triple, double

N = TypeVar("N", bound=np.generic)
T = TypeVar("T")

TEXTS = (XSD_STRING, RDF_LANG_STRING)
"""Datatypes whose literals have one form."""

FEW_TERMS = 256
"""Terms that are faster made one by one than from their texts: 0.1 ms for 200, and 0.06 ms otherwise for 100, where
texts take 0.16 and 0.12 (2-core machine)."""

ZONE = re.compile(r"(Z|[+-]\d\d:\d\d)$")
"""Time zone of a date."""


class ColumnsDeclined(Exception):  # noqa: N818 - no error: the store answers instead
    """Columns cannot give the answer of the SPARQL engine; the text says why, for EXPLAIN."""


class Terms(Protocol):
    """Names and order of ids: GraphIndex. Ids below `n_nodes` are nodes."""

    @property
    def n_nodes(self) -> int:
        """First id that is no node."""

    def terms(self, ids: Ids) -> list[Term | None]:
        """Term of each id; None for UNBOUND."""

    def tagged(self, ids: Ids) -> TaggedTexts:
        """Tags and texts of a few terms."""

    def texts(self, ids: Ids) -> TermTexts:
        """Text of each term of ascending ids; UNBOUND may be the last ones."""

    def order_keys(self, ids: Ids, *, total: bool) -> Keys | None:
        """Sort keys of ids, as GraphIndex.order_keys has them."""


class Column(Protocol):
    """Cells of one variable."""

    @property
    def keys(self) -> Keys:
        """Integers, equal exactly where the terms are equal for SPARQL; not comparable between columns."""

    @property
    def is_bound(self) -> NDArray[np.bool_] | None:
        """bool[n]: which cells are bound; None for all."""

    @property
    def has_unbound(self) -> bool:
        """Whether a cell is unbound."""

    def order(self, *, total: bool) -> Keys:
        """Numbers in the order of the terms, unbound first; with `total`, equal values of different terms differ.

        Raises:
            ColumnsDeclined: without `total`, SPARQL does not order two of the terms.
        """

    def cells(self) -> list[Term | None]:
        """Cells as terms, None for unbound."""

    def take(self, places: Places) -> Column:
        """Cells at some positions."""

    def mapped(self, make: Callable[[Term | None], T]) -> list[T]:
        """The value of a function for each cell; it is called at least once for each distinct cell."""

    def each(self) -> tuple[Column, Places]:
        """(column of the distinct cells, the place of each cell in it); a term may be there more than once."""

    def texts(self) -> TermTexts | None:
        """Texts of the cells of `each`; None where terms have to be made."""


class IdColumn(NamedTuple):  # made more often than any other value of a query: a frozen dataclass takes 3 times as long
    """Terms of the projection in the form of the store (rdf.stored): different ids are different terms for SPARQL.

    Args:
        ids: uint32[n], UNBOUND for unbound.
        graph: term and order of each id.
    """

    ids: Ids
    graph: Terms

    @property
    def keys(self) -> Keys:
        """As Column has it."""
        return self.ids

    @property
    def is_bound(self) -> NDArray[np.bool_] | None:
        """As Column has it."""
        return np.asarray(self.ids != UNBOUND)

    @property
    def has_unbound(self) -> bool:
        """As Column has it."""
        return len(self.ids) > 0 and bool(self.ids.max() == UNBOUND)

    def order(self, *, total: bool) -> Keys:
        """As Column has it."""
        keys = self.graph.order_keys(self.ids, total=total)
        if keys is not None:
            return keys
        distinct, places = np.unique(self.ids, return_inverse=True)
        return _ranks(self.graph.terms(distinct), total=total)[places]

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        return self.graph.terms(self.ids) if len(self.ids) <= FEW_TERMS else self.mapped(AsTerm())

    def mapped(self, make: Callable[[Term | None], T]) -> list[T]:
        """As Column has it."""
        if len(self.ids) <= FEW_TERMS:
            if isinstance(make, TextForm):
                return make.of_tagged(self.graph.tagged(self.ids))
            return list(map(make, self.graph.terms(self.ids)))
        distinct, place = self.each()
        if isinstance(make, TextForm):
            return _at(make.of_texts(distinct.texts()), place)
        return _at(list(map(make, distinct.cells())), place)

    def take(self, places: Places) -> IdColumn:
        """As Column has it."""
        return IdColumn(self.ids[places], self.graph)

    def each(self) -> tuple[IdColumn, Places]:
        """As Column has it; ids ascend."""
        place, first = partition([self.ids], len(self.ids))
        return self.take(first), place

    def texts(self) -> TermTexts:
        """As Column has it."""
        return self.graph.texts(self.ids)


class _NoTerms:
    """Names of no ids."""

    n_nodes = 0

    def terms(self, ids: Ids) -> list[Term | None]:
        return [None] * len(ids)

    def tagged(self, ids: Ids) -> TaggedTexts:
        return tagged([None] * len(ids))

    def texts(self, ids: Ids) -> TermTexts:
        kinds, offsets = np.full(len(ids), UNBOUND_KIND), np.zeros(len(ids) + 1, np.int64)
        return TermTexts(PLAIN_TAGS, kinds, np.zeros(0, np.uint8), offsets)

    def order_keys(self, ids: Ids, *, total: bool) -> Keys | None:
        return np.zeros(len(ids), np.int8)


def unbound(size: int) -> IdColumn:
    """Column without values."""
    ids = np.empty(size, np.uint32)
    ids.fill(UNBOUND)
    return IdColumn(ids, _NoTerms())


class NumberColumn(NamedTuple):
    """Column of numbers, all bound.

    Args:
        numbers: float64[n].
        literal: injective mapping of numbers to literals.
    """

    numbers: NDArray[np.float64]
    literal: Callable[[float], Literal]

    @property
    def keys(self) -> Keys:
        """As Column has it."""
        return self.numbers.view(np.int64)  # distinguishes 0 from -0

    @property
    def is_bound(self) -> NDArray[np.bool_] | None:
        """As Column has it."""
        return None

    @property
    def has_unbound(self) -> bool:
        """As Column has it."""
        return False

    def order(self, *, total: bool) -> Keys:
        """As Column has it."""
        if self.is_plain or not total:
            return np.where(np.isnan(self.numbers), -np.inf, self.numbers)
        distinct, places = np.unique(self.keys, return_inverse=True)
        return _ranks(list(map(self.literal, distinct.view(np.float64).tolist())), total=total)[places]

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        return _each_once(self.keys, lambda bits: list(map(self.literal, bits.view(np.float64).tolist())))

    def mapped(self, make: Callable[[Term | None], T]) -> list[T]:
        """As Column has it."""
        if self.literal is double and isinstance(make, TextForm):
            return make.of_doubles(self.numbers.tolist())
        return _each_once(self.keys, lambda bits: [make(self.literal(n)) for n in bits.view(np.float64).tolist()])

    def take(self, places: Places) -> NumberColumn:
        """As Column has it."""
        return NumberColumn(self.numbers[places], self.literal)

    def each(self) -> tuple[NumberColumn, Places]:
        """As Column has it."""
        place, first = partition([self.keys], len(self.numbers))
        return self.take(first), place

    def texts(self) -> None:
        """As Column has it."""

    @property
    def is_plain(self) -> bool:
        """Whether the order of the numbers is that of their terms: no NaN, and not both 0 and -0."""
        if len(self.numbers) <= FEW and all(numbers := self.numbers.tolist()) and not any(map(isnan, numbers)):
            return True
        zeros = self.numbers == 0
        signs = np.signbit(self.numbers[zeros])
        return not np.isnan(self.numbers).any() and (len(signs) == 0 or bool((signs == signs[0]).all()))


@dataclass(frozen=True, eq=False)
class TermColumn:
    """Terms by code: each distinct one is held once.

    Args:
        terms: object[m], the distinct terms, None among them for unbound.
        codes: int[n], places in `terms`.
    """

    terms: NDArray[np.object_]
    codes: Places

    @classmethod
    def of(cls, values: Sequence[Term | None], places: Places | slice | None = None) -> TermColumn:
        """Column of some terms, or of those at `places` of them. Identical terms get one code.

        >>> TermColumn.of([Literal(7), None, Literal(7)]).codes.tolist()
        [0, 1, 0]
        """
        code_of: dict[Term | None, int] = {}
        codes = np.array([code_of.setdefault(term, len(code_of)) for term in values], np.intp)
        terms = np.empty(len(code_of), object)
        terms[:] = list(code_of)
        return cls(terms, codes if places is None else codes[places])

    @cached_property
    def stored(self) -> TermColumn:
        """The same terms in the form of the store, in which equal ones have one code."""
        values = self.terms.tolist()
        stored = _as_stored(values)
        return self if stored is values else TermColumn.of(stored, self.codes)

    @property
    def keys(self) -> Keys:
        """As Column has it."""
        return self.stored.codes

    @property
    def is_bound(self) -> NDArray[np.bool_] | None:
        """As Column has it."""
        absent = [n for n, term in enumerate(self.terms.tolist()) if term is None]
        return np.asarray(self.codes != absent[0]) if absent else None

    @property
    def has_unbound(self) -> bool:
        """As Column has it."""
        is_bound = self.is_bound
        return is_bound is not None and not bool(is_bound.all())

    def order(self, *, total: bool) -> Keys:
        """As Column has it."""
        terms, codes = self.terms, self.codes
        if len(codes) < len(terms):  # a few rows of many
            used, codes = np.unique(codes, return_inverse=True)
            terms = terms[used]
        return _ranks(terms.tolist(), total=total)[codes]

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        cells: list[Term | None] = self.terms[self.codes].tolist()
        return cells

    def mapped(self, make: Callable[[Term | None], T]) -> list[T]:
        """As Column has it."""
        return _each_once(self.codes, lambda codes: list(map(make, self.terms[codes].tolist())))

    def take(self, places: Places) -> TermColumn:
        """As Column has it."""
        return TermColumn(self.terms, self.codes[places])

    def each(self) -> tuple[TermColumn, Places]:
        """As Column has it."""
        place, first = partition([self.codes], len(self.codes))
        return self.take(first), place

    def texts(self) -> None:
        """As Column has it."""


def _as_stored(values: Sequence[Term | None]) -> Sequence[Term | None]:
    """Terms as the SPARQL engine normalizes them: 01 and 1 are the same integer."""
    literals = [(n, term) for n, term in enumerate(values) if type(term) is Literal and term.datatype not in TEXTS]
    if not literals:
        return values
    changed = list(values)
    for (n, _), term in zip(literals, all_as_stored([term for _, term in literals]), strict=True):
        changed[n] = term
    return changed


def columns_of(solutions: Solutions, made: Made) -> InColumns:
    """Solutions in columns; rows become columns of terms."""
    if isinstance(solutions, InColumns):
        return solutions
    cells = {name: solutions.cells(name) for name in solutions.variables}
    return InColumns({name: TermColumn.of(column) for name, column in cells.items()}, solutions.size, made)


def _ranks(terms: Sequence[Term | None], *, total: bool) -> Places:
    """Dense ranks of terms in their order; without `total`, equal values share one."""
    if not total and any(isinstance(term, Triple) for term in terms):
        raise ColumnsDeclined("an order of triple terms")
    keys = [(term_key if total else value_key)(term) for term in terms]
    if not total and len({_kind(term) for term in terms if type(term) is Literal}) > 1:
        raise ColumnsDeclined("an order of literals that are not comparable")
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks, rank = np.empty(len(keys), np.intp), -1
    previous: object = None
    for place in order:
        if rank < 0 or keys[place] != previous:
            rank, previous = rank + 1, keys[place]
        ranks[place] = rank
    return ranks


def _kind(literal: Literal) -> tuple[Any, ...]:
    """What literals have in common that SPARQL 1.1 section 17.3.1 orders; different for any two others."""
    key = term_key(literal)
    match key[1]:
        case 0 if key[2]:
            return (0,)
        case 1 | 3:
            return (key[1],)
        case 2:
            return (2, literal.datatype.value, bool(ZONE.search(literal.value)))
        case 4:
            return (4, *key[3:])
    return key


def _each_once(values: NDArray[N], make: Callable[[NDArray[N]], list[T]]) -> list[T]:
    """What is made of values, once for each distinct one if there are many."""
    if len(values) <= FEW:
        return make(values)
    place, first = partition([values], len(values))
    return make(values) if len(first) == len(values) else _at(make(values[first]), place)


def _at(values: list[T], places: Places) -> list[T]:
    """Values at some positions."""
    held = np.empty(len(values), object)
    held[:] = values
    found: list[T] = held[places].tolist()
    return found


Made: TypeAlias = Callable[[Sequence[Column], int], list[Row]]
"""Makes the rows of some columns of a given length (ExecutionContext.made)."""


class InColumns(Solutions):
    """Solutions whose rows are made on first access.

    Args:
        columns: by variable, of `size` cells each.
        size: number of rows, also without columns.
        made: makes rows.

    >>> scores = NumberColumn(np.array([0.5, 2.0]), Literal)
    >>> InColumns({"s": scores}, 2, lambda columns, size: columns[0].cells()).take([1]).rows
    [<Literal value=2 datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#double>>]
    """

    columns: Mapping[str, Column]
    size: int = 0  # of the instance; a property would be a call at each of the many places that ask for it
    _made: Made

    def __init__(self, columns: Mapping[str, Column], size: int, made: Made):
        own = self.__dict__  # the check of a frozen dataclass at each attribute takes longer than the rest
        own["variables"], own["columns"], own["size"], own["_made"] = tuple(columns), columns, size, made

    @cached_property
    def rows(self) -> list[Row]:
        return self._made(list(self.columns.values()), self.size)

    def in_rows(self) -> Solutions:
        return Solutions(self.variables, self.rows)

    def part(self, first: int, end: int | None) -> InColumns:
        return self.take(np.arange(*slice(first, end).indices(self.size)))

    def select(self, names: Sequence[str]) -> InColumns:
        if tuple(names) == self.variables:
            return self
        held, size = self.columns, self.size
        chosen = {name: held[name] if name in held else unbound(size) for name in names}
        return InColumns(chosen, size, self._made)

    def take(self, places: Sequence[int] | Places) -> InColumns:
        at = np.asarray(places, np.intp)
        return InColumns({name: column.take(at) for name, column in self.columns.items()}, len(at), self._made)

    def cells(self, name: str) -> list[Term | None]:
        return self.columns[name].cells() if name in self.columns else [None] * self.size

    def mapped(self, name: str, make: Callable[[Term | None], T]) -> list[T]:
        return (self.columns[name] if name in self.columns else unbound(self.size)).mapped(make)

    def making(self, made: Made) -> InColumns:
        """The same solutions, whose rows another function makes."""
        return InColumns(self.columns, self.size, made)

    def having(self, columns: Mapping[str, Column], size: int | None = None) -> InColumns:
        """Solutions with other columns, by default of the same length."""
        return InColumns(columns, self.size if size is None else size, self._made)

    def column(self, name: str) -> Column:
        """Column of a variable; an absent one is unbound."""
        column = self.columns.get(name)
        return unbound(self.size) if column is None else column

    def ids(self, name: str) -> IdColumn | None:
        """Column of ids; None for any other."""
        column = self.columns.get(name)
        return column if isinstance(column, IdColumn) else None

    def numbers(self, name: str) -> NumberColumn | None:
        """Column of numbers; None for any other."""
        column = self.columns.get(name)
        return column if isinstance(column, NumberColumn) else None

    def first_rows(self, names: Sequence[str]) -> Places | None:
        """The first row of each group of `distinct`, in the order of the rows; None if no two rows are equal."""
        if self.size <= FEW:
            keys = [self.columns[name].keys.tolist() for name in names if name in self.columns]
            row_of: dict[Any, int] = {}
            for row, own in enumerate(zip(*keys, strict=True) if keys else [()] * self.size):
                row_of.setdefault(own, row)
            return None if len(row_of) == self.size else np.array(list(row_of.values()), np.intp)
        _, first = self.distinct(names)
        return None if len(first) == self.size else np.sort(first)

    def distinct(self, names: Sequence[str]) -> tuple[Places, Places]:
        """Partition of the rows by their cells in some columns: (group number of each row, first row of each group);
        groups are numbered in the order of their keys.

        >>> numbers = NumberColumn(np.array([5.0, 1.0, 5.0]), Literal)
        >>> [places.tolist() for places in InColumns({"n": numbers}, 3, lambda columns, size: []).distinct(["n"])]
        [[1, 0, 1], [1, 0]]
        """
        return partition([self.columns[name].keys for name in names if name in self.columns], self.size)
