"""Names of nodes in the text index: whole names, names that contain some words, and similar ones.

A name is the text of a field that reads label predicates, compared by the analyzer of the field. A node may have
several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.profile.profile import Profile
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.text_index import FieldChoice, Ids, TextIndex, TextQuery
from hybridkg.linking.names import name_fields
from hybridkg.storage.distinct import sorted_distinct

SIMILAR = 20
"""Nodes whose names are compared with a mention: those that match its words best."""

MAX_CONTAINING = 2_000
"""Nodes with a mention in their names, up to which the most connected ones are compared as well."""

MAX_CHECKED = 20
"""Nodes with a mention in their names whose labels are read where a field has more than one name: several labels, or
also the words of the IRI. The shortest fields come first."""

CACHED = 20_000
"""Phrases whose statistics are kept."""

Words = tuple[str, ...]
"""Raw words of the analyzer."""


class Names:
    """Names of one state of a knowledge base.

    Args:
        text: the index.
        profile: its fields.
        size: number of entities.
        labels: the labels of each node by its id; nodes without one are missing.
        several: whether some node has more than one; asked when it is needed.
    """

    def __init__(
        self,
        text: TextIndex,
        profile: Profile,
        size: int,
        labels: Callable[[Sequence[int]], Mapping[int, Sequence[str]]],
        *,
        several: Callable[[], bool],
    ):
        self._text, self._labels, self._size = text, labels, size
        fields = name_fields(profile)
        self._fields = tuple(FieldChoice(field.name) for field in fields)
        self._has_local_names, self._several = [field.local_name for field in fields], several
        self._analyzers = [text.analyzer(field.analyzer) for field in fields]
        own = [field for field in profile.fields if field.text != "labels"]
        self._own = tuple(FieldChoice(field.name) for field in own) or self._fields
        self.df = lru_cache(CACHED)(self._df)
        self.own_df = lru_cache(CACHED)(self._own_df)

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the first field of names."""
        return self._analyzers[0]

    def _df(self, words: Words) -> int:
        """Entities with the words, one after another, in a name."""
        return self._counted(words, self._fields)

    def _own_df(self, words: Words) -> int:
        """Entities with the words, one after another, in their own text: names and other literals."""
        return self._counted(words, self._own)

    def _counted(self, words: Words, fields: tuple[FieldChoice, ...]) -> int:
        return sum(term.df for term in self._text.terms(TextQuery(_phrase(words), fields=fields)))

    def idf(self, word: str) -> float:
        """ln(1 + N / (1 + df)) of a word among the names.

        A word that is in no name has the highest value.
        """
        return log(1 + self._size / (1 + self.df((word,))))

    def exact(self, words: Words) -> Ids:
        """Entities whose whole name the words are, ascending.

        A field with two labels, or with the words of the IRI (`:Lang rdfs:label "Fritz Lang"`), is longer than the
        name, so there the labels decide.
        """
        found = [np.zeros(0, np.uint32)]
        fields = zip(self._fields, self._analyzers, self._has_local_names, strict=True)
        for field, analyzer, has_local_names in fields:
            stemmer = analyzer.stemmer("")
            terms = [analyzer.term(word, stemmer) for word in words]
            if not terms[0] or not terms[-1]:
                continue  # a dropped word at an end, which no phrase can match
            task = self._text.task(TextQuery(_phrase(words), fields=(field,)))
            if task.terms:
                ids = task.terms[0].postings[0].ids
                lengths = task.lengths[task.fields[0].row][ids]
                found.append(ids[lengths == len(terms)])
                if has_local_names or self._several():
                    longer = np.argsort(lengths, kind="stable")[np.count_nonzero(lengths <= len(terms)) :]
                    found.append(self._labelled(ids[longer[:MAX_CHECKED]], terms, analyzer))
        return sorted_distinct(np.concatenate(found)).astype(np.uint32)

    def _labelled(self, ids: Ids, terms: Sequence[str | None], analyzer: Analyzer) -> Ids:
        """Those of some entities of which a label has exactly the terms."""
        stemmer = analyzer.stemmer("")

        def is_same(label: str) -> bool:
            return [analyzer.term(word, stemmer) for word in analyzer.words(label)] == terms

        same = [id for id, labels in self._labels(ids.tolist()).items() if any(map(is_same, labels))]
        return np.array(same, np.uint32)

    def closest(self, ids: Sequence[int], text: str) -> dict[int, str]:
        """The label of each node that is most like a text; nodes without one are missing."""
        return {
            id: labels[0] if len(labels) == 1 else max(labels, key=lambda label: dice(text, label))
            for id, labels in self._labels(ids).items()
        }

    def containing(self, words: Words) -> Ids:
        """Entities with the words, one after another, in a name, ascending; none if they are many."""
        if not 0 < self.df(words) <= MAX_CONTAINING:
            return np.zeros(0, np.uint32)
        return self._text.matches(TextQuery(_phrase(words), fields=self._fields))

    def similar(
        self, text: str, words: Words, *, parts: bool, weight: Callable[[Ids], NDArray[np.uint32]]
    ) -> dict[int, tuple[float, str]]:
        """(similarity, label) of the nodes with similar names, by id.

        The similarity is the Dice coefficient of the trigrams, or with `parts` the share of the idf of the name that
        the words have, if they are all in it and that is more. With `parts`, the SIMILAR nodes of the highest weight
        of those that contain the words are compared as well.
        """
        ids, _ = self._text.topk(TextQuery(text, syntax=False, fields=self._fields), SIMILAR)
        if parts:
            inside = self.containing(words)
            order = np.lexsort((inside, -weight(inside).astype(np.int64)))
            ids = np.union1d(ids, inside[order[:SIMILAR]])
        sought = {word.casefold() for word in words}
        return {
            id: max(
                ((self._similarity(text, label, sought if parts else None), label) for label in labels),
                key=lambda one: one[0],
            )
            for id, labels in self._labels(ids.tolist()).items()
        }

    def _similarity(self, text: str, label: str, sought: set[str] | None) -> float:
        """That of a text and a label, also by its share of the idf if the words of a part are given."""
        similarity = dice(text, label)
        own = [word.casefold() for word in self.analyzer.words(label)]
        if sought is not None and sought <= set(own):
            mass = {word: self.idf(word) for word in own if not self._is_stop(word)}
            shared = sum(mass.get(word, 0.0) for word in sought)
            similarity = max(similarity, shared / (sum(mass.values()) or 1.0))
        return similarity

    def _is_stop(self, word: str) -> bool:
        return self.analyzer.is_stop_word(word, self.analyzer.stemmer(""))


def _phrase(words: Words) -> str:
    return f'"{" ".join(words)}"'


def trigrams(text: str) -> frozenset[str]:
    """The trigrams of a text without case, with two blanks before and one behind.

    >>> sorted(trigrams("Ab"))
    ['  a', ' ab', 'ab ']
    """
    padded = f"  {' '.join(text.casefold().split())} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def dice(one: str, other: str) -> float:
    """The Dice coefficient of the trigrams of two texts, 0..1.

    >>> dice("Ab", "ab"), dice("ab", "ac")
    (1.0, 0.3333333333333333)
    """
    left, right = trigrams(one), trigrams(other)
    return 2 * len(left & right) / (len(left) + len(right))
