"""Every strategy gives the rows of the reference over Elasticsearch, in few requests; costs are measured there."""

from __future__ import annotations

from collections import Counter

import pytest
from elastic_index import build_elastic
from elastic_server import unique_name
from generated_rankings import TEXTS, case
from served_kb import served
from test_plans_are_equivalent import differences, vectors_of

from hybridkg import KnowledgeBase
from hybridkg.config.settings import EncodingSettings
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import HybridkgError, UnsupportedQueryError
from hybridkg.interfaces.meter import PROBES, SCORED_POSTINGS
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.kb.write import calibrate
from hybridkg.planner.calibration.calibrated_costs import FILE, FIXED
from hybridkg.planner.cost_model import default_costs
from hybridkg.vector.index.text_and_vectors import Ranked

pytestmark = pytest.mark.needs_elastic

N = 1_500
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
RANKED = {
    "one MATCH": "SELECT ?a ?s { ?a MATCH 'red fish' AS ?s . ?a :in :c3 } RANK BY ?s LIMIT 5",
    "a filter by text": "SELECT ?a ?s { ?a MATCH 'red' AS ?s . ?a MATCH 'boat' . ?a :in :c3 } RANK BY ?s LIMIT 5",
    "two lists": "SELECT ?a { ?a MATCH 'red' AS ?s . ?a MATCH 'sea' AS ?t . ?a :in :c1 } RANK BY ?s + ?t LIMIT 5",
    "two variables": "SELECT * { ?a MATCH 'red' AS ?s . ?b MATCH 'sea' AS ?t . ?a :to ?b } RANK BY ?s + ?t LIMIT 5",
    "nothing but text": "SELECT ?a { ?a MATCH 'red fish boat' AS ?s } RANK BY ?s LIMIT 5",
    "all rows": "SELECT ?a ?s { ?a MATCH 'fish' AS ?s . ?a :in :c5 } RANK BY ?s",
}
FEW, MANY = 4, 40
"""Requests for one query, with the counts that the planner asks for; and by strategies that look deeper and deeper."""

LOOKING = ("rank_first", "threshold", "rank_join")


@pytest.fixture(scope="module")
def kb(elastic, tmp_path_factory):
    """An indexed knowledge base, measured as one that is large enough for it."""
    name, folder = unique_name("plans"), tmp_path_factory.mktemp("plans")
    words = ("red", "fish", "boat", "sea", "old", "man")
    lines = []
    for i in range(N):
        text = " ".join(words[j] for j in range(6) if i % (j + 2) == 0) + f" n{i} m{i // 700}"
        lines.append(f'<http://e/{i}> <{LABEL}> "{text}" ; <http://e/in> <http://e/c{i % 7}> .')
        lines.append(f"<http://e/{i}> <http://e/to> <http://e/{(i * 31) % N}> .")
    (folder / "data.ttl").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(FIXED, raising=False)
        patch.setattr(calibrate, "MIN_TRIPLES", 10)
        with KnowledgeBase.open(served(folder / "kb", elastic.url, name)) as opened:
            opened.load(folder / "data.ttl", index=True)
            yield opened
    elastic.clear(name)


@pytest.fixture
def requests(kb, monkeypatch):
    """The paths that are asked for, as they are asked."""
    transport = kb._snapshot.text._server.client.transport
    paths, real = [], transport.perform_request

    def perform_request(method, target, **more):
        paths.append(target.partition("?")[0])
        return real(method, target, **more)

    monkeypatch.setattr(transport, "perform_request", perform_request)
    return paths


def asked(text: str) -> str:
    return "PREFIX : <http://e/> " + text


def test_the_unit_costs_of_the_server_are_measured_when_it_has_been_indexed(kb):
    units = {unit["name"]: unit for unit in kb.cost()["unit_costs"]}
    assert (kb._snapshot.generation.path.parent / FILE).is_file()
    # The prices of single rows are slopes, which a busy machine may hide in so small an index.
    for name in ("us_per_text_question", "us_per_text_scoring"):
        assert units[name]["origin"] == "calibrated"
        assert units[name]["us"] > getattr(default_costs("embedded"), name)


@pytest.mark.parametrize("name", RANKED)
def test_every_strategy_gives_the_rows_of_the_reference_with_few_requests(kb, requests, name):
    want, ran = [tuple(row) for row in kb.query(asked(RANKED[name]), strategy="reference")], set()
    assert want
    for strategy in (None, *STRATEGIES.names()):
        requests.clear()
        try:
            found = kb.query(asked(RANKED[name]), strategy=strategy)
        except UnsupportedQueryError:
            continue
        ran.add(strategy)
        assert [tuple(row) for row in found] == want, strategy
        assert len(requests) <= (MANY if found.strategy in LOOKING else FEW), (strategy, Counter(requests))
    assert len(ran) >= 3


def test_every_strategy_gives_the_rows_of_the_reference_to_any_query(elastic, elastic_name, tmp_path, monkeypatch):
    (tmp_path / "nodes").mkdir()
    (tmp_path / "text").mkdir()
    NodeTable.write(tmp_path / "nodes", TEXTS)
    nodes = NodeTable.open(tmp_path / "nodes")
    fields = (IndexedField("label"), IndexedField("note"))
    documents = {
        nodes.find(node): {f.name: [words] for f, words in zip(fields, texts, strict=True) if words}
        for node, texts in TEXTS.items()
    }
    index = build_elastic(elastic.url, elastic_name, tmp_path / "text", documents, fields, len(TEXTS), nodes.rank)
    ranked = Ranked(index, vectors_of(tmp_path / "vectors", nodes, EncodingSettings()))
    ran: Counter[str] = Counter()
    for seed in range(12):
        try:
            for who, wrong in differences(case(seed), (ranked, nodes), monkeypatch):
                ran[who.split(",")[0]] += 1
                assert not wrong, f"seed {seed}, {who}: {wrong}"
        except HybridkgError:
            continue
    assert {"filter_first", "filtered_topk", "rank_first", "bind_join"} <= ran.keys()


def test_candidates_that_match_are_counted_as_rows_of_the_server(kb):
    work = kb.explain(asked(RANKED["one MATCH"]), strategy="filter_first", analyze=True).to_json()["work"]
    assert work[PROBES] >= work[SCORED_POSTINGS] > 0
