"""restore(backup(kb)) is kb: every quad, row and score; and nothing half is left by whatever goes wrong."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from care_cases import BreakAt, answers, live, rot

from hybridkg import KnowledgeBase
from hybridkg.errors import CorruptError, NotAKnowledgeBaseError, StorageError
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.pending_settings import write_pending


def quads(kb: KnowledgeBase) -> list[str]:
    return sorted(map(str, kb._snapshot.store.quads()))


def test_what_is_restored_answers_every_query_with_the_same_rows_and_bits(path, tmp_path):
    with KnowledgeBase.open(path) as kb:
        made = kb.backup(tmp_path / "b")
        expected, all_quads = answers(kb), quads(kb)
        assert all(expected)
    shutil.rmtree(path)
    KnowledgeBase.restore(tmp_path / "b", path)
    with KnowledgeBase.open(path) as kb:
        assert answers(kb) == expected
        assert quads(kb) == all_quads
        assert kb.check(full=True).ok
    assert made.generation == Folder.open(path).live_name()
    with KnowledgeBase.open(tmp_path / "b") as kb:  # a backup is a knowledge base
        assert answers(kb) == expected


def test_a_backup_has_quads_that_were_loaded_a_moment_ago(tmp_path):
    """Store.read_only(a).backup(b) leaves out what was not flushed, without a word."""
    one = tmp_path / "one.nt"
    with KnowledgeBase.create(tmp_path / "a.kb") as kb:
        for i in range(3):
            one.write_text(f"<http://e/{i}> <http://e/p> <http://e/o> .\n")
            kb.load(one, index=False)
            kb.backup(tmp_path / f"b{i}")
            with KnowledgeBase.open(tmp_path / f"b{i}") as other:
                assert quads(other) == quads(kb)
                assert len(quads(other)) == i + 1


def test_a_backup_is_made_beside_a_writer_and_stays_while_writers_remove_old_states(path, tmp_path):
    more = tmp_path / "more.nt"
    with KnowledgeBase.open(path) as kb:
        expected = quads(kb)
        with Folder.open(path).building() as building:
            kb.backup(tmp_path / "b")
            building.writable_graph().add(next(iter(kb._snapshot.store.quads())))
        for i in range(4):
            more.write_text(f"<http://e/{i}> <http://e/p> <http://e/o> .\n")
            kb.load(more, index=False)
        first = Path(kb._folder.path) / "000001"
    assert not first.exists()
    with KnowledgeBase.open(tmp_path / "b") as other:
        assert quads(other) == expected
        other.load(more, index=False)  # and its own writer leaves the original alone
    with KnowledgeBase.open(path) as kb:
        assert kb.check().ok


def test_files_are_hard_links_on_the_same_disk_and_copies_elsewhere(path, tmp_path, monkeypatch):
    def refuse(self, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    with KnowledgeBase.open(path) as kb:
        linked = kb.backup(tmp_path / "linked")
        monkeypatch.setattr(Path, "hardlink_to", refuse)
        copied = kb.backup(tmp_path / "copied")
        expected = answers(kb)
    assert linked.linked == linked.files == copied.files
    assert copied.linked == 0
    name = next(iter(live(path).manifest.files))
    assert (live(tmp_path / "linked").path / name).samefile(live(path).path / name)
    assert not (live(tmp_path / "copied").path / name).samefile(live(path).path / name)
    KnowledgeBase.restore(tmp_path / "copied", tmp_path / "again.kb")
    with KnowledgeBase.open(tmp_path / "again.kb") as kb:
        assert answers(kb) == expected


def test_models_synonyms_and_pending_settings_come_along_and_unit_costs_do_not(path, tmp_path):
    (path / "models" / "deep").mkdir(parents=True)
    (path / "models" / "deep" / "a.toml").write_text('model = "bm25f"\n')
    (path / "words.txt").write_text("car, automobile\n")
    (path / "cost.json").write_text("{}")
    folder = Folder.open(path)
    text = (path / "kb.toml").read_text().replace('encoder = "lsa"', 'encoder = "none"')
    write_pending(path, folder.live_name(), 'synonyms = "words.txt"\n' + text)
    assert folder.config.encoder == "none"
    with KnowledgeBase.open(path) as kb:
        kb.backup(tmp_path / "b")
    KnowledgeBase.restore(tmp_path / "b", tmp_path / "r.kb")
    again = tmp_path / "r.kb"
    assert Folder.open(again).config == folder.config
    assert (again / "models/deep/a.toml").read_text() == 'model = "bm25f"\n'
    assert (again / "words.txt").read_text() == "car, automobile\n"
    assert not (again / "models/deep/a.toml").samefile(path / "models/deep/a.toml")  # people edit it in place
    assert not (again / "cost.json").exists()
    assert not (again / "backup.json").exists()


def test_what_is_not_in_the_folder_is_named(path, tmp_path):
    folder = Folder.open(path)
    folder.configure(replace(folder.config, profile="/elsewhere/p.ttl", synonyms="../words.txt"))
    with KnowledgeBase.open(path) as kb:
        made = kb.backup(tmp_path / "b")
    assert [note.partition(",")[0] for note in made.notes] == [
        "kb.toml names '/elsewhere/p.ttl'",
        "kb.toml names '../words.txt'",
    ]
    assert list(KnowledgeBase.restore(tmp_path / "b", tmp_path / "r.kb").notes) == list(made.notes)
    assert made.lines()[1] == "note: kb.toml names '/elsewhere/p.ttl', which is not in the backup; " + (
        "hybridkg index needs it"
    )


def test_an_index_on_a_server_is_named(path, tmp_path):
    generation = live(path)
    (generation.path / "text" / "engine").write_text("elasticsearch\n")
    from hybridkg.kb.write.backups import _not_included

    (note,) = _not_included(Folder.open(path), generation, Folder.open(path).config)
    assert note == (
        "the text index lies on a server (Elasticsearch) and is not in the backup; hybridkg index builds it"
    )


def test_a_folder_that_is_not_empty_is_refused_and_stays_as_it_is(path, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "a").write_text("mine")
    with KnowledgeBase.open(path) as kb:
        kb.backup(tmp_path / "b")
        with pytest.raises(NotAKnowledgeBaseError, match=r"'.*full' is not empty; it holds 'a'"):
            kb.backup(full)
        with pytest.raises(NotAKnowledgeBaseError, match="is not a folder"):
            kb.backup(full / "a")
        with pytest.raises(NotAKnowledgeBaseError, match=r"lies in .*films.kb"):
            kb.backup(path / "inside")
    with pytest.raises(NotAKnowledgeBaseError, match="not empty") as caught:
        KnowledgeBase.restore(tmp_path / "b", path)
    assert caught.value.hint == f"move it away first: mv {path} {path}.old"
    assert [entry.name for entry in full.iterdir()] == ["a"]
    empty = tmp_path / "empty"
    empty.mkdir()
    KnowledgeBase.restore(tmp_path / "b", empty)
    assert Folder.open(empty).live_name() == Folder.open(path).live_name()


@pytest.mark.parametrize("name", ["text/1.positions", "nodes.text", "kb.toml", "manifest.json"])
def test_a_damaged_backup_is_not_restored(path, tmp_path, name):
    backup = tmp_path / "b"
    with KnowledgeBase.open(path) as kb:
        kb.backup(backup)
    generation = live(backup)
    if name == "kb.toml":
        (backup / name).write_text('profile = "default"\n')
    elif name == "manifest.json":
        text = (generation.path / name).read_text()
        (generation.path / name).unlink()
        (generation.path / name).write_text(text.replace('"documents": 2', '"documents": 3'))
    else:
        rot(generation, name)
    with pytest.raises(CorruptError, match=name) as caught:
        KnowledgeBase.restore(backup, tmp_path / "r.kb")
    assert caught.value.hint.startswith("restore another backup")
    assert str(backup) in caught.value.message
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.is_dir()) == ["b", "films.kb"]


def test_a_damaged_knowledge_base_is_not_backed_up(path, tmp_path):
    kb = KnowledgeBase.open(path)
    name = next(n for n in live(path).manifest.files if n.endswith(".sst"))
    rot(live(path), name)
    with pytest.raises(CorruptError, match=name):
        kb.backup(tmp_path / "b")
    assert [entry.name for entry in tmp_path.iterdir()] == ["films.kb"]


def test_a_backup_that_was_written_to_is_not_restored(path, tmp_path):
    backup = tmp_path / "b"
    with KnowledgeBase.open(path) as kb:
        kb.backup(backup)
    (tmp_path / "a.nt").write_text("<http://e/1> <http://e/p> <http://e/o> .\n")
    with KnowledgeBase.open(backup) as kb:
        kb.load(tmp_path / "a.nt", index=False)
    with pytest.raises(CorruptError, match="has been written to since it was made"):
        KnowledgeBase.restore(backup, tmp_path / "r.kb")


def test_only_a_backup_is_restored(path, tmp_path):
    with pytest.raises(NotAKnowledgeBaseError, match=r"is not a backup: it has no file 'backup.json'") as caught:
        KnowledgeBase.restore(path, tmp_path / "r.kb")
    assert caught.value.hint == f"hybridkg backup {path} FOLDER makes one"
    with pytest.raises(NotAKnowledgeBaseError, match="there is no folder"):
        KnowledgeBase.restore(tmp_path / "nothing", tmp_path / "r.kb")


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"../../secret": "00000000"}},
        {"files": {"/etc/passwd": "00000000"}},
        {"files": []},
        {"generation": "../films.kb"},
        {"format": 2},
        {"format": []},
    ],
)
def test_a_hostile_manifest_leads_nowhere(path, tmp_path, change):
    backup = tmp_path / "b"
    with KnowledgeBase.open(path) as kb:
        kb.backup(backup)
    about = json.loads((backup / "backup.json").read_text())
    (backup / "backup.json").write_text(json.dumps(about | change))
    with pytest.raises(CorruptError, match=r"backup.json' is damaged|has format"):
        KnowledgeBase.restore(backup, tmp_path / "r.kb")
    assert not (tmp_path / "r.kb").exists()


def test_an_interruption_or_a_full_disk_leaves_nothing(path, tmp_path, monkeypatch):
    with KnowledgeBase.open(path) as kb:
        kb.backup(tmp_path / "b")
        with pytest.raises(KeyboardInterrupt):
            kb.backup(tmp_path / "c", progress=BreakAt("copying"))
    with pytest.raises(KeyboardInterrupt):
        KnowledgeBase.restore(tmp_path / "b", tmp_path / "r.kb", progress=BreakAt("copying"))

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hybridkg.kb.write.backups.link_or_copy", full)
    with pytest.raises(StorageError, match="the disk is full") as caught:
        KnowledgeBase.restore(tmp_path / "b", tmp_path / "r.kb")
    assert caught.value.hint.endswith("r.kb' is as it was before")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["b", "films.kb"]
