"""Warnings that need the data: names that do not occur, values of the wrong kind, texts without a term, and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from hybridkg.errors import EndpointError, HybridkgError, QueryWarning, Span, UnknownNameError
from hybridkg.interfaces.graph_index import GraphIndex
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_index import FieldChoice, TermStatistics, TextIndex, TextQuery
from hybridkg.interfaces.vector_index import VectorIndex, VectorQuery
from hybridkg.kb.absent_constants import ConstantAdvisor, End
from hybridkg.kb.occurrence import occurs_in_a_graph
from hybridkg.kb.other_languages import languages_with, tagged
from hybridkg.operators.text_query import ranked_query, text_query
from hybridkg.query import ast
from hybridkg.query.source import shown
from hybridkg.query.value_kinds import ObjectKinds, kind_warnings
from hybridkg.query.walk import walk
from hybridkg.rdf.similar import similar_iris
from hybridkg.rdf.terms import Literal, term_text
from hybridkg.rdf.well_known import shortened
from hybridkg.text.analysis.languages import stemmer_of

if TYPE_CHECKING:
    from hybridkg.graph.schema import Schema

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

SUBCLASS_OF = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
OWL = "http://www.w3.org/2002/07/owl#"
FILLERS = ("someValuesFrom", "allValuesFrom", "hasValue", "onClass")
"""What a restriction of OWL says about its property."""

MAX_NAMES_CHECKED = 50
"""Predicates and classes looked up for one query; about 50 us each, once for each generation."""

MAX_CACHED_NAMES = 100_000
"""Results of such look-ups that are cached."""

MAX_TRIPLES_COUNTED = 300_000
"""Sample of a larger graph in which similar names are searched, in about 0.2 s; no counts are shown then."""


class Advisor:
    """Warnings about queries over one snapshot; look-ups of names are cached.

    Args:
        store: the graph.
        text: the text index, None before the first index step.
        quads: quads of the graph.
        vectors: the vector index, None where there is none.
        counted: whether statistics prove that a "class" or "predicate" of an IRI occurs.
        other_encoder: why the vectors are not those that kb.toml names, in words; empty where they are.
        graph: the projection, None where there is none.
    """

    def __init__(
        self,
        store: GraphStore,
        text: TextIndex | None,
        quads: int,
        vectors: VectorIndex | None = None,
        counted: Callable[[str, str], bool] = lambda kind, iri: False,
        other_encoder: str = "",
        graph: GraphIndex | None = None,
    ):
        self._object_kinds: ObjectKinds = (lambda predicate: None) if graph is None else graph.object_kinds
        self._kinds: dict[str, frozenset[str] | None] = {}
        self._other_encoder = other_encoder
        self._store, self._text, self._quads, self._vectors = store, text, quads, vectors
        self._counted = counted
        self._occurring: dict[tuple[str, str], bool] = {}
        self._languages: dict[str, bool] = {}
        self._constants = ConstantAdvisor(store, graph)

    def texts(
        self, matches: Sequence[ast.RankedItem], has_words: Callable[[ast.RankedItem], bool] = lambda match: False
    ) -> Iterator[QueryWarning]:
        """Warnings about the texts of MATCH and NEAR, except those that have a term by `has_words`."""
        if self._text is None:
            return
        for match in matches:
            if isinstance(match, ast.Near):
                if self._other_encoder:
                    yield QueryWarning(
                        "W111",
                        f"NEAR compares older vectors: {self._other_encoder}",
                        hint="encode them again: hybridkg index KB; or write the earlier encoder into kb.toml again",
                        span=match.target.span,
                    )
                yield from self._without_vector(match)
                continue
            if not isinstance(match.text, ast.Lit):
                continue
            language = match.text.language
            if language and not stemmer_of(language) and self._is_unknown(language.lower()):
                yield QueryWarning(
                    "W115",
                    f"there is no stemmer for the language {shown(language)!r}, and no literal of the index has it: "
                    "words match as they are written",
                    hint="leave the tag out for English; docs/language.md lists the languages with a stemmer",
                    span=match.text.span,
                )
            text = match.text.lexical
            if "*" not in text and "~" not in text and has_words(match):
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
            elif not any(term.df for term in terms):
                yield from self._in_other_languages(match, match.text)
            yield from _cut(terms, match.text.span)

    def _in_other_languages(self, match: ast.Match, text: ast.Lit) -> Iterator[QueryWarning]:
        """A warning where the words are in literals of another language, analysed as theirs."""
        assert self._text is not None
        languages = languages_with(text_query(match), self._text)
        if languages:
            yield QueryWarning(
                "W116",
                f"no literal has a word of this text read as English, and some tagged {tagged(languages)} have one",
                hint=f"name the language: {shown(term_text(Literal(text.lexical, language=languages[0])))}",
                span=text.span,
            )

    def _is_unknown(self, language: str) -> bool:
        """Whether no field of the index has a literal in a language; False where the index does not know."""
        if language not in self._languages:
            assert self._text is not None
            unknown = True
            for field in self._text.fields:
                try:
                    self._text.check(TextQuery("a", fields=(FieldChoice(field, language=language),)))
                except UnknownNameError:
                    continue
                except HybridkgError:
                    pass
                unknown = False
                break
            if len(self._languages) >= MAX_CACHED_NAMES:
                self._languages.clear()
            self._languages[language] = unknown
        return self._languages[language]

    def _without_vector(self, near: ast.Near) -> Iterator[QueryWarning]:
        query = ranked_query(near)
        if isinstance(near.target, ast.Var) or self._vectors is None or not isinstance(query, VectorQuery):
            return
        try:
            if query.vector:  # no operator has checked it where there is nothing to compare it with
                self._vectors.check(replace(query, encoder=""))
        except HybridkgError as e:
            e.span = near.target.span
            raise
        if not self._vectors.knows(query):
            reason = "no word of this text has a vector" if query.entity is None else "this entity has no vector"
            yield QueryWarning(
                "W109",
                f"{reason}, so nothing is near",
                hint="MATCH finds rare words; see: hybridkg stats KB" if query.entity is None else "",
                span=near.target.span,
            )

    def asked(self, queries: Mapping[TextQuery, Span]) -> Iterator[QueryWarning]:
        """Warnings about query strings that came from rows, with the place of their variable."""
        for query, span in queries.items():
            if self._text is not None and ("*" in query.text or "~" in query.text):
                yield from _cut(self._text.terms(query), span)

    def names(
        self, names: Iterable[tuple[str, ast.Iri]], prefixes_of: Callable[[], Mapping[str, str]]
    ) -> Iterator[QueryWarning]:
        """Warnings about predicates and classes (`predicates_and_classes`), which the prefixes shorten."""
        checked: set[tuple[str, str]] = set()
        for kind, iri in names:
            if (kind, iri.value) in checked or len(checked) >= MAX_NAMES_CHECKED:
                continue
            checked.add((kind, iri.value))
            if not self._occurs(kind, iri.value):
                prefixes = prefixes_of()
                yield QueryWarning(
                    "W107",
                    f"no triple of this knowledge base has the {kind} {_shown(iri.value, prefixes)}",
                    hint=self._similar(kind, iri.value, prefixes),
                    span=iri.span,
                )

    def kinds(self, query: ast.Query, prefixes: Mapping[str, str]) -> Iterator[QueryWarning]:
        """Warnings about values of the wrong kind, in which `prefixes` shorten predicates."""
        return kind_warnings(query, self._kinds_of, lambda iri: _shown(iri, prefixes))

    def _kinds_of(self, predicate: str) -> frozenset[str] | None:
        """The kinds of the objects of a predicate, cached: most of a query's time for these warnings goes into them."""
        if predicate not in self._kinds:
            if len(self._kinds) >= MAX_CACHED_NAMES:
                self._kinds.clear()
            self._kinds[predicate] = self._object_kinds(predicate)
        return self._kinds[predicate]

    def constants(self, ends: Iterable[End], prefixes_of: Callable[[], Mapping[str, str]]) -> Iterator[QueryWarning]:
        """Warnings about constants (`ends_of`) that no triple has in their place, for a query without a row; W107 is
        about a predicate that no triple has.

        None where an endpoint refuses a look-up, because the query itself has its answer.
        """
        try:
            for end in ends:
                if self._occurs("predicate", end[1]):
                    warning = self._constants.warning(end, prefixes_of)
                    if warning is not None:
                        yield warning
        except EndpointError:
            return

    def _occurs(self, kind: str, iri: str) -> bool:
        key = kind, iri
        if key not in self._occurring:
            if len(self._occurring) >= MAX_CACHED_NAMES:
                self._occurring.clear()
            pattern = f"?s <{RDF_TYPE}> <{iri}>" if kind == "class" else f"?s <{iri}> ?o"
            self._occurring[key] = self._counted(kind, iri) or occurs_in_a_graph(self._store, pattern)
        return self._occurring[key]

    @cached_property
    def _is_small(self) -> bool:
        return self._quads <= MAX_TRIPLES_COUNTED

    @cached_property
    def schema(self) -> Schema:
        """The classes and predicates of the graph, of a large one those of a sample."""
        from hybridkg.graph.schema import read_schema

        return read_schema(self._store, sample=None if self._is_small else MAX_TRIPLES_COUNTED)

    def _similar(self, kind: str, iri: str, prefixes: Mapping[str, str]) -> str:
        if kind == "predicate" and (pattern := self._restricted(iri, prefixes)):
            return pattern
        counts = self.schema.classes if kind == "class" else self.schema.predicates
        near = similar_iris(iri, counts)[:2]
        if not near:
            return "list what there is: hybridkg schema KB"
        unit = "instances" if kind == "class" else "triples"
        names = (_shown(name, prefixes) + (f" ({counts[name]:,} {unit})" if self._is_small else "") for name in near)
        return "did you mean " + ", or ".join(names)

    def _restricted(self, iri: str, prefixes: Mapping[str, str]) -> str:
        """The pattern for a property that only restrictions of OWL use; empty for others."""
        for filler in FILLERS:
            pattern = f"?r <{OWL}onProperty> <{iri}> ; <{OWL}{filler}> ?y"
            if occurs_in_a_graph(self._store, pattern):
                on, leads = (_shown(OWL + name, prefixes) for name in ("onProperty", filler))
                below = _shown(SUBCLASS_OF, prefixes)
                return (
                    f"it is used in {_shown(OWL + 'Restriction', prefixes)}: "
                    f"?x {below} [ {on} {_shown(iri, prefixes)} ; {leads} ?y ]"
                )
        return ""


def _cut(terms: Sequence[TermStatistics], span: Span) -> Iterator[QueryWarning]:
    """A warning for each prefix or fuzzy word that stands for more terms than are searched."""
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


def predicates_and_classes(form: ast.QueryForm) -> Iterator[tuple[str, ast.Iri]]:
    """("class" or "predicate", IRI) of each name that a query expects in the graph, in the order of the text."""
    nodes = tuple(walk(form.where if isinstance(form, ast.ConstructQuery) else form))
    elsewhere = {id(node) for service in nodes if isinstance(service, ast.ServicePattern) for node in walk(service)}
    for triple in nodes:
        if not isinstance(triple, ast.TriplePattern) or id(triple) in elsewhere:
            continue
        predicate, target = triple.predicate, triple.object
        if isinstance(predicate, ast.Iri) and predicate.value == RDF_TYPE and isinstance(target, ast.Iri):
            yield "class", target
        else:
            yield from (("predicate", below) for below in walk(predicate) if isinstance(below, ast.Iri))


def _shown(iri: str, prefixes: Mapping[str, str]) -> str:
    printable = "".join(c if c.isprintable() else f"%u{ord(c):04X}" for c in iri)
    return shown(shortened(printable, prefixes))
