"""Term numbering: from texts to streams of term numbers, in one thread.

Each distinct raw word is folded and stemmed once, and cached; so is each short text, because the label of a node recurs
with every link to it. The caches are bounded and do not change the result.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.index.build.runs import NEXT_VALUE, NO_TERM
from hybridkg.text.index.language_view import TaggedValues

MAX_CACHED_WORDS = 1_000_000
MAX_CACHED_WORD_LENGTH = 255

MAX_CACHED_VALUES = 200_000
"""Cached texts of at most about 300 bytes each."""
MAX_CACHED_VALUE_LENGTH = 150

MAX_LANGUAGE_TAGS = 1_000

Values = Sequence[tuple[str, str]]
"""(text, language tag or "") each."""


class TokenStream:
    """The token stream of records: one uint32 for each position, without records that have none.

    `tokens` has the concatenated slots of the records: term numbers, NO_TERM and NEXT_VALUE.
    """

    def __init__(self) -> None:
        self.tokens, self.entities, self.slots = array("I"), array("I"), array("I")
        self.tagged = TaggedValues()
        self.text_bytes = 0


class _TermNumbers(dict[str, int]):
    """A cache, raw word -> term number, of one stemmer, filled on demand and cleared when full."""

    def __init__(self, analyzer: Analyzer, stemmer: str, numbers: dict[str, int]):
        super().__init__()
        self._analyzer, self._stemmer, self._numbers = analyzer, stemmer, numbers
        self._values: dict[str, array[int]] = {}

    def tokens(self, text: str) -> Iterable[int]:
        """The term numbers of a text's words."""
        tokens = self._values.get(text)
        if tokens is not None:
            return tokens
        numbers = map(self.__getitem__, self._analyzer.words(text))
        if len(text) > MAX_CACHED_VALUE_LENGTH:
            return numbers
        if len(self._values) >= MAX_CACHED_VALUES:
            self._values.clear()
        tokens = self._values[text] = array("I", numbers)
        return tokens

    def forget_values(self) -> None:
        """Clears the cache of texts."""
        self._values.clear()

    def __missing__(self, word: str) -> int:
        term = self._analyzer.term(word, self._stemmer)
        number = self._numbers.setdefault(term, len(self._numbers)) if term else NO_TERM
        if len(word) <= MAX_CACHED_WORD_LENGTH:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = number
        return number


class TermNumberer:
    """Numbers terms in the order of their first occurrence, with analyzers by name. One thread at a time."""

    def __init__(self, analyzers: Mapping[str, Analyzer]):
        self.numbers: dict[str, int] = {}
        """Term -> number."""
        self._analyzers = analyzers
        self._words: dict[tuple[str, str], _TermNumbers] = {}
        self._of_language: dict[str, dict[str, _TermNumbers]] = {name: {} for name in analyzers}

    def add(
        self, name: str, records: Iterator[tuple[int, Values]], stream: TokenStream, n_nodes: int, max_bytes: float
    ) -> None:
        """Consumes records of one field until they end, or until the stream has `max_bytes` of text.

        Args:
            name: of the field's analyzer.
            records: (entity, values) each.
            stream: gets their tokens.
            n_nodes: exclusive upper bound of entities.
            max_bytes: of text.

        Raises:
            ValueError: an entity is out of range.
        """
        tokens, slots, entities, tagged = stream.tokens, stream.slots, stream.entities, stream.tagged
        of_language = self._of_language[name]
        text_bytes = stream.text_bytes
        if text_bytes >= max_bytes:
            return
        for entity, values in records:
            if not 0 <= entity < n_nodes:
                raise ValueError(f"entity {entity} is not below {n_nodes}")
            before, tag, changes = len(tokens), "", len(tagged.tags)
            for text, language in values:
                numbers = of_language.get(language) or self._numbers_for(name, language)
                if len(tokens) > before:
                    tokens.append(NEXT_VALUE)
                if language != tag:
                    tagged.start(len(slots), len(tokens) - before, language)
                    tag = language
                tokens.extend(numbers.tokens(text))
                text_bytes += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
            if len(tokens) > before:
                entities.append(entity)
                slots.append(len(tokens) - before)
            else:
                tagged.cut(changes)
            if text_bytes >= max_bytes:
                break
        stream.text_bytes = text_bytes

    @property
    def cached(self) -> int:
        """The number of cached words and terms."""
        return len(self.numbers) + sum(map(len, self._words.values()))

    def forget_values(self) -> None:
        """Clears the caches of texts."""
        for words in self._words.values():
            words.forget_values()

    def tokens(self, name: str, language: str, text: str) -> Iterable[int]:
        """The slots of one text."""
        return (self._of_language[name].get(language) or self._numbers_for(name, language)).tokens(text)

    def _numbers_for(self, name: str, language: str) -> _TermNumbers:
        """The term numbers for an analyzer and a language tag; tags with the same stemmer share them."""
        analyzer = self._analyzers[name]
        key = name, analyzer.stemmer(language)
        if key not in self._words:
            self._words[key] = _TermNumbers(analyzer, key[1], self.numbers)
        if len(self._of_language[name]) < MAX_LANGUAGE_TAGS:
            self._of_language[name][language] = self._words[key]
        return self._words[key]
