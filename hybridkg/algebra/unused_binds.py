"""BIND whose variable nothing reads: an expression that is evaluated for every solution and seen in none."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk

FormT = TypeVar("FormT", bound=ast.Syntax)


def without_unused_binds(form: FormT) -> FormT:
    """The query without BINDs of variables that occur nowhere else.

    An error in BIND leaves its variable unbound and keeps the solution (SPARQL 1.1 section 10.1), so the answer is the
    same. A query that shows or counts all variables stays as it is.

    >>> from hybridkg.query.parser import parse
    >>> from hybridkg.query.write import write
    >>> form = parse("SELECT ?x { ?x <e:p> ?y BIND(STRLEN(?y) AS ?n) BIND(1 AS ?x2) FILTER(?x2 = 1) }").form
    >>> [type(element).__name__ for element in without_unused_binds(form).where.elements]
    ['Triples', 'Bind', 'Filter']
    """
    nodes = list(walk(form))
    binds = [node for node in nodes if isinstance(node, ast.Bind)]
    if not binds or any(map(_reads_all, nodes)):
        return form
    times = Counter(node.name for node in nodes if isinstance(node, ast.Var))
    unused = frozenset(id(bind) for bind in binds if times[bind.variable.name] == 1)

    def change(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Group) and any(id(element) in unused for element in node.elements):
            elements = tuple(element for element in node.elements if id(element) not in unused)
            node = ast.Group(elements, span=node.span)
        return rebuild(node, change)

    return rebuild(form, change) if unused else form


def _reads_all(node: ast.Syntax) -> bool:
    match node:
        case ast.SelectQuery(projection=projection):
            return projection is None
        case ast.DescribeQuery(subjects):
            return not subjects
        case ast.Aggregate():
            return node.distinct and node.argument is None
    return False
