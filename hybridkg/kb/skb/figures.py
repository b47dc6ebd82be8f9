"""Counts of entities, relations and words, altogether and by type.

An entity is an instance of a class of the profile; where the profile names none, of any class outside of RDF, RDFS and
OWL. A relation is a triple between two entities. The degree is 2 E / N, as STaRK counts it, whatever the directions.
Words are white-space words as written: of the literals of an entity in the graph, and of each field of its text
documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.errors import UserError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb.skb.word_distribution import WordDistribution
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.terms import RDF_TYPE, Literal, NamedNode, Node, Term
from hybridkg.rdf.well_known import WELL_KNOWN

GRAPH = "graph"
"""The name of the words in the literals of the graph, beside those of fields."""

MAX_TYPES = 50
"""Types whose words are counted, those of most entities first."""

MAX_RELATIONS = 1_000
"""Relations by the types of both ends, those of most triples first."""

ENTITIES_AT_ONCE = 500
TEXTS_PER_REPORT = 10_000

NO_ENTITIES = ("rdf", "rdfs", "owl")
"""Prefixes of the vocabularies whose instances are no entities."""

_TYPE = str(NamedNode(RDF_TYPE))


@dataclass(frozen=True)
class TextFigures:
    """White-space words of texts, and their entropy in bits."""

    tokens: int
    distinct: int
    entropy: float

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        return {"tokens": self.tokens, "distinct_words": self.distinct, "entropy": self.entropy}


@dataclass(frozen=True)
class TypeFigures:
    """The entities of a type, and their words by `graph` and fields."""

    type: str
    entities: int
    words: Mapping[str, TextFigures]

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        words = {name: one.to_json() for name, one in self.words.items()}
        return {"type": self.type, "entities": self.entities, "words": words}


@dataclass(frozen=True)
class RelationFigures:
    """The triples of a predicate between entities of two types."""

    source: str
    predicate: str
    target: str
    triples: int

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        return {"source": self.source, "predicate": self.predicate, "target": self.target, "triples": self.triples}


@dataclass(frozen=True)
class SkbFigures:
    """The figures of a knowledge base.

    Args:
        entities: N.
        entity_types: number of types that an entity has.
        relations: E, triples between entities; of several types at one end once.
        relation_types: number of their predicates.
        words: of all entities.
        types: those of most entities first; at most MAX_TYPES.
        by_types: relations by the types of both ends; an entity of several types counts in each.
    """

    entities: int
    entity_types: int
    relations: int
    relation_types: int
    words: Mapping[str, TextFigures]
    types: tuple[TypeFigures, ...]
    by_types: tuple[RelationFigures, ...]

    @property
    def degree(self) -> float:
        """2 E / N."""
        return 2 * self.relations / self.entities

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "entities": self.entities,
            "entity_types": self.entity_types,
            "relations": self.relations,
            "relation_types": self.relation_types,
            "degree": self.degree,
            "words": {name: one.to_json() for name, one in self.words.items()},
            "types": [one.to_json() for one in self.types],
            "relations_by_types": [one.to_json() for one in self.by_types],
        }


def skb_figures(snapshot: Snapshot, progress: Progress = SILENT) -> SkbFigures:
    """Counts a knowledge base: two or three passes over its triples, one over its documents.

    Raises:
        UserError: no node has a type that counts.
    """
    store, test = snapshot.store, _ClassTest(() if snapshot.profile is None else snapshot.profile.entities)
    progress.start("counting entities and relations", None)
    classes = _counted(store, f"?s {_TYPE} ?c {test.of('c')}", "?c", "DISTINCT ?s")
    if not classes:
        raise UserError("no node has a type, so there is nothing to count", hint="hybridkg stats KB counts triples")
    (entities,) = _counted(store, f"?s {_TYPE} ?c {test.of('c')}", "", "DISTINCT ?s").values()
    # Where no entity has two types, the figures of all are the sums of those of the types.
    is_partition = entities == sum(classes.values())
    related = f"?s ?p ?o FILTER(?p != {_TYPE})"
    ends = f"?s {_TYPE} ?c {test.of('c')} ?o {_TYPE} ?d {test.of('d')}"
    by_types = _counted(store, f"{related} {ends}", "?c ?p ?d", "*")
    if is_partition:
        predicates: dict[tuple[str, ...], int] = {}
        for (_, predicate, _), count in by_types.items():
            predicates[(predicate,)] = predicates.get((predicate,), 0) + count
    else:
        exist = f"FILTER(EXISTS {{ ?s {_TYPE} ?c {test.of('c')} }} && EXISTS {{ ?o {_TYPE} ?d {test.of('d')} }})"
        predicates = _counted(store, f"{related} {exist}", "?p", "*")
    progress.done(sum(predicates.values()))
    listed = [iri for (iri,) in list(classes)[:MAX_TYPES]]
    words = _words(snapshot, listed, test, progress, is_partition=is_partition and len(listed) == len(classes))
    return SkbFigures(
        entities,
        len(classes),
        sum(predicates.values()),
        len(predicates),
        {name: _text_figures(one) for name, one in words[""].items()},
        tuple(
            TypeFigures(iri, classes[(iri,)], {name: _text_figures(one) for name, one in words[iri].items()})
            for iri in listed
        ),
        tuple(RelationFigures(c, p, d, n) for (c, p, d), n in list(by_types.items())[:MAX_RELATIONS]),
    )


@dataclass(frozen=True)
class _ClassTest:
    """Which classes count: those of the profile, or all outside of NO_ENTITIES."""

    classes: Sequence[str]

    def of(self, variable: str) -> str:
        """A filter of a variable."""
        if self.classes:
            return f"FILTER(?{variable} IN ({', '.join(str(NamedNode(iri)) for iri in self.classes)}))"
        outside = (f"!STRSTARTS(STR(?{variable}), {Literal(WELL_KNOWN[name])})" for name in NO_ENTITIES)
        return f"FILTER(isIRI(?{variable}) && {' && '.join(outside)})"

    def holds(self, iri: str) -> bool:
        """Whether a class counts."""
        if self.classes:
            return iri in self.classes
        return not any(iri.startswith(WELL_KNOWN[name]) for name in NO_ENTITIES)


def _counted(store: GraphStore, pattern: str, keys: str, what: str) -> dict[tuple[str, ...], int]:
    """Counts by the IRIs of some variables, the largest first."""
    group = f" GROUP BY {keys}" if keys else ""
    rows = store.select(f"SELECT {keys} (COUNT({what}) AS ?n) WHERE {{ {pattern} }}{group}").rows
    found = {tuple(_iri(term) for term in row[:-1]): _number(row[-1]) for row in rows}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _iri(term: Term | None) -> str:
    return term.value if isinstance(term, NamedNode) else str(term)


def _number(term: Term | None) -> int:
    return int(term.value) if isinstance(term, Literal) else 0


def _text_figures(words: WordDistribution) -> TextFigures:
    return TextFigures(words.tokens, words.distinct, words.entropy)


_Words = dict[str, dict[str, WordDistribution]]
"""Words by type, "" for all entities, and by `graph` or field."""


def _words(
    snapshot: Snapshot, types: Sequence[str], test: _ClassTest, progress: Progress, *, is_partition: bool
) -> _Words:
    words: _Words = {iri: {GRAPH: WordDistribution()} for iri in types}
    progress.start("counting words", None)
    count = 0
    for iri in types:
        pattern = f"?s {_TYPE} {NamedNode(iri)} . ?s ?p ?o FILTER(isLiteral(?o))"
        count += _add_literals(snapshot.store, pattern, words[iri][GRAPH], progress)
    if is_partition:
        words[""] = {GRAPH: WordDistribution.union(words[iri][GRAPH] for iri in types)}
    else:
        words[""] = {GRAPH: WordDistribution()}
        pattern = f"?s ?p ?o FILTER(isLiteral(?o)) FILTER(EXISTS {{ ?s {_TYPE} ?c {test.of('c')} }})"
        count += _add_literals(snapshot.store, pattern, words[""][GRAPH], progress)
    for field in () if snapshot.documents is None else snapshot.documents.fields():
        count += _add_documents(snapshot, field, words, test, progress, is_partition=is_partition)
    progress.done(count)
    return words


def _add_literals(store: GraphStore, pattern: str, words: WordDistribution, progress: Progress) -> int:
    number = 0
    for number, (literal,) in enumerate(store.select(f"SELECT ?o WHERE {{ {pattern} }}").rows, 1):
        if isinstance(literal, Literal):
            words.add(literal.value)
        if number % TEXTS_PER_REPORT == 0:
            progress.advance(0, TEXTS_PER_REPORT)
    return number


def _add_documents(
    snapshot: Snapshot, field: str, words: _Words, test: _ClassTest, progress: Progress, *, is_partition: bool
) -> int:
    """Adds the words of a field, of documents whose entity has a type that counts."""
    for own in words.values():
        own[field] = WordDistribution()
    count = 0
    for batch in _batches(snapshot, field):
        types = _types_of(snapshot.store, [node for node, _ in batch], test)
        for node, texts in batch:
            if node not in types:
                continue
            for iri in (*(iri for iri in types[node] if iri in words), *([] if is_partition else [""])):
                for text in texts:
                    words[iri][field].add(text)
        count += len(batch)
        progress.advance(0, len(batch))
    if is_partition:
        words[""][field] = WordDistribution.union(own[field] for iri, own in words.items() if iri)
    return count


def _batches(snapshot: Snapshot, field: str) -> Iterator[list[tuple[Node, list[str]]]]:
    stream = iter(() if snapshot.documents is None else snapshot.documents.stream(field))
    while batch := list(islice(stream, ENTITIES_AT_ONCE)):
        yield batch


def _types_of(store: GraphStore, nodes: Sequence[Node], test: _ClassTest) -> dict[Node, set[str]]:
    found: dict[Node, set[str]] = {}
    for node, _, type in TripleLookups(store).outgoing(nodes, (RDF_TYPE,)):
        if isinstance(type, NamedNode) and test.holds(type.value):
            found.setdefault(node, set()).add(type.value)
    return found
