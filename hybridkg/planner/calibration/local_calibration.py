"""Calibration of unit costs on this machine: about twenty short runs on a newly built knowledge base.

Each run is repeated within its time budget; the median counts. Work of this process is measured in processor time,
which other processes do not disturb. A unit cost is the slope between a small and a large run, which cancels fixed
costs; if the data is too small for a measurable difference, there is no result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf, log
from statistics import median
from typing import Any

import numpy as np

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.graph_index import GraphIndex, Join, PredicatePath, Scan, Variable
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.text_index import Ids, TextIndex, TextQuery
from hybridkg.planner.calibration.remote_calibration import calibrate_remote_store, calibrate_remote_text
from hybridkg.planner.calibration.stopwatch import Stopwatch
from hybridkg.rdf.terms import Literal, NamedNode

MIN_DIFFERENCE = 2_000
"""Minimum difference in postings or entries between the large and the small run."""

MANY, FEW = 2_000, 200
"""Candidates, rows and names of the large and the small runs."""

MASKED = 20_000
"""Candidates of the large mask for the text index."""

MAX_CANDIDATES = 500_000
"""Maximum matches of the word from which candidates are drawn."""

WORDS = 3
"""Number of words in the query of common words."""

PROBED, PROBED_FEW = 200, 20
"""Values in a query to the store; more than 1,000 would hit the cliff of docs/planner.md (trap 1)."""

OBJECTS = 20
"""Objects of a predicate among which a rare one is looked for."""

MAX_WORDS = 120
"""Maximum number of words whose frequency is requested."""

RARE = 100
"""Maximum entities of a rare word."""

MAX_POSTINGS = 2_000_000
"""Maximum postings of the common word: the run takes milliseconds."""


@dataclass(frozen=True)
class Measured:
    """Measured unit costs in microseconds, not yet bounded by the defaults; number of runs without repeats; their
    duration.
    """

    us: Mapping[str, float]
    runs: int
    seconds: float


def calibrate(
    *,
    text: TextIndex | None = None,
    words: Sequence[str] = (),
    graph: GraphIndex | None = None,
    store: GraphStore | None = None,
    endpoint: GraphStore | None = None,
    predicates: Sequence[tuple[str, int]] = (),
    watch: Stopwatch | None = None,
) -> Measured:
    """Measurement of all unit costs that the given indexes permit.

    Args:
        text: the text index.
        words: words of its texts, rare and common.
        graph: the projection.
        store: a local graph store.
        endpoint: a remote graph store.
        predicates: (IRI, triples), most frequent first.
        watch: measures within time budgets.
    """
    watch = watch or Stopwatch()
    measured: dict[str, float] = {}
    parts: list[Callable[[], Iterator[tuple[str, float | None]]]] = []
    if graph is not None and predicates:
        parts.append(lambda: _graph(graph, predicates, watch))
    if store is not None and predicates:
        parts.append(lambda: _store(store, predicates, watch))
    if text is not None and words:
        parts.append(lambda: _text(text, words, watch))
    if endpoint is not None:
        parts.append(lambda: calibrate_remote_store(endpoint, watch))
    for part in parts:
        watch.begin()
        try:
            measured.update((name, us) for name, us in part() if us is not None)
        except HybridkgError:
            # A server that does not answer must not fail a finished index; its part keeps the defaults.
            continue
    return Measured(measured, watch.runs, watch.seconds)


def _graph(
    graph: GraphIndex, predicates: Sequence[tuple[str, int]], watch: Stopwatch
) -> Iterator[tuple[str, float | None]]:
    small = _semi_join(graph, [predicates[-1][0]] * 2)
    if small is None:
        return
    # Even the smallest predicate may have many triples, so one object of it is asked for.
    least = _semi_join(graph, [predicates[-1][0]] * 2, _rare_object(graph, predicates[-1][0]))
    yield "us_per_graph_question", watch.us((least or small)[0])
    large = _semi_join(graph, [iri for iri, n in predicates if n <= MAX_POSTINGS][:2])
    if large is not None and large[1] - small[1] >= MIN_DIFFERENCE:
        yield "us_per_adjacency_entry", watch.slope(small[0], large[0], large[1] - small[1])
    if graph.n_nodes >= MANY:
        ids = np.linspace(0, graph.n_nodes - 1, MANY).astype(np.uint32)
        us = watch.us(lambda: {row: row for row in zip(graph.terms(ids), strict=True)})
        yield "us_per_row_of_terms", None if us is None else us / MANY


def _rare_object(graph: GraphIndex, iri: str) -> NamedNode | Literal | None:
    """That of some objects of a predicate which has the fewest subjects.

    None where none is an IRI or a literal, and for a predicate that the projection does not have.
    """
    subject, path = Variable("s"), PredicatePath(iri)
    prepared = graph.compile(Scan(subject, path, Variable("o")))
    if prepared is None:
        return None
    rare, fewest = None, inf
    for term in graph.terms(_spread(prepared.candidates("o", Meter()), OBJECTS)):
        if not isinstance(term, NamedNode | Literal) or (own := graph.compile(Scan(subject, path, term))) is None:
            continue
        if (size := own.size("s").estimate) < fewest:
            rare, fewest = term, size
    return rare


def _semi_join(
    graph: GraphIndex, iris: Sequence[str], object_: NamedNode | Literal | None = None
) -> tuple[Callable[[], object], float] | None:
    """Semi-join from the subjects of all predicates to the objects of the first one, and its expected entries.

    `object_` is a constant object of the last predicate.
    """
    objects: list[Variable | NamedNode | Literal] = [Variable(f"o{i}") for i in range(len(iris))]
    if object_ is not None:
        objects[-1] = object_
    scans = tuple(Scan(Variable("s"), PredicatePath(iri), o) for iri, o in zip(iris, objects, strict=True))
    prepared = graph.compile(Join(scans)) if scans else None
    if prepared is None:
        return None
    return lambda: prepared.candidates("o0", Meter()), prepared.work("o0")


def _store(
    store: GraphStore, predicates: Sequence[tuple[str, int]], watch: Stopwatch
) -> Iterator[tuple[str, float | None]]:
    iri, triples = predicates[0]

    def rows(n: int) -> Callable[[], list[Any]]:
        return lambda: list(store.select(f"SELECT ?s ?o WHERE {{ ?s <{iri}> ?o }} LIMIT {n}").rows)

    subjects = list(dict.fromkeys(str(row[0]) for row in rows(MANY)() if isinstance(row[0], NamedNode)))

    def probes(n: int) -> Callable[[], list[Any]]:
        values = " ".join(subjects[:n])
        text = f"SELECT ?s ?o WHERE {{ VALUES ?s {{ {values} }} ?s <{iri}> ?o }}"
        return lambda: list(store.select(text).rows)

    if subjects:
        yield "us_per_store_question", watch.us(probes(1))
    row_us = watch.slope(rows(FEW), rows(MANY), MANY - FEW) if triples >= MANY else None
    yield "us_per_store_row", row_us
    if row_us is not None and len(subjects) >= PROBED:
        few, many = (len(probes(n)()) for n in (PROBED_FEW, PROBED))
        us = watch.slope(probes(PROBED_FEW), probes(PROBED), PROBED - PROBED_FEW)
        # A subject may have several objects; the unit cost includes one.
        further = max(0.0, (many - few) / (PROBED - PROBED_FEW) - 1)
        yield "us_per_probe_in_store", None if us is None else max(us - further * row_us, row_us)


def _text(text: TextIndex, words: Sequence[str], watch: Stopwatch) -> Iterator[tuple[str, float | None]]:
    df = _frequencies(text, words)
    if not df:
        return
    ordered = sorted(df, key=lambda word: (df[word], word))
    if text.is_remote:
        yield from calibrate_remote_text(text, df, ordered, watch)
        return
    few, rare = df[ordered[0]], TextQuery(ordered[0])
    # Several words, as in most queries: a single one is pruned much better.
    many, common = sum(df[word] for word in ordered[-WORDS:]), TextQuery(" ".join(ordered[-WORDS:]))

    def best(query: TextQuery, k: int = 10, among: Ids | None = None) -> Callable[[], object]:
        return lambda: text.topk(query, k, among)

    rarest = [word for word in ordered[:3] if df[word] <= max(few, RARE)]
    rare_us = [us for word in rarest if (us := watch.us(best(TextQuery(word)))) is not None]
    yield "us_per_text_question", median(rare_us) if rare_us else None
    yield "us_per_text_scoring", watch.us(lambda: text.score_all(rare))
    if many - few < MIN_DIFFERENCE:
        return
    yield "us_per_posting", watch.slope(best(rare), best(common), many - few)
    deep = min(MANY, df[ordered[-1]])
    if deep >= 2 * FEW:
        yield "us_per_hit", watch.slope(best(common), best(common, deep), deep - 10)
    # The cost of a candidate grows with the length of the list: neither the longest nor a short one.
    often = ordered[_at(0.75, [df[word] for word in ordered])]
    listed = TextQuery(often)
    ids = np.sort(text.topk(listed, MASKED)[0]) if df[often] <= MAX_CANDIDATES else np.zeros(0, np.uint32)
    small, large = _spread(ids, FEW), _spread(ids, MANY)
    if len(large) >= 2 * FEW:
        yield (
            "us_per_scored_candidate",
            watch.slope(lambda: text.score(listed, small), lambda: text.score(listed, large), len(large) - len(small)),
        )
    if len(ids) >= 2 * len(small):
        yield "us_per_masked_candidate", watch.slope(best(listed, 10, small), best(listed, 10, ids), len(ids) - FEW)
    if df[often] - few >= FEW:
        yield (
            "us_per_scored_posting",
            watch.slope(lambda: text.score_all(rare), lambda: text.score_all(listed), df[often] - few),
        )


def _frequencies(text: TextIndex, words: Sequence[str]) -> dict[str, int]:
    """Match counts of the words that occur and are not too common."""
    frequencies = {one.term: one.df for one in text.terms(TextQuery(" ".join(list(dict.fromkeys(words))[:MAX_WORDS])))}
    # A stem need not be its own stem, so the count is that of the query itself.
    queries = {word: TextQuery(word) for word, df in frequencies.items() if 0 < df <= MAX_POSTINGS}
    text.prefetch_counts(list(queries.values()))
    return {word: n for word, query in queries.items() if 0 < (n := text.match_count_bound(query)) <= MAX_POSTINGS}


def _at(share: float, df: Sequence[int]) -> int:
    """Index of the frequency nearest to a share of the log range from the lowest to the highest.

    >>> _at(0.5, [1, 2, 90, 10_000])
    2
    """
    target = log(df[0]) + share * (log(df[-1]) - log(df[0]))
    return min(range(len(df)), key=lambda i: abs(log(df[i]) - target))


def _spread(ids: Ids, n: int) -> Ids:
    return ids if len(ids) <= n else ids[np.linspace(0, len(ids) - 1, n).astype(np.int64)]


def some_words(texts: Sequence[str], maximum: int = MAX_WORDS) -> list[str]:
    """Distinct words of some texts, in order.

    >>> some_words(["A red fish.", "A blue fish"])
    ['A', 'red', 'fish', 'blue']
    """
    words = (word for text in texts for word in "".join(c if c.isalnum() else " " for c in text[:2_000]).split())
    return list(islice(dict.fromkeys(words), maximum))
