"""An edited array, put together from slices or by masks, is the one that a list would be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.storage import array_edit
from hybridkg.storage.array_edit import ArrayEdit

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
    assert found.tolist() == sizes[2].tolist()
    assert edit.new_size == len(after)
    assert not edit or found.dtype == np.uint8
    assert edit.offsets(offsets, sizes[1].tolist()).tolist() == [0, *np.cumsum(sizes[2]).tolist()]
    text = np.frombuffer(b"".join(old), np.uint8)
    assert b"".join(bytes(part) for part in edit.text_parts(text, offsets, new)) == b"".join(after)
