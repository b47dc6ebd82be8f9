"""Published vectors: files of torch read without it, and NEAR by them without a model."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.stark_made import _text, _tuple, _whole, write_skb
from hybridkg.cli import cli
from hybridkg.datasets.stark.making import make_stark
from hybridkg.datasets.stark.tensors import read_vectors
from hybridkg.errors import EncoderError, LoadError, ParameterError
from hybridkg.evaluation.measures.stark import read_candidates
from hybridkg.evaluation.topics import read_topics
from hybridkg.kb import KnowledgeBase

KB, NODES, MODEL = "mag", 120, "text-embedding-ada-002"
DRAW = np.random.default_rng(3)


def save_vectors(path: Path, vectors: dict[object, np.ndarray], storage: bytes = b"FloatStorage") -> None:
    """The archive that torch.save writes of {id: tensor float32[1, d]}, by hand."""
    entries = []
    for place, (key, row) in enumerate(vectors.items()):
        rows = np.atleast_2d(row)
        entries += [
            _text(key) if isinstance(key, str) else _whole(int(key)),
            b"ctorch._utils\n_rebuild_tensor_v2\n((" + _text("storage") + b"ctorch\n" + storage + b"\n",
            _text(str(place)) + _text("cpu") + _whole(rows.size) + b"tQ" + _whole(0) + _tuple(rows.shape),
            _tuple([rows.shape[1], 1]) + b"\x89ccollections\nOrderedDict\n)RtR",
        ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02}(" + b"".join(entries) + b"u.")
        archive.writestr("x/byteorder", b"little")
        for place, row in enumerate(vectors.values()):
            archive.writestr(f"x/data/{place}", np.asarray(row, "<f4").tobytes())


def test_the_archives_written_by_hand_are_those_of_torch(tmp_path):
    vectors = {i: DRAW.standard_normal((1, 5)).astype(np.float32) for i in (3, 0, 7)}
    save_vectors(tmp_path / "a.pt", vectors)
    assert [key for key, _ in read_vectors(tmp_path / "a.pt")] == [3, 0, 7]
    assert all(np.array_equal(row, vectors[key][0]) for key, row in read_vectors(tmp_path / "a.pt"))
    torch = pytest.importorskip("torch")
    whole = torch.from_numpy(np.vstack(list(vectors.values())))
    own = {key: torch.from_numpy(row) for key, row in vectors.items()}
    views = {key: whole[i : i + 1] for i, key in enumerate(vectors)}
    for saved in (own, views, {key: whole[i] for i, key in enumerate(vectors)}):
        torch.save(saved, tmp_path / "b.pt")
        found = dict(read_vectors(tmp_path / "b.pt"))
        assert list(found) == list(vectors)
        assert all(np.array_equal(found[key], vectors[key][0]) for key in vectors)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """skb, qa, and emb with vectors of candidates and of questions; a candidate has none."""
    folder = tmp_path_factory.mktemp("published")
    questions = write_skb(KB, NODES, folder)
    made = folder / "plain"
    make_stark(folder / "skb", folder / "qa", made)
    numbers = [int(iri.rpartition("/")[2]) for iri in read_candidates(made / "candidates.txt")][1:]
    emb = folder / "emb" / MODEL
    documents = {n: DRAW.standard_normal((1, 8)).astype(np.float32) for n in reversed(numbers)}
    asked = {i: DRAW.standard_normal((1, 8)).astype(np.float32) for i in range(len(questions))}
    save_vectors(emb / "doc/candidate_emb_dict.pt", documents)
    save_vectors(emb / "query/query_emb_dict.pt", {str(i): row for i, row in asked.items()})
    save_vectors(emb / "query_human_generated_eval/query_emb_dict.pt", {0: documents[numbers[3]]})
    human = folder / "qa" / "stark_qa" / "stark_qa_human_generated_eval.csv"
    human.write_text(f'id,query,answer_ids,answer_ids_source\n0,"of  people","[{numbers[3]}]",[]\n')
    return folder, documents, asked


@pytest.fixture(scope="module")
def made(files):
    folder = files[0]
    options = ["--documents", "relations", "--embeddings", str(folder / "emb" / MODEL), "--out", str(folder / "made")]
    ran = CliRunner().invoke(
        cli, ["dataset", "stark", "--skb", str(folder / "skb"), "--qa", str(folder / "qa"), *options]
    )
    assert ran.exit_code == 0, ran.output
    assert f"vectors of nodes: {len(files[1])}\n" in ran.stderr
    return folder / "made"


NEAR = "SELECT ?e { ?e NEAR $text AS ?s } RANK BY ?s"


def test_near_ranks_by_the_published_vectors(files, made):
    _, documents, asked = files
    matrix = np.vstack(list(documents.values())).astype(np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    with KnowledgeBase.open(made / "kb") as kb:
        about = kb.stats()["vectors"]
        assert (about["entities"], about["fields"]) == (len(documents), "document_rel")
        assert about["encoder"].split()[:2] == ["published/1", MODEL]
        for topic, text in list(read_topics(made / "topics.tsv").texts.items())[:5]:
            query = asked[int(topic)][0].astype(np.float64)
            similar = matrix @ (query / np.linalg.norm(query))
            want = [f"https://w3id.org/hybridkg/stark/{KB}/{list(documents)[i]}" for i in np.argsort(-similar)]
            found = kb.query(NEAR, {"text": text})
            assert [str(row["e"]) for row in found] == want
            np.testing.assert_allclose([row.scores["s"] for row in found], np.sort(similar)[::-1], atol=1e-6)
        (text,) = read_topics(made / "topics-human.tsv").texts.values()
        best = next(iter(kb.query(NEAR, {"text": text})))
        assert (text, best["e"].rpartition("/")[2]) == ("of people", str(sorted(documents)[3]))
        with pytest.raises(EncoderError, match="no published vector for the text 'other words'"):
            kb.query(NEAR, {"text": "other words"})


def test_the_vectors_stay_when_the_knowledge_base_is_indexed_checked_and_moved(made, tmp_path):
    moved = tmp_path / "elsewhere"
    made.rename(moved)
    try:
        with KnowledgeBase.open(moved / "kb") as kb:
            before = kb.stats()["vectors"]
            assert (
                kb.index().vectors.encoded == NODES - before["entities"]
            )  # those without a vector are looked up again
            assert kb.stats()["vectors"]["entities"] == before["entities"]
            assert [part for full in (False, True) for part in kb.check(full=full).bad] == []
    finally:
        moved.rename(made)


def test_vectors_need_the_documents_that_they_are_of(files, tmp_path):
    folder = files[0]
    with pytest.raises(ParameterError, match="documents with relations, which are not made"):
        make_stark(
            folder / "skb", folder / "qa", tmp_path / "x", documents=["plain"], embeddings=folder / "emb" / MODEL
        )


class Call:
    def __reduce__(self):
        return os.system, ("echo run >&2",)


ROW = np.ones((1, 4), np.float32)


@pytest.mark.parametrize(
    ("documents", "questions", "message"),
    [
        ({0: ROW, 1: np.ones((1, 5), np.float32)}, {0: ROW}, "has 5 numbers, and the first one 4"),
        ({0: np.ones((2, 4), np.float32)}, {0: ROW}, "2 rows in place of one"),
        ({0: ROW * np.nan}, {0: ROW}, "a number that is not finite"),
        ({"a": ROW}, {0: ROW}, "the id 'a' is no whole number"),
        ({-1: ROW}, {0: ROW}, "is no whole number"),
        ({0: ROW, "0": ROW}, {0: ROW}, "an id occurs twice"),
        ({}, {0: ROW}, "no vectors"),
        ({NODES: ROW}, {0: ROW}, f"a vector of the node {NODES}, and the nodes are 0 to"),
        ({0: ROW}, {9999: ROW}, "a vector of the question 9999, which is not among the questions"),
        ({0: ROW}, {0: np.ones((1, 5), np.float32)}, "vectors of 5 numbers, and doc/candidate_emb_dict.pt of 4"),
        ({0: ROW}, None, "has no query/query_emb_dict.pt"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(files, tmp_path, documents, questions, message):
    folder = files[0]
    save_vectors(tmp_path / "m" / "doc/candidate_emb_dict.pt", documents)
    if questions is not None:
        save_vectors(tmp_path / "m" / "query/query_emb_dict.pt", questions)
    with pytest.raises(LoadError) as e:
        make_stark(folder / "skb", folder / "qa", tmp_path / "x", documents=["relations"], embeddings=tmp_path / "m")
    assert message in str(e.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


@pytest.mark.parametrize("what", ["call", "integers", "text", "damaged", "short"])
def test_a_hostile_file_is_refused_and_nothing_runs(tmp_path, capfd, what):
    path = tmp_path / "v.pt"
    save_vectors(path, {0: ROW}, b"LongStorage" if what == "integers" else b"FloatStorage")
    if what in ("call", "damaged"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x/data.pkl", pickle.dumps({0: Call()}, 2) if what == "call" else b"\x80\x02}(K")
    elif what == "short":
        save_vectors(path, {0: ROW})
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
    elif what == "text":
        path.write_text("no archive")
    with pytest.raises(LoadError):
        list(read_vectors(path))
    assert capfd.readouterr().err == ""
