"""The projection in a knowledge base: when it is built, when it is used, and what happens when it is damaged."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest
from projection_cases import assert_equal, same_bytes

import hybridkg.kb.write.index_generation
from hybridkg import KnowledgeBase
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.stored_projection import FOLDER
from hybridkg.rdf.terms import Triple

TURTLE = """@prefix : <e:> .
:a :p :b, "x", "x"@en, 07, 1.50 ; :q [ :p :c ] . :b :label "b" . :c :q "2020-01-01T24:00:00Z" ."""
QUERY = "SELECT ?s { ?s <e:p> <e:b> }"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.ttl"
    path.write_text(TURTLE)
    return path


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A knowledge base of the same file, which nobody changes."""
    folder = tmp_path_factory.mktemp("projection")
    (folder / "a.ttl").write_text(TURTLE)
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "a.ttl", index=True)
    return folder / "kb"


def folder_of(kb: KnowledgeBase) -> Path:
    return kb._snapshot.generation.path / FOLDER


def wanted(kb: KnowledgeBase):
    nodes = kb._snapshot.nodes
    triples = [Triple(q.subject, q.predicate, q.object) for q in kb._snapshot.store.quads()]
    return columns_of(triples, [nodes.node(i) for i in range(len(nodes))])


def test_loading_with_an_index_and_indexing_later_give_the_same_projection(tmp_path, source):
    one, other = KnowledgeBase.create(tmp_path / "one"), KnowledgeBase.create(tmp_path / "other")
    one.load(source, index=True)
    other.load(source, index=False)
    assert other._snapshot.projection is None
    other.index()
    assert_equal(one._snapshot.projection, wanted(one))
    assert same_bytes(folder_of(one), folder_of(other))
    assert sorted(path.name for path in one._snapshot.generation.path.glob("*tmp*")) == []


def test_a_second_load_with_an_index_reads_the_whole_graph(tmp_path, source):
    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(source, index=True)
    kb.load(source, index=True)
    assert_equal(kb._snapshot.projection, wanted(kb))


def test_a_load_without_index_leaves_no_projection_behind(tmp_path, source):
    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(source, index=True)
    kb.load(source, index=False)
    assert kb._snapshot.projection is None
    assert not folder_of(kb).exists()
    assert "hybridkg index" in kb.stats()["projection"]["state"]
    assert len(kb.query(QUERY)) == 1


@pytest.mark.parametrize("damage", ["missing file", "short file", "bad header", "missing folder"])
def test_a_damaged_projection_is_told_and_stops_nothing(tmp_path, indexed, damage, caplog):
    kb = KnowledgeBase.open(shutil.copytree(indexed, tmp_path / "kb", symlinks=True))
    folder = folder_of(kb)
    match damage:
        case "missing file":
            (folder / "keys").unlink()
        case "short file":
            (folder / "keys").write_bytes(b"")
        case "bad header":
            (folder / "projection.json").write_text("[" * 100_000)
        case "missing folder":
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()
    with caplog.at_level(logging.WARNING):
        again = KnowledgeBase.open(tmp_path / "kb")
        assert again._snapshot.projection is None
    assert ("projection" in caplog.text) == (damage != "missing folder")
    assert "hybridkg index" in again.stats()["projection"]["state"]
    assert len(again.query(QUERY)) == 1
    again.index()
    assert_equal(again._snapshot.projection, wanted(again))


def test_another_default_graph_makes_it_unusable_until_the_next_index(tmp_path, source):
    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(source, index=True)
    config = tmp_path / "kb" / "kb.toml"
    union = "union" if 'default_graph = "union"' not in config.read_text() else "default"
    lines = [line for line in config.read_text().splitlines() if not line.startswith("default_graph")]
    config.write_text("\n".join([f'default_graph = "{union}"', *lines]) + "\n")
    again = KnowledgeBase.open(tmp_path / "kb")
    assert again._snapshot.projection is None
    again.index()
    assert again._snapshot.projection is not None


def test_a_failure_while_it_is_built_leaves_the_old_state(tmp_path, source, monkeypatch):
    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(source, index=True)
    before = kb._snapshot.generation.name

    def fail(*arguments, **settings):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(hybridkg.kb.write.index_generation, "build_projection", fail)
        with pytest.raises(KeyboardInterrupt):
            kb.load(source, index=True)
    again = KnowledgeBase.open(tmp_path / "kb")
    assert again._snapshot.generation.name == before
    assert again._snapshot.projection is not None


def test_the_manifest_knows_it(tmp_path, source):
    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(source, index=True)
    manifest = json.loads((kb._snapshot.generation.path / "manifest.json").read_text())
    assert manifest["indexes"]["projection"] == manifest["sources"]
    assert f"{FOLDER}/projection.json" in manifest["files"]
    assert kb.stats()["projection"]["triples"] == kb.stats()["triples"]


def test_a_triple_of_two_graphs_counts_once_in_their_union_under_a_variable_predicate(tmp_path):
    path = tmp_path / "a.nq"
    path.write_text(
        "<e:a> <e:p> <e:b> <e:g> .\n<e:a> <e:p> <e:b> <e:h> .\n<e:a> <e:p> <e:b> .\n<e:a> <e:q> <e:p> <e:h> .\n"
    )
    kb = KnowledgeBase.create(tmp_path / "kb")
    config = tmp_path / "kb" / "kb.toml"
    config.write_text(config.read_text().replace('default_graph = "default"', 'default_graph = "union"'))
    kb = KnowledgeBase.open(tmp_path / "kb")
    kb.load(path, index=True)
    merged = KnowledgeBase.create(tmp_path / "merged")
    path.write_text("<e:a> <e:p> <e:b> .\n<e:a> <e:q> <e:p> .\n")
    merged.load(path, index=True)
    for query in (
        "SELECT * { ?s ?p ?o }",
        "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p",
        "SELECT (COUNT(*) AS ?n) { <e:a> ?p ?o }",
        "SELECT ?o ?r { <e:a> ?p ?o . ?s ?o ?r }",
    ):
        found = sorted(map(str, kb.query(query, strategy="columns")))
        assert found == sorted(map(str, merged.query(query, strategy="oxigraph"))), query


def test_a_plain_query_over_a_union_with_repeated_triples_has_the_rows_of_oxigraph(tmp_path):
    path = tmp_path / "a.nq"
    path.write_text("<e:a> <e:p> <e:b> <e:g> .\n<e:a> <e:p> <e:b> <e:h> .\n<e:c> <e:p> <e:b> <e:h> .\n")
    kb = KnowledgeBase.create(tmp_path / "kb")
    config = tmp_path / "kb" / "kb.toml"
    config.write_text(config.read_text().replace('default_graph = "default"', 'default_graph = "union"'))
    kb = KnowledgeBase.open(tmp_path / "kb")
    kb.load(path, index=True)
    query = "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o }"
    assert kb.query(query).strategy == "oxigraph"
    assert str(kb.query(query)[0]["n"]) == str(kb.query(query, strategy="oxigraph")[0]["n"]) == "3"
    assert "not over columns: triples in several graphs of the union" in str(kb.explain(query))
    path.write_text("<e:c> <e:q> <e:b> <e:h> .\n")
    once = KnowledgeBase.create(tmp_path / "once")
    config = tmp_path / "once" / "kb.toml"
    config.write_text(config.read_text().replace('default_graph = "default"', 'default_graph = "union"'))
    once = KnowledgeBase.open(tmp_path / "once")
    once.load(path, index=True)
    plan = once.explain("SELECT (COUNT(*) AS ?n) { ?s <e:q> ?o }")
    assert "columns" in str(plan).splitlines()[0]  # compared by price
    assert "not over columns" not in str(plan)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("ASK { ?s ?p ?o } LIMIT 1", "ASK with modifiers"),
        ("ASK FROM <e:g> { ?s ?p ?o }", "FROM"),
        ("SELECT REDUCED ?s { ?s ?p ?o }", "REDUCED over rows that may be equal"),
        ("SELECT (COUNT(DISTINCT *) AS ?n) { ?s ?p [] }", "COUNT(DISTINCT *) over blank nodes or a path"),
        ("SELECT (GROUP_CONCAT(?s) AS ?n) { ?s ?p ?o }", "GROUP_CONCAT, whose order SPARQL leaves open"),
        ("SELECT ?s { GRAPH ?g { ?s ?p ?o } }", "GRAPH"),
        ("SELECT (RAND() AS ?x) { ?s ?p ?o }", "an expression that one engine has to evaluate"),
    ],
)
def test_explain_says_why_the_store_answers(indexed, query, reason):
    kb = KnowledgeBase.open(indexed)
    assert f"not over columns: {reason}" in str(kb.explain(query))
