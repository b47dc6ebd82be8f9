"""Joins and unions of columnar solutions: SPARQL 1.1 section 18.3, unbound variables included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn, TermColumn, unbound
from hybridkg.operators.context import PAIR_US, ExecutionContext
from hybridkg.operators.late_scores import LateScores
from hybridkg.operators.mixed_numbers import together
from hybridkg.operators.multiplicity import multiplicity
from hybridkg.operators.partition import Keys, Places, dense, lexical_order, partition, runs
from hybridkg.rdf.terms import Term

NESTED_LOOP_PAIRS = 1_024
"""Maximum number of pairs of rows compared one by one: up to here cheaper than to sort the keys of one side."""


@dataclass(frozen=True, eq=False)
class ColumnPairs:
    """Compatible pairs of the rows of two sides, in the order of the left rows, then of the right ones.

    Args:
        left, right: the sides.
        shared: variables of both.
        at_left, at_right: int[pairs], the rows of each pair.
        loose: shared variables that a left row may leave unbound.
    """

    left: InColumns
    right: InColumns
    shared: tuple[str, ...]
    at_left: Places
    at_right: Places
    loose: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, left: InColumns, right: InColumns, context: ExecutionContext, first: int | None = None
    ) -> ColumnPairs | None:
        """Pairs; None where shared variables are unbound in too many combinations.

        With `first`, at least that many of the first pairs are enough.

        Raises:
            QueryLimitError: more memory than the limit, or more than `max_rows` pairs that will be terms.
        """
        shared = tuple([name for name in left.variables if name in right.columns])
        groups = binding_groups(left, right, shared)
        if groups is None:
            return None
        loose = () if {group.common for group in groups} <= {shared} else shared
        is_small = len(groups) == 1 and left.size * right.size <= NESTED_LOOP_PAIRS
        parts: list[_Runs | _NestedLoop] = [(_NestedLoop if is_small else _Runs).of(group) for group in groups]
        if first is not None and len(parts) == 1:
            parts = [parts[0].of_first(first)]
        total = sum([part.total for part in parts])
        context.expect(PAIR_US * total)
        context.hold(total, len({**left.columns, **right.columns}))
        context.meter.check()
        if len(parts) == 1:
            at_left, at_right = parts[0].pairs()
        else:
            pairs = [(np.zeros(0, np.intp), np.zeros(0, np.intp)), *(part.pairs() for part in parts)]
            at_left, at_right = (np.concatenate(places) for places in zip(*pairs, strict=True))
            is_ordered = len({id(group.at_right) for group in groups}) == 1  # in each left row
            order = np.argsort(at_left, kind="stable") if is_ordered else lexical_order([at_left, at_right])
            at_left, at_right = at_left[order], at_right[order]
        return cls(left, right, shared, at_left, at_right, loose)

    def merged(self) -> InColumns:
        """Union of the two solutions of each pair."""
        columns = {name: self._of_left(name, self.at_left, self.at_right) for name in self.left.columns}
        columns |= {
            name: column.take(self.at_right) for name, column in self.right.columns.items() if name not in self.shared
        }
        return self.left.having(columns, len(self.at_left))

    def _of_left(self, name: str, at_left: Places, at_right: Places) -> Column:
        """Cells of a variable of the left side in some pairs; where it is unbound, those of the right side."""
        own = self.left.column(name).take(at_left)
        is_bound = own.is_bound if name in self.loose else None
        if is_bound is None:
            return own
        places = np.arange(len(at_left))
        both = concatenated([own, self.right.column(name).take(at_right)])
        return both.take(np.where(is_bound, places, places + len(places)))

    def left_joined(self, keep: NDArray[np.bool_] | None) -> InColumns:
        """The pairs that are kept, all by default, and the left rows without one, in the order of the left rows."""
        at_left = self.at_left if keep is None else self.at_left[keep]
        at_right = self.at_right if keep is None else self.at_right[keep]
        is_alone = np.ones(self.left.size, np.bool_)
        is_alone[at_left] = False
        alone = is_alone.nonzero()[0]
        if not len(alone):
            return replace(self, at_left=at_left, at_right=at_right).merged()
        rows = np.concatenate([at_left, alone])
        order = rows.argsort(kind="stable")
        columns: dict[str, Column] = {}
        for name, column in self.left.columns.items():
            if name in self.loose:
                columns[name] = concatenated([self._of_left(name, at_left, at_right), column.take(alone)]).take(order)
            else:
                columns[name] = column.take(rows[order])
        for name, column in self.right.columns.items():
            if name not in self.shared:
                columns[name] = concatenated([column.take(at_right), unbound(len(alone))]).take(order)
        return self.left.having(columns, len(order))


class _NestedLoop(NamedTuple):
    """The pairs of few rows of two sides, as `_Runs` has them: every left key compared with every right one."""

    at_left: Places
    at_right: Places

    @classmethod
    def of(cls, group: BindingGroup) -> _NestedLoop:
        left, right = (group.mine[:, None] == group.its).nonzero()
        return cls(group.at_left[left], group.at_right[right])

    @property
    def total(self) -> int:
        return len(self.at_left)

    def of_first(self, pairs: int) -> _NestedLoop:
        """All of them, which are few."""
        return self

    def pairs(self) -> tuple[Places, Places]:
        """(left row, right row) of each pair."""
        return self.at_left, self.at_right


class _Runs(NamedTuple):
    """Rows of two sides by equal keys: the run of right rows of each left row.

    Args:
        at_left, at_right: int[m], int[n], rows of the sides, those of the right side in the order of their keys.
        low, counts: int[m], first place in `at_right` of the rows with the key of a left row, and their number.
        ends: int[m], number of the pairs of a left row and those before it.
    """

    at_left: Places
    at_right: Places
    low: Places
    counts: Places
    ends: Places

    @classmethod
    def of(cls, group: BindingGroup) -> _Runs:
        order = lexical_order([group.its])
        low, counts = runs(group.its[order], group.mine)
        return cls(group.at_left, group.at_right[order], low, counts, counts.cumsum())

    @property
    def total(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def of_first(self, pairs: int) -> _Runs:
        """The runs of the first left rows, as many as have that many pairs."""
        rows = int(self.ends.searchsorted(pairs)) + 1
        return _Runs(self.at_left[:rows], self.at_right, self.low[:rows], self.counts[:rows], self.ends[:rows])

    def pairs(self) -> tuple[Places, Places]:
        """(left row, right row) of each pair."""
        counts = self.counts
        within = np.arange(self.total) - (self.ends - counts).repeat(counts)
        return self.at_left.repeat(counts), self.at_right[self.low.repeat(counts) + within]


MAX_BINDINGS = 64
"""Maximum number of combinations of unbound shared variables, of both sides together, that are joined one by one."""


class BindingGroup(NamedTuple):
    """Rows of two sides each of which binds the same shared variables.

    Args:
        common: variables that both bind.
        at_left, at_right: the rows.
        mine, its: keys of the left and the right rows, equal exactly where these are compatible.
    """

    common: tuple[str, ...]
    at_left: Places
    at_right: Places
    mine: Keys
    its: Keys


def binding_groups(left: InColumns, right: InColumns, shared: Sequence[str]) -> list[BindingGroup] | None:
    """Rows of both sides by the shared variables that they bind; None for more than MAX_BINDINGS."""
    keys = shared_keys(left, right, shared)
    if keys is not None:
        return [BindingGroup(tuple(shared), np.arange(left.size), np.arange(right.size), *keys)]
    mine, its = _bindings(left, shared), _bindings(right, shared)
    if len(mine) * len(its) > MAX_BINDINGS:
        return None
    groups: list[BindingGroup] = []
    for binds, at_left in mine.items():
        for others, at_right in its.items():
            common = tuple(name for name in shared if name in binds and name in others)
            found = shared_keys(left.take(at_left), right.take(at_right), common)
            assert found is not None  # all are bound
            groups.append(BindingGroup(common, at_left, at_right, *found))
    return groups


def _bindings(solutions: InColumns, names: Sequence[str]) -> dict[tuple[str, ...], Places]:
    """Rows by the variables, among some, that they bind."""
    masks = {name: is_bound for name in names if (is_bound := solutions.column(name).is_bound) is not None}
    sure = tuple(name for name in names if name not in masks)
    group, first = partition([mask.astype(np.int8) for mask in masks.values()], solutions.size)
    found: dict[tuple[str, ...], Places] = {}
    for number, row in enumerate(first.tolist()):
        binds = (*sure, *(name for name, mask in masks.items() if mask[row]))
        found[binds] = np.flatnonzero(group == number)
    return found


def shared_keys(left: InColumns, right: InColumns, shared: Sequence[str]) -> tuple[Keys, Keys] | None:
    """Integers of the rows of both sides, equal exactly where the shared cells are; None if one may be unbound."""
    mine, its = np.zeros(left.size, np.intp), np.zeros(right.size, np.intp)
    for number, name in enumerate(shared):
        a, b = left.column(name), right.column(name)
        if a.has_unbound or b.has_unbound:
            return None
        x, y = _common_keys(a, b)
        if number == 0:
            mine, its = x, y
            continue
        both = dense(np.concatenate([mine, its]).astype(np.int64)), dense(np.concatenate([x, y]))
        together = both[0] * (int(both[1].max(initial=0)) + 1) + both[1]
        mine, its = together[: left.size], together[left.size :]
    return mine, its


def _common_keys(left: Column, right: Column) -> tuple[Keys, Keys]:
    if isinstance(left, IdColumn) and isinstance(right, IdColumn):
        return left.ids, right.ids
    a, b = as_terms(left).stored, as_terms(right).stored
    code_of: dict[Term | None, int] = {}
    x, y = (np.array([code_of.setdefault(t, len(code_of)) for t in side.terms.tolist()], np.intp) for side in (a, b))
    return x[a.codes], y[b.codes]


def as_terms(column: Column) -> TermColumn:
    """The same cells as a TermColumn."""
    if isinstance(column, TermColumn):
        return column
    code, first = partition([column.keys], len(column.keys))
    return TermColumn.of(column.take(first).cells(), code)


def _is_late_or_unbound(column: Column, late: LateScores) -> bool:
    """Whether a column has scores of the same MATCH, or no bound cell."""
    if isinstance(column, LateScores):
        return column.query is late.query and column.index is late.index
    return isinstance(column, IdColumn) and bool((column.ids == UNBOUND).all())


def concatenated(columns: Sequence[Column]) -> Column:
    """The cells of several columns, one after the other.

    The scores of one MATCH stay late, also among unbound cells; all others are computed. Among numbers of solutions, an
    unbound cell is 1.
    """
    of_ids = [c for c in columns if isinstance(c, IdColumn)]
    if len(of_ids) == len(columns):
        ids = np.concatenate([c.ids for c in of_ids])
        graph = next((c.graph for c in of_ids if not (c.ids == UNBOUND).all()), None)
        return unbound(len(ids)) if graph is None else IdColumn(ids, graph)
    if any(isinstance(c, NumberColumn) and c.literal is multiplicity for c in columns):
        ones = (c if isinstance(c, NumberColumn) else NumberColumn(np.ones(len(c.keys)), multiplicity) for c in columns)
        return NumberColumn(np.concatenate([c.numbers for c in ones]), multiplicity)
    if (late := next((c for c in columns if isinstance(c, LateScores)), None)) is not None:
        if all(_is_late_or_unbound(c, late) for c in columns):
            ids = np.concatenate([c.ids for c in columns if isinstance(c, LateScores | IdColumn)])
            return LateScores(ids, late.query, late.index)
        columns = [c.scores if isinstance(c, LateScores) else c for c in columns]
    if (numbers := together(columns)) is not None:
        return numbers
    parts = [as_terms(c) for c in columns]
    code_of: dict[Term | None, int] = {}
    codes = [
        np.array([code_of.setdefault(t, len(code_of)) for t in part.terms.tolist()], np.intp)[part.codes]
        for part in parts
    ]
    terms = np.empty(len(code_of), object)
    terms[:] = list(code_of)
    return TermColumn(terms, np.concatenate(codes))


def stacked(parts: Sequence[InColumns]) -> InColumns:
    """The rows of several solutions, one after the other; a variable absent from one is unbound there."""
    names = dict.fromkeys(name for part in parts for name in part.variables)
    columns = {name: concatenated([part.column(name) for part in parts]) for name in names}
    return parts[0].having(columns, sum(part.size for part in parts))
