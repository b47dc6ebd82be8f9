"""The graph facts behind a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.query import ast
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term, Triple


@dataclass(frozen=True)
class Evidence:
    """Fills the plain triple patterns of a query with a row's values.

    Patterns under MINUS, EXISTS, SERVICE and sub-selects are not evidence for a row; property paths have no
    single triple. A filled pattern counts only when the store has it, which decides for UNION and OPTIONAL.
    """

    patterns: tuple[ast.TriplePattern, ...]
    store: GraphStore

    @classmethod
    def of(cls, where: ast.Group, store: GraphStore) -> Evidence:
        """The evidence for rows of a query with this pattern."""
        return cls(tuple(_patterns(where)), store)

    def triples(self, bound: Mapping[str, Term | None]) -> list[Triple]:
        """The triples of one row, in the order of the query text, each once."""
        found: dict[Triple, None] = {}
        for pattern in self.patterns:
            subject, predicate, obj = (
                _filled(part, bound) for part in (pattern.subject, pattern.predicate, pattern.object)
            )
            if isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode) and obj is not None:
                triple = Triple(subject, predicate, obj)
                if triple not in found and self._stored(triple):
                    found[triple] = None
        return list(found)

    def _stored(self, triple: Triple) -> bool:
        bound = {"s": triple.subject, "p": triple.predicate, "o": triple.object}
        rows = self.store.select("SELECT ?s ?p ?o WHERE { ?s ?p ?o } LIMIT 1", bound).rows
        return next(rows, None) is not None


def _patterns(group: ast.Group) -> list[ast.TriplePattern]:
    found: list[ast.TriplePattern] = []
    for element in group.elements:
        match element:
            case ast.Triples(items):
                found += [item for item in items if isinstance(item, ast.TriplePattern)]
            case ast.Group():
                found += _patterns(element)
            case ast.OptionalPattern(pattern):
                found += _patterns(pattern)
            case ast.UnionPattern(branches):
                for branch in branches:
                    found += _patterns(branch)
    return found


def _filled(part: ast.Syntax, bound: Mapping[str, Term | None]) -> Term | None:
    match part:
        case ast.Var(name):
            return bound.get(name)
        case ast.Iri(value):
            return NamedNode(value)
        case ast.Lit(lexical, datatype, language):
            if language:
                return Literal(lexical, language=language)
            return Literal(lexical, datatype=NamedNode(datatype)) if datatype else Literal(lexical)
    return None
