"""A suggested profile, of the graph of a knowledge base."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import LoadError, StorageError
from hybridkg.kb.profile_suggestion.choice import choose_fields
from hybridkg.kb.profile_suggestion.figures import figures_of
from hybridkg.kb.profile_suggestion.turtle import turtle_of
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.namespaces import own_prefixes
from hybridkg.rdf.terms import Literal, NamedNode, Term


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
    choice = choose_fields(figures)
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
