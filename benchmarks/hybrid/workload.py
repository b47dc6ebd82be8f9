"""The questions: ten shapes of graph pattern, times text terms, filter, correlation and k; the same for the same seed.

A question asks for the k best papers for one to three words among those that
satisfy a pattern. Its cell is

- shape: see SHAPES;
- band of its words, by the share of papers that have them (BANDS);
- filter: constants that leave about 0.1 % of the papers (selective), or about 8 %, or as many as there can be
  (unselective); a type alone leaves all;
- correlation of words and filter: words of the field that the filter is about (positive), of a field of another area
  (negative), or of the background (none);
- k: 10 or 100.

Each cell has one question for tuning and one for evaluation, with words and constants of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid import texts
from benchmarks.hybrid.graph import AREAS, FIRST_AREA, FIRST_LEAF, FIRST_YEAR, LEAVES, SEED, YEARS, Graph, distinct
from benchmarks.hybrid.texts import vocabulary

SHAPES = ("type", "field", "two_hop", "star", "coauthor", "cites", "union", "negation", "year", "optional")
BANDS = {"rare": (1e-4, 1e-3), "middle": (2e-3, 2e-2), "common": (4e-2, 4e-1)}
"""Least and greatest share of the papers that have a word."""
FEWEST = 3
"""A word is in at least so many papers."""
FILTERS = {"selective": 1e-3, "unselective": 8e-2}
CORRELATIONS = ("none", "positive", "negative")
KS = (10, 100)
HALVES = ("tuning", "evaluation")
NEAREST = 12
"""Constants are drawn from so many whose size is nearest to what is wanted."""


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        number: its place in the workload.
        half: of HALVES.
        shape: of SHAPES.
        band: of BANDS.
        filter: of FILTERS, or "all".
        correlation: of CORRELATIONS.
        k: papers wanted.
        words: of the text, blanks between them.
        constants: name (field, venue, institution, author, paper, low, high) to number.
        minus: a negation as MINUS; otherwise as NOT EXISTS.
    """

    number: int
    half: str
    shape: str
    band: str
    filter: str
    correlation: str
    k: int
    words: str
    constants: dict[str, int] = field(default_factory=dict)
    minus: bool = False

    @property
    def cell(self) -> str:
        """`two_hop common unselective positive 10`."""
        return f"{self.shape} {self.band} {self.filter} {self.correlation} {self.k}"


@dataclass(frozen=True)
class Constant:
    """Constants of a pattern, how many papers satisfy it (about, for some shapes), and the leaf that it is about."""

    values: dict[str, int]
    papers: int
    leaf: int


class Constants:
    """What each shape can be asked with."""

    def __init__(self, graph: Graph, seed: int):
        self._graph, self._rng = graph, np.random.default_rng([seed, 5, graph.papers])
        self._by_field = np.bincount(graph.fields.targets, minlength=len(graph.parents))
        self._papers_of = graph.authors.back(len(graph.affiliation))

    def all(self) -> dict[str, list[Constant]]:
        """By shape."""
        makers: dict[str, Callable[[], Iterable[Constant]]] = {
            "field": self._fields, "two_hop": self._institutions, "star": self._stars, "coauthor": self._people,
            "cites": self._cited, "union": self._unions, "negation": self._negations, "year": self._years,
            "optional": self._fields,
        }  # fmt: skip
        return {shape: [constant for constant in make() if constant.papers] for shape, make in makers.items()}

    def _leaf(self, study: int) -> int:
        """The field itself, or a leaf of the area."""
        if study >= FIRST_LEAF:
            return study
        return int(self._rng.choice(np.flatnonzero(self._graph.parents == study)))

    def _fields(self) -> Iterator[Constant]:
        for study in range(FIRST_AREA, len(self._by_field)):
            yield Constant({"field": study}, int(self._by_field[study]), self._leaf(study))

    def _institutions(self) -> Iterator[Constant]:
        graph, many = self._graph, self._graph.institutions
        keys = distinct(graph.authors.sources() * many + graph.affiliation[graph.authors.targets])
        sizes = np.bincount(keys % many, minlength=many)
        for one in range(many):
            leaves = graph.author_leaf[graph.affiliation == one]
            if len(leaves):
                yield Constant({"institution": one}, int(sizes[one]), int(np.bincount(leaves).argmax()))

    def _stars(self) -> Iterator[Constant]:
        graph = self._graph
        keys = graph.fields.targets.astype(np.int64) * graph.venues + graph.venue[graph.fields.sources()]
        pairs, sizes = np.unique(keys, return_counts=True)
        for pair, size in zip(pairs.tolist(), sizes.tolist(), strict=True):
            study, venue = divmod(pair, graph.venues)
            yield Constant({"field": study, "venue": venue}, size, self._leaf(study))

    def _people(self) -> Iterator[Constant]:
        graph, papers_of = self._graph, self._papers_of
        people, empty = len(graph.affiliation), np.empty(0, np.int64)
        productive = np.argsort(-np.diff(papers_of.starts), kind="stable")[:40]
        for one in distinct(np.concatenate([productive, self._rng.integers(0, people, 400)])).tolist():
            together = distinct(np.concatenate([empty, *(graph.authors.at(p) for p in papers_of.at(one))]))
            size = len(distinct(np.concatenate([empty, *(papers_of.at(a) for a in together)])))
            yield Constant({"author": one}, size, int(graph.author_leaf[one]))

    def _cited(self) -> Iterator[Constant]:
        sizes = np.bincount(self._graph.cites.targets, minlength=self._graph.papers)
        for paper in np.argsort(-sizes, kind="stable")[:5_000].tolist():
            yield Constant({"paper": paper}, int(sizes[paper]), int(self._graph.first_leaf[paper]))

    def _unions(self) -> Iterator[Constant]:
        venues = np.bincount(self._graph.venue, minlength=self._graph.venues)
        for one in self._fields():
            for venue in self._rng.integers(0, len(venues), 3).tolist():
                values = {**one.values, "venue": venue}
                yield Constant(values, one.papers + int(venues[venue]), one.leaf)

    def _negations(self) -> Iterator[Constant]:
        large = np.argsort(-np.bincount(self._graph.affiliation), kind="stable")[:10]
        for one in self._fields():
            yield Constant({**one.values, "institution": int(self._rng.choice(large))}, one.papers, one.leaf)

    def _years(self) -> Iterator[Constant]:
        sizes = np.bincount(self._graph.year - FIRST_YEAR, minlength=YEARS)
        for low in range(YEARS):
            for high in range(low, min(low + 12, YEARS)):
                values = {"low": FIRST_YEAR + low, "high": FIRST_YEAR + high}
                leaf = int(self._graph.trends[(low + high) // 2, 0])
                yield Constant(values, int(sizes[low : high + 1].sum()), leaf)


class Words:
    """Draws the words of a text."""

    def __init__(self, graph: Graph, df: NDArray[np.int64]):
        self._graph, self._df, self._spelling = graph, df, vocabulary()

    def draw(self, rng: np.random.Generator, band: str, correlation: str, leaf: int, n: int) -> str:
        """n words of a band; where the field has too few of it, those nearest to it, or fewer."""
        pool = self._pool(rng, correlation, leaf)
        df = self._df[pool]
        low, high = BANDS[band]
        pool, df = pool[df >= FEWEST], df[df >= FEWEST]
        fitting = pool[(df >= low * self._graph.papers) & (df <= high * self._graph.papers)]
        if len(fitting) < n:
            middle = np.log(np.sqrt(low * high) * self._graph.papers)
            fitting = pool[np.argsort(np.abs(np.log(df) - middle), kind="stable")[:n]]
        return " ".join(
            self._spelling[word] for word in rng.choice(fitting, min(n, len(fitting)), replace=False).tolist()
        )

    def _pool(self, rng: np.random.Generator, correlation: str, leaf: int) -> NDArray[np.int64]:
        if correlation == "none":
            return np.arange(texts.BACKGROUND)
        area = int(self._graph.parents[leaf])
        if correlation == "negative":
            area = FIRST_AREA + (area - FIRST_AREA + int(rng.integers(1, AREAS))) % AREAS
            leaf = int(rng.choice(np.flatnonzero(self._graph.parents == area)))
        return np.array([*texts.leaf_words(leaf), *texts.area_words(area)])


def _cells() -> Iterator[tuple[str, str, str, str, int, int | None]]:
    """(shape, band, filter, correlation, k, words; None: as drawn)."""
    for band in BANDS:
        for k in KS:
            for words in (1, 2, 3):
                yield "type", band, "all", "none", k, words
    for shape in SHAPES[1:]:
        for band in BANDS:
            for wanted in FILTERS:
                for correlation in CORRELATIONS:
                    for k in KS:
                        yield shape, band, wanted, correlation, k, None


def make(graph: Graph, df: NDArray[np.int64], seed: int = SEED) -> list[Question]:
    """The workload of a graph, both halves."""
    constants, words = Constants(graph, seed).all(), Words(graph, df)
    found: list[Question] = []
    for at, (shape, band, wanted, correlation, k, given) in enumerate(_cells()):
        for half, name in enumerate(HALVES):
            rng = np.random.default_rng([seed, 6, graph.papers, at, half])
            n = given or int(rng.integers(1, 4))
            leaf = FIRST_LEAF + int(rng.integers(0, LEAVES))
            values: dict[str, int] = {}
            if shape in constants:
                one = _near(rng, constants[shape], FILTERS[wanted] * graph.papers)
                leaf, values = one.leaf, one.values
            text = words.draw(rng, band, correlation, leaf, n)
            minus = shape == "negation" and bool(rng.integers(0, 2))
            found.append(Question(len(found), name, shape, band, wanted, correlation, k, text, values, minus))
    return found


def _near(rng: np.random.Generator, constants: list[Constant], wanted: float) -> Constant:
    """One of those whose number of papers is nearest to the wanted one, by ratio."""
    distances = np.abs(np.log([one.papers / wanted for one in constants]))
    return constants[int(rng.choice(np.argsort(distances, kind="stable")[:NEAREST]))]


def write(path: Path, questions: list[Question]) -> None:
    """As JSON, in order."""
    path.write_text(json.dumps([asdict(one) for one in questions], indent=0))


def read(path: Path, half: str | None = None) -> list[Question]:
    """What `write` wrote; one half only, if wanted."""
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    return [Question(**row) for row in rows if half in (None, row["half"])]
