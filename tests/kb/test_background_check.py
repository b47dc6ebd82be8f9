"""Large files are compared with their checksums in the background, once for each generation and machine."""

from __future__ import annotations

import gc
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from filelock import FileLock

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import CorruptError, IndexCorruptError
from hybridkg.kb import background_check
from hybridkg.store.generations import manifest, verification
from hybridkg.store.generations.generation import open_generation
from hybridkg.store.generations.manifest import DISPENSABLE, is_checked_at_opening
from hybridkg.store.generations.verification import read_record, record_path

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
QUESTION = 'SELECT ?f ?s { ?f MATCH "mars rescue" AS ?s } RANK BY ?s LIMIT 5'


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("background") / "films.kb"
    with KnowledgeBase.create(folder) as kb:
        kb.load(FILMS, index=True, encoder="lsa")
    return folder


@pytest.fixture
def films(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy whose small files count as large, checked from the first query on, with a cache folder of its own."""
    monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setattr(manifest, "MAX_SMALL_FILE", -1)
    monkeypatch.setattr(background_check, "AFTER", 0.0)
    shutil.copytree(whole, tmp_path / "films.kb", copy_function=os.link)
    yield tmp_path / "films.kb"
    for thread in threading.enumerate():
        if thread.name == "hybridkg-check":
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gets the name of each file that is compared with its checksum."""
    names: list[str] = []

    def checksum(path: Path, after_block: Callable[[], None]) -> str:
        names.append(path.name)
        return original(path, after_block)

    original = manifest.checksum
    monkeypatch.setattr(manifest, "checksum", checksum)
    return names


def live(folder: Path) -> Path:
    return folder / (folder / "CURRENT").read_text().strip()


def flip(folder: Path, name: str, place: int = 0) -> None:
    file = live(folder) / name
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.unlink()  # an older generation may have the same file
    file.write_bytes(bytes(content))


def finished(kb: KnowledgeBase) -> bool:
    return kb._check.wait(60)


def test_any_file_that_opening_does_not_compare_is_an_error_after_the_check(films):
    entries = manifest.read_manifest(live(films)).files
    names = [name for name, entry in entries.items() if entry.size and not is_checked_at_opening(name, entry.size)]
    assert {"text/1.packed", "text/1.lengths", "nodes.text", "projection/keys", "vectors/vectors"} <= set(names)
    for name in names:
        for place in {0, entries[name].size - 1}:
            flip(films, name, place)
            check = background_check.BackgroundCheck(held := open_generation(live(films)))
            check.before_query()
            assert check.wait(60)
            assert read_record(held.path).damaged == name
            with pytest.raises(CorruptError, match=f"{name}' is damaged: its checksum differs") as caught:
                check.before_query()
            assert isinstance(caught.value, IndexCorruptError) == name.startswith(("text/", "nodes."))
            flip(films, name, place)


def test_the_next_query_and_the_next_opening_are_refused_and_an_index_step_mends_it(films):
    with KnowledgeBase.open(films) as kb:
        expected = [str(row) for row in kb.query(QUESTION)]
        assert finished(kb)
    record_path(live(films)).unlink()
    flip(films, "text/1.positions")
    with KnowledgeBase.open(films) as kb:
        assert [str(row) for row in kb.query(QUESTION)] == expected
        assert finished(kb)
        for _ in range(2):
            with pytest.raises(IndexCorruptError, match=r"text/1\.positions' is damaged") as caught:
                kb.query(QUESTION)
            assert caught.value.hint == "hybridkg index KB rebuilds it"
    with KnowledgeBase.open(films) as kb:
        with pytest.raises(IndexCorruptError, match=r"text/1\.positions' is damaged"):
            kb.query(QUESTION)
        kb.index()
        assert [str(row) for row in kb.query(QUESTION)] == expected
        assert finished(kb)
        assert [str(row) for row in kb.query(QUESTION)] == expected


def test_a_file_that_has_been_restored_is_opened_and_compared_again(films):
    flip(films, "nodes.text")
    with KnowledgeBase.open(films) as kb:
        kb.query("ASK { ?s ?p ?o }")
        assert finished(kb)
    flip(films, "nodes.text")
    with KnowledgeBase.open(films) as kb:
        assert [str(row["f"]) for row in kb.query(QUESTION)] == ["http://example.org/films/TheMartian"]
        assert finished(kb)
        assert read_record(live(films)).damaged == ""


def test_a_damaged_projection_is_an_error_and_is_not_used_from_the_next_opening_on(films, caplog):
    flip(films, "projection/forward.targets")
    with KnowledgeBase.open(films) as kb:
        kb.query("ASK { ?s ?p ?o }")
        assert finished(kb)
        with pytest.raises(CorruptError, match=r"forward\.targets"):
            kb.query(QUESTION)
    with KnowledgeBase.open(films) as kb:
        assert [str(row["f"]) for row in kb.query(QUESTION)] == ["http://example.org/films/TheMartian"]
        assert "the projection of the graph cannot be used" in caplog.text


def test_files_are_compared_once(films, read):
    entries = manifest.read_manifest(live(films)).files
    with KnowledgeBase.open(films) as kb:
        kb.query(QUESTION)
        assert finished(kb)
        assert {name.rpartition("/")[2] for name in entries} <= set(read)
        kb.refresh()
        del read[:]
        kb.query(QUESTION)
    with KnowledgeBase.open(films) as kb:
        kb.query(QUESTION)
        assert finished(kb)
        kb.query(QUESTION)
    assert "1.packed" not in read


def test_a_session_that_is_short_starts_nothing(films, monkeypatch):
    monkeypatch.setattr(background_check, "AFTER", 60.0)
    with KnowledgeBase.open(films) as kb:
        kb.query(QUESTION)
        assert not finished(kb)
        kb.refresh()
    monkeypatch.setattr(background_check, "AFTER", 0.0)
    monkeypatch.setenv(background_check.SWITCH, "off")
    with KnowledgeBase.open(films) as kb:
        kb.query(QUESTION)
        assert not finished(kb)
    assert read_record(live(films)) is None


def test_a_refresh_that_changes_nothing_does_not_put_the_check_off(films, monkeypatch):
    monkeypatch.setattr(background_check, "AFTER", 0.3)
    with KnowledgeBase.open(films) as kb:
        check, end = kb._check, time.monotonic() + 0.4
        while time.monotonic() < end:
            kb.refresh()
        assert kb._check is check
        kb.query(QUESTION)
        assert finished(kb)


@pytest.mark.parametrize("closes", [True, False])
def test_closing_or_forgetting_ends_the_check(films, monkeypatch, closes):
    began, original = threading.Event(), manifest.checksum

    def slow(path: Path, after_block: Callable[[], None]) -> str:
        began.set()
        for _ in range(10_000):
            time.sleep(0.001)
            after_block()
        return original(path, after_block)

    kb = KnowledgeBase.open(films)
    assert kb._snapshot.projection is not None
    assert kb._snapshot.vectors is not None
    monkeypatch.setattr(manifest, "checksum", slow)
    kb.query("ASK { ?s ?p ?o }")
    assert began.wait(60)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "hybridkg-check"]
    if closes:
        kb.close()
    else:
        del kb
        gc.collect()
        thread.join(60)
    assert not thread.is_alive()
    assert read_record(live(films)) is None


def test_without_a_cache_folder_each_process_compares(films, read, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        del read[:]
        with KnowledgeBase.open(films) as kb:
            kb.query(QUESTION)
            assert finished(kb)
            kb.query(QUESTION)
        assert "1.packed" in read
    flip(films, "text/1.packed", 40)
    with KnowledgeBase.open(films) as kb:
        kb.query("ASK { ?s ?p ?o }")
        assert finished(kb)
        with pytest.raises(IndexCorruptError, match=r"1\.packed"):
            kb.query(QUESTION)


def test_a_process_waits_for_another_that_does_the_same_work(films, read, monkeypatch):
    monkeypatch.setattr(background_check, "LOOK_AGAIN", 0.01)
    record = record_path(live(films))
    record.parent.mkdir()
    with KnowledgeBase.open(films) as kb:
        with FileLock(record.with_suffix(".lock")):
            kb.query(QUESTION)
            assert not kb._check.wait(0.1)
            verification.write_record(live(films), 70)
        assert finished(kb)
    assert "1.packed" not in read


@pytest.mark.parametrize("content", ["", "[]", '{"at": 1}', "\udcff"])
def test_a_record_that_cannot_be_read_counts_for_nothing(films, content):
    record = record_path(live(films))
    record.parent.mkdir()
    record.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert read_record(live(films)) is None


def test_a_record_of_more_than_a_year_ago_is_removed_by_another_within_a_day(films, tmp_path):
    record, another = record_path(live(films)), tmp_path / "another"
    shutil.copytree(live(films), another)
    verification.write_record(live(films), 70)
    year_ago = time.time() - (verification.MAX_DAYS + 1) * verification.DAY
    os.utime(record, (year_ago, year_ago))
    verification.write_record(another, 70)
    assert record.exists()  # the first record of the day looked for old ones
    yesterday = time.time() - verification.DAY
    os.utime(record.parent / verification.SWEEP, (yesterday, yesterday))
    verification.write_record(another, 70)
    assert not record.exists()
    assert read_record(another).files == 70


def test_doctor_tells_whether_the_files_have_been_compared_and_what_was_found(films):
    def doctor() -> str:
        return CliRunner().invoke(cli, ["doctor", str(films)], env={"COLUMNS": "300"}).output

    assert "compared with their checksums on this machine yet" in doctor()
    assert CliRunner().invoke(cli, ["stats", str(films), "--verify"]).exit_code == 0
    n = len(manifest.read_manifest(live(films)).files)
    assert f"all {n} had their checksums on 20" in doctor()
    flip(films, "projection/keys")
    assert CliRunner().invoke(cli, ["stats", str(films), "--verify"]).exit_code == 1
    told = doctor()
    assert "✗ files" in told
    assert "projection/keys is damaged, as found on 20" in told
    assert f"fix: hybridkg index {films}" in told
    assert any("projection/keys".startswith(part) for part in DISPENSABLE)
