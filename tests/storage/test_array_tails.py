"""Arrays with a tail: a linked base, and rows behind it that are mapped to follow it."""

import json
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hybridkg.errors import CorruptError
from hybridkg.storage import adjacent_files, arrays
from hybridkg.storage.adjacent_files import ALIGN, map_adjacent, read_adjacent, tail_start
from hybridkg.storage.arrays import FolderLayout, MappedArrays, Writer

LAYOUT = FolderLayout("test", 1, "test.json", "test")


def base_of(folder: Path, rows: int, dtype: str = "<u4", width: int = 0) -> MappedArrays:
    folder.mkdir()
    out = Writer(LAYOUT, folder)
    size = rows * max(1, width)
    array = (np.arange(size, dtype=np.int64) % 251 + 1).astype(dtype)
    out.write("a", array.reshape(rows, width) if width else array)
    out.finish({})
    return MappedArrays(LAYOUT, folder)


def extended(folder: Path, earlier: MappedArrays, pieces: list) -> MappedArrays:
    folder.mkdir()
    out = Writer(LAYOUT, folder)
    out.extend("a", earlier, pieces)
    out.finish({})
    return MappedArrays(LAYOUT, folder)


@pytest.mark.parametrize("rows", [0, 1, 1_000, 16_384, 16_385, 100_000])
@pytest.mark.parametrize(("dtype", "width"), [("<u4", 0), ("<u1", 2), ("<u8", 0), ("<u1", 0)])
def test_a_tail_follows_its_base(tmp_path: Path, rows: int, dtype: str, width: int) -> None:
    earlier = base_of(tmp_path / "1", rows, dtype, width)
    new = np.full((7, width) if width else 7, 9, dtype)
    reader = extended(tmp_path / "2", earlier, [new])
    array, begin = reader.array("a"), reader.tail_start("a")
    assert begin == earlier.tail_start("a") == tail_start(rows * new.itemsize * max(1, width)) // new[0].nbytes
    np.testing.assert_array_equal(array[:rows], earlier.array("a"))
    assert not array[rows:begin].any()
    np.testing.assert_array_equal(array[begin:], new)
    assert not array.flags.writeable
    assert (tmp_path / "1" / "a").samefile(tmp_path / "2" / "a")


def test_ranges_of_an_earlier_tail_are_kept(tmp_path: Path) -> None:
    first = extended(tmp_path / "2", base_of(tmp_path / "1", 10), [np.arange(20, dtype=np.uint32)])
    begin = first.tail_start("a")
    second = extended(tmp_path / "3", first, [(begin + 5, begin + 8), np.array([77], np.uint32), (begin, begin + 1)])
    assert second.array("a")[begin:].tolist() == [5, 6, 7, 77, 0]
    assert first.array("a")[begin:].tolist() == list(range(20))
    assert second.base_rows("a") == 10


def test_an_array_with_a_tail_is_linked_and_spliced(tmp_path: Path) -> None:
    earlier = extended(tmp_path / "2", base_of(tmp_path / "1", 10), [np.arange(4, dtype=np.uint32)])
    begin = earlier.tail_start("a")
    (tmp_path / "3").mkdir()
    out = Writer(LAYOUT, tmp_path / "3")
    out.link_as("b", earlier, "a")
    out.splice("a", earlier, [(2, 4), np.array([5], np.uint32), (begin + 1, begin + 3)])
    out.finish({})
    reader = MappedArrays(LAYOUT, tmp_path / "3")
    np.testing.assert_array_equal(reader.array("b"), earlier.array("a"))
    assert reader.array("a").tolist() == [3, 4, 5, 1, 2]
    assert reader.base_rows("a") is None


def test_many_short_pieces_are_those_of_the_array(tmp_path: Path) -> None:
    whole = np.arange(300_000, dtype=np.uint32)
    first = extended(tmp_path / "2", base_of(tmp_path / "1", 10), [whole])
    begin, rng = first.tail_start("a"), np.random.default_rng(0)
    cuts = [0, *np.sort(rng.integers(0, 200_000, 500)).tolist(), 290_000, 300_000]
    pieces: list = [(begin + a, begin + b) for a, b in pairwise(cuts)]
    pieces[::7] = [whole[a - begin : b - begin].astype(np.int64) for a, b in pieces[::7]]
    second = extended(tmp_path / "3", first, pieces)
    np.testing.assert_array_equal(second.array("a")[begin:], whole)


def test_memory_has_the_bytes_of_the_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, tail = tmp_path / "base", tmp_path / "tail"
    base.write_bytes(os.urandom(70_000))
    tail.write_bytes(os.urandom(5_000))
    mapped = bytes(map_adjacent(base, 70_000, tail, 5_000))
    assert mapped == bytes(read_adjacent(base, 70_000, tail, 5_000))
    assert mapped == base.read_bytes() + bytes(2 * ALIGN - 70_000) + tail.read_bytes()
    monkeypatch.setattr(adjacent_files, "_fixed_map", lambda: None)
    assert bytes(map_adjacent(base, 70_000, tail, 5_000)) == mapped


def test_pages_of_a_tail_are_populated(tmp_path: Path) -> None:
    reader = extended(tmp_path / "2", base_of(tmp_path / "1", 100_000), [np.arange(40_000, dtype=np.uint32)])
    array = reader.array("a")
    reader.populate()
    assert array[-1] == 39_999


@pytest.mark.parametrize("damage", ["base", "tail", "missing", "header", "negative", "long"])
def test_damage_is_noticed(tmp_path: Path, damage: str) -> None:
    extended(tmp_path / "2", base_of(tmp_path / "1", 100), [np.arange(4, dtype=np.uint32)])
    folder = tmp_path / "2"
    header = json.loads((folder / "test.json").read_text())
    if damage == "base":
        (folder / "a").unlink()
        (folder / "a").write_bytes(b"1234")
    elif damage == "tail":
        (folder / "a.tail").write_bytes(b"1234")
    elif damage == "missing":
        (folder / "a.tail").unlink()
    else:
        header["arrays"]["a"]["base"] = {"header": "100", "negative": -1, "long": 1_000_000}[damage]
        (folder / "test.json").write_text(json.dumps(header))
    with pytest.raises(CorruptError):
        MappedArrays(LAYOUT, folder).array("a")


def test_rows_that_do_not_divide_a_page_have_no_tail(tmp_path: Path) -> None:
    earlier = base_of(tmp_path / "1", 4, "<u1", 3)
    with pytest.raises(ValueError, match="rows of 3 bytes"):
        extended(tmp_path / "2", earlier, [np.zeros((1, 3), np.uint8)])


def test_an_array_without_columns_has_no_tail(tmp_path: Path) -> None:
    base_of(tmp_path / "1", 4)
    header = json.loads((tmp_path / "1" / "test.json").read_text())
    header["arrays"]["a"]["shape"] = [5, 0]
    (tmp_path / "1" / "test.json").write_text(json.dumps(header))
    (tmp_path / "1" / "a").write_bytes(b"")
    with pytest.raises(CorruptError):
        MappedArrays(LAYOUT, tmp_path / "1").tail_start("a")


def test_a_file_that_cannot_be_mapped_is_an_error_of_its_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = extended(tmp_path / "2", base_of(tmp_path / "1", 10), [np.arange(4, dtype=np.uint32)])

    def refuse(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(arrays, "map_adjacent", refuse)
    with pytest.raises(CorruptError, match="Cannot allocate memory"):
        reader.array("a")


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="needs the size of the memory")
def test_an_array_may_be_larger_than_the_memory(tmp_path: Path) -> None:
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + (1 << 31)
    base, tail = tmp_path / "base", tmp_path / "tail"
    with base.open("wb") as file:
        file.truncate(size)  # takes no room
    tail.write_bytes(b"end")
    assert map_adjacent(base, size, tail, 3)[tail_start(size) :] == b"end"
