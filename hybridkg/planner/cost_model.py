"""What a unit of work costs, in microseconds.

A strategy's cost is a sum of products of these and of how much there is to do, which the planner estimates; what an
operator estimates for EXPLAIN and what a run has counted have the same prices (`CostModel.price`). A machine's own
values lie beside its index (calibration.py, unit_costs.py).

The defaults were found on 2 cores of an AMD EPYC (a virtual machine that others kept busy, so in time of the processor)
in November 2026. Those of the store are medians of calibration.py with the ACL Anthology (352,000 entities, 1.8 million
triples). The others were measured with the made-up graph of benchmarks/hybrid (50,000 papers, 3.1 million postings,
kernels loaded) in two ways. "Directly": the least of 25 calls, and between sizes the slope. "Fitted": non-negative
prices of what 1,452 timed runs of forced plans counted (benchmarks/planner, tuning half; prices.py repeats such a fit),
divided by 3.3, which is how much longer a scoring took in those runs, on a busy machine, than directly. The two agree
within a factor of two, but for us_per_scored_candidate.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from hybridkg.interfaces.meter import (
    ADJACENCY,
    GRAPH_QUESTIONS,
    HITS,
    LOOKS,
    MASKED,
    OPERATORS,
    POSTINGS,
    PROBES,
    ROWS,
    ROWS_PASSED,
    SCORED_POSTINGS,
    SCORINGS,
    STORE_PROBES,
    STORE_QUESTIONS,
    STORE_ROWS,
    TEXT_QUESTIONS,
    Work,
)
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.operators.probing import PROBES_AT_ONCE

FARTHEST = 20.0
"""Times a default: a unit cost is never taken to be more, nor less than the inverse, whatever has been measured. Biased
constants do more harm than poor cardinalities (design, planner.md)."""


@dataclass(frozen=True)
class CostModel:
    """Unit costs in microseconds. The defaults are those of a local index of packed postings."""

    us_per_adjacency_entry: float = 0.02
    """One entry of the projection that a pattern reads: a target that is gathered, an id that is looked up in a set;
    not the length of a list that is taken as it lies. Directly 0.015 (two hops), fitted 0.022 to 0.027. At index time:
    what the subjects of the two largest predicates are linked with, against those of a small one."""

    us_per_graph_question: float = 120.0
    """Asking the projection, for candidates or for rows, however few they are. Directly 50 (candidates) to 150 (rows,
    with preparing the pattern), fitted 86 to 118. At index time: candidates of the smallest predicate."""

    us_per_store_question: float = 100.0
    """Sending the graph store one query: parsing, planning, the first row. Measured: VALUES with one subject."""

    us_per_store_row: float = 8.0
    """One row that the graph store gives, with its terms. Measured: 2,000 rows of a predicate against 200."""

    us_per_probe_in_store: float = 20.0
    """One value of a VALUES block, with the few rows that it leads to. Measured: 200 subjects against 20."""

    us_per_text_question: float = 50.0
    """Asking the text index for its best: analysis, dictionary, an empty answer; of a server, a round trip. Directly
    43. At index time: the best 10 of the rarest words."""

    us_per_text_scoring: float = 330.0
    """Asking the text index for scores, of given entities or of all, however few. Directly 190 (no entity) to 350 (a
    few), fitted 297 to 339. At index time: all matches of the rarest word."""

    us_per_posting: float = 0.012
    """One posting of a list that is read for its best k, most of which are skipped unread; a mask changes little of it.
    Directly 0.009 to 0.013, fitted 0.014. At index time: the best 10 of three common words against those of a rare
    one."""

    us_per_hit: float = 0.4
    """One more of the best k. Directly 0.2 to 0.45, fitted 0.4. At index time: the best 2,000 of three common words
    against their best 10."""

    us_per_scored_posting: float = 0.1
    """One entity of a complete relation, with its score. Directly 0.09, fitted 0.06 to 0.18. At index time: all matches
    of a frequent word against those of a rare one."""

    us_per_scored_candidate: float = 0.05
    """One entity whose text is scored because it is a candidate. Directly 0.04 (one rare word) to 0.17 (three common
    ones), fitted 0.02. At index time: 2,000 matches of a frequent word against 200 of them."""

    us_per_masked_candidate: float = 0.003
    """One candidate of a set that the text index ranks. Directly 0.002 to 0.003; too little to be fitted. At index
    time: the best 10 of a frequent word among all its matches, at most 20,000, against those among 200."""

    us_per_row_of_terms: float = 2.5
    """Making a row of terms out of ids, and keeping it. Fitted 2.4 to 2.9. At index time: names of 2,000 entities, as
    keys of a dictionary."""

    us_per_row_passed: float = 1.0
    """One row that an operator gives to the one above it. Fitted 0.9 to 1.0; not measured at index time."""

    us_per_look: float = 120.0
    """One look of a strategy at its lists, beside what it asks: what is new, what is left, what is sure. Fitted 100 to
    140; not measured at index time."""

    us_per_operator: float = 30.0
    """Starting one operator of a plan. Its own time in EXPLAIN ANALYZE where it has no rows: 6 to 95; not measured at
    index time."""

    def price(self, work: Work) -> float:
        """Microseconds of some work, counted by a run or estimated before it; unknown kinds are free.

        >>> CostModel(us_per_posting=0.5, us_per_store_row=2.0).price({"postings": 10, "store rows": 3})
        11.0
        """
        return sum((getattr(self, PRICES[kind]) * n for kind, n in work.items() if kind in PRICES), 0.0)

    def bounded(self, **measured: float) -> CostModel:
        """The same with some unit costs replaced, none of them more than FARTHEST from its own.

        >>> CostModel(us_per_posting=1.0).bounded(us_per_posting=1000.0).us_per_posting
        20.0
        """
        within = {
            name: min(max(us, getattr(self, name) / FARTHEST), getattr(self, name) * FARTHEST)
            for name, us in measured.items()
        }
        return replace(self, **within)


PRICES = {
    ADJACENCY: "us_per_adjacency_entry",
    POSTINGS: "us_per_posting",
    SCORED_POSTINGS: "us_per_scored_posting",
    PROBES: "us_per_scored_candidate",
    MASKED: "us_per_masked_candidate",
    HITS: "us_per_hit",
    TEXT_QUESTIONS: "us_per_text_question",
    SCORINGS: "us_per_text_scoring",
    GRAPH_QUESTIONS: "us_per_graph_question",
    LOOKS: "us_per_look",
    STORE_ROWS: "us_per_store_row",
    STORE_QUESTIONS: "us_per_store_question",
    STORE_PROBES: "us_per_probe_in_store",
    ROWS: "us_per_row_of_terms",
    OPERATORS: "us_per_operator",
    ROWS_PASSED: "us_per_row_passed",
}
"""The unit cost of each kind of work, in the order of EXPLAIN."""

UNITS = tuple(one.name for one in fields(CostModel))
"""The names of all unit costs."""


def default_costs(engine: str) -> CostModel:
    """The unit costs of a text engine before anything is measured: those that it declares; of one that is not
    installed those of a local index.
    """
    declared = TEXT_ENGINES.get(engine).unit_costs if engine in TEXT_ENGINES else {}
    return replace(CostModel(), **declared)


def remote_costs(trip_us: float, row_us: float) -> dict[str, float]:
    """Unit costs of a graph at an endpoint; nothing is cheaper there than here.

    Args:
        trip_us: there and back, in microseconds.
        row_us: one more row.
    """
    near = CostModel()
    trip, row = max(trip_us, near.us_per_store_question), max(row_us, near.us_per_store_row)
    return {
        "us_per_store_question": trip,
        "us_per_store_row": row,
        "us_per_probe_in_store": row + trip / PROBES_AT_ONCE,
    }
