"""Reading a fragment only where it meets a set of values.

Whether a fragment is small is not known before it is read (there are no
statistics yet). A few values are probed for at once. For more, the fragment is
read up to as many rows as there are values, and probed only if it goes on:
reading a row and probing for a value cost about the same, so this is at most
about twice the cheaper of the two, whichever that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.query import ast
from hybridkg.rdf.batch import Row
from hybridkg.rdf.terms import NamedNode, Term

PROBES_AT_ONCE = 500
"""Values in one question. Above 1,000 Oxigraph 0.5.13 starts the join from the other end: 3.9 ms for 1,000 values
become 4.9 s for 1,100 (design, planner.md, trap 1)."""

FEW_VALUES = 2_000
"""Up to this many values are probed for without reading the fragment first: about 10 ms. On the eleven ACL Anthology
examples five became 1.5 to 3 times as fast by it; with 10,000 one became 10 times as slow."""

IN_ORDER = (ast.OptionalPattern, ast.MinusPattern, ast.Bind)
"""Elements whose meaning depends on what stands before them in their group."""


def rows_meeting(
    fragment: SparqlFragment,
    variable: str,
    count: int,
    values: Callable[[], Sequence[Term | None]],
    context: ExecutionContext,
    begun: tuple[list[Row], Iterator[Row]] | None = None,
) -> list[Row]:
    """Rows of the fragment: all of them, or at least all whose `variable` has one of the values.

    Args:
        fragment: binds `variable` in every row.
        variable: what is probed.
        count: how many values there are.
        values: gives them, distinct, when they are needed. A blank node among them cannot be written in a
            query, so the whole fragment is read then.
        context: of the run.
        begun: rows of the whole fragment that have been read, and those that follow, where it has been begun.
    """
    first, stream = begun or ([], _whole(fragment, context))
    if count > FEW_VALUES:
        first += islice(stream, max(count + 1 - len(first), 0))
        if len(first) <= count:
            return first
    probes = values()
    iris = [value for value in probes if isinstance(value, NamedNode)]
    if len(iris) < len(probes):
        return context.collect(chain(first, stream))
    return context.collect(_probed(fragment, variable, iris, context))


def _whole(fragment: SparqlFragment, context: ExecutionContext) -> Iterator[Row]:
    """Every row; nothing is asked before the first one is wanted."""
    yield from context.store.select(fragment.sparql, joined=True).rows


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
        yield from context.store.select(bound.sparql, joined=True).rows
