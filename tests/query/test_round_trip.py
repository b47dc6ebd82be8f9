"""parse(write(q)) == q on random texts of the whole grammar; `python -m benchmarks.round_trip` runs a million."""

from __future__ import annotations

import pytest

from hybridkg.query import tables

round_trip = pytest.importorskip("benchmarks.round_trip", reason="benchmarks/ is not part of the source package")


def test_the_generator_knows_every_rule_of_the_parser():
    ours = sorted((name, left, len(right)) for left, right, name in round_trip.grammar().all())
    assert ours == sorted((name, left, size) for name, left, size, _ in tables.load().rules)
    nameless = [name for name, texts in round_trip.grammar().terminals.items() if not texts]
    assert set(nameless) == {"WS", "COMMENT"}


def test_random_texts_of_the_grammar_come_back_as_the_same_query():
    result = round_trip.rounds(1, texts=250, seconds=60)
    assert result["queries"] >= 100
    assert result["queries"] > result["tried"] / 3
    assert len(round_trip.unreached(result["reached"])) < len(tables.load().rules) / 5


def test_a_writer_that_loses_something_is_found(monkeypatch):
    monkeypatch.setattr(round_trip, "write", lambda query: "SELECT * {}")
    with pytest.raises(AssertionError, match="another query comes back"):
        round_trip.rounds(1, texts=20, seconds=10)


@pytest.mark.exhaustive
def test_many_texts_reach_every_production():
    result = round_trip.rounds(2, texts=20_000, seconds=600)
    assert round_trip.unreached(result["reached"]) == []
