"""Warnings about aggregates without a value.

One unbound value, and for SUM and AVG one value that is no number, makes the aggregate of its group an error, and its
cell blank (SPARQL 1.1 section 18.5.1). Only a query with such a cell pays for the warning: its pattern is run again for
the first solutions (kb/second_look.py). The same is done whether columns, the store or a ranked plan has evaluated the
groups. A warning has to be right, so only a column that is an aggregate of the outermost SELECT has one: what makes a
cell of an expression or of a sub-select blank may be something else.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from hybridkg.algebra.from_ast import ONE_ENGINE
from hybridkg.errors import QueryWarning
from hybridkg.operators.columns import InColumns
from hybridkg.query import ast
from hybridkg.query.scope import in_scope
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
    """An aggregate that is a column of the outermost SELECT.

    Args:
        column: the variable of the column.
        aggregate: the aggregate.
        query: the SELECT.
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
    """The aggregates of a query that may be blank, and whose pattern may be run again.

    Not those of a variable that the pattern does not have, which W102 is about; nor those of groups that HAVING or a
    trailing VALUES selects, since the reason may be in a group that it leaves out.
    """
    select = query.form
    if not isinstance(select, ast.SelectQuery) or select.modifiers.having or select.values:
        return ()
    items = [item for item in select.projection or () if _may_be_blank(item.expression)]
    if not items or any(map(_runs_once, walk(select))):
        return ()
    bound = in_scope(select.where)
    return tuple(
        AggregateColumn(item.variable.name, item.expression, select)
        for item in items
        if isinstance(item.expression, ast.Aggregate) and variables(item.expression) <= bound
    )


def _may_be_blank(expression: ast.Expression | None) -> bool:
    return isinstance(expression, ast.Aggregate) and expression.name in BLANKABLE and expression.argument is not None


def _runs_once(node: ast.Syntax) -> bool:
    """Whether a part of a query asks another machine or a model, or has other values in a second run."""
    if isinstance(node, ast.Call):
        return node.function in ONE_ENGINE
    return isinstance(node, ast.ServicePattern | ast.Rerank)


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
