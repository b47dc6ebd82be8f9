"""Constants of the syntax tree as RDF terms, and RDF terms as constants."""

from __future__ import annotations

from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.term_texts import literal_with
from hybridkg.rdf.terms import XSD_STRING, Literal, NamedNode, Term, Triple, triple_of


def term_of_constant(node: ast.Syntax) -> Term:
    """The term of an IRI, a literal or a triple term without variables, as it is written.

    Raises:
        TypeError: any other node.
        ValueError: RDF has no such term.

    >>> str(term_of_constant(ast.Lit("red", language="en", direction="ltr")))
    '"red"@en--ltr'
    """
    match node:
        case ast.Iri(value):
            return NamedNode(value)
        case ast.Lit(lexical, datatype, None):
            return Literal(lexical) if datatype is None else Literal(lexical, datatype=NamedNode(datatype))
        case ast.Lit(lexical, _, str(language), direction):
            return literal_with(lexical, language, direction)
        case ast.TripleTerm(subject, predicate, target):
            triple = triple_of(term_of_constant(subject), term_of_constant(predicate), term_of_constant(target))
            if triple is None:
                raise ValueError(f"RDF has no triple with the subject {write(subject)}")
            return triple
    raise TypeError(f"not a constant: {type(node).__name__}")


def constant(term: Term) -> ast.Iri | ast.Lit | ast.TripleTerm:
    """The syntax of a term without blank nodes.

    Raises:
        TypeError: the term is a blank node, which is a variable in a query, or has one.
    """
    match term:
        case NamedNode():
            return ast.Iri(term.value)
        case Triple():
            subject, predicate = constant(term.subject), ast.Iri(term.predicate.value)
            return ast.TripleTerm(subject, predicate, constant(term.object))
        case Literal() if term.language:
            direction = term.direction
            return ast.Lit(term.value, None, term.language, None if direction is None else direction.value)
        case Literal():
            return ast.Lit(term.value, None if term.datatype == XSD_STRING else term.datatype.value)
    raise TypeError(f"{term} is neither an IRI nor a literal")
