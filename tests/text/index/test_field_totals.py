"""The totals of lengths that follow a change are those of all lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sampling import examples

from hybridkg.text.index.field_presence import FieldTotals
from hybridkg.text.index.layout import ArrayReader, ArrayWriter

shapes = st.tuples(st.integers(1, 4), st.integers(1, 12))
some = shapes.flatmap(lambda shape: arrays.arrays(np.uint32, shape, elements=st.integers(0, 5)))


@settings(max_examples=examples(150, 2_000), deadline=None)
@given(some, st.data())
def test_totals_that_follow_are_those_of_all_lengths(lengths, data):
    places = data.draw(st.lists(st.integers(0, lengths.shape[1] - 1), unique=True))
    after = lengths.copy()
    shape = len(lengths), len(places)
    after[:, places] = data.draw(arrays.arrays(np.uint32, shape, elements=st.integers(0, 5)))
    totals = FieldTotals.of(lengths).changed(lengths[:, places], after[:, places])
    event(f"follows: {totals is not None}")
    if totals is None:
        left, entered = (FieldTotals.of(own[:, places]).longest for own in (lengths, after))
        whole = FieldTotals.of(lengths).longest
        assert any(a == most > b for most, a, b in zip(whole, left, entered, strict=True))
        return
    assert totals == FieldTotals.of(after)


def test_only_a_longest_one_that_gets_shorter_is_looked_for_again():
    lengths = np.array([[3, 1, 3], [0, 2, 0]], np.uint32)
    totals = FieldTotals.of(lengths)
    for place, own, follows in ((1, [2, 0], False), (1, [0, 2], False), (1, [1, 4], True), (0, [3, 1], True)):
        after = lengths.copy()
        after[:, place] = own
        found = totals.changed(lengths[:, [place]], after[:, [place]])
        assert (found is not None) == follows, (place, own)
        assert found is None or found == FieldTotals.of(after)


def test_stored_totals_are_what_was_written(tmp_path):
    totals = FieldTotals.of(np.array([[3, 1, 0], [0, 2, 0]], np.uint32))
    out = ArrayWriter(tmp_path, "1")
    assert totals.write_sets(out) == 2
    out.write("peaks.longest", np.array(totals.longest, np.uint32))
    out.finish({"fields": {"entities": list(totals.entities), "tokens": list(totals.tokens)}})
    assert FieldTotals.stored(ArrayReader(tmp_path, "1")) == totals
