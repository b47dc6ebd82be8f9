"""Knowledge bases whose vectors are in Elasticsearch, their text here or there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from between import Between, elastic_answer
from generated_rankings import TEXTS, case
from test_plans_are_equivalent import WordCounts, differences

from hybridkg.cli.diagnosis import BROKEN, OK, diagnose
from hybridkg.config.settings import Config, ElasticSettings
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import HybridkgError, TextServerError
from hybridkg.interfaces.progress import SILENT
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.interfaces.vector_index import Encoded
from hybridkg.kb import KnowledgeBase
from hybridkg.store.generations.folder import Folder
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.vector.elasticsearch import index as module
from hybridkg.vector.elasticsearch.kind import ElasticVectors
from hybridkg.vector.index.text_and_vectors import Ranked

pytestmark = pytest.mark.needs_elastic

FILMS = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"
NEAR = 'SELECT ?f ?s { ?f NEAR "space travel" AS ?s } RANK BY ?s LIMIT 5'
FUSED = 'SELECT ?f { ?f NEAR "space travel" AS ?v OPTIONAL { ?f MATCH "space" AS ?t } } RANK BY rrf(?v, ?t) LIMIT 5'
MATCH = 'SELECT ?f ?s { ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 5'
GRAPH = "SELECT ?f { ?f ?p ?o } LIMIT 3"


def configured(path, url, alias, **more):
    folder = Folder.open(path)
    own = replace(ElasticSettings(timeout=20), url=url, alias=alias)
    folder.configure(replace(folder.config, encoder="lsa", elasticsearch=own, **more))
    return path


def films(path, url, alias, **more):
    KnowledgeBase.create(path).close()
    configured(path, url, alias, **{"vectors": "elasticsearch", **more})
    with KnowledgeBase.open(path) as kb:
        kb.load(FILMS, index=True)
    return path


def rows(path, query):
    with KnowledgeBase.open(path) as kb:
        return [tuple(map(str, row.values())) for row in kb.query(query)]


@pytest.mark.parametrize("text", ["embedded", "elasticsearch"])
def test_near_finds_what_the_flat_index_finds(elastic, elastic_name, tmp_path, text):
    path = films(tmp_path / "kb", elastic.url, elastic_name, text=text)
    here = films(tmp_path / "here", elastic.url, f"{elastic_name}-here", vectors="flat", text="embedded")
    # Those whose cosines are 0 but for rounding have no order.
    sure = [query.replace('travel"', 'travel" WITHIN 0.01') for query in (NEAR, FUSED, MATCH)]
    for query in sure:
        assert [row[0] for row in rows(path, query)] == [row[0] for row in rows(here, query)]
    with KnowledgeBase.open(path) as kb:
        about = kb.stats()["vectors"]
        assert (about["index"], about["state"], about["entities"]) == ("elasticsearch", "ready", 31)
        assert "problem" not in about
        assert kb.prune() == []
        assert kb.query(NEAR).exact
        kb.index()
        assert kb.prune() == []  # the generation before is still there
        current = kb.stats()["vectors"]["name"]
    assert len(elastic.indexes(f"{elastic_name}-vectors")) == 2
    elastic.request("DELETE", f"/{current}")
    (check,) = [one for one in diagnose(path) if one.name == "vectors"]
    assert check.state == BROKEN


def test_a_knowledge_base_takes_its_vectors_along_when_it_is_removed(elastic, elastic_name, tmp_path):
    path = films(tmp_path / "kb", elastic.url, elastic_name, text="embedded")
    (check,) = [one for one in diagnose(path) if one.name == "vectors"]
    assert check.state == OK
    assert len(elastic.indexes(elastic_name)) == 1
    assert KnowledgeBase.remove(path) == []
    assert elastic.indexes(elastic_name) == []


def test_without_the_server_text_and_graph_go_on(elastic, elastic_name, tmp_path):
    path = films(tmp_path / "kb", elastic.url, elastic_name, text="embedded")
    before = rows(path, MATCH)
    configured(path, "http://127.0.0.1:1", elastic_name)
    assert rows(path, MATCH) == before
    assert len(rows(path, GRAPH)) == 3
    with KnowledgeBase.open(path) as kb:
        with pytest.raises(TextServerError, match="cannot reach Elasticsearch"):
            kb.query(NEAR)
        assert "cannot reach Elasticsearch" in kb.stats()["vectors"]["problem"]
    with pytest.raises(TextServerError, match="cannot reach") as e:
        KnowledgeBase.remove(path)
    assert "because the vectors are on the server of 'elasticsearch'" in e.value.hint


def test_a_build_that_fails_late_leaves_the_old_state_and_no_index(elastic, elastic_name, tmp_path, monkeypatch):
    path = films(tmp_path / "kb", elastic.url, elastic_name, text="embedded")
    good, before = elastic.indexes(elastic_name), rows(path, NEAR)

    def fails(*given, **more):
        raise OSError("no space left")

    monkeypatch.setattr("hybridkg.kb.write.index_generation.build_projection", fails)
    with KnowledgeBase.open(path) as kb, pytest.raises(HybridkgError):
        kb.index()
    assert elastic.indexes(elastic_name) == good
    assert rows(path, NEAR) == before


def test_a_load_that_the_server_refuses_leaves_the_old_state(elastic, elastic_name, tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.FIRST_WAIT", 0.01)
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.MAX_WAIT_S", 0.02)
    path = films(tmp_path / "kb", elastic.url, elastic_name, text="embedded")
    good, before = elastic.indexes(elastic_name), rows(path, NEAR)
    busy = elastic_answer(
        {"error": {"type": "es_rejected_execution_exception", "reason": "rejected"}, "status": 429}, 429
    )
    with Between(lambda method, target: busy if "_bulk" in target else None, to=elastic.url) as between:
        configured(path, between.url, elastic_name)
        with KnowledgeBase.open(path) as kb, pytest.raises(TextServerError) as e:
            kb.index()
    assert "is as it was before" in str(e.value)
    assert elastic.indexes(elastic_name) == good
    configured(path, elastic.url, elastic_name)
    assert rows(path, NEAR) == before


def test_every_strategy_gives_the_rows_of_the_reference(elastic, elastic_name, tmp_path, monkeypatch):
    """The text is here, the vectors are there, in an index of which the graph is not asked."""
    for name in ("nodes", "text", "vectors"):
        (tmp_path / name).mkdir()
    NodeTable.write(tmp_path / "nodes", TEXTS)
    nodes = NodeTable.open(tmp_path / "nodes")
    fields = (IndexedField("label"), IndexedField("note"))
    builder = EmbeddedTextBuilder(tmp_path / "text", fields, len(TEXTS))
    for node, texts in sorted(TEXTS.items(), key=lambda one: nodes.find(one[0])):
        for number, words in enumerate(texts):
            if words:
                builder.add(nodes.find(node), number, [(words, "")])
    builder.finish()
    text = EmbeddedTextIndex.open(tmp_path / "text", nodes.rank)
    encoder = WordCounts()
    ids = np.arange(len(TEXTS), dtype=np.uint32)
    vectors = encoder.passages([" ".join(TEXTS[node]) for node in nodes.nodes(ids)])
    own = ElasticVectors(tmp_path, Config(elasticsearch=ElasticSettings(elastic.url, elastic_name)))
    own.build(tmp_path / "vectors", encoder, "counts", [Encoded(ids, vectors)], SILENT, hashed=False)
    index = own.open(tmp_path / "vectors", nodes.find, nodes.rank)
    index._opened = encoder
    assert (index.is_remote, index.max_remote_scan) == (True, module.MAX_REMOTE_SCAN)
    ran: Counter[str] = Counter()
    for seed in range(12):
        try:
            for who, wrong in differences(case(seed), (Ranked(text, index), nodes), monkeypatch):
                ran[who.split(",")[0]] += 1
                assert not wrong, f"seed {seed}, {who}: {wrong}"
        except TextServerError:
            raise
        except HybridkgError:
            continue
    assert {"filter_first", "filtered_topk", "rank_first"} <= ran.keys()
