"""Measures of a ranking, as benchmarks.ask has them, and the reading of STaRK's real questions."""

from __future__ import annotations

from benchmarks.ask.grading import measures


def test_measures_of_a_ranking():
    found = measures(["a", "b", "c"], ("b", "z"))
    assert found == {"hit@1": 0.0, "recall@20": 0.5, "mrr": 0.5}
