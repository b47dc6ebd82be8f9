"""What a dataset says of itself, and what it makes of its files: triples, topics, judgements, folds, categories."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from hybridkg.datasets.sources import SourceFile

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"

Folds: TypeAlias = Mapping[str, Mapping[str, list[str]]]
"""fold -> `training` and `testing` -> topics; the form of the folds of DBpedia-Entity."""

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_LOCAL = re.compile(r"\s+")


@dataclass
class RecipeTriples:
    """Lines of N-Triples in the making, and how many nodes of each kind have been named.

    >>> made = Triples()
    >>> made.text("http://e/1", "http://e/title", " a  title ")
    >>> made.lines
    ['<http://e/1> <http://e/title> "a title" .\\n']
    """

    lines: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def link(self, subject: str, predicate: str, target: str) -> None:
        """A triple between nodes; the three are IRIs without a character that an IRI cannot have."""
        self.lines.append(f"<{subject}> <{predicate}> <{target}> .\n")

    def text(self, subject: str, predicate: str, text: str, datatype: str = "") -> None:
        """A literal, its white space made single blanks; none where nothing is left."""
        text = " ".join(text.split())
        if text:
            suffix = f"^^<{datatype}>" if datatype else ""
            self.lines.append(f'<{subject}> <{predicate}> "{text.translate(_ESCAPES)}"{suffix} .\n')

    def node(self, iri: str, class_: str, label: str, kind: str = "") -> bool:
        """Type and label, the first time that a node is met; tells whether it was. `kind` is what to count it as."""
        if iri in self._known:
            return False
        self._known.add(iri)
        self.link(iri, RDF + "type", class_)
        self.text(iri, RDFS + "label", label)
        if kind:
            self.counts[kind] = self.counts.get(kind, 0) + 1
        return True


def local_name(text: str) -> str:
    """The last part of an IRI for a name: white space as `_`, what an IRI cannot have percent-encoded.

    >>> local_name('Knuth, D. E.'), local_name('"Pee-Wee"')
    ('Knuth,_D._E.', '%22Pee-Wee%22')
    """
    return quote(_LOCAL.sub("_", text.strip()), safe="-._~!$&'()*+,;=:@/")


@dataclass(frozen=True)
class Contents:
    """What the files of a dataset hold.

    Args:
        triples: lines of N-Triples, each with its end.
        topics: text of each judged topic, in the order of the file.
        qrels: (topic, IRI of the knowledge base, grade).
        folds: how the judged topics are split for training.
        categories: category of each topic; empty where there is none.
        more_topics: other texts, by the name of their file.
        more_folds: other splits, by the name of their file.
        more_files: lines of what else there is, each with its end, by the name of the file.
        counts: what to tell the user, in this order.
    """

    triples: Iterable[str]
    topics: Mapping[str, str]
    qrels: list[tuple[str, str, int]]
    folds: Folds
    categories: Mapping[str, str] = field(default_factory=dict)
    more_topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    more_folds: Mapping[str, Folds] = field(default_factory=dict)
    more_files: Mapping[str, Iterable[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """A dataset.

    Args:
        name: as in DATASETS.
        title: one line.
        profile: name of a profile that travels with hybridkg.
        files: path below the data folder of each file, by a short key.
        origin: where the files come from, as one phrase.
        licence: what is known of it.
        notes: how the files were read, and what to know when using them; sentences.
        read: makes the contents of the files, by the keys of `files`; None where `needs` says what it is made of.
        needs: what it is made of, where that is not the data folder alone.
    """

    name: str
    title: str
    profile: str
    files: Mapping[str, str]
    origin: str
    licence: str
    notes: tuple[str, ...]
    read: Callable[[Mapping[str, SourceFile]], Contents] | None
    needs: str = ""


def official_folds(source: SourceFile, topics: Collection[str]) -> Folds:
    """The folds in a file of DBpedia-Entity, without topics that are not among `topics`.

    Raises:
        LoadError: the file has another form.
    """
    try:
        data: Any = json.loads(source.text())
        return {
            str(fold): {part: [topic for topic in data[fold][part] if topic in topics] for part in parts}
            for fold in data
            for parts in [("training", "testing")]
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise source.wrong('folds are {"0": {"training": [...], "testing": [...]}, ...}', 1) from e


FOLDS = 5
"""Folds where a collection has none of its own; as many as DBpedia-Entity has."""

FOLD_RULE = (
    f"Folds: the judged topics sorted by the SHA-256 of their id (as UTF-8); the i-th, from 0, is tested in fold i mod "
    f"{FOLDS} and trains the others."
)


def five_folds(topics: Iterable[str]) -> Folds:
    """A split that depends on nothing but the ids of the topics: FOLD_RULE.

    >>> [len(fold["testing"]) for fold in five_folds(map(str, range(12))).values()]
    [3, 3, 2, 2, 2]
    """
    order = list(topics)
    place = {topic: i for i, topic in enumerate(sorted(order, key=lambda t: hashlib.sha256(t.encode()).digest()))}
    return {
        str(fold): {
            "training": [topic for topic in order if place[topic] % FOLDS != fold],
            "testing": [topic for topic in order if place[topic] % FOLDS == fold],
        }
        for fold in range(FOLDS)
    }


def one_line(text: str) -> str:
    """The text of a topic: no tabs, no line ends.

    >>> one_line(" two\\n words ")
    'two words'
    """
    return " ".join(text.split())
