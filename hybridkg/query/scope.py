"""Variable scope of patterns (SPARQL 1.1 section 18.2.1), and detection of ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hybridkg.query import ast
from hybridkg.query.walk import has, variables, walk


def in_scope(group: ast.Group) -> frozenset[str]:
    """The variables that a solution of the group can bind.

    A MATCH binds its entity, its score and its snippet; a variable that is its text is bound by another pattern.
    Variables that occur only in FILTER, EXISTS or MINUS are not in scope.

    >>> from hybridkg.query.parser import parse
    >>> query = parse('SELECT * { ?x MATCH "fish" AS ?s MINUS { ?x ?p ?o } FILTER(?y) }')
    >>> sorted(in_scope(query.form.where))
    ['s', 'x']
    """
    scope = group.scope
    if scope is None:
        scope = frozenset[str]().union(*map(bound_by, group.elements))
        object.__setattr__(group, "scope", scope)  # checks, rules and warnings ask for it about ten times
    return scope


def bound_by(element: ast.Element) -> frozenset[str]:
    """The variables that one element of a group adds to its scope."""
    match element:
        case ast.Triples(items):
            return frozenset(name for item in items for name in _mentioned(item))
        case ast.Group():
            return in_scope(element)
        case ast.OptionalPattern(pattern):
            return in_scope(pattern)
        case ast.UnionPattern(branches):
            return frozenset().union(*map(in_scope, branches))
        case ast.GraphPattern(name, pattern) | ast.ServicePattern(name, pattern):
            return in_scope(pattern) | ({name.name} if isinstance(name, ast.Var) else frozenset())
        case ast.Bind(variable=variable):
            return frozenset((variable.name,))
        case ast.InlineData(variables):
            return frozenset(variable.name for variable in variables)
        case ast.SubSelect(query):
            return projected(query)
        case ast.MinusPattern() | ast.Filter():
            return frozenset()


def projected(query: ast.SelectQuery) -> frozenset[str]:
    """The columns of a SELECT, those of `SELECT *` included."""
    if query.projection is not None:
        return frozenset(item.variable.name for item in query.projection)
    names = in_scope(query.where)
    if query.values is not None:
        names |= bound_by(query.values)
    ranks = (query.modifiers.rank_by, query.modifiers.rerank)
    return names | {rank.score.name for rank in ranks if rank is not None and rank.score is not None}


def _mentioned(item: ast.TriplePattern | ast.RankedItem) -> Iterator[str]:
    terms: tuple[ast.Syntax | None, ...]
    if isinstance(item, ast.Match):
        terms = (item.entity, item.score, item.snippet)
    elif isinstance(item, ast.Near):
        terms = (item.entity, item.score)
    else:
        terms = (item.subject, item.predicate, item.object)
    for term in terms:
        if isinstance(term, ast.Var):
            yield term.name
        elif isinstance(term, ast.TripleTerm):
            yield from variables(term)


_BINDING = frozenset((ast.Group, ast.InlineData, ast.SelectItem, ast.GroupKey, ast.RankBy, ast.Rerank))
"""Classes of nodes that may bind a variable."""


def bound_somewhere(nodes: Iterable[ast.Syntax]) -> frozenset[str]:
    """The variables that some part of a query binds; `nodes` are all of its nodes."""
    names: set[str] = set()
    for node in nodes:
        if type(node) not in _BINDING:
            continue
        match node:
            case ast.Group():
                names |= in_scope(node)
            case ast.InlineData():
                names |= bound_by(node)
            case ast.SelectItem(ast.Var(name), expression) if expression is not None:
                names.add(name)
            case ast.GroupKey(_, ast.Var(name)) | ast.RankBy(_, ast.Var(name)) | ast.Rerank(score=ast.Var(name)):
                names.add(name)
    return frozenset(names)


_RANKED = (ast.Match, ast.Near)  # a tuple, which takes half the time of a union


def ranked_items(node: ast.Syntax) -> Iterator[ast.RankedItem]:
    """Every MATCH and NEAR in the node, in the order of the text."""
    return (below for below in walk(node) if isinstance(below, _RANKED))


def is_hybrid(query: ast.Syntax) -> bool:
    """Whether the node contains a MATCH, a NEAR, a RANK BY or a RERANK."""
    return has(query, ast.Match, ast.Near, ast.RankBy, ast.Rerank)
