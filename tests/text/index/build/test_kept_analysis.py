"""What an analysis keeps from commit to commit changes no result."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.build import kept_analysis as module
from hybridkg.text.index.build.added_postings import added_postings
from hybridkg.text.index.build.analysis_batch import BatchAnalyzer
from hybridkg.text.index.build.kept_analysis import kept_analysis

FIELDS = IndexedField("title", 2.0, 0.5, "standard"), IndexedField("id", 1.0, 0.0, "identifier")
ALL = {name: ANALYZERS.get(name)() for name in ("standard", "identifier")}

words = st.sampled_from(["a", "sea", "seas", "Seefahrer", "seafarers", "seafarer", "été", "中文", "x-1", "", "the"])
value = st.tuples(st.lists(words, max_size=5).map(" ".join), st.sampled_from(["", "", "en", "DE"]))
records = st.dictionaries(st.integers(0, 30), st.lists(value, min_size=1, max_size=3, unique=True), max_size=6)
changes = st.lists(st.tuples(records, records), min_size=1, max_size=3)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(module, "_kept", [])


def _columns(own):
    return EntityValues.of(sorted(own.items()))


def _shared(before, after):
    """The columns of two states that share their distinct values."""
    both = EntityValues.of([*enumerate(before.values()), *enumerate(after.values())])
    n = sum(map(len, before.values()))
    for own, codes in ((before, both.codes[:n]), (after, both.codes[n:])):
        counts = np.array([len(values) for values in own.values()], np.int64)
        yield EntityValues(both.values, np.array([*own], np.uint32), counts, codes)


def _listed(postings):
    arrays = (postings.term, postings.field, postings.ids, postings.tf, postings.positions)
    languages = [
        (own.languages, own.entities.tolist(), own.starts.tolist(), own.tokens.tolist()) for own in postings.languages
    ]
    lengths = [(ids.tolist(), counts.tolist()) for ids, counts in postings.lengths]
    return postings.terms, [array.tolist() for array in arrays], lengths, languages


@settings(max_examples=examples(60, 600), deadline=None)
@given(changes)
def test_the_postings_of_a_kept_analysis_are_those_of_a_new_one(many):
    kept = {threshold: BatchAnalyzer(ALL, compiled_from=threshold) for threshold in (0, float("inf"))}
    for change in many:
        before, after = (dict(sorted(own.items())) for own in change)
        texts = [*_shared(before, after), _columns(after), _columns(before)]
        fields = [FIELDS[0], FIELDS[0], *FIELDS]
        wanted = _listed(added_postings(fields, BatchAnalyzer(ALL, compiled_from=float("inf")), 31, texts))
        for analysis in kept.values():
            assert _listed(added_postings(fields, analysis, 31, texts)) == wanted
            analysis.forget_values()


def test_the_next_commit_gets_the_analysis_of_the_last_one(monkeypatch):
    with kept_analysis(ALL) as first:
        added_postings(FIELDS, first, 9, [EntityValues.of([(1, [("red sea", "")])]), EntityValues.of([])])
        with kept_analysis(ALL) as meanwhile:
            assert meanwhile is not first  # another thread has the first one
    with kept_analysis(ALL) as second:
        assert second is first
    with kept_analysis({"standard": ALL["standard"]}) as other:
        assert other is not first
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    with kept_analysis(ALL) as large:
        added_postings(FIELDS, large, 9, [EntityValues.of([(1, [("red sea", "")])]), EntityValues.of([])])
    assert all(own is not large for _, own in module._kept)


def test_an_analysis_that_failed_is_not_kept():
    with pytest.raises(RuntimeError), kept_analysis(ALL) as failed:
        raise RuntimeError
    with kept_analysis(ALL) as next_one:
        assert next_one is not failed


def test_threads_do_not_share_an_analysis():
    seen, barrier = [], threading.Barrier(4)

    def run():
        with kept_analysis(ALL) as own:
            seen.append(own)
            barrier.wait(20)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(own) for own in seen}) == 4


def test_an_entity_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="not below 3"):
        added_postings(FIELDS[:1], BatchAnalyzer(ALL), 3, [EntityValues.of([(3, [("sea", "")])])])
