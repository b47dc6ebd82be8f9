"""Warnings about ranked patterns whose rows are cut or sorted without regard to the score.

A LIMIT without an order takes any rows (SPARQL 1.1 section 15.5), and ORDER BY sorts the lowest score first. The order
means nothing inside EXISTS and MINUS, to ASK, and to groups, which have no score of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from hybridkg.errors import QueryWarning
from hybridkg.query import ast
from hybridkg.query.checks.check_select import is_grouped
from hybridkg.query.walk import children, has, walk


def order_warnings(form: ast.QueryForm) -> Iterator[QueryWarning]:
    """W118 of the sub-selects, and W119 of the form and its sub-selects.

    >>> from hybridkg.query.parser import parse
    >>> query = parse('SELECT ?x { ?x MATCH "fish" AS ?s } ORDER BY ?s')
    >>> [w.message for w in order_warnings(query.form)]
    ['ORDER BY ?s puts the lowest score first, and so the worst match']
    """
    if isinstance(form, ast.AskQuery) or form.where is None:
        return
    yield from _worst_first(form)
    for query in _sub_selects(form.where) if has(form.where, ast.SubSelect) else ():
        yield from arbitrary_rows(query)
        yield from order_warnings(query)


def arbitrary_rows(form: ast.QueryForm) -> Iterator[QueryWarning]:
    """W118 of a form, for a result that its LIMIT has cut."""
    if isinstance(form, ast.AskQuery) or form.where is None or is_grouped(form):
        return
    limit, modifiers = form.modifiers.limit, form.modifiers
    if not limit or modifiers.order_by or modifiers.rank_by is not None:
        return
    ranked = list(_ranked(form.where))
    if not ranked or any(item.top is not None for item in ranked):
        return
    first = ranked[0]
    word = type(first).__name__.upper()
    rank = "RANK BY ?score before LIMIT" if first.score is None else f"RANK BY ?{first.score.name} before LIMIT"
    yield QueryWarning(
        "W118",
        f"LIMIT takes any {limit:,} of the rows, not those with the best matches",
        hint=f"write {rank}" if first.score is not None else f"name the score, {word} ... AS ?score, and write {rank}",
        span=first.entity.span,
    )


def _worst_first(form: ast.QueryForm) -> Iterator[QueryWarning]:
    keys = form.modifiers.order_by
    if not keys or keys[0].descending or not isinstance(keys[0].expression, ast.Var) or form.where is None:
        return
    name = keys[0].expression.name
    if name in _scores(form.where):
        yield QueryWarning(
            "W119",
            f"ORDER BY ?{name} puts the lowest score first, and so the worst match",
            hint=f"write RANK BY ?{name} or ORDER BY DESC(?{name})",
            span=keys[0].expression.span,
        )


def _scores(where: ast.Group) -> set[str]:
    """The names of the scores in a group, those of its sub-selects included."""
    return {
        node.score.name
        for node in walk(where)
        if isinstance(node, ast.Match | ast.Near | ast.RankBy | ast.Rerank) and node.score is not None
    }


def _ranked(node: ast.Syntax) -> Iterator[ast.RankedItem]:
    """The ranked patterns that select the rows of a group, without those of its sub-selects."""
    if isinstance(node, ast.Match | ast.Near):
        yield node
    elif not isinstance(node, ast.SubSelect | ast.MinusPattern | ast.Filter | ast.ServicePattern):
        for child in children(node):
            yield from _ranked(child)


def _sub_selects(node: ast.Syntax) -> Iterator[ast.SelectQuery]:
    """The sub-selects whose rows reach those of a group, without sub-selects of their own."""
    if isinstance(node, ast.SubSelect):
        yield node.query
    elif not isinstance(node, ast.MinusPattern | ast.Filter | ast.ServicePattern):
        for child in children(node):
            yield from _sub_selects(child)
