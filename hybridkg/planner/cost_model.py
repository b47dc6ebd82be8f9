"""Cost model: microseconds for each unit of work.

The cost of a strategy is the sum over kinds of work of unit cost times estimated amount. The estimates of operators for
EXPLAIN and the work counted by a run have the same prices (`CostModel.price`). The measured values of a machine are
stored with its index (planner/calibration).

The defaults were measured in November 2026 in processor time on 2 cores of an AMD EPYC (a busy virtual machine). Those
of the store are medians of the calibration with the ACL Anthology (352,000 entities, 1.8 million triples). The others
were measured with the synthetic graph of benchmarks/hybrid (50,000 papers, 3.1 million postings, kernels loaded) in two
ways. "Directly": minimum of 25 calls, and the slope between sizes. "Fitted": non-negative least squares over the work
counted in 1,452 timed runs of forced plans (benchmarks/planner, tuning half; prices.py repeats such a fit), divided by
3.3, the slowdown of a scoring in those runs. The two agree within a factor of two, except for us_per_scored_candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from hybridkg.interfaces.meter import (
    ADJACENCY,
    COLUMN_CELLS,
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
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.probing import PROBES_AT_ONCE

FARTHEST = 20.0
"""Maximum ratio of a unit cost to its default, and of the default to it, whatever has been measured. Biased constants
do more harm than poor cardinalities (docs/planner.md)."""


@dataclass(frozen=True)
class CostModel:
    """Unit costs in microseconds. The defaults are those of a local index of packed postings."""

    us_per_adjacency_entry: float = 0.02
    """One entry of the projection that a pattern reads: a gathered target, or an id looked up in a set; not the length
    of a list used as a whole. Directly 0.015 (two hops), fitted 0.022 to 0.027. Calibration: objects of the subjects of
    the two largest predicates, against those of a small one."""

    us_per_graph_question: float = 120.0
    """One request to the projection, for candidates or rows. Directly 50 (candidates) to 150 (rows, with compiling the
    pattern), fitted 86 to 118. Calibration: the subjects of a rare object of the smallest predicate."""

    us_per_store_question: float = 100.0
    """One query to the graph store: parsing, planning, first row. Calibration: VALUES with one subject."""

    us_per_store_row: float = 8.0
    """One row of the graph store, with its terms. Calibration: 2,000 rows of a predicate against 200."""

    us_per_probe_in_store: float = 20.0
    """One value of a VALUES block, with its few rows. Calibration: 200 subjects against 20."""

    us_per_text_question: float = 50.0
    """One top-k request to the text index: analysis, dictionary, empty answer; for a server, a round trip. Directly 43.
    Calibration: the best 10 of the rarest words."""

    us_per_text_scoring: float = 330.0
    """One request for scores, of given entities or of all. Directly 190 (no entity) to 350 (a few), fitted 297 to 339.
    Calibration: all matches of the rarest word."""

    us_per_posting: float = 0.012
    """One posting of a list read for its top k; most are pruned, and a mask changes little. Directly 0.009 to 0.013,
    fitted 0.014. Calibration: the best 10 of three common words against those of a rare one."""

    us_per_hit: float = 0.4
    """One more entity of the top k. Directly 0.2 to 0.45, fitted 0.4. Calibration: the best 2,000 of three common words
    against their best 10."""

    us_per_scored_posting: float = 0.1
    """One entity of a complete relation, with its score. Directly 0.09, fitted 0.06 to 0.18. Calibration: all matches
    of a frequent word against those of a rare one."""

    us_per_scored_candidate: float = 0.05
    """One candidate whose text is scored. Directly 0.04 (one rare word) to 0.17 (three common ones), fitted 0.02.
    Calibration: 2,000 matches of a frequent word against 200 of them."""

    us_per_masked_candidate: float = 0.003
    """One candidate of a mask for the text index. Directly 0.002 to 0.003; too small to fit. Calibration: the best 10
    of a frequent word among all its matches, at most 20,000, against those among 200."""

    us_per_row_of_terms: float = 2.5
    """One row of terms made from ids. Fitted 2.4 to 2.9. Calibration: names of 2,000 entities, as keys of a
    dictionary."""

    us_per_row_passed: float = 1.0
    """One row passed from an operator to its parent. Fitted 0.9 to 1.0; not calibrated."""

    us_per_column_cell: float = 0.03
    """One row that an operator over columns handles. Directly 0.01 (a sum) to 0.06 (a sort); not calibrated."""

    us_per_look: float = 120.0
    """One round of a strategy over its lists, without its requests: new, remaining and certain entities. Fitted 100 to
    140; not calibrated."""

    us_per_operator: float = 30.0
    """Start of one operator. Own time in EXPLAIN ANALYZE without rows: 6 to 95; not calibrated."""

    def price(self, work: Work) -> float:
        """Microseconds of counted or estimated work; unknown kinds are free.

        >>> CostModel(us_per_posting=0.5, us_per_store_row=2.0).price({"postings": 10, "store rows": 3})
        11.0
        """
        us = 0.0
        for kind, n in work.items():
            if kind in PRICES:
                us += getattr(self, PRICES[kind]) * n
        return us

    def of_operators(self, operators: Iterable[PhysicalOperator], estimates: EstimationContext) -> float | None:
        """Microseconds of the expected work of some operators together; None if that of one is unknown."""
        us = 0.0
        for operator in operators:
            work = estimates.work(operator)
            if work is None:
                return None
            us += self.price(work) if work else 0.0
        return us

    def bounded(self, **measured: float) -> CostModel:
        """Cost model with some unit costs replaced, each within a factor of FARTHEST of the current one.

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
    COLUMN_CELLS: "us_per_column_cell",
}
"""Unit cost of each kind of work, in the order of EXPLAIN."""

UNITS = tuple(one.name for one in fields(CostModel))
"""Names of all unit costs."""


def default_costs(engine: str) -> CostModel:
    """Default unit costs of a text engine; those of a local index if the engine is not installed."""
    declared = TEXT_ENGINES.get(engine).unit_costs if engine in TEXT_ENGINES else {}
    return replace(CostModel(), **declared)


def remote_costs(trip_us: float, row_us: float) -> dict[str, float]:
    """Unit costs of a graph at an endpoint, from its round trip and one more row, in microseconds; never below local
    costs.
    """
    local = CostModel()
    trip, row = max(trip_us, local.us_per_store_question), max(row_us, local.us_per_store_row)
    return {
        "us_per_store_question": trip,
        "us_per_store_row": row,
        "us_per_probe_in_store": row + trip / PROBES_AT_ONCE,
    }
