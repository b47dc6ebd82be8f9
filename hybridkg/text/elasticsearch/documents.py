"""The document of an entity: its texts, and their terms, one per line.

Analysed values and words are cached: the label of a node recurs with every link to it.
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
from hybridkg.text.elasticsearch.terms import TermSink
from hybridkg.text.index.layout import Array

MAX_CACHED_WORDS = 1_000_000
MAX_CACHED_WORD_LENGTH = 255
MAX_CACHED_VALUES = 200_000
MAX_CACHED_VALUE_LENGTH = 150


class _TermOfWord(dict[str, str]):
    """A cache from raw words to terms, with GAP for a word that is not indexed."""

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
    """A cache from texts to (joined terms with GAP for unindexed words, number of indexed words)."""

    def __init__(self, analyzer: Analyzer, stemmer: str):
        super().__init__()
        self._words, self._terms = analyzer.words, _TermOfWord(analyzer, stemmer)

    def __missing__(self, text: str) -> tuple[str, int]:
        terms = list(map(self._terms.__getitem__, self._words(text)))
        joined = SEPARATOR.join(terms), len(terms) - terms.count(GAP)
        if len(text) <= MAX_CACHED_VALUE_LENGTH:
            if len(self) >= MAX_CACHED_VALUES:
                self.clear()
            self[text] = joined
        return joined


class DocumentMaker:
    """Makes the documents of one index.

    Args:
        lengths: uint32[fields, nodes], filled as documents are made; None with native analysis, where the server
            analyses the texts.
        collected: receives the terms, except with native analysis.
    """

    def __init__(
        self,
        fields: Sequence[IndexedField],
        analyzers: Mapping[str, Analyzer],
        lengths: Array | None,
        collected: TermSink,
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
        """The document of an entity; arguments as of `ElasticTextBuilder.add`."""
        document: Body = {"node": entity}
        if type(node) is NamedNode:
            document["iri"] = node.value
        terms: Body = {}
        text, language, length = {}, {}, {}
        for position, values in texts:
            name = self._names[position]
            field_texts = [value for value, _ in values]
            for value in field_texts:
                self.text_bytes += len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
            if self._lengths is None:
                terms[name] = field_texts
                continue
            joined_of = self._of_language[position]
            pieces = [(joined_of.get(tag) or self._joined_for(position, tag))[value] for value, tag in values]
            text[name] = field_texts
            if any(tag for _, tag in values):
                language[name] = [tag for _, tag in values]
            count = sum(count for _, count in pieces)
            if count:
                terms[name] = [piece for piece, _ in pieces] if len(pieces) > 1 else pieces[0][0]
                self._collected.add(position, chain.from_iterable(piece.split(SEPARATOR) for piece, _ in pieces))
                length[name] = self._lengths[position][entity] = count
        document["terms"] = terms
        for key, part in (("text", text), ("language", language), ("length", length)):
            if part:
                document[key] = part
        if any(filters):
            document["filter"] = _filter_values(filters)
        return document

    def _joined_for(self, position: int, tag: str) -> JoinedTerms:
        """Tags with the same stemmer share a cache."""
        name = self._fields[position].analyzer
        stemmer = self._analyzers[name].stemmer(tag)
        if (name, stemmer) not in self._joined:
            self._joined[name, stemmer] = JoinedTerms(self._analyzers[name], stemmer)
        joined = self._of_language[position][tag] = self._joined[name, stemmer]
        return joined


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
