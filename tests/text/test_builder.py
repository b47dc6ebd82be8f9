"""The builder writes the same bytes whatever the order, the numbers and the moment at which fields are complete."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.embedded import EmbeddedTextBuilder, builder

FIELDS = [IndexedField("title"), IndexedField("body", analyzer="stopped"), IndexedField("notes", analyzer="unstemmed")]
words = st.sampled_from(["red", "Sea", "seas", "the", "Straße", "rouges", "-"])
values = st.lists(
    st.tuples(st.lists(words, max_size=5).map(" ".join), st.sampled_from(["", "en", "fr", "de-AT"])),
    min_size=1,
    max_size=3,
)
records = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 2)), values, max_size=15)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def build(folder, records, **options):
    made = EmbeddedTextBuilder(folder, FIELDS, 10, **options)
    for entity, field in sorted(records):
        made.add(entity, field, records[entity, field])
    return made.finish(), files(folder)


@settings(max_examples=60, deadline=None)
@given(records, st.permutations(range(10)), st.permutations(range(3)), st.integers(0, 3))
def test_provisional_numbers_and_early_completion_change_nothing(records, ids, fields, early):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        want = build(Path(one), records)
        made = EmbeddedTextBuilder(Path(other), FIELDS, 2**32 - 1)
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


@settings(max_examples=30, deadline=None)
@given(records)
def test_what_is_remembered_or_spilled_changes_nothing(records):
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
    ):
        want = build(Path(one), records)
        old = {name: getattr(builder, name) for name in LIMITS}
        try:
            for name, limit in LIMITS.items():
                setattr(builder, name, limit)
            assert build(Path(other), records, chunk_tokens=3) == want
        finally:
            for name, limit in old.items():
                setattr(builder, name, limit)


LIMITS = {
    "MOST_REMEMBERED_VALUES": 1,
    "LONGEST_REMEMBERED_VALUE": 6,
    "MOST_REMEMBERED_WORDS": 1,
    "MOST_LANGUAGE_TAGS": 1,
    "_MOST_TOKENS_KEPT": 0,
    "_SPILL_TOKENS": 2,
}


def test_close_without_finish_leaves_no_thread(tmp_path):
    import threading

    before = threading.active_count()
    made = EmbeddedTextBuilder(tmp_path, FIELDS, 1)
    made.add(0, 0, [("red sea", "")])
    made.complete(0)
    made.close()
    assert threading.active_count() == before
