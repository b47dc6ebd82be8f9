"""Certain variables, which every solution binds; the precondition of rewrites."""

from __future__ import annotations

from hybridkg.algebra import nodes
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


def certain_of(plan: nodes.Plan) -> frozenset[str]:
    """Variables bound in every solution of a plan: a subset of them, which may miss some."""
    match plan:
        case nodes.Fragment(group):
            return certain(group) & plan.variables
        case nodes.Match(match, score, _):
            return frozenset({match.entity.name, score})
        case nodes.MatchEach(child, nodes.Match(match, score, _)):
            return certain_of(child) | {match.entity.name, score}
        case nodes.GraphEach(child, variable, _, _):
            return certain_of(child) | {variable}
        case nodes.Join(left, right):
            return certain_of(left) | certain_of(right)
        case nodes.LeftJoin(child, _) | nodes.Minus(child, _) | nodes.Filter(child, _) | nodes.Extend(child, _, _):
            return certain_of(child)
        case nodes.Union(branches):
            return frozenset.intersection(*(certain_of(branch) for branch in branches))
        case nodes.Project(child, columns, _, _):
            return certain_of(child) & frozenset(columns)
        case nodes.Slice(child, _, _) | nodes.OrderBy(child, _, _):
            return certain_of(child)
        case nodes.Group(child, keys, _, projection):
            shown = {item.variable.name for item in projection if item.expression is None}
            return (
                certain_of(child) & shown & {key.expression.name for key in keys if isinstance(key.expression, ast.Var)}
            )
    return frozenset()
