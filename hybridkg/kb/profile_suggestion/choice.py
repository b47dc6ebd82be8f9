"""The choice of fields, by the kinds of the predicates."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybridkg.kb.profile_suggestion.figures import ClassFigures, GraphFigures
from hybridkg.kb.profile_suggestion.kinds import JudgedPredicate, PredicateKind, judge, naming_rank
from hybridkg.rdf.namespaces import last_part
from hybridkg.text.analysis.folding import fold_accents, fold_case

MAX_TEXT_FIELDS = 6
MAX_LINK_FIELDS = 3
"""Fields of long texts of their own, the others are attributes; fields that are offered for links."""

MIN_COVERAGE = 0.01
"""Share of the nodes with text that have a predicate, below which it has no field of its own."""

ENTITY_CLASS = 0.5
"""Share of the instances of a class with text, from which they are entities."""

ALL_TYPED = 0.95
"""Share of the nodes with text that have a class, from which the classes are proposed as entities."""

SPEAKING = 0.5
"""Share of local names that are words, from which they are text."""

VOCABULARIES = (
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/ns/shacl#",
)
"""Namespaces of classes whose instances describe data."""

RESERVED = ("label", "identifiers", "attributes", "related", "types")


@dataclass(frozen=True)
class SuggestedField:
    """A field with the predicates that feed it."""

    name: str
    kind: PredicateKind
    members: tuple[JudgedPredicate, ...]


@dataclass(frozen=True)
class Choice:
    """The parts of a suggested profile.

    Args:
        figures: of the graph.
        labels: predicates that name nodes, in order of preference (`naming_rank`).
        texts: fields of long texts.
        links: fields that links could have of their own.
        identifiers: predicates of the field of identifiers.
        short: short texts and values, for the field of the rest.
        followed: links, for the field that they share.
        ignored: predicates that no field of the rest reads.
        entities: classes whose instances are entities.
        is_typed: whether (nearly) every node with text has a class.
    """

    figures: GraphFigures
    labels: tuple[JudgedPredicate, ...]
    texts: tuple[SuggestedField, ...]
    links: tuple[SuggestedField, ...]
    identifiers: tuple[JudgedPredicate, ...]
    short: tuple[JudgedPredicate, ...]
    followed: tuple[JudgedPredicate, ...]
    ignored: tuple[JudgedPredicate, ...]
    entities: tuple[ClassFigures, ...]
    is_typed: bool

    @property
    def names_speak(self) -> bool:
        """Whether the local names of IRIs are words."""
        return self.figures.speaking_names >= SPEAKING


def choose_fields(figures: GraphFigures) -> Choice:
    """The fields that the figures suggest."""
    judged = [judge(one, figures.subjects) for one in figures.predicates]
    of = {kind: [one for one in judged if one.kind is kind] for kind in PredicateKind}
    labels = sorted(of[PredicateKind.LABEL], key=_by_preference)
    least = MIN_COVERAGE * figures.subjects
    texts = sorted(of[PredicateKind.LONG], key=_by_subjects)
    own_texts = [one for one in texts if one.figures.subjects >= least][:MAX_TEXT_FIELDS]
    own_links = [one for one in of[PredicateKind.LINK] if one.figures.subjects >= least]
    own_links.sort(key=_by_subjects)
    taken = set(RESERVED)
    text_fields = tuple(
        SuggestedField(_free(one, taken), PredicateKind.LONG, (one,)) for one in texts[:MAX_TEXT_FIELDS]
    )
    link_fields = tuple(
        SuggestedField(_free(one, taken), PredicateKind.LINK, (one,)) for one in own_links[:MAX_LINK_FIELDS]
    )
    followed = sorted(of[PredicateKind.LINK], key=_by_subjects)
    ignored = [
        one for one in judged if one.kind in (PredicateKind.ADDRESS, PredicateKind.OPAQUE, PredicateKind.BARE_LINK)
    ]
    entities = tuple(
        one
        for one in figures.classes
        if one.labelled >= ENTITY_CLASS * one.instances and not one.iri.startswith(VOCABULARIES)
    )
    return Choice(
        figures,
        tuple(labels),
        text_fields,
        link_fields,
        tuple(of[PredicateKind.IDENTIFIER]),
        tuple(of[PredicateKind.SHORT] + of[PredicateKind.VALUE] + [one for one in texts if one not in own_texts]),
        tuple(followed),
        tuple(ignored),
        entities,
        bool(entities) and figures.untyped <= (1 - ALL_TYPED) * figures.subjects,
    )


def _by_preference(one: JudgedPredicate) -> tuple[int, int, float, str]:
    """The predicate that names best first; of two alike that of more subjects, then that of shorter texts."""
    return naming_rank(one), -one.figures.subjects, one.words, one.figures.iri


def _by_subjects(one: JudgedPredicate) -> tuple[int, str]:
    """The predicate of most subjects first."""
    return -one.figures.subjects, one.figures.iri


def _free(one: JudgedPredicate, taken: set[str]) -> str:
    """A field name for a predicate, of its label where its local name is a code; it is then taken.

    A label without Latin letters gives none, and the local name has to do.
    """
    name = ""
    for text in (one.figures.name, last_part(one.figures.iri)):
        name = re.sub(r"[^a-z0-9_-]+", "_", fold_accents(fold_case(text))).strip("_-")
        if name[:1].isalpha():
            break
    else:
        name = f"f_{name}".rstrip("_")
    base, number = name[:40].strip("_-"), 2
    name = base
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    taken.add(name)
    return name
