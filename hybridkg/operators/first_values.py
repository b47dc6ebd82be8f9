"""ORDER BY with LIMIT over a pattern: its rows for the first values of the first key, where they are enough.

The projection has the values of a variable without the rows that they are in: the ten newest of 100,000 papers are
among those of the last of 32 years.
"""

from __future__ import annotations

from math import ceil

from hybridkg.algebra.certain import certain
from hybridkg.operators.columns import IdColumn, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.sort_key import SortKey, kth, signed

MIN_ROWS = 10_000
"""Expected rows below which all rows are made: they and the order of their values take 0.1 ms (2-core machine)."""

GROWTH = 8
"""Factor by which the number of values grows if their rows are not enough."""


def rows_of_first_values(
    fragment: GraphFragment, key: SortKey, first: int, context: ExecutionContext
) -> InColumns | None:
    """All rows of a pattern with the first values of a variable, at least `first` rows; None where making all rows is
    as fast, or a row may leave the variable unbound.

    Equal values are taken together, so further keys order the rows as they order all of them.

    Raises:
        ColumnsDeclined: SPARQL does not order two of the values.
    """
    prepared = fragment.prepared(context)
    if prepared is None or context.graph is None or key.name not in certain(fragment.group):
        return None
    rows, values = prepared.size().estimate, prepared.size(key.name).estimate
    if rows < MIN_ROWS or first * GROWTH > rows or key.name not in prepared.variables:
        return None
    ids = prepared.range_of(key.name, context.meter)
    order = signed(IdColumn(ids, context.graph), key)
    wanted = max(1, ceil(2 * first * values / rows))
    while wanted * GROWTH < len(ids):
        found = fragment.rows_within(context, {key.name: ids[order <= kth(order, wanted)]})
        if found.size >= first:
            return found
        wanted *= GROWTH
    return None
