"""Recipes of datasets, and their contents: triples, topics, judgements, folds, categories."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from hybridkg.datasets.sources import SourceFile

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"

Folds: TypeAlias = Mapping[str, Mapping[str, list[str]]]
"""fold -> `training` and `testing` -> topics, as in the folds of DBpedia-Entity."""

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_LOCAL = re.compile(r"\s+")


@dataclass
class RecipeTriples:
    """A builder of N-Triples lines, with the number of nodes of each kind.

    >>> triples = RecipeTriples()
    >>> triples.text("http://e/1", "http://e/title", " a  title ")
    >>> triples.lines
    ['<http://e/1> <http://e/title> "a title" .\\n']
    """

    lines: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def link(self, subject: str, predicate: str, target: str) -> None:
        """Adds a triple of three valid IRIs."""
        self.lines.append(f"<{subject}> <{predicate}> <{target}> .\n")

    def text(self, subject: str, predicate: str, text: str, datatype: str = "") -> None:
        """Adds a literal with normalised white space, unless it is empty."""
        text = " ".join(text.split())
        if text:
            suffix = f"^^<{datatype}>" if datatype else ""
            self.lines.append(f'<{subject}> <{predicate}> "{text.translate(_ESCAPES)}"{suffix} .\n')

    def node(self, iri: str, class_: str, label: str, kind: str = "") -> bool:
        """Adds type and label of a new node, counted as `kind`; returns whether it is new."""
        if iri in self._known:
            return False
        self._known.add(iri)
        self.link(iri, RDF + "type", class_)
        self.text(iri, RDFS + "label", label)
        if kind:
            self.counts[kind] = self.counts.get(kind, 0) + 1
        return True


def local_name(text: str) -> str:
    """The last part of an IRI for a name: white space as `_`, invalid characters percent-encoded.

    >>> local_name('Knuth, D. E.'), local_name('"Pee-Wee"')
    ('Knuth,_D._E.', '%22Pee-Wee%22')
    """
    return quote(_LOCAL.sub("_", text.strip()), safe="-._~!$&'()*+,;=:@/")


@dataclass(frozen=True)
class Contents:
    """The contents of a dataset.

    Args:
        triples: lines of N-Triples with their ends.
        topics: text of each judged topic, in the order of the file.
        qrels: (topic, IRI of the knowledge base, grade).
        folds: split of the judged topics for training.
        categories: category of each topic; may be empty.
        more_topics: other texts, by file name.
        more_folds: other splits, by file name.
        more_files: lines of other files with their ends, by file name.
        counts: figures to show, in this order.
        documents: lines of text documents with their ends; None for none.
        prepare: writes files and settings into the folder of the knowledge base, behind the documents and before it is
            loaded.
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
    documents: Iterable[str] | None = None
    prepare: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Recipe:
    """The definition of a dataset.

    Args:
        name: as in DATASETS.
        title: one line.
        profile: name of a shipped profile.
        files: key -> path below the data folder.
        origin: source of the files, as one phrase.
        licence: as far as it is known.
        notes: sentences on the reading and the use of the files.
        read: makes the contents from the files, by the keys of `files`; None if `needs` is set.
        needs: inputs other than the data folder.
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
    """The folds in a file of DBpedia-Entity, restricted to `topics`. Raises LoadError: the file is malformed."""
    try:
        data: Any = json.loads(source.text())
        return {
            str(fold): {part: [topic for topic in data[fold][part] if topic in topics] for part in parts}
            for fold in data
            for parts in [("training", "testing")]
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise source.wrong('folds are {"0": {"training": [...], "testing": [...]}, ...}', 1) from e


FOLD_FILES = {
    "folds": "dbpedia-entity-v2/v2/folds/all_queries.json",
    **{
        f"folds-{category.replace('-', '_')}": f"dbpedia-entity-v2/v2/folds/{category}.json"
        for category in ("SemSearch-ES", "INEX-LD", "ListSearch", "QALD2")
    },
}
"""The files of the official folds of DBpedia-Entity v2, of all queries and of each category."""

FOLDS = 5
"""Folds of a collection without official ones; as many as DBpedia-Entity has."""

FOLD_RULE = (
    f"Folds: the judged topics sorted by the SHA-256 of their id (as UTF-8); the i-th, from 0, is tested in fold i mod "
    f"{FOLDS} and trains the others."
)


def five_folds(topics: Iterable[str]) -> Folds:
    """FOLD_RULE: a split that depends only on the ids of the topics.

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
    """The text without tabs and line ends.

    >>> one_line(" two\\n words ")
    'two words'
    """
    return " ".join(text.split())
