"""Latent semantic analysis (LSA): TF-IDF and a truncated SVD, trained on the knowledge base itself.

Deerwester, Dumais, Furnas, Landauer, Harshman: Indexing by latent semantic analysis, JASIS 41(6), 1990. A text is the
sum of its terms' weights, (1 + ln tf) ln((N + 1) / df), projected onto the right singular vectors of the knowledge
base's texts and normalised to length 1; documents and queries alike ("folding in", section 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.interfaces.encoder import NO_MODEL, ModelChoice, Texts, Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.storage.arrays import FolderLayout, MappedArrays, Writer

LAYOUT = FolderLayout("hybridkg lsa", 1, "lsa.json", "lsa encoder")

DIMENSIONS = 256
"""Retrieval stops to gain between 100 and 300 directions (Dumais 1991)."""

MAX_TEXTS = 25_000
"""Training texts, evenly spread: so many of the Anthology take 5 s."""

MAX_TERMS = 50_000
"""Vocabulary, by document frequency; rarer terms stand for few texts, which MATCH finds."""

MAX_WORDS = 1_000_000
"""Words in the cache of terms, about 100 bytes each."""

ANALYZER = "stopped"


class Lsa:
    """The encoder kind `lsa`."""

    takes_model, has_tokens, is_billed = False, False, False

    def __init__(self, choice: ModelChoice = NO_MODEL, *, dimensions: int = DIMENSIONS, seed: int = 0):
        self._dimensions, self._seed = dimensions, seed

    def fingerprint(self) -> str:
        """Empty: the encoder depends on the texts."""
        return ""

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> LsaEncoder:
        """Trains on at most MAX_TEXTS of the texts."""
        from scipy.sparse import csr_array

        from hybridkg.vector.encoders.svd import right_singular_vectors

        analyzer: Analyzer = ANALYZERS.get(ANALYZER)()
        progress.start("learning directions from texts", None)
        numbers = dict[str, int]()
        counted = _counted(_every(texts(), -(-count // MAX_TEXTS)), _Terms(analyzer, numbers, grows=True))
        df = np.bincount(counted.columns[counted.columns >= 0], minlength=len(numbers))
        by_number = list(numbers)
        common = sorted(range(len(df)), key=lambda n: (-df[n], by_number[n]))[:MAX_TERMS]
        chosen = sorted(common, key=by_number.__getitem__)
        vocabulary = [by_number[n] for n in chosen]
        idf = np.log((counted.texts + 1) / df[chosen]).astype(np.float32)
        column_of = np.full(len(numbers) + 1, -1)
        column_of[chosen] = np.arange(len(chosen))
        counted = replace(counted, columns=column_of[counted.columns])
        rows, columns, values = _weighted(counted, idf)
        matrix = csr_array((values, (rows, columns)), shape=(counted.texts, len(vocabulary)), dtype=np.float32)
        if min(matrix.shape):
            directions = right_singular_vectors(matrix, self._dimensions, self._seed)
        else:
            directions = np.zeros((len(vocabulary), 0), np.float32)
        progress.done(counted.texts)
        text = [term.encode() for term in vocabulary]
        ends = np.concatenate([[0], np.cumsum([len(term) for term in text])]).astype(np.uint64)
        writer = Writer(LAYOUT, folder)
        writer.write("terms.text", np.frombuffer(b"".join(text), np.uint8))
        writer.write("terms.offsets", ends)
        writer.write("idf", idf)
        writer.write("directions", directions)
        writer.finish({"analyzer": ANALYZER, "chain": analyzer.chain, "texts": counted.texts, "seed": self._seed})
        return self.open(folder)

    def open(self, folder: Path) -> LsaEncoder:
        return LsaEncoder(MappedArrays(LAYOUT, folder))


class LsaEncoder:
    """LSA encoder: the analyzer, idf and directions of a trained folder."""

    def __init__(self, reader: MappedArrays):
        self._analyzer: Analyzer = ANALYZERS.get(str(reader.about("analyzer")))()
        if self._analyzer.chain != reader.about("chain"):
            raise CorruptError(
                f"the vectors were made with the analyzer {reader.about('chain')}, which is now {self._analyzer.chain}",
                hint="build the index again: hybridkg index KB",
            )
        self._text: NDArray[Any] = reader.array("terms.text")
        self._offsets: NDArray[Any] = reader.array("terms.offsets")
        self._idf: NDArray[Any] = reader.array("idf")
        self._directions: NDArray[Any] = reader.array("directions")

    @property
    def name(self) -> str:
        return f"lsa/{LAYOUT.version} {self.dimensions}"

    @property
    def dimensions(self) -> int:
        """At most the number of texts or terms."""
        return int(self._directions.shape[1])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; zeros where a text has no term of the vocabulary."""
        rows, columns, values = _weighted(_counted(texts, self._terms), self._idf)
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        begins = np.searchsorted(rows, np.arange(len(texts) + 1))
        for i in np.flatnonzero(np.diff(begins)).tolist():
            own = slice(begins[i], begins[i + 1])
            vectors[i] = values[own] @ self._directions[columns[own]]
        return unit(vectors)

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self.passages(texts)

    def word_vectors(self, words: Sequence[str]) -> Vectors:
        """float32[len(words), dimensions]: the direction of each word's term times its idf; zeros without a term."""
        columns = np.array([self._terms[word] for word in words], np.int64)
        vectors = np.zeros((len(words), self.dimensions), np.float32)
        known = columns >= 0
        vectors[known] = self._directions[columns[known]] * self._idf[columns[known], None]
        return vectors

    @cached_property
    def _terms(self) -> _Terms:
        text, ends = self._text.tobytes(), self._offsets.tolist()
        return _Terms(self._analyzer, {text[a:b].decode(): i for i, (a, b) in enumerate(pairwise(ends))})


class _Terms(dict[str, int]):
    """Column of each word, -1 for none; a word is analysed once. New terms get the next column where `grows`."""

    def __init__(self, analyzer: Analyzer, numbers: dict[str, int], *, grows: bool = False):
        self._analyzer, self._stemmer, self._numbers, self._grows = analyzer, analyzer.stemmer(""), numbers, grows

    def words(self, text: str) -> list[str]:
        if len(self) > MAX_WORDS:
            self.clear()
        return self._analyzer.words(text)

    def __missing__(self, word: str) -> int:
        term = self._analyzer.term(word, self._stemmer) if word else ""
        number = -1
        if term:
            number = self._numbers.setdefault(term, len(self._numbers)) if self._grows else self._numbers.get(term, -1)
        self[word] = number
        return number


@dataclass(frozen=True)
class _Counted:
    """Terms of texts as a sparse matrix: entry i has text rows[i] and term columns[i], -1 for an unknown one."""

    texts: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    tf: NDArray[np.int64]


def _counted(texts: Iterable[str], terms: _Terms) -> _Counted:
    counts = [Counter(map(terms.__getitem__, terms.words(text))) for text in texts]
    sizes = np.fromiter(map(len, counts), np.int64, len(counts))
    entries = int(sizes.sum())
    return _Counted(
        len(counts),
        np.repeat(np.arange(len(counts)), sizes),
        np.fromiter(chain.from_iterable(counts), np.int64, entries),
        np.fromiter(chain.from_iterable(count.values() for count in counts), np.int64, entries),
    )


def unit(rows: Vectors) -> Vectors:
    """Rows normalised to length 1; rows of zeros stay.

    >>> unit(np.array([[3, 4], [0, 0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None], np.float32)


def _every(batches: Iterable[Sequence[str]], step: int) -> Iterable[str]:
    """The first text, and every step-th after it."""
    at, step = 0, max(1, step)
    for batch in batches:
        yield from batch[-at % step :: step]
        at += len(batch)


def _weighted(counted: _Counted, idf: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """TF-IDF rows of length 1, without unknown terms: (row, ascending; column; value)."""
    present = counted.columns >= 0
    rows, columns = counted.rows[present], counted.columns[present]
    values = (1.0 + np.log(counted.tf[present])) * idf[columns]
    squares = np.bincount(rows, values * values, counted.texts)
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    return rows, columns, np.asarray(values / lengths[rows], np.float32)
