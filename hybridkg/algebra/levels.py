"""How deep a plan may be: those who read one call themselves for each level, and Python counts the calls."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.errors import QueryLimitError
from hybridkg.query import ast

MAX_LEVELS = 300
"""Each part beside a MATCH is a level, and each FILTER. At 400 all strategies answer from a script, which leaves them
a thousand calls; a server may have used some of these before.
"""


def width(element: ast.Element) -> int:
    """Parts that an element of a group is: one, and each MATCH between triples by itself."""
    if not isinstance(element, ast.Triples):
        return 1
    triples = sum(isinstance(item, ast.TriplePattern) for item in element.items)
    return len(element.items) - triples + min(triples, 1)


def check_width(group: ast.Group, parts: int) -> None:
    """Refuses a group of so many parts that the plan would have more than MAX_LEVELS levels.

    Raises:
        QueryLimitError: it has.
    """
    if parts > MAX_LEVELS:
        raise QueryLimitError(
            f"more than {MAX_LEVELS} patterns, tables and filters stand beside a MATCH and the groups around it",
            hint="put those without MATCH into a group of their own: { ... }",
            span=group.span,
        )


def levels(plan: nodes.Plan) -> int:
    """Levels of the deepest branch of a plan.

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
