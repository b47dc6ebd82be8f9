"""A segment with a tail has the content of a build from scratch, and what is written whole from it has its bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from block_max_law import assert_law
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples
from test_incremental import FIELDS, _assert_same, _built, _many, _merged, collection, document, folder

from hybridkg.compute.kernels import LazyKernel
from hybridkg.errors import CorruptError
from hybridkg.interfaces.text_index import TextQuery
from hybridkg.storage import adjacent_files, arrays
from hybridkg.text.index.build import incremental
from hybridkg.text.index.build.list_places import tail_lists
from hybridkg.text.index.build.list_splicing import ListSplice
from hybridkg.text.index.codec.packing import LANES, PADDING, blocks_of, rows_of
from hybridkg.text.index.comparison import PACKED, PLACES, Difference, StoredText, compare_builds, compare_entities
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.reader import EmbeddedTextIndex
from hybridkg.text.index.topk import block_max_writer
from hybridkg.text.index.topk.block_max_check import DEPENDS_ON_COMMITS
from hybridkg.text.index.topk.earlier_block_max import LOOSE

__all__ = ["folder"]

QUERIES = [TextQuery("sea fish w0 w3", model=model, syntax=False) for model in ("bm25f", "lm", "mlm", "fsdm")] + [
    TextQuery(text) for text in ('"sea fish"', "w1*", "+w0 w1 -w3", "body:the title:abc", "ab", '"w0 w1"')
]


def _run(way: str, folder: Path, previous: Path, old: dict, new: dict, **limits) -> tuple[Path, dict]:
    """The merged index: with a `tail`, by the `splice` of all lists, or by `reading` all lists."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental, "MIN_EXTENDED", 0 if way == "tail" else 1 << 62)
        patch.setattr(incremental, "MAX_TAIL", 1)
        patch.setattr(incremental, "MAX_SPLICED", 1)
        if way == "reading":
            patch.setattr(incremental._Lists, "splice", lambda *_: None)
        return _merged(folder, previous, old, new, **limits)


def _header(path: Path, name: str) -> dict:
    header = json.loads((path / name).read_text())
    return {key: value for key, value in header.items() if key not in ("arrays", "peaks", LOOSE)}


def _answers(path: Path) -> list:
    index = EmbeddedTextIndex.open(path)
    found = [part.tolist() for query in QUERIES for part in (*index.topk(query, 5), *index.score_all(query))]
    return [*found, *(index.matches(query).tolist() for query in QUERIES)]


def _assert_equal_content(found: tuple[Path, dict], wanted: tuple[Path, dict]) -> None:
    assert found[1] == wanted[1]
    moved = {f"1.{name}" for name in (*PACKED, *PLACES, *DEPENDS_ON_COMMITS)} | {"1.json"}
    moved |= {f"1.{name}.tail" for name in (*PACKED, *DEPENDS_ON_COMMITS)}
    names, others = ({file.name for file in one[0].iterdir()} - moved for one in (found, wanted))
    assert names == others
    for name in names:
        assert (found[0] / name).read_bytes() == (wanted[0] / name).read_bytes(), name
    assert _header(found[0], "1.json") == _header(wanted[0], "1.json")
    assert_law(found[0], FIELDS)
    one, other = StoredText(found[0]), StoredText(wanted[0])
    assert compare_builds(other, one) is None
    assert compare_builds(one, other) is None
    numbers = np.arange(len(other.lists.ends) - 1)
    for lists in (one.lists.lists(0, len(numbers)), one.lists.chosen(numbers)):
        for part, expected in zip(lists, other.lists.lists(0, len(numbers)), strict=True):
            np.testing.assert_array_equal(part, expected)
    some = np.arange(0, other.n_nodes, 3, dtype=np.uint32)
    for number in numbers.tolist():
        for a, b in (
            (one.lists.postings(number), other.lists.postings(number)),
            (one.lists.restricted(number, some), other.lists.restricted(number, some)),
        ):
            assert (a.ids.tolist(), a.tf.tolist()) == (b.ids.tolist(), b.tf.tolist())
        np.testing.assert_array_equal(one.lists.positions(number), other.lists.positions(number))
    assert _answers(found[0]) == _answers(wanted[0])


def _assert_no_dead_list(path: Path) -> None:
    """The tail has the blocks, words and positions of its lists, and nothing else."""
    stored = StoredText(path)
    lists, reader, packed = stored.lists, stored.reader, stored.lists.packed
    numbers = tail_lists(lists)
    sizes, tail = lists.sizes(numbers), lists.tail
    assert len(packed.at) - tail == blocks_of(sizes).sum()
    assert len(lists.all_positions) - reader.tail_start("positions") == sum(map(lists.occurrences, numbers.tolist()))
    block_sizes = np.concatenate([np.zeros(0, int), *(np.diff([*range(0, n, 128), n]) for n in sizes.tolist())])
    widths = packed.widths[tail:].astype(np.int64)
    rows = sum(int(rows_of(block_sizes, widths[:, column]).sum()) for column in (0, 1))
    assert len(packed.words) - reader.tail_start("packed") == rows * LANES + PADDING


changes = st.lists(
    st.dictionaries(st.integers(0, 13), document | st.just(([(" ".join(["sea fish"] * 160), "")], [], [])), max_size=4),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(8, 150), deadline=None)
@given(old=collection, steps=changes, limit=st.sampled_from([1, 4, 10_000]), compiled=st.booleans())
def test_commits_in_a_row_have_the_content_of_a_build(kernel, folder, old, steps, limit, compiled):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyKernel, "for_work", lambda lazy, _: lazy.load() if compiled else None)
        old = {0: ([("sea", "")], [], []), **old}
        path, _ = _built(folder, old)
        for step in steps:
            keys = sorted(old)
            new = {**old, **{keys[place % len(keys)]: own for place, own in step.items()}}
            wanted = _built(folder, new)
            for way in ("splice", "reading"):
                _assert_same(_run(way, folder, path, old, new, chunk_postings=limit), wanted)
            found = _run("tail", folder, path, old, new, chunk_postings=limit)
            path, old = found[0], new
            _assert_equal_content(found, wanted)
            if ArrayReader(path, "1").has("lists.positions"):
                _assert_no_dead_list(path)


def _chain(folder: Path, n: int, n_steps: int) -> list[tuple[Path, dict]]:
    """A built index, and what commits made of it that each change a few titles; with the state of each."""
    state = _many(n, n)
    found = [(_built(folder, state)[0], state)]
    for step in range(n_steps):
        new = dict(state)
        for key in range(3 + step, n, n // (2 * step + 3)):
            new[key] = ([(f"w{(key + step) % 40} new{step} t2", "")], *state[key][1:])
        new[n // 2 + step] = ([], [("w1 w0", "de")], [])
        found.append((_run("tail", folder, found[-1][0], state, new)[0], new))
        state = new
    return found


def test_the_base_is_linked_and_the_tail_has_the_edited_lists_only(folder):
    chain = _chain(folder, 700, 4)
    base = chain[0][0]
    for path, _ in chain[1:]:
        for name in PACKED:
            assert (path / f"1.{name}").samefile(base / f"1.{name}")
        _assert_no_dead_list(path)
    state = chain[0][1]
    path, _ = _run("tail", folder, base, state, {**state, 7: (state[7][0], state[7][1], [("other", "")])})
    stored = StoredText(path)
    numbers = tail_lists(stored.lists).tolist()
    assert [stored.terms.term(number // len(FIELDS)) for number in numbers] == ["id", "other"]
    _assert_no_dead_list(path)


@pytest.mark.parametrize("compiled", [False, True])
def test_long_lists_and_block_maxima_too(folder, kernel, monkeypatch, compiled):
    monkeypatch.setattr(LazyKernel, "for_work", lambda lazy, _: lazy.load() if compiled else None)
    monkeypatch.setattr(block_max_writer, "MIN_NODES", 1)
    monkeypatch.setattr(block_max_writer, "COMMON", 30)
    chain = _chain(folder, 900, 3)
    for path, state in chain[1:]:
        wanted = _built(folder, state)
        _assert_equal_content((path, wanted[1]), wanted)


@pytest.mark.parametrize("way", ["splice", "reading"])
def test_what_is_written_whole_has_the_bytes_of_a_build(folder, way):
    path, state = _chain(folder, 700, 4)[-1]
    new = {**state, 40: ([("w0 w2", "")], *state[40][1:])}
    _assert_same(_run(way, folder, path, state, new), _built(folder, new))
    _assert_same(_run(way, folder, path, state, state), _built(folder, state))


def test_entities_that_come_and_go_end_the_tail(folder):
    path, state = _chain(folder, 700, 3)[-1]
    new = {key: own for key, own in state.items() if key % 50} | {9_000: ([("w0 sea", "")], [], [])}
    _assert_same(_run("tail", folder, path, state, new), _built(folder, new))


def test_a_base_that_ends_with_a_page_is_not_read_on_into_the_tail(folder, monkeypatch):
    for module in (adjacent_files, arrays):
        monkeypatch.setattr(module, "ALIGN", 4_096)
    old = {key: ([(f"w{key:04}", "")], [], []) for key in range(2_048)}
    path, _ = _built(folder, old)
    lists = StoredText(path).lists
    assert len(lists.packed.at) == ArrayReader(path, "1").tail_start("blocks.widths") == 2_048
    for key in (2_047, 0, 2_047):
        new = {**old, key: ([("new w0001 w1000", "")], [], [])}
        for way in ("splice", "reading"):
            _assert_same(_run(way, folder, path, old, new), _built(folder, new))
        found = _run("tail", folder, path, old, new)
        _assert_equal_content(found, _built(folder, new))
        path, old = found[0], new


def test_a_word_of_one_entity_that_goes_leaves_an_empty_tail(folder):
    old = {0: ([("sea", "")], [], []), 1: ([("fish", "")], [], []), 2: ([("abc", "")], [], [])}
    new = {**old, 1: ([], [], [])}
    found = _run("tail", folder, _built(folder, old)[0], old, new)
    assert (found[0] / "1.positions.tail").stat().st_size == 0
    _assert_equal_content(found, _built(folder, new))
    later = {**new, 1: ([("fish sea", "")], [], [])}
    _assert_equal_content(_run("tail", folder, found[0], new, later), _built(folder, later))


def test_positions_of_a_wider_type_are_written_whole(folder):
    old = {key: ([(f"w{key}", "")], [], []) for key in range(9)}
    path, _ = _built(folder, old)
    wide = {**old, 3: ([("w3 " * 300, "")], [], [])}
    found = _run("tail", folder, path, old, wide)
    _assert_same(found, _built(folder, wide))
    narrow = {**old, 4: ([("w3", "")], [], [])}  # the base keeps positions that no list has any more
    with_tail = _run("tail", folder, found[0], wide, narrow)
    _assert_equal_content(with_tail, _built(folder, narrow))
    for way in ("splice", "reading"):
        _assert_same(_run(way, folder, with_tail[0], narrow, old), _built(folder, old))


def test_the_tail_is_written_while_it_is_small(folder, monkeypatch):
    state = _many(300, 1)
    path, counts = _built(folder, state)
    later = {**state, 7: ([("rare1 rare2", "")], *state[7][1:])}
    has_tail = []
    for least, most in ((counts["postings"] + 3, 1.0), (counts["postings"] - 2, 1.0), (0, 1e-6), (0, 0.2)):
        monkeypatch.setattr(incremental, "MIN_EXTENDED", least)
        monkeypatch.setattr(incremental, "MAX_TAIL", most)
        found, _ = _merged(folder, path, state, later)
        has_tail.append((found / "1.packed.tail").exists())
    assert has_tail == [False, True, False, True]


def test_a_tail_that_has_grown_is_written_whole(folder, monkeypatch):
    monkeypatch.setattr(incremental, "MIN_EXTENDED", 0)
    monkeypatch.setattr(incremental, "MAX_TAIL", 0.09)
    state = _many(300, 1)
    path, _ = _built(folder, state)
    ends = 0
    for step in range(40):
        new = {**state, **{key: ([(f"x{key} y{step}", "")], *state[key][1:]) for key in range(step * 7, step * 7 + 7)}}
        path, state = _merged(folder, path, state, new)[0], new
        lists = StoredText(path).lists
        if lists.tail is None:
            ends += 1
            _assert_same((path, {}), (_built(folder, state)[0], {}))
        else:
            assert lists.sizes(tail_lists(lists)).sum() <= incremental.MAX_TAIL * int(lists.ends[-1])
    assert 0 < ends < 20


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("damage", ["missing", "short", "long", "base"])
def test_a_damaged_tail_is_noticed(folder, name, damage):
    path, _ = _chain(folder, 100, 1)[-1]
    file = path / f"1.{name}.tail"
    if damage == "missing":
        file.unlink()
    elif damage == "base":
        (path / f"1.{name}").unlink()
    else:
        content = file.read_bytes()
        file.write_bytes(content[:-1] if damage == "short" else content + bytes(1))
    with pytest.raises(CorruptError):
        EmbeddedTextIndex.open(path)
    with pytest.raises(CorruptError):
        StoredText(path)


@pytest.mark.parametrize("rows", [-1, 1])
@pytest.mark.parametrize("name", [*PACKED, *PLACES])
def test_arrays_of_other_sizes_are_noticed(folder, name, rows):
    path, _ = _chain(folder, 100, 1)[-1]
    header = json.loads((path / "1.json").read_text())
    reader, has_tail = ArrayReader(path, "1"), name in PACKED
    dtype, shape = reader.check(name)
    # Many rows of packed words, because the last block may have any number of postings.
    rows *= 10_000 if name == "packed" else 1
    n = shape[0] - (reader.tail_start(name) if has_tail else 0) + rows
    header["arrays"][name]["shape"][0] += rows
    if n < 0:
        return
    (path / f"1.{name}{'.tail' if has_tail else ''}").write_bytes(bytes(n * dtype.itemsize * (*shape, 1)[1]))
    (path / "1.json").write_text(json.dumps(header))
    with pytest.raises(CorruptError):
        SegmentPostings(ArrayReader(path, "1"), len(StoredText(path).terms) * len(FIELDS))


def test_differences_in_a_tail_are_found(folder):
    path, state = _chain(folder, 300, 2)[-1]
    wanted = StoredText(_built(folder, state)[0])
    ids = np.arange(wanted.n_nodes, dtype=np.uint32)
    texts = [[(key, state[key][i]) for key in sorted(state) if state[key][i]] for i in range(len(FIELDS))]
    assert compare_entities(StoredText(path), ids, texts)[0] is None
    for name in ("positions", "packed", "blocks.first"):
        file = path / f"1.{name}.tail"
        content = file.read_bytes()
        begin = 4 * 16_384 if name == "blocks.first" else 0  # behind the empty blocks
        changed = bytearray(content)
        changed[begin : begin + 16] = bytes(
            byte ^ 255 for byte in changed[begin : begin + 16]
        )  # a row of packed values
        file.write_bytes(changed)
        assert isinstance(compare_builds(wanted, StoredText(path)), Difference)
        assert isinstance(compare_entities(StoredText(path), ids, texts)[0], Difference)
        file.write_bytes(content)
    assert compare_builds(wanted, StoredText(path)) is None


def test_a_splice_without_a_tail_is_as_before(folder, monkeypatch):
    state = _many(100, 3)
    path, _ = _built(folder, state)
    extended = []
    monkeypatch.setattr(ListSplice, "extend", lambda *args: extended.append(args))
    new = {**state, 5: ([("w1", "")], [], [])}
    _assert_same(_merged(folder, path, state, new), _built(folder, new))
    assert not extended
