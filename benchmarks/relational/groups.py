"""The groups of questions."""

from __future__ import annotations

from benchmarks.relational.cliffs import CLIFFS
from benchmarks.relational.hybrid import HYBRID
from benchmarks.relational.question import Question
from benchmarks.relational.small import SMALL
from benchmarks.relational.whole import TRIANGLES, WHOLE

SMALL_ONES, WHOLE_GRAPH, CYCLES, AROUND_MATCH, AROUND_RANKS = "small", "whole", "triangles", "hybrid", "cliffs"
GROUPS: dict[str, tuple[Question, ...]] = {
    SMALL_ONES: SMALL,
    WHOLE_GRAPH: WHOLE,
    CYCLES: TRIANGLES,
    AROUND_MATCH: HYBRID,
    AROUND_RANKS: CLIFFS,
}
WITH_TEXT = AROUND_MATCH, AROUND_RANKS
"""Groups that no other engine is asked in SPARQL."""
