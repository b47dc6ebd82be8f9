"""Warnings about constants of expressions that have no value, for a query without a row.

`"2025-13-01"^^xsd:date` and `xsd:date("2025-13-01")` are errors in a comparison, which a FILTER takes for false.
A literal of an unknown datatype, such as the misspelt `"5"^^xsd:integr`, compares with no other literal. An unknown
datatype is a mistake in the namespace of XML Schema, and an application's own elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from hybridkg.errors import QueryWarning
from hybridkg.query import ast
from hybridkg.query.source import shown
from hybridkg.query.walk import children
from hybridkg.rdf.similar import similar_iris
from hybridkg.rdf.stored import is_value
from hybridkg.rdf.terms import XSD
from hybridkg.tables.kinds import XSD_DATATYPES

CHECKED = {
    XSD + "date": ("a date", '"2025-01-31"^^xsd:date'),
    XSD + "dateTime": ("a date with a time", '"2025-01-31T12:00:00Z"^^xsd:dateTime'),
    XSD + "time": ("a time", '"12:00:00"^^xsd:time'),
    XSD + "boolean": ("true or false", "true"),
    XSD + "integer": ("a whole number", "12"),
    XSD + "decimal": ("a decimal number", "12.5"),
    XSD + "double": ("a number", "1.5e3"),
    XSD + "float": ("a number", '"1.5"^^xsd:float'),
}
"""Datatypes with what their values are, and an example."""


def invalid_constants(query: ast.Query) -> Iterator[QueryWarning]:
    """W113 for each constant of an expression that its datatype, or a cast, does not allow, or that has no datatype.

    >>> from hybridkg.query.parser import parse
    >>> text = "SELECT * { ?x <e:on> ?d FILTER(?d > '2025-13-01'^^<http://www.w3.org/2001/XMLSchema#date>) }"
    >>> [warning.message for warning in invalid_constants(parse(text))]
    ["'2025-13-01' is not a date, so what is computed with it never has a value"]
    """
    return _invalid(query.form)


def _invalid(node: ast.Syntax) -> Iterator[QueryWarning]:
    match node:
        case ast.TriplePattern() | ast.InlineData() | ast.ServicePattern():
            return
        case ast.Lit(lexical, str(datatype), None):
            yield from _warning(lexical, datatype, node)
        case ast.Call(ast.Iri(datatype), (ast.Lit(lexical, None, None) as constant,)):
            yield from _warning(lexical, datatype, constant)
    for child in children(node):
        yield from _invalid(child)


def _warning(lexical: str, datatype: str, node: ast.Syntax) -> Iterator[QueryWarning]:
    if datatype in CHECKED and not is_value(lexical, datatype):
        what, example = CHECKED[datatype]
        yield QueryWarning(
            "W113",
            f"{shown(lexical)!r} is not {what}, so what is computed with it never has a value",
            hint=f"such as {example}",
            span=node.span,
        )
    name = datatype.removeprefix(XSD)
    if datatype.startswith(XSD) and name not in XSD_DATATYPES and isinstance(node, ast.Lit) and node.datatype:
        near = similar_iris(datatype, {XSD + known: -number for number, known in enumerate(XSD_DATATYPES)})
        yield QueryWarning(
            "W113",
            f"XML Schema has no datatype xsd:{shown(name)}, so this constant equals only the same literal",
            hint=f"did you mean xsd:{near[0].removeprefix(XSD)}?" if near else "",
            span=node.span,
        )
