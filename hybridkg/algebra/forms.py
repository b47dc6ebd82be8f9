"""Normalisation of query forms for planning, and the errors of those that cannot be planned."""

from __future__ import annotations

from hybridkg.errors import UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.walk import has, variables, walk


def rows_of(form: ast.ConstructQuery | ast.DescribeQuery, wanted: tuple[ast.Var, ...]) -> ast.SelectQuery:
    """The SELECT whose solutions a CONSTRUCT or DESCRIBE turns into a graph."""
    return ast.SelectQuery(
        tuple(ast.SelectItem(variable) for variable in wanted),
        form.where or ast.Group(()),
        dataset=form.dataset,
        modifiers=form.modifiers,
        values=form.values,
    )


def variables_of(template: tuple[ast.TriplePattern, ...]) -> tuple[ast.Var, ...]:
    """The distinct variables of a template."""
    terms = (term for triple in template for term in walk(triple))
    return tuple(dict.fromkeys(term for term in terms if isinstance(term, ast.Var)))


def outside_graph(variable: ast.Var, pattern: ast.Group) -> ast.Group | None:
    """GRAPH ?g { triples MATCH FILTER } with its MATCHes and FILTERs moved behind it; None if it has other elements.

    A MATCH does not depend on the graph, and joins commute. Inside GRAPH ?g the variable ?g is not bound yet, so a
    filter or a text with ?g stays inside.
    """
    triples: list[ast.TriplePattern] = []
    rest: list[ast.Element] = []
    for element in pattern.elements:
        match element:
            case ast.Triples(items):
                if any(isinstance(item, ast.Match | ast.Near) and item.text == variable for item in items):
                    return None
                triples += (item for item in items if isinstance(item, ast.TriplePattern))
                ranked = tuple(item for item in items if not isinstance(item, ast.TriplePattern))
                rest += (ast.Triples(ranked, span=element.span),) if ranked else ()
            case ast.Filter(condition) if variable.name not in variables(condition) and not has(condition, ast.Exists):
                rest.append(element)
            case _:
                return None
    inside = ast.Group((ast.Triples(tuple(triples)),) if triples else ())
    return ast.Group((ast.GraphPattern(variable, inside, span=variable.span), *rest))


def text_is_not_bound(match: ast.RankedItem) -> UnsupportedQueryError:
    """The error for a MATCH whose text variable, or a NEAR whose target variable, has no binding."""
    assert isinstance(match.text, ast.Var)
    role = "text of the MATCH" if isinstance(match, ast.Match) else "target of the NEAR"
    return UnsupportedQueryError(
        f"?{match.text.name}, the {role}, has no value here",
        hint="bind it earlier in this group by a triple or VALUES, before OPTIONAL, MINUS and BIND\n"
        f"or give it as a parameter: --param {match.text.name}='words'; in Python: params={{'{match.text.name}': ...}}",
        span=match.text.span,
    )
