"""Entities keep the numbers of their documents on a server while their ids change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextServerError
from hybridkg.remote.elasticsearch.numbers import NUMBERS, DocumentNumbers, NumberEdit
from hybridkg.text.index.layout import ArrayReader, ArrayWriter

names = st.sets(st.integers(0, 60), max_size=20)


@settings(deadline=None, max_examples=examples(48, 80))
@given(first=names, changes=st.lists(st.tuples(names, names), max_size=4), spread=st.booleans())
def test_after_any_changes_each_entity_has_one_document_which_no_change_renumbers(
    tmp_path_factory, first, changes, spread
):
    """Entities have names, whose places in order are their ids; with `spread`, not all ids have a document."""
    states, step = [sorted(first)], 3 if spread else 1
    numbers = DocumentNumbers(np.arange(len(first), dtype=np.uint32) * step if spread else None)
    documents = {int(number): name for number, name in zip(numbers.of(ids_of(states[0], step)), states[0], strict=True)}
    for gone, entering in changes:
        before = states[-1]
        after = sorted((set(before) - gone) | entering)
        moved = np.array([after.index(n) if n in after and n not in entering else -1 for n in before], np.int64)
        places = np.array([after.index(name) for name in sorted(entering)], np.uint32)
        edit = NumberEdit(numbers, ids_of(before, step), moved, places)
        for number in edit.removed.tolist():
            del documents[number]
        for number, name in zip(edit.added.tolist(), sorted(entering), strict=True):
            assert number not in documents
            documents[number] = name
        folder = tmp_path_factory.mktemp("numbers")
        out = ArrayWriter(folder)
        edit.write(out)
        out.finish({})
        numbers = DocumentNumbers.read(ArrayReader(folder), ids_of(after, step) if spread else None)
        states.append(after)
        assert [documents[number] for number in numbers.of(ids_of(after, step)).tolist()] == after
        some = list(documents)
        assert [after[id // step] for id in numbers.entities_of(some).tolist()] == [documents[n] for n in some]


def ids_of(names: list[int], step: int) -> np.ndarray:
    return np.arange(len(names), dtype=np.uint32) * step


def test_a_document_of_no_entity_is_an_error():
    numbers = DocumentNumbers(None, np.array([0, 7], np.uint32), np.array([0, 1], np.uint32))
    for unknown in (1, 8):
        with pytest.raises(TextServerError, match="documents of no entity"):
            numbers.entities_of([0, unknown])


def test_without_a_number_left_there_is_no_other_document():
    last = np.array([2**32 - 2], np.uint32)
    numbers = DocumentNumbers(None, last, np.array([0], np.uint32))
    with pytest.raises(TextServerError, match="no numbers left"):
        NumberEdit(numbers, np.array([0], np.uint32), np.array([0]), np.array([1], np.uint32))


def test_a_folder_of_a_build_has_no_numbers(tmp_path: Path):
    out = ArrayWriter(tmp_path)
    out.finish({})
    reader = ArrayReader(tmp_path)
    assert not reader.has(NUMBERS)
    assert DocumentNumbers.read(reader).of(np.array([3, 1], np.uint32)).tolist() == [3, 1]
