"""The analysis of a batch: texts of one field to term numbers.

The bytes of a batch are the analyzer with its chain, the texts and their languages, without entities or the rest of the
index. So its result is deterministic, and is cached in a file named by the hash of these bytes. Term numbers are local
to the batch, in the order of first occurrence. A file is validated when read: checksum, sizes, ranges.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg import __version__
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.text.index.build.runs import NEXT_VALUE, U32
from hybridkg.text.index.build.token_columns import (
    KERNEL,
    MAX_LETTERS,
    Texts,
    TokenColumns,
    ValueTokens,
    Words,
    analyze_columns,
    laid_out_values,
    supports_columns,
)
from hybridkg.text.index.build.tokens import TermNumberer, TokenStream, Values
from hybridkg.text.index.postings import prefixes_of

VERSION = 1
"""Version of both formats; part of the file name, so that files of another version are never read."""

MAX_CACHED_TERMS = 3_000_000
"""Distinct terms at which an analyzer of batches clears its caches."""

BYTES_OF_TERM = 150
"""Of a cached term or word, about."""

COMPILED_FROM = 16_000
"""Bytes of a batch that the kernel analyses; a smaller one takes less time than the tables of the kernel."""

STEPS_OF_BYTE = 3
"""Steps of LazyKernel.for_work: 1 MB without the kernel takes as long as loading it, half a second."""

_MAGIC = b"hybridkg-batch\n"
_SEPARATOR = "\0"
_ARRAYS = ("tokens", "records", "slots", "changed", "changed_at", "tags")


@dataclass(frozen=True)
class AnalyzedBatch:
    """An analysed batch.

    Args:
        terms: distinct terms, in the order of their numbers.
        tokens: uint32[n], the concatenated slots of the records.
        records: uint32[r], ascending: the records that have any slot, by their place in the batch.
        slots: uint32[r], slots of each, at least 1.
        changed, changed_at, tags: uint32[c], changes of language: position in `records`, ascending, slot, and language.
        languages: lower-case tags.
        text_bytes: of the texts in UTF-8.
    """

    terms: list[str]
    tokens: U32
    records: U32
    slots: U32
    changed: U32
    changed_at: U32
    tags: U32
    languages: tuple[str, ...]
    text_bytes: int

    def write(self, path: Path) -> bool:
        """Writes a file atomically; false where a term contains the separator.

        Raises:
            OSError: the disk refuses.
        """
        text = _SEPARATOR.join(self.terms)
        if len(self.terms) > 1 and text.count(_SEPARATOR) != len(self.terms) - 1:
            return False
        parts = [getattr(self, name).tobytes() for name in _ARRAYS] + [text.encode("utf-8", "surrogatepass")]
        head = {
            "sizes": [len(part) for part in parts], "terms": len(self.terms), "languages": self.languages,
            "text_bytes": self.text_bytes,
        }  # fmt: skip
        parts.insert(0, json.dumps(head).encode() + b"\n")
        crc = 0
        for part in parts:
            crc = zlib.crc32(part, crc)
        path.parent.mkdir(exist_ok=True)
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(_MAGIC + crc.to_bytes(4, "little"))
            file.writelines(parts)
        new.replace(path)
        return True

    @classmethod
    def read(cls, path: Path, records: int) -> AnalyzedBatch | None:
        """Reads a file; None where it is missing, damaged or of a batch with another number of records."""
        try:
            data = memoryview(path.read_bytes())
        except OSError:
            return None
        start = len(_MAGIC) + 4
        if bytes(data[: len(_MAGIC)]) != _MAGIC or zlib.crc32(data[start:]) != int.from_bytes(
            data[len(_MAGIC) : start], "little"
        ):
            return None
        try:
            return _checked(data[start:], records)
        except (ValueError, TypeError, KeyError, IndexError, RecursionError):
            return None


def _checked(data: memoryview, records: int) -> AnalyzedBatch:
    """The contents of a file.

    Raises:
        ValueError, TypeError, KeyError, IndexError: the file is damaged.
    """
    end_of_head = bytes(data[:1_000_000]).index(b"\n") + 1
    head = json.loads(bytes(data[:end_of_head]))
    cuts = [end_of_head, *accumulate(head["sizes"], initial=end_of_head)][1:]
    if len(cuts) != len(_ARRAYS) + 2 or cuts[-1] != len(data) or any(b < a for a, b in pairwise(cuts)):
        raise ValueError("wrong sizes")
    pieces = [data[a:b] for a, b in pairwise(cuts)]
    arrays = {name: np.frombuffer(piece, np.uint32) for name, piece in zip(_ARRAYS, pieces, strict=False)}
    text = str(pieces[-1], "utf-8", "surrogatepass")
    terms = text.split(_SEPARATOR) if head["terms"] else []
    languages = tuple(str(tag) for tag in head["languages"])
    batch = AnalyzedBatch(terms, **arrays, languages=languages, text_bytes=int(head["text_bytes"]))
    real = batch.tokens[batch.tokens < NEXT_VALUE]
    lengths = {len(batch.changed), len(batch.changed_at), len(batch.tags)}
    if (
        len(terms) != head["terms"]
        or len(batch.records) != len(batch.slots)
        or int(batch.slots.sum(dtype=np.uint64)) != len(batch.tokens)
        or not _below(real, len(terms))
        or not _below(batch.records, records)
        or np.any(batch.records[1:] <= batch.records[:-1])
        or len(lengths) != 1
        or not _below(batch.changed, len(batch.records))
        or np.any(batch.changed[1:] < batch.changed[:-1])
        or not _below(batch.tags, len(languages))
        or np.any(batch.changed_at > batch.slots[batch.changed])
    ):
        raise ValueError("wrong contents")
    return batch


def _below(values: U32, end: int) -> bool:
    return not len(values) or int(values.max()) < end


def payload_of(name: str, chain: str, texts: list[str], languages: list[str], counts: list[int]) -> bytes:
    """The bytes of a batch: the analyzer, the texts and tags of all values, the number of values of each record."""
    numbers = {tag: number for number, tag in enumerate(dict.fromkeys(languages))}
    tags = [numbers[tag] for tag in languages] if len(numbers) > 1 else []
    data, sizes = _joined(texts)
    parts = [
        np.array(counts, np.uint32).tobytes(),
        np.array(sizes, np.uint32).tobytes(),
        np.array(tags, np.uint32).tobytes(),
        data,
    ]
    head = {
        "version": VERSION, "hybridkg": __version__, "python": sys.version_info[:2], "analyzer": name, "chain": chain,
        "languages": list(numbers), "sizes": [len(part) for part in parts],
    }  # fmt: skip
    return b"".join([json.dumps(head).encode(), b"\n", *parts])


def _joined(texts: list[str]) -> tuple[bytes, list[int]]:
    """Texts in UTF-8, one behind the other, and the bytes of each."""
    whole = "".join(texts)
    if whole.isascii():
        return whole.encode(), [*map(len, texts)]
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return b"".join(encoded), [*map(len, encoded)]


def key_of(payload: bytes) -> str:
    """The file name of the result of a batch.

    >>> key_of(b"texts")
    '3bc2daa42a18ca51b0262ee9a0cc05d5'
    """
    return hashlib.blake2b(payload, digest_size=16).hexdigest()


class TermBytes:
    """Terms in UTF-8 by their numbers, with their first eight bytes, which sort nearly all of them."""

    def __init__(self) -> None:
        self._terms: list[bytes] = []
        self._prefixes = np.zeros(0, np.uint64)

    def __len__(self) -> int:
        return len(self._terms)

    def extend(self, terms: dict[str, int]) -> None:
        """Adds those of some terms that are new; their numbers ascend from 0."""
        new = [term.encode("utf-8", "surrogatepass") for term in islice(reversed(terms), len(terms) - len(self))]
        if new:
            new.reverse()
            self._terms += new
            self._prefixes = np.concatenate([self._prefixes, prefixes_of(new)])

    def in_order(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[bytes]]:
        """Distinct numbers in the order of their terms, and these.

        >>> terms = TermBytes()
        >>> terms.extend({"seafarers": 0, "red": 1, "seafarer": 2})
        >>> numbers, found = terms.in_order(np.array([0, 1, 2]))
        >>> numbers.tolist(), found
        ([1, 2, 0], [b'red', b'seafarer', b'seafarers'])
        """
        own: list[int] = numbers[np.argsort(self._prefixes[numbers], kind="stable")].tolist()
        own.sort(key=self._terms.__getitem__)  # nearly sorted, and equal prefixes are not
        return np.array(own, np.int64), [self._terms[number] for number in own]


class BatchAnalyzer:
    """Analyses batches; its caches do not change the result. One thread at a time.

    Args:
        analyzers: by name.
        compiled_from: minimum bytes of a batch for the compiled kernel, which gives the same result.
    """

    def __init__(self, analyzers: Mapping[str, Analyzer], *, compiled_from: float = COMPILED_FROM):
        self._analyzers, self._compiled_from = analyzers, compiled_from
        self._reset()

    def chain(self, name: str) -> str:
        """The chain of an analyzer, which a batch names."""
        return self._analyzers[name].chain

    def _reset(self) -> None:
        self._analysis = TermNumberer(self._analyzers)
        self._words: Words | None = None
        self._terms = TermBytes()

    def _words_for(self, size: int) -> Words | None:
        """The words so far; None where a batch of `size` bytes does not justify loading the kernel."""
        if size < self._compiled_from:
            return None
        if self._words is None and (kernel := KERNEL.for_work(STEPS_OF_BYTE * size)) is not None:
            self._words = Words(kernel)
        return self._words

    def _make_room(self) -> None:
        letters = 0 if self._words is None else self._words.letters
        if len(self._analysis.numbers) > MAX_CACHED_TERMS or letters > MAX_LETTERS:
            self._reset()

    @property
    def held(self) -> int:
        """Bytes of the cached terms and words, about."""
        letters = 0 if self._words is None else self._words.letters
        return BYTES_OF_TERM * self._analysis.cached + letters

    def forget_values(self) -> None:
        """Clears the cache of whole texts, which serves within a batch."""
        self._analysis.forget_values()

    def streams(self, fields: Sequence[tuple[str, EntityValues]]) -> tuple[list[TokenColumns], TermBytes]:
        """The token streams of the values of entities, with numbers of terms, and these terms.

        Args:
            fields: (analyzer, values); those that share an analyzer and `values` share their analysis.

        Raises:
            KeyError: an analyzer is unknown.
        """
        self._make_room()
        analysed: dict[tuple[str, int], tuple[Texts, ValueTokens] | None] = {}
        found = list[TokenColumns]()
        for name, own in fields:
            key = name, id(own.values)
            if key not in analysed:
                analysed[key] = self._value_tokens(name, own)
            held = analysed[key]
            if held is None:
                found.append(_one_by_one(own, len(own), name, self._analysis))
            else:
                found.append(laid_out_values(*held, own.counts, own.codes))
        self._terms.extend(self._analysis.numbers)
        return found, self._terms

    def _value_tokens(self, name: str, own: EntityValues) -> tuple[Texts, ValueTokens] | None:
        """The tokens of distinct values; None where they are analysed one by one."""
        analyzer, tags = self._analyzers[name], list(dict.fromkeys(tag for _, tag in own.values))
        whole, sizes = _joined([text for text, _ in own.values])
        words = self._words_for(len(whole))
        if words is None or not supports_columns(analyzer, tags):
            return None
        number = {tag: i for i, tag in enumerate(tags)}
        of_values = np.array([number[tag] for _, tag in own.values], np.int64)
        counts = np.ones(len(own.values), np.int64)
        texts = Texts(counts, np.cumsum(sizes, dtype=np.int64), of_values, tags, np.frombuffer(whole, np.uint8))
        return texts, ValueTokens.of(texts, name, analyzer, self._analysis, words)

    def analyze(self, payload: bytes) -> AnalyzedBatch:
        """Analyses a batch of `payload_of`.

        Raises:
            KeyError: the analyzer is unknown.
            ValueError: the analyzer has another chain.
        """
        self._make_room()
        end_of_head = payload.index(b"\n") + 1
        head: dict[str, Any] = json.loads(payload[:end_of_head])
        name = head["analyzer"]
        analyzer = self._analyzers[name]
        if analyzer.chain != head["chain"]:
            raise ValueError(f"the local analyzer {name!r} has another chain")
        texts = _texts(payload, list(accumulate(head["sizes"], initial=end_of_head)), head["languages"])
        words = self._words_for(len(payload))
        if words is not None and supports_columns(analyzer, texts.languages):
            stream = analyze_columns(texts, name, analyzer, self._analysis, words)
        else:
            stream = _read_one_by_one(texts, name, self._analysis)
        return _numbered_alone(stream, self._analysis.numbers, len(texts.text))


def _texts(payload: bytes, cuts: list[int], languages: list[str]) -> Texts:
    counts, lengths, tags = (np.frombuffer(payload[a:b], np.uint32).astype(np.int64) for a, b in pairwise(cuts[:4]))
    text = np.frombuffer(payload, np.uint8, cuts[4] - cuts[3], cuts[3])
    return Texts(counts, np.cumsum(lengths), tags if len(tags) else np.zeros_like(lengths), languages, text)


def _read_one_by_one(texts: Texts, name: str, analysis: TermNumberer) -> TokenColumns:
    """The reference implementation of `analyze_columns`, for every analyzer."""
    values = ((texts.value(i), texts.languages[tag]) for i, tag in enumerate(texts.tags.tolist()))
    entries = (list(islice(values, count)) for count in texts.counts.tolist())
    return _one_by_one(enumerate(entries), len(texts.counts), name, analysis)


def _one_by_one(entries: Iterable[tuple[int, Values]], n: int, name: str, analysis: TermNumberer) -> TokenColumns:
    """The token stream of `n` records."""
    stream = TokenStream()
    analysis.add(name, ((i, values) for i, (_, values) in enumerate(entries)), stream, n, float("inf"))
    tagged = stream.tagged
    streams = (stream.tokens, stream.entities, stream.slots, tagged.records, tagged.slots, tagged.tags)
    tokens, records, slots, changed, changed_at, tags = map(_array, streams)
    return TokenColumns(tokens, records, slots, changed, changed_at, tags, tuple(tagged.numbers))


def _numbered_alone(stream: TokenColumns, numbers: dict[str, int], text_bytes: int) -> AnalyzedBatch:
    """The batch of a stream, with local term numbers in the order of first occurrence."""
    tokens = stream.tokens
    real = tokens < NEXT_VALUE
    met = tokens[real]
    first = np.full(len(numbers), len(met), np.int64)
    first[met[::-1]] = np.arange(len(met) - 1, -1, -1)  # the last assignment wins
    present = np.flatnonzero(first < len(met))
    present = present[np.argsort(first[present])]
    local_numbers = np.zeros(len(numbers), np.uint32)
    local_numbers[present] = np.arange(len(present), dtype=np.uint32)
    local = tokens.copy()
    local[real] = local_numbers[met]
    all_terms = list(numbers)
    terms = [all_terms[number] for number in present.tolist()]
    others = {name: getattr(stream, name) for name in (*_ARRAYS[1:], "languages")}
    return AnalyzedBatch(terms, local, **others, text_bytes=text_bytes)


def _array(values: Any) -> NDArray[np.uint32]:
    return np.frombuffer(values, np.uint32) if len(values) else np.zeros(0, np.uint32)
