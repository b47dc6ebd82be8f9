"""Builds an embedded text index: text in, sorted postings out.

Each distinct raw word is folded and stemmed once, then looked up. Token
streams go to temporary files and are sorted in chunks, so memory holds the
vocabulary, two bounded chunks and the field lengths, but never all tokens. A
field that is complete is sorted in a thread of its own while others still
grow; numpy sorts without the interpreter's lock. The same input gives the same
bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ProfileError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.embedded.languages import LanguageRuns, TaggedValues, places_of
from hybridkg.text.embedded.runs import (
    CHUNK_TOKENS,
    NEXT_VALUE,
    NO_TERM,
    Run,
    chunks,
    sort_run,
    write_postings,
)
from hybridkg.text.layout import ArrayWriter
from hybridkg.text.presence import MOST_FIELDS, describe_fields, write_presence

MOST_REMEMBERED_WORDS = 1_000_000
LONGEST_REMEMBERED_WORD = 255

MOST_REMEMBERED_VALUES = 200_000
"""The label of a node comes back with every link to it; at most about 300 bytes each."""
LONGEST_REMEMBERED_VALUE = 150

MOST_LANGUAGE_TAGS = 1_000
_SPILL_TOKENS = 1_000_000
_MOST_TOKENS_KEPT = 100_000
"""Tokens of a sorted chunk that may wait in memory for the end; larger ones wait in a temporary file."""


class _TermNumbers(dict[str, int]):
    """Raw word -> term number, filled on demand; forgets everything when it grows too large.

    Args:
        analyzer: turns words into terms.
        stemmer: key of the language, from the analyzer.
        numbers: term -> number of the whole index, shared by all languages.
    """

    def __init__(self, analyzer: Analyzer, stemmer: str, numbers: dict[str, int]):
        super().__init__()
        self._analyzer, self._stemmer, self._numbers = analyzer, stemmer, numbers
        self._values: dict[str, array[int]] = {}

    def tokens(self, text: str) -> Iterable[int]:
        """The term numbers of a text's words."""
        tokens = self._values.get(text)
        if tokens is not None:
            return tokens
        found = map(self.__getitem__, self._analyzer.words(text))
        if len(text) > LONGEST_REMEMBERED_VALUE:
            return found
        if len(self._values) >= MOST_REMEMBERED_VALUES:
            self._values.clear()
        tokens = self._values[text] = array("I", found)
        return tokens

    def __missing__(self, word: str) -> int:
        term = self._analyzer.term(word, self._stemmer)
        number = self._numbers.setdefault(term, len(self._numbers)) if term else NO_TERM
        if len(word) <= LONGEST_REMEMBERED_WORD:
            if len(self) >= MOST_REMEMBERED_WORDS:
                self.clear()
            self[word] = number
        return number


class _FieldTokens:
    """The token stream of one field, in a temporary file beyond the last million tokens."""

    def __init__(self, path: Path):
        self.path = path
        self.tokens = array("I")
        self.entities = array("I")
        self.slots = array("I")
        self.tagged = TaggedValues()
        self._spilled = False

    def end_record(self, entity: int, slots: int) -> None:
        self.entities.append(entity)
        self.slots.append(slots)
        if len(self.tokens) >= _SPILL_TOKENS:
            with self.path.open("ab") as file:
                self.tokens.tofile(file)
            self._spilled = True
            del self.tokens[:]

    def stream(self) -> NDArray[np.uint32]:
        if not self._spilled:
            return np.frombuffer(self.tokens, np.uint32)
        with self.path.open("ab") as file:
            self.tokens.tofile(file)
        del self.tokens[:]
        return np.memmap(self.path, np.uint32, mode="r")


@dataclass(frozen=True)
class _SortedField:
    """A field's runs and languages, and uint32[r] each: its entities, ascending, with their numbers of tokens."""

    runs: list[Run]
    languages: LanguageRuns
    entities: NDArray[np.uint32]
    tokens: NDArray[np.uint32]


class EmbeddedTextBuilder:
    """Builds a text index in an empty folder; nothing is readable before `finish` returns.

    Args:
        folder: an existing empty folder.
        fields: what the index stores, in the profile's order; at most 64.
        n_nodes: ids are below this.
        chunk_tokens: tokens sorted at once; bounds the memory, never changes the result.

    Raises:
        UnknownNameError: a field names an unknown analyzer.
        ProfileError: too many fields, or two of one name.
    """

    def __init__(self, folder: Path, fields: Sequence[IndexedField], n_nodes: int, *, chunk_tokens: int = CHUNK_TOKENS):
        if len(fields) > MOST_FIELDS:
            raise ProfileError(f"{len(fields)} text fields; an index holds at most {MOST_FIELDS}")
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise ProfileError(f"two text fields are named {name!r}")
        self._folder, self._fields, self._n_nodes, self._chunk_tokens = folder, fields, n_nodes, chunk_tokens
        self._analyzers: dict[str, Analyzer] = {
            name: ANALYZERS.get(name)() for name in sorted({f.analyzer for f in fields})
        }
        self._streams = [_FieldTokens(folder / f"field{i}.tokens.tmp") for i in range(len(fields))]
        self._numbers: dict[str, int] = {}
        self._words: dict[tuple[str, str], _TermNumbers] = {}
        self._of_language: dict[str, dict[str, _TermNumbers]] = {name: {} for name in self._analyzers}
        self._text_bytes = 0
        self._sorter = ThreadPoolExecutor(1, "hybridkg-sorter")
        self._sorted: dict[int, Future[_SortedField]] = {}

    def add(self, entity: int, field: int, values: Sequence[tuple[str, str]]) -> None:
        """All values of one field of one entity, once: (text, language tag or ""), in a deterministic order.

        Args:
            entity: id of the node; ascending order is fastest, any order gives the same index.
            field: position in the list of fields.
            values: the texts; a phrase never matches across two of them.
        """
        self.add_all(field, ((entity, values),))

    def add_all(self, field: int, records: Iterable[tuple[int, Sequence[tuple[str, str]]]]) -> None:
        """The same for many entities, (entity, values) each; a third faster for short texts."""
        name, stream = self._fields[field].analyzer, self._streams[field]
        tokens, of_language, end_record = stream.tokens, self._of_language[name], stream.end_record
        tagged = stream.tagged
        text_bytes = 0
        for entity, values in records:
            if not 0 <= entity < self._n_nodes:
                raise ValueError(f"entity {entity} is not below {self._n_nodes}")
            before, tag, changes = len(tokens), "", len(tagged.tags)
            for text, language in values:
                numbers = of_language.get(language) or self._numbers_for(name, language)
                if len(tokens) > before:
                    tokens.append(NEXT_VALUE)
                if language != tag:
                    tagged.start(len(stream.slots), len(tokens) - before, language)
                    tag = language
                tokens.extend(numbers.tokens(text))
                text_bytes += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
            if len(tokens) > before:
                end_record(entity, len(tokens) - before)
            else:
                tagged.cut(changes)
        self._text_bytes += text_bytes

    def _numbers_for(self, name: str, language: str) -> _TermNumbers:
        """The term numbers for an analyzer and a language tag; tags with the same stemmer share them."""
        analyzer = self._analyzers[name]
        key = name, analyzer.stemmer(language)
        if key not in self._words:
            self._words[key] = _TermNumbers(analyzer, key[1], self._numbers)
        if len(self._of_language[name]) < MOST_LANGUAGE_TAGS:
            self._of_language[name][language] = self._words[key]
        return self._words[key]

    def renumber(self, ids: Sequence[int], n_nodes: int) -> None:
        """Gives final ids to the entities added so far, whose numbers were provisional.

        Args:
            ids: the id of each provisional number; distinct.
            n_nodes: ids are below this, from now on.
        """
        final = np.asarray(ids, np.uint32)
        for stream in self._streams:
            stream.entities = array("I", final[np.frombuffer(stream.entities, np.uint32)].tobytes())
        self._n_nodes = n_nodes

    def complete(self, field: int) -> None:
        """Tells that `add` will not be called for this field again; saves time, never changes the result."""
        if field not in self._sorted:
            self._sorted[field] = self._sorter.submit(self._sort, field)

    def close(self) -> None:
        """Stops the work in the background; needed when `finish` was not reached."""
        self._sorter.shutdown(cancel_futures=True)

    def finish(self) -> dict[str, int]:
        """Writes the index and returns its counts: entities, terms, postings, tokens, text_bytes."""
        out = ArrayWriter(self._folder)
        terms = sorted(self._numbers)
        place = np.zeros(len(terms), np.int64)
        place[[self._numbers[term] for term in terms]] = np.arange(len(terms))
        self._write_terms(out, terms)
        self._words.clear()
        self._of_language.clear()
        lengths = out.create("lengths", "<u4", (len(self._fields), self._n_nodes))
        postings = 0
        languages: list[tuple[str, ...]] = []
        for i in range(len(self._fields)):
            self.complete(i)
        for i in range(len(self._fields)):
            field = self._sorted.pop(i).result()
            lengths[i][field.entities] = field.tokens
            postings += write_postings(out, f"field{i}", field.runs, place)
            field.languages.write(out, f"field{i}")
            languages.append(field.languages.languages)
            del field
            for path in sorted(self._folder.glob(f"field{i}.*.tmp")):
                path.unlink()
        self.close()
        entities = write_presence(out, lengths)
        counts = {
            "entities": entities,
            "terms": len(terms),
            "postings": postings,
            "tokens": int(lengths.sum(dtype=np.int64)),
            "text_bytes": self._text_bytes,
        }
        described = describe_fields([(f.name, f.weight, f.b, f.analyzer) for f in self._fields], lengths)
        for about, own in zip(described, languages, strict=True):
            about["languages"] = list(own)
        chains = {name: analyzer.chain for name, analyzer in self._analyzers.items()}
        out.finish({"n_nodes": self._n_nodes, "fields": described, "analyzers": chains, "counts": counts})
        return counts

    def _write_terms(self, out: ArrayWriter, terms: list[str]) -> None:
        encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.uint64)
        out.write("terms.offsets", ends)
        out.write("terms.text", np.frombuffer(b"".join(encoded), np.uint8))

    def _sort(self, i: int) -> _SortedField:
        """Sorts a field chunk by chunk in entity order."""
        stream = self._streams[i]
        entities = np.frombuffer(stream.entities, np.uint32)
        slots = np.frombuffer(stream.slots, np.uint32)
        starts = np.cumsum(slots, dtype=np.int64) - slots
        order = np.argsort(entities, kind="stable")
        entities, slots, starts = entities[order], slots[order], starts[order]
        if np.any(entities[1:] == entities[:-1]):
            raise ValueError(f"field {self._fields[i].name!r} of one entity was added twice")
        tokens = stream.stream()
        ranges = list(chunks(slots, self._chunk_tokens))
        runs: list[Run] = []
        counts = np.zeros(len(entities), np.uint32)
        changed, changed_at, tags = stream.tagged.ordered(order)
        positions, lengths = np.zeros(len(changed), np.uint32), np.zeros(len(changed), np.uint32)
        for first, last in ranges:
            own = slots[first:last]
            ends = np.cumsum(own, dtype=np.int64)
            picked = np.repeat(starts[first:last] - (ends - own), own) + np.arange(int(ends[-1]))
            chunk = np.asarray(tokens[picked])
            run, counts[first:last] = sort_run(chunk, entities[first:last], own)
            inside = slice(*np.searchsorted(changed, (first, last)))
            if inside.stop > inside.start:
                records = changed[inside] - np.uint32(first)
                positions[inside], lengths[inside] = places_of(chunk, own, records, changed_at[inside])
            few = len(run.positions) <= _MOST_TOKENS_KEPT
            runs.append(run if few else run.spill(self._folder / f"field{i}.run{len(runs)}.tmp"))
        languages = LanguageRuns.of(entities[changed], positions, tags, lengths, stream.tagged.numbers)
        return _SortedField(runs, languages, entities, counts)
