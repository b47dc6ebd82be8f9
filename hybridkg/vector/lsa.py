"""Latent semantic analysis: TF-IDF and a truncated SVD, learned from the knowledge base itself.

Deerwester, Dumais, Furnas, Landauer, Harshman: Indexing by latent semantic analysis, JASIS 41(6), 1990. A text is the
sum of its terms' weights, (1 + ln tf) ln(N / df), projected onto the directions in which the texts of the knowledge
base differ most (right singular vectors), and brought to length 1; documents and queries alike ("folding in", the
same, section 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.arrays import Layout, Reader, Writer
from hybridkg.errors import CorruptError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.interfaces.encoder import Texts, Vectors
from hybridkg.interfaces.progress import Progress

LAYOUT = Layout("hybridkg lsa", 1, "lsa.json", "lsa encoder")

DIMENSIONS = 256
"""Between 100 and 300 directions are where retrieval stops to gain (Dumais 1991; benchmarks/vectors)."""

MOST_TEXTS = 50_000
"""Texts that the directions are learned from, evenly spread; more change them little, and cost minutes."""

MOST_TERMS = 50_000
"""Terms kept, those of most texts; a rarer one stands for one text or two, and MATCH finds those."""

ANALYZER = "stopped"


class Lsa:
    """The kind."""

    def __init__(self, dimensions: int = DIMENSIONS, seed: int = 0):
        self._dimensions, self._seed = dimensions, seed

    def prepare(self, folder: Path, texts: Texts, progress: Progress) -> LsaEncoder:
        """Learns from at most MOST_TEXTS of the texts."""
        from scipy.sparse import csr_array

        from hybridkg.vector.svd import right_singular_vectors

        analyzer: Analyzer = ANALYZERS.get(ANALYZER)()
        terms_of = _Terms(analyzer)
        progress.start("learning directions from texts", None)
        total = sum(len(batch) for batch in texts())
        step = max(1, -(-total // MOST_TEXTS))
        counted = [terms_of.counts(text) for text in _every(texts(), step)]
        df = Counter(term for counts in counted for term in counts)
        kept = sorted((term for term, n in df.items() if n > 1), key=lambda term: (-df[term], term))[:MOST_TERMS]
        vocabulary = {term: i for i, term in enumerate(sorted(kept))}
        idf = np.array([log(len(counted) / df[term]) for term in vocabulary], np.float32)
        rows, columns, values = _weighted(counted, vocabulary, idf)
        matrix = csr_array((values, (rows, columns)), shape=(len(counted), len(vocabulary)), dtype=np.float32)
        if min(matrix.shape):
            directions = right_singular_vectors(matrix, self._dimensions, self._seed)
        else:
            directions = np.zeros((len(vocabulary), 0), np.float32)
        progress.done(len(counted))
        text = [term.encode() for term in vocabulary]
        ends = np.concatenate([[0], np.cumsum([len(term) for term in text])]).astype(np.uint64)
        writer = Writer(LAYOUT, folder)
        writer.write("terms.text", np.frombuffer(b"".join(text), np.uint8))
        writer.write("terms.offsets", ends)
        writer.write("idf", idf)
        writer.write("directions", directions)
        writer.finish({"analyzer": ANALYZER, "chain": analyzer.chain, "texts": len(counted), "seed": self._seed})
        return self.open(folder)

    def open(self, folder: Path) -> LsaEncoder:
        """As EncoderKind has it."""
        return LsaEncoder(Reader(LAYOUT, folder))


class LsaEncoder:
    """What has been learned.

    Args:
        reader: of its folder.
    """

    def __init__(self, reader: Reader):
        self._analyzer: Analyzer = ANALYZERS.get(str(reader.about("analyzer")))()
        if self._analyzer.chain != reader.about("chain"):
            raise CorruptError(
                f"the vectors were made with the analyzer {reader.about('chain')}, which is {self._analyzer.chain} now",
                hint="build the index again: hybridkg index KB",
            )
        self._text: NDArray[Any] = reader.array("terms.text")
        self._offsets: NDArray[Any] = reader.array("terms.offsets")
        self._idf: NDArray[Any] = reader.array("idf")
        self._directions: NDArray[Any] = reader.array("directions")

    @property
    def name(self) -> str:
        """Kind, version and dimensions."""
        return f"lsa/{LAYOUT.version} {self.dimensions}"

    @property
    def dimensions(self) -> int:
        """At most as many as there were texts or terms."""
        return int(self._directions.shape[1])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; zeros where no term of a text is known."""
        counted = [self._terms.counts(text) for text in texts]
        rows, columns, values = _weighted(counted, self._vocabulary, self._idf)
        found = np.zeros((len(texts), self.dimensions), np.float32)
        begins = np.searchsorted(rows, np.arange(len(texts) + 1))
        for i in np.flatnonzero(np.diff(begins)).tolist():
            own = slice(begins[i], begins[i + 1])
            found[i] = values[own] @ self._directions[columns[own]]
        return unit(found)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """The same as of passages."""
        return self.passages(texts)

    @cached_property
    def _terms(self) -> _Terms:
        return _Terms(self._analyzer)

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        text, ends = self._text.tobytes(), self._offsets.tolist()
        return {text[a:b].decode(): i for i, (a, b) in enumerate(pairwise(ends))}


class _Terms:
    """Terms of texts; each distinct word is analysed once."""

    def __init__(self, analyzer: Analyzer):
        self._analyzer, self._stemmer = analyzer, analyzer.stemmer("")
        self._known: dict[str, str] = {}

    def counts(self, text: str) -> Counter[str]:
        """How often each term occurs."""
        known, found = self._known, Counter[str]()
        for word, n in Counter(self._analyzer.words(text)).items():
            term = known.get(word)
            if term is None:
                term = known[word] = self._analyzer.term(word, self._stemmer) if word else ""
            if term:
                found[term] += n
        return found


def unit(rows: Vectors) -> Vectors:
    """Rows brought to length 1; rows of zeros stay.

    >>> unit(np.array([[3, 4], [0, 0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None], np.float32)


def _every(batches: Iterable[Sequence[str]], step: int) -> Iterable[str]:
    """The first text, and every one that many behind it."""
    at = 0
    for batch in batches:
        yield from batch[-at % step :: step]
        at += len(batch)


def _weighted(
    counted: Sequence[Counter[str]], vocabulary: dict[str, int], idf: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]:
    """TF-IDF rows of length 1: (row int64[c], ascending; column int64[c]; value float32[c])."""
    rows: list[int] = []
    columns: list[int] = []
    tf: list[int] = []
    for i, counts in enumerate(counted):
        for term, n in counts.items():
            column = vocabulary.get(term)
            if column is not None:
                rows.append(i)
                columns.append(column)
                tf.append(n)
    at, row = np.array(columns, np.int64), np.array(rows, np.int64)
    values = (1.0 + np.log(np.maximum(np.array(tf, np.float64), 1.0))) * idf[at]
    squares = np.bincount(row, values * values, len(counted))
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    return row, at, np.asarray(values / lengths[row], np.float32)
