"""Warnings about a query that only the data can give: names that do not occur in it, texts without a word,
prefixes of too many words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from hybridkg.errors import QueryWarning, Span
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_index import TermStatistics, TextIndex, TextQuery
from hybridkg.interfaces.vector_index import VectorIndex, VectorQuery
from hybridkg.operators.text_query import ranked_query, text_query
from hybridkg.query import ast
from hybridkg.query.scope import ranked_items
from hybridkg.query.source import shown
from hybridkg.query.walk import children, walk
from hybridkg.rdf.similar import similar_iris
from hybridkg.rdf.well_known import shortened

if TYPE_CHECKING:
    from hybridkg.graph.schema import Schema

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

MAX_NAMES_ASKED = 50
"""Predicates and classes of one query that are looked up; about 50 us each, once for each state."""

MAX_NAMES_KEPT = 100_000
"""Answers to such questions that are remembered."""

MAX_TRIPLES_COUNTED = 300_000
"""Of a larger graph only so many are looked at to find a similar name, in about 0.2 s, and no counts are shown."""


class Advisor:
    """Looks names up in one state of a knowledge base; what it finds is remembered.

    Args:
        store: the graph.
        text: the text index, None before the first.
        quads: how many the graph has.
        vectors: those of the entities, None where there are none.
        counted: whether a "class" or "predicate" of an IRI is known to occur without asking the store.
        other_encoder: why the vectors are not those that kb.toml asks for, in words; empty where they are.
    """

    def __init__(
        self,
        store: GraphStore,
        text: TextIndex | None,
        quads: int,
        vectors: VectorIndex | None = None,
        counted: Callable[[str, str], bool] = lambda kind, iri: False,
        other_encoder: str = "",
    ):
        self._other_encoder = other_encoder
        self._store, self._text, self._quads, self._vectors = store, text, quads, vectors
        self._counted = counted
        self._there: dict[tuple[str, str], bool] = {}

    def advise(self, query: ast.Query, asked: Mapping[TextQuery, Span] | None = None) -> list[QueryWarning]:
        """The warnings about a query whose MATCHes have been checked.

        Args:
            query: with its parameters in place.
            asked: query strings that came from the rows, and the place of their variable.
        """
        return [*self.names(query), *self.texts(tuple(ranked_items(query.form))), *self.asked(asked or {})]

    def texts(
        self, matches: Sequence[ast.RankedItem], has_words: Callable[[ast.RankedItem], bool] = lambda match: False
    ) -> list[QueryWarning]:
        """The warnings about texts.

        Args:
            matches: every MATCH of the query, parameters in place.
            has_words: whether it is known that the text of a MATCH has a word, so that the index is not
                asked again.
        """
        return list(self._texts(matches, has_words))

    def _texts(
        self, matches: Sequence[ast.RankedItem], has_words: Callable[[ast.RankedItem], bool]
    ) -> Iterator[QueryWarning]:
        if self._text is None:
            return
        for match in matches:
            if isinstance(match, ast.Near):
                if self._other_encoder:
                    yield QueryWarning(
                        "W111",
                        f"NEAR compares older vectors: {self._other_encoder}",
                        hint="make them anew: hybridkg index KB; or write the earlier encoder into kb.toml again",
                        span=match.target.span,
                    )
                yield from self._unknown(match)
                continue
            if not isinstance(match.text, ast.Lit):
                continue
            if has_words(match) and not any(mark in match.text.lexical for mark in "*~"):
                continue
            terms = self._text.terms(text_query(match))
            if not terms:
                yield QueryWarning(
                    "W106",
                    "no word of this text is searched for, so nothing matches",
                    hint="stop words, if the profile drops them, and punctuation are not indexed; "
                    "see: hybridkg analyze KB TEXT",
                    span=match.text.span,
                )
            yield from _cut(terms, match.text.span)

    def _unknown(self, near: ast.Near) -> Iterator[QueryWarning]:
        query = ranked_query(near)
        if isinstance(near.target, ast.Var) or self._vectors is None or not isinstance(query, VectorQuery):
            return
        if not self._vectors.knows(query):
            what = "the encoder knows no word of this text" if query.entity is None else "this entity has no vector"
            yield QueryWarning(
                "W109",
                f"{what}, so nothing is near",
                hint="MATCH finds rare words; see: hybridkg stats KB" if query.entity is None else "",
                span=near.target.span,
            )

    def asked(self, asked: Mapping[TextQuery, Span]) -> list[QueryWarning]:
        """The warnings about query strings that came from the rows."""
        return list(self._asked(asked)) if asked else []

    def _asked(self, asked: Mapping[TextQuery, Span]) -> Iterator[QueryWarning]:
        if self._text is None:
            return
        for query, span in asked.items():
            if "*" in query.text or "~" in query.text:
                yield from _cut(self._text.terms(query), span)

    def names(self, query: ast.Query) -> list[QueryWarning]:
        """The warnings about predicates and classes."""
        return list(self._names(query))

    def _names(self, query: ast.Query) -> Iterator[QueryWarning]:
        asked: set[tuple[str, str]] = set()
        for kind, iri in predicates_and_classes(query.form):
            if (kind, iri.value) in asked or len(asked) >= MAX_NAMES_ASKED:
                continue
            asked.add((kind, iri.value))
            if not self._occurs(kind, iri.value):
                yield QueryWarning(
                    "W107",
                    f"no triple of this knowledge base has the {kind} {_shown(iri.value, query.prefixes)}",
                    hint=self._similar(kind, iri.value, query.prefixes),
                    span=iri.span,
                )

    def _occurs(self, kind: str, iri: str) -> bool:
        key = kind, iri
        if key not in self._there:
            if len(self._there) >= MAX_NAMES_KEPT:
                self._there.clear()
            pattern = f"?s <{RDF_TYPE}> <{iri}>" if kind == "class" else f"?s <{iri}> ?o"
            asked = f"ASK {{ {{ {pattern} }} UNION {{ GRAPH ?g {{ {pattern} }} }} }}"
            self._there[key] = self._counted(kind, iri) or self._store.ask(asked)
        return self._there[key]

    @cached_property
    def _is_small(self) -> bool:
        return self._quads <= MAX_TRIPLES_COUNTED

    @cached_property
    def _schema(self) -> Schema:
        from hybridkg.graph.schema import read_schema

        return read_schema(self._store, sample=None if self._is_small else MAX_TRIPLES_COUNTED)

    def _similar(self, kind: str, iri: str, prefixes: tuple[tuple[str, str], ...]) -> str:
        counts = self._schema.classes if kind == "class" else self._schema.predicates
        near = similar_iris(iri, counts)[:2]
        if not near:
            return "list what there is: hybridkg schema KB"
        unit = "instances" if kind == "class" else "triples"
        said = (_shown(name, prefixes) + (f" ({counts[name]:,} {unit})" if self._is_small else "") for name in near)
        return "did you mean " + ", or ".join(said)


def _cut(terms: Sequence[TermStatistics], span: Span) -> Iterator[QueryWarning]:
    """A warning for each prefix or fuzzy word that stands for more terms than are looked for."""
    for term in terms:
        if term.total > term.alternatives:
            taken = "most entities have" if term.term.endswith("*") else "are nearest"
            yield QueryWarning(
                "W108",
                f"{term.term!r} stands for {term.total:,} terms of the index; only the {term.alternatives:,} that "
                f"{taken} are looked for",
                hint="write more of the word" if term.term.endswith("*") else "write ~1, or a longer word",
                span=span,
            )


def predicates_and_classes(node: ast.Syntax) -> Iterator[tuple[str, ast.Iri]]:
    """("class" or "predicate", IRI) of the names that the query expects in the graph, in the order of the text."""
    match node:
        case ast.ServicePattern():
            return
        case ast.ConstructQuery(where=where):
            yield from predicates_and_classes(where)
            return
        case ast.TriplePattern(_, predicate, target):
            if isinstance(predicate, ast.Iri) and predicate.value == RDF_TYPE and isinstance(target, ast.Iri):
                yield "class", target
            else:
                yield from (("predicate", below) for below in walk(predicate) if isinstance(below, ast.Iri))
            return
    for child in children(node):
        yield from predicates_and_classes(child)


def _shown(iri: str, prefixes: tuple[tuple[str, str], ...]) -> str:
    printable = "".join(c if c.isprintable() else f"%u{ord(c):04X}" for c in iri)
    return shown(shortened(printable, dict(prefixes)))
