"""An edited array, put together from slices or by masks, is the one that a list would be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.storage import array_edit
from hybridkg.storage.array_edit import ArrayEdit, add_from

texts = st.binary(max_size=3)


@st.composite
def edits(draw):
    """(an edit, the earlier texts, the ones that enter, those afterwards)."""
    old = draw(st.lists(texts, max_size=8))
    removed = sorted(draw(st.sets(st.sampled_from(range(len(old)))))) if old else []
    inserted = sorted(draw(st.lists(st.integers(0, len(old)), max_size=5)))
    new = [draw(texts) for _ in inserted]
    after = []
    for place in range(len(old) + 1):
        after += [text for at, text in zip(inserted, new, strict=True) if at == place]
        after += [old[place]] if place < len(old) and place not in removed else []
    return ArrayEdit(len(old), np.array(removed, np.int64), np.array(inserted, np.int64)), old, new, after


@pytest.mark.parametrize("most", [0, 1_000])
@given(case=edits())
def test_an_edited_array_is_that_of_a_list(most, case):
    edit, old, new, after = case
    sizes = [np.array([len(one) for one in own], np.int64) for own in (old, new, after)]
    offsets = np.concatenate(([0], np.cumsum(sizes[0]))).astype(np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_edit, "MAX_SLICES", most)
        found = edit.apply(sizes[0].astype(np.uint8), sizes[1])
        ends = [edit.offsets(offsets, sizes[1], dtype) for dtype in (np.uint8, np.uint32, np.uint64)]
    assert found.tolist() == sizes[2].tolist()
    assert edit.new_size == len(after)
    assert not edit or found.dtype == np.uint8
    assert [one.tolist() for one in ends] == [[0, *np.cumsum(sizes[2]).tolist()]] * 3
    assert [one.dtype for one in ends] == [np.uint8, np.uint32, np.uint64]
    assert edit.end(offsets, sizes[1]) == ends[0][-1]
    text = np.frombuffer(b"".join(old), np.uint8)
    assert b"".join(bytes(part) for part in edit.text_parts(text, offsets, new)) == b"".join(after)


def test_offsets_may_be_larger_before_than_their_type_afterwards():
    edit = ArrayEdit(3, np.array([0, 1]), np.array([3]))
    offsets = np.array([0, 300, 70_000, 70_009], np.uint32)
    assert edit.end(offsets, [5]) == 14
    assert edit.offsets(offsets, [5], np.uint8).tolist() == [0, 9, 14]


@pytest.mark.parametrize("most", [0, 1_000])
@given(
    array=st.lists(st.integers(0, 100), min_size=1, max_size=9),
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(-5, 5)), max_size=6),
)
def test_amounts_are_added_from_their_places_on(most, array, steps):
    steps = sorted((min(place, len(array)), amount) for place, amount in steps)
    want = [value + sum(amount for place, amount in steps if place <= at) for at, value in enumerate(array)]
    found = np.array(array, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_edit, "MAX_SLICES", most)
        add_from(found, *(np.array([step[i] for step in steps], np.int64) for i in range(2)))
    assert found.tolist() == want
