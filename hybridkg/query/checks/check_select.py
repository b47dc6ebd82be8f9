"""Checks of SELECT, GROUP BY and RANK BY (SPARQL 1.1 sections 11.3 and 18.2.4)."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from hybridkg.errors import QueryCheckError, Span, UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.walk import children, has


def check_order(modifiers: ast.Modifiers) -> None:
    """RANK BY replaces ORDER BY."""
    if modifiers.rank_by is not None and modifiers.order_by:
        raise QueryCheckError(
            "RANK BY and ORDER BY cannot be combined",
            hint="RANK BY breaks ties by the one total order already",
            span=modifiers.rank_by.span,
        )


def check_projection(query: ast.SelectQuery, visible: AbstractSet[str]) -> None:
    """Columns must have distinct names, and an alias must be new among the `visible` variables of WHERE and VALUES."""
    grouped = is_grouped(query)
    if query.projection is None:
        if grouped:
            raise QueryCheckError(
                "SELECT * cannot be combined with GROUP BY or aggregates",
                hint="name the columns: the variables of GROUP BY, and (COUNT(?x) AS ?n) for the others",
                span=query.span,
            )
        return
    available: AbstractSet[str] = keys(query) if grouped else visible
    aliases: set[str] = set()
    columns: set[str] = set()
    for item in query.projection:
        name = item.variable.name
        if item.expression is not None and (name in available or name in columns):
            raise QueryCheckError(
                f"?{name} has a value already, so AS cannot give it another",
                hint="use a new name after AS",
                span=item.variable.span,
            )
        if item.expression is None and name in columns:
            raise QueryCheckError(f"?{name} stands twice in SELECT", span=item.variable.span)
        columns.add(name)
        if item.expression is not None:
            aliases.add(name)
    rank = query.modifiers.rank_by
    if rank is not None and rank.score is not None and rank.score.name in available | aliases:
        raise QueryCheckError(
            f"?{rank.score.name} has a value already, so RANK BY cannot give it another",
            hint="use a new name after AS",
            span=rank.score.span,
        )


def check_keys(modifiers: ast.Modifiers, visible: AbstractSet[str]) -> None:
    """An alias in GROUP BY must be a new name: section 18.2.4.1 extends the solutions by it."""
    named = set(visible)
    for key in modifiers.group_by:
        if key.variable is None:
            continue
        if key.variable.name in named:
            raise QueryCheckError(
                f"?{key.variable.name} has a value already, so GROUP BY cannot give it another",
                hint="use a new name after AS",
                span=key.variable.span,
            )
        named.add(key.variable.name)


def check_grouping(form: ast.QueryForm) -> None:
    """In a grouped query, a column is a key, an aggregate, or an expression of those."""
    if not is_grouped(form):
        return
    if not isinstance(form, ast.SelectQuery):
        raise UnsupportedQueryError(
            "groups are counted by SELECT only in this version",
            hint="put them into a sub-select: ASK { { SELECT ... GROUP BY ... HAVING ... } }",
            span=(form.modifiers.group_by[0] if form.modifiers.group_by else form.modifiers).span,
        )
    for key in form.modifiers.group_by:
        if key.variable is not None and isinstance(key.expression, ast.Var):
            old, new = key.expression.name, key.variable.name
            raise UnsupportedQueryError(
                f"the store cannot rename ?{old} in GROUP BY",
                hint=f"write GROUP BY ?{old}, and (?{old} AS ?{new}) in SELECT",
                span=key.span,
            )
    _check_columns(form)


def _check_columns(form: ast.SelectQuery) -> None:
    rank = form.modifiers.rank_by
    available = keys(form)
    aliases: set[str] = set()
    score = rank.score.name if rank is not None and rank.score is not None else None
    for item in form.projection or ():
        if item.expression is not None:
            _check_grouped(item.expression, available, aliases)
            aliases.add(item.variable.name)
        elif item.variable.name != score:
            _check_grouped(item.variable, available)
    if rank is not None:
        _check_grouped(rank.expression, available | aliases)


def is_grouped(query: ast.QueryForm) -> bool:
    """Whether the query has GROUP BY, or an aggregate anywhere. HAVING alone filters rows."""
    modifiers = query.modifiers
    if modifiers.group_by:
        return True
    expressions: list[ast.Expression] = [*modifiers.having, *(key.expression for key in modifiers.order_by)]
    if modifiers.rank_by is not None:
        expressions.append(modifiers.rank_by.expression)
    if isinstance(query, ast.SelectQuery):
        expressions += [item.expression for item in query.projection or () if item.expression is not None]
    return any(map(_has_aggregate, expressions))


def keys(query: ast.SelectQuery) -> frozenset[str]:
    """The variables that have a value in each group: the keys, and the trailing VALUES (section 18.2.4.3)."""
    variables = [key.variable if key.variable is not None else key.expression for key in query.modifiers.group_by]
    variables += query.values.variables if query.values is not None else ()
    return frozenset(variable.name for variable in variables if isinstance(variable, ast.Var))


def _check_grouped(
    expression: ast.Expression, available: AbstractSet[str], aliases: AbstractSet[str] = frozenset()
) -> None:
    for name, span in outside_aggregates(expression):
        if name in aliases:
            raise UnsupportedQueryError(
                f"the store cannot use ?{name} in another column of a grouped query",
                hint=f"repeat the expression of ?{name}, or put the groups into a sub-select",
                span=span,
            )
        if name not in available:
            raise QueryCheckError(
                f"?{name} is neither a key of GROUP BY nor inside an aggregate",
                hint=f"add ?{name} to GROUP BY, or write SAMPLE(?{name}), MAX(?{name}), ...",
                span=span,
            )


def outside_aggregates(node: ast.Syntax) -> Iterator[tuple[str, Span]]:
    """The variables of an expression outside its aggregates, with their places."""
    if isinstance(node, ast.Var):
        yield node.name, node.span
    elif not isinstance(node, ast.Aggregate | ast.Exists):
        for child in children(node):
            yield from outside_aggregates(child)


def _has_aggregate(node: ast.Syntax) -> bool:
    """Whether an expression has an aggregate outside its EXISTS."""
    if isinstance(node, ast.Aggregate | ast.Exists):
        return isinstance(node, ast.Aggregate)
    return has(node, ast.Aggregate) and any(map(_has_aggregate, children(node)))
