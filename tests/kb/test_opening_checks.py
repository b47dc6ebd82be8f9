"""One changed byte of a file that a checksum could refuse when it was opened is an error, and never other rows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings
from sampling import EXHAUSTIVE

from hybridkg import KnowledgeBase
from hybridkg.errors import CorruptError, IndexCorruptError
from hybridkg.store.generations import manifest
from hybridkg.store.generations.generation import Generation
from hybridkg.store.generations.manifest import is_checked_at_opening

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"

QUESTIONS = (
    'SELECT ?f ?s { ?f MATCH "mars rescue" AS ?s } RANK BY ?s LIMIT 5',
    'SELECT ?f ?s { ?f MATCH "\\"on mars\\" ma*" AS ?s } RANK BY ?s LIMIT 5',
    "SELECT ?p ?o { ?s ?p ?o } ORDER BY ?p ?o LIMIT 50",
    'SELECT ?f ?s { ?f NEAR "a planet" AS ?s } RANK BY ?s LIMIT 5',
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A knowledge base with every part: a graph, documents, text, vectors, projection, statistics and synonyms."""
    folder = tmp_path_factory.mktemp("opening") / "films.kb"
    texts = folder.with_name("texts.jsonl")
    texts.write_text('{"id": "http://example.org/Mars", "note": "a red planet, far away"}\n', encoding="utf-8")
    with KnowledgeBase.create(folder) as kb:
        kb.load(FILMS, text=texts, index=True, encoder="lsa")
    return folder


def answers(folder: Path, *, near: bool = True) -> list[list[str]]:
    with KnowledgeBase.open(folder) as kb:
        return [[str(row) for row in kb.query(text)] for text in QUESTIONS[: None if near else -1]]


def live(folder: Path) -> Path:
    return folder / (folder / "CURRENT").read_text().strip()


def files(folder: Path) -> dict[str, manifest.FileEntry]:
    return dict(manifest.read_manifest(live(folder)).files)


def places(name: str, size: int) -> list[int]:
    """A few places of a file: its ends, where headers are, and its middle; RocksDB has checksums of its own.

    All of them with `--exhaustive`; otherwise one, that of other files being another.
    """
    some = sorted(({size // 2} if name.startswith("graph/") else {0, 9, size // 2, size - 1}) & set(range(size)))
    if not some or settings.get_current_profile_name() == EXHAUSTIVE:
        return some
    return [some[crc32(name.encode()) % len(some)]]


def copied(folder: Path, to: Path) -> Path:
    """A copy that shares its files, until one of them is flipped."""
    shutil.copytree(folder, to, copy_function=os.link)
    return to


def flip(folder: Path, name: str, place: int) -> None:
    file = live(folder) / name
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.unlink()  # an older generation may have the same file
    file.write_bytes(bytes(content))


def test_a_flipped_byte_of_any_small_file_is_an_error_and_of_a_dispensable_one_changes_no_row(whole, tmp_path, caplog):
    expected = answers(whole)
    assert all(expected)
    before = files(whole)
    left = {name for name, entry in before.items() if not is_checked_at_opening(name, entry.size)}
    assert all(name.startswith("graph/OPTIONS-") for name in left)
    for name, entry in before.items():
        for place in places(name, entry.size) if is_checked_at_opening(name, entry.size) else ():
            copy = copied(whole, tmp_path / "copy.kb")
            flip(copy, name, place)
            caplog.clear()
            if name.startswith(manifest.DISPENSABLE):
                found = answers(copy, near=not name.startswith("vectors/"))
                assert found == expected[: len(found)], (name, place)
                warned = name.partition("/")[0] in caplog.text
                assert warned == ("/" in name), (name, place)
            else:
                with pytest.raises(CorruptError, match=f"{name}.* is damaged: its checksum differs") as caught:
                    answers(copy)
                assert isinstance(caught.value, IndexCorruptError) == name.startswith(("text/", "nodes."))
            shutil.rmtree(copy)


def test_what_a_reader_reads_whole_is_compared_whatever_its_size(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "MAX_SMALL_FILE", 0)
    names = [name for name, entry in files(whole).items() if entry.size and is_checked_at_opening(name, entry.size)]
    assert {name for name in names if name.startswith("text/")} == {
        "text/engine", "text/profile.json", "text/text.json", "text/1.json", "text/1.sets.fields",
        "text/1.sets.entities", *(f"text/1.peaks.{part}" for part in ("longest", "starts")),
    } | {name for name in names if name in ("text/1.peaks.terms", "text/1.peaks.codes")}  # fmt: skip
    for name in [name for name in names if name.startswith("text/")]:
        copy = copied(whole, tmp_path / "copy.kb")
        flip(copy, name, 0)
        with pytest.raises(IndexCorruptError, match=f"{name}.* is damaged: its checksum differs"):
            answers(copy)
        shutil.rmtree(copy)


def test_the_index_is_built_again_after_a_damaged_count(whole, tmp_path):
    copy = copied(whole, tmp_path / "copy.kb")
    flip(copy, "text/1.sets.entities", 0)
    with KnowledgeBase.open(copy) as kb:
        with pytest.raises(IndexCorruptError, match=r"sets\.entities"):
            kb.query(QUESTIONS[0])
        kb.index()
    assert answers(copy) == answers(whole)


def test_only_large_mapped_files_are_left_to_the_background(whole):
    entry = manifest.FileEntry(manifest.MAX_SMALL_FILE + 1, "0")
    left = [name for name in files(whole) if not is_checked_at_opening(name, entry.size)]
    parts = ("graph/", "documents/", "nodes.", "text/1.", "projection/", "vectors/")
    assert all(name.startswith(parts) for name in left)
    assert not any(name.endswith(".json") for name in left)


def test_checking_reads_no_large_file(whole, monkeypatch):
    read = []
    monkeypatch.setattr(manifest, "MAX_SMALL_FILE", 100)
    monkeypatch.setattr(manifest, "checksum", lambda path, after_block: read.append(path.name) or "")
    generation = Generation(live(whole), manifest.read_manifest(live(whole)))
    with pytest.raises(CorruptError):
        generation.check_opened("text/")
    assert len(read) == 1
