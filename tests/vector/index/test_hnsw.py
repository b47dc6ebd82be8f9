"""The index `hnsw`: what it promises where it overlooks nobody, where it does, and where its graph is of no use."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_vectors import D, drawn, find, rank
from sampling import examples

from hybridkg.config.settings import Config
from hybridkg.errors import CorruptError, MissingExtraError, StorageError, VectorQueryError
from hybridkg.interfaces.progress import SILENT
from hybridkg.interfaces.vector_index import Encoded, VectorQuery
from hybridkg.rdf.terms import NamedNode
from hybridkg.vector.index import hnsw, hnsw_graph
from hybridkg.vector.index.flat import FlatIndex
from hybridkg.vector.index.hnsw import Hnsw, HnswIndex
from hybridkg.vector.index.hnsw_graph import GraphHeader, HnswGraph, read_header

pytest.importorskip("faiss")

N = 3000


class Given:
    name = "given/1"
    dimensions = D


def batches(vectors):
    for first in range(0, len(vectors), 1000):
        ids = np.arange(2 * first, 2 * min(first + 1000, len(vectors)), 2, dtype=np.uint32)
        yield Encoded(ids, vectors[first : first + 1000])


def built(folder, vectors, seed=0):
    folder.mkdir(exist_ok=True)
    return Hnsw(folder, Config(), seed).build(folder, Given(), "given", batches(vectors), SILENT, hashed=False)


@pytest.fixture(scope="module", autouse=True)
def small():
    """Graphs for few vectors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hnsw, "VISIT_COST", 1)
        patch.setattr(hnsw, "DEPTH", 10)
        patch.setattr(hnsw, "MIN_BREADTH", 16)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hnsw")
    counts = built(folder, drawn(N))
    assert counts["entities"] == N
    assert min(counts["recall@10"], counts["recall@10 beside"]) >= 0.99
    assert 0 < counts["recall@10 between"] <= 1
    return folder


@pytest.fixture
def index(folder):
    return HnswIndex(folder, find, rank)


@pytest.fixture(scope="module")
def flat(folder):
    return FlatIndex(folder, find, rank)


QUERIES = [VectorQuery(vector=tuple(map(float, row))) for row in drawn(12, seed=5)] + [
    VectorQuery(entity=NamedNode(f"http://{id}")) for id in (0, 2, 5990, 4000)
]


def some(seed, share):
    draw = np.random.default_rng(seed)
    return np.sort(draw.choice(2 * N, int(2 * N * share), replace=False)).astype(np.uint32)


@settings(deadline=None, max_examples=examples(5, 120))
@given(query=st.sampled_from(QUERIES), k=st.integers(1, 300), share=st.sampled_from([None, 0.9, 0.4, 0.1, 0.001]))
def test_a_search_that_looks_at_everyone_is_the_exact_one(folder, flat, query, k, share):
    index = HnswIndex(folder, find, rank)
    index._header = GraphHeader(4 * N, (1.0, 1.0, 1.0), 1, 0)
    among = None if share is None else some(1, share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hnsw, "VISIT_COST", 0)
        ids, scores = index.topk(query, k, among)
        assert not index.is_exact(query, k, None if among is None else len(among)) or share == 0.001
    exact = flat.topk(query, k, among)
    assert ids.tolist() == exact[0].tolist()
    assert scores.tolist() == exact[1].tolist()


@settings(deadline=None, max_examples=examples(5, 120))
@given(
    query=st.sampled_from(QUERIES),
    depths=st.lists(st.integers(1, 400), min_size=2, max_size=4),
    share=st.sampled_from([None, 0.9, 0.4, 0.2, 0.001]),
    breadth=st.integers(8, 40),
)
def test_lists_begin_alike_and_have_true_scores(folder, flat, query, depths, share, breadth):
    index = HnswIndex(folder, find, rank)
    index._header = GraphHeader(breadth, (1.0, 1.0, 1.0), 1, 0)
    among = None if share is None else some(1, share)
    lists = [index.topk(query, k, among) for k in sorted(depths)]
    everyone = flat.topk(query, 2 * N, among)[0]
    for k, (ids, scores) in zip(sorted(depths), lists, strict=True):
        assert ids.tolist() == lists[-1][0][: len(ids)].tolist()
        assert scores.tolist() == flat.score(query, ids).tolist()
        assert ids.tolist() == [id for id in everyone.tolist() if id in set(ids.tolist())]
        missed = len(everyone) - len(index.topk(query, 2 * N, among)[0])
        assert min(k, len(everyone) - missed) <= len(ids) <= k


def test_the_best_are_found(index, flat):
    """As many as was measured, but for three standard errors of another sample."""
    rows = drawn(200) + 0.2 * np.random.default_rng(5).standard_normal((200, D))
    queries = [VectorQuery(vector=tuple(map(float, row))) for row in rows]
    hits = [np.isin(flat.topk(query, 10)[0], index.topk(query, 10)[0]).mean() for query in queries]
    assert np.mean(hits) >= 0.99 - 3 * 0.007
    assert not index.is_exact(QUERIES[0], 10)


@pytest.mark.parametrize("more", [{"exact": True}, {"within": 0.2}])
def test_exact_and_within_are_exact(index, flat, more):
    for query in QUERIES:
        asked = VectorQuery(vector=query.vector, entity=query.entity, **more)
        assert index.is_exact(asked, 10)
        assert index.topk(asked, 10)[0].tolist() == flat.topk(asked, 10)[0].tolist()


def test_few_candidates_are_compared_one_by_one(index, flat, monkeypatch):
    monkeypatch.setattr(HnswGraph, "near", lambda *a: pytest.fail("the graph was asked"))
    among = some(3, hnsw.MIN_SHARE * 0.9 / 2)
    assert index.is_exact(QUERIES[0], 10, len(among))
    assert index.topk(QUERIES[0], 10, among)[0].tolist() == flat.topk(QUERIES[0], 10, among)[0].tolist()


def test_a_filter_against_the_query_is_answered_exactly(index, flat):
    """None of the nearest passes, but many others do."""
    for query in QUERIES[:5]:
        relation, scores = flat.score_all(query)
        far = np.sort(relation[np.argsort(-scores)[N // 2 :]])
        assert not index.is_exact(query, 10, len(far))
        assert index.topk(query, 10, far)[0].tolist() == flat.topk(query, 10, far)[0].tolist()


def test_an_index_that_is_as_quick_without_has_no_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(hnsw, "VISIT_COST", 1000)
    assert "graph" not in built(tmp_path, drawn(500))
    assert not (tmp_path / hnsw_graph.FILE).exists()
    index = HnswIndex(tmp_path, find, rank)
    assert index.about()["graph"] == "none: an exact search is as fast"
    assert index.is_exact(QUERIES[0], 10)


def test_a_graph_that_must_look_at_nearly_all_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(hnsw, "WANTED_RECALL", 1.1)
    assert "graph" not in built(tmp_path, drawn(500))
    assert not (tmp_path / hnsw_graph.FILE).exists()


def test_the_same_input_gives_the_same_bytes(folder, tmp_path):
    import faiss

    threads = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(3 - min(threads, 2))
        built(tmp_path, drawn(N))
    finally:
        faiss.omp_set_num_threads(threads)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        file.name: file.read_bytes() for file in folder.iterdir()
    }
    built(tmp_path, drawn(N), seed=1)
    assert (tmp_path / hnsw_graph.FILE).read_bytes() != (folder / hnsw_graph.FILE).read_bytes()


def damaged(folder, tmp_path, how):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    how(tmp_path / hnsw_graph.FILE, tmp_path / hnsw_graph.LAYOUT.header)


def flip(file, header):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)


def other(file, header):
    import faiss

    faiss.write_index(faiss.IndexFlatIP(24), str(file))
    content = file.read_bytes()
    fields = {"bytes": len(content), "sha256": hnsw_graph.hashlib.sha256(content).hexdigest()}
    header.write_text(json.dumps(json.loads(header.read_text()) | fields))


def no_index(file, header):
    file.write_bytes(b"garbage")
    fields = {"bytes": 7, "sha256": hnsw_graph.hashlib.sha256(b"garbage").hexdigest()}
    header.write_text(json.dumps(json.loads(header.read_text()) | fields))


@pytest.mark.parametrize(
    "how",
    [
        flip,
        other,
        no_index,
        lambda file, header: file.unlink(),
        lambda file, header: file.write_bytes(file.read_bytes()[:-1]),
        lambda file, header: header.write_text("{"),
        lambda file, header: header.write_text(json.dumps(json.loads(header.read_text()) | {"recall": "high"})),
        lambda file, header: header.write_text(json.dumps(json.loads(header.read_text()) | {"breadth": 0})),
    ],
)
def test_a_damaged_graph_loses_nothing(folder, tmp_path, flat, how, caplog):
    damaged(folder, tmp_path, how)
    index = HnswIndex(tmp_path, find, rank)
    assert index.topk(QUERIES[0], 10)[0].tolist() == flat.topk(QUERIES[0], 10)[0].tolist()
    assert index.is_exact(QUERIES[0], 10)
    assert index.about()["problem"].startswith("the graph is not used: ")
    assert "every vector is compared" in caplog.text


def test_without_faiss_nothing_is_lost_and_nothing_is_built(folder, tmp_path, flat, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "faiss", None)
    index = HnswIndex(folder, find, rank)
    assert index.topk(QUERIES[0], 10)[0].tolist() == flat.topk(QUERIES[0], 10)[0].tolist()
    assert index.is_exact(QUERIES[0], 10)
    assert index.about()["problem"] == "the graph is not used: vector index 'hnsw' needs the package 'faiss'"
    assert 'pip install "hybridkg[hnsw]"' in caplog.text
    with pytest.raises(MissingExtraError):
        Hnsw(tmp_path, Config()).ready()


def test_opening_does_not_import_faiss(folder, monkeypatch):
    monkeypatch.setattr(hnsw_graph, "_faiss", lambda: pytest.fail("faiss was imported"))
    HnswIndex(folder, find, rank).about()


def test_too_little_memory_is_told(tmp_path, monkeypatch):
    def full(*given):
        raise MemoryError("std::bad_alloc")

    import faiss

    monkeypatch.setattr(faiss.IndexHNSWSQ, "add", full)
    with pytest.raises(StorageError, match="3,000 vectors cannot be built: std::bad_alloc"):
        built(tmp_path, drawn(N))
    assert read_header(tmp_path) is None


def test_an_interrupted_build_leaves_no_graph(tmp_path):
    class Interrupting:
        def start(self, label, total):
            self.label = label

        def advance(self, n, items):
            if self.label == "linking vectors":
                raise KeyboardInterrupt

        def done(self, items):
            pass

    with pytest.raises(KeyboardInterrupt):
        Hnsw(tmp_path, Config()).build(tmp_path, Given(), "given", batches(drawn(N)), Interrupting(), hashed=False)
    assert read_header(tmp_path) is None


def test_vectors_that_are_not_finite_are_refused(tmp_path):
    vectors = drawn(N)
    vectors[7, 3] = np.nan
    with pytest.raises(VectorQueryError, match="not finite"):
        built(tmp_path, vectors)
    with pytest.raises(CorruptError):
        HnswIndex(tmp_path, find, rank)


def test_nothing_to_index(tmp_path):
    assert built(tmp_path, drawn(0)[:0])["entities"] == 0
    assert HnswIndex(tmp_path, find, rank).topk(QUERIES[0], 10)[0].tolist() == []
    assert "faiss" in sys.modules
