"""Checks that what needs a value has one, when the parameters are bound: the text of a MATCH, and RANK BY."""

from __future__ import annotations

from collections.abc import Container

from hybridkg.errors import ParameterError, QueryCheckError
from hybridkg.query import ast
from hybridkg.query.scope import bound_by, bound_somewhere, in_scope, ranked_items
from hybridkg.query.update_query import bound_in
from hybridkg.query.walk import children, walk
from hybridkg.registry import did_you_mean


def check_values(query: ast.Query) -> None:
    """Checks a query whose parameters are bound.

    Raises:
        ParameterError: the text of a MATCH, the target of a NEAR or a variable of RANK BY is a parameter without a
            value.
        QueryCheckError: RANK BY reads a variable that nothing binds, so that every row would have the same place.
    """
    texts = [item.text for item in ranked_items(query.form)]
    forgotten = [text for text in texts if isinstance(text, ast.Var) and text.is_marked]
    if forgotten:
        bound = bound_somewhere(walk(query.form))
        for variable in forgotten:
            if variable.name not in bound:
                raise no_value(variable)
    sub_selects = [node.query for node in walk(query.form) if isinstance(node, ast.SubSelect)]
    for form in (query.form, *sub_selects):
        if form.modifiers.rank_by is not None:
            _check_rank_by(form, form.modifiers.rank_by.expression)


def check_update_values(update: ast.Update) -> None:
    """Checks an update whose parameters are bound.

    SPARQL takes `$name` for `?name`, and a forgotten parameter would then change the triples of all entities. So in an
    update `$name` is a parameter, unless the operation assigns it, as `AS $name` does. An operation that writes it
    `?name` as well is no exception: `DELETE { ?s :v $old } WHERE { ?s :v ?old }` would remove every value.

    Raises:
        ParameterError: a variable written with `$` has no value.
    """
    for operation in update.operations:
        if isinstance(operation, ast.Modify):
            nodes = tuple(walk(operation))
            named = [node for node in nodes if isinstance(node, ast.Var)]
            assigned = frozenset[str]().union(*map(_assigned, nodes))
            bound = bound_in(operation) | bound_somewhere(nodes)
            for node in named:
                if node.is_marked and node.name not in assigned:
                    raise no_value(node, or_variable=node.name in bound)


def _assigned(node: ast.Syntax) -> frozenset[str]:
    """The variables that a node gives values computed by the operation itself."""
    assigned: tuple[ast.Var | None, ...] = ()
    match node:
        case ast.Bind(variable=variable) | ast.GroupKey(variable=variable):
            assigned = (variable,)
        case ast.SelectItem(variable, expression) if expression is not None:
            assigned = (variable,)
        case ast.InlineData(variables):
            assigned = variables
        case ast.Match(score=score, snippet=snippet):
            assigned = (score, snippet)
        case ast.Near(score=score) | ast.RankBy(score=score):
            assigned = (score,)
    return frozenset(variable.name for variable in assigned if variable is not None)


def no_value(variable: ast.Var, *, or_variable: bool = False) -> ParameterError:
    """The error for a parameter without a value, which could be a variable with `or_variable`."""
    hint = no_value_hint(variable.name) + (f"\nor, for a variable: ?{variable.name}" if or_variable else "")
    return ParameterError(f"the parameter ${variable.name} has no value", hint=hint, span=variable.span)


def no_value_hint(name: str) -> str:
    """How a parameter gets a value.

    >>> no_value_hint("t")
    "give it: --param t='...'; in Python: params={'t': ...}"
    """
    return f"give it: --param {name}='...'; in Python: params={{'{name}': ...}}"


def _check_rank_by(form: ast.QueryForm, expression: ast.Expression) -> None:
    bound = set(in_scope(form.where)) if form.where is not None else set()
    bound |= bound_by(form.values) if form.values is not None else frozenset()
    bound |= {key.variable.name for key in form.modifiers.group_by if key.variable is not None}
    if isinstance(form, ast.SelectQuery):
        bound |= {item.variable.name for item in form.projection or () if item.expression is not None}
    calls = [node for node in walk(expression) if isinstance(node, ast.Call) and node.function == "BOUND"]
    optional = {variable.name for call in calls for variable in call.arguments if isinstance(variable, ast.Var)}
    for variable in _read(expression, bound):
        if variable.name in bound | optional:
            continue
        if variable.is_marked:
            raise no_value(variable)
        scores = [f"?{item.score.name}" for item in ranked_items(form) if item.score is not None]
        names = ", ".join(scores or [f"?{name}" for name in sorted(bound)[:8]])
        raise QueryCheckError(
            f"nothing binds ?{variable.name}, which RANK BY reads",
            hint=did_you_mean(f"?{variable.name}", [f"?{name}" for name in sorted(bound)])
            or (f"the scores are: {names}" if scores else f"bound are: {names or 'no variable'}"),
            span=variable.span,
        )


def _read(node: ast.Syntax, bound: Container[str]) -> list[ast.Var]:
    """The variables that an expression needs, in the order of the text: none of EXISTS, nor of COALESCE where an
    option needs only `bound` variables.
    """
    if isinstance(node, ast.Var):
        return [node]
    if isinstance(node, ast.Exists):
        return []
    parts = [_read(child, bound) for child in children(node)]
    is_choice = isinstance(node, ast.Call) and node.function == "COALESCE"
    if is_choice and any(part and all(variable.name in bound for variable in part) for part in parts):
        return []
    return [variable for part in parts for variable in part]
