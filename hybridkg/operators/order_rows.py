"""Ranking and ordering: the one total order of rows (docs/architecture.md, law b)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from math import isnan
from operator import pos
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import OneChild
from hybridkg.operators.blocks import whole_or_blocks
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, cells
from hybridkg.operators.expressions import column_of, evaluate
from hybridkg.operators.extend import Extend
from hybridkg.operators.first_values import rows_of_first_values
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.mixed_numbers import NO_NUMBER, MixedNumbers, kinds_of, mixed, whole
from hybridkg.operators.partition import FEW, Places, is_constant, lexical_order
from hybridkg.operators.project import Project
from hybridkg.operators.rank_functions import with_rank_functions
from hybridkg.operators.sort_key import SortKey, kth, signed
from hybridkg.operators.sorted_on_disk import first_of_blocks, sorted_on_disk
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.order import sorted_places, sorted_rows, term_key
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import XSD_DOUBLE, Literal, Term, double

if TYPE_CHECKING:
    from hybridkg.operators.topk.relation_prefix import RelationPrefix as PartOfRelations


@dataclass(frozen=True)
class RankRows(OneChild):
    """Rank score of each row, and the rows ordered by it, best first; rows without a score last.

    An absent one of `scores` counts as min(0, the lowest surviving score of its relation), so absence never helps.
    Where all are absent they are unbound, so the expression mostly has no value (docs/language.md, "Absent scores in
    RANK BY").
    """

    expression: ast.Expression
    score: str
    scores: tuple[str, ...]
    tie_breakers: tuple[str, ...]
    subjects: tuple[tuple[str, tuple[str, ...]], ...] = ()
    least: tuple[tuple[str, float], ...] = ()

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = context.run(self.child)
        by_number = self._by_number(solutions, context)
        if by_number is not None:
            return by_number
        part = slice_of(context)
        floored = self._floored(solutions, {} if part is None else part.floors)
        all_present, expression = floored is solutions, self.expression
        if self.subjects:
            lists = {} if part is None else part.lists
            expression, floored = with_rank_functions(
                expression, solutions, floored, dict(self.subjects), lists, dict(self.least)
            )
        values = evaluate(expression, floored, context)
        if not all_present:
            self._evaluate_unbound(values, expression, solutions, floored, context)
        if self.score in solutions.variables:
            ranked = solutions
        else:
            rows: list[Row] = [(*row, value) for row, value in zip(solutions.rows, values, strict=True)]
            ranked = Solutions((*solutions.variables, self.score), rows)
        return ordered(ranked, [(values, True)], self.tie_breakers, first=wanted_first(context))

    def _evaluate_unbound(
        self,
        values: list[Term | None],
        expression: ast.Expression,
        solutions: Solutions,
        floored: Solutions,
        context: ExecutionContext,
    ) -> None:
        """Replaces the values of rows in which every score is absent: COALESCE(?s, 0.25) has one there, ?s has none."""
        at = [solutions.variables.index(name) for name in self.scores]
        places = [n for n, row in enumerate(solutions.rows) if all(row[i] is None for i in at)]
        if not places:
            return
        functions = (None,) * (len(floored.variables) - len(solutions.variables))
        rows = Solutions(floored.variables, [(*solutions.rows[n], *functions) for n in places])
        for n, value in zip(places, evaluate(expression, rows, context), strict=True):
            values[n] = value

    def _by_number(self, solutions: Solutions, context: ExecutionContext) -> Solutions | None:
        """Vectorized ranking by a column of numbers; None where the value is of another kind in some row."""
        if not isinstance(solutions, InColumns) or self.subjects:
            return None
        value: Column | None
        if all(solutions.numbers(name) is not None for name in self.scores):
            value = column_of(self.expression, solutions, context)
        else:
            value = self._value_with_absent(solutions, context)
        if isinstance(value, NumberColumn) and value.is_plain:
            keys = value.numbers
        elif isinstance(value, NumberColumn | MixedNumbers):
            keys = value.order(total=True).astype(np.float64)
        else:
            return None
        ranked = solutions.having({**solutions.columns, self.score: solutions.columns.get(self.score, value)})
        return ordered_by_number(ranked, keys, self.tie_breakers, first=wanted_first(context))

    def _value_with_absent(self, solutions: InColumns, context: ExecutionContext) -> Column | None:
        """The value with floors for absent scores, and with unbound ones in rows that have none; None for other terms
        than numbers.
        """
        scores = [kinds_of(solutions.column(name)) for name in self.scores]
        if None in scores:
            return None
        none_present = np.all([kinds == NO_NUMBER for _, kinds, _ in filter(None, scores)], axis=0)
        value = column_of(self.expression, self._floored_columns(solutions, context), context)
        if not none_present.any():
            return value
        return self._with_unbound(value, np.flatnonzero(none_present), solutions, context)

    def _floored_columns(self, solutions: InColumns, context: ExecutionContext) -> InColumns:
        """`_floored` of columns whose cells are numbers or unbound."""
        part, columns = slice_of(context), dict(solutions.columns)
        known_floors = {} if part is None else part.floors
        for name in self.scores:
            numbers, kinds, _ = kinds_of(solutions.column(name)) or ((), (), double)
            is_absent = np.equal(kinds, NO_NUMBER)
            if is_absent.any():
                floor = known_floors.get(name, min([0.0, *np.extract(~is_absent, numbers).tolist()]))
                columns[name] = NumberColumn(np.where(is_absent, floor, numbers), double)
        return solutions.having(columns)

    def _with_unbound(
        self, value: Column, places: Places, solutions: InColumns, context: ExecutionContext
    ) -> Column | None:
        """The values, with those of unbound scores at some places; None where some are no numbers."""
        known, others = kinds_of(value), kinds_of(column_of(self.expression, solutions.take(places), context))
        if known is None or others is None:
            return None
        numbers, kinds = known[0].copy(), known[1].copy()
        numbers[places], kinds[places] = others[0], others[1]
        return mixed(numbers, kinds, others[2] if known[2] is whole else known[2])

    def _floored(self, solutions: Solutions, known_floors: Mapping[str, float]) -> Solutions:
        """Rows with floors for absent scores; `known_floors` if the rows are only some of the survivors."""
        floors: dict[int, Term] = {}
        for name in self.scores:
            at = solutions.variables.index(name)
            if all(type(row[at]) is Literal for row in solutions.rows):
                continue
            present = [float(cell.value) for row in solutions.rows if isinstance(cell := row[at], Literal)]
            floors[at] = double(known_floors.get(name, min([0.0, *present])))
        if not floors:
            return solutions
        return Solutions(
            solutions.variables,
            [
                tuple(floors[i] if cell is None and i in floors else cell for i, cell in enumerate(row))
                for row in solutions.rows
            ],
        )

    def describe(self) -> str:
        return f"Rank by {' '.join(write(self.expression).split())} desc"


@dataclass(frozen=True)
class OrderRows(OneChild):
    """ORDER BY (variable, descending) keys, then the one total order; without tie-breakers, ties stay as they are.

    With a LIMIT above, only the first rows are returned.
    """

    keys: tuple[tuple[str, bool], ...]
    tie_breakers: tuple[str, ...] | None

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(*[estimates.rows(self.child)] * (1 + len(self.keys)))

    def run(self, context: ExecutionContext) -> Solutions:
        first = wanted_first(context)
        if context.declines and self.tie_breakers is None:
            rows = self._of_first_values(first, context) or whole_or_blocks(self.child, context, ())
            return self._in_columns(rows, first) if isinstance(rows, InColumns) else self._on_disk(rows, first, context)
        solutions = context.run(self.child)
        if isinstance(solutions, InColumns):
            return self._in_columns(solutions, first)
        keys = [(solutions.cells(name), descending) for name, descending in self.keys]
        return ordered(solutions, keys, self.tie_breakers or (), first=first)

    def _of_first_values(self, first: int | None, context: ExecutionContext) -> InColumns | None:
        if not first or not isinstance(self.child, GraphFragment):
            return None
        child, key = self.child, SortKey(*self.keys[0], is_total=False)
        ties = len(self.keys) == 1
        found = context.unless(lambda: rows_of_first_values(child, key, first, context, ties=ties), QueryLimitError)
        return None if isinstance(found, QueryLimitError) else found

    def _in_columns(self, solutions: InColumns, first: int | None) -> InColumns:
        keys = self._keys(solutions)
        if first is not None and 0 < first < solutions.size // 4:
            solutions = solutions.take(_first_rows(solutions, keys, first))
        return solutions.take(lexical_order([signed(solutions.column(key.name), key) for key in keys]))

    def _keys(self, solutions: InColumns) -> list[SortKey]:
        """The keys, then the tie-breakers."""
        keys = [SortKey(name, down, self.tie_breakers is not None) for name, down in self.keys]
        names = dict.fromkeys(name for name, _ in self.keys)
        ties = () if self.tie_breakers is None else _ties(self.tie_breakers, solutions)
        return keys + [SortKey(name, False, True) for name in ties if name not in names]

    def _on_disk(self, blocks: Iterator[InColumns], first: int | None, context: ExecutionContext) -> InColumns:
        """Rows that do not fit in memory; the first ones are chosen block by block."""
        if first is None or first > context.rows_at_once(1):
            return sorted_on_disk(blocks, self.keys, context, self)
        names = [name for name, _ in self.keys]
        return first_of_blocks(blocks, names, lambda block: self._in_columns(block, first).part(0, first))

    def describe(self) -> str:
        return "OrderBy " + ", ".join(f"?{name}{' desc' if down else ''}" for name, down in self.keys)


def ordered(
    solutions: Solutions,
    keys: Sequence[tuple[Sequence[Term | None], bool]],
    tie_breakers: Sequence[str],
    first: int | None = None,
) -> Solutions:
    """Rows by each key column (values, descending), then by the tie-breaking variables ascending.

    An unbound or NaN key is the minimum, so it comes last in descending order. Tie-breakers absent from the solutions
    are ignored; the remaining columns follow by name, so that rows that differ only in hidden columns are ordered as
    well. With `first`, at most that many rows are read: ties among later rows are in any order.
    """
    rows, ties = solutions.rows, list[int]()
    order = list(range(len(rows)))
    sort_keys = [_sort_keys(values) for values, _ in keys]
    for sort_key, (_, descending) in zip(reversed(sort_keys), reversed(keys), strict=True):
        order.sort(key=sort_key.__getitem__, reverse=descending)
    # Terms are compared only for tied keys: most rows of a ranking have none.
    if len(keys) == 1 and len(set(sort_keys[0])) == len(rows):
        return Solutions(solutions.variables, [rows[n] for n in order])
    ordered_rows: list[Row] = []
    together = sort_keys[0].__getitem__ if len(keys) == 1 else lambda n: [sort_key[n] for sort_key in sort_keys]
    for _, run in groupby(order, key=together):
        if first is not None and len(ordered_rows) >= first:
            ordered_rows += [rows[n] for n in order[len(ordered_rows) :]]
            break
        tied = [rows[n] for n in run]
        if len(tied) > 1:
            ties = ties or [solutions.variables.index(name) for name in _ties(tie_breakers, solutions)]
            tied = sorted_rows(tied, ties)
        ordered_rows += tied
    return Solutions(solutions.variables, ordered_rows)


def _first_rows(solutions: InColumns, keys: Sequence[SortKey], first: int) -> Places:
    """The first rows, in their own order, which decides between rows that tie in every key.

    A key is read for the rows that tie in all keys before it, so that the tie-breakers of most rows are never made.
    """
    columns = [(key, solutions.column(key.name)) for key in keys]
    keys = [key for key, column in columns if not (isinstance(column, IdColumn) and is_constant(column.ids))]
    if not keys:  # as for the ten newest papers, which have one year
        return np.arange(first)
    before, tied, left = list[Places](), np.arange(solutions.size), first
    for key in keys:
        column = solutions.column(key.name)
        numbers = signed(column if len(tied) == solutions.size else column.take(tied), key)
        last = kth(numbers, left)
        before.append(tied[numbers < last])
        left -= len(before[-1])
        tied = tied[numbers == last]
        if len(tied) == left:
            break
    return np.sort(np.concatenate([*before, tied[:left]]))


def ordered_by_number(
    solutions: InColumns, keys: NDArray[np.float64], tie_breakers: Sequence[str], first: int | None = None
) -> InColumns:
    """Vectorized `ordered`, by one number for each row, descending: only tied rows are compared by their terms. With
    `first`, later rows may be missing.
    """
    if len(keys) <= FEW and _descend(keys.tolist()):
        return solutions
    if first is not None and 0 < first < len(keys) // 4:
        last = kth(-keys, first)
        if not isnan(last):  # NaN is the minimum
            places = np.flatnonzero(keys >= -last)
            return ordered_by_number(solutions.take(places), keys[places], tie_breakers)
    order, ends = _descending(keys)
    if len(ends) == len(order):
        return solutions.take(order)
    tied = [(start, end) for start, end in pairwise([0, *ends]) if end - start > 1 and (first is None or start < first)]
    if len(order) <= FEW and _ties_ascend(order.tolist(), tied, solutions, tie_breakers):
        return solutions.take(order)
    places = np.array([place for start, end in tied for place in range(start, end)], np.intp)
    rows, runs = order[places], np.array([run for run, (start, end) in enumerate(tied) for _ in range(start, end)])
    columns = (solutions.column(name).take(rows).order(total=True) for name in _ties(tie_breakers, solutions))
    first_column = next(columns, None)
    if first_column is None:
        return solutions.take(order)
    same_run, before, after = runs[1:] == runs[:-1], first_column[:-1], first_column[1:]
    if not np.any(same_run & ~(before < after)):  # an index returns ties in the order of their terms
        return solutions.take(order)
    numbers = chain([runs.tolist(), first_column.tolist()], (column.tolist() for column in columns))
    order[places] = rows[sorted_places(len(rows), numbers, pos)]
    return solutions.take(order)


def _descend(numbers: list[float]) -> bool:
    """Whether each number is less than the one before, as the scores that a top-k operator has chosen mostly are.

    >>> _descend([3.0, 1.0]), _descend([1.0, 1.0])
    (True, False)
    """
    return len(set(numbers)) == len(numbers) and numbers == sorted(numbers, reverse=True)


def _descending(keys: NDArray[np.float64]) -> tuple[Places, list[int]]:
    """(places of the keys, the greatest first; the end of each run of equal ones).

    >>> order, ends = _descending(np.array([1.0, 3.0, 1.0]))
    >>> order.tolist(), ends
    ([1, 0, 2], [1, 3])
    """
    if len(keys) <= FEW:
        numbers = keys.tolist()
        places = sorted(range(len(numbers)), key=numbers.__getitem__, reverse=True)
        last = len(places) - 1
        ends = [n + 1 for n, at in enumerate(places) if n == last or numbers[places[n + 1]] != numbers[at]]
        return np.array(places, np.intp), ends
    order = np.argsort(-keys, kind="stable")
    descending = keys[order]
    return order, [*(np.flatnonzero(descending[1:] != descending[:-1]) + 1).tolist(), len(order)]


def _ties_ascend(
    order: Sequence[int], tied: Sequence[tuple[int, int]], solutions: InColumns, tie_breakers: Sequence[str]
) -> bool:
    """Whether each run of tied rows is in the order of its first tie-breaker, as the ties of an index are."""
    name = next(iter(_ties(tie_breakers, solutions)), None)
    if name is None:
        return True
    column = solutions.column(name).order(total=True).tolist()
    return all(column[order[n]] < column[order[n + 1]] for start, end in tied for n in range(start, end - 1))


def _ties(tie_breakers: Sequence[str], solutions: Solutions) -> list[str]:
    names = dict.fromkeys((*tie_breakers, *sorted(solutions.variables)))
    return [name for name in names if name in solutions.variables]


def _sort_keys(values: Sequence[Term | None]) -> Sequence[Any]:
    """Keys in the order of `term_key`: numbers if all values are doubles, for speed."""
    return _numbers(values) or [term_key(value) for value in values]


def _numbers(values: Sequence[Term | None]) -> list[float] | None:
    """Values of doubles; None if one is another term, NaN, or the same number in two notations."""
    texts: dict[float, str] = {}
    numbers = []
    for value in values:
        if type(value) is not Literal or value.datatype != XSD_DOUBLE:
            return None
        text = value.value
        try:
            number = float(text)
        except ValueError:
            return None
        if isnan(number) or texts.setdefault(number, text) != text:
            return None
        numbers.append(number)
    return numbers


def is_ordered_above(context: ExecutionContext) -> bool:
    """Whether the parent of the running operator orders its rows independently of their input order."""
    return len(context.running) > 1 and isinstance(context.running[-2], RankRows | OrderRows)


def slice_of(context: ExecutionContext) -> PartOfRelations | None:
    """Prefix of the ranked relations whose rows the running operator ranks; None if it ranks all rows.

    A sub-select inside has its own rankings, whose scores may have the same names.
    """
    between = context.running[context.slice_depth : -1]
    return context.slice if all(isinstance(above, Project) for above in between) else None


def wanted_first(context: ExecutionContext) -> int | None:
    """Number of first rows of the running operator that are read; None for all."""
    below = context.running[-1]
    for above in reversed(context.running[:-1]):
        if not isinstance(above, OneChild) or above.child is not below:  # an EXISTS reads all rows
            return None
        if (first := above.takes_first) is not None:
            return first
        if not isinstance(above, Project | Extend) or (isinstance(above, Project) and above.distinct):
            return None
        below = above
    return None
