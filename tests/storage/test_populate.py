"""Pages of mapped arrays are entered at once, unless there are too many."""

from __future__ import annotations

import numpy as np
import pytest

from hybridkg.storage.arrays import POPULATE_READ, FolderLayout, MappedArrays, Writer

LAYOUT = FolderLayout("test", 1, "test.json", "test folder")


class Recorded:
    """A memory map that records the advice."""

    def __init__(self, size: int):
        self._size, self.advice = size, list[int]()

    def __len__(self) -> int:
        return self._size

    def madvise(self, advice: int) -> None:
        self.advice.append(advice)
        raise OSError("not supported")


@pytest.fixture
def reader(tmp_path) -> MappedArrays:
    out = Writer(LAYOUT, tmp_path)
    for name, size in (("a", 10), ("b", 20), ("empty", 0)):
        out.write(name, np.arange(size, dtype=np.uint8))
    out.finish({})
    reader = MappedArrays(LAYOUT, tmp_path)
    for name in ("a", "b", "empty"):
        reader.array(name)
    return reader


@pytest.mark.parametrize(
    ("names", "most", "populated"),
    [
        (None, 30, "ab"),
        (None, 29, ""),
        (["a", "empty", "unknown"], 10, "a"),
        (["a"], 9, ""),
        (["b"], float("inf"), "b"),
    ],
)
def test_all_are_populated_or_none(reader: MappedArrays, names, most, populated):
    assert sorted(reader._mapped) == ["a", "b"]
    maps = {name: Recorded(len(pages)) for name, pages in reader._mapped.items()}
    reader._mapped.update(maps)  # type: ignore[arg-type]
    reader.populate(names, most)
    assert "".join(name for name, one in maps.items() if one.advice == [POPULATE_READ]) == populated


def test_populated_arrays_have_their_values(reader: MappedArrays):
    reader.populate()
    assert reader.array("b").tolist() == [*range(20)]
