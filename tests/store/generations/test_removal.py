"""Earlier generations are deleted beside the caller, and their files are gone when the process has ended."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.store.generations import generation as generation_module
from hybridkg.store.generations import removal
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.removal import await_removals, is_being_removed, remove_beside


@pytest.fixture
def slow(monkeypatch):
    """Lets a deletion in a thread, of however little, begin when it is set; every other one begins at once."""
    monkeypatch.setattr(removal, "MIN_BESIDE", 0)
    begin, real = threading.Event(), removal.shutil.rmtree

    def rmtree(*args, **how):
        if threading.current_thread().name == "hybridkg-removal":
            assert begin.wait(60)
        real(*args, **how)

    monkeypatch.setattr(removal.shutil, "rmtree", rmtree)
    yield begin
    begin.set()


def _write(folder: Folder) -> None:
    with folder.building() as building:
        (building.path / "text").mkdir()
        (building.path / "text" / "a").write_bytes(bytes(100))
        building.built("text", "embedded")


def _removed(path: Path) -> list[str]:
    return [entry.name for entry in path.iterdir() if entry.name.startswith(".removed-")]


def test_a_commit_does_not_wait_for_the_files_of_an_earlier_generation(tmp_path, slow):
    folder = Folder.create(tmp_path / "kb")
    for _ in range(2):
        _write(folder)
    assert _removed(folder.path) == [".removed-000001"]
    assert is_being_removed(folder.path / ".removed-000001")
    _write(folder)  # and the next writer leaves them to the thread
    assert _removed(folder.path) == [".removed-000001", ".removed-000002"] or len(_removed(folder.path)) == 2
    assert [path.name for path in folder.generations()] == ["000003", "000004"]
    slow.set()
    await_removals(folder.path)
    assert _removed(folder.path) == []


def test_a_generation_that_a_reader_holds_stays(tmp_path):
    folder = Folder.create(tmp_path / "kb")
    _write(folder)
    held = folder.current()
    for _ in range(3):
        _write(folder)
    assert held.verify() == len(held.manifest.files)
    assert [path.name for path in folder.generations()] == ["000002", "000004", "000005"]


def test_a_commit_takes_the_generation_before_along_unless_somebody_reads_it(tmp_path):
    path = tmp_path / "kb"
    add = "INSERT DATA {{ <http://e/{}> <http://www.w3.org/2000/01/rdf-schema#label> 'a red fish' }}"
    with KnowledgeBase.create(path) as kb:
        kb.update(add.format("a"))
        kb.update(add.format("b"))
        names = [one.name for one in Folder.open(path).generations()]
        assert names == [Folder.open(path).live_name()]
        with KnowledgeBase.open(path) as reader:
            kb.update(add.format("c"))
            assert [one.name for one in Folder.open(path).generations()] == [*names, Folder.open(path).live_name()]
            assert len(reader.query("SELECT ?f { ?f MATCH 'fish' }")) == 2
        kb.update(add.format("d"))
        assert [one.name for one in Folder.open(path).generations()] == [Folder.open(path).live_name()]


def test_a_knowledge_base_is_removed_while_its_earlier_generation_is(tmp_path, slow):
    folder = Folder.create(tmp_path / "kb")
    for _ in range(2):
        _write(folder)
    threading.Timer(0.05, slow.set).start()
    KnowledgeBase.remove(folder.path)
    assert not folder.path.exists()


def test_a_process_ends_when_the_files_are_gone_and_a_crashed_one_leaves_them_to_the_next_writer(tmp_path):
    program = """
import os, sys, shutil
from pathlib import Path
from hybridkg.store.generations import removal
from hybridkg.store.generations.folder import Folder
removal.MIN_BESIDE = 0
if sys.argv[2] == "crash":
    removal.shutil.rmtree = lambda *args, **how: None
folder = Folder.open_or_create(Path(sys.argv[1]))
for _ in range(2):
    with folder.building() as building:
        building.built("text", "embedded")
os._exit(0) if sys.argv[2] == "crash" else None
"""
    path = tmp_path / "kb"
    for how, left in (("end", []), ("crash", [".removed-000002", ".removed-000003"]), ("end", [])):
        subprocess.run([sys.executable, "-c", program, str(path), how], check=True)
        assert sorted(_removed(path)) == left


def test_where_no_thread_can_start_the_files_are_deleted_at_once(tmp_path, monkeypatch):
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    (tmp_path / "a").mkdir()
    monkeypatch.setattr(removal, "MIN_BESIDE", 0)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    remove_beside(tmp_path / "a")
    assert not (tmp_path / "a").exists()
    assert not is_being_removed(tmp_path / "a")


def test_files_of_this_process_are_read_once_and_again_after_a_change(tmp_path, monkeypatch):
    folder = Folder.create(tmp_path / "kb")
    _write(folder)
    current, read = folder.current(), []
    checksums = sys.modules["hybridkg.storage.checksums"]
    real = checksums.checksum
    monkeypatch.setattr(checksums, "checksum", lambda path: (read.append(path.name), real(path))[1])
    assert generation_module.Generation.is_intact(current, "text")
    assert read == []
    with (current.path / "text" / "a").open("r+b") as file:
        file.write(b"\1")
    assert not current.is_intact("text")
    assert read == ["a"]
