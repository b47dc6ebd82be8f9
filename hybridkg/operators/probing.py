"""Reading a fragment only where it meets a set of values.

Whether a fragment is small is not known before it is read (there are no
statistics yet), so it is read up to as many rows as there are values to probe
for, and probed for the values only if it goes on. Reading a row and probing
for a value cost about the same, so this is at most about twice the cheaper
of the two, whichever that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.query import ast
from hybridkg.rdf.batch import Row
from hybridkg.rdf.terms import NamedNode, Term

PROBES_AT_ONCE = 500
"""Values in one question. Above 1,000 Oxigraph 0.5.13 starts the join from the other end: 3.9 ms for 1,000 values
become 4.9 s for 1,100 (design, planner.md, trap 1)."""

SMALL_FRAGMENT = 2_000
"""A fragment with no more rows than this is read whole, however few values there are: that takes 12 ms."""

IN_ORDER = (ast.OptionalPattern, ast.MinusPattern, ast.Bind)
"""Elements whose meaning depends on what stands before them in their group."""


def rows_meeting(
    fragment: SparqlFragment,
    variable: str,
    count: int,
    values: Callable[[], Sequence[Term | None]],
    context: ExecutionContext,
) -> list[Row]:
    """Rows of the fragment: all of them, or at least all whose `variable` has one of the values.

    Args:
        fragment: binds `variable` in every row.
        variable: what is probed.
        count: how many values there are.
        values: gives them, distinct, when they are needed. A blank node among them cannot be written in a
            query, so the whole fragment is read then.
        context: of the run.
    """
    stream = context.store.select(fragment.sparql).rows
    budget = max(SMALL_FRAGMENT, count)
    first = list(islice(stream, budget + 1))
    if len(first) <= budget:
        return first
    probes = values()
    if not all(isinstance(value, NamedNode) for value in probes):
        return context.collect(_chained(first, stream))
    return context.collect(_probed(fragment, variable, [v for v in probes if isinstance(v, NamedNode)], context))


def _chained(first: list[Row], rest: Iterator[Row]) -> Iterator[Row]:
    yield from first
    yield from rest


def _probed(
    fragment: SparqlFragment, variable: str, values: list[NamedNode], context: ExecutionContext
) -> Iterator[Row]:
    elements = fragment.group.elements
    if any(isinstance(element, IN_ORDER) for element in elements):
        elements = (fragment.group,)
    for start in range(0, len(values), PROBES_AT_ONCE):
        rows = tuple((ast.Iri(value.value),) for value in values[start : start + PROBES_AT_ONCE])
        data = ast.InlineData((ast.Var(variable),), rows)
        bound = SparqlFragment(ast.Group((data, *elements)), fragment.columns, fragment.dataset)
        yield from context.store.select(bound.sparql).rows
