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
from typing import NamedTuple

from hybridkg.algebra.certain import certain
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.pushdown_conditions import whole
from hybridkg.query import ast
from hybridkg.query.walk import variables, walk
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import NamedNode, Term

PROBES_AT_ONCE = 500
"""Values in one question. Above 1,000 Oxigraph 0.5.13 starts the join from the other end: 3.9 ms for 1,000 values
become 4.9 s for 1,100 (design, planner.md, trap 1)."""

FEW_VALUES = 2_000
"""Up to this many values are probed for without reading the fragment first: about 10 ms. On the eleven ACL Anthology
examples five became 1.5 to 3 times as fast by it; with 10,000 one became 10 times as slow."""

IN_ORDER = (ast.OptionalPattern, ast.MinusPattern, ast.Bind)
"""Elements whose meaning depends on what stands before them in their group."""


class Begun(NamedTuple):
    """A fragment that has been begun to be read.

    Args:
        rows: those that have been read.
        rest: those that follow.
        is_whole: whether these are all.
    """

    rows: list[Row]
    rest: Iterator[Row]
    is_whole: bool


def begin(fragment: SparqlFragment, most: int, context: ExecutionContext) -> Begun:
    """All rows of a fragment where it has at most so many; or else some of them, and a stream of the others.

    An endpoint is told where to stop: it would send the others, too. What it has sent is asked for again, if ever.
    """
    is_far = bool(context.store.url)
    limit = f" LIMIT {most + 1}" if is_far else ""
    stream = context.store.select(fragment.sparql + limit, joined=True).rows
    rows = list(islice(stream, most + 1))
    if len(rows) <= most:
        return Begun(rows, iter(()), is_whole=True)
    return Begun([], _whole(fragment, context), is_whole=False) if is_far else Begun(rows, stream, is_whole=False)


def rows_meeting(
    fragment: SparqlFragment,
    variable: str,
    count: int,
    values: Callable[[], Sequence[Term | None]],
    context: ExecutionContext,
    begun: Begun | None = None,
) -> list[Row]:
    """Rows of the fragment: all of them, or at least all whose `variable` has one of the values.

    Args:
        fragment: binds `variable` in every row.
        variable: what is probed.
        count: how many values there are.
        values: gives them, distinct, when they are needed. A blank node among them cannot be written in a
            query, so the whole fragment is read then.
        context: of the run.
        begun: the fragment, where it is known to have more rows than there are values.
    """
    if begun is None and count > FEW_VALUES:
        begun = begin(fragment, count, context)
        if begun.is_whole:
            return begun.rows
    probes = values()
    iris = [value for value in probes if isinstance(value, NamedNode)]
    if len(iris) < len(probes) or (context.store.url and not stands_values(fragment.group, variable)):
        return context.collect(_whole(fragment, context) if begun is None else chain(begun.rows, begun.rest))
    return context.collect(_probed(fragment, variable, iris, context))


def stands_values(group: ast.Group, variable: str) -> bool:
    """Whether values of a variable may be put into a group before it is matched, as Fuseki 5.6 does where it should
    join them with what has been matched. That is another question where an OPTIONAL binds the variable first:
    `{ OPTIONAL { ?a :p ?c } } ?a :q ?b` joins what has a `:p`; with <x:1>, which has none, in the place of ?a it joins
    <x:1>, too.
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
    """Every row; nothing is asked before the first one is wanted."""
    yield from context.store.select(fragment.sparql, joined=True).rows


def _probed(
    fragment: SparqlFragment, variable: str, values: list[NamedNode], context: ExecutionContext
) -> Iterator[Row]:
    # Oxigraph 0.5.13 evaluates all of a sub-select for every question. That is the quicker way where it begins with a
    # constant (co-authors: 6 ms in place of 40), but not with `?field :parent* <...>` (210 ms in place of 5).
    group, reduction = fragment.group, ""
    if (inner := whole(group)) is not group and any(isinstance(node, ast.PathRepeat) for node in walk(inner)):
        group, reduction = inner, "DISTINCT"
    elements = group.elements
    if any(isinstance(element, IN_ORDER) for element in elements):
        elements = (group,)
    for start in range(0, len(values), PROBES_AT_ONCE):
        rows = tuple((ast.Iri(value.value),) for value in values[start : start + PROBES_AT_ONCE])
        data = ast.InlineData((ast.Var(variable),), rows)
        projection = tuple(ast.SelectItem(ast.Var(name)) for name in fragment.columns)
        asked = ast.SelectQuery(projection, ast.Group((data, *elements)), reduction, fragment.dataset)
        text = write(asked, prefixes={"n": _namespace(values[start])})
        yield from context.store.select(text, joined=True).rows


def _namespace(node: NamedNode) -> str:
    """What its IRI has in common with many others: shorter queries are parsed sooner, 4.2 ms become 2.6 with 280 values
    (Fuseki 5.6).

    >>> _namespace(NamedNode("http://example.org/paper/7"))
    'http://example.org/paper/'
    """
    iri = node.value
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1]
