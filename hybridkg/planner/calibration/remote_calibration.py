"""Calibration of remote servers: unit costs of a remote text index, and the round trip to an endpoint.

A candidate is sent as a number in a filter; one that matches is returned as a row, like a row of a complete relation. A
server that has just built an index answers its first requests slowly, so warm-up requests are sent until they get no
faster.
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
"""Seconds of a warm-up round, and of all rounds of a kind: a newly started server is eight times slower at first."""

PART_S, RUN_S = 2.5, 0.1
"""Seconds after which no run starts, and after which a run is not repeated: a request takes milliseconds."""

QUESTIONS_S = 1.0
"""`PART_S` of the part that measures one request and one scoring."""

FEW, MANY = 200, 20_000
"""Candidates of the small and of the large run."""

DEEP = 1_500
"""Depth of the top k in the large run: each hit is scored again locally."""

MAX_ROWS = 2_000
"""Maximum rows of the complete relation; they take 0.1 s."""

MIN_DIFFERENCE = 200
"""Minimum difference in rows or postings between the large and the small run."""

WORDS = 3
"""Number of words in the query of common words, and of rare words queried."""

RARE = 100
"""Maximum entities of a rare word."""


def calibrate_remote_text(
    text: TextIndex, df: Mapping[str, int], ordered: Sequence[str], watch: Stopwatch
) -> Iterator[tuple[str, float | None]]:
    """Unit costs by name; None for one that was not measurable.

    `df` has the match counts of the words, and `ordered` the words, rarest first. The watch measures wall time, because
    another process does the work.
    """
    few, rare = df[ordered[0]], TextQuery(ordered[0])
    listed = next((word for word in reversed(ordered) if df[word] <= MAX_ROWS), ordered[0])
    rows, middle = df[listed] - few, TextQuery(listed)
    common, many = TextQuery(" ".join(ordered[-WORDS:])), sum(df[word] for word in ordered[-WORDS:]) - few
    # Hardly any candidate has the rarest word, so these candidates are sent but not returned.
    n = text.counts.get("entities", 0)
    small, large = (np.linspace(0, n - 1, min(n, size)).astype(np.uint32) for size in (FEW, MANY))
    deep = best(text, middle, min(DEEP, df[listed]))
    words = cycle([best(text, TextQuery(word)) for word in ordered])
    watch.warm_up(words, ROUND_S, WARM_UP_S)
    watch.warm_up(repeat(deep), ROUND_S / 2, WARM_UP_S)  # compiles the code that only deep requests run
    watch.begin(remote=True, part_s=PART_S, run_s=RUN_S)
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
    # Fixed costs come last, when the server is warmest; slopes hardly depend on that.
    watch.begin(remote=True, part_s=QUESTIONS_S, run_s=RUN_S)
    rarest = [word for word in ordered[:WORDS] if df[word] <= max(few, RARE)]
    rare_us = [us for word in rarest if (us := watch.us(best(text, TextQuery(word)))) is not None]
    yield "us_per_text_question", median(rare_us) if rare_us else None
    yield "us_per_text_scoring", watch.us(lambda: text.score_all(rare))


def calibrate_remote_store(store: GraphStore, watch: Stopwatch) -> Iterator[tuple[str, float | None]]:
    """Round trip to an endpoint, by name; None if not measurable. An export has measured the other unit costs, but the
    round trip while the server was busy and perhaps newly started. The minimum after a warm-up counts, because a newly
    started Java server takes ten times as long for seconds, and again now and then.
    """
    took: list[float] = []

    def ping() -> None:
        began = perf_counter()
        list(store.select("SELECT ?x WHERE { VALUES ?x { 1 } }").rows)
        took.append(1e6 * (perf_counter() - began))

    watch.warm_up(repeat(ping), ROUND_S, WARM_UP_S)
    yield "us_per_store_question", min(took)


def best(text: TextIndex, query: TextQuery, k: int = 10) -> Callable[[], object]:
    return lambda: text.topk(query, k)
