"""The builder writes the same bytes whatever the order, the numbers, the batches and the processes."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import ProfileError
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index import EmbeddedTextBuilder
from hybridkg.text.index.build import field_stream, tokens
from hybridkg.text.index.build.builder import BuildLimits

FIELDS = [IndexedField("title"), IndexedField("body", analyzer="stopped"), IndexedField("notes", analyzer="unstemmed")]
SMALL = BuildLimits(direct_bytes=1, batch_bytes=60, chunk_tokens=3, range_tokens=4, workers=0)
words = st.sampled_from(["red", "Sea", "seas", "the", "Straße", "rouges", "-"])
values = st.lists(
    st.tuples(st.lists(words, max_size=5).map(" ".join), st.sampled_from(["", "en", "fr", "de-AT"])),
    min_size=1,
    max_size=3,
)
records = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 2)), values, max_size=15)
sizes = st.builds(
    BuildLimits,
    direct_bytes=st.sampled_from([0, 10, 10_000]),
    batch_bytes=st.sampled_from([1, 60, 300, 10_000]),
    chunk_tokens=st.sampled_from([1, 3, 1000]),
    range_tokens=st.sampled_from([1, 5, 1000]),
    workers=st.just(0),
)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def build(folder, records, fields=FIELDS, n_nodes=10, **options):
    made = EmbeddedTextBuilder(folder, fields, n_nodes, **options)
    try:
        for entity, field in sorted(records):
            made.add(entity, field, records[entity, field])
        return made.finish(), files(folder)
    finally:
        made.close()


@settings(max_examples=examples(5, 120), deadline=None)
@given(records, st.permutations(range(10)), st.permutations(range(3)), st.integers(0, 3), sizes)
def test_provisional_numbers_early_completion_and_sizes_change_nothing(records, ids, fields, early, sizes):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        want = build(Path(one), records)
        made = EmbeddedTextBuilder(Path(other), FIELDS, 2**32 - 1, sizes=sizes)
        for field in fields[:early]:
            for i, entity in enumerate(ids):
                if (entity, field) in records:
                    made.add(i, field, records[entity, field])
        made.renumber(ids, 10)
        for field in fields[:early]:
            made.complete(field)
        for field in fields[early:]:
            for entity in ids:
                if (entity, field) in records:
                    made.add(entity, field, records[entity, field])
            made.complete(field)
        assert (made.finish(), files(Path(other))) == want


@settings(max_examples=examples(5, 60), deadline=None)
@given(records)
def test_what_is_remembered_or_spilled_changes_nothing(records):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        want = build(Path(one), records)
        old = {name: getattr(module, name) for name, (module, _) in LIMITS.items()}
        try:
            for name, (module, limit) in LIMITS.items():
                setattr(module, name, limit)
            assert build(Path(other), records, sizes=SMALL) == want
        finally:
            for name, limit in old.items():
                setattr(LIMITS[name][0], name, limit)


LIMITS = {
    "MAX_CACHED_VALUES": (tokens, 1),
    "MAX_CACHED_VALUE_LENGTH": (tokens, 6),
    "MAX_CACHED_WORDS": (tokens, 1),
    "MAX_LANGUAGE_TAGS": (tokens, 1),
    "MAX_TOKENS_IN_MEMORY": (field_stream, 2),
}


MANY = {
    (entity, field): [(" ".join(f"w{entity * k % 97}" for k in range(1, 9)), "en" if entity % 5 else "fr")]
    for entity in range(300)
    for field in range(3)
}


def test_processes_change_nothing(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    want = build(tmp_path / "one", MANY, n_nodes=300)
    sizes = replace(SMALL, batch_bytes=2_000, chunk_tokens=100, range_tokens=500, workers=2)
    assert build(tmp_path / "other", MANY, n_nodes=300, sizes=sizes) == want


def test_a_list_larger_than_a_range_is_a_range_of_its_own(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    records = {(i, 0): [("same " * 20 + f"w{i % 3}", "")] for i in range(200)}
    want = build(tmp_path / "one", records, n_nodes=200)
    sizes = BuildLimits(chunk_tokens=64, range_tokens=100)
    assert build(tmp_path / "other", records, n_nodes=200, sizes=sizes) == want


@pytest.mark.parametrize("sizes", [BuildLimits(), SMALL])
def test_an_entity_is_added_once_and_in_range(tmp_path, sizes):
    made = EmbeddedTextBuilder(tmp_path, FIELDS, 2, sizes=sizes)
    made.add(0, 0, [("red sea", "")])
    made.add(0, 0, [("red sea again", "")])
    with pytest.raises(ValueError, match="of one entity was added twice"):
        made.finish()
    made.close()
    made = EmbeddedTextBuilder(tmp_path, FIELDS, 2, sizes=sizes)
    made.add(0, 0, [("red sea", "")])
    with pytest.raises(ValueError, match="entity 2 is not below 2"):
        made.add(2, 0, [("red sea", "")])
    made.close()


def test_fields_have_names_of_their_own(tmp_path):
    with pytest.raises(ProfileError, match="two text fields are named 'title'"):
        EmbeddedTextBuilder(tmp_path, FIELDS * 2, 1)


@pytest.mark.parametrize("sizes", [BuildLimits(), replace(SMALL, workers=1)])
def test_close_without_finish_leaves_no_thread_and_no_process(tmp_path, sizes):
    before = threading.active_count()
    made = EmbeddedTextBuilder(tmp_path, FIELDS, 50, sizes=sizes)
    for entity in range(50):
        made.add(entity, 0, [("red sea " * 5, "")])
    made.complete(0)
    made.close()
    assert threading.active_count() == before


class Told:
    """Remembers what a progress was told."""

    def __init__(self):
        self.steps = []

    def start(self, label, total):
        self.steps.append([label, total, 0])

    def advance(self, units, items):
        self.steps[-1][2] += units

    def done(self, items):
        pass


def test_progress_reaches_its_totals(tmp_path):
    told = Told()
    build(tmp_path, MANY, n_nodes=300, sizes=replace(SMALL, chunk_tokens=100, range_tokens=500), progress=told)
    assert [step[0] for step in told.steps] == ["sorting words", "merging postings"]
    assert all(total == reached for _, total, reached in told.steps)
    assert [total for _, total, _ in told.steps] == [7200, 7200]
