"""An index that is merged from the earlier one has the bytes of a build from scratch.

Block maxima may have other levels and forms; `assert_law` says what holds for them.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from block_max_law import assert_law, header_without_forms
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.interfaces.staying import Staying
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.build import incremental
from hybridkg.text.index.build.builder import EmbeddedTextBuilder
from hybridkg.text.index.build.incremental import merge_text
from hybridkg.text.index.build.list_splicing import ListSplice
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.topk import block_max, block_max_writer, patched_block_max
from hybridkg.text.index.topk.block_max_check import DEPENDS_ON_COMMITS

FIELDS = (
    IndexedField("title", 2.0, 0.5, "standard"),
    IndexedField("body", 1.0, 0.75, "standard"),
    IndexedField("id", 1.0, 0.0, "identifier"),
)
_numbers = count()

words = st.sampled_from(
    ["a", "sea", "sees", "fish", "Fischer", "été", "zebra", "straße", "x1", "the", "ab", "abc", "\U0001f600"]
)
value = st.tuples(st.lists(words, max_size=6).map(" ".join), st.sampled_from(["", "", "en", "fr", "DE"]))
values = st.lists(value, max_size=3)
document = st.tuples(*[values for _ in FIELDS])
collection = st.dictionaries(st.integers(0, 400), document, max_size=14)


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def _new(folder: Path) -> Path:
    path = folder / str(next(_numbers))
    path.mkdir()
    return path


def _bytes(texts: dict) -> int:
    return sum(len(text.encode()) for fields in texts.values() for own in fields for text, _ in own)


def _built(folder: Path, texts: dict) -> tuple[Path, dict]:
    path, ids = _new(folder), {key: n for n, key in enumerate(sorted(texts))}
    with closing(EmbeddedTextBuilder(path, FIELDS, len(ids))) as builder:
        for i in range(len(FIELDS)):
            builder.add_all(i, ((ids[key], texts[key][i]) for key in sorted(texts)))
        return path, builder.finish()


def _merged(folder: Path, previous: Path, old: dict, new: dict, **limits) -> tuple[Path, dict]:
    ids = {key: n for n, key in enumerate(sorted(new))}
    absent = ([],) * len(FIELDS)
    staying, before, records = [], [], []
    numbers = {key: n for n, key in enumerate(sorted(old))}
    for i in range(len(FIELDS)):
        same = {key for key in old if key in new and new[key][i] == old[key][i]}
        stays = np.array([ids[key] if key in same else -1 for key in sorted(old)], np.int64)
        staying.append(Staying.of(stays))
        left = [(numbers[key], old[key][i]) for key in sorted(old) if key not in same if old[key][i]]
        entered = [(ids[key], new[key][i]) for key in sorted(new) if new[key][i] != old.get(key, absent)[i]]
        before.append(EntityValues.of(left))
        records.append(EntityValues.of(entered))
    path = _new(folder)
    return path, merge_text(previous, path, FIELDS, staying, len(ids), before, records, _bytes(new), **limits)


def _assert_same(found: tuple[Path, dict], wanted: tuple[Path, dict]) -> None:
    assert found[1] == wanted[1]
    names = sorted(file.name for file in wanted[0].iterdir())
    assert sorted(file.name for file in found[0].iterdir()) == names
    assert header_without_forms(found[0] / "1.json") == header_without_forms(wanted[0] / "1.json")
    for name in {*names} - {"1.json", *(f"1.{array}" for array in DEPENDS_ON_COMMITS)}:
        assert (found[0] / name).read_bytes() == (wanted[0] / name).read_bytes(), name
    assert_law(found[0], FIELDS)


@settings(max_examples=examples(5, 100), deadline=None)
@given(old=collection, new=collection, both=collection, limit=st.sampled_from([1, 3, 10_000]))
def test_a_merge_has_the_bytes_of_a_build(folder, old, new, both, limit):
    old, new = {**old, **both}, {**new, **both}
    previous, _ = _built(folder, old)
    _assert_same(_merged(folder, previous, old, new, chunk_postings=limit), _built(folder, new))


def _spliced(folder: Path, previous: Path, old: dict, new: dict, **limits) -> tuple[tuple[Path, dict], bool]:
    """The merged index, and whether lists were copied, however many change."""
    copied, write = [], ListSplice.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ListSplice, "write", lambda *args: copied.append(1) or write(*args))
        patch.setattr(incremental, "MAX_SPLICED", 1)
        return _merged(folder, previous, old, new, **limits), bool(copied)


@settings(max_examples=examples(8, 200), deadline=None)
@given(old=collection, later=st.lists(st.none() | document, max_size=14), limit=st.sampled_from([1, 4, 10_000]))
def test_where_no_entity_comes_or_goes_the_lists_that_stay_are_copied(folder, old, later, limit):
    keys = sorted(old)[: len(later)]
    new = {**old, **{key: own for key, own in zip(keys, later, strict=False) if own is not None}}
    previous, _ = _built(folder, old)
    merged, is_copied = _spliced(folder, previous, old, new, chunk_postings=limit)
    assert is_copied
    _assert_same(merged, _built(folder, new))


@pytest.mark.parametrize("limit", [100, incremental.CHUNK_POSTINGS])
def test_long_lists_between_others_are_copied(folder, limit):
    old = _many(800, 8)
    old[3] = ([("onlyhere w3", "")], *old[3][1:])
    previous, _ = _built(folder, old)
    new = {
        **old,
        3: ([("w3 aaa zzz", "")], *old[3][1:]),
        700: (old[700][0], [("w0 w1 new", "en")], old[700][2]),
        799: ([], [], []),
    }
    merged, is_copied = _spliced(folder, previous, old, new, chunk_postings=limit)
    assert is_copied
    _assert_same(merged, _built(folder, new))


def test_earlier_texts_that_are_not_those_of_the_index_are_noticed(folder, monkeypatch, caplog):
    old = _many(60, 8)
    previous, _ = _built(folder, old)
    new = {**old, 5: ([("brandnew", "")], *old[5][1:])}
    real = incremental.added_postings
    monkeypatch.setattr(
        incremental,
        "added_postings",
        lambda fields, analysis, n, texts: real(
            fields, analysis, n, [EntityValues.of(one for one in own if one[1] != old[5][0]) for own in texts]
        ),
    )
    merged, is_copied = _spliced(folder, previous, old, new)
    assert not is_copied
    assert "not those of the text index" in caplog.text
    _assert_same(merged, _built(folder, new))


@pytest.mark.parametrize("claimed", ["sea", "fish zebra", "zebra fish w1 w2"])
@pytest.mark.parametrize("limit", [1, incremental.CHUNK_POSTINGS])
def test_other_words_than_those_of_the_index_are_noticed(folder, caplog, claimed, limit):
    old = _many(60, 8)
    old[5] = ([("zebra fish", "")], *old[5][1:])
    old[6] = ([("sea", "")], *old[6][1:])
    previous, _ = _built(folder, old)
    new = {**old, 5: ([(f"{claimed} w9", "")], *old[5][1:])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental, "MAX_SPLICED", 1)
        merged = _merged(folder, previous, {**old, 5: ([(claimed, "")], *old[5][1:])}, new, chunk_postings=limit)
    assert "not those of the text index" in caplog.text
    _assert_same(merged, _built(folder, new))


def test_an_untagged_run_behind_a_tagged_value_without_words_begins_no_language(folder):
    old = {0: ([("sea", "de")], [], []), 1: ([("sea", "")], [], [])}
    new = {**old, 1: ([("!!!", "de"), ("sea", ""), ("!!!", "fr"), ("fish", "")], [], [])}
    previous, _ = _built(folder, old)
    _assert_same(_merged(folder, previous, old, new), _built(folder, new))


def _many(n: int, seed: int) -> dict:
    random = np.random.default_rng(seed)
    vocabulary = [f"w{i}" for i in range(300)]
    texts = {}
    for key in range(n):
        body = " ".join(vocabulary[min(299, int(i))] for i in random.exponential(20, random.integers(1, 30)))
        texts[key] = ([(f"t{key % 7} w{key % 11}", "")], [(body, "en" if key % 3 else "")], [(f"id{key}", "")])
    return texts


@pytest.mark.parametrize(("n", "seed"), [(300, 1), (700, 2), (21_000, 3)])
def test_long_lists_and_block_maxima_too(folder, n, seed):
    old = _many(n, seed)
    previous, _ = _built(folder, old)
    new = dict(old)
    for key in (5, n // 2, n - 1):
        del new[key]
    new[n // 3] = ([("w0 w1 brandnew", "fr")], [], [("id", "")])
    new[n + 5] = ([("w3", "")], [("w0 " * 40, "en")], [])
    _assert_same(_merged(folder, previous, old, new), _built(folder, new))


@pytest.mark.parametrize("length_bits", [5, 20])
@pytest.mark.parametrize("changed", [1, 10, 60])
def test_block_maxima_of_words_that_stay_are_patched(folder, monkeypatch, changed, length_bits):
    """Titles change, so that a word has other postings, or entities with a longer text, or nothing new."""
    monkeypatch.setattr(block_max_writer, "MIN_NODES", 1)
    monkeypatch.setattr(block_max_writer, "COMMON", 30)
    monkeypatch.setattr(patched_block_max, "MAX_PATCHED", 1)
    monkeypatch.setattr(block_max, "MEAN_BITS", 3)  # so that the mean lengths of so few texts stay
    monkeypatch.setattr(block_max, "LENGTH_BITS", length_bits)
    old = _many(900, changed)
    old[899] = ([("w9 " * 90, "")], *old[899][1:])
    previous, _ = _built(folder, old)
    new = dict(old)
    for key in range(3, 3 + 7 * changed, 7):
        # w1 leaves some titles, and some texts become longer than others of the same length.
        new[key] = ([(f"t{key % 7} brandnew w{key % 5}", "")], *old[key][1:])
    new[700] = old[700][:1] + old[701][1:]
    read, blocks = [], block_max_writer.BlockReader.blocks
    monkeypatch.setattr(
        block_max_writer.BlockReader, "blocks", lambda self, term: (read.append(term), blocks(self, term))[1]
    )
    merged = _merged(folder, previous, old, new)
    assert len(read) < len(ArrayReader(merged[0], "1").array("peaks.terms")) / 2
    _assert_same(merged, _built(folder, new))


def test_a_mean_length_that_moves_far_changes_all_block_maxima(folder, monkeypatch):
    monkeypatch.setattr(block_max_writer, "MIN_NODES", 1)
    old = _many(600, 9)
    previous, _ = _built(folder, old)
    new = {**old, 17: (old[17][0], [("w0 w1 " * 400, "")], old[17][2])}
    _assert_same(_merged(folder, previous, old, new), _built(folder, new))


def test_a_vocabulary_that_stays_the_same_is_linked_and_not_written(folder):
    old = _many(120, 6)
    previous, _ = _built(folder, old)
    for word, is_linked in (("w0", True), ("brandnew", False)):
        new = {**old, 40: ([(word, ""), old[40][0][0]], old[40][1], old[40][2])}
        merged = _merged(folder, previous, old, new)
        _assert_same(merged, _built(folder, new))
        name = "1.terms.text"
        assert (merged[0] / name).samefile(previous / name) == is_linked


def test_a_chain_of_merges_equals_a_build(folder):
    state = _many(150, 4)
    path, counts = _built(folder, state)
    for step in range(10):
        later = {key: text for key, text in state.items() if key % 13 != step}
        later[1000 + step] = ([(f"step{step} w{step}", "de")], [("w1", "")], [])
        (path, counts), state = _merged(folder, path, state, later), later
    _assert_same((path, counts), _built(folder, state))


def test_other_fields_are_refused(folder):
    previous, _ = _built(folder, _many(3, 5))
    none = EntityValues.of([])
    with pytest.raises(ValueError, match="other fields"):
        merge_text(previous, _new(folder), FIELDS[:2], [Staying.all(3)] * 2, 3, [none] * 2, [none] * 2, 0)
