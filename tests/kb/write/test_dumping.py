"""load(dump(kb)) is kb: the same quads up to labels of blank nodes, and the same documents."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from care_cases import REVIEWS, BreakAt
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import quads as generated_quads
from pyoxigraph import CanonicalizationAlgorithm, Dataset, DefaultGraph, RdfFormat, parse

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.entities.documents import document_lines
from hybridkg.errors import LoadError, StorageError, UserError
from hybridkg.kb.write import dumping

OPENERS = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def quads(kb: KnowledgeBase) -> list:
    return list(kb._snapshot.store.quads())


def canonical(statements) -> set:
    dataset = Dataset(statements)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def documents(kb: KnowledgeBase) -> dict:
    found = kb._snapshot.documents
    return {} if found is None else {(f, n.value): texts for f in found.fields() for n, texts in found.stream(f)}


@given(st.lists(generated_quads, min_size=1, max_size=20), st.sampled_from([".nq", ".trig.gz", ".nq.xz"]))
@settings(max_examples=4)
def test_a_dump_that_is_loaded_has_the_same_quads(statements, extension):
    with TemporaryDirectory() as name:
        folder = Path(name)
        with KnowledgeBase.create(folder / "a.kb") as kb, KnowledgeBase.create(folder / "b.kb") as other:
            kb.load(statements, index=False)
            report = kb.dump(folder / f"all{extension}")
            other.load(folder / f"all{extension}", index=False)
            assert canonical(quads(other)) == canonical(quads(kb))
            assert report.statements == len(quads(kb))


@pytest.mark.parametrize(
    ("extension", "compression"), [(".nq", ""), (".trig", ".gz"), (".nq", ".bz2"), (".trig", ".xz")]
)
def test_every_format_and_compression_has_every_quad_with_its_labels(path, tmp_path, extension, compression):
    file = tmp_path / f"all{extension}{compression}"
    with KnowledgeBase.open(path) as kb:
        kb.dump(file)
        expected = quads(kb)
    syntax = {".nq": RdfFormat.N_QUADS, ".trig": RdfFormat.TRIG}[extension]
    with OPENERS[compression](file, "rb") as opened:
        assert set(parse(opened.read(), syntax)) == set(expected)


def test_documents_come_back_as_they_were(path, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text(
        json.dumps({"id": REVIEWS[3]["id"], "review": [], "extra": ["zwei", "é\u2028\n"]})
        + "\n"
        + json.dumps({"id": "http://e/only", **{f"f{i}": f"text {i}" for i in range(40)}})
        + "\n"
    )
    with KnowledgeBase.open(path) as kb, KnowledgeBase.create(tmp_path / "b.kb") as other:
        kb.load(text=more, index=False)
        report = kb.dump(tmp_path / "all.nq", tmp_path / "docs.jsonl.gz")
        other.load(tmp_path / "all.nq", text=tmp_path / "docs.jsonl.gz", index=False)
        assert documents(other) == documents(kb)
        assert canonical(quads(other)) == canonical(quads(kb))
    with gzip.open(tmp_path / "docs.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert report.documents == len(lines)
    assert lines[0] == {"id": "http://e/only", **{f"f{i}": f"text {i}" for i in sorted(range(40), key=str)[:15]}}


def test_a_line_is_never_longer_than_load_accepts(path, tmp_path, monkeypatch):
    monkeypatch.setattr(dumping, "MAX_LINE_LENGTH", 100)
    with KnowledgeBase.open(path) as kb, KnowledgeBase.create(tmp_path / "b.kb") as other:
        kb.dump(tmp_path / "all.nq", tmp_path / "docs.jsonl")
        monkeypatch.setattr(document_lines, "MAX_LINE_LENGTH", 100)
        other.load(text=tmp_path / "docs.jsonl", index=False)
        assert documents(other) == documents(kb)


def test_the_order_follows_from_the_quads_alone(path, tmp_path):
    with KnowledgeBase.open(path) as kb:
        kb.dump(tmp_path / "one.nq.gz")
        lines = [line for line in kb_lines(kb, tmp_path) if b"_:" not in line]
    for i, order in enumerate((lines, lines[::-1])):
        (tmp_path / f"in{i}.nq").write_bytes(b"".join(order))
        with KnowledgeBase.create(tmp_path / f"{i}.kb") as other:
            for half in (order[: len(order) // 2], order[len(order) // 2 :]):
                (tmp_path / "half.nq").write_bytes(b"".join(half))
                other.load(tmp_path / "half.nq", index=False)
            other.dump(tmp_path / f"out{i}.nq.gz")
    assert (tmp_path / "out0.nq.gz").read_bytes() == (tmp_path / "out1.nq.gz").read_bytes()
    with KnowledgeBase.open(path) as kb:
        kb.dump(tmp_path / "two.nq.gz")
    assert (tmp_path / "one.nq.gz").read_bytes() == (tmp_path / "two.nq.gz").read_bytes()


def kb_lines(kb: KnowledgeBase, folder: Path) -> list[bytes]:
    kb.dump(folder / "lines.nq")
    return (folder / "lines.nq").read_bytes().splitlines(keepends=True)


def test_turtle_and_n_triples_hold_a_graph_without_named_graphs(path, tmp_path):
    with KnowledgeBase.open(path) as kb:
        for name in ("all.ttl.gz", "all.nt"):
            with pytest.raises(UserError, match="has no named graphs, and this knowledge base has some") as caught:
                kb.dump(tmp_path / name)
            assert caught.value.hint.startswith("write N-Quads or TriG: ")
            assert not (tmp_path / name).exists()
        plain = [quad for quad in quads(kb) if quad.graph_name == DefaultGraph()]
    with KnowledgeBase.create(tmp_path / "b.kb") as other:
        other.load(plain, index=False)
        for name, syntax in (("all.ttl", RdfFormat.TURTLE), ("all.nt", RdfFormat.N_TRIPLES)):
            assert other.dump(tmp_path / name).statements == len(plain)
            assert set(parse((tmp_path / name).read_bytes(), syntax)) == set(quads(other))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("all.rdf", None, "cannot tell the format of '.*all.rdf' by its name; known: .nq, .trig, .nt, .ttl"),
        ("all", None, "cannot tell the format"),
        ("docs.jsonl", None, "cannot tell the format"),
        ("all.nq", "docs.txt", "text documents are written as .jsonl"),
        ("all.nq", "all.nq", "cannot both be written to"),
    ],
)
def test_a_name_that_tells_no_format_is_refused_before_anything_is_written(path, tmp_path, file, text, message):
    with KnowledgeBase.open(path) as kb, pytest.raises(LoadError, match=message):
        kb.dump(tmp_path / file, text and tmp_path / text)
    assert [entry.name for entry in tmp_path.iterdir()] == ["films.kb"]


@pytest.mark.parametrize("step", ["writing the graph", "writing documents"])
def test_an_interrupted_dump_leaves_the_files_as_they_were(path, tmp_path, step, monkeypatch):
    monkeypatch.setattr(dumping, "LINES_PER_REPORT", 1)
    (tmp_path / "all.nq").write_text("old")
    with KnowledgeBase.open(path) as kb, pytest.raises(KeyboardInterrupt):
        kb.dump(tmp_path / "all.nq", tmp_path / "docs.jsonl", progress=BreakAt(step))
    assert (tmp_path / "all.nq").read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["all.nq", "films.kb"]


def test_a_file_that_cannot_be_written_is_an_error(path, tmp_path):
    with KnowledgeBase.open(path) as kb, pytest.raises(StorageError, match="cannot write"):
        kb.dump(tmp_path / "nowhere" / "all.nq")


def test_documents_that_are_left_out_are_named(path, tmp_path):
    with KnowledgeBase.open(path) as kb:
        (note,) = kb.dump(tmp_path / "all.nq").notes
        assert note == "not in the dump: 40 text documents; --text FILE.jsonl.gz writes them, too"
        assert not kb.dump(tmp_path / "all.nq", tmp_path / "docs.jsonl").notes


def test_a_minus_is_standard_output(path):
    result = CliRunner().invoke(cli, ["dump", str(path), "-"])
    assert result.exit_code == 0
    with KnowledgeBase.open(path) as kb:
        assert set(parse(result.stdout_bytes, RdfFormat.N_QUADS)) == set(quads(kb))
    assert result.stderr.startswith(f"{len(list(parse(result.stdout_bytes, RdfFormat.N_QUADS))):,} statements\n")


def test_a_graph_at_an_endpoint_is_refused(tmp_path):
    at = "http://127.0.0.1:1/sparql"
    with KnowledgeBase.create(tmp_path / "a.kb", graph=at) as kb, pytest.raises(UserError, match=f"lies at {at}"):
        kb.dump(tmp_path / "all.nq")
