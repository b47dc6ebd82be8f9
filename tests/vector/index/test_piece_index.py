"""Entities with several vectors: every method against a slow formula, and the laws of a flat index."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.config.settings import Config, EncodingSettings
from hybridkg.errors import CorruptError
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.rdf.terms import NamedNode
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.index import codes_kernel, flat
from hybridkg.vector.index.flat import Flat, FlatIndex
from hybridkg.vector.index.flat_files import FlatWriter
from hybridkg.vector.index.piece_index import PieceIndex

D = 5
AGGREGATES = ["max", "mean3", "sum"]


class Given:
    name, dimensions = "given/1", D


def node(id):
    return NamedNode(f"http://{int(id)}")


def built(folder, vectors, ids, aggregate, rank=lambda ids: ids, at_once=4):
    """Rows in batches that end within entities; the span of each row is its number."""
    folder.mkdir(exist_ok=True)
    vectors, ids = unit(vectors.astype(np.float32)), ids.astype(np.uint32)
    spans = np.stack([np.arange(len(ids)), np.arange(len(ids)) + 1], axis=1).astype(np.uint32)
    with FlatWriter(folder, Given(), encoding=EncodingSettings(what="chunks", aggregate=aggregate)) as writer:
        for first in range(0, len(ids), at_once):
            part = slice(first, first + at_once)
            writer.add(ids[part], vectors[part], None, spans[part])
        counts = writer.finish("given")
    index = Flat(folder, Config()).open(folder, lambda node: int(node.value[7:]), rank)
    assert isinstance(index, PieceIndex)
    has = vectors.any(axis=1)
    assert counts["vectors"] == index.about()["vectors"] == has.sum()
    assert counts["entities"] == index.size == len(set(ids[has].tolist()))
    return index


def reference(vectors, ids, aggregate, query):
    """The similarity of each entity, pair by pair."""
    rows = {}
    for row, id in enumerate(ids.tolist()):
        vector = vectors[row].astype(np.float64)
        if vector.any():
            rows.setdefault(id, []).append(float(np.dot(vector / np.linalg.norm(vector), query)))
    most = max(map(len, rows.values()), default=1)
    found = {}
    for id, own in rows.items():
        similar = sorted(own, reverse=True)
        value = {"max": similar[0], "mean3": sum(similar[:3]) / len(similar[:3]), "sum": sum(similar) / most}[aggregate]
        found[id] = value
    return found


@settings(deadline=None)
@given(
    data=st.data(),
    sizes=st.lists(st.integers(0, 6), max_size=25),
    k=st.integers(1, 30),
    seed=st.integers(0, 999),
    ties=st.booleans(),
    aggregate=st.sampled_from(AGGREGATES),
)
def test_every_method_agrees_with_the_formula(data, sizes, k, seed, ties, aggregate, tmp_path_factory):
    draw = np.random.default_rng(seed)
    n = sum(sizes)
    vectors = (draw.integers(-1, 2, (n, D)) if ties else draw.standard_normal((n, D))).astype(np.float32)
    entities = np.sort(draw.choice(100, len(sizes), replace=False))
    ids = np.repeat(entities, sizes)
    order = draw.permutation(100).astype(np.uint32)
    index = built(tmp_path_factory.mktemp("pieces"), vectors, ids, aggregate, lambda some: order[some])
    written = (1, 0.5, -1, 0, 2)
    truth = reference(vectors, ids, aggregate, np.array(written) / np.linalg.norm(written))
    relation, scores = index.score_all(VectorQuery(vector=written))
    assert relation.tolist() == sorted(truth)
    assert scores == pytest.approx([truth[id] for id in relation.tolist()], abs=1e-6)
    assert (np.abs(scores) <= 1).all()

    within = data.draw(st.sampled_from([None, -0.3, 0.0, *scores[:1].tolist()]))
    asked = data.draw(
        st.sampled_from(
            [VectorQuery(vector=written, within=within)]
            + [VectorQuery(entity=node(id), within=within) for id in (*entities[:3], 99)]
        )
    )
    relation, scores = index.score_all(asked)
    best = sorted(range(len(relation)), key=lambda i: (-scores[i], order[relation[i]]))
    for among in (None, np.sort(draw.choice(100, 45, replace=False)).astype(np.uint32)):
        allowed = [i for i in best if among is None or relation[i] in among]
        with pytest.MonkeyPatch.context() as patch:
            above = data.draw(st.sampled_from([0, 4096]))
            patch.setattr(flat, "MATRIX_ABOVE", above)
            patch.setattr(flat, "CODES_ABOVE", above)
            patch.setattr(
                "hybridkg.vector.index.codes.KERNEL._module", data.draw(st.sampled_from([None, codes_kernel]))
            )
            found, found_scores = index.topk(asked, k, among)
            held, about, error = index.estimates(asked, among)
        assert found.tolist() == relation[allowed[:k]].tolist()
        assert found_scores.tolist() == scores[allowed[:k]].tolist()
        assert held.tolist() == relation[sorted(allowed)].tolist()
        assert (np.abs(about - scores[sorted(allowed)]) <= error).all()
    everyone = np.array([*range(100), 5, 3], np.uint32)
    of = dict(zip(relation.tolist(), scores.tolist(), strict=True))
    given = index.score(asked, everyone).tolist()
    assert [None if score != score else score for score in given] == [of.get(id) for id in everyone.tolist()]


@settings(deadline=None, max_examples=examples(6, 100))
@given(
    sizes=st.lists(st.integers(1, 40), min_size=30, max_size=60),
    seed=st.integers(0, 99),
    k=st.integers(1, 20),
    aggregate=st.sampled_from(AGGREGATES),
)
def test_codes_propose_the_best_of_near_ones(sizes, seed, k, aggregate, tmp_path_factory):
    """Vectors that differ in the third digit, so that most bounds overlap."""
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal(D) + 1e-3 * draw.standard_normal((sum(sizes), D))
    ids = np.repeat(np.arange(len(sizes)), sizes)
    index = built(tmp_path_factory.mktemp("near"), vectors, ids, aggregate, at_once=len(ids))
    asked = VectorQuery(vector=tuple(map(float, draw.standard_normal(D))))
    relation, scores = index.score_all(asked)
    best = np.lexsort((relation, -scores))[:k]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flat, "CODES_ABOVE", 0)
        patch.setattr("hybridkg.vector.index.codes.KERNEL._module", codes_kernel)
        found, found_scores = index.topk(asked, k)
    assert found.tolist() == relation[best].tolist()
    assert found_scores.tolist() == scores[best].tolist()


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_entities_of_one_vector_are_those_of_a_flat_index(tmp_path, aggregate):
    vectors = np.random.default_rng(1).standard_normal((30, D)).astype(np.float32)
    index = built(tmp_path, vectors, np.arange(30), aggregate)
    plain = FlatIndex(tmp_path, lambda node: int(node.value[7:]), lambda ids: ids)
    for asked in (VectorQuery(vector=(1.0,) * D), VectorQuery(entity=node(3))):
        assert index.score_all(asked)[1].tolist() == plain.score_all(asked)[1].tolist()


def test_aggregates_and_the_nearest_piece_by_hand(tmp_path):
    rows = np.array([[3, 4], [4, 3], [1, 0], [0, 1], [0, 0], [-1, 0]], np.float32)
    rows = np.pad(rows, ((0, 0), (0, D - 2)))
    ids = np.array([7, 7, 7, 7, 8, 9])
    asked = VectorQuery(vector=(1, 0, 0, 0, 0))
    for aggregate, expected in (("max", 1.0), ("mean3", 0.8), ("sum", 0.6)):
        index = built(tmp_path / aggregate, rows, ids, aggregate)
        found, scores = index.topk(asked, 5)
        assert found.tolist() == [7, 9]
        assert scores == pytest.approx([expected, -0.25 if aggregate == "sum" else -1], abs=1e-7)
        assert index.nearest(asked, 7) == (2, 3)
        assert index.nearest(asked, 9) == (5, 6)
        assert index.nearest(asked, 8) is None
        assert index.topk(VectorQuery(entity=node(8)), 5)[0].tolist() == []
        assert not index.knows(VectorQuery(entity=node(8)))


def test_an_entity_is_asked_for_with_the_mean_of_its_vectors(tmp_path):
    rows = np.pad(np.array([[1, 0], [0, 1], [1, 1], [1, 0], [-1, 0], [1, 0]], np.float32), ((0, 0), (0, D - 2)))
    index = built(tmp_path, rows, np.array([0, 0, 1, 2, 3, 3]), "max")
    found, scores = index.score_all(VectorQuery(entity=node(0)))
    assert found.tolist() == [1, 2, 3]
    assert scores == pytest.approx([1, 0.5**0.5, 0.5**0.5], abs=1e-7)
    assert not index.knows(VectorQuery(entity=node(3)))  # its vectors say the opposite of each other


def test_nothing(tmp_path):
    index = built(tmp_path, np.zeros((0, D)), np.zeros(0), "mean3")
    asked = VectorQuery(vector=(1,) * D)
    assert index.score_all(asked)[0].tolist() == index.topk(asked, 3)[0].tolist() == []
    assert index.comparisons(asked) == 0


def test_thousands_of_pieces_of_one_entity(tmp_path):
    draw = np.random.default_rng(0)
    vectors = draw.standard_normal((20_000, D))
    ids = np.repeat([4, 5, 6], [19_000, 1, 999])
    for aggregate in AGGREGATES:
        index = built(tmp_path / aggregate, vectors, ids, aggregate, at_once=1_024)
        asked = VectorQuery(vector=(1,) * D)
        truth = reference(vectors, ids, aggregate, np.ones(D) / D**0.5)
        assert index.score_all(asked)[1] == pytest.approx([truth[id] for id in (4, 5, 6)], abs=1e-6)
        assert index.comparisons(asked) == 20_000


@pytest.mark.parametrize(
    "change",
    [
        {"pieces": None},
        {"pieces": {"what": "chunks", "aggregate": "median"}},
        {"pieces": {"what": "chunks", "aggregate": ["max"]}},
        {"pieces": {"aggregate": "max"}},
    ],
)
def test_a_header_that_does_not_fit_is_damage(tmp_path, change):
    built(tmp_path, np.eye(D), np.array([0, 0, 1, 1, 1]), "max")
    header = tmp_path / "vectors.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | change))
    with pytest.raises(CorruptError):
        Flat(tmp_path, Config()).open(tmp_path, lambda node: None, lambda ids: ids)


@pytest.mark.parametrize("starts", [[0, 2, 4], [1, 2, 5], [0, 0, 5], [0, 5, 5], [0, -1, 5]])
def test_starts_that_do_not_fit_are_damage(tmp_path, starts):
    built(tmp_path, np.eye(D), np.array([0, 0, 1, 1, 1]), "max")
    (tmp_path / "starts").write_bytes(np.array(starts, "<i8").tobytes())
    with pytest.raises(CorruptError):
        Flat(tmp_path, Config()).open(tmp_path, lambda node: None, lambda ids: ids)
