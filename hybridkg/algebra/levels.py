"""Depth limit of plans: visitors of a plan recurse for each level, and Python limits the frames."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.errors import QueryLimitError
from hybridkg.query import ast

MAX_LEVELS = 300
"""Levels of a plan: one for each part next to a MATCH, and each FILTER. At 400 all strategies answer from a script with
Python's 1,000 frames; a server may have used some of them."""


def width(element: ast.Element) -> int:
    """Number of parts of an element of a group: each MATCH in a triples block is one, its triples together another."""
    if not isinstance(element, ast.Triples):
        return 1
    triples = sum(isinstance(item, ast.TriplePattern) for item in element.items)
    return len(element.items) - triples + min(triples, 1)


def check_width(group: ast.Group, parts: int) -> None:
    """Refuses a group whose plan would have more than MAX_LEVELS levels.

    Raises:
        QueryLimitError: it has too many parts.
    """
    if parts > MAX_LEVELS:
        raise QueryLimitError(
            f"more than {MAX_LEVELS} patterns, tables and filters stand next to a MATCH and in the groups around it",
            hint="put those without MATCH into a group of their own: { ... }",
            span=group.span,
        )


def levels(plan: nodes.Plan) -> int:
    """Depth of a plan.

    >>> from hybridkg.query.parser import parse
    >>> empty = nodes.Fragment(parse("SELECT * {}").form.where)
    >>> levels(nodes.Join(nodes.Minus(empty, empty), empty))
    3
    """
    deepest, waiting = 0, [(plan, 1)]
    while waiting:
        part, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for child in nodes.children(part)]
    return deepest
