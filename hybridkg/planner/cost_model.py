"""What a unit of work costs, in microseconds.

A strategy's cost is a sum of products of these and of how much there is to do, which the planner estimates. The
defaults are medians that calibration.py found, where nothing else is said, on 2 cores of an AMD EPYC (a virtual
machine that others kept busy, so in time of the processor) in November 2026, with the ACL Anthology: 352,000 entities,
1.8 million triples, 10.5 million postings. A machine's own values lie beside its index, and are refined by use
(unit_costs.py).
"""

from __future__ import annotations

from collections.abc import Mapping
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
    STORE_QUESTIONS,
    STORE_ROWS,
    TEXT_QUESTIONS,
)

FARTHEST = 20.0
"""Times a default: a unit cost is never taken to be more, nor less than the inverse, whatever has been measured. Biased
constants do more harm than poor cardinalities (design, planner.md)."""


@dataclass(frozen=True)
class CostModel:
    """Unit costs in microseconds. The defaults are those of the embedded text engine."""

    us_per_adjacency_entry: float = 0.02
    """One entry of the projection that a pattern reads: a source, a target or a value. Measured: the subjects that
    have both of the two largest predicates, against those of a small one."""

    us_per_graph_question: float = 120.0
    """Asking the projection for the candidates of a pattern, however few they are. Measured: the smallest predicate."""

    us_per_store_question: float = 100.0
    """Sending the graph store one query: parsing, planning, the first row. Measured: VALUES with one subject."""

    us_per_store_row: float = 8.0
    """One row that the graph store gives, with its terms. Measured: 2,000 rows of a predicate against 200."""

    us_per_probe_in_store: float = 20.0
    """One value of a VALUES block, with the few rows that it leads to. Measured: 200 subjects against 20."""

    us_per_text_question: float = 50.0
    """Asking the text index anything: analysis, dictionary, an empty answer; of a server, a round trip. Measured: the
    best 10 of the rarest words."""

    us_per_text_scoring: float = 330.0
    """Asking the text index for scores, of given entities or of all, however few. Fitted to the processor time of
    forced plans (benchmarks/planner, tuning half); not measured at index time."""

    us_per_posting: float = 0.012
    """One posting of a list that is read for its best k, most of which are skipped unread. Measured: the best 10 of
    three common words against those of a rare one."""

    us_per_hit: float = 0.4
    """One more of the best k. Measured: the best 2,000 of three common words against their best 10."""

    us_per_scored_posting: float = 0.1
    """One entity of a complete relation, with its score. Measured: all matches of a frequent word against those of a
    rare one."""

    us_per_scored_candidate: float = 0.05
    """One entity whose text is scored because it is a candidate. Measured: 2,000 matches of a frequent word
    against 200 of them. Sparse candidates of a long list cost up to twenty times as much: each unpacks a block."""

    us_per_masked_candidate: float = 0.003
    """One candidate of a set that the text index ranks. Measured: the best 10 of a frequent word among all its matches,
    at most 20,000, against those among 200."""

    us_per_row_of_terms: float = 2.5
    """Making a row of terms out of ids, and keeping it. Measured: names of 2,000 entities, as keys of a dictionary."""

    us_per_row_passed: float = 1.0
    """One row that goes through one operator above the choice of rows. Fitted in the same way."""

    us_per_look: float = 120.0
    """One look of rank_first or rank_join at their lists, beside what it asks: sets of what is new and what is left.
    Fitted in the same way."""

    us_per_operator: float = 30.0
    """Starting one operator of a plan. A guess that use corrects; not measured at index time."""

    def predicted_us(self, counts: Mapping[str, int]) -> float:
        """How long the work takes that a run has counted.

        Args:
            counts: by kind (interfaces/meter.py); unknown kinds are free.

        >>> CostModel(us_per_posting=0.5, us_per_store_row=2.0).predicted_us({"postings": 10, "store rows": 3})
        11.0
        """
        return sum((getattr(self, PRICES[kind]) * n for kind, n in counts.items() if kind in PRICES), 0.0)

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
    GRAPH_QUESTIONS: "us_per_graph_question",
    TEXT_QUESTIONS: "us_per_text_question",
    POSTINGS: "us_per_posting",
    SCORED_POSTINGS: "us_per_scored_posting",
    MASKED: "us_per_masked_candidate",
    HITS: "us_per_hit",
    SCORINGS: "us_per_text_scoring",
    PROBES: "us_per_scored_candidate",
    STORE_ROWS: "us_per_store_row",
    STORE_QUESTIONS: "us_per_store_question",
    ROWS: "us_per_row_of_terms",
    OPERATORS: "us_per_operator",
    LOOKS: "us_per_look",
    ROWS_PASSED: "us_per_row_passed",
}
"""The unit cost of each kind of counted work."""

UNITS = tuple(one.name for one in fields(CostModel))
"""The names of all unit costs."""

ELASTICSEARCH = CostModel(
    us_per_text_question=4_000.0,
    us_per_posting=0.02,
    us_per_hit=15.0,
    us_per_scored_posting=15.0,
    us_per_scored_candidate=5.0,
    us_per_masked_candidate=5.0,
)
"""A server on the same machine, until it has been measured: guesses. A question is a round trip or two, a hit is JSON
to be fetched and read, a candidate is a number in a `terms` filter and perhaps a hit."""

DEFAULTS = {"embedded": CostModel(), "elasticsearch": ELASTICSEARCH}
"""By name of the text engine."""


def default_costs(engine: str) -> CostModel:
    """The unit costs of a text engine before anything is measured; for a stranger those of the embedded one."""
    return DEFAULTS.get(engine, DEFAULTS["embedded"])
