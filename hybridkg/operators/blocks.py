"""Rows of an operator block by block, where all together take more memory than the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from mmap import MADV_DONTNEED, mmap
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.graph_index import Ids, PreparedPattern
from hybridkg.operators.columns import IdColumn, InColumns, columns_of
from hybridkg.operators.context import ExecutionContext

if TYPE_CHECKING:
    from hybridkg.operators.base import PhysicalOperator

T = TypeVar("T")

MAX_PARTS = 4096
"""Maximum parts of the ids of a variable at first; those that are too large are halved."""


def whole_or_blocks(
    operator: PhysicalOperator, context: ExecutionContext, first: Sequence[str]
) -> InColumns | Iterator[InColumns]:
    """All rows of an operator where they fit in memory, else its blocks; `first` as in `PhysicalOperator.blocks`."""
    rows = context.unless(lambda: columns_of(context.run(operator), context.made), QueryLimitError)
    if not isinstance(rows, InColumns):
        return operator.blocks(context, first)
    return rows if rows.size <= context.rows_at_once(len(rows.variables)) else parts_of(rows, context)


def parts_of(rows: InColumns, context: ExecutionContext) -> Iterator[InColumns]:
    """Rows, perhaps on disk, in blocks that fit in memory; at least one, which may be empty."""
    step = context.rows_at_once(len(rows.variables))
    for begin in range(0, max(1, rows.size), step):
        context.meter.check()
        yield rows.part(begin, begin + step)
        for column in rows.columns.values():
            array = column.ids if isinstance(column, IdColumn) else getattr(column, "numbers", None)
            pages: object = array.base if isinstance(array, np.memmap) else None
            if isinstance(pages, mmap):
                pages.madvise(MADV_DONTNEED)  # else all pages count as memory of the process


def blocks_over(
    operator: PhysicalOperator, child: PhysicalOperator, context: ExecutionContext, first: Sequence[str]
) -> Iterator[InColumns]:
    """Blocks of an operator that works on each row of its child alone: those of the child, one after the other."""
    for block in child.blocks(context, first):
        yield from _over(operator, child, block, context)


def _over(
    operator: PhysicalOperator, child: PhysicalOperator, block: InColumns, context: ExecutionContext
) -> Iterator[InColumns]:
    """Rows of an operator over one block of its child, which is halved where they do not fit in memory."""
    with context.working_on(child, block):
        made = context.unless(lambda: columns_of(context.run(operator), context.made), QueryLimitError)
    if isinstance(made, InColumns):
        yield made
        return
    if block.size < 2:
        raise made
    for begin, end in ((0, block.size // 2), (block.size // 2, block.size)):
        yield from _over(operator, child, block.part(begin, end), context)


def divided_by(prepared: PreparedPattern, certain: frozenset[str], first: Sequence[str]) -> list[str]:
    """Variables that every solution binds, by whose ids a pattern is divided: those of `first`, then the others, the
    one with the most values first.
    """
    names = [name for name in first if name in certain and name in prepared.variables]
    others = sorted((certain & frozenset(prepared.variables)) - frozenset(names))
    return [*names, *sorted(others, key=lambda name: -prepared.size(name).estimate)]


def in_parts(
    ask: Callable[[Mapping[str, Ids]], T],
    prepared: PreparedPattern,
    names: Sequence[str],
    parts: float,
    context: ExecutionContext,
) -> Iterator[T]:
    """Answers of a pattern for parts of the ids of its variables, in ascending order.

    A part whose answer does not fit in memory is halved, and a single id is divided by the ids of the next variable.

    Args:
        ask: answers the pattern with some variables restricted to ascending ids.
        prepared: the pattern.
        names: variables that every solution binds.
        parts: expected number of parts.
        context: of the run.

    Raises:
        QueryLimitError: the answer for a single id of each variable does not fit in memory.
    """

    def answers(bound: Mapping[str, Ids], level: int, parts: int) -> Iterator[T]:
        context.meter.check()
        if parts == 1 or level == len(names):
            found = context.unless(lambda: ask(bound), QueryLimitError)
            if not isinstance(found, QueryLimitError):
                yield found
                return
            if level == len(names):
                raise found
        name = names[level]
        ids = bound.get(name)
        if ids is None and bound:
            ids = prepared.candidates(name, context.meter, None, bound)
        elif ids is None:
            ids = prepared.range_of(name, context.meter)
        if len(ids) < 2:
            yield from answers({**bound, name: ids}, level + 1, parts)
            return
        for part in np.array_split(ids, min(max(2, parts), len(ids))):
            yield from answers({**bound, name: part}, level, 1)

    return answers({}, 0, min(MAX_PARTS, max(2, ceil(parts))))
