"""Queries whose answer SPARQL leaves open, so that only Oxigraph has Oxigraph's."""

from __future__ import annotations

from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import has, walk


def open_answer(form: ast.QueryForm) -> str:
    """The part of a query whose answer is open; empty without one.

    A REDUCED that keeps every variable of its triples has no equal rows to remove. COUNT(DISTINCT *) counts the values
    of blank nodes and of the middle of paths as well in Oxigraph 0.5.13, which are no variables here.
    """
    if isinstance(form, ast.AskQuery) and form.modifiers != ast.Modifiers():
        return "ASK with modifiers"
    for node in walk(form):
        if isinstance(node, ast.SelectQuery) and node.reduction == "REDUCED" and not _keeps_all(node):
            return "REDUCED over rows that may be equal"
        if isinstance(node, ast.Aggregate) and node.name == "GROUP_CONCAT":
            return "GROUP_CONCAT, whose order SPARQL leaves open"
        if isinstance(node, ast.Aggregate) and node.distinct and node.argument is None and _has_hidden(form.where):
            return "COUNT(DISTINCT *) over blank nodes or a path"
    return ""


def _has_hidden(where: ast.Group | None) -> bool:
    """Whether a pattern has blank nodes or middles of paths."""
    return where is not None and has(where, ast.Blank, ast.PathSequence)


def _keeps_all(query: ast.SelectQuery) -> bool:
    """Whether every row of a SELECT is another one, as it keeps all variables of a basic graph pattern."""
    elements = [element for element in query.where.elements if not isinstance(element, ast.Filter)]
    if query.values or query.modifiers.group_by or not all(isinstance(one, ast.Triples) for one in elements):
        return False
    inner = [node for element in elements for node in walk(element)]
    if any(isinstance(node, ast.Blank) or _is_path(node) for node in inner):
        return False
    shown = None if query.projection is None else {item.variable.name for item in query.projection}
    return shown is None or in_scope(query.where) <= shown


def _is_path(node: ast.Syntax) -> bool:
    return isinstance(node, ast.PathSequence | ast.PathAlternative | ast.PathRepeat | ast.PathNegated)
