"""The questions: shape x selectivity of the filter x frequency of the words x correlation x k; the same for a seed.

They are asked of the graph of benchmarks/hybrid, whose constants and words they take, with more shapes (PATTERNS) and
with filters from one paper in ten thousand to nearly all of them. A cell that the graph has no constant for is left
out: no author has written half of all papers. Of the cells of a shape, a run takes as many as it is told to, drawn by
lot; each has a question for tuning and one for evaluation, with words and constants of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.graph import FIELDS, FIRST_LEAF, FIRST_YEAR, LEAVES, SEED, YEARS, Graph, distinct
from benchmarks.hybrid.sparql import LETTERS, MANY_ROWS, PREFIX
from benchmarks.hybrid.workload import BANDS, CORRELATIONS, NEAREST, Constant, Constants, Words
from benchmarks.hybrid.writing import BASE

HALVES = ("tuning", "evaluation")
KS = (10, 100, 1000)
SELECTIVITIES = (1e-4, 1e-3, 1e-2, 1e-1, 0.6)
NEAR = 3.0
"""A constant fits a selectivity where it leaves so many times as many papers at most, or at least that part."""

_AUTHOR = "?p :author ?a . ?a :affiliation $institution ."
PATTERNS = {
    "type": "?p a :Paper .",
    "field": "?p :field $field .",
    "star": "?p a :Paper ; :field $field ; :venue $venue .",
    "path": "?p :field ?f . ?f :parent* $field .",
    "two_hop": _AUTHOR,
    "coauthor": "?q :author $author ; :author ?a . ?p :author ?a .",
    "cites": "?p :cites $paper .",
    "union": "{ ?p :field $field } UNION { ?p :venue $venue }",
    "negation": "?p :field $field . FILTER NOT EXISTS { " + _AUTHOR + " }",
    "optional": "?p :field $field . OPTIONAL { ?p :doi ?doi }",
    "range": "?p :year ?y . FILTER(?y >= $low && ?y <= $high)",
    "sum": "?p :field $field . ?p MATCH $more AS ?t .",
    "sum_range": "?p :year ?y . FILTER(?y >= $low && ?y <= $high) ?p MATCH $more AS ?t .",
    "filter": "?p :field $field . ?p MATCH $more AS ?t .",
    "cited_text": "?p :field $field ; :cites ?q . ?q MATCH $more AS ?t .",
    "join": "?p :field $field ; :cites ?q . ?q MATCH $more AS ?t .",
    "join_all": "?p :cites ?q . ?q MATCH $more AS ?t .",
    "near": "?p :field $field .",
    "near_text": "?p :field $field . ?p NEAR $words AS ?t .",
}
"""Of the variable ?p, whose text is asked for in every shape; `sum` and `join` rank by the other MATCH as well."""

NEAR_SHAPES = ("near", "near_text")
"""These take vectors: the first asks NEAR alone, the second fuses it with MATCH."""

SHAPES = tuple(shape for shape in PATTERNS if shape not in NEAR_SHAPES)
_CONSTANTS_OF = {"sum_range": "range"}
_CONSTANTS_OF |= dict.fromkeys(("sum", "filter", "cited_text", "join", *NEAR_SHAPES), "field")
_UNFILTERED = ("type", "join_all")


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        number: its place in the grid.
        half: of HALVES.
        shape: of SHAPES.
        band: of BANDS, of the words.
        selectivity: share of the papers that the filter leaves, about.
        correlation: of CORRELATIONS, of words and filter.
        k: rows wanted.
        words: of the text.
        more: words of the second text, in shapes that have one.
        constants: by parameter.
    """

    number: int
    half: str
    shape: str
    band: str
    selectivity: float
    correlation: str
    k: int
    words: str
    more: str = ""
    constants: dict[str, int] = field(default_factory=dict)

    @property
    def cell(self) -> str:
        """`two_hop common 0.001 positive 10`."""
        return f"{self.shape} {self.band} {self.selectivity:g} {self.correlation} {self.k}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the answer."""
        more = {"optional": ("doi",), "join": ("q",), "join_all": ("q",)}
        return ("p", *more.get(self.shape, ()), "s")

    @property
    def text(self) -> str:
        """The query; constants and words are parameters.

        >>> Question(0, "tuning", "field", "rare", 0.001, "none", 10, "taluza", "", {"field": 7}).text
        'PREFIX : <http://mag.example/> SELECT ?p ?s { ?p MATCH $words AS ?s . ?p :field $field . } RANK BY ?s LIMIT 10'
        """
        first = "NEAR" if self.shape == "near" else "MATCH"
        rank = "?s + ?t" if self.shape.startswith(("sum", "join")) else "?s"
        rank = "rrf(?s, ?t)" if self.shape == "near_text" else rank
        distinct_rows = self.shape in (*MANY_ROWS, "path", "cited_text")
        select = f"SELECT {'DISTINCT ' if distinct_rows else ''}{' '.join(f'?{name}' for name in self.columns)}"
        return f"{PREFIX}{select} {{ ?p {first} $words AS ?s . {PATTERNS[self.shape]} }} RANK BY {rank} LIMIT {self.k}"

    @property
    def params(self) -> dict[str, Any]:
        """Values of the parameters."""
        from rdflib import URIRef

        named = {
            name: URIRef(f"{BASE}{LETTERS[name]}{number}") if name in LETTERS else number
            for name, number in self.constants.items()
        }
        return {"words": self.words, **({"more": self.more} if self.more else {}), **named}


def make(
    graph: Graph, df: NDArray[np.int64], cells: int, seed: int = SEED, shapes: Sequence[str] = SHAPES
) -> list[Question]:
    """Both halves, so many cells of each shape."""
    constants = _all_constants(graph, seed)
    words = Words(graph, df)
    found: list[Question] = []
    for number, shape in enumerate(PATTERNS):
        if shape not in shapes:
            continue
        rng = np.random.default_rng([seed, 8, graph.papers, number])
        of_shape = constants.get(_CONSTANTS_OF.get(shape, shape), [])
        every = list(_cells(shape, of_shape, graph.papers))
        for at in sorted(rng.permutation(len(every))[:cells].tolist()):
            for half, name in enumerate(HALVES):
                own = np.random.default_rng([seed, 9, graph.papers, number, at, half])
                found.append(_question(len(found), name, shape, every[at], of_shape, words, own, graph.papers))
    return found


def _question(
    number: int,
    half: str,
    shape: str,
    cell: tuple[float, str, str, int],
    constants: list[Constant],
    words: Words,
    rng: np.random.Generator,
    papers: int,
) -> Question:
    selectivity, band, correlation, k = cell
    leaf, values = FIRST_LEAF + int(rng.integers(0, LEAVES)), dict[str, int]()
    if constants:
        fitting = _fitting(constants, selectivity * papers)
        one = fitting[int(rng.integers(0, min(NEAREST, len(fitting))))]
        leaf, values = one.leaf, one.values
    text = words.draw(rng, band, correlation, leaf, int(rng.integers(1, 4)))
    more = ""
    if "$more" in PATTERNS[shape]:
        other = tuple(BANDS)[int(rng.integers(0, len(BANDS)))]
        more = words.draw(rng, other, CORRELATIONS[int(rng.integers(0, 3))], leaf, int(rng.integers(1, 4)))
    return Question(number, half, shape, band, selectivity, correlation, k, text, more, values)


def _cells(shape: str, constants: list[Constant], papers: int) -> Iterator[tuple[float, str, str, int]]:
    """(selectivity, band, correlation, k)."""
    if shape in _UNFILTERED:
        yield from ((1.0, band, "none", k) for band in BANDS for k in KS)
        return
    for selectivity in SELECTIVITIES:
        if not _fitting(constants, selectivity * papers):
            continue
        for band in BANDS:
            for correlation in CORRELATIONS:
                yield from ((selectivity, band, correlation, k) for k in KS)


def _fitting(constants: list[Constant], wanted: float) -> list[Constant]:
    """Those that leave about as many papers as wanted, the nearest first."""
    far = np.abs(np.log([max(one.papers, 1) / max(wanted, 1.0) for one in constants]))
    return [constants[at] for at in np.argsort(far, kind="stable").tolist() if far[at] <= np.log(NEAR)]


def _all_constants(graph: Graph, seed: int) -> dict[str, list[Constant]]:
    found = Constants(graph, seed).all()
    return {**found, "range": _ranges(graph), "path": _paths(graph)}


def _ranges(graph: Graph) -> list[Constant]:
    """Every range of years."""
    until = np.concatenate([[0], np.cumsum(np.bincount(graph.year - FIRST_YEAR, minlength=YEARS))])
    return [
        Constant(
            {"low": FIRST_YEAR + low, "high": FIRST_YEAR + high},
            int(until[high + 1] - until[low]),
            int(graph.trends[(low + high) // 2, 0]),
        )
        for low in range(YEARS)
        for high in range(low, YEARS)
    ]


def _paths(graph: Graph) -> list[Constant]:
    """Every field with all that are below it."""
    papers, fields = graph.fields.sources(), graph.fields.targets.astype(np.int64)
    keys: list[NDArray[np.int64]] = []
    while len(fields):
        keys.append(papers * FIELDS + fields)
        above = graph.parents[fields].astype(np.int64)
        papers, fields = papers[above >= 0], above[above >= 0]
    sizes = np.bincount(distinct(np.concatenate(keys)) % FIELDS, minlength=FIELDS)
    leaf_of = np.full(FIELDS, FIRST_LEAF)
    for leaf in range(FIELDS - 1, -1, -1):
        at = leaf if leaf >= FIRST_LEAF else -1
        while at >= 0:
            leaf_of[at] = leaf
            at = int(graph.parents[at])
    return [Constant({"field": one}, int(sizes[one]), int(leaf_of[one])) for one in range(FIELDS) if sizes[one]]
