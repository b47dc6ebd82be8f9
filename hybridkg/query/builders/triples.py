"""Builders of triples and property paths; lists, collections, `[...]`, reified triples and annotations become plain
triples.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from hybridkg.errors import Span
from hybridkg.query import ast
from hybridkg.query.builders.terms import RDF_TYPE, TermBuilders


class Annotation(NamedTuple):
    """`~ reifier` (None for a fresh blank node), or the properties of `{| ... |}`, with its offsets."""

    reifier: ast.VarOrTerm | None
    properties: list[VerbObjects] | None
    start: int
    end: int


class NodeWithTriples(NamedTuple):
    """A node with triples of its own: `[...]`, a collection or a reified triple; or any object with annotations."""

    term: ast.VarOrTerm
    triples: list[ast.TriplePattern]
    annotations: list[Annotation] = []  # noqa: RUF012 - never changed


GraphNode: TypeAlias = ast.VarOrTerm | NodeWithTriples
VerbObjects: TypeAlias = tuple[ast.Var | ast.Path, list[GraphNode]]


NODE_SIZE = 100
"""Characters that a term counts beside its text, so that a deep triple term is not repeated without bound either."""


class TripleBuilders(TermBuilders):
    """Builders of productions 75-106, of property paths, 88-96, and of triple terms and reifiers (SPARQL 1.2)."""

    def triples_block(self, c: list[Any], start: int, end: int) -> ast.Triples:
        """The items between dots; the last dot is optional."""
        items = tuple(item for items in c[0] for item in items)
        return ast.Triples(items, span=self.span(start, end))

    def subject_triples(self, c: list[Any], start: int, end: int) -> list[ast.TriplePattern]:
        return self._triples(c[0], c[1], c[0])

    def node_triples(self, c: list[Any], start: int, end: int) -> list[ast.TriplePattern]:
        """`[...]`, a collection or a reified triple as subject; predicates and objects are optional."""
        subject: NodeWithTriples = c[0]
        return subject.triples + self._triples(subject.term, c[1] or [], subject.term)

    def property_list_opt(self, c: list[Any], start: int, end: int) -> list[VerbObjects]:
        return c[0] if c else []

    def verb_objects(self, c: list[Any], start: int, end: int) -> VerbObjects:
        return c[0], c[1]

    def blank_node_property_list(self, c: list[Any], start: int, end: int) -> NodeWithTriples:
        node = self.fresh_blank_node([], start, end)
        return NodeWithTriples(node, self._triples(node, c[1], node))

    def collection(self, c: list[Any], start: int, end: int) -> NodeWithTriples:
        """`( node ... )`, expanded to rdf:first and rdf:rest."""
        span = self.span(start, end)
        first, rest = ast.Iri(ast.RDF + "first", span=span), ast.Iri(ast.RDF + "rest", span=span)
        cells = [self.fresh_blank_node([], start, end) for _ in c[1]]
        tails: list[ast.Blank | ast.Iri] = [*cells[1:], ast.Iri(ast.RDF + "nil")]
        triples: list[ast.TriplePattern] = []
        nested: list[ast.TriplePattern] = []
        for cell, item, tail in zip(cells, c[1], tails, strict=True):
            term, more, _ = item if isinstance(item, NodeWithTriples) else (item, [], [])
            triples.append(ast.TriplePattern(cell, first, term, span=term.span))
            triples.append(ast.TriplePattern(cell, rest, tail, span=cell.span))
            nested += more
        triples += nested
        return NodeWithTriples(cells[0], triples)

    def empty_collection(self, c: list[Any], start: int, end: int) -> ast.Iri:
        """`()` is rdf:nil."""
        return ast.Iri(ast.RDF + "nil", span=self.span(start, end))

    def triple_term(self, c: list[Any], start: int, end: int) -> ast.TripleTerm:
        return ast.TripleTerm(c[1], c[2], c[3], span=self.span(start, end))

    triple_term_data = expression_triple = triple_term

    def reified_triple(self, c: list[Any], start: int, end: int) -> NodeWithTriples:
        """`<< s p o ~ r >>`: the node r, which reifies the triple; a fresh blank node without `~ r`."""
        (subject, more), (target, others) = (
            part[:2] if isinstance(part, NodeWithTriples) else (part, []) for part in (c[1], c[3])
        )
        triple = ast.TripleTerm(subject, c[2], target, span=self.span(start, end))
        reifier = c[4].reifier if len(c) == 6 else None
        if reifier is None:
            reifier = self.fresh_blank_node([], start, end)
        return NodeWithTriples(reifier, [_reification(reifier, triple), *more, *others])

    def reifier(self, c: list[Any], start: int, end: int) -> Annotation:
        return Annotation(c[1] if len(c) == 2 else None, None, start, end)

    def annotation_block(self, c: list[Any], start: int, end: int) -> Annotation:
        """`{| p o |}`."""
        return Annotation(None, c[1], start, end)

    def annotated_object(self, c: list[Any], start: int, end: int) -> NodeWithTriples:
        term, triples, _ = c[0] if isinstance(c[0], NodeWithTriples) else (c[0], [], [])
        return NodeWithTriples(term, triples, c[1])

    def _triples(
        self, subject: ast.VarOrTerm, properties: list[VerbObjects], opening: ast.VarOrTerm
    ) -> list[ast.TriplePattern]:
        """One triple for each object, then the triples of the objects and annotations.

        A span starts where the text of its triple does. The triples of one subject stay together, so that the writer
        needs the subject once, however long it is.
        """
        triples: list[ast.TriplePattern] = []
        nested: list[ast.TriplePattern] = []
        start = opening.span.start
        for verb, objects in properties:
            if triples:
                start = verb.span.start
            for item in objects:
                term, more, annotations = item if isinstance(item, NodeWithTriples) else (item, [], [])
                triple = ast.TriplePattern(subject, verb, term, span=Span(start, max(start, term.span.end)))
                triples.append(triple)
                nested += more
                if annotations:
                    nested += self._annotated(triple, annotations)
                start = term.span.start
        return triples + nested

    def _annotated(self, triple: ast.TriplePattern, annotations: list[Annotation]) -> list[ast.TriplePattern]:
        """The triples of reifiers and of their properties (SPARQL 1.2, "Annotation syntax").

        A block describes the reifier just before it, or a fresh blank node that reifies the triple, too.
        """
        verb = triple.predicate
        if not isinstance(verb, ast.Var | ast.Iri):
            raise self.error(
                "a property path has no triple that could be annotated",
                annotations[0].start,
                annotations[0].end,
                "write the last step as a triple of its own, with a variable before it",
            )
        term = ast.TripleTerm(triple.subject, verb, triple.object, span=triple.span)
        size = _size(term)
        triples: list[ast.TriplePattern] = []
        node: ast.VarOrTerm | None = None
        for reifier, properties, start, end in annotations:
            if properties is None or node is None:
                node = self.fresh_blank_node([], start, end) if reifier is None else reifier
                triples.append(_reification(node, term))
                self.charge_annotation(size, start, end)
            if properties is not None:
                triples += self._triples(node, properties, node)
                node = None
        return triples

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


def _reification(reifier: ast.VarOrTerm, triple: ast.TripleTerm) -> ast.TriplePattern:
    return ast.TriplePattern(reifier, ast.Iri(ast.REIFIES, span=triple.span), triple, span=triple.span)


def _size(term: ast.Syntax) -> int:
    """Characters of a term, approximately; those of a parameter as the query has it."""
    match term:
        case ast.TripleTerm(subject, predicate, target):
            return NODE_SIZE + _size(subject) + _size(predicate) + _size(target)
        case ast.IriParameter() | ast.LiteralParameter():
            return NODE_SIZE + term.span.end - term.span.start
        case ast.Iri(value):
            return NODE_SIZE + len(value)
        case ast.Lit(lexical, datatype):
            return NODE_SIZE + len(lexical) + len(datatype or "")
    return NODE_SIZE + term.span.end - term.span.start
