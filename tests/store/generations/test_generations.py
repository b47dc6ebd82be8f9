from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sampling import examples

from hybridkg.errors import (
    CorruptError,
    HybridkgError,
    LockedError,
    NotAKnowledgeBaseError,
    StorageError,
)
from hybridkg.rdf.terms import Literal, NamedNode, Triple
from hybridkg.storage.durable import storage_error
from hybridkg.store.generations import next_generation as building_module
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.manifest import FORMAT, Manifest, read_manifest
from hybridkg.store.oxigraph import OxigraphStore

S, P = NamedNode("a:s"), NamedNode("a:p")


def triples(*values):
    return [Triple(S, P, Literal(str(value))) for value in values]


def values(generation):
    return sorted(row[0].value for row in OxigraphStore.open(generation.graph).select("SELECT ?o { ?s ?p ?o }").rows)


def test_a_new_knowledge_base_is_an_empty_first_generation(folder):
    assert sorted(entry.name for entry in folder.path.iterdir()) == ["000001", "CURRENT", "LOCK", "kb.toml"]
    generation = folder.current()
    assert (generation.name, generation.behind(), values(generation)) == ("000001", (), [])
    assert generation.verify() == len(generation.manifest.files) > 0


def test_each_writer_makes_the_next_generation_and_readers_keep_theirs(folder, load_into):
    old = folder.current()
    load_into(folder, triples(1))
    middle = folder.current()
    load_into(folder, triples(2))
    assert [values(g) for g in (old, middle, folder.current())] == [[], ["1"], ["1", "2"]]


def test_a_generation_that_is_read_stays_and_goes_when_nobody_reads_it(folder, load_into):
    held = folder.current()
    for i in range(3):
        load_into(folder, triples(i))
    names = {entry.name for entry in folder.path.iterdir() if entry.name[0] == "0"}
    assert names == {"000001", "000003", "000004"}
    assert values(held) == []
    del held
    load_into(folder, triples(9))
    assert {entry.name for entry in folder.path.iterdir() if entry.name[0] == "0"} == {"000004", "000005"}


def test_a_reader_in_another_process_keeps_its_generation(folder, load_into):
    program = (
        "import sys; from pathlib import Path; from hybridkg.store.generations.folder import Folder\n"
        "g = Folder.open(Path(sys.argv[1])).current(); print(g.name, flush=True); input()"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", program, str(folder.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout.readline() == "000001\n"
    for i in range(3):
        load_into(folder, triples(i))
    assert (folder.path / "000001").exists()
    reader.communicate("\n")
    load_into(folder, triples(3))
    assert not (folder.path / "000001").exists()


def build_text(folder):
    with folder.building() as building:
        (building.path / "text").mkdir()
        (building.path / "text" / "postings").write_text("p")
        (building.path / "nodes.text").write_text("n")
        building.built("text", "embedded")
        building.counts["entities"] = 7


def test_an_index_is_behind_after_a_load_until_it_is_built_again(folder, load_into):
    load_into(folder, triples(1))
    build_text(folder)
    assert folder.current().behind() == ()
    with folder.building() as building:
        from hybridkg.store.loading import load

        building.keep("text")
        building.keep("nodes")
        load(building, [triples(2)])
    generation = folder.current()
    assert generation.behind() == ("text",)
    assert (generation.path / "text" / "postings").read_text() == "p"
    assert (generation.path / "nodes.text").stat().st_nlink >= 2
    assert generation.manifest.counts == {"quads": 2, "entities": 7}
    build_text(folder)
    assert folder.current().behind() == ()
    assert values(folder.current()) == ["1", "2"]


def test_what_is_not_kept_is_gone_but_never_the_graph_and_the_documents(folder, load_into):
    with folder.building() as building:
        (building.path / "documents").mkdir()
        (building.path / "documents" / "d").write_text("d")
        building.changed("documents")
        building.built("text", "embedded")
    load_into(folder, triples(1))
    generation = folder.current()
    assert (generation.documents / "d").read_text() == "d"
    assert generation.manifest.indexes == {}
    assert generation.manifest.sources == {"graph": 3, "documents": 2}


def test_an_unchanged_file_shares_its_bytes_and_its_checksum(folder, load_into, monkeypatch):
    load_into(folder, triples(1))
    before = folder.current()
    summed = []
    monkeypatch.setattr(building_module, "checksum_of", lambda path: summed.append(path.name) or 0)
    with folder.building():
        pass
    assert summed == []
    after = folder.current()
    assert after.manifest.files == before.manifest.files
    assert all((after.path / name).samefile(before.path / name) for name in after.manifest.files)


def test_an_exception_leaves_the_old_state_and_no_leftovers(folder):
    def fail():
        with folder.building() as building:
            (building.path / "x").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert folder.live_name() == "000001"
    assert sorted(e.name for e in folder.path.iterdir()) == ["000001", "CURRENT", "LOCK", "kb.toml"]


def test_a_second_writer_is_told_who_writes(folder):
    def second() -> None:
        with folder.building():
            pass

    with folder.building(), ThreadPoolExecutor(1) as other:
        with pytest.raises(LockedError) as caught:
            other.submit(second).result()
        where = re.escape(repr(str(folder.path)))
        words = rf"process {os.getpid()} \(.+\) has been writing to {where} for \d+ s"
        assert re.fullmatch(words, caught.value.message)
    second()


def test_a_thread_that_writes_already_is_told_at_once_and_does_not_wait_for_itself(folder):
    with folder.building():
        with pytest.raises(LockedError) as caught, folder.building(wait=600):
            pass
        assert caught.value.render() == (
            f"error[S403]: this thread has been writing to {str(folder.path)!r} in a transaction that has not ended\n"
            "  hint: inside `with kb.transaction() as t:` write t.update(...), t.load(...), t.delete(...)"
        )
    with folder.building():
        pass


def test_a_second_writer_in_another_process_is_told_too(folder):
    program = (
        "import sys; from pathlib import Path; from hybridkg.store.generations.folder import Folder\n"
        "from hybridkg.errors import LockedError\n"
        "try:\n  with Folder.open(Path(sys.argv[1])).building(): pass\n"
        "except LockedError as e: print(e.message)"
    )
    with folder.building():
        ran = subprocess.run(
            [sys.executable, "-c", program, str(folder.path)], capture_output=True, text=True, check=True
        )
    assert ran.stdout.startswith(f"process {os.getpid()} (")
    assert ran.stdout.endswith(" s\n")


def test_readers_in_many_threads_see_whole_states_beside_a_writer(folder, load_into):
    stop, problems, seen = threading.Event(), [], set()

    def read():
        last = -1
        while not stop.is_set():
            try:
                found = values(folder.current())
            except HybridkgError as e:
                problems.append(e)
                return
            if found != sorted(str(i) for i in range(len(found))) or len(found) < last or len(found) % 2:
                problems.append(found)
            last = len(found)
            seen.add(last)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(0, examples(8, 16), 2):
        load_into(folder, triples(i, i + 1))
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(seen) > 1


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), OSError("IO error: No space left on device: While appending")],
)
def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(error, folder, load_into, monkeypatch):
    load_into(folder, triples(1))

    def full(path):
        raise error

    monkeypatch.setattr(building_module, "fsync_file", full)
    with pytest.raises(StorageError, match="the disk is full") as caught:
        load_into(folder, triples(2))
    assert "free some space" in caught.value.hint
    monkeypatch.undo()
    assert values(folder.current()) == ["1"]
    load_into(folder, triples(2))
    assert values(folder.current()) == ["1", "2"]


def test_what_a_crash_left_is_removed_by_the_next_writer(folder, load_into):
    load_into(folder, triples(1))
    shutil.copytree(folder.path / "000002", folder.path / "000003")
    shutil.copytree(folder.path / "000002", folder.path / ".building-77")
    (folder.path / ".CURRENT.new").write_text("0000")
    assert values(folder.current()) == ["1"]
    load_into(folder, triples(2))
    assert values(folder.current()) == ["1", "2"]
    assert folder.live_name() == "000003"
    assert not (folder.path / ".building-77").exists()


def test_opening_says_what_is_wrong_with_the_path(tmp_path, folder):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "photo.jpg").write_text("x")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "kb.toml").write_text("")
    said = {}
    for name in ("film.kb", "none", "file", "empty", "foreign", "half"):
        with pytest.raises(NotAKnowledgeBaseError) as caught:
            Folder.open(tmp_path / name)
        said[name] = (caught.value.message.replace(str(tmp_path), ""), caught.value.hint.replace(str(tmp_path), ""))
    assert said == {
        "film.kb": ("no knowledge base at '/film.kb'", "did you mean '/films.kb'?"),
        "none": ("no knowledge base at '/none'", "create one with: hybridkg load /none FILE..."),
        "file": ("'/file' is a file, not a knowledge base folder", "create one with: hybridkg load /file.kb FILE..."),
        "empty": ("'/empty' is an empty folder, not a knowledge base", "create one with: hybridkg load /empty FILE..."),
        "foreign": (
            "'/foreign' is a folder, but not a knowledge base; it has no file 'CURRENT'",
            "it holds 'photo.jpg'; give the path of a knowledge base, or of a new folder to load into",
        ),
        "half": (
            "'/half' is a knowledge base whose creation was interrupted",
            "create one with: hybridkg load /half FILE...",
        ),
    }


def test_creating_refuses_foreign_folders_and_completes_interrupted_ones(tmp_path, folder):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "photo.jpg").write_text("x")
    (tmp_path / "file").write_text("x")
    for name, message in (("foreign", "holds 'photo.jpg'"), ("file", "is a file"), ("films.kb", "already")):
        with pytest.raises(NotAKnowledgeBaseError, match=message):
            Folder.create(tmp_path / name)
    assert [entry.name for entry in (tmp_path / "foreign").iterdir()] == ["photo.jpg"]
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / ".building-5").mkdir()
    (tmp_path / "half" / "kb.toml").write_text("")
    assert Folder.create(tmp_path / "half").live_name() == "000001"


CREATE = """
import sys
from pathlib import Path
from hybridkg.store.generations.folder import Folder
print("ready", flush=True)
sys.stdin.readline()
print(Folder.open_or_create(Path(sys.argv[1]), 60).live_name())
"""


@pytest.mark.parametrize("is_empty_folder", [False, True])
def test_processes_that_create_one_knowledge_base_at_once_get_the_same_one(is_empty_folder, tmp_path):
    path = tmp_path / "new.kb"
    if is_empty_folder:
        path.mkdir()
    command = [sys.executable, "-c", CREATE, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(command, **pipes) for _ in range(3)]
    assert [child.stdout.readline() for child in children] == ["ready\n"] * 3
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate() for child in children] == [("000001\n", "")] * 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["new.kb"]


def test_a_creation_beside_a_faster_one_finds_it_and_leaves_it_alone(tmp_path, load_into, monkeypatch):
    path, rename = tmp_path / "new.kb", Path.rename

    def faster(self, target):
        if target == path:
            monkeypatch.undo()
            load_into(Folder.create(path), triples(1))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", faster)
    folder = Folder.open_or_create(path)
    assert values(folder.current()) == ["1"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["new.kb"]


def test_a_creation_in_an_empty_folder_waits_for_another_one(tmp_path):
    path = tmp_path / "empty.kb"
    path.mkdir()
    with ThreadPoolExecutor(1) as other:
        with Folder(path).locked():
            with pytest.raises(LockedError):
                other.submit(Folder.create, path).result()
            waiting = other.submit(Folder.create, path, None, 60)
        assert waiting.result().live_name() == "000001"


HOLD = """
import sys
from pathlib import Path
from hybridkg.store.generations.folder import Folder
held = Folder.open(Path(sys.argv[1])).current()
print("holding", flush=True)
sys.stdin.readline()
"""


def test_a_new_knowledge_base_is_removed_only_while_nobody_uses_it(tmp_path, load_into):
    folder = Folder.create(tmp_path / "new.kb")
    reading = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reading.stdout.readline() == "holding\n"
    own = folder.current()
    assert not folder.remove_unused()
    reading.communicate("end\n")
    with folder.locked(), ThreadPoolExecutor(1) as other:
        assert not other.submit(folder.remove_unused).result()
    assert folder.live_name() == "000001"
    assert folder.remove_unused()
    del own
    assert list(tmp_path.iterdir()) == []
    filled = Folder.create(tmp_path / "filled.kb")
    load_into(filled, triples(1))
    assert not filled.remove_unused()
    assert values(filled.current()) == ["1"]


def test_a_lost_current_never_costs_a_generation_with_data(folder, load_into):
    load_into(folder, triples(1))
    (folder.path / "CURRENT").unlink()
    kept = sorted(entry.name for entry in folder.path.iterdir() if entry.is_dir())
    for act in (Folder.open, Folder.create, Folder.open_or_create):
        with pytest.raises(NotAKnowledgeBaseError, match=r"has lost its file 'CURRENT'.*000002 is complete") as caught:
            act(folder.path)
        assert caught.value.hint == f"to use it: echo 000002 > {folder.path / 'CURRENT'}"
    assert sorted(entry.name for entry in folder.path.iterdir() if entry.is_dir()) == kept
    (folder.path / "CURRENT").write_text("000002\n")
    assert Folder.open(folder.path).live_name() == "000002"


def test_a_lost_current_and_a_damaged_manifest_are_left_alone(folder, load_into):
    load_into(folder, triples(1))
    (folder.path / "CURRENT").unlink()
    for manifest in folder.path.glob("*/manifest.json"):
        manifest.write_text("{")
    with pytest.raises(NotAKnowledgeBaseError, match=r"the manifest of 00000. cannot be read"):
        Folder.create(folder.path)
    assert (folder.path / "000002").is_dir()


def test_damage_is_found_at_opening_or_by_verify(folder, load_into):
    load_into(folder, triples(1))
    path = next((folder.path / "000002" / "graph").glob("*.sst"))
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    with pytest.raises(CorruptError, match=path.name):
        folder.current()
    path.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    with pytest.raises(CorruptError, match=r"checksum differs"):
        folder.current().verify()
    path.unlink()
    with pytest.raises(CorruptError, match="missing"):
        folder.current()


@pytest.mark.parametrize("text", ["", "../x", "000009", "{}"])
def test_a_damaged_current_is_an_error(text, folder):
    (folder.path / "CURRENT").write_text(text)
    with pytest.raises(CorruptError):
        folder.current()


@pytest.mark.parametrize(("text", "damage"), [("", "is empty"), ("{}", "is damaged: '{}'")])
def test_a_damaged_current_is_mended_as_the_hint_says(text, damage, folder, load_into):
    load_into(folder, triples(1))
    current = folder.path / "CURRENT"
    current.write_text(text)
    with pytest.raises(CorruptError) as caught:
        folder.current()
    assert caught.value.message == f"{str(current)!r} {damage}; 000002 is complete"
    assert caught.value.hint == f"to use it: echo 000002 > {current}"
    current.write_text("000002\n")
    assert values(folder.current()) == ["1"]


@pytest.mark.parametrize("change", [{"format": 2}, {"files": 3}, {"generation": "x"}, {"counts": None}])
def test_a_manifest_of_another_kind_is_an_error(change, folder):
    path = folder.path / "000001" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CorruptError):
        folder.current()


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000])
def test_a_manifest_that_is_no_json_object_is_an_error(text, folder):
    (folder.path / "000001" / "manifest.json").write_text(text)
    with pytest.raises(CorruptError):
        folder.current()


def test_the_manifest_reads_back_as_written(folder):
    manifest = folder.current().manifest
    assert read_manifest(folder.path / "000001") == manifest
    assert json.loads(manifest.to_json())["format"] == FORMAT
    assert Manifest(1, "0").behind() == ()


def test_a_flipped_byte_of_the_manifest_is_an_error_and_no_other_content(folder):
    path = folder.path / "000001" / "manifest.json"
    content, manifest = path.read_bytes(), read_manifest(folder.path / "000001")
    refused = 0
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert read_manifest(folder.path / "000001") == manifest  # the name of the checksum has another letter
        except CorruptError:
            refused += 1
    assert refused == len(content) - len("checksum")


def test_a_manifest_of_an_earlier_hybridkg_has_no_checksum_of_its_own(folder):
    path = folder.path / "000001" / "manifest.json"
    manifest, value = read_manifest(folder.path / "000001"), json.loads(path.read_text())
    del value["checksum"]
    path.write_text(json.dumps(value))
    assert read_manifest(folder.path / "000001") == manifest


def test_an_unwritable_folder_is_a_storage_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((StorageError, NotAKnowledgeBaseError)):
        Folder.create(tmp_path / "file" / "kb")


LOOP = """
import sys
from pathlib import Path
from hybridkg.rdf.terms import Literal, NamedNode, Triple
from hybridkg.store.generations.folder import Folder
from hybridkg.store.loading import load
folder, n = Folder.open_or_create(Path(sys.argv[1])), int(sys.argv[2])
while True:
    with folder.building() as building:
        load(building, [[Triple(NamedNode("a:s"), NamedNode("a:p"), Literal(f"{n} {i}")) for i in range(400)]])
    print(n, flush=True)
    with folder.building() as building:
        (building.path / "text").mkdir()
        for i in range(20):
            (building.path / "text" / str(i)).write_bytes(bytes(50_000))
        building.built("text", "embedded")
    n += 1
"""


def test_a_writer_killed_at_any_instant_leaves_the_last_good_state(tmp_path):
    """Kills a loading and indexing child at points spread over its work; every load it reported is there."""
    path, n = tmp_path / "crash.kb", 0
    for round in range(0, 15, examples(5, 1)):
        child = subprocess.Popen([sys.executable, "-c", LOOP, str(path), str(n)], stdout=subprocess.PIPE, text=True)
        reported = [int(child.stdout.readline())] if round else []
        time.sleep(0.003 + round * 0.0137 if round else 0.2)
        child.kill()
        reported += [int(line) for line in child.stdout]
        child.stdout.close()
        child.wait()
        if not (path / "CURRENT").exists():
            assert not reported
            continue
        generation = Folder.open(path).current()
        generation.verify()
        found = {}
        for value in values(generation):
            number, _, i = value.partition(" ")
            found.setdefault(int(number), set()).add(int(i))
        assert all(found[i] == set(range(400)) for i in found), "a load is there whole or not at all"
        assert set(reported) <= set(found)
        n = max(found, default=-1) + 1
    folder = Folder.open_or_create(path)
    with folder.building() as building:
        building.built("text", "embedded")
    names = [entry.name for entry in path.iterdir()]
    assert not [name for name in names if name.startswith((".building", ".removed"))]
    assert len(names) <= 5


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="other: no /dev/full")
def test_a_full_disk_is_told_whoever_has_written(tmp_path):
    with Path("/dev/full").open("wb", buffering=0) as full:
        for write in (lambda: np.zeros(1 << 20).tofile(full), lambda: full.write(b"x")):
            with pytest.raises(OSError, match=r"requested and|No space") as caught:
                write()
            assert "the disk is full while writing" in storage_error(caught.value, "writing").message


def test_opening_an_rdf_file_says_how_to_make_a_knowledge_base_of_it(tmp_path):
    (tmp_path / "films.ttl.gz").write_text("")
    with pytest.raises(NotAKnowledgeBaseError) as caught:
        Folder.open(tmp_path / "films.ttl.gz")
    assert caught.value.hint == f"create one with: hybridkg load {tmp_path}/films.kb {tmp_path}/films.ttl.gz"
    Folder.create(tmp_path / "films.kb")
    with pytest.raises(NotAKnowledgeBaseError) as caught:
        Folder.open(tmp_path / "films.ttl.gz")
    assert caught.value.hint == f"did you mean '{tmp_path}/films.kb'?"


def test_a_name_that_is_like_another_one_in_its_ending_only_is_not_guessed(tmp_path):
    Folder.create(tmp_path / "u.kb")
    with pytest.raises(NotAKnowledgeBaseError) as caught:
        Folder.open(tmp_path / "acl.kb")
    assert caught.value.hint.startswith("create one with")


def test_a_writer_removes_files_that_a_crashed_one_was_writing(tmp_path):
    folder = Folder.create(tmp_path / "kb")
    for name in (".CURRENT.new", ".PENDING.new", ".ENGINES.new"):
        (folder.path / name).write_text("half of a")
    with folder.building():
        pass
    assert list(folder.path.glob(".*.new")) == []
