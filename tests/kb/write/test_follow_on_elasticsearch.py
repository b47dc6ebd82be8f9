"""Text and vectors on Elasticsearch follow a commit, or stay behind and the report says why."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import toy_encoder
from click.testing import CliRunner
from rebuilt import answer, assert_equals_rebuilt
from served_kb import LABEL, moved_to, served

from hybridkg.cli import cli
from hybridkg.config.settings import ElasticSettings
from hybridkg.errors import TextServerError, UnsupportedQueryError
from hybridkg.kb import KnowledgeBase
from hybridkg.remote.elasticsearch.new_index import ClonedIndex
from hybridkg.store.generations.folder import Folder

pytestmark = pytest.mark.needs_elastic

ABSENT = "http://127.0.0.1:1"
PROFILE = """@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://e/> .
<> a hk:Profile ; hk:filters ( :year ) ; hk:fields (
    [ hk:name "title" ; hk:path rdfs:label ; hk:weight 2 ] [ hk:name "plot" ; hk:path :plot ] [ hk:name "review" ] ) .
"""
P = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
NEW = P + 'INSERT DATA { :new rdfs:label "a blue whale" }'
WHALE = 'SELECT ?x ?s { ?x MATCH "whale fish" AS ?s } RANK BY ?s'

POOL = (
    WHALE,
    'SELECT ?x ?s { ?x MATCH "fish" ON (title) USING bm25 AS ?s } RANK BY ?s LIMIT 5',
    'SELECT ?x ?s { ?x MATCH "fish sea" USING combined_fields AS ?s } RANK BY ?s LIMIT 5',
    'SELECT ?x ?s { ?x MATCH "fish whale sea" USING lm AS ?s } RANK BY ?s LIMIT 5',
    r'SELECT ?x ?s { ?x MATCH "\"blue whale\"" AS ?s } RANK BY ?s',
    'SELECT ?x ?s { ?x MATCH "whal* deeep~1" AS ?s } RANK BY ?s',
    'SELECT ?x ?s ?y { ?x MATCH "fish" AS ?s . ?x :year ?y FILTER(?y >= 2030) } RANK BY ?s',
    'SELECT ?x ?s { ?x NEAR "blue whale" AS ?s } RANK BY ?s LIMIT 5',
    "SELECT ?x ?s { ?x NEAR :n7 AS ?s } RANK BY ?s LIMIT 5",
)
"""Rankings by hybridkg and by the server, phrases, expansions, pushed down conditions, vectors."""

LOCAL = ("text/text.json", "text/numbers*", "vectors/vectors.json", "vectors/elasticsearch.json", "vectors/numbers*")
"""Files with the name of an index on the server, or with the numbers of its documents."""


def made(folder: Path, url: str, alias: str) -> Path:
    """A knowledge base of 40 items whose text and vectors are on the server."""
    lines = [f'<http://e/n{i}> <{LABEL}> "fish {i} of the sea" ; <http://e/year> {2000 + i} .' for i in range(40)]
    (folder / "g.ttl").write_text("\n".join(lines))
    (folder / "profile.ttl").write_text(PROFILE)
    KnowledgeBase.create(folder / "kb").close()
    here = Folder.open(folder / "kb")
    own = replace(ElasticSettings(timeout=20), url=url, alias=alias)
    here.configure(replace(here.config, text="elasticsearch", vectors="elasticsearch", elasticsearch=own))
    with KnowledgeBase.open(folder / "kb") as kb:
        kb.load(folder / "g.ttl", profile=folder / "profile.ttl", encoder=toy_encoder.NAME, index=True)
    return folder / "kb"


@pytest.fixture
def kb(tmp_path, elastic, elastic_name, monkeypatch):
    toy_encoder.register(monkeypatch)
    with KnowledgeBase.open(made(tmp_path, elastic.url, elastic_name)) as kb:
        yield kb


@pytest.fixture
def impatient(monkeypatch):
    """Waits little before the next try."""
    monkeypatch.setattr("hybridkg.remote.elasticsearch.server.WAITS", (0.01,))


def found(kb: KnowledgeBase, query: str = WHALE) -> list[str]:
    return [str(row["x"]) for row in kb.query(P + query)]


def indexes(kb: KnowledgeBase) -> list[str]:
    """Names of the two indexes of the open generation."""
    stats = kb.stats()
    return sorted([stats["text"]["index"], stats["vectors"]["name"]])


def test_every_kind_of_change_is_followed_and_a_reader_of_before_keeps_its_answers(kb, tmp_path, elastic, elastic_name):
    with KnowledgeBase.open(tmp_path / "kb") as reader:
        before, first = [answer(reader, query) for query in POOL], indexes(reader)
        report = kb.update(
            P
            + 'INSERT DATA { :aaa rdfs:label "a blue whale" . :zzz rdfs:label "the deep blue sea" . :n3 :plot "a red" }'
        )
        assert (report.rebuilt, report.is_behind, report.not_followed) == ("", False, "")
        with kb.transaction() as t:
            t.update("DELETE WHERE { <http://e/n5> ?p ?o } ; DELETE WHERE { ?x <http://e/plot> ?o }")
            t.update(P + "DELETE { ?x :year ?y } INSERT { ?x :year 2050 } WHERE { ?x :year ?y FILTER(?y < 2004) }")
            t.text("http://e/n7", review="no whale at all")
        assert (t.report.documents, t.report.is_behind) == (1, False)
        names = indexes(kb)
        assert kb.update(P + "INSERT DATA { GRAPH :g { :n1 :next :n2 } }").added == 1
        assert indexes(kb) == names  # nothing of them has changed
        assert [answer(reader, query) for query in POOL] == before
        assert set(first) <= set(elastic.indexes(elastic_name))
    (tmp_path / "new.ttl").write_text(f'<http://e/n0a> <{LABEL}> "whale" .')
    assert kb.load(tmp_path / "new.ttl").has_followed
    assert set(elastic.indexes(elastic_name)) == {*names, *indexes(kb)}  # nobody reads the first ones any more
    assert elastic.request("GET", f"/_alias/{elastic_name}")[1].keys() <= set(indexes(kb))
    assert_equals_rebuilt(kb, tmp_path / "fresh", leave_out=LOCAL, pool=POOL)
    whales = answer(kb, WHALE)
    kb.migrate("embedded")
    assert answer(kb, WHALE) == whales


def test_a_commit_that_changes_no_text_asks_no_server(tmp_path, elastic, elastic_name):
    path = served(tmp_path / "kb", elastic.url, elastic_name)
    with KnowledgeBase.open(path) as kb:
        kb.update(NEW)
    moved_to(path, ABSENT, elastic_name)
    with KnowledgeBase.open(path) as kb:
        report = kb.update(P + "INSERT DATA { GRAPH :g { :new :next :other } }")
        assert (report.added, report.is_behind, report.not_followed) == (1, False, "")
    moved_to(path, elastic.url, elastic_name)
    with KnowledgeBase.open(path) as kb:
        assert found(kb) == ["http://e/new"]


def test_what_a_transaction_has_changed_is_not_ranked_before_its_commit(kb):
    with kb.transaction() as t:
        t.update(NEW)
        with pytest.raises(UnsupportedQueryError, match="are on a server"):
            t.query(WHALE)
    assert not t.report.is_behind


def behind(kb: KnowledgeBase, names: list[str], elastic, elastic_name) -> str:
    """The reason why an update has stayed behind, after which everything is as before but the graph."""
    report = kb.update(NEW)
    assert (report.added, report.index, report.is_behind) == (1, None, True)
    assert answer(kb, "ASK { <http://e/new> ?p ?o }") is True
    assert sorted(elastic.indexes(elastic_name)) == names
    assert found(kb, WHALE.replace("whale ", ""))[:1] == ["http://e/n0"]
    assert "text" in kb.query(P + WHALE).stale_indexes
    return report.not_followed


def test_a_server_that_does_not_answer_leaves_the_indexes_behind(kb, tmp_path, elastic, elastic_name, impatient):
    names = indexes(kb)
    moved_to(tmp_path / "kb", ABSENT, elastic_name)
    with KnowledgeBase.open(tmp_path / "kb") as far:
        report = far.update(NEW)
        assert (report.added, report.is_behind) == (1, True)
        assert "connection refused" in report.not_followed
        with pytest.raises(TextServerError, match="connection refused"):
            far.update(NEW.replace(":new", ":other"), index=True)
        assert answer(far, "ASK { <http://e/other> ?p ?o }") is False
    done = CliRunner().invoke(cli, ["update", str(tmp_path / "kb"), NEW.replace(":new", ":newest")])
    assert done.exit_code == 0
    assert f"hybridkg index {tmp_path / 'kb'}" in done.stderr
    assert sorted(elastic.indexes(elastic_name)) == names


def test_deleted_documents_that_stay_in_the_statistics_are_noticed(kb, elastic, elastic_name, monkeypatch):
    monkeypatch.setattr(ClonedIndex, "_merge", lambda self, **options: None)
    names = indexes(kb)
    report = kb.update(P + 'DELETE WHERE { :n5 rdfs:label ?o } ; INSERT DATA { :n6 rdfs:label "the same fish" }')
    assert report.is_behind
    assert "the server counts" in report.not_followed
    assert sorted(elastic.indexes(elastic_name)) == names


@pytest.mark.parametrize("part", ["text", "vectors"])
def test_a_failure_in_the_middle_leaves_the_indexes_behind_and_no_other_one(
    kb, elastic, elastic_name, monkeypatch, part
):
    finish = ClonedIndex.finish

    def fail(self, documents, **options):
        if ("-vectors-" in self.name) == (part == "vectors"):
            raise TextServerError("the server has no more space")
        finish(self, documents, **options)

    with monkeypatch.context() as patch:
        patch.setattr(ClonedIndex, "finish", fail)
        assert behind(kb, indexes(kb), elastic, elastic_name) == "the server has no more space"
    assert kb.index().entities == 41
    assert found(kb)[0] == "http://e/new"


@contextmanager
def set_up(path: Path, **changes):
    folder = Folder.open(path)
    config = folder.config
    folder.configure(replace(config, elasticsearch=replace(config.elasticsearch, **changes)))
    yield
    folder.configure(config)


def test_indexes_that_cannot_follow_stay_behind_with_a_reason(kb, tmp_path, elastic, elastic_name):
    names = indexes(kb)
    with set_up(tmp_path / "kb", k1=1.5):
        assert behind(kb, names, elastic, elastic_name) == "the settings of the index on the server have changed"


def test_indexes_that_are_to_follow_with_index_only_stay_behind_and_no_server_is_asked(kb, tmp_path, elastic_name):
    with set_up(tmp_path / "kb", url=ABSENT, follow="index"), KnowledgeBase.open(tmp_path / "kb") as far:
        report = far.update(NEW)
        assert (report.added, report.is_behind, report.not_followed) == (1, True, "")


KILLED = """
import os, sys
import pytest, toy_encoder
from hybridkg import KnowledgeBase
from hybridkg.remote.elasticsearch.new_index import ClonedIndex
toy_encoder.register(pytest.MonkeyPatch())
ClonedIndex.finish = lambda self, documents, **options: os._exit(9)
KnowledgeBase.open(sys.argv[1]).update(sys.argv[2])
"""


def test_a_process_that_dies_before_the_clone_is_named_leaves_the_old_state_and_an_index_that_prune_finds(
    kb, tmp_path, elastic, elastic_name
):
    names, before, generation = indexes(kb), [answer(kb, query) for query in POOL], kb._snapshot.generation.name
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", KILLED, str(tmp_path / "kb"), NEW]
    done = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    with KnowledgeBase.open(tmp_path / "kb") as after:
        assert after._snapshot.generation.name == generation
        assert [answer(after, query) for query in POOL] == before
        (left,) = after.prune()
        assert set(elastic.indexes(elastic_name)) == {*names, left.name}
        assert not after.update(NEW).is_behind
        assert found(after)[0] == "http://e/new"
        assert left.name not in elastic.indexes(elastic_name)
