"""RDF terms of the engine: pyoxigraph's immutable, hashable classes.

All other packages take the term classes from here; pyoxigraph is imported in `rdf` and `store`, and in `datasets` as a
parser of dumps. rdflib is imported only for rdflib terms, because it alone costs more than the budget of `import
hybridkg`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, Variable, parse

from hybridkg.errors import UnsupportedQueryError
from hybridkg.rdf.rdflib_literals import typed_literal

if TYPE_CHECKING:
    from rdflib.term import Identifier, URIRef

__all__ = [
    "BlankNode",
    "DefaultGraph",
    "GraphName",
    "Literal",
    "NamedNode",
    "Node",
    "Quad",
    "Term",
    "Triple",
    "Variable",
    "double",
    "double_text",
    "from_rdflib",
    "has_blank_node",
    "term_text",
    "to_python",
    "to_rdflib",
    "triple_of",
]

Node: TypeAlias = NamedNode | BlankNode
Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD_STRING = NamedNode(XSD + "string")
XSD_DECIMAL = NamedNode(XSD + "decimal")
XSD_DOUBLE = NamedNode(XSD + "double")
XSD_BOOLEAN = NamedNode(XSD + "boolean")
RDF_LANG_STRING = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString")

MAX_TRIPLE_DEPTH = 100
"""Triple terms inside each other in a text; Oxigraph's parsers end the process at 100,000."""

MAX_DATATYPES = 64
"""Size of the cache of datatype IRIs."""


def double(value: float) -> Literal:
    """An xsd:double whose text reads back as exactly `value`.

    >>> double(0.1).value
    '0.1'
    """
    return Literal(double_text(value), datatype=XSD_DOUBLE)


def double_text(value: float) -> str:
    """The lexical form of `double(value)`.

    >>> double_text(-1e300), double_text(float("inf"))
    ('-1e+300', 'INF')
    """
    if math.isfinite(value):
        return repr(float(value))
    if math.isnan(value):
        return "NaN"
    return "INF" if value > 0 else "-INF"


def triple_of(subject: Term | None, predicate: Term | None, target: Term | None) -> Triple | None:
    """The triple of three terms; None where RDF has none: a literal or a triple term is the subject, say."""
    if isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode) and target is not None:
        return Triple(subject, predicate, target)
    return None


def has_blank_node(term: Term | DefaultGraph) -> bool:
    """Whether a term is a blank node, or a triple term with one.

    >>> has_blank_node(Triple(NamedNode("x:s"), NamedNode("x:p"), BlankNode("b")))
    True
    """
    while isinstance(term, Triple):  # only objects nest, so a deep term needs no stack
        if isinstance(term.subject, BlankNode):
            return True
        term = term.object
    return isinstance(term, BlankNode)


def term_text(term: Term) -> str:
    """The term in N-Triples; pyoxigraph's `str` writes the outermost triple without its brackets.

    >>> term_text(Triple(NamedNode("x:s"), NamedNode("x:p"), Literal("o")))
    '<<( <x:s> <x:p> "o" )>>'
    """
    return f"<<( {term} )>>" if isinstance(term, Triple) else str(term)


def read_triple_term(text: str) -> Triple:
    """The triple of a triple term in N-Triples, or with the short numbers and booleans of Turtle.

    Raises:
        ValueError: the text is none, or nests more than MAX_TRIPLE_DEPTH of them.

    >>> str(read_triple_term('<<( <x:s> <x:p> 1 )>>'))
    '<x:s> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    if text.count("<<(") <= MAX_TRIPLE_DEPTH:
        try:
            quads = list(parse(f"<x:s> <x:p> {text} .", RdfFormat.TURTLE))
        except SyntaxError:
            quads = []
        if len(quads) == 1 and isinstance(quads[0].object, Triple):
            return quads[0].object
    raise ValueError("not a triple term")


def to_rdflib(term: Term) -> Identifier:
    """The rdflib term that is equal to `term`, with the same lexical form; rdflib has no base directions.

    Raises:
        UnsupportedQueryError: `term` is a triple.
    """
    import rdflib

    if type(term) is NamedNode:
        return rdflib.URIRef(term.value)
    if isinstance(term, Literal):
        if term.language:
            return rdflib.Literal(term.value, lang=term.language)
        if term.datatype == XSD_STRING:
            return rdflib.Literal(term.value)
        return typed_literal(term.value, _rdflib_iri(term.datatype.value))
    if isinstance(term, BlankNode):
        return rdflib.BNode(term.value)
    raise UnsupportedQueryError(
        f"rdflib has no term for {term_text(term)}",
        hint="ask for SUBJECT(?t), PREDICATE(?t) and OBJECT(?t); in Python row.term(name) has the triple",
    )


@lru_cache(MAX_DATATYPES)
def _rdflib_iri(iri: str) -> URIRef:
    """The cached IRI of a datatype; rdflib checks each character of a new one."""
    import rdflib

    return rdflib.URIRef(iri)


def from_rdflib(term: Any) -> Term:
    """The engine's term for an rdflib term, a Python value, or a term of the engine.

    Raises:
        TypeError: nothing in RDF corresponds to the value.

    >>> from_rdflib(3)
    <Literal value=3 datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#integer>>
    """
    if isinstance(term, NamedNode | BlankNode | Literal | Triple):
        return term
    if isinstance(term, bool | int | float) and not hasattr(term, "n3"):
        return double(term) if isinstance(term, float) else Literal(term)
    if not isinstance(term, str):
        import rdflib

        kind = type(term).__name__
        term = rdflib.Literal(term)
        if term.datatype is None:
            raise TypeError(f"no RDF term for a value of type {kind!r}")
    if not hasattr(term, "n3"):
        return Literal(term)
    import rdflib

    if isinstance(term, rdflib.URIRef):
        return NamedNode(str(term))
    if isinstance(term, rdflib.BNode):
        return BlankNode(str(term))
    if isinstance(term, rdflib.Literal):
        if term.language:
            return Literal(str(term), language=term.language)
        return Literal(str(term), datatype=NamedNode(str(term.datatype))) if term.datatype else Literal(str(term))
    raise TypeError(f"no RDF term for {type(term).__name__!r}")


NUMBERS: dict[str, Callable[[str], float]] = {XSD + "double": float, XSD + "integer": int}
"""The constructors that rdflib uses for these datatypes; a direct call takes a tenth of the time."""


def number_or_text(number: Callable[[str], float], text: str) -> float | str:
    """The number of a text by one of NUMBERS; the text if it is not a number.

    >>> number_or_text(int, "7"), number_or_text(int, "x")
    (7, 'x')
    """
    try:
        return number(text)
    except ValueError:
        return text


def to_python(term: Term) -> Any:
    """A plain Python value: str for IRIs and strings, int, float, bool, Decimal, date ... for typed literals.

    A literal that does not fit its datatype becomes its text.

    >>> to_python(Literal("7", datatype=NamedNode(XSD + "integer")))
    7
    """
    if isinstance(term, NamedNode):
        return term.value
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if isinstance(term, Literal):
        datatype = term.datatype.value
        if term.language or datatype == XSD_STRING.value:
            return term.value
        if (number := NUMBERS.get(datatype)) is not None:
            return number_or_text(number, term.value)
        value: Any = to_rdflib(term).toPython()  # type: ignore[attr-defined]
        return term.value if hasattr(value, "n3") else value
    return term_text(term)
