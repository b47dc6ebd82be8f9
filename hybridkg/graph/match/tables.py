"""Solution tables: multisets of solutions as id columns, and their joins.

Two solutions are compatible when they agree on every variable that both bind (SPARQL 1.1 section 18.3). A column may
hold UNBOUND, so rows are grouped by the shared variables that they bind, nearly always one group; each group is an
equi-join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.match.ids import Mask, inside
from hybridkg.graph.match.relations import spread
from hybridkg.graph.match.run import PatternRun
from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.storage.distinct import sorted_distinct

Places = NDArray[np.int64]

MANY = 1_000
"""Keys up to which a table by key costs more than it saves."""

NUMBERS_PER_SEARCH = 4
"""Entries of such a table that are made in the time of one binary search."""


class SolutionTable(NamedTuple):  # a frozen dataclass takes longer to make than a few rows
    """A multiset of solutions: uint32[size] by variable, and the number of rows, also without columns."""

    columns: Mapping[str, Ids]
    size: int

    def take(self, places: Places | Mask, names: Set[str] | None = None) -> SolutionTable:
        """The rows at places or under a mask, projected to the named columns."""
        chosen = self.columns if names is None else self.only(names).columns
        columns = {name: column[places] for name, column in chosen.items()}
        if columns:
            return SolutionTable(columns, len(next(iter(columns.values()))))
        return SolutionTable(columns, int(np.count_nonzero(places)) if places.dtype == np.bool_ else len(places))

    def only(self, names: Set[str]) -> SolutionTable:
        if self.columns.keys() <= names:
            return self
        return SolutionTable({name: column for name, column in self.columns.items() if name in names}, self.size)

    def column(self, name: str) -> Ids:
        """A column; all UNBOUND for a missing one."""
        column = self.columns.get(name)
        return np.full(self.size, UNBOUND, np.uint32) if column is None else column


ONE = SolutionTable({}, 1)
"""The unit of the join: one solution that binds nothing."""


def empty(names: Iterable[str]) -> SolutionTable:
    return SolutionTable({name: np.empty(0, np.uint32) for name in names}, 0)


def concatenated(tables: Sequence[SolutionTable], names: Sequence[str], run: PatternRun) -> SolutionTable:
    size = sum(table.size for table in tables)
    run.room_for(size)
    if len(tables) == 1 and all(name in tables[0].columns for name in names):
        return tables[0].only(frozenset(names))
    columns = {name: np.concatenate([table.column(name) for table in tables]) for name in names if tables}
    return SolutionTable(columns, size) if tables else empty(names)


def by_binding(table: SolutionTable, shared: Sequence[str]) -> Iterator[tuple[tuple[bool, ...], Places | None]]:
    """Groups of rows: (for each shared variable, whether it is bound; places of the rows, or None for all)."""
    open_columns = [name for name in shared if (table.columns[name] == UNBOUND).any()]
    if not open_columns:
        yield (True,) * len(shared), None
        return
    code = np.zeros(table.size, np.int64)
    for name in open_columns:
        code = code * 2 + (table.columns[name] == UNBOUND)
    for value in sorted_distinct(code).tolist():
        rows = np.flatnonzero(code == value)
        unbound = {name for place, name in enumerate(reversed(open_columns)) if value >> place & 1}
        yield tuple(name not in unbound for name in shared), rows


def keys_of(left: Sequence[Ids], right: Sequence[Ids]) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """One key for each row of two lists of equally many columns; keys are equal exactly when all columns are."""
    mine, its = left[0], right[0]
    if len(left) == 1:
        return mine, its
    a = mine.astype(np.uint64)
    b = its.astype(np.uint64)
    for i in range(1, len(left)):
        if i > 1:  # both halves are in use: renumber the keys
            numbers = np.unique(np.concatenate([a, b]), return_inverse=True)[1].astype(np.uint64)
            a, b = numbers[: len(a)], numbers[len(a) :]
        a = (a << np.uint64(32)) | left[i]
        b = (b << np.uint64(32)) | right[i]
    return a, b


def pairs_of_equal_keys(
    left: NDArray[np.generic], right: NDArray[np.generic], run: PatternRun
) -> tuple[Places, Places]:
    """The equi-join: (rows of left, rows of right) of all pairs with equal keys, ordered by left, then right."""
    order = np.argsort(right, kind="stable")
    low, counts = _runs(left, right[order])
    total = int(counts.sum())
    run.room_for(total)
    return np.arange(len(left)).repeat(counts), order[spread(low, counts, total)]


def _runs(keys: NDArray[np.generic], ordered: NDArray[np.generic]) -> tuple[Places, Places]:
    """(place, length) of the run of each key among ascending ones.

    >>> [part.tolist() for part in _runs(np.array([3, 1, 2]), np.array([1, 3, 3]))]
    [[1, 0, 1], [2, 1, 0]]
    """
    if len(keys) > MANY and len(ordered) and ordered.dtype == np.uint32:
        first, span = ordered[0], int(ordered[-1]) - int(ordered[0])
        if span < NUMBERS_PER_SEARCH * len(keys):
            offsets = np.zeros(span + 3, np.int64)  # the last run, which is empty, is that of all other keys
            np.cumsum(np.bincount(ordered - first, minlength=span + 2), out=offsets[1:])
            at = np.minimum(keys - first, np.uint32(span + 1))
            low = offsets[at]
            return low, offsets[at + np.uint32(1)] - low
    low = ordered.searchsorted(keys)
    return low, ordered.searchsorted(keys, side="right") - low


def _picked(columns: Sequence[Ids], rows: Places | None) -> list[Ids]:
    return list(columns) if rows is None else [column[rows] for column in columns]


def _all(rows: Places | None, size: int) -> Places:
    return np.arange(size) if rows is None else rows


def compatible_pairs(left: SolutionTable, right: SolutionTable, run: PatternRun) -> Iterator[tuple[Places, Places]]:
    """(rows of left, rows of right) of all compatible pairs, one group of bindings at a time."""
    shared = [name for name in left.columns if name in right.columns]
    groups = list(by_binding(right, shared))
    for mine, rows in by_binding(left, shared):
        for its, others in groups:
            common = [name for name, a, b in zip(shared, mine, its, strict=True) if a and b]
            if not common:
                n, m = _length(rows, left), _length(others, right)
                run.room_for(n * m)
                yield np.repeat(_all(rows, left.size), m), np.tile(_all(others, right.size), n)
                continue
            a, b = keys_of(
                _picked([left.columns[name] for name in common], rows),
                _picked([right.columns[name] for name in common], others),
            )
            i, j = pairs_of_equal_keys(a, b, run)
            yield (i if rows is None else rows[i]), (j if others is None else others[j])


def _length(rows: Places | None, table: SolutionTable) -> int:
    return table.size if rows is None else len(rows)


def merged(left: SolutionTable, right: SolutionTable, i: Places, j: Places) -> SolutionTable:
    columns = {name: column[i] for name, column in left.columns.items()}
    for name, column in right.columns.items():
        if name in columns:
            mine = columns[name]
            if (open_places := mine == UNBOUND).any():
                columns[name] = np.where(open_places, column[j], mine)
        else:
            columns[name] = column[j]
    return SolutionTable(columns, len(i))


def all_pairs(left: SolutionTable, right: SolutionTable, run: PatternRun) -> tuple[Places, Places]:
    groups = list(compatible_pairs(left, right, run))
    if len(groups) == 1:
        return groups[0]
    run.room_for(sum(len(i) for i, _ in groups))
    if not groups:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([i for i, _ in groups]), np.concatenate([j for _, j in groups])


def joined(left: SolutionTable, right: SolutionTable, run: PatternRun) -> SolutionTable:
    if right.size == 1 and not right.columns:
        return left
    if left.size == 1 and not left.columns:
        return right
    return merged(left, right, *all_pairs(left, right, run))


def matched(left: SolutionTable, right: SolutionTable, *, disjoint: bool) -> Mask:
    """bool[left.size]: whether each row of the left table has a compatible row in the right one.

    `disjoint`: whether rows without a common bound variable count as compatible: yes for EXISTS, no for MINUS.
    """
    shared = [name for name in left.columns if name in right.columns]
    mask = np.zeros(left.size, np.bool_)
    if right.size == 0:
        return mask
    groups = list(by_binding(right, shared))
    for mine, rows in by_binding(left, shared):
        for its, others in groups:
            common = [name for name, a, b in zip(shared, mine, its, strict=True) if a and b]
            here = slice(None) if rows is None else rows
            if not common:
                if disjoint:
                    mask[here] = True
                continue
            a, b = keys_of(
                _picked([left.columns[name] for name in common], rows),
                _picked([right.columns[name] for name in common], others),
            )
            hits = inside(a, sorted_distinct(b)) if len(common) == 1 else np.isin(a, b)  # type: ignore[arg-type]
            mask[here] |= hits
    return mask
