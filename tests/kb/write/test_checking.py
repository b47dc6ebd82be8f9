"""A check names what is damaged, or not that of its source, and a repair builds again what is derived."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from care_cases import FILMS, REVIEWS, BreakAt, answers, live, replaced, rot, seal
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import quads as generated_quads
from pyoxigraph import Literal, Quad

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.config.settings import EncodingSettings
from hybridkg.errors import LockedError
from hybridkg.interfaces.encoder import ENCODERS
from hybridkg.kb.write.care_reports import CheckReport
from hybridkg.kb.write.checking import check
from hybridkg.storage.arrays import MappedArrays
from hybridkg.store.generations.folder import Folder
from hybridkg.text.index.comparison import StoredText
from hybridkg.vector.index.flat_files import LAYOUT as VECTOR_LAYOUT

PARTS = ["files", "settings", "graph", "documents", "entities", "projection", "statistics", "text", "vectors"]


def checked(path: Path, **options) -> CheckReport:
    return check(Folder.open(path), **options)


def states(report: CheckReport) -> dict[str, str]:
    return {part.part: part.state for part in report.parts if part.state != "ok"}


@pytest.mark.parametrize("full", [False, True])
def test_a_sound_knowledge_base_has_one_line_a_part(original, full):
    report = checked(original, full=full)
    assert [part.part for part in report.parts] == PARTS
    assert report.ok
    assert states(report) == {}
    with KnowledgeBase.open(original) as kb:
        quads, entities = kb.stats()["triples"], kb.stats()["entities"]
        assert kb.check(full) == report
    lines = dict(line.split(": ", 1) for line in report.lines())
    assert lines["graph"] == f"{quads:,} triples, ok"
    assert lines["documents"] == "40 documents with 80 fields, ok"
    assert lines["entities"] == f"{entities}, ok"
    assert lines["projection"] == f"{quads - 2:,} triples, those of the graph, ok"
    assert lines["text"].startswith(
        f"all {entities} entities compared" if full else f"{entities} of {entities} entities"
    )
    assert lines["vectors"].endswith("vectors compared, encoded again, ok")


KINDS = {
    "graph": ".sst",
    "documents": ".texts",
    "entities": "nodes.text",
    "projection": "projection/keys",
    "statistics": "statistics.json",
    "text": "text/1.packed",
    "vectors": "vectors/codes",
}


def test_a_changed_byte_is_found_in_every_kind_of_file(path):
    generation = live(path)
    names = {part: next(n for n in generation.manifest.files if n.endswith(end)) for part, end in KINDS.items()}
    for name in names.values():
        rot(generation, name)
    report = checked(path)
    own = {one.part: one for one in report.parts}
    assert not report.ok
    assert list(own) == PARTS
    assert own["files"].line().startswith(f"files: bad: {len(names)} of {len(generation.manifest.files)}: ")
    for part, name in names.items():
        assert own[part].line().startswith(f"{part}: bad: ")
        assert name in own[part].found
        todo = "restore it from a backup" if part in ("graph", "documents") else "--repair builds it again"
        assert todo in own[part].todo


@pytest.mark.exhaustive
def test_a_changed_byte_is_found_in_every_file(original, tmp_path):
    for i, (name, entry) in enumerate(live(original).manifest.files.items()):
        if entry.size:
            path = shutil.copytree(original, tmp_path / f"{i}.kb")
            rot(live(path), name)
            assert name in checked(path).parts[0].found, name
            shutil.rmtree(path)


@pytest.mark.exhaustive
def test_a_changed_byte_that_no_checksum_finds_is_found_by_full(original, tmp_path):
    """In everything that is derived; the last byte and one in the middle.

    Not white space behind a name, nor less than a rounding of a vector, nor the encoder, which nothing is derived of.
    """
    unnoticed = set()
    for name, entry in live(original).manifest.files.items():
        for place in {entry.size - 1, entry.size // 2} if entry.size else ():
            if name.startswith(("graph/", "documents/")):
                continue
            path = shutil.copytree(original, tmp_path / "a.kb")
            data = bytearray((live(path).path / name).read_bytes())
            data[place] ^= 1
            replaced(live(path), name, bytes(data))
            seal(live(path))
            if checked(path, full=True).ok:
                unnoticed.add(name)
            shutil.rmtree(path)
    encoder = {name for name in unnoticed if name.startswith("vectors/encoder/")}
    assert unnoticed - encoder <= {"text/engine", "vectors/index", "vectors/vectors"}


@pytest.mark.parametrize("name", ["manifest.json", "CURRENT", "kb.toml"])
def test_damage_of_what_leads_to_the_rest_is_found(path, name):
    file = live(path).path / name if name == "manifest.json" else path / name
    file.write_bytes(b"] " + file.read_bytes())
    result = CliRunner().invoke(cli, ["check", str(path)])
    assert result.exit_code == 1
    assert "bad: " in result.stdout
    assert name.partition(".")[0] in result.stdout


def test_a_projection_of_another_graph_is_found(path, tmp_path):
    """The same number of triples, and of entities: only the sum tells them apart."""
    other, docs, generation = tmp_path / "other.kb", tmp_path / "docs.jsonl", live(path)
    with KnowledgeBase.create(other) as kb:
        docs.write_text("".join(json.dumps(one) + "\n" for one in REVIEWS))
        kb.load([*_quads(path, "2015", "2016")], text=docs, index=True)
    shutil.rmtree(generation.path / "projection")
    shutil.copytree(live(other).path / "projection", generation.path / "projection")
    shutil.copyfile(live(other).path / "statistics.json", generation.path / "statistics.json")
    seal(generation)
    report = checked(path)
    assert states(report) == {"projection": "bad"}
    assert "are not those of the graph" in report.bad[0].found
    assert checked(path, repair=True).ok


def _quads(path: Path, old: str, new: str) -> list:
    with KnowledgeBase.open(path) as kb:
        quads = list(kb._snapshot.store.quads())
    place = next(i for i, quad in enumerate(quads) if isinstance(quad.object, Literal) and quad.object.value == old)
    quad = quads[place]
    quads[place] = Quad(quad.subject, quad.predicate, Literal(new, datatype=quad.object.datatype), quad.graph_name)
    return quads


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_one_changed_target_of_the_projection_is_found(path, direction):
    generation = live(path)
    name = f"projection/{direction}.targets"
    targets = np.frombuffer((generation.path / name).read_bytes(), "<u4").copy()
    place = int(np.flatnonzero(np.diff(targets))[0])
    targets[place], targets[place + 1] = targets[place + 1], targets[place]
    replaced(generation, name, targets.tobytes())
    seal(generation)
    assert "projection" in states(checked(path))


def test_statistics_of_another_graph_are_found(path):
    generation = live(path)
    text = (generation.path / "statistics.json").read_text()
    replaced(generation, "statistics.json", text.replace("Film", "Firm").encode())
    seal(generation)
    assert states(checked(path)) == {"statistics": "bad"}


def change(array_file: Path, place: int, by: int, dtype: str) -> bytes:
    values = np.frombuffer(array_file.read_bytes(), dtype).copy()
    values[place] += by
    return values.tobytes()


def test_a_posting_that_differs_is_found_and_named(path):
    generation = live(path)
    index = StoredText(generation.path / "text")
    term, field = index.terms.number("space"), 1
    place = int(index.reader.array("lists.tokens")[term * len(index.fields) + field])
    dtype = index.reader.array("positions").dtype.str
    replaced(generation, "text/1.positions", change(generation.path / "text/1.positions", place, 1, dtype))
    seal(generation)
    for full in (False, True):
        report = checked(path, full=full)
        assert states(report) == {"text": "bad"}
        assert report.bad[0].found.startswith("positions differ from the text, of 'space' in field 'description' of <h")
        assert report.bad[0].todo == f"hybridkg check {path} --repair builds it again"


def test_what_follows_from_the_postings_is_compared_by_full(path):
    generation = live(path)
    name = "text/1.terms.sets.entities"
    replaced(generation, name, change(generation.path / name, 0, 1, "<u4"))
    seal(generation)
    assert checked(path).ok
    report = checked(path, full=True)
    assert states(report) == {"text": "bad"}
    assert "'terms.sets.entities'" in report.bad[0].found


def test_an_index_of_other_documents_is_found(path):
    """The generation after a load has new documents; its manifest claims that the old index is built from them."""
    docs = path.with_suffix(".jsonl")
    docs.write_text('{"id": "http://example.org/films/f1", "review": "nothing but fog"}\n')
    old = live(path)
    with KnowledgeBase.open(path) as kb:
        kb.load(text=docs, index=True)
    generation = live(path)
    for folder in ("text", "vectors"):
        shutil.rmtree(generation.path / folder)
        shutil.copytree(old.path / folder, generation.path / folder)
    seal(generation)
    for full in (False, True):
        report = checked(path, full=full)
        assert {"text", "vectors"} <= states(report).keys()
        assert any("<http://example.org/films/f1>" in part.found for part in report.bad)


def test_vectors_in_each_others_place_are_found(path):
    generation = live(path)
    stored = MappedArrays(VECTOR_LAYOUT, generation.path / "vectors")
    vectors = np.array(stored.array("vectors"))
    vectors[[0, 1]] = vectors[[1, 0]]
    replaced(generation, "vectors/vectors", vectors.tobytes())
    seal(generation)
    report = checked(path)
    assert states(report) == {"vectors": "bad"}
    assert report.bad[0].found.endswith("is not that of its text")


@pytest.mark.parametrize(
    ("encoder", "index", "encoding"),
    [
        ("letters", "flat", EncodingSettings(what="chunks", chunk=20, overlap=5)),
        pytest.param("letters", "hnsw", EncodingSettings(), marks=pytest.mark.exhaustive),
        pytest.param("lsa", "flat", EncodingSettings(what="fields"), marks=pytest.mark.exhaustive),
    ],
)
def test_vectors_of_every_kind_are_compared(tmp_path, monkeypatch, encoder, index, encoding):
    monkeypatch.setitem(ENCODERS._builtin, "letters", "care_cases:Letters")
    path = tmp_path / "a.kb"
    with KnowledgeBase.create(path) as kb:
        folder = kb._folder
        folder.configure(replace(folder.config, encoder=encoder, vectors=index, encoding=encoding))
        kb.load(FILMS, index=True)
        pieces = kb._snapshot.vectors.pieces
    for full in (False, True):
        report = checked(path, full=full)
        assert states(report) == {}
        how = "encoded again" if encoder == "lsa" else "by the hashes of their texts"
        assert report.parts[-1].found == f"{pieces} of {pieces} vectors compared, {how}"
    generation = live(path)
    name = "vectors/vectors" if encoder == "lsa" else "vectors/texts"
    data = (generation.path / name).read_bytes()
    half = len(data) // 4 // 2 * 4
    replaced(generation, name, data[:half] + (data[-4:] + data[half:-4]))
    seal(generation)
    assert states(checked(path)) == {"vectors": "bad"}


def test_a_document_that_cannot_be_unpacked_is_found_by_full(path):
    generation = live(path)
    name = next(name for name in generation.manifest.files if name.startswith("documents/"))
    file = generation.path / name
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data)
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE text SET texts = x'78da00ff' WHERE field = 'note' AND entity LIKE '%/f7'")
    connection.close()
    seal(generation)
    report = checked(path, full=True)
    assert "documents" in {part.part for part in report.bad}
    assert next(part for part in report.bad if part.part == "documents").todo.startswith("restore it from a backup")


def test_quads_that_the_manifest_does_not_count_are_found(path):
    generation = live(path)
    manifest = generation.path / "manifest.json"
    text = manifest.read_text().partition("\n")[2].partition("\n")[2]  # without its checksum
    manifest.unlink()
    manifest.write_text("{\n" + re.sub(r'"quads": \d+', '"quads": 7', text))
    report = checked(path)
    assert {"graph"} == {part.part for part in report.bad}
    assert "the manifest counts 7" in report.bad[0].found
    assert states(report)["text"] == "skipped"


def test_indexes_that_follow_updates_are_those_of_a_build_from_scratch(path):
    with KnowledgeBase.open(path) as kb:
        kb.update('INSERT { ?f <http://e/shelf> "space" } WHERE { ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 3')
        with kb.transaction() as change:
            change.text(REVIEWS[2]["id"], review=["another fog"], extra=["new"])
            change.delete_text(REVIEWS[3]["id"])
            change.update("DELETE WHERE { <http://example.org/films/TheMartian> ?p ?o }")
        assert not kb.stats()["stale_indexes"]
        report = kb.check(full=True)
        assert states(report) == {}
        assert "documents: 39 documents with " in "\n".join(report.lines())


def test_an_index_that_is_behind_is_no_damage_and_repair_renews_it(path):
    more = path.with_suffix(".nt")
    more.write_text('<http://e/new> <http://www.w3.org/2000/01/rdf-schema#label> "a new space film" .')
    with KnowledgeBase.open(path) as kb:
        kb.load(more, index=False)
        report = kb.check()
        assert report.ok
        assert states(report) == {"projection": "behind", "text": "behind", "vectors": "behind"}
        assert f"text: older than the graph or the documents; hybridkg index {path} renews it" in report.lines()
        again = kb.check(repair=True)
        assert states(again) == {}
        assert [part.part for part in again.repaired] == ["projection", "text", "vectors"]
        assert len(kb.query('SELECT * { VALUES ?x { <http://e/new> } ?x MATCH "space" AS ?s }')) == 1


@pytest.mark.parametrize(
    ("how", "damage"),
    [
        ("rot", "text/1.packed"),
        ("gone", "text/text.json"),
        *(
            pytest.param(how, name, marks=pytest.mark.exhaustive)
            for how in ("rot", "cut", "gone")
            for name in (
                "text/1.packed",
                "nodes.text",
                "nodes.offsets",
                "statistics.json",
                "projection/keys",
                "projection/projection.json",
                "vectors/ids",
            )
        ),
    ],
)
def test_what_is_derived_is_repaired_however_it_is_damaged(path, how, damage):
    with KnowledgeBase.open(path) as kb:
        expected = answers(kb)
    generation = live(path)
    data = (generation.path / damage).read_bytes()
    if how == "rot":
        rot(generation, damage)
    else:
        replaced(generation, damage, data[:-3])
    if how == "gone":
        (generation.path / damage).unlink()
    del generation
    result = CliRunner().invoke(cli, ["check", str(path), "--repair"])
    assert result.exit_code == 0, result.output
    assert "built again" in result.stdout
    assert "bad: " not in result.stdout
    with KnowledgeBase.open(path) as kb:
        assert answers(kb) == expected
        assert states(kb.check(full=True)) == {}


def test_indexes_of_another_default_graph_are_behind(path):
    settings_file = path / "kb.toml"
    settings_file.write_text(settings_file.read_text().replace('default_graph = "default"', 'default_graph = "union"'))
    report = checked(path)
    assert states(report) == {"projection": "behind", "text": "behind", "vectors": "behind"}
    again = checked(path, repair=True)
    assert states(again) == {}
    quads = live(path).manifest.counts["quads"]
    assert next(p.found for p in again.parts if p.part == "projection").startswith(f"{quads:,} triples")


def test_a_damaged_graph_is_not_repaired_but_restored(path):
    generation = live(path)
    rot(generation, next(name for name in generation.manifest.files if name.endswith(".sst")))
    rot(generation, "projection/keys")
    result = CliRunner().invoke(cli, ["check", str(path), "--repair"])
    assert result.exit_code == 1
    assert f"restore it from a backup: hybridkg restore FOLDER {path}" in result.stdout
    assert Folder.open(path).live_name() == generation.name


def test_a_repair_waits_for_no_writer(path):
    rot(live(path), "projection/keys")
    with Folder.open(path).locked(), pytest.raises(LockedError):
        checked(path, repair=True)


@pytest.mark.parametrize("step", ["reading the graph", "sorting words"])
def test_an_interrupted_check_leaves_nothing(path, tmp_path, step, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    before = sorted(path.rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        checked(path, full=True, progress=BreakAt(step))
    assert sorted(path.rglob("*")) == before
    assert list((tmp_path / "tmp").iterdir()) == []


def test_json_has_the_same_as_the_lines(path):
    rot(live(path), "projection/keys")
    result = CliRunner().invoke(cli, ["check", str(path), "--format", "json"])
    found = json.loads(result.stdout)
    assert not found["ok"]
    assert {part["part"]: part["state"] for part in found["parts"]}["projection"] == "bad"


@given(st.lists(generated_quads, min_size=1, max_size=15), st.booleans())
@settings(max_examples=3)
def test_what_load_has_made_is_sound(statements, union):
    with TemporaryDirectory() as name, KnowledgeBase.create(Path(name) / "a.kb") as kb:
        if union:
            text = (Path(name) / "a.kb/kb.toml").read_text()
            (Path(name) / "a.kb/kb.toml").write_text(text.replace('= "default"  # "default", or', '= "union"  #'))
            kb.refresh()
            assert kb._settings.default_graph == "union"
        kb.load(statements, index=True)
        assert states(kb.check(full=True)) == {}
