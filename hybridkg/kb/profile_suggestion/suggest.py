"""A suggested profile, of the graph of a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hybridkg.entities.profile.labels import LABEL_PREDICATES
from hybridkg.entities.triple_lookups import StatedTriple, TripleLookups
from hybridkg.errors import LoadError, StorageError
from hybridkg.kb.labels import Labels
from hybridkg.kb.profile_suggestion.choice import choose_fields
from hybridkg.kb.profile_suggestion.figures import figures_of
from hybridkg.kb.profile_suggestion.turtle import turtle_of
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.namespaces import own_prefixes
from hybridkg.rdf.terms import Literal, NamedNode, Term

DIRECT_CLAIM = "http://wikiba.se/ontology#directClaim"
"""Leads from a property of Wikidata, which has the label, to the predicate."""


@dataclass(frozen=True)
class SuggestedProfile:
    """A profile that the content of a graph suggests; `str` is the text of its file, Turtle with comments.

    Args:
        text: that text.
        source: where its figures are from, in words.
    """

    text: str
    source: str

    def __str__(self) -> str:
        return self.text

    def save(self, path: str | Path) -> None:
        """Writes the file, which must not exist: it may have been edited.

        Raises:
            StorageError: there is such a file, or it cannot be written.
        """
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                file.write(self.text)
        except FileExistsError:
            raise StorageError(
                f"there is a file {str(path)!r}", hint="it may be edited; give another name, or move it"
            ) from None
        except OSError as e:
            raise StorageError(f"cannot write {str(path)!r}: {e.strerror or e}") from e


def suggest_profile(snapshot: Snapshot) -> SuggestedProfile:
    """The profile that the graph of a snapshot suggests; the same graph gives the same text.

    Raises:
        LoadError: the graph has no literal.
    """
    figures = figures_of(snapshot)
    if not figures.subjects:
        raise LoadError(
            "the graph has no text from which a profile could be suggested", hint="load some: hybridkg load"
        )
    names = [one.iri for one in figures.predicates] + [one.iri for one in figures.classes]
    prefixes = {**snapshot.prefixes, **own_prefixes(names, snapshot.prefixes)}
    labels_of_predicates = _predicate_labels(snapshot, [one.iri for one in figures.predicates])
    named = (replace(one, label=labels_of_predicates.get(one.iri, "")) for one in figures.predicates)
    choice = choose_fields(replace(figures, predicates=tuple(named)))
    labels = [one.figures.iri for one in choice.labels]

    def label_of(node: Term) -> str:
        if not isinstance(node, NamedNode):
            return ""
        for predicate in labels:
            names = snapshot.store.select(f"SELECT ?o WHERE {{ {node} {NamedNode(predicate)} ?o }} LIMIT 100").rows
            texts = sorted(name.value for (name,) in names if isinstance(name, Literal))
            if texts:
                return texts[0]
        return ""

    return SuggestedProfile(turtle_of(choice, prefixes, label_of), figures.source)


def _predicate_labels(snapshot: Snapshot, iris: Sequence[str]) -> dict[str, str]:
    """The label of each predicate that has one: its own, or in Wikidata that of the property whose claims it states."""
    own = snapshot.profile.labels if snapshot.profile is not None else ()
    labels = Labels(snapshot.store, tuple(dict.fromkeys((*own, *LABEL_PREDICATES))))
    nodes = [NamedNode(iri) for iri in iris]
    found = {node.value: text for node, text in labels.of(nodes).items()}
    unnamed = [node for node in nodes if node.value not in found]
    properties = {subject: end.value for subject, _, end in _claims(snapshot, unnamed) if isinstance(end, NamedNode)}
    return found | {properties[node]: text for node, text in sorted(labels.of(properties).items(), key=str)}


def _claims(snapshot: Snapshot, nodes: Sequence[NamedNode]) -> list[StatedTriple]:
    return list(TripleLookups(snapshot.store).incoming(nodes, (DIRECT_CLAIM,)))
