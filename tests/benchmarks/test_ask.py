"""Grades of questions: the paths of a gold query, and measures of a ranking."""

from __future__ import annotations

import pytest

from benchmarks.ask.gold import paths_of
from benchmarks.ask.grading import measures

HEAD = "PREFIX : <x:> SELECT DISTINCT ?x { ?x a :paper . "


def step(*alternatives):
    return frozenset((f"x:{name.removeprefix('^')}", name.startswith("^")) for name in alternatives)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        (":a a :author ; :writes ?x . FILTER(?x != :a)", [(step("writes"),)]),
        ("?u :at :a ; :writes ?x", [(step("^at"), step("writes"))]),
        ("?u :writes :a , ?x . ?x :topic/^:topic :a",
         [(step("topic"), step("^topic")), (step("^writes"), step("writes"))]),
        (":a (:buy|^:buy|:view) ?x", [(step("buy", "^buy", "view"),)]),
    ],
)  # fmt: skip
def test_paths_lead_from_the_anchor_to_the_answers(pattern, paths):
    found = paths_of(f"{HEAD}{pattern} }}", ())
    assert {iri for iri, _ in found} == {"x:a"}
    assert sorted((steps for _, steps in found), key=str) == sorted(paths, key=str)


def test_the_direction_of_a_symmetric_predicate_means_nothing():
    assert paths_of(HEAD + "?x :near :a }", {"x:near"}) == [("x:a", (step("near"),))]


def test_measures_of_a_ranking():
    found = measures(["a", "b", "c"], ("b", "z"))
    assert found == {"hit@1": 0.0, "recall@20": 0.5, "mrr": 0.5}
