"""Checksums that follow from others are those of the bytes, and only a file that has stayed as it was keeps its own."""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.storage import splicing
from hybridkg.storage.checksums import checksum_of, joined, known_checksum, middle, remember
from hybridkg.storage.splicing import splice


@given(st.binary(), st.binary(), st.binary())
def test_checksums_of_parts_and_of_the_whole_follow_from_one_another(a, b, c):
    whole, first, own, last = map(zlib.crc32, (a + b + c, a, b, c))
    assert joined(joined(first, own, len(b)), last, len(c)) == whole
    assert middle(whole, first, last, len(b), len(c)) == own


@pytest.mark.parametrize("size", [1 << 20, (1 << 32) + 5])
def test_long_parts_are_shifted_as_far_as_they_are_long(size):
    """Zeros: the checksum of n of them is known by squaring, and by reading where they are few."""
    zeros, power, left = 0, zlib.crc32(bytes(1)), size
    length = 1
    while left:
        if left & 1:
            zeros = joined(zeros, power, length)
        power, length, left = joined(power, power, length), 2 * length, left >> 1
    if size <= 1 << 20:
        assert zeros == zlib.crc32(bytes(size))
    assert middle(joined(zlib.crc32(b"x"), zeros, size), zlib.crc32(b"x"), 0, size, 0) == zeros


@st.composite
def splices(draw):
    """(bytes of a source, pieces, result), with ranges that ascend."""
    source = draw(st.binary(max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(source)), max_size=8)))
    pieces, result = [], b""
    for begin, end in zip(cuts[::2], cuts[1::2], strict=False):
        new = draw(st.binary(max_size=3))
        pieces += [new, (begin, end)]
        result += new + source[begin:end]
    return source, pieces, result


@given(splices(), st.booleans(), st.sampled_from([0, 64]))
def test_a_spliced_file_has_the_bytes_of_its_pieces_and_their_checksum(tmp_path_factory, case, is_known, most):
    source, pieces, result = case
    folder = tmp_path_factory.mktemp("splice")
    (folder / "old").write_bytes(source)
    if is_known:
        checksum_of(folder / "old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splicing, "BLOCK", 7)
        patch.setattr(splicing, "MAX_JOINED", most)
        assert splice(folder / "new", folder / "old", pieces) == len(result)
    assert (folder / "new").read_bytes() == result
    assert known_checksum(folder / "new") == zlib.crc32(result)


def test_damage_of_a_copied_range_is_found_in_the_copy(tmp_path):
    """The copy has the checksum of what was copied as it was when its source had one."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(bytes(range(200)))
    stat = old.stat()
    checksum_of(old)
    with old.open("r+b") as file:
        file.seek(150)
        file.write(b"\0")
    os.utime(old, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as where a disk loses a bit
    splice(new, old, [(0, 10), b"new", (10, 200)])
    assert known_checksum(new) == zlib.crc32(bytes(range(10)) + b"new" + bytes(range(10, 200)))
    assert known_checksum(new) != zlib.crc32(new.read_bytes())


def test_a_source_that_ends_inside_a_range_is_an_error(tmp_path):
    (tmp_path / "old").write_bytes(b"abc")
    with pytest.raises(OSError, match="ends at 3 bytes"):
        splice(tmp_path / "new", tmp_path / "old", [(1, 5)])


def test_a_file_that_has_changed_is_read_again(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"red")
    remember(path, zlib.crc32(b"red"))
    assert checksum_of(path) == zlib.crc32(b"red")
    path.write_bytes(b"fish")
    assert known_checksum(path) is None
    assert checksum_of(path) == known_checksum(path) == zlib.crc32(b"fish")
    assert known_checksum(tmp_path / "none") is None
