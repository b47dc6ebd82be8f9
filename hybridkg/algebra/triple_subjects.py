"""Conditions that keep literals from the subjects of triple terms, where Oxigraph 0.5.13 fails.

No triple has a literal as its subject, so `?s ?p ?x . ?r ?q <<( ?x ?y ?z )>>` has no solution with a literal for ?x.
But where Oxigraph binds ?x by the first triple, it makes the triple term, and the query ends with an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk

FormT = TypeVar("FormT", bound=ast.Syntax)


def with_node_subjects(form: FormT) -> FormT:
    """The query with a filter behind each group whose triple terms have a subject that may be bound to a literal.

    The filter is true in every solution of the group, so the answer is the same.

    >>> from hybridkg.query.parser import parse
    >>> from hybridkg.query.write import write
    >>> query = parse("SELECT * { ?s <e:p> ?x . ?r <e:q> <<( ?x <e:p> 1 )>> }")
    >>> write(with_node_subjects(query.form).where.elements[1])
    'FILTER(ISIRI(?x) || ISBLANK(?x))'
    """
    nodes = list(walk(form))
    terms = [node for node in nodes if isinstance(node, ast.TripleTerm)]
    if not terms:
        return form
    bound = frozenset(name for node in nodes for name in _bound_to_anything(node))
    names = {term.subject.name for term in terms if isinstance(term.subject, ast.Var)} & bound

    def change(node: ast.Syntax) -> ast.Syntax:
        node = rebuild(node, change)
        if not isinstance(node, ast.Group):
            return node
        items = (item for element in node.elements if isinstance(element, ast.Triples) for item in element.items)
        parts = (part for item in items for part in walk(item) if isinstance(part, ast.TripleTerm))
        subjects = dict.fromkeys(part.subject for part in parts if isinstance(part.subject, ast.Var))
        filters = [ast.Filter(_is_node(subject)) for subject in subjects if subject.name in names]
        return ast.Group((*node.elements, *filters), span=node.span) if filters else node

    return rebuild(form, change) if names else form


def _is_node(variable: ast.Var) -> ast.Expression:
    return ast.Binary("||", ast.Call("ISIRI", (variable,)), ast.Call("ISBLANK", (variable,)))


def _bound_to_anything(node: ast.Syntax) -> Iterator[str]:
    """The variables that a node may bind to a literal."""
    match node:
        case ast.TriplePattern(subject, predicate, target) if not isinstance(predicate, ast.Var | ast.Iri):
            # A path of length zero begins at any term.
            yield from (end.name for end in (subject, target) if isinstance(end, ast.Var))
        case ast.TriplePattern(object=ast.Var(name)) | ast.TripleTerm(object=ast.Var(name)):
            yield name
        case ast.Bind(variable=ast.Var(name)):
            yield name
        case ast.SelectItem(ast.Var(name), expression) | ast.GroupKey(expression, ast.Var(name)) if expression:
            yield name
        case ast.InlineData(variables):
            yield from (variable.name for variable in variables)
