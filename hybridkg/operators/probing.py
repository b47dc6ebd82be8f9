"""Probing: evaluation of a fragment in the store for a set of values of one variable.

The size of a fragment is unknown before it is read. A few values are probed at once. For more, up to as many rows of
the fragment are read as there are values, and the values are probed only if rows remain: reading a row and probing a
value cost about the same, so this takes at most about twice the cheaper alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from hybridkg.algebra.certain import certain
from hybridkg.algebra.guarded_order import guarded
from hybridkg.algebra.small_joins import in_small_joins
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.pushdown_conditions import whole
from hybridkg.query import ast
from hybridkg.query.walk import has, variables, walk
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import NamedNode, Term

PROBES_AT_ONCE = 500
"""Values in one query. Above 1,000, Oxigraph 0.5.13 starts the join from the other end: 3.9 ms for 1,000 values become
4.9 s for 1,100 (docs/planner.md, trap 1)."""

FEW_VALUES = 2_000
"""Maximum values probed without reading the fragment first: about 10 ms. Of the eleven ACL Anthology examples, five
became 1.5 to 3 times as fast; with 10,000, one became 10 times as slow."""

IN_ORDER = (ast.OptionalPattern, ast.MinusPattern, ast.Bind)
"""Elements whose meaning depends on the preceding elements of their group."""


class PartialRead(NamedTuple):
    """Fragment read in part: rows, the remaining rows, and whether there are none."""

    rows: list[Row]
    rest: Iterator[Row]
    is_whole: bool


def read_up_to(fragment: SparqlFragment, most: int, context: ExecutionContext) -> PartialRead:
    """All rows of a fragment if it has at most `most`; otherwise some of them, and a stream of the others.

    An endpoint gets a LIMIT, because it would send the others, too; its rows are queried again if needed.
    """
    is_remote = bool(context.store.url)
    limit = f" LIMIT {most + 1}" if is_remote else ""
    stream = context.store.select(fragment.sparql + limit, joined=True).rows
    rows = list(islice(stream, most + 1))
    if len(rows) <= most:
        return PartialRead(rows, iter(()), is_whole=True)
    rows, rest = ([], _whole(fragment, context)) if is_remote else (rows, stream)
    return PartialRead(rows, rest, is_whole=False)


def rows_meeting(
    fragment: SparqlFragment,
    variable: str,
    count: int,
    values: Callable[[], Sequence[Term | None]],
    context: ExecutionContext,
    partial: PartialRead | None = None,
) -> list[Row]:
    """Rows of the fragment: all of them, or at least all whose `variable` has one of the values.

    Args:
        fragment: binds `variable` in every row.
        variable: the probed variable.
        count: number of values.
        values: returns them, distinct, on demand. A blank node cannot be written in a query, so the whole fragment is
            read then.
        context: of the run.
        partial: the fragment read in part, if it has more rows than there are values.
    """
    if partial is None and count > FEW_VALUES:
        partial = read_up_to(fragment, count, context)
        if partial.is_whole:
            return partial.rows
    probes = values()
    iris = [value for value in probes if isinstance(value, NamedNode)]
    if len(iris) < len(probes) or (context.store.url and not stands_values(fragment.group, variable)):
        return context.collect(_whole(fragment, context) if partial is None else chain(partial.rows, partial.rest))
    return context.collect(_probed(fragment, variable, iris, context))


def stands_values(group: ast.Group, variable: str) -> bool:
    """Whether values of a variable may be substituted into a group before it is matched, as Fuseki 5.6 does in place of
    a join. That changes the result if an OPTIONAL binds the variable first: `{ OPTIONAL { ?a :p ?c } } ?a :q ?b` joins
    the subjects of `:p`; with <x:1>, which has none, in place of ?a it joins <x:1>, too.
    """
    return not any(
        isinstance(element, ast.OptionalPattern)
        and variable in variables(element)
        and variable not in certain(ast.Group(part.elements[:i]))
        for part in walk(group)
        if isinstance(part, ast.Group)
        for i, element in enumerate(part.elements)
    )


def _whole(fragment: SparqlFragment, context: ExecutionContext) -> Iterator[Row]:
    yield from context.store.select(fragment.sparql, joined=True).rows


def _probed(
    fragment: SparqlFragment, variable: str, values: list[NamedNode], context: ExecutionContext
) -> Iterator[Row]:
    # Oxigraph 0.5.13 evaluates all of a sub-select for every query. That is faster if it starts with a constant
    # (co-authors: 6 ms in place of 40), but not with `?field :parent* <...>` (210 ms in place of 5).
    group, reduction = fragment.group, ""
    if (inner := whole(group)) is not group and has(inner, ast.PathRepeat):
        group, reduction = inner, "DISTINCT"
    elements = in_small_joins(guarded(group)).elements
    if any(isinstance(element, IN_ORDER) for element in elements):
        elements = (ast.Group(elements),)
    for start in range(0, len(values), PROBES_AT_ONCE):
        rows = tuple((ast.Iri(value.value),) for value in values[start : start + PROBES_AT_ONCE])
        data = ast.InlineData((ast.Var(variable),), rows)
        projection = tuple(ast.SelectItem(ast.Var(name)) for name in fragment.columns)
        query = ast.SelectQuery(projection, ast.Group((data, *elements)), reduction, fragment.dataset)
        text = write(query, prefixes={"n": _namespace(values[start])})
        yield from context.store.select(text, joined=True).rows


def _namespace(node: NamedNode) -> str:
    """Namespace of an IRI: prefixed queries are parsed faster, 2.6 ms in place of 4.2 with 280 values (Fuseki 5.6).

    >>> _namespace(NamedNode("http://example.org/paper/7"))
    'http://example.org/paper/'
    """
    iri = node.value
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1]
