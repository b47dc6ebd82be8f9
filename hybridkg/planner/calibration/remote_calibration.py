"""Measures the unit costs of a text index on a server, and how far an endpoint is: round trips, what goes there, what
comes back.

A candidate goes there as a number in a filter; one that matches comes back as a row, like a row of a complete relation.
A server that has just built an index answers its first questions slowly, so some are asked for nothing until they get
no faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, repeat
from statistics import median
from time import perf_counter

import numpy as np

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_index import TextIndex, TextQuery
from hybridkg.planner.calibration.stopwatch import Stopwatch

ROUND_S, WARM_UP_S = 0.5, 4.0
"""Seconds of a round of questions that count for nothing, and of all rounds of a kind: a server that has just been
started takes eight times as long for its first questions."""

PART_S, RUN_S = 2.5, 0.1
"""Seconds after which no run begins any more, and after which one is not repeated: a question takes milliseconds."""

QUESTIONS_S = 1.0
"""The same of the part in which a question and a scoring are measured."""

FEW, MANY = 200, 20_000
"""Candidates of the small and of the large run."""

DEEP = 1_500
"""Of the best, in the large run: each is scored again here."""

MAX_ROWS = 2_000
"""Of the relation that is read to its end; they take 0.1 s."""

MIN_DIFFERENCE = 200
"""Rows or postings that the large run must have more than the small one."""

WORDS = 3
"""In the query of common words; and rare ones that are asked for."""

RARE = 100
"""Entities that have a rare word, at most."""


def text_elsewhere(
    text: TextIndex, df: Mapping[str, int], ordered: Sequence[str], watch: Stopwatch
) -> Iterator[tuple[str, float | None]]:
    """Unit costs by name; None for one that could not be measured.

    Args:
        text: the index.
        df: entities that match, by word.
        ordered: the words, the rarest first.
        watch: measures on the wall, because another process does the work.
    """
    few, rare = df[ordered[0]], TextQuery(ordered[0])
    listed = next((word for word in reversed(ordered) if df[word] <= MAX_ROWS), ordered[0])
    rows, middle = df[listed] - few, TextQuery(listed)
    common, many = TextQuery(" ".join(ordered[-WORDS:])), sum(df[word] for word in ordered[-WORDS:]) - few
    # Hardly any candidate has the rarest word, so these are candidates that only go there.
    n = text.counts.get("entities", 0)
    small, large = (np.linspace(0, n - 1, min(n, size)).astype(np.uint32) for size in (FEW, MANY))
    deep = best(text, middle, min(DEEP, df[listed]))
    words = cycle([best(text, TextQuery(word)) for word in ordered])
    watch.warm_up(words, ROUND_S, WARM_UP_S)
    watch.warm_up(repeat(deep), ROUND_S / 2, WARM_UP_S)  # what only these run is to be compiled, too
    watch.begin(elsewhere=True, part_s=PART_S, run_s=RUN_S)
    if rows >= MIN_DIFFERENCE:
        yield "us_per_scored_posting", watch.slope(lambda: text.score_all(rare), lambda: text.score_all(middle), rows)
    if len(large) >= 2 * FEW:
        us = watch.slope(lambda: text.score(rare, small), lambda: text.score(rare, large), len(large) - len(small))
        yield "us_per_scored_candidate", us
        yield "us_per_masked_candidate", us
    if many >= MIN_DIFFERENCE:
        yield "us_per_posting", watch.slope(best(text, rare), best(text, common), many)
    if df[listed] >= FEW:
        yield "us_per_hit", watch.slope(best(text, middle), deep, min(DEEP, df[listed]) - 10)
    # What every question costs comes last, when the server is warmest: a difference of two runs hardly feels that.
    watch.begin(elsewhere=True, part_s=QUESTIONS_S, run_s=RUN_S)
    rarest = [word for word in ordered[:WORDS] if df[word] <= max(few, RARE)]
    rare_us = [us for word in rarest if (us := watch.us(best(text, TextQuery(word)))) is not None]
    yield "us_per_text_question", median(rare_us) if rare_us else None
    yield "us_per_text_scoring", watch.us(lambda: text.score_all(rare))


def store_elsewhere(store: GraphStore, watch: Stopwatch) -> Iterator[tuple[str, float | None]]:
    """The round trip to an endpoint, by name; None where it could not be measured. An export has measured the rest, but
    this while the server was busy with it, and perhaps had just been started.

    Args:
        store: the graph there.
        watch: it knows when the server gets no faster; the quickest answer counts, because a server in Java that has
            just been started takes ten times as long for seconds, and again now and then.
    """
    took: list[float] = []

    def ping() -> None:
        began = perf_counter()
        list(store.select("SELECT ?x WHERE { VALUES ?x { 1 } }").rows)
        took.append(1e6 * (perf_counter() - began))

    watch.warm_up(repeat(ping), ROUND_S, WARM_UP_S)
    yield "us_per_store_question", min(took)


def best(text: TextIndex, query: TextQuery, k: int = 10) -> Callable[[], object]:
    """Asking for the best k."""
    return lambda: text.topk(query, k)
