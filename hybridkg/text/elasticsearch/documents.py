"""Makes the document of an entity: its texts, and their terms, one on a line.

A value or word that comes again is looked up, not analysed again: the label
of a node comes back with every link to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from hybridkg.entities.profile.filters import number_of
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.text_engine import Values
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import NamedNode, Node
from hybridkg.remote.elasticsearch.server import Body
from hybridkg.text.elasticsearch.mapping import GAP, MAX_FILTER_VALUE_LENGTH, SEPARATOR
from hybridkg.text.elasticsearch.terms import TermCollector
from hybridkg.text.index.layout import Array

MAX_CACHED_WORDS = 1_000_000
MAX_CACHED_WORD_LENGTH = 255
MAX_CACHED_VALUES = 200_000
MAX_CACHED_VALUE_LENGTH = 150


class _TermOfWord(dict[str, str]):
    """Raw word -> its term, or a blank where it is not indexed; filled on demand."""

    def __init__(self, analyzer: Analyzer, stemmer: str):
        super().__init__()
        self._analyzer, self._stemmer = analyzer, stemmer

    def __missing__(self, word: str) -> str:
        term = self._analyzer.term(word, self._stemmer) or GAP
        if len(word) <= MAX_CACHED_WORD_LENGTH:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = term
        return term


class JoinedTerms(dict[str, tuple[str, int]]):
    """Text -> its terms joined, with a blank where a word is not indexed, and how many are; filled on demand.

    Args:
        analyzer: cuts and folds.
        stemmer: key of the language, from the analyzer.
    """

    def __init__(self, analyzer: Analyzer, stemmer: str):
        super().__init__()
        self._words, self._terms = analyzer.words, _TermOfWord(analyzer, stemmer)

    def __missing__(self, text: str) -> tuple[str, int]:
        terms = list(map(self._terms.__getitem__, self._words(text)))
        found = SEPARATOR.join(terms), len(terms) - terms.count(GAP)
        if len(text) <= MAX_CACHED_VALUE_LENGTH:
            if len(self) >= MAX_CACHED_VALUES:
                self.clear()
            self[text] = found
        return found


class DocumentMaker:
    """Documents of one index.

    Args:
        fields: what the index stores.
        analyzers: hybridkg's, by name.
        lengths: uint32[fields, nodes], filled as documents are made; None with native analysis, where the server
            gets the texts as they are.
        collected: gets the terms, except with native analysis.
    """

    def __init__(
        self,
        fields: Sequence[IndexedField],
        analyzers: Mapping[str, Analyzer],
        lengths: Array | None,
        collected: TermCollector,
    ):
        self._fields, self._analyzers = tuple(fields), analyzers
        self._collected = collected
        self._names = [field.name for field in fields]
        self._lengths = None if lengths is None else list(lengths)
        self._joined: dict[tuple[str, str], JoinedTerms] = {}
        self._of_language: list[dict[str, JoinedTerms]] = [{} for _ in fields]
        self.text_bytes = 0
        """UTF-8 bytes of the texts so far."""

    def document(
        self, entity: int, node: Node, texts: Sequence[tuple[int, Values]], filters: Sequence[list[str]]
    ) -> Body:
        """The document of one entity.

        Args:
            entity: its id.
            node: its name.
            texts: (position of a field, values) of each field that it has.
            filters: for each filter, the objects as N-Triples writes them; or nothing at all.
        """
        made: Body = {"node": entity}
        if type(node) is NamedNode:
            made["iri"] = node.value
        terms: Body = {}
        text, language, length = {}, {}, {}
        for position, values in texts:
            name = self._names[position]
            own = [value for value, _ in values]
            for value in own:
                self.text_bytes += len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
            if self._lengths is None:
                terms[name] = own
                continue
            known = self._of_language[position]
            pieces = [(known.get(tag) or self._joined_for(position, tag))[value] for value, tag in values]
            text[name] = own
            if any(tag for _, tag in values):
                language[name] = [tag for _, tag in values]
            count = sum(count for _, count in pieces)
            if count:
                terms[name] = [piece for piece, _ in pieces] if len(pieces) > 1 else pieces[0][0]
                self._collected.add(position, chain.from_iterable(piece.split(SEPARATOR) for piece, _ in pieces))
                length[name] = self._lengths[position][entity] = count
        made["terms"] = terms
        for key, held in (("text", text), ("language", language), ("length", length)):
            if held:
                made[key] = held
        if any(filters):
            made["filter"] = _filter_values(filters)
        return made

    def _joined_for(self, position: int, tag: str) -> JoinedTerms:
        """Tags with the same stemmer share what is remembered."""
        name = self._fields[position].analyzer
        stemmer = self._analyzers[name].stemmer(tag)
        if (name, stemmer) not in self._joined:
            self._joined[name, stemmer] = JoinedTerms(self._analyzers[name], stemmer)
        found = self._of_language[position][tag] = self._joined[name, stemmer]
        return found


def _filter_values(filters: Sequence[list[str]]) -> dict[str, list[str] | list[float]]:
    stored: dict[str, list[str] | list[float]] = {}
    for i, values in enumerate(filters):
        terms = [value for value in values if len(value) <= MAX_FILTER_VALUE_LENGTH]
        numbers = [number for value in values if (number := number_of(value)) is not None]
        if terms:
            stored[f"p{i}"] = terms
        if numbers:
            stored[f"n{i}"] = numbers
    return stored
