"""Warnings about constants of expressions that have no value, for a query without a row.

`"2025-13-01"^^xsd:date` and `xsd:date("2025-13-01")` are errors in a comparison, which a FILTER takes for false.
So is REGEX with a pattern that is no regular expression, such as `"("`.
A literal of an unknown datatype, such as the misspelt `"5"^^xsd:integr`, compares with no other literal. An unknown
datatype is a mistake in the namespace of XML Schema, and an application's own elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hybridkg.errors import QueryWarning
from hybridkg.query import ast
from hybridkg.query.constants import term_of_constant
from hybridkg.query.source import shown
from hybridkg.query.walk import children
from hybridkg.rdf.datatypes import XSD_DATATYPES
from hybridkg.rdf.similar import similar_iris
from hybridkg.rdf.stored import is_pattern, is_value
from hybridkg.rdf.terms import XSD, XSD_STRING, Literal, term_text

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


TAKES_PATTERN = {"REGEX": 3, "REPLACE": 4}
"""Functions whose second argument is a regular expression, with the number of arguments of which the last are flags."""


def invalid_constants(query: ast.Query, *, is_oxigraph: bool = True) -> Iterator[QueryWarning]:
    """W113 for each constant of an expression that its datatype, or a cast, does not allow, or that has no datatype.

    `is_oxigraph` says whether Oxigraph reads the regular expressions: an endpoint may have a syntax of its own.

    >>> from hybridkg.query.parser import parse
    >>> text = "SELECT * { ?x <e:on> ?d FILTER(?d > '2025-13-01'^^<http://www.w3.org/2001/XMLSchema#date>) }"
    >>> [warning.message for warning in invalid_constants(parse(text))]
    ["'2025-13-01' is not a date, so what is computed with it never has a value"]
    """
    return warnings_about(checked_nodes(query.form), is_oxigraph=is_oxigraph)


def checked_nodes(node: ast.Syntax) -> Iterator[ast.Lit | ast.Call]:
    """The nodes that `warnings_about` reads, in the order of the text: which these are depends on no value of a
    parameter.
    """
    match node:
        case ast.TriplePattern() | ast.InlineData() | ast.ServicePattern():
            return
        case ast.Lit() | ast.Call(ast.Iri(), (ast.Lit(),)):
            yield node
        case ast.Call(str(function), (_, ast.Lit(), *_)) if function in TAKES_PATTERN:
            yield node
    for child in children(node):
        yield from checked_nodes(child)


def warnings_about(nodes: Iterable[ast.Lit | ast.Call], *, is_oxigraph: bool) -> Iterator[QueryWarning]:
    """The warnings of `invalid_constants` by the nodes that it checks."""
    for node in nodes:
        match node:
            case ast.Lit(lexical, str(datatype), None):
                yield from _warning(lexical, datatype, node)
            case ast.Call(ast.Iri(datatype), (ast.Lit(lexical, None, None) as constant,)):
                yield from _warning(lexical, datatype, constant)
            case ast.Call(str(function), (_, ast.Lit() as pattern, *more)) if is_oxigraph:
                flags = more[-1] if len(more) + 2 == TAKES_PATTERN[function] else ast.Lit("")
                yield from _pattern_warning(function, pattern, flags)


def _pattern_warning(function: str, pattern: ast.Lit, flags: ast.Syntax) -> Iterator[QueryWarning]:
    term, none = _literal(pattern), Literal("")
    if not is_pattern(term, none):
        plain = isinstance(flags, ast.Lit) and flags.lexical and is_pattern(term, _literal(flags))  # "q": not a pattern
        if not plain:
            written = shown(term_text(term))
            yield QueryWarning(
                "W113",
                f"{written} is not a regular expression{_reason(pattern)}, so {function} never has a value",
                hint=r'a character that stands for itself has two backslashes before it: "\\(" for "("',
                span=pattern.span,
            )
    elif isinstance(flags, ast.Lit) and not is_pattern(term, _literal(flags)):
        yield QueryWarning(
            "W113",
            f"{shown(term_text(_literal(flags)))} are not flags of {function}, which never has a value with them",
            hint='flags are "i" (any case), "s" (. is also a line end), "m" (^ and $ of each line), "x" and "q"',
            span=flags.span,
        )


def _literal(node: ast.Lit) -> Literal:
    term = term_of_constant(node)
    assert isinstance(term, Literal)
    return term


def _reason(pattern: ast.Lit) -> str:
    if pattern.language or pattern.datatype not in (None, XSD_STRING.value):
        return " (it takes a text without a language tag)"
    return ""


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
