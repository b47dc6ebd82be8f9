"""LIMIT over a pattern or a MATCH: the rows for the first values of a variable, where they are enough.

With ORDER BY the variable is the first key, and any other one without. The projection has the values of a variable
without the rows that they are in: the ten newest of 100,000 papers are among those of the last of 32 years.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np

from hybridkg.algebra.certain import certain
from hybridkg.interfaces.ranked_index import is_remote_relation
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.blocks import divided_by
from hybridkg.operators.columns import IdColumn, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.index_access import every_entity
from hybridkg.operators.sort_key import SortKey, kth, signed
from hybridkg.operators.text_join import TextJoin
from hybridkg.query import ast

MIN_ROWS = 10_000
"""Expected rows below which all rows are made: they and the order of their values take 0.1 ms (2-core machine)."""

GROWTH = 8
"""Factor by which the number of values grows if their rows are not enough."""


def rows_of_first_values(
    fragment: GraphFragment, key: SortKey, first: int, context: ExecutionContext, *, ties: bool
) -> InColumns | None:
    """All rows of a pattern with the first values of a variable, at least `first` rows; None where making all rows is
    as fast, or a row may leave the variable unbound.

    Equal values are taken together, so further keys order the rows as they order all of them. With `ties` there are no
    further keys: of the rows of one triple pattern with one value, the first are enough.

    Raises:
        ColumnsDeclined: SPARQL does not order two of the values.
    """
    growing = growing_rows(fragment, key, first, context, ties=ties)
    return next((rows for rows in growing if rows.size >= first), None)


def growing_rows(
    fragment: GraphFragment, key: SortKey | None, first: int, context: ExecutionContext, *, ties: bool = False
) -> Iterator[InColumns]:
    """All rows of a pattern with the first values of a variable, and with ever more values; not those of all values.

    Without a key the variable is that with the most values, in the order of their ids. With `ties`, of the rows of one
    triple pattern with one value only the first `first` are made, in the order of all rows: pages of a longer answer
    fit together.

    Raises:
        ColumnsDeclined: SPARQL does not order two of the values.
    """
    prepared, sure = fragment.prepared(context), certain(fragment.group)
    rows = 0.0 if prepared is None else prepared.size().estimate
    if prepared is None or context.graph is None or rows < MIN_ROWS or first * GROWTH > rows:
        return
    names = divided_by(prepared, sure, ()) if key is None else [key.name]
    if not names or names[0] not in sure or names[0] not in prepared.variables:
        return
    name, values = names[0], prepared.size(names[0]).estimate
    ids = prepared.range_of(name, context.meter)
    order = np.arange(len(ids)) if key is None else signed(IdColumn(ids, context.graph), key)
    wanted = max(1, ceil(2 * first * values / rows))
    while wanted * GROWTH < len(ids):
        bound = {name: ids[order <= kth(order, wanted)]}
        if ties and len(bound[name]) == 1 and (other := _other_end(fragment.group, name)):
            bound[other] = prepared.candidates(other, context.meter, None, bound)[:first]
        yield fragment.rows_within(context, bound)
        wanted *= GROWTH


def _other_end(group: ast.Group, name: str) -> str | None:
    """The variable at the other end of a single triple pattern, whose rows for one value ascend by it; None for another
    group.
    """
    match group.elements:
        case (ast.Triples((ast.TriplePattern(ast.Var(subject), ast.Iri(), ast.Var(end)),)),) if subject != end:
            return {subject: end, end: subject}.get(name)
    return None


def for_growing_matches(operator: PhysicalOperator, first: int, context: ExecutionContext) -> Iterator[None]:
    """While it is at a step, an operator has at least its rows for the first matches of a MATCH that is joined below
    it, and at the next step for ever more of them; none where it is expected to have few rows for each of them.
    """
    if type(operator).restrictable is PhysicalOperator.restrictable or context.graph is None:
        return  # no rows may be left out, as below an order; estimates of a ranking would take a tenth of its time
    expected = context.estimates.rows(operator) if context.slice is None else None
    if expected is None or expected < MIN_ROWS or first * GROWTH > expected:
        return
    for join in operator.walk():
        if not isinstance(join, TextJoin):
            continue
        variable, (index, query) = join.match.entity.name, context.checked(join.match)
        leaves = operator.restrictable(variable)
        if not any(leaf is join for leaf in leaves) or is_remote_relation(index, query):
            continue
        ids = every_entity(index, query, context)
        wanted = max(1, ceil(2 * first * len(ids) / expected))
        while wanted * GROWTH < len(ids):
            with context.narrowed(leaves, variable, ids[:wanted]):
                yield
            wanted *= GROWTH
        return
