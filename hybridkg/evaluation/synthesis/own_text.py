"""The text of entities for synthesis: their own, without the names of what they link to, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from hybridkg.errors import IndexMissingError, ProfileError
from hybridkg.interfaces.text_index import FieldChoice, Ids, TextQuery
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.labels import Labels
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import NamedNode
from hybridkg.text.models.bm25f import idf

CACHED_TEXTS, CACHED_TERMS = 4_096, 4_096
"""Texts of entities, and postings of terms, that are kept."""

WORDS_AT_ONCE = 100
"""Words whose statistics are asked for at once."""

_STOP = re.compile(r"[.;:!?()\[\]\n]")


@dataclass(frozen=True)
class Word:
    """A word of a text: as written, and its term, which is empty for a stop word; `begins` a part of a sentence."""

    text: str
    term: str
    begins: bool = False


Passage = tuple[Word, ...]
"""The words of one value of a field."""


class OwnText:
    """Texts, names and terms of a knowledge base.

    A field counts as own text if the profile reads literals for it, not the labels of other nodes.

    Raises:
        IndexMissingError: there is no text index.
        ProfileError: the profile has no field of literals.
    """

    def __init__(self, kb: KnowledgeBase):
        snapshot = snapshot_of(kb)
        if snapshot.text is None or snapshot.nodes is None or snapshot.profile is None:
            raise IndexMissingError("the knowledge base has no text index", hint="build it: hybridkg index KB")
        self._snapshot, self._index, self._nodes = snapshot, snapshot.text, snapshot.nodes
        own = [field for field in snapshot.profile.fields if field.text != "labels"]
        if not own:
            raise ProfileError(f"the profile {snapshot.profile.name!r} has no field of literals, only labels of others")
        self.fields = tuple(field.name for field in own)
        self._analyzers = {field.name: self._index.analyzer(field.analyzer) for field in own}
        self._labels = Labels(snapshot.store, snapshot.profile.labels)
        self._df: dict[str, int] = {}
        self.passages = lru_cache(CACHED_TEXTS)(self._passages)
        self._having = lru_cache(CACHED_TERMS)(self._read_having)

    def names(self, iris: Sequence[str]) -> Mapping[str, str]:
        """The labels of nodes by IRI; those without one are missing."""
        return self._labels(iris)

    def texts(self, iri: str) -> list[str]:
        """The values of an entity's own fields; a repeated one once."""
        (texts,) = self._snapshot.texts([NamedNode(iri)], self.fields)
        return list(dict.fromkeys(text for _, text, _ in texts))

    def _passages(self, iri: str) -> tuple[Passage, ...]:
        """The words of each value of an entity's own fields; those of a repeated value once."""
        (texts,) = self._snapshot.texts([NamedNode(iri)], self.fields)
        return tuple(dict.fromkeys(passage for name, text, _ in texts if (passage := self.words(text, name))))

    def words(self, text: str, field: str | None = None) -> Passage:
        """The words of a text as a field analyses it."""
        analyzer = self._analyzers[field or self.fields[0]]
        stemmer, at = analyzer.stemmer(""), 0
        words: list[Word] = []
        for raw, start, end in analyzer.spans(text):
            if start < at:  # a part of a word that is also read as a whole
                continue
            term = "" if analyzer.is_stop_word(raw, stemmer) else analyzer.term(raw, stemmer)
            words.append(Word(text[start:end], term, not words or bool(_STOP.search(text, at, start))))
            at = end
        return tuple(words)

    @cached_property
    def size(self) -> int:
        """Entities of the index."""
        return len(self._nodes)

    def idf(self, words: Iterable[Word]) -> dict[str, float]:
        """The idf of each term, of its own fields together; at least 0."""
        texts = {word.term: word.text for word in words if word.term}
        missing = [text for term, text in texts.items() if term not in self._df]
        for at in range(0, len(missing), WORDS_AT_ONCE):
            query = self._query(" ".join(missing[at : at + WORDS_AT_ONCE]))
            self._df |= {one.term: one.df for one in self._index.terms(query)}
        return {term: float(idf(self._df.get(term, 0), self.size)) for term in texts}

    def having(self, word: Word) -> Ids:
        """Ids of the entities with the word in one of the own fields, ascending."""
        return self._having(word.text)

    def _read_having(self, text: str) -> Ids:
        ids, _ = self._index.score_all(self._query(text))
        return ids

    def ids(self, iris: Sequence[str]) -> npt.NDArray[np.int64]:
        """int64[n], the ids of nodes in the index; below 0 for those that it does not have."""
        return self._nodes.find_many([NamedNode(iri) for iri in iris])

    def _query(self, text: str) -> TextQuery:
        fields = tuple(FieldChoice(name, 1.0) for name in self.fields)
        return TextQuery(text, syntax=False, fields=fields, model="bm25f")
