"""Pieces of literals: cut by their forms alone, and read as one list of them."""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import SMALL, small_pieces
from sampling import examples

from hybridkg.graph import stored_literals
from hybridkg.graph.build.literal_pieces import OFFSET_BYTES, LiteralPieces, may_end
from hybridkg.graph.stored_literals import PIECES, StoredLiterals
from hybridkg.graph.stored_projection import LAYOUT
from hybridkg.storage.arrays import MappedArrays, Writer

forms_ = st.lists(st.binary(max_size=30), max_size=60, unique=True).map(sorted)


@pytest.fixture(scope="module", autouse=True)
def several_pieces():
    with small_pieces():
        yield


def _written(forms, cuts=()):
    """The pieces of forms, appended in parts."""
    folder = Path(tempfile.mkdtemp())
    out = Writer(LAYOUT, folder)
    pieces = LiteralPieces(out)
    for first, end in zip([0, *cuts], [*cuts, len(forms)], strict=True):
        own = forms[first:end]
        pieces.append(np.frombuffer(b"".join(own), np.uint8), np.array([len(form) for form in own], np.uint32))
    pieces.close()
    out.finish({PIECES: pieces.sizes})
    return StoredLiterals(MappedArrays(LAYOUT, folder))


@settings(max_examples=examples(6, 200), deadline=None)
@given(forms=forms_, data=st.data())
def test_the_cuts_do_not_depend_on_how_the_forms_arrive(forms, data):
    whole = _written(forms)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(forms)), max_size=5)))
    assert _written(forms, cuts).ranges() == whole.ranges()
    behind = data.draw(st.sampled_from([end for _, end in whole.ranges()])) if forms else 0
    tail = [(first - behind, end - behind) for first, end in whole.ranges() if first >= behind]
    assert _written(forms[behind:]).ranges() == tail, "behind a cut, the forms before it do not matter"


@settings(max_examples=examples(6, 200), deadline=None)
@given(forms=forms_)
def test_pieces_have_the_sizes_that_are_wanted(forms):
    sizes = [[len(form) + OFFSET_BYTES for form in forms[first:end]] for first, end in _written(forms).ranges()]
    assert [sum(own) >= SMALL.least for own in sizes[:-1]] == [True] * len(sizes[:-1])
    assert all(sum(own[:-1]) < SMALL.most for own in sizes)


@settings(max_examples=examples(20, 200), deadline=None)
@given(forms=forms_, data=st.data())
def test_many_forms_are_the_strings_of_each(forms, data):
    forms = [str(form, "utf-8", "replace").encode() for form in forms]
    literals, place = _written(forms), st.integers(0, max(0, len(forms) - 1))
    places = data.draw(st.lists(place, max_size=12)) if forms else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_literals, "MANY", 1)
        for own in (places, sorted(places)):
            assert literals.strings(own) == [forms[i].decode() for i in own]


@pytest.mark.parametrize("few", [0, 64])
@settings(max_examples=examples(6, 200), deadline=None)
@given(forms=forms_, data=st.data())
def test_stored_literals_are_a_list_of_forms(few, forms, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_literals, "FEW", few)
        literals, n = _written(forms), len(forms)
        places = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1)))) if n else [], np.uint32)
        text, offsets = literals.gathered(places)
        assert [text[a:b].tobytes() for a, b in pairwise(offsets.tolist())] == [
            forms[place] for place in places.tolist()
        ]
    assert literals.lengths(0, n).tolist() == [len(form) for form in forms]
    first = data.draw(st.integers(0, n))
    end = data.draw(st.integers(first, n))
    for key in (*forms, b"", b"\x7f", b"\xff" * 40, *(form[:-1] for form in forms[:5])):
        assert literals.place(key, first, end) == bisect_left(forms, key, first, end)
        assert literals.find(key, first, end) == (forms.index(key) if key in forms[first:end] else -1)


@settings(max_examples=examples(30, 500), deadline=None)
@given(forms=forms_, few=st.sampled_from([0, 2, 64]), listed=st.sampled_from([1, 3, 4_096]), data=st.data())
def test_forms_are_read_in_parts_of_so_many_bytes(forms, few, listed, data):
    stored = _written(forms)
    places = sorted(data.draw(st.sets(st.integers(0, len(forms) - 1)) if forms else st.just(set())))
    most = data.draw(st.integers(1, 200))
    longest = max(map(len, forms), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_literals, "FEW", few)
        patch.setattr(stored_literals, "LISTED", listed)
        found, wanted = [], np.array(places, np.uint32)
        while len(found) < len(places):
            text, offsets = stored.gathered(wanted[len(found) :], most)
            assert offsets[0] == 0
            assert len(offsets) > 1
            assert len(text) >= most or len(found) + len(offsets) - 1 == len(places) or few < len(offsets) - 1
            # Up to `most` bytes before the last piece, or before the forms that are read one by one.
            assert len(text) <= 2 * most + max(longest, few * longest)
            found += [text[first:end].tobytes() for first, end in pairwise(offsets)]
        assert found == [forms[place] for place in places]
        assert stored.gathered(wanted)[0].tobytes() == b"".join(found)


def test_a_cut_is_expected_after_as_many_bytes_as_the_mean():
    forms = [f"a text with the number {i * 7919}".encode() for i in range(50_000)]
    lengths = np.array([len(form) for form in forms])
    marks = may_end(np.frombuffer(b"".join(forms), np.uint8), lengths, 10_000)
    expected = (lengths.sum() + OFFSET_BYTES * len(forms)) / 10_000
    assert 0.7 * expected < marks.sum() < 1.4 * expected
