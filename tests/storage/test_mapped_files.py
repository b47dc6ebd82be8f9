"""A file is mapped once in a process, and a file that takes its place is another one."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hybridkg.storage import mapped_files
from hybridkg.storage.adjacent_files import map_adjacent
from hybridkg.storage.mapped_files import map_file


def test_a_file_and_its_hard_link_have_one_mapping(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"red fish")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "c").write_bytes(b"red fish")
    pages = map_file(tmp_path / "a")
    assert bytes(pages) == b"red fish"
    assert map_file(str(tmp_path / "b")) is pages
    assert map_file(tmp_path / "c") is not pages


def test_an_empty_file_has_no_mapping(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert map_file(tmp_path / "a") == b""


def test_a_file_in_the_place_of_another_is_mapped_anew(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"red fish")
    pages = map_file(tmp_path / "a")
    for content in (b"blue fish", b"red bird"):
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").replace(tmp_path / "a")
        assert bytes(map_file(tmp_path / "a")) == content
    assert bytes(pages) == b"red fish"


def test_a_file_that_has_grown_is_mapped_anew(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"red")
    pages = map_file(tmp_path / "a")
    with (tmp_path / "a").open("ab") as file:
        file.write(b" fish")
    assert bytes(map_file(tmp_path / "a")) == b"red fish"
    assert bytes(pages) == b"red"


def test_nothing_is_kept_of_a_file_that_nobody_reads(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"red fish")
    identity = mapped_files.identity_of((tmp_path / "a").stat())
    pages = map_file(tmp_path / "a")
    assert identity in mapped_files._mapped
    del pages
    gc.collect()
    assert identity not in mapped_files._mapped


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"red fish")
    descriptors = Path("/proc/self/fd")
    before = [*descriptors.iterdir()] if descriptors.is_dir() else []
    held = [map_file(tmp_path / "a") for _ in range(50)]
    after = [*descriptors.iterdir()] if before else []
    assert len(held) == 50
    assert len(after) - len(before) <= 1  # mmap keeps one


def test_a_base_and_its_tail_have_one_mapping(tmp_path: Path) -> None:
    base, tail, other = (tmp_path / name for name in ("base", "tail", "other"))
    base.write_bytes(b"red ")
    tail.write_bytes(b"fish")
    other.write_bytes(b"bird")
    both = map_adjacent(base, 4, tail, 4)
    assert map_adjacent(base, 4, tail, 4) is both
    assert map_adjacent(base, 4, tail, 3) is not both
    assert bytes(map_adjacent(base, 4, other, 4))[-4:] == b"bird"
    assert bytes(both)[-4:] == b"fish"


def test_threads_that_map_a_file_read_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"red fish" * 1_000)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: bytes(map_file(tmp_path / "a")), range(200)))
    assert set(found) == {b"red fish" * 1_000}
