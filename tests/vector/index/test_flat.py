"""The flat index: its best k are those of its complete relation, and of the slow formula."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.errors import CorruptError, UnknownNameError, VectorQueryError
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.rdf.terms import NamedNode
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.index import codes_kernel, flat
from hybridkg.vector.index.flat import FlatIndex, FlatWriter
from hybridkg.vector.index.similarity import similarities


class Given:
    """An encoder whose texts are numbers with commas between them."""

    name = "given/1"

    def __init__(self, dimensions):
        self.dimensions = dimensions

    def passages(self, texts):
        return unit(np.array([[float(number) for number in text.split(",")] for text in texts], np.float32))

    queries = passages


def node(id):
    return NamedNode(f"http://{int(id)}")


def index_of(folder, vectors, ids=None, rank=None):
    folder.mkdir(exist_ok=True)
    encoder = Given(vectors.shape[1])
    with FlatWriter(folder, encoder) as writer:
        writer.add(np.arange(len(vectors), dtype=np.uint32) if ids is None else ids, unit(vectors))
        writer.finish("given")
    index = FlatIndex(folder, lambda node: int(node.value[7:]), rank or (lambda ids: ids))
    index._opened = encoder
    return index


@given(data=st.data(), n=st.integers(0, 60), k=st.integers(1, 70), seed=st.integers(0, 999), ties=st.booleans())
def test_topk_is_the_head_of_the_relation(data, n, k, seed, ties, tmp_path_factory):
    draw = np.random.default_rng(seed)
    vectors = draw.integers(-1, 2, (n, 5)) if ties else draw.standard_normal((n, 5))
    ids = np.sort(draw.choice(200, n, replace=False)).astype(np.uint32)
    order = draw.permutation(200).astype(np.uint32)
    index = index_of(tmp_path_factory.mktemp("flat"), vectors.astype(np.float32), ids, lambda some: order[some])
    within = data.draw(st.sampled_from([None, -0.5, 0.0, 0.3]))
    asked = data.draw(st.sampled_from([VectorQuery(vector=(1, 0.5, -1, 0, 2), within=within)] + [
        VectorQuery(entity=node(id), within=within) for id in (*ids[:1], 199)
    ]))  # fmt: skip
    relation, scores = index.score_all(asked)
    assert np.all(np.diff(relation.astype(int)) > 0)
    best = sorted(range(len(relation)), key=lambda i: (-scores[i], order[relation[i]]))
    for among in (None, np.sort(draw.choice(200, 90, replace=False)).astype(np.uint32)):
        allowed = [i for i in best if among is None or relation[i] in among][:k]
        with pytest.MonkeyPatch.context() as patch:
            above = data.draw(st.sampled_from([0, 4096]))
            patch.setattr(flat, "MATRIX_ABOVE", above)
            patch.setattr(flat, "CODES_ABOVE", above)
            patch.setattr(
                "hybridkg.vector.index.codes.KERNEL._module", data.draw(st.sampled_from([None, codes_kernel]))
            )
            found, found_scores = index.topk(asked, k, among)
        assert found.tolist() == relation[allowed].tolist()
        assert found_scores.tolist() == scores[allowed].tolist()
    everyone = np.array([*range(200), 5, 3], np.uint32)
    of = dict(zip(relation.tolist(), scores.tolist(), strict=True))
    given = index.score(asked, everyone).tolist()
    assert [None if score != score else score for score in given] == [of.get(id) for id in everyone.tolist()]


def test_similarities_are_cosines(tmp_path):
    index = index_of(tmp_path, np.array([[3, 4], [4, 3], [0, 0], [-3, -4]], np.float32))
    ids, scores = index.topk(VectorQuery(text="30,40"), 10)
    assert ids.tolist() == [0, 1, 3]
    assert scores == pytest.approx([1, 0.96, -1], abs=1e-7)
    assert index.size == 3
    assert index.topk(VectorQuery(entity=node(0)), 10)[0].tolist() == [1, 3]
    assert index.topk(VectorQuery(entity=node(2)), 10)[0].tolist() == []
    assert index.topk(VectorQuery(text="0,0"), 10)[0].tolist() == []
    assert index.score_all(VectorQuery(vector=(1e30, 0), within=0.7))[0].tolist() == [1]


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        (VectorQuery(vector=(1, 2, 3)), VectorQueryError, "a vector of 3 numbers; those of this knowledge base have 2"),
        (VectorQuery(vector=(0, 0)), VectorQueryError, "must have a direction"),
        (VectorQuery(vector=(1, float("inf"))), VectorQueryError, "must have a direction"),
        (VectorQuery(text="1,0", encoder="other"), UnknownNameError, "made by 'given', not by 'other'"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, query, error, message):
    with pytest.raises(error, match=message):
        index_of(tmp_path, np.eye(2, dtype=np.float32)).check(query)


def test_no_vector_is_written_that_is_not_finite(tmp_path):
    with FlatWriter(tmp_path, Given(2)) as writer, pytest.raises(VectorQueryError, match="not finite"):
        writer.add(np.arange(2, dtype=np.uint32), np.array([[1, 0], [np.nan, 1]], np.float32))


def test_no_vector_is_written_whose_length_is_not_one(tmp_path):
    with FlatWriter(tmp_path, Given(2)) as writer, pytest.raises(VectorQueryError, match="neither 1 nor 0"):
        writer.add(np.arange(2, dtype=np.uint32), np.array([[1, 0], [3, 4]], np.float32))


def test_no_question_has_a_vector_that_is_not_finite(tmp_path):
    index = index_of(tmp_path, np.eye(2, dtype=np.float32))
    with pytest.raises(VectorQueryError, match="not finite"):
        index.score_all(VectorQuery(text="nan,1"))


def test_no_similarity_is_above_one_and_equal_vectors_are_ties(tmp_path):
    draw = np.random.default_rng(0)
    vectors = np.repeat(draw.standard_normal((50, 11)), 3, axis=0).astype(np.float32)
    index = index_of(tmp_path, vectors, rank=lambda ids: 200 - ids)
    raw = [similarities(index._vectors, None, row).max() for row in np.array(index._vectors)]
    assert max(raw) > 1
    for id in range(0, 150, 3):
        for patched, kernel in ((0, None), (0, codes_kernel), (4096, None)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(flat, "MATRIX_ABOVE", patched)
                patch.setattr(flat, "CODES_ABOVE", patched)
                patch.setattr("hybridkg.vector.index.codes.KERNEL._module", kernel)
                found, scores = index.topk(VectorQuery(entity=node(id)), 2)
            assert scores.max() <= 1
            assert found.tolist() == [id + 2, id + 1]
        assert index.score_all(VectorQuery(entity=node(id)))[1].max() == scores[0]


@pytest.mark.parametrize(
    "change",
    [
        {"dimensions": "abc"},
        {"dimensions": None},
        {"dimensions": [3]},
        {"dimensions": 3.5},
        {"dimensions": -3},
        {"dimensions": 10**30},
        {"arrays": {"ids": {"dtype": "<u4", "shape": [3]}, "vectors": {"dtype": "<i4", "shape": [3, 8]}}},
        {"arrays": {"ids": {"dtype": "<f4", "shape": [3]}, "vectors": {"dtype": "<f4", "shape": [3, 8]}}},
        {"arrays": {"ids": {"dtype": "<u4", "shape": [3, 1]}, "vectors": {"dtype": "<f4", "shape": [3, 8]}}},
        {"arrays": {"ids": {"dtype": "<u4", "shape": []}, "vectors": {"dtype": "<f4", "shape": [3, 8]}}},
    ],
)
def test_a_header_that_does_not_fit_is_damage(tmp_path, change):
    index_of(tmp_path, np.eye(3, dtype=np.float32))
    header = tmp_path / "vectors.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | change))
    with pytest.raises(CorruptError):
        FlatIndex(tmp_path, lambda node: None, lambda ids: ids)


def test_a_cut_file_is_damage(tmp_path):
    index_of(tmp_path, np.eye(3, dtype=np.float32))
    (tmp_path / "vectors").write_bytes(b"1234")
    with pytest.raises(CorruptError, match="4 bytes instead of 96"):
        FlatIndex(tmp_path, lambda node: None, lambda ids: ids)
