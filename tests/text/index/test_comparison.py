"""A stored index equals its own texts, and differs from any others at a place that is named."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import CorruptError
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index import comparison
from hybridkg.text.index.build.builder import EmbeddedTextBuilder
from hybridkg.text.index.comparison import Difference, StoredText, compare_builds, compare_entities

FIELDS = [IndexedField("title", 2.0, 0.75, "standard"), IndexedField("body", 1.0, 0.75, "standard")]
words = st.lists(st.sampled_from(["space", "crew", "mars", "rote", "of", "the", "foggy"]), max_size=6).map(" ".join)
values = st.lists(st.tuples(words, st.sampled_from(["", "de"])), unique=True, max_size=3).map(sorted)
collections = st.lists(st.tuples(values, values), min_size=1, max_size=8)


def build(folder: Path, collection) -> StoredText:
    folder.mkdir()
    builder = EmbeddedTextBuilder(folder, FIELDS, len(collection))
    for field in range(len(FIELDS)):
        builder.add_all(field, ((entity, own[field]) for entity, own in enumerate(collection) if own[field]))
    builder.finish()
    return StoredText(folder)


def texts_of(collection, ids):
    return [[(i, collection[i][field]) for i in ids if collection[i][field]] for field in range(len(FIELDS))]


def words_of(collection):
    """The terms of each value in order, the words that are indexed only."""
    return [[[text.split() for text, _ in own] for own in fields] for fields in collection]


@given(collections, st.data())
@settings(max_examples=examples(5, 100))
def test_any_entities_of_an_index_equal_their_texts(collection, data):
    some = sorted(data.draw(st.sets(st.integers(0, len(collection) - 1), min_size=1)))
    with TemporaryDirectory() as name, patch.object(comparison, "MAX_WHOLE_LIST", data.draw(st.sampled_from([1, 99]))):
        index = build(Path(name) / "a", collection)
        assert compare_entities(index, np.array(some, np.uint32), texts_of(collection, some))[0] is None
        assert compare_builds(build(Path(name) / "b", collection), index) is None


@given(collections, st.data())
@settings(max_examples=examples(8, 12))
def test_other_texts_of_an_entity_are_found(collection, data):
    entity = data.draw(st.integers(0, len(collection) - 1))
    field = data.draw(st.integers(0, 1))
    changed = [list(own) for own in collection]
    changed[entity][field] = data.draw(values)
    with TemporaryDirectory() as name:
        index, other = build(Path(name) / "a", collection), build(Path(name) / "b", changed)
        same = compare_builds(other, index)
        found, _ = compare_entities(index, np.array([entity], np.uint32), texts_of(changed, [entity]))
        alone, _ = compare_entities(other, np.array([entity], np.uint32), texts_of(collection, [entity]))
    if words_of(collection) == words_of(changed):
        assert found is None  # the language alone may differ
    if found is not None or alone is not None:
        assert same is not None
    if found is not None:
        assert found.field == FIELDS[field].name
        assert found.entity == entity


@pytest.mark.parametrize(
    ("text", "what", "term"),
    [
        ("space crew of mars again", "lengths", ""),
        ("space crew of venus", "words", "venus"),
        ("space crew of crew", "postings", ""),
        ("crew space of mars", "positions", ""),
    ],
)
def test_the_first_difference_has_its_place(tmp_path, text, what, term):
    index = build(tmp_path / "a", [([("space crew of mars", "")], []), ([("a crew again", "")], [])])
    found, _ = compare_entities(index, np.array([0], np.uint32), [[(0, [(text, "")])], []])
    assert found is not None
    assert (found.what, found.field, found.entity) == (what, "title", 0)
    assert not term or found.term == term


def test_builds_are_compared_to_the_last_array(tmp_path):
    collection = [([("space crew", "")], [("fog", "de")]), ([("crew", "")], [])]
    expected = build(tmp_path / "a", collection)
    for name in expected.arrays:
        folder = tmp_path / f"b-{name}"
        found = build(folder, collection)
        file = folder / f"1.{name}"
        data = bytearray(file.read_bytes())
        if not data:
            continue
        del found
        data[-1] ^= 1
        file.write_bytes(bytes(data))
        try:
            difference = compare_builds(expected, StoredText(folder))
        except CorruptError:
            continue  # sizes that no longer agree are noticed when it is opened
        assert isinstance(difference, Difference), name
