"""Patterns in ids beside Oxigraph, on a synthetic graph of papers like the Microsoft Academic Graph.

    python -m benchmarks.pattern_match [--papers 500000] [--no-peer] [--rounds 9]

Both have the same triples in memory; times are the best and the median of warm rounds on one thread. Oxigraph answers
the same pattern as a SPARQL query that only counts (SELECT (COUNT(DISTINCT ?p) ...)), so nothing is decoded. Answers
are compared by their counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import RdfFormat, Store

from benchmarks.record import record
from hybridkg.graph.columns import Adjacency, LiteralPart, PredicateColumns, ProjectionColumns
from hybridkg.graph.literal_order import SEGMENTS
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.graph_index import (
    Closure,
    Exists,
    Join,
    Pattern,
    PredicatePath,
    Restrict,
    Scan,
    StringTest,
    ValueComparison,
    Variable,
)
from hybridkg.interfaces.meter import ADJACENCY, Meter
from hybridkg.rdf.term_texts import TermTexts
from hybridkg.rdf.terms import XSD, Literal, NamedNode, Term

INTEGER = NamedNode(XSD + "integer")
KINDS = ("paper", "author", "topic", "venue", "institution")
SYLLABLES = ("ka", "mo", "ri", "ten", "sol", "ve", "lu", "an", "dor", "ei", "fa", "gu")

Array = NDArray[Any]


class SyntheticTerms:
    """A TermTable whose terms are computed: nodes `m:paper17`, years, names of authors."""

    def __init__(self, counts: Sequence[int], years: Sequence[int], names: Sequence[str]):
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.n_entities, self.n_nodes = int(counts[0]), int(self.starts[-1])
        self.n_terms = self.n_nodes + len(years) + len(names)
        self._names, self._years = names, years
        at = self.n_nodes
        sizes = {"string": len(names), "number": len(years)}
        self.segments = {}
        for segment in SEGMENTS:
            self.segments[segment] = (at, at + sizes.get(segment, 0))
            at += sizes.get(segment, 0)
        self.parts = (LiteralPart(self.segments, np.array(years, np.float64)),)
        self.gone = np.zeros(0, np.uint32)
        texts = [name.encode() for name in names] + [str(year).encode() for year in years]
        self._offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.uint64)
        self._bytes = np.frombuffer(b"".join(texts), np.uint8)

    def lexical(self, first: int, end: int) -> tuple[Array, Array]:
        offsets = self._offsets[first - self.n_nodes : end - self.n_nodes + 1]
        low = int(offsets[0])
        return self._bytes[low : int(offsets[-1])], offsets - np.uint64(low)

    def term(self, i: int) -> Term:
        if i >= self.n_nodes:
            i -= self.n_nodes
            n = len(self._names)
            return Literal(self._names[i]) if i < n else Literal(str(self._years[i - n]), datatype=INTEGER)
        kind = int(self.starts.searchsorted(i, side="right")) - 1
        return NamedNode(f"m:{KINDS[kind]}{i - int(self.starts[kind])}")

    def terms(self, ids: Array) -> list[Term | None]:
        return [self.term(i) for i in ids.tolist()]

    def texts(self, ids: Array) -> TermTexts:
        texts = TermTexts.of(self.terms(ids))
        assert texts is not None
        return texts

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        return np.array([self._find(term) for term in terms], np.int64)

    def _find(self, term: Term) -> int:
        if isinstance(term, NamedNode):
            for kind, name in enumerate(KINDS):
                number = term.value.removeprefix(f"m:{name}")
                if number.isdigit():
                    return int(self.starts[kind]) + int(number)
        if isinstance(term, Literal) and term.datatype == INTEGER and int(term.value) in self._years:
            return self.n_nodes + len(self._names) + self._years.index(int(term.value))
        return -1


def sorted_pairs(sources: Array, targets: Array) -> Array:
    return np.unique(sources.astype(np.uint64) << np.uint64(32) | targets.astype(np.uint64))


def adjacency(keys: Array) -> Adjacency:
    sources = (keys >> np.uint64(32)).astype(np.uint32)
    first = np.flatnonzero(np.concatenate([[True], sources[1:] != sources[:-1]]))
    return Adjacency(sources[first], np.append(first, len(keys)).astype(np.uint32), keys.astype(np.uint32))


def predicate(sources: Array, targets: Array) -> PredicateColumns:
    return PredicateColumns(adjacency(sorted_pairs(sources, targets)), adjacency(sorted_pairs(targets, sources)))


def generated(papers: int, seed: int) -> ProjectionColumns:
    """About 13.4 triples for each paper; authors, topics and citations are as skewed as a power law makes them."""
    random = np.random.default_rng(seed)
    counts = [papers, papers // 2, papers // 50, papers // 500, papers // 100]
    years = list(range(1950, 2024))
    names = sorted({"".join(random.choice(SYLLABLES, 4)) + str(i) for i in range(counts[1])})
    terms = SyntheticTerms(counts, years, names)
    start = dict(zip(KINDS, terms.starts.tolist(), strict=False))

    def skewed(kind: str, size: int) -> Array:
        n = counts[KINDS.index(kind)]
        return start[kind] + np.minimum((n * random.random(size) ** 2.5).astype(np.int64), n - 1)

    paper = np.arange(papers)
    author = start["author"] + np.arange(counts[1])
    year = terms.segments["number"][0] + np.minimum((74 * random.random(papers) ** 0.5).astype(np.int64), 73)
    cited = np.repeat(paper, random.poisson(5.0, papers))
    cited = cited[cited > 0]
    links = {
        "m:year": (paper, year),
        "m:venue": (paper, skewed("venue", papers)),
        "m:author": (np.repeat(paper, 3), skewed("author", papers * 3)),
        "m:topic": (np.repeat(paper, 3), skewed("topic", papers * 3)),
        "m:cites": (cited, (cited * random.random(len(cited))).astype(np.int64)),
        "m:affiliation": (author, skewed("institution", counts[1])),
        "m:name": (author, terms.segments["string"][0] + random.permutation(counts[1])),
        "m:broader": (
            start["topic"] + np.arange(1, counts[2]),
            start["topic"] + (np.arange(1, counts[2]) * random.random(counts[2] - 1)).astype(np.int64),
        ),
    }
    return ProjectionColumns(terms, {iri: predicate(*pair) for iri, pair in links.items()}, frozenset())


def oxigraph(columns: ProjectionColumns) -> Store:
    """The same triples in a store in memory."""
    store = Store()
    known = [str(columns.terms.terms(np.array([i], np.uint32))[0]) for i in range(columns.terms.n_terms)]
    for iri, links in columns.predicates.items():
        side = links.forward
        sources = np.repeat(side.keys, np.diff(side.offsets.astype(np.int64))).tolist()
        lines = [f"{known[s]} <{iri}> {known[o]} .\n" for s, o in zip(sources, side.targets.tolist(), strict=True)]
        store.bulk_load("".join(lines).encode(), RdfFormat.N_TRIPLES)
    return store


def node(name: str) -> NamedNode:
    return NamedNode(f"m:{name}")


def scan(subject: str | NamedNode, iri: str, target: str | NamedNode) -> Scan:
    a, b = (Variable(end) if isinstance(end, str) else end for end in (subject, target))
    return Scan(a, PredicatePath(f"m:{iri}"), b)


def since(year: int) -> ValueComparison:
    return ValueComparison("y", ">=", Literal(str(year), datatype=INTEGER))


PATTERNS: dict[str, tuple[Pattern, str]] = {
    "constant": (scan("p", "topic", node("topic40")), "?p m:topic m:topic40"),
    "year range": (Restrict(scan("p", "year", "y"), (since(2020),)), "?p m:year ?y FILTER(?y >= 2020)"),
    "star, year range": (
        Restrict(Join((scan("p", "year", "y"), scan("p", "topic", node("topic3")))), (since(2010),)),
        "?p m:year ?y . ?p m:topic m:topic3 FILTER(?y >= 2010)",
    ),
    "two hops": (
        Join((scan("p", "cites", "q"), scan("q", "topic", node("topic3")))),
        "?p m:cites ?q . ?q m:topic m:topic3",
    ),
    "three hops": (
        Join(
            (
                scan("p", "author", "a"),
                scan("a", "affiliation", "i"),
                scan("q", "author", "a"),
                scan("q", "venue", node("venue9")),
            )
        ),
        "?p m:author ?a . ?a m:affiliation ?i . ?q m:author ?a . ?q m:venue m:venue9",
    ),
    "star, two hops, range": (
        Restrict(
            Join(
                (
                    scan("p", "year", "y"),
                    scan("p", "topic", node("topic9")),
                    scan("p", "author", "a"),
                    scan("a", "affiliation", node("institution7")),
                )
            ),
            (since(2000),),
        ),
        "?p m:year ?y . ?p m:topic m:topic9 . ?p m:author ?a . ?a m:affiliation m:institution7 FILTER(?y >= 2000)",
    ),
    "not exists": (
        Exists(scan("p", "topic", node("topic9")), scan("q", "cites", "p"), True),
        "?p m:topic m:topic9 FILTER NOT EXISTS { ?q m:cites ?p }",
    ),
    "closure": (
        Join((
            scan("p", "topic", "t"), Scan(Variable("t"), Closure(PredicatePath("m:broader"), 0, None), node("topic40")),
        )),
        "?p m:topic ?t . ?t m:broader* m:topic40",
    ),
    "triangle": (
        Join(
            (
                scan("p", "cites", "q"),
                scan("p", "author", "a"),
                scan("q", "author", "a"),
                scan("p", "venue", node("venue9")),
            )
        ),
        "?p m:cites ?q . ?p m:author ?a . ?q m:author ?a . ?p m:venue m:venue9",
    ),
    "name contains": (
        Restrict(
            Join((scan("p", "author", "a"), scan("a", "name", "n"))),
            (StringTest("CONTAINS", "n", Literal("solvetenka")),),
        ),
        '?p m:author ?a . ?a m:name ?n FILTER CONTAINS(?n, "solvetenka")',
    ),
}  # fmt: skip

LINKS_OF_FIVE = (
    ("p", "year", "y"),
    ("p", "venue", "v"),
    ("p", "topic", "t"),
    ("p", "author", "a"),
    ("a", "affiliation", "i"),
)
FIVE = Join(tuple(scan(*link) for link in LINKS_OF_FIVE))


def timed(work: Callable[[], Any], rounds: int) -> tuple[Any, float, float]:
    """(answer, best, median) in milliseconds."""
    answer = work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return answer, min(times), statistics.median(times)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--papers", type=int, default=500_000)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--no-peer", action="store_true")
    given = options.parse_args()
    columns = generated(given.papers, given.seed)
    index = Projection(columns, lambda expression, values: [False] * len(values))
    store = None if given.no_peer else oxigraph(columns)
    figures: dict[str, Any] = {"papers": given.papers, "triples": sum(p.triples for p in columns.predicates.values())}
    for name, (pattern, text) in PATTERNS.items():
        prepared, prepare, _ = timed(lambda pattern=pattern: index.compile(pattern), 50)  # type: ignore[misc]
        size, sizing, _ = timed(lambda prepared=prepared: prepared.size("p"), 50)  # type: ignore[misc]
        found, best, median = timed(lambda prepared=prepared: prepared.candidates("p", Meter()), given.rounds)  # type: ignore[misc]
        meter = Meter()
        prepared.candidates("p", meter)
        row = {"candidates": len(found), "guess": round(size.estimate), "low": size.low, "high": size.high}
        row |= {"work": prepared.work("p"), "read": meter.counts.get(ADJACENCY, 0)}
        row |= {"prepare_us": round(prepare * 1000, 1), "size_us": round(sizing * 1000, 1)}
        row |= {"best_ms": round(best, 3), "median_ms": round(median, 3)}
        if store is not None:
            query = f"PREFIX m: <m:> SELECT (COUNT(DISTINCT ?p) AS ?n) {{ {text} }}"
            answer, its, _ = timed(lambda query=query: next(iter(store.query(query)))["n"], 1)  # type: ignore[misc]
            row |= {
                "oxigraph_ms": round(its, 1),
                "ratio": round(its / best, 1),
                "same": int(answer.value) == len(found),
            }
        figures[name] = row
        print(name, row, flush=True)
    ten = np.sort(np.random.default_rng(2).choice(given.papers, 10, replace=False)).astype(np.uint32)
    prepared = index.compile(FIVE)
    assert prepared is not None
    table, best, median = timed(lambda: prepared.rows(("p", "y", "i"), Meter(), {"p": ten}), 100)
    figures["rows of 10"] = {"rows": table.size, "best_ms": round(best, 3), "median_ms": round(median, 3)}
    figures["rows of 10"]["prepare_us"] = round(timed(lambda: index.compile(FIVE), 50)[1] * 1000, 1)
    print("rows of 10", figures["rows of 10"], flush=True)
    if store is not None:
        record("pattern_match", figures, seed=given.seed)


if __name__ == "__main__":
    main()
