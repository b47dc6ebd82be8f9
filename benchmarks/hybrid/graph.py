"""A made-up bibliographic graph of MAG's shape: the same for the same seed and number of papers.

Papers have authors, authors sit in labs of six, a lab belongs to an institution
and works on one field of study; fields are a tree of domains, areas and
leaves. A paper's field is mostly that of its first author's lab, sometimes one
of the three that its year is fond of; its venue is mostly one of the field's
area; half of its citations stay in the field. So institution, author, venue,
year and citation all say something about the field, and the words of a paper
(texts.py) come from its fields: filters and text correlate, as they do in
real data.

Sizes of institutions, fields, venues, the papers of authors and the citations
of papers have heavy tails. Papers are made in order of time and then numbered
at random, so that a year is no range of numbers.

All of it is arrays of integers, about 100 bytes per paper; 5 M papers take 0.5 GB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 20261122
VERSION = 1
DOMAINS, AREAS, LEAVES = 4, 20, 300
FIRST_AREA, FIRST_LEAF = DOMAINS, DOMAINS + AREAS
FIELDS = DOMAINS + AREAS + LEAVES
FIRST_YEAR, YEARS = 1975, 51
GROWTH = 0.06
"""Each year has so much more papers than the one before."""
LAB = 6
TRENDS = 3
"""Fields that a year is fond of."""
MAX_AUTHORS = 8

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Links:
    """Edges from each of some nodes: those of node i are targets[starts[i]:starts[i + 1]], ascending, each once."""

    starts: Ints
    targets: NDArray[np.int32]

    @classmethod
    def of(cls, sources: NDArray[Any], targets: NDArray[Any], nodes: int, others: int) -> Links:
        """From pairs in any order, some more than once."""
        keys = distinct(sources.astype(np.int64) * others + targets)
        starts = np.searchsorted(keys, np.arange(nodes + 1, dtype=np.int64) * others)
        return cls(starts.astype(np.int64), (keys % others).astype(np.int32))

    def sources(self) -> Ints:
        """int64[edges]: the node each edge starts at."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def back(self, others: int) -> Links:
        """The same edges seen from their other ends."""
        return Links.of(self.targets, self.sources(), others, len(self.starts) - 1)

    def at(self, node: int) -> NDArray[np.int32]:
        """The targets of one node."""
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def any_in(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[nodes]: which have a marked target."""
        found = np.zeros(len(self.starts) - 1, bool)
        found[self.sources()[marked[self.targets]]] = True
        return found


@dataclass(frozen=True)
class Graph:
    """The graph; nodes of a kind are numbers from 0.

    Args:
        year: int64[papers].
        venue: int32[papers].
        first_leaf: int32[papers], the field a paper's words are about most; a number among all fields.
        second_leaf: int32[papers]; -1 where there is none.
        has_doi: bool[papers].
        authors: paper to author.
        fields: paper to field: its leaves, for some the area too.
        cites: paper to paper.
        affiliation: int32[authors], institution.
        author_leaf: int32[authors], the field of the author's lab.
        venue_area: int32[venues], number among all fields.
        parents: int32[fields]; -1 at domains.
        trends: int32[YEARS, TRENDS], fields.
        institutions: how many.
        seed: it was made from.
    """

    year: Ints
    venue: NDArray[np.int32]
    first_leaf: NDArray[np.int32]
    second_leaf: NDArray[np.int32]
    has_doi: NDArray[np.bool_]
    authors: Links
    fields: Links
    cites: Links
    affiliation: NDArray[np.int32]
    author_leaf: NDArray[np.int32]
    venue_area: NDArray[np.int32]
    parents: NDArray[np.int32]
    trends: NDArray[np.int32]
    institutions: int
    seed: int = field(default=SEED)

    @property
    def papers(self) -> int:
        """How many papers."""
        return len(self.year)

    @property
    def venues(self) -> int:
        """How many venues."""
        return len(self.venue_area)

    def triples(self) -> dict[str, int]:
        """Triples that writing.py writes, by predicate; `type` for all kinds of nodes together."""
        people, n = len(self.affiliation), self.papers
        named = people + self.institutions + self.venues + FIELDS
        return {
            "type": n + named,
            "title": n,
            "abstract": n,
            "keywords": n,
            "year": n,
            "venue": n,
            "doi": int(self.has_doi.sum()),
            "author": len(self.authors.targets),
            "field": len(self.fields.targets),
            "cites": len(self.cites.targets),
            "affiliation": people,
            "name": named,
            "parent": AREAS + LEAVES,
        }


def distinct(keys: Ints) -> Ints:
    """The keys in order, each once: by sorting, which is several times as fast here as hashing in numpy.unique."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def zipf(n: int, exponent: float) -> NDArray[np.float64]:
    """float64[n]: probability of a rank or a smaller one."""
    weights = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return np.asarray(np.cumsum(weights) / weights.sum())


def draw(rng: np.random.Generator, cumulative: NDArray[np.float64], n: int) -> Ints:
    """n ranks."""
    return np.minimum(np.searchsorted(cumulative, rng.random(n), side="right"), len(cumulative) - 1)


def tree(rng: np.random.Generator) -> NDArray[np.int32]:
    """int32[FIELDS]: the parent of each field; every area has leaves, large areas (small numbers) more."""
    areas = np.concatenate([np.arange(AREAS), draw(rng, zipf(AREAS, 0.5), LEAVES - AREAS)])
    domains = np.arange(AREAS) % DOMAINS
    return np.concatenate([np.full(DOMAINS, -1), domains, FIRST_AREA + np.sort(areas)]).astype(np.int32)


@dataclass(frozen=True)
class _Leaves:
    """Draws leaves: of all areas, or of given ones."""

    first: Ints
    count: Ints
    areas: NDArray[np.float64]

    @classmethod
    def of(cls, parents: NDArray[np.int32]) -> _Leaves:
        own = parents[FIRST_LEAF:] - FIRST_AREA
        count = np.bincount(own, minlength=AREAS)
        return cls(np.cumsum(count) - count, count, zipf(AREAS, 0.8))

    def inside(self, rng: np.random.Generator, areas: Ints) -> Ints:
        """A leaf of each of some areas (0 is the first), smaller numbers more often."""
        place = (self.count[areas] * rng.random(len(areas)) ** 2).astype(np.int64)
        return FIRST_LEAF + self.first[areas] + place

    def anywhere(self, rng: np.random.Generator, n: int) -> Ints:
        """n leaves."""
        return self.inside(rng, draw(rng, self.areas, n))


def _citations(rng: np.random.Generator, leaf: Ints) -> Links:
    """Papers in order of time cite earlier ones, old ones more: half of them in their own field."""
    n = len(leaf)
    counts = rng.negative_binomial(1.95, 0.43, n)
    sources = np.repeat(np.arange(n), counts)
    older = rng.random(len(sources)) ** 3
    targets = (sources * older).astype(np.int64)
    order = np.argsort(leaf, kind="stable")
    begins = np.searchsorted(leaf[order], np.arange(FIELDS))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    first = begins[leaf[sources]]
    inside = order[first + ((place[sources] - first) * older).astype(np.int64)]
    targets = np.where(rng.random(len(sources)) < 0.5, inside, targets)
    earlier = targets < sources
    return Links.of(sources[earlier], targets[earlier], n, n)


def _authors(rng: np.random.Generator, n: int, people: int) -> tuple[Ints, Links]:
    """Of each paper the first author, who is one of few rather often, and all of them, mostly of one lab."""
    first = (people * rng.random(n) ** 1.6).astype(np.int64)
    more = np.minimum(rng.poisson(1.25, n), MAX_AUTHORS - 1)
    papers = np.repeat(np.arange(n), more)
    lab = first[papers] // LAB * LAB
    same = np.minimum(lab + rng.integers(0, LAB, len(papers)), people - 1)
    others = np.where(rng.random(len(papers)) < 0.75, same, rng.integers(0, people, len(papers)))
    return first, Links.of(np.concatenate([np.arange(n), papers]), np.concatenate([first, others]), n, people)


def generate(papers: int, seed: int = SEED) -> Graph:
    """The graph with so many papers.

    >>> a, b = generate(2_000), generate(2_000)
    >>> bool((a.cites.targets == b.cites.targets).all()), a.papers
    (True, 2000)
    """
    rng = np.random.default_rng([seed, VERSION, papers])
    parents = tree(rng)
    leaves = _Leaves.of(parents)
    people, institutions, venues = max(LAB, papers // 4), max(40, int(3 * papers**0.5)), max(40, papers // 1000)
    labs = -(-people // LAB)
    home_area = draw(rng, leaves.areas, institutions)
    lab_institution = draw(rng, zipf(institutions, 1.0), labs)
    at_home = rng.random(labs) < 0.6
    lab_leaf = np.where(at_home, leaves.inside(rng, home_area[lab_institution]), leaves.anywhere(rng, labs))
    lab_of = np.arange(people) // LAB

    year = np.searchsorted(np.cumsum((1 + GROWTH) ** np.arange(YEARS)), _moments(papers))
    trends = leaves.anywhere(rng, YEARS * TRENDS).reshape(YEARS, TRENDS)
    first_author, authors = _authors(rng, papers, people)
    how = rng.random(papers)
    trend = trends[year, rng.integers(0, TRENDS, papers)]
    leaf = np.where(
        how < 0.55, lab_leaf[lab_of[first_author]], np.where(how < 0.8, trend, leaves.anywhere(rng, papers))
    )
    second = np.where(rng.random(papers) < 0.25, leaves.anywhere(rng, papers), -1)
    second[second == leaf] = -1

    venue_area = draw(rng, leaves.areas, venues)
    venue = draw(rng, zipf(venues, 0.9), papers)
    by_area = np.argsort(venue_area, kind="stable")
    begins = np.searchsorted(venue_area[by_area], np.arange(AREAS + 1))
    area = parents[leaf] - FIRST_AREA
    own = np.diff(begins)[area]
    fitting = by_area[np.minimum(begins[area] + (own * rng.random(papers) ** 1.5).astype(np.int64), venues - 1)]
    venue = np.where((rng.random(papers) < 0.8) & (own > 0), fitting, venue)

    with_area = np.flatnonzero(rng.random(papers) < 0.5)
    with_second = np.flatnonzero(second >= 0)
    pairs = (
        np.concatenate([np.arange(papers), with_second, with_area]),
        np.concatenate([leaf, second[with_second], parents[leaf[with_area]]]),
    )
    number = rng.permutation(papers)  # by time -> public
    by_number = np.argsort(number)
    cites = _citations(rng, leaf)
    return Graph(
        year=FIRST_YEAR + year[by_number],
        venue=venue[by_number].astype(np.int32),
        first_leaf=leaf[by_number].astype(np.int32),
        second_leaf=second[by_number].astype(np.int32),
        has_doi=rng.random(papers) < 0.3,
        authors=Links.of(number[authors.sources()], authors.targets, papers, people),
        fields=Links.of(number[pairs[0]], pairs[1], papers, FIELDS),
        cites=Links.of(number[cites.sources()], number[cites.targets], papers, papers),
        affiliation=lab_institution[lab_of].astype(np.int32),
        author_leaf=lab_leaf[lab_of].astype(np.int32),
        venue_area=(FIRST_AREA + venue_area).astype(np.int32),
        parents=parents,
        trends=trends.astype(np.int32),
        institutions=institutions,
        seed=seed,
    )


def _moments(papers: int) -> NDArray[np.float64]:
    """When each paper appears, on a scale on which the papers of a year take as much room as there are."""
    total = float(((1 + GROWTH) ** np.arange(YEARS)).sum())
    return (np.arange(papers) + 0.5) / papers * total
