"""Name lookup: the entities that words name, found in the text index with its own analysis.

An entity has a name if the analysed name equals the analysed words: case, accents and inflection count no more than in
a search. A name in brackets (`Crash (2004 film)`) also counts without them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.entities.profile.paths import Path, ShaclAlternative, ShaclInverse, ShaclPredicate, single_steps
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.text_index import FieldChoice, Ids, TextIndex, TextQuery
from hybridkg.rdf.terms import Node
from hybridkg.storage.distinct import sorted_distinct

MAX_CHECKED = 40
"""Maximum number of entities whose names are read where the length of the field does not decide; about 1 ms each, the
shortest fields first."""

MAX_CACHED = 20_000
"""Maximum number of cached word sequences."""

SAME_THING = ("http://www.w3.org/2002/07/owl#sameAs", "http://www.w3.org/2004/02/skos/core#exactMatch")
"""Predicates whose objects are other names of an entity."""

REDIRECT = "http://dbpedia.org/ontology/wikiPageRedirects"
"""Predicate whose subjects are other names of an entity."""

_IN_BRACKETS = re.compile(r"(?<=\S)\s*\([^()]*\)\s*$")

Texts = Callable[[int], Sequence[tuple[str, str, str]]]
"""Function from the id of an entity to (field, text, language) of its names."""


def name_fields(profile: Profile) -> tuple[Field, ...]:
    """Fields of names: labels of an entity, and labels of nodes that are the same thing.

    Where no field of a profile reads a label predicate, the first field that is not a rest.

    >>> from hybridkg.entities.profile.labels import LABEL_PREDICATES
    >>> label = Field("label", ShaclPredicate(LABEL_PREDICATES[0]), weight=3)
    >>> [field.name for field in name_fields(Profile("p", (Field("text", ShaclPredicate("x:p")), label)))]
    ['label']
    """
    named = tuple(field for field in profile.fields if field.path is not None and _names(field, profile))
    return named or tuple(field for field in profile.fields if not field.rest)[:1]


def _names(field: Field, profile: Profile) -> bool:
    assert field.path is not None
    if field.text == "labels":
        return any(step in SAME_THING for step in single_steps(field.path)) or REDIRECT in _inverse_steps(field.path)
    return any(step in profile.labels for step in single_steps(field.path))


def _inverse_steps(path: Path) -> Iterator[str]:
    match path:
        case ShaclInverse(ShaclPredicate(iri)):
            yield iri
        case ShaclAlternative(parts):
            for part in parts:
                yield from _inverse_steps(part)


@dataclass(frozen=True)
class NamedNodes:
    """Entities of a name.

    Args:
        ids: uint32[m], ascending.
        df: number of entities that have the words as a phrase in any field of the index; at least m.
    """

    ids: Ids
    df: int


class NodeNames:
    """Names of one state of a knowledge base; safe to use from many threads.

    Args:
        text: the index.
        fields: of names, from `name_fields`.
        nodes: ids -> nodes.
        texts: reads the names of an entity.
    """

    def __init__(self, text: TextIndex, fields: Sequence[Field], nodes: Callable[[Ids], list[Node]], texts: Texts):
        self.nodes, self._text, self._texts = nodes, text, texts
        self._fields = [field.name for field in fields]
        self._analyzers: list[Analyzer] = [text.analyzer(field.analyzer) for field in fields]
        self._cache: dict[tuple[tuple[str, ...], str], NamedNodes] = {}
        self._lock = threading.Lock()

    def words(self, text: str) -> list[str]:
        """Words of a text, by the analyzer of the first field of names."""
        return self._analyzers[0].words(text) if self._analyzers else []

    def named(self, words: Sequence[str], language: str = "") -> NamedNodes:
        """Entities that the words (at least one, from `words`) name; `language` is the tag of the text."""
        key = tuple(word.casefold() for word in words), language
        named = self._cache.get(key)
        if named is None:
            named = self._look_up(words, language)
            with self._lock:
                if len(self._cache) >= MAX_CACHED:
                    self._cache.clear()
                self._cache[key] = named
        return named

    def _look_up(self, words: Sequence[str], language: str) -> NamedNodes:
        phrase = f'"{" ".join(words)}"'
        matches: list[Ids] = []
        longer: dict[int, int] = {}
        for name, analyzer in zip(self._fields, self._analyzers, strict=True):
            terms = _terms(" ".join(words), language, analyzer)
            if not terms or not terms[0] or not terms[-1]:
                continue  # a dropped word at an end, which no phrase can match
            task = self._text.task(TextQuery(phrase, language, fields=(FieldChoice(name),)))
            if not task.terms:
                continue
            ids = task.terms[0].postings[0].ids
            lengths = task.lengths[task.fields[0].row][ids]
            whole = lengths == len(terms)
            matches.append(ids[whole])
            longer.update(zip(ids[~whole].tolist(), lengths[~whole].tolist(), strict=True))
        certain = sorted_distinct(np.concatenate(matches)) if matches else np.zeros(0, np.uint32)
        for id in certain.tolist():
            longer.pop(id, None)
        shortest = sorted(longer, key=lambda id: (longer[id], id))[:MAX_CHECKED]
        checked = [id for id in shortest if self._has_name(id, words, language)]
        ids = np.union1d(certain, np.array(checked, np.uint32)).astype(np.uint32)
        if not len(ids):
            return NamedNodes(ids, 0)
        return NamedNodes(ids, max(len(ids), sum(t.df for t in self._text.terms(TextQuery(phrase, language)))))

    def _has_name(self, id: int, words: Sequence[str], language: str) -> bool:
        analyzers = dict(zip(self._fields, self._analyzers, strict=True))
        expected = {name: _terms(" ".join(words), language, analyzer) for name, analyzer in analyzers.items()}
        return any(
            _terms(form, own, analyzers[field]) == expected[field]
            for field, text, own in self._texts(id)
            for form in (text, _IN_BRACKETS.sub("", text))
        )


def _terms(text: str, language: str, analyzer: Analyzer) -> list[str]:
    stemmer = analyzer.stemmer(language)
    return [analyzer.term(word, stemmer) for word in analyzer.words(text)]
