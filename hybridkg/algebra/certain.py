"""Certain variables of a group, which every solution binds; the precondition of rewrites."""

from __future__ import annotations

from hybridkg.query import ast
from hybridkg.query.walk import walk


def certain(group: ast.Group) -> frozenset[str]:
    """Variables bound in every solution of a rank-free group: a subset of them, which may miss some."""
    names: set[str] = set()
    for element in group.elements:
        match element:
            case ast.Triples(items):
                triples = [item for item in items if isinstance(item, ast.TriplePattern)]
                terms = [term for item in triples for term in (item.subject, item.predicate, item.object)]
                names |= {term.name for term in terms if isinstance(term, ast.Var)}
                inner = [part for term in terms if isinstance(term, ast.TripleTerm) for part in walk(term)]
                names |= {part.name for part in inner if isinstance(part, ast.Var)}
            case ast.Group():
                names |= certain(element)
            case ast.GraphPattern(name, pattern):
                names |= certain(pattern)
                if isinstance(name, ast.Var) and names:
                    names.add(name.name)
            case ast.UnionPattern(branches):
                names |= frozenset.intersection(*(certain(branch) for branch in branches))
            case ast.InlineData(variables, rows):
                names |= {v.name for i, v in enumerate(variables) if all(row[i] is not None for row in rows)}
            case ast.SubSelect(query) if query.projection is not None:
                shown = {item.variable.name for item in query.projection if item.expression is None}
                if keys := query.modifiers.group_by:
                    shown &= {key.expression.name for key in keys if isinstance(key.expression, ast.Var)}
                names |= shown & certain(query.where)
    return frozenset(names)
