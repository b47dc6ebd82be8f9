"""Builders of triples and property paths; lists, collections and `[...]` become plain triples."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from hybridkg.errors import Span
from hybridkg.query import ast
from hybridkg.query.builders.terms import RDF_TYPE, TermBuilders


class NodeWithTriples(NamedTuple):
    """A node with triples of its own: `[...]` or a collection."""

    term: ast.Blank
    triples: list[ast.TriplePattern]


GraphNode: TypeAlias = ast.VarOrTerm | NodeWithTriples
VerbObjects: TypeAlias = tuple[ast.Var | ast.Path, list[GraphNode]]


class TripleBuilders(TermBuilders):
    """Builders of productions 75-106 and of property paths, 88-96."""

    def triples_block(self, c: list[Any], start: int, end: int) -> ast.Triples:
        """The items between dots; the last dot is optional."""
        items = tuple(item for items in c[0] for item in items)
        return ast.Triples(items, span=self.span(start, end))

    def subject_triples(self, c: list[Any], start: int, end: int) -> list[ast.TriplePattern]:
        return _triples(c[0], c[1], c[0])

    def node_triples(self, c: list[Any], start: int, end: int) -> list[ast.TriplePattern]:
        """`[...]` or a collection as subject; predicates and objects are optional."""
        subject: NodeWithTriples = c[0]
        return subject.triples + _triples(subject.term, c[1] or [], subject.term)

    def property_list_opt(self, c: list[Any], start: int, end: int) -> list[VerbObjects]:
        return c[0] if c else []

    def verb_objects(self, c: list[Any], start: int, end: int) -> VerbObjects:
        return c[0], c[1]

    def blank_node_property_list(self, c: list[Any], start: int, end: int) -> NodeWithTriples:
        node = self.fresh_blank_node([], start, end)
        return NodeWithTriples(node, _triples(node, c[1], node))

    def collection(self, c: list[Any], start: int, end: int) -> NodeWithTriples:
        """`( node ... )`, expanded to rdf:first and rdf:rest."""
        span = self.span(start, end)
        first, rest = ast.Iri(ast.RDF + "first", span=span), ast.Iri(ast.RDF + "rest", span=span)
        cells = [self.fresh_blank_node([], start, end) for _ in c[1]]
        tails: list[ast.Blank | ast.Iri] = [*cells[1:], ast.Iri(ast.RDF + "nil")]
        triples: list[ast.TriplePattern] = []
        nested: list[ast.TriplePattern] = []
        for cell, item, tail in zip(cells, c[1], tails, strict=True):
            term, more = item if isinstance(item, NodeWithTriples) else (item, [])
            triples.append(ast.TriplePattern(cell, first, term, span=term.span))
            triples.append(ast.TriplePattern(cell, rest, tail, span=cell.span))
            nested += more
        triples += nested
        return NodeWithTriples(cells[0], triples)

    def empty_collection(self, c: list[Any], start: int, end: int) -> ast.Iri:
        """`()` is rdf:nil."""
        return ast.Iri(ast.RDF + "nil", span=self.span(start, end))

    def path_alternative(self, c: list[Any], start: int, end: int) -> ast.Path:
        if isinstance(c[0], list):
            return ast.PathAlternative(tuple(c[0]), span=self.span(start, end))
        return c[0]  # type: ignore[no-any-return]

    def path_sequence(self, c: list[Any], start: int, end: int) -> ast.Path:
        if isinstance(c[0], list):
            return ast.PathSequence(tuple(c[0]), span=self.span(start, end))
        return c[0]  # type: ignore[no-any-return]

    def path_inverse(self, c: list[Any], start: int, end: int) -> ast.PathInverse:
        return ast.PathInverse(c[1], span=self.span(start, end))

    def inverse_rdf_type(self, c: list[Any], start: int, end: int) -> ast.PathInverse:
        """`^a` with `a` as rdf:type."""
        return ast.PathInverse(ast.Iri(RDF_TYPE, span=self.span(start + 1, end)), span=self.span(start, end))

    def path_repeat(self, c: list[Any], start: int, end: int) -> ast.PathRepeat:
        return ast.PathRepeat(c[0], c[1].text, span=self.span(start, end))

    def negated_one(self, c: list[Any], start: int, end: int) -> list[Any]:
        """`a` or `^a` after `!`."""
        return [c[0]]

    def negated_none(self, c: list[Any], start: int, end: int) -> list[Any]:
        """`()` after `!`."""
        return []

    def path_negated(self, c: list[Any], start: int, end: int) -> ast.PathNegated:
        return ast.PathNegated(tuple(c[1]), span=self.span(start, end))


def _triples(subject: ast.VarOrTerm, properties: list[VerbObjects], opening: ast.VarOrTerm) -> list[ast.TriplePattern]:
    """One triple for each object, then the triples of the objects; a span starts where the text of its triple does.

    The triples of one subject stay together, so that the writer needs the subject once, however long it is.
    """
    triples: list[ast.TriplePattern] = []
    nested: list[ast.TriplePattern] = []
    start = opening.span.start
    for verb, objects in properties:
        if triples:
            start = verb.span.start
        for item in objects:
            term, more = item if isinstance(item, NodeWithTriples) else (item, [])
            span = Span(start, max(start, term.span.end))
            triples.append(ast.TriplePattern(subject, verb, term, span=span))
            nested += more
            start = term.span.start
    return triples + nested
