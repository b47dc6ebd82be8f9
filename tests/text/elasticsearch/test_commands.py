"""parity, prune, remove, stats and doctor with a real server."""

from __future__ import annotations

import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg.cli import cli
from hybridkg.cli.diagnosis import BROKEN, OK, diagnose
from hybridkg.config.settings import ElasticSettings
from hybridkg.errors import LockedError, StorageError, TextServerError
from hybridkg.evaluation.engine_comparison import compare_engines
from hybridkg.kb import KnowledgeBase
from hybridkg.store.generations.folder import Folder

pytestmark = pytest.mark.needs_elastic

FILMS = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"
QUERIES = {
    "best": 'SELECT ?film ?s { ?film MATCH "space war" AS ?s } RANK BY ?s LIMIT 5',
    "all": 'SELECT ?film ?s ?n { ?film MATCH ALL "film" ON (label^3, description b=0.4) AS ?s SNIPPET ?n } RANK BY ?s',
    "graph": 'SELECT ?film ?d { ?film MATCH "space" AS ?s . ?film ?p ?d } RANK BY ?s',
}


def run(*arguments, text=None):
    result = CliRunner().invoke(cli, [str(a) for a in arguments], input=text, catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


def made(path, url, alias):
    """A knowledge base whose index will be on a server."""
    KnowledgeBase.create(path).close()
    folder = Folder.open(path)
    settings = ElasticSettings(url=url, alias=alias, timeout=10)
    folder.configure(replace(folder.config, text="elasticsearch", elasticsearch=settings))
    return path


@pytest.fixture
def path(tmp_path, elastic, elastic_name):
    path = made(tmp_path / "films.kb", elastic.url, elastic_name)
    with KnowledgeBase.open(path) as kb:
        kb.load(FILMS, index=True)
    return path


@pytest.mark.parametrize("model", [None, "bm25"])
def test_both_engines_answer_alike_whichever_has_the_live_index(path, elastic, elastic_name, tmp_path, model):
    live = elastic.indexes(elastic_name)
    queries = {name: text for name, text in QUERIES.items() if model is None or "^" not in text}
    with KnowledgeBase.open(path) as kb:
        report = compare_engines(kb, queries, model=model)
    assert report.engines == ("elasticsearch", "embedded")
    assert report.count("same") == len(queries)
    assert report.largest_difference < 1e-6
    assert elastic.indexes(elastic_name) == live

    folder = Folder.open(path)
    folder.configure(replace(folder.config, text="embedded"))
    with KnowledgeBase.open(path) as kb:
        kb.index()
        again = compare_engines(kb, queries, model=model)
    assert again.engines == ("embedded", "elasticsearch")
    assert [query.rows for query in again.queries] == [query.rows for query in report.queries]
    assert again.count("same") == len(queries)
    assert elastic.indexes(elastic_name) == live


def test_an_interrupted_comparison_leaves_no_index(path, elastic, elastic_name, monkeypatch):
    def interrupted(self, text, **options):
        raise KeyboardInterrupt

    folder = Folder.open(path)
    folder.configure(replace(folder.config, text="embedded"))
    with KnowledgeBase.open(path) as kb:
        kb.index()
        live = elastic.indexes(elastic_name)
        monkeypatch.setattr(KnowledgeBase, "query", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compare_engines(kb, QUERIES)
    assert elastic.indexes(elastic_name) == live


def test_prune_removes_what_no_state_needs_and_nothing_else(path, elastic, elastic_name):
    with KnowledgeBase.open(path) as kb:
        kb.index()
        kb.index()
    assert len(elastic.indexes(elastic_name)) == 3
    elastic.request("PUT", f"/{elastic_name}-foreign")
    result = run("prune", path, "--yes")
    assert result.exit_code == 0, result.output
    assert "removed 1 index" in result.stderr
    left = elastic.indexes(elastic_name)
    assert len(left) == 3
    assert f"{elastic_name}-foreign" in left
    with KnowledgeBase.open(path) as kb:
        assert kb.prune() == []
        assert kb.query(QUERIES["best"]).returned


def test_remove_leaves_no_index(path, elastic, elastic_name):
    assert KnowledgeBase.remove(path) == []
    assert elastic.indexes(elastic_name) == []
    assert not path.exists()


def test_a_copied_knowledge_base_leaves_the_index_to_the_original(path, elastic, elastic_name):
    copied = shutil.copytree(path, path.with_name("copied.kb"))
    (used,) = elastic.indexes(elastic_name)
    assert KnowledgeBase.remove(copied) == [f"elasticsearch index {used}"]
    assert elastic.indexes(elastic_name) == [used]


def test_a_renamed_knowledge_base_still_owns_its_index(path, elastic, elastic_name):
    renamed = path.rename(path.with_name("renamed.kb"))
    assert KnowledgeBase.remove(renamed) == []
    assert elastic.indexes(elastic_name) == []


def test_remove_refuses_while_the_server_is_away(path, monkeypatch):
    monkeypatch.setattr("hybridkg.remote.elasticsearch.server.WAITS", ())
    folder = Folder.open(path)
    settings = folder.config.elasticsearch
    folder.configure(replace(folder.config, elasticsearch=replace(settings, url="http://127.0.0.1:1")))
    with pytest.raises(TextServerError) as e:
        KnowledgeBase.remove(path)
    assert "nothing was deleted" in e.value.hint
    result = run("stats", path)
    assert result.exit_code == 0
    assert "problem: cannot reach Elasticsearch at http://127.0.0.1:1" in result.stdout
    (check,) = [check for check in diagnose(path) if check.name == "text server"]
    assert check.state == BROKEN
    assert path.exists()


def test_stats_and_doctor_tell_of_the_server(path, elastic):
    lines = run("stats", path).stdout.splitlines()
    at = lines.index("text engine: elasticsearch")
    names = [line.split(":")[0].strip() for line in lines[at + 1 :] if line.startswith("  ")]
    assert {"index", "alias", "url", "documents", "bytes", "health"} <= set(names)
    assert json.loads(run("stats", path, "--format", "json").stdout)["text"]["url"] == elastic.url
    (check,) = [check for check in diagnose(path) if check.name == "text server"]
    assert check.state == OK
    assert elastic.url in check.detail


def test_who_has_gone_back_to_the_embedded_index_still_finds_the_old_ones(path, elastic, elastic_name):
    (old,) = elastic.indexes(elastic_name)
    folder = Folder.open(path)
    folder.configure(replace(folder.config, text="embedded"))
    with KnowledgeBase.open(path) as kb:
        for _ in range(3):
            kb.index()
        assert [one.name for one in kb.prune()] == [old]
    assert KnowledgeBase.remove(path) == []
    assert elastic.indexes(elastic_name) == []


def test_a_generation_that_cannot_be_completed_leaves_no_index(path, elastic, elastic_name, monkeypatch):
    before = elastic.indexes(elastic_name)

    def full(building):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr("hybridkg.store.generations.next_generation.Building.finish", full)
    with KnowledgeBase.open(path) as kb:
        with pytest.raises(StorageError):
            kb.index()
        assert elastic.indexes(elastic_name) == before
        assert len(kb.query(QUERIES["best"])) == 5


def test_nobody_prunes_or_writes_while_engines_are_compared(path):
    with Folder.open(path).locked(), KnowledgeBase.open(path) as kb, pytest.raises(LockedError):
        compare_engines(kb, QUERIES)
