"""Warnings about aggregates without a value.

One unbound value, and for SUM and AVG one value that is no number, makes the aggregate of its group an error, and its
cell blank (SPARQL 1.1 section 18.5.1). Only a query with such a cell pays for the warning: its pattern is run again for
the first solutions. The same is done whether columns, the store or a ranked plan has evaluated the groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from hybridkg.errors import QueryWarning
from hybridkg.operators.columns import InColumns
from hybridkg.query import ast
from hybridkg.query.source import shown
from hybridkg.query.walk import variables, walk
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal, Term, term_text

OF_NUMBERS = frozenset(("SUM", "AVG"))
BLANKABLE = OF_NUMBERS | {"MIN", "MAX"}
"""Aggregates that may have no value for a group that has solutions."""

MAX_SOLUTIONS = 20_000
"""Solutions that are looked at for one warning; Oxigraph returns about 0.5 million a second."""

MAX_WARNINGS = 3
"""Aggregates that are looked at in one query."""


@dataclass(frozen=True)
class AggregateColumn:
    """An aggregate in the SELECT clause of the query or of a sub-select.

    Args:
        column: the variable of the column that it computes, perhaps with others.
        aggregate: the aggregate.
        query: the SELECT that has it.
    """

    column: str
    aggregate: ast.Aggregate
    query: ast.SelectQuery

    def sampled(self) -> ast.Query:
        """A query for the first values of the argument, and whether each is a number."""
        assert self.aggregate.argument is not None
        value, number = map(ast.Var, self._names)
        is_number = ast.Bind(ast.Call("ISNUMERIC", (value,)), number)
        where = ast.Group((self.query.where, ast.Bind(self.aggregate.argument, value), is_number))
        projection = (ast.SelectItem(value), ast.SelectItem(number))
        modifiers = ast.Modifiers(limit=MAX_SOLUTIONS)
        return ast.Query(ast.SelectQuery(projection, where, dataset=self.query.dataset, modifiers=modifiers))

    @property
    def _names(self) -> tuple[str, str]:
        taken = variables(self.query)
        return _fresh("value", taken), _fresh("number", taken)

    def warning(self, sample: Solutions, blank: int, rows: int) -> QueryWarning | None:
        """The warning for a column of which `blank` cells of `rows` have no value.

        None if the solutions of `sampled` have no reason: a sum that overflows, or a value among later solutions.
        """
        assert self.aggregate.argument is not None
        cells = sample.select(self._names).in_rows().rows
        name = " ".join(write(self.aggregate.argument).split())
        of = f"of the {'first ' if len(cells) == MAX_SOLUTIONS else ''}{len(cells):,} solutions"
        reasons, hints = [], []
        if self.aggregate.name in OF_NUMBERS:
            others = [value for value, number in cells if value is not None and not _is_true(number)]
            if others:
                example = shown(min(map(term_text, others)))
                reasons.append(f"{name} is no number in {len(others):,} {of}, such as {example}")
                hints.append(f"one is enough; FILTER(isNumeric({name})) leaves them out")
        unbound = sum(value is None for value, _ in cells)
        if unbound:
            is_variable = isinstance(self.aggregate.argument, ast.Var)
            reasons.append(f"{name} {'is unbound' if is_variable else 'is an error'} in {unbound:,} {of}")
            if not hints:
                hints.append(
                    f"one is enough; FILTER(BOUND({name})) leaves them out" if is_variable else "one is enough"
                )
        if not reasons:
            return None
        where = "" if rows == 1 else f" in {blank:,} of {rows:,} rows"
        return QueryWarning(
            "W117",
            f"{self.aggregate.name} has no value{where}: {', and '.join(reasons)}",
            hint="\n".join(hints),
            span=self.aggregate.span,
        )


def aggregate_columns(query: ast.Query) -> tuple[AggregateColumn, ...]:
    """The aggregates of a query that may be blank.

    Not those of a variable that the pattern does not have, which W102 is about.
    """
    return tuple(_aggregate_columns(query))


def _aggregate_columns(query: ast.Query) -> Iterator[AggregateColumn]:
    for select in walk(query.form):
        if not isinstance(select, ast.SelectQuery):
            continue
        bound = variables(select.where)
        for item in select.projection or ():
            for node in walk(item.expression) if item.expression is not None else ():
                if (
                    isinstance(node, ast.Aggregate)
                    and node.name in BLANKABLE
                    and node.argument is not None
                    and variables(node.argument) <= bound
                ):
                    yield AggregateColumn(item.variable.name, node, select)


def blank_cells(columns: Sequence[AggregateColumn], solutions: Solutions) -> dict[str, int]:
    """The number of blank cells of each column that has one."""
    found = {}
    for name in dict.fromkeys(one.column for one in columns):
        if name not in solutions.variables:
            continue
        if isinstance(solutions, InColumns) and not solutions.column(name).has_unbound:
            continue
        if blank := sum(solutions.mapped(name, _is_unbound)):
            found[name] = blank
    return found


def _is_unbound(term: Term | None) -> bool:
    return term is None


def _is_true(term: Term | None) -> bool:
    return isinstance(term, Literal) and term.value == "true"


def _fresh(name: str, taken: Set[str]) -> str:
    while name in taken:
        name += "_"
    return name
