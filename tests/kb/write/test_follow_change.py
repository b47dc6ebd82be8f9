"""The indexes follow a small change, or are built anew and the report says why."""

from __future__ import annotations

import gc
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sampling import sampled

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError
from hybridkg.kb.write import follow_change, load_inputs
from hybridkg.store.generations import manifest
from hybridkg.store.generations.folder import Folder

P = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
NEW = P + 'INSERT DATA { :new rdfs:label "a blue whale" }'


@pytest.fixture(scope="module")
def fish(tmp_path_factory):
    """A knowledge base that nobody changes."""
    folder = tmp_path_factory.mktemp("fish")
    lines = [
        f'<http://e/n{i}> <http://www.w3.org/2000/01/rdf-schema#label> "fish number {i} of the sea" .'
        for i in range(40)
    ]
    (folder / "g.nt").write_text("\n".join(lines))
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "g.nt")
    return folder / "kb"


@pytest.fixture
def kb(fish, tmp_path):
    return KnowledgeBase.open(shutil.copytree(fish, tmp_path / "kb", symlinks=True))


def found(kb, words):
    return [str(row["x"]) for row in kb.query(P + f'SELECT ?x {{ ?x MATCH "{words}" AS ?s }} RANK BY ?s')]


def test_a_small_change_is_followed(kb):
    report = kb.update(NEW)
    assert (report.added, report.rebuilt, report.is_behind) == (1, "", False)
    assert report.index.entities == 41
    assert found(kb, "whale") == ["http://e/new"]
    assert kb.check(full=True).ok


def test_the_garbage_collector_is_on_while_an_update_waits_for_other_writers(kb, monkeypatch):
    seen, building = [], Folder.building
    monkeypatch.setattr(Folder, "building", lambda *given: (seen.append(gc.isenabled()), building(*given))[1])
    assert kb.update(NEW).added == 1
    assert seen == [True]


def test_the_garbage_collector_is_on_again_after_a_commit_and_after_a_mistake(kb):
    kb.update(NEW)
    assert gc.isenabled()
    with pytest.raises(HybridkgError):
        kb.update("INSERT DATA { <e:a> }")
    assert gc.isenabled()


def test_a_change_without_text_links_the_text_index_and_is_a_commit(kb):
    before = (kb._snapshot.generation.path / "text" / "1.packed").stat()
    kb.update(P + "INSERT DATA { GRAPH :g { :n1 :next :n2 } }")
    assert os.path.samestat(before, (kb._snapshot.generation.path / "text" / "1.packed").stat())


@pytest.mark.parametrize("added", [1, 5])
def test_a_change_of_too_many_triples_builds_anew(kb, monkeypatch, added):
    monkeypatch.setattr(follow_change, "REBUILD_LEAST", 2)
    monkeypatch.setattr(follow_change, "REBUILD_SHARE", 0.05)
    lines = " . ".join(f':m{i} rdfs:label "whale {i}"' for i in range(added))
    report = kb.update(P + f"INSERT DATA {{ {lines} }}")
    assert report.rebuilt == ("" if added == 1 else "5 triples have changed")
    assert len(found(kb, "whale")) == added


def test_other_synonyms_build_anew(kb, tmp_path):
    (tmp_path / "kb" / "synonyms.txt").write_text("whale, cetacean\n")
    folder = Folder.open(tmp_path / "kb")
    folder.configure(replace(folder.config, synonyms="synonyms.txt"))
    assert kb.update(NEW).rebuilt == "the synonyms have changed"
    assert found(kb, "cetacean") == ["http://e/new"]
    assert kb.update(NEW.replace(":new", ":newer")).rebuilt == ""
    assert found(kb, "cetacean") == ["http://e/new", "http://e/newer"]


def test_a_new_field_of_documents_builds_anew_and_the_next_text_does_not(kb):
    for name, reason in (("n1", "the profile or the fields of the documents have changed"), ("n2", "")):
        with kb.transaction() as t:
            t.text(f"http://e/{name}", review="a slow whale")
        assert t.report.rebuilt == reason
    assert found(kb, "whale") == ["http://e/n1", "http://e/n2"]


@pytest.mark.parametrize(
    "name",
    sampled(
        ["text/1.packed", "projection/forward.targets", "nodes.text", "text/1.terms.text"],
        *("text/1.packed", "nodes.text"),
    ),
)
def test_damage_of_the_earlier_indexes_is_not_carried_over_but_mended(tmp_path, kb, name, monkeypatch):
    monkeypatch.setattr(manifest, "MAX_SMALL_FILE", 0)  # as where files are large: opening does not compare them
    kb.close()
    file = tmp_path / "kb" / Folder.open(tmp_path / "kb").live_name() / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with KnowledgeBase.open(tmp_path / "kb") as damaged:
        report = damaged.update(NEW)
        assert report.rebuilt == "a file of the earlier indexes is damaged"
        assert damaged.check(full=True).ok


def test_a_load_that_cannot_be_followed_builds_a_small_knowledge_base_anew(kb, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"id": "http://e/n1", "review": "a slow whale"}\n')
    report = kb.load(text=tmp_path / "docs.jsonl")
    assert (report.documents, report.is_behind, report.has_followed) == (1, False, False)
    assert found(kb, "whale") == ["http://e/n1"]


def test_a_load_that_cannot_be_followed_leaves_the_indexes_behind(kb, tmp_path, monkeypatch):
    monkeypatch.setattr(load_inputs, "QUICKLY_INDEXED", 0)
    (tmp_path / "docs.jsonl").write_text('{"id": "http://e/n1", "review": "a slow whale"}\n')
    report = kb.load(text=tmp_path / "docs.jsonl")
    assert (report.documents, report.index, report.is_behind) == (1, None, True)
    assert report.not_followed == "the profile or the fields of the documents have changed"
    assert "text" in kb.query(P + 'SELECT ?x { ?x MATCH "whale" }').stale_indexes


def test_an_index_that_is_to_move_to_a_server_stays_behind_and_no_server_is_asked(kb, tmp_path):
    folder = Folder.open(tmp_path / "kb")
    folder.configure(replace(folder.config, text="elasticsearch"))
    report = kb.update(NEW)
    assert (report.added, report.index, report.is_behind) == (1, None, True)
    assert report.not_followed == "the text engine has changed"


def test_an_encoder_that_was_learned_is_kept_and_the_report_says_how_old_it_is(kb):
    kb.index(encoder="lsa")
    report = kb.update(NEW + ' ; INSERT DATA { :newer rdfs:label "fish of the sea" }')
    assert report.rebuilt == ""
    assert f"{2 / 42:.1%} of the texts have changed since lsa was learned" in str(report)
    near = kb.query(P + 'SELECT ?x { ?x NEAR "fish of the sea" AS ?s } RANK BY ?s LIMIT 50')
    assert "http://e/newer" in [str(row["x"]) for row in near]
    kb.index()
    assert "lsa was learned" not in str(kb.update(P + "INSERT DATA { GRAPH :g { :n1 :next :n2 } }"))


def test_the_age_of_an_encoder_is_left_out_where_it_would_be_shown_as_nothing(kb, monkeypatch):
    kb.index(encoder="lsa")
    monkeypatch.setattr(follow_change, "MIN_SHARE_TOLD", 0.5)
    assert "was learned" not in str(kb.update(NEW))


def test_files_of_old_generations_are_closed_without_the_garbage_collector(kb):
    open_files = []
    gc.collect()
    gc.disable()
    try:
        for number in range(6):
            kb.update(NEW.replace(":new", f":new{number}"))
            found(kb, "whale")
            open_files.append(len(list(Path("/proc/self/fd").iterdir())))
    finally:
        gc.enable()
    assert open_files[-1] - open_files[1] < 4 * 5  # Oxigraph adds a table or two with each; the others have 39 files


def test_another_default_graph_builds_anew(kb, tmp_path):
    folder = Folder.open(tmp_path / "kb")
    folder.configure(replace(folder.config, default_graph="union"))
    assert kb.update(NEW).rebuilt == "default_graph has changed"
    assert found(kb, "whale") == ["http://e/new"]


def test_a_dry_run_says_that_nothing_has_been_written(kb):
    report = kb.update(NEW, dry_run=True)
    assert str(report) == "triples: 1 added, 0 removed\nentities: 1 changed\nnothing has been written"
    assert report.to_json()["index"] == "unchanged"
    assert found(kb, "whale") == []


@pytest.mark.parametrize("default_graph", ["default", "union"])
def test_a_number_that_ends_in_0xff_does_not_stay_in_the_projection_for_larger_ones(kb, tmp_path, default_graph):
    folder = Folder.open(tmp_path / "kb")
    folder.configure(replace(folder.config, default_graph=default_graph))
    kb.update(P + "INSERT DATA { :n1 :size 255 . GRAPH :g { :n2 :size 255 } }")
    followed = kb.update(P + "DELETE { ?n :size 255 } INSERT { ?n :size 256 } WHERE { ?n :size 255 }")
    assert followed.rebuilt == ""
    assert kb.check(full=True).ok
    kb.update(P + "CLEAR GRAPH :g ; INSERT DATA { :n2 :size 511 } ; DELETE DATA { :n1 :size 256 }")
    report = kb.check(full=True)
    assert report.ok, str(report)
