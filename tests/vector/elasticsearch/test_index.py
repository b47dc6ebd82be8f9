"""The index `elasticsearch` beside the flat one: the same relations, the laws of its graph, failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from between import Between, elastic_answer
from elastic_server import unique_name
from hypothesis import given, settings
from hypothesis import strategies as st
from made_vectors import D, find, rank
from made_vectors import drawn as clustered
from sampling import examples

from hybridkg.config.settings import Config, ElasticSettings
from hybridkg.errors import ConfigError, CorruptError, TextServerError, VectorQueryError
from hybridkg.interfaces.progress import SILENT
from hybridkg.interfaces.vector_index import Encoded, VectorQuery
from hybridkg.rdf.terms import NamedNode
from hybridkg.vector.elasticsearch import index as module
from hybridkg.vector.elasticsearch import recall
from hybridkg.vector.elasticsearch.kind import ElasticVectors, normalized
from hybridkg.vector.encoders.embedding_cache import hashes
from hybridkg.vector.index.flat import Flat, FlatIndex

pytestmark = pytest.mark.needs_elastic

N = 2000
DIGITS = 3e-7
"""Between the float32 sums of a server and the float64 sums here, with a score of 32 bits on the way."""


class Given:
    name = "given/1"

    def __init__(self, dimensions=D):
        self.dimensions = dimensions


def drawn(n, seed=0):
    """Vectors in clusters, one of them without a direction."""
    vectors = clustered(n, seed)
    if n > 20:
        vectors[15] = 0
    return vectors


def batches(vectors, *, hashed=False):
    for first in range(0, len(vectors), 700):
        ids = np.arange(2 * first, 2 * min(first + 700, len(vectors)), 2, dtype=np.uint32)
        texts = hashes([f"text {id}" for id in ids]) if hashed else None
        yield Encoded(ids, vectors[first : first + 700], texts)


def kind(folder, url, alias, **settings):
    own = replace(ElasticSettings(timeout=20), url=url, alias=alias, **settings)
    return ElasticVectors(folder, Config(elasticsearch=own))


def built(folder, url, alias, vectors, *, hashed=False, **settings):
    folder.mkdir(exist_ok=True)
    own = kind(folder, url, alias, **settings)
    own.build(folder, Given(vectors.shape[1]), "given", batches(vectors, hashed=hashed), SILENT, hashed=hashed)
    return own.open(folder, find, rank)


@pytest.fixture(scope="module")
def pair(elastic, tmp_path_factory):
    """(flat index, index on the server) of the same vectors; the second has two shards."""
    alias, folder = unique_name("vectors"), tmp_path_factory.mktemp("vectors")
    (folder / "flat").mkdir()
    Flat(folder, Config()).build(folder / "flat", Given(), "given", batches(drawn(N)), SILENT, hashed=False)
    yield FlatIndex(folder / "flat", find, rank), built(folder / "there", elastic.url, alias, drawn(N), shards=2)
    elastic.clear(alias)


QUERIES = [VectorQuery(vector=tuple(map(float, row))) for row in drawn(8, seed=5)] + [
    VectorQuery(entity=NamedNode(f"http://{id}")) for id in (0, 2, 3990)
]


def some(seed, share):
    draw = np.random.default_rng(seed)
    return np.sort(draw.choice(2 * N, max(1, int(2 * N * share)), replace=False)).astype(np.uint32)


@pytest.mark.parametrize("within", [None, -1.0, 0.3, 0.8])
def test_relations_are_those_of_the_flat_index_but_for_the_last_digits(pair, within):
    flat, index = pair
    assert index.size == flat.size == N - 1
    for query in QUERIES:
        query = replace(query, within=within)  # noqa: PLW2901
        wanted, about = flat.score_all(replace(query, within=None if within is None else within - DIGITS))
        ids, scores = index.score_all(query)
        assert set(ids.tolist()) <= set(wanted.tolist())
        assert set(wanted[about >= (within or -1) + DIGITS].tolist()) <= set(ids.tolist())
        assert ids.tolist() == sorted(ids.tolist())
        of = dict(zip(wanted.tolist(), about.tolist(), strict=True))
        assert scores == pytest.approx([of[id] for id in ids.tolist()], abs=DIGITS)
        assert scores.max(initial=0) <= 1


@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[8], replace(QUERIES[3], within=0.2)])
def test_whoever_asks_sees_the_same_scores(pair, query):
    _, index = pair
    ids, scores = index.score_all(query)
    order = np.lexsort((rank(ids), -scores))
    for k in (1, 3, 150, N + 5):
        found, own = index.topk(replace(query, exact=True), k)
        assert found.tolist() == ids[order][:k].tolist()
        assert own.tolist() == scores[order][:k].tolist()
    everyone = np.array([*range(2 * N), 7, 6, 10**6], np.uint32)
    of = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    given = index.score(query, everyone).tolist()
    assert [None if score != score else score for score in given] == [of.get(id) for id in everyone.tolist()]
    for share in (0.01, 0.3, 0.9):
        among = some(4, share)
        kept = np.isin(ids, among)
        known, about, error = index.estimates(query, among)
        assert (known.tolist(), about.tolist(), error) == (ids[kept].tolist(), scores[kept].tolist(), 0.0)
        mine = [id for id in ids[order].tolist() if id in set(among.tolist())][:20]
        found, own = index.topk(query, 20, among)
        assert found.tolist() == mine
        assert own.tolist() == [of[id] for id in mine]
    assert index.estimates(query)[1].tolist() == scores.tolist()


def test_pages_and_batches_change_nothing(pair, monkeypatch):
    _, index = pair
    whole = index.score_all(QUERIES[8]), index.topk(QUERIES[8], 500), index.score(QUERIES[8], some(2, 0.7))
    monkeypatch.setattr("hybridkg.remote.elasticsearch.pages.ROWS_AT_ONCE", 90)
    monkeypatch.setattr(module, "IDS_AT_ONCE", 150)
    monkeypatch.setattr("hybridkg.vector.elasticsearch.bodies.IDS_AT_ONCE", 40)
    monkeypatch.setattr(module, "MIN_PAGE", 5)
    parts = index.score_all(QUERIES[8]), index.topk(QUERIES[8], 500), index.score(QUERIES[8], some(2, 0.7))
    for one, other in zip((*whole[0], *whole[1], whole[2]), (*parts[0], *parts[1], parts[2]), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def eager(monkeypatch, pair):
    """The graph is asked whenever it may be."""
    monkeypatch.setattr(module, "SCRIPT_PER_CANDIDATE", 0)
    monkeypatch.setattr(module, "DEPTH", 10)
    monkeypatch.setattr(pair[1], "breadth", 24)
    return pair


@settings(deadline=None, max_examples=examples(5, 100))
@given(
    query=st.sampled_from(QUERIES),
    depths=st.lists(st.integers(1, 300), min_size=2, max_size=3),
    share=st.sampled_from([None, 0.9, 0.3, 0.02, 0.001]),
)
def test_lists_of_the_graph_begin_alike_and_have_true_scores(pair, query, depths, share):
    _, index = pair
    among = None if share is None else some(1, share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SCRIPT_PER_CANDIDATE", 0)
        patch.setattr(module, "DEPTH", 10)
        patch.setattr(index, "breadth", 24)
        lists = [index.topk(query, k, among) for k in sorted(depths)]
        assert not index.is_exact(query, 10, None if among is None else len(among))
    everyone = index.topk(replace(query, exact=True), 2 * N, among)[0]
    for k, (ids, scores) in zip(sorted(depths), lists, strict=True):
        assert ids.tolist() == lists[-1][0][: len(ids)].tolist()
        assert scores.tolist() == index.score(query, ids).tolist()
        assert ids.tolist() == [id for id in everyone.tolist() if id in set(ids.tolist())]
        assert len(ids) == min(k, len(everyone)) or k > len(everyone) // 2


def test_the_graph_finds_most_of_the_best_with_and_without_a_filter(eager):
    _, index = eager
    shares = []
    for query in QUERIES:
        for among in (None, some(1, 0.5), some(2, 0.05)):
            best = index.topk(replace(query, exact=True), 10, among)[0]
            shares.append(np.isin(best, index.topk(query, 10, among)[0]).mean())
    assert np.mean(shares) >= 0.9


def test_exact_within_and_few_candidates_are_told_and_answered_exactly(eager, monkeypatch):
    _, index = eager
    query = QUERIES[0]
    assert not index.is_exact(query, 10)
    assert index.is_exact(query, 0)
    assert index.is_exact(replace(query, exact=True), 10)
    assert index.is_exact(replace(query, within=0.1), 10)
    monkeypatch.setattr(module, "SCRIPT_PER_CANDIDATE", 5)
    assert not index.is_exact(query, 10)
    assert index.is_exact(query, 10, 100)
    assert index.comparisons(query, 100) > 0


def test_the_recall_of_the_graph_is_measured_when_it_is_built(elastic, elastic_name, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SCRIPT_PER_CANDIDATE", 0)
    monkeypatch.setattr(recall, "MIN_BREADTH", 16)
    own = kind(tmp_path, elastic.url, elastic_name)
    counts = own.build(tmp_path, Given(), "given", batches(drawn(600)), SILENT, hashed=False)
    assert min(counts["recall@10"], counts["recall@10 beside"]) >= 0.95
    about = own.open(tmp_path, find, rank).about()
    assert about["recall@10"] == counts["recall@10"]
    assert about["graph"].endswith("looked at")


def test_a_vector_comes_back_as_it_was_sent(pair):
    _, index = pair
    ids = np.array([3996, 0, 8, 0], np.uint32)
    sent = drawn(N)[ids // 2]
    assert index.vectors(ids).tobytes() == sent.tobytes()


def test_vectors_are_known_again_by_their_texts(elastic, elastic_name, tmp_path):
    vectors = drawn(1200)
    built(tmp_path, elastic.url, elastic_name, vectors, hashed=True)
    known = kind(tmp_path, elastic.url, elastic_name).known(tmp_path, "given/1")
    target = np.zeros((3, D), np.float32)
    wanted = np.array([True, True, False])
    assert known.fill(hashes(["text 2", "another", "text 4"]), target, wanted).tolist() == [True, False]
    assert target[0].tobytes() == vectors[1].tobytes()
    assert kind(tmp_path, elastic.url, elastic_name).known(tmp_path, "given/2") is None
    elastic.clear(elastic_name)
    assert kind(tmp_path, elastic.url, elastic_name).known(tmp_path, "given/1") is None


def test_no_vectors_at_all(elastic, elastic_name, tmp_path):
    index = built(tmp_path, elastic.url, elastic_name, drawn(0))
    query = QUERIES[0]
    assert (index.size, index.score_all(query)[0].tolist(), index.topk(query, 3)[0].tolist()) == (0, [], [])
    assert np.isnan(index.score(query, np.arange(3, dtype=np.uint32))).all()


def test_lengths_that_the_server_would_refuse_are_mended():
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1.0009]], np.float32)
    assert np.linalg.norm(normalized(vectors), axis=1) == pytest.approx(1, abs=1e-7)
    assert normalized(vectors)[:2].tobytes() == vectors[:2].tobytes()


# --- failures --------------------------------------------------------------------


def told(error, *said):
    for part in said:
        assert part in str(error.value), str(error.value)


def test_an_interrupted_or_refused_build_leaves_no_index(elastic, elastic_name, tmp_path):
    def interrupted():
        yield from batches(drawn(300))
        raise KeyboardInterrupt

    own = kind(tmp_path, elastic.url, elastic_name)
    with pytest.raises(KeyboardInterrupt):
        own.build(tmp_path, Given(), "given", interrupted(), SILENT, hashed=False)
    assert elastic.indexes(elastic_name) == []
    vectors = drawn(300)
    vectors[7, 3] = np.nan
    with pytest.raises(VectorQueryError, match="not finite"):
        own.build(tmp_path, Given(), "given", batches(vectors), SILENT, hashed=False)
    assert elastic.indexes(elastic_name) == []
    with pytest.raises(CorruptError):
        own.open(tmp_path, find, rank)


def test_what_will_never_live_is_removed(elastic, elastic_name, tmp_path):
    own = kind(tmp_path, elastic.url, elastic_name)
    own.build(tmp_path, Given(), "given", batches(drawn(50)), SILENT, hashed=False)
    assert len(elastic.indexes(elastic_name)) == 1
    own.discard()
    assert elastic.indexes(elastic_name) == []


def test_a_build_goes_on_when_an_overloaded_server_accepts_again(elastic, elastic_name, tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.FIRST_WAIT", 0.01)
    left = [2]

    def rule(method, path):
        if "_bulk" not in path or left[0] <= 0:
            return None
        left[0] -= 1
        error = {"type": "es_rejected_execution_exception", "reason": "rejected"}
        return elastic_answer({"error": error, "status": 429}, 429)

    with Between(rule, to=elastic.url) as between:
        assert built(tmp_path, between.url, elastic_name, drawn(300)).topk(QUERIES[0], 3)[0].shape == (3,)


def test_more_numbers_than_the_server_takes_are_refused_before_it_is_asked(tmp_path):
    with pytest.raises(ConfigError, match="Elasticsearch takes at most 4,096"):
        kind(tmp_path, "http://127.0.0.1:1", "x").build(tmp_path, Given(5000), "given", (), SILENT, hashed=False)


def test_an_absent_server_is_told(pair, tmp_path, monkeypatch):
    with pytest.raises(TextServerError) as e:
        kind(tmp_path, "http://127.0.0.1:1", "x").ready()
    told(e, "cannot reach Elasticsearch at http://127.0.0.1:1", "connection refused")
    index = kind(tmp_path, "http://127.0.0.1:1", "x").open(pair[1]._folder, find, rank)
    with pytest.raises(TextServerError) as e:
        index.topk(QUERIES[0], 3)
    told(e, "cannot reach Elasticsearch")
    assert index.about()["problem"].startswith("cannot reach Elasticsearch")


def test_a_server_that_is_too_old_or_refuses_is_told(tmp_path):
    old = elastic_answer({"version": {"number": "8.9.1", "build_flavor": "default"}, "tagline": "You Know, for Search"})
    with Between(lambda method, path: old) as between, pytest.raises(TextServerError) as e:
        kind(tmp_path, between.url, "x").ready()
    told(e, "is Elasticsearch 8.9.1; 8.16 or newer is needed")
    refused = elastic_answer({"error": {"type": "security_exception", "reason": "missing authentication"}}, 401)
    with Between(lambda method, path: refused) as between, pytest.raises(TextServerError) as e:
        kind(tmp_path, between.url, "x").ready()
    told(e, "does not accept anonymous requests", "HYBRIDKG_ELASTICSEARCH_API_KEY")


def test_an_index_that_is_gone_or_another_one_is_told(elastic, elastic_name, tmp_path):
    built(tmp_path, elastic.url, elastic_name, drawn(50))
    own = kind(tmp_path, elastic.url, elastic_name)
    (name,) = elastic.indexes(elastic_name)
    used = own.open(tmp_path, find, rank)
    assert len(used.topk(QUERIES[0], 3)[0]) == 3
    elastic.clear(elastic_name)
    with pytest.raises(TextServerError) as e:
        used.topk(QUERIES[0], 3)
    told(e, "the index is gone", "hybridkg index KB")
    with pytest.raises(TextServerError) as e:
        own.open(tmp_path, find, rank).topk(QUERIES[0], 3)
    told(e, f"has no index {name!r}")
    elastic.request("PUT", f"/{name}", {"mappings": {"properties": {"node": {"type": "long"}}}})
    with pytest.raises(TextServerError) as e:
        own.open(tmp_path, find, rank).score_all(QUERIES[0])
    told(e, "is not the one that was built")
    assert "is not the one that was built" in own.open(tmp_path, find, rank).about()["problem"]


@pytest.mark.parametrize("damage", ["{", "{}", '{"index": 3, "build": "x", "documents": 1, "shards": 1}'])
def test_a_damaged_header_is_told(pair, tmp_path, damage):
    for file in pair[1]._folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "elasticsearch.json").write_text(damage)
    with pytest.raises(CorruptError, match="names the index on the server"):
        kind(tmp_path, "http://127.0.0.1:1", "x").open(tmp_path, find, rank)
