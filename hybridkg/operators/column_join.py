"""Joins and unions of columnar solutions: SPARQL 1.1 section 18.3, where every shared variable is bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn, TermColumn, unbound
from hybridkg.operators.context import PAIR_US, ExecutionContext
from hybridkg.operators.partition import Keys, Places, dense, lexical_order, partition, runs
from hybridkg.rdf.terms import Term


@dataclass(frozen=True, eq=False)
class ColumnPairs:
    """Compatible pairs of the rows of two sides, in the order of the left rows, then of the right ones.

    Args:
        left, right: the sides.
        shared: variables of both.
        at_left, at_right: int[pairs], the rows of each pair.
    """

    left: InColumns
    right: InColumns
    shared: tuple[str, ...]
    at_left: Places
    at_right: Places

    @classmethod
    def of(cls, left: InColumns, right: InColumns, context: ExecutionContext) -> ColumnPairs | None:
        """Pairs; None where a shared variable is unbound in some row, as such a row agrees with anything.

        Raises:
            QueryLimitError: more memory than the limit, or more than `max_rows` pairs that will be terms.
        """
        shared = tuple(name for name in left.variables if name in right.columns)
        keys = shared_keys(left, right, shared)
        if keys is None:
            return None
        mine, its = keys
        order = lexical_order([its])
        ordered = its[order]
        low, counts = runs(ordered, mine)
        total = int(counts.sum())
        context.expect(PAIR_US * total)
        context.hold(total, len({**left.columns, **right.columns}))
        context.meter.check()
        within = np.arange(total) - (counts.cumsum() - counts).repeat(counts)
        return cls(left, right, shared, np.arange(len(mine)).repeat(counts), order[low.repeat(counts) + within])

    def merged(self) -> InColumns:
        """Union of the two solutions of each pair."""
        columns = {name: column.take(self.at_left) for name, column in self.left.columns.items()}
        columns |= {
            name: column.take(self.at_right) for name, column in self.right.columns.items() if name not in self.shared
        }
        return self.left.having(columns, len(self.at_left))

    def left_joined(self, keep: NDArray[np.bool_] | None) -> InColumns:
        """The pairs that are kept, all by default, and the left rows without one, in the order of the left rows."""
        at_left = self.at_left if keep is None else self.at_left[keep]
        at_right = self.at_right if keep is None else self.at_right[keep]
        alone = np.ones(self.left.size, np.bool_)
        alone[at_left] = False
        rows = np.concatenate([at_left, np.flatnonzero(alone)])
        order = np.argsort(rows, kind="stable")
        columns = {name: column.take(rows[order]) for name, column in self.left.columns.items()}
        for name, column in self.right.columns.items():
            if name not in self.shared:
                partners = concatenated([column.take(at_right), unbound(len(rows) - len(at_right))])
                columns[name] = partners.take(order)
        return self.left.having(columns, len(rows))


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


def concatenated(columns: Sequence[Column]) -> Column:
    """The cells of several columns, one after the other."""
    graphs = [c.graph for c in columns if isinstance(c, IdColumn) and not (c.ids == UNBOUND).all()]
    if all(isinstance(c, IdColumn) for c in columns):
        ids = np.concatenate([c.ids for c in columns if isinstance(c, IdColumn)])
        return IdColumn(ids, graphs[0]) if graphs else unbound(len(ids))
    if all(isinstance(c, NumberColumn) for c in columns):
        numbers = [c for c in columns if isinstance(c, NumberColumn)]
        if all(c.literal is numbers[0].literal for c in numbers):
            return NumberColumn(np.concatenate([c.numbers for c in numbers]), numbers[0].literal)
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
