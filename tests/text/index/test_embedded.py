from __future__ import annotations

import copy
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.compute.kernels import LazyKernel
from hybridkg.errors import CorruptError, ProfileError, UnknownNameError
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex, reader
from hybridkg.text.index.build.builder import BuildLimits
from hybridkg.text.index.topk import block_max_writer
from hybridkg.text.models import additive

words = st.lists(st.sampled_from(["red", "fish", "sea", "ﬁsh", "Straße", "中文"]), max_size=5).map(" ".join)
documents = st.dictionaries(
    st.integers(0, 20), st.fixed_dictionaries({}, optional={"title": words, "body": st.lists(words, max_size=3)})
)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@settings(deadline=None, max_examples=examples(5, 100))
@given(documents, st.integers(1, 12), st.randoms())
def test_neither_chunks_nor_the_order_of_entities_change_a_byte(build, docs, chunk, random):
    build(docs, n_nodes=21)
    want, counts = contents(build.folder), build.counts
    build(docs, n_nodes=21)
    assert contents(build.folder) == want
    shuffled = list(docs.items())
    random.shuffle(shuffled)
    build(dict(shuffled), n_nodes=21, sizes=BuildLimits(chunk_tokens=chunk))
    assert contents(build.folder) == want
    assert build.counts == counts


def test_long_streams_spill_to_disk_without_changing_a_byte(build, monkeypatch):
    docs = {e: {"title": f"red {e % 7}", "body": [f"fish {e} sea", "sea"]} for e in range(300)}
    build(docs)
    want = contents(build.folder)
    monkeypatch.setattr("hybridkg.text.index.build.field_stream.MAX_TOKENS_IN_MEMORY", 10)
    monkeypatch.setattr("hybridkg.text.index.build.tokens.MAX_CACHED_WORDS", 3)
    monkeypatch.setattr("hybridkg.text.index.field_presence._NODES_AT_ONCE", 7)
    build(docs, sizes=BuildLimits(chunk_tokens=50))
    assert contents(build.folder) == want


def test_counts_say_what_is_in_the_index(build):
    docs = {0: {"title": "red fish", "body": ["red", "Straße"]}, 1: {"title": "..."}, 3: {"body": "sea sea"}}
    build(docs)
    assert build.counts == {"entities": 2, "terms": 4, "postings": 5, "tokens": 6, "text_bytes": 28}


def test_has_the_field_means_at_least_one_token(build):
    index = build({0: {"title": "red", "body": "..."}, 1: {"title": "", "body": "red"}, 2: {"body": "!"}})
    (title, body) = json.loads((build.folder / "text.json").read_text())["fields"]
    assert (title["entities"], body["entities"]) == (1, 1)
    assert index.score_all(TextQuery("red"))[0].tolist() == [0, 1]


def test_hostile_texts_are_indexed_and_found(build):
    hostile = {
        0: "nul\x00inside",
        1: "a" * 1_000_000,
        2: "\u202eright to left שלום\u202c مرحبا",
        3: "😀😀 ❤️ 👩‍👩‍👧 family",
        4: "e\u0301" + "\u0301" * 500 + " zalgo",
        5: "word " * 100_000,
        6: "\ufeff\u200b\u00ad\u2028 blanks",
        7: "\U0010ffff\ufffe last",
    }
    index = build({e: {"body": text} for e, text in hostile.items()})

    def found(text):
        return index.score_all(TextQuery(text, syntax=False))[0].tolist()

    assert [found(t) for t in ("inside", "שלום", "مرحبا", "family", "zalgo", "word", "blanks", "last")] == [
        [0], [2], [2], [3], [4], [5], [6], [7],
    ]  # fmt: skip
    assert found("a" * 1_000_000) == found("a" * 300) == [1]
    assert index.topk(TextQuery("word"), 1)[1][0] > 0
    for text in hostile.values():
        index.topk(TextQuery(text[:20_000], syntax=False), 3)
        index.passage(TextQuery("word family", syntax=False), [("body", text, "")])


def test_every_truncated_or_missing_file_is_a_corrupt_error_with_a_hint(build, tmp_path, with_peaks):
    build({e: {"title": f"red {e}", "body": "sea " * e} for e in range(5)}, folder=tmp_path)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        damages = [whole[:-9]] if path.suffix == ".json" else [whole[:-1], whole + b"x"]
        for damage in [*damages, None]:
            path.unlink() if damage is None else path.write_bytes(damage)
            with pytest.raises(CorruptError) as e:
                EmbeddedTextIndex.open(tmp_path)
            assert e.value.hint == "index again"
            path.write_bytes(whole)
    assert EmbeddedTextIndex.open(tmp_path).score_all(TextQuery("red"))[0].tolist() == [0, 1, 2, 3, 4]


def test_an_array_of_another_shape_is_a_corrupt_error(build, tmp_path, with_peaks):
    build({e: {"title": f"red {e}", "body": "sea " * e} for e in range(5)}, folder=tmp_path)
    header = tmp_path / "1.json"
    whole = json.loads(header.read_text())
    for name, array in whole["arrays"].items():
        path, shape = tmp_path / f"1.{name}", array["shape"]
        content = path.read_bytes()
        for axis, step in [(axis, step) for axis in range(len(shape)) for step in (-1, 1)]:
            other = copy.deepcopy(whole)
            other["arrays"][name]["shape"][axis] += step
            size = np.dtype(array["dtype"]).itemsize * math.prod(other["arrays"][name]["shape"])
            path.write_bytes((content + bytes(1000))[:size])
            header.write_text(json.dumps(other))
            with pytest.raises(CorruptError):
                EmbeddedTextIndex.open(tmp_path)
        path.write_bytes(content)


@pytest.fixture
def with_peaks(monkeypatch):
    """Small indexes have peaks too."""
    monkeypatch.setattr(block_max_writer, "MIN_NODES", 1)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("text.json", lambda h: h.update(version=99)),
        ("text.json", lambda h: h.update(format="other")),
        ("text.json", lambda h: h.pop("fields")),
        ("text.json", lambda h: h["fields"][0].pop("b")),
        ("text.json", lambda h: h["fields"].pop()),
        ("text.json", lambda h: h["analyzers"].update(unstemmed="unstemmed/0")),
        ("text.json", lambda h: h.pop("segments")),
        ("text.json", lambda h: h.update(segments=[])),
        ("text.json", lambda h: h.update(segments=["1", "2"])),
        ("text.json", lambda h: h.update(segments=["2"])),
        ("text.json", lambda h: h.update(segments="1")),
        ("text.json", lambda h: h.update(segments=["../1"])),
        ("1.json", lambda h: h.update(version=99)),
        ("1.json", lambda h: h.update(format="other")),
        ("1.json", lambda h: h.pop("arrays")),
        ("1.json", lambda h: h["arrays"].pop("lengths")),
        ("1.json", lambda h: h["arrays"].pop("packed")),
        ("1.json", lambda h: h["arrays"]["lengths"].update(shape=[1, 10])),
        ("1.json", lambda h: h["arrays"]["lengths"].update(dtype="nonsense")),
        ("1.json", lambda h: h.pop("fields")),
        ("1.json", lambda h: h["fields"].pop("tokens")),
        ("1.json", lambda h: h["fields"]["tokens"].pop()),
        ("1.json", lambda h: h.pop("peaks")),
        ("1.json", lambda h: h["peaks"].pop()),
        ("1.json", lambda h: h["peaks"][0].pop("slope")),
        ("1.json", lambda h: h["peaks"][0]["slope"].pop()),
        ("1.json", lambda h: h["peaks"][0].update(levels=7)),
        ("1.json", lambda h: h.update(peaks=7)),
    ],
)
def test_a_header_that_does_not_fit_is_a_corrupt_error(build, tmp_path, with_peaks, name, change):
    build({e: {"title": "red", "body": "sea"} for e in range(5)}, folder=tmp_path)
    path = tmp_path / name
    header = json.loads(path.read_text())
    change(header)
    path.write_text(json.dumps(header))
    with pytest.raises(CorruptError):
        EmbeddedTextIndex.open(tmp_path)
    path.write_text("{")
    with pytest.raises(CorruptError):
        EmbeddedTextIndex.open(tmp_path)


def test_the_arrays_are_in_an_immutable_segment_and_totals_are_whole_numbers(build, tmp_path):
    build({0: {"title": "red fish"}, 2: {"title": "red", "body": "sea sea"}}, folder=tmp_path)
    index, segment = (json.loads((tmp_path / name).read_text()) for name in ("text.json", "1.json"))
    assert (index["segments"], index["arrays"]) == (["1"], {})
    assert segment["fields"] == {"entities": [2, 1], "tokens": [3, 2]}
    assert {path.name for path in tmp_path.iterdir()} == {
        "text.json", "1.json", *(f"1.{name}" for name in segment["arrays"])
    }  # fmt: skip


def test_wrong_use_of_the_builder_is_an_error(tmp_path):
    fields = [IndexedField("title")]
    builder = EmbeddedTextBuilder(tmp_path, fields, 3)
    with pytest.raises(ValueError, match="entity 3 is not below 3"):
        builder.add(3, 0, [("x", "")])
    builder.add(1, 0, [("x", "")])
    builder.add(1, 0, [("y", "")])
    with pytest.raises(ValueError, match="field 'title' of one entity was added twice"):
        builder.finish()
    with pytest.raises(ProfileError, match="at most 64"):
        EmbeddedTextBuilder(tmp_path, [IndexedField(f"f{i}") for i in range(65)], 3)
    with pytest.raises(ProfileError, match="two text fields are named 'title'"):
        EmbeddedTextBuilder(tmp_path, fields * 2, 3)
    with pytest.raises(UnknownNameError):
        EmbeddedTextBuilder(tmp_path, [IndexedField("title", analyzer="none")], 3)


def test_nothing_is_readable_before_finish(tmp_path):
    builder = EmbeddedTextBuilder(tmp_path, [IndexedField("title")], 3)
    builder.add(0, 0, [("red", "")])
    with pytest.raises(CorruptError):
        EmbeddedTextIndex.open(tmp_path)


def test_ties_at_the_last_place_are_settled_by_rank(build):
    rng = np.random.default_rng(7)
    ranks = rng.permutation(500).astype(np.uint32)
    docs = {e: {"body": "red " * (1 + e % 3) + "sea " * (3 - e % 3)} for e in range(500)}
    index = build(docs, rank=lambda ids: ranks[ids])
    ids, scores = index.score_all(TextQuery("red"))
    order = sorted(range(500), key=lambda i: (-scores[i], ranks[ids[i]]))
    for k in (1, 2, 100, 166, 167, 168, 333, 499, 500, 501):
        assert index.topk(TextQuery("red"), k)[0].tolist() == ids[order[:k]].tolist()
    assert len(index.topk(TextQuery("red"), 0)[0]) == len(index.topk(TextQuery("red"), -1)[0]) == 0


def test_large_candidate_sets_score_as_the_whole_relation(build):
    docs = {e: {"title": "red" if e % 2 else "", "body": f"sea fish w{e % 11}"} for e in range(2000)}
    index = build(docs, n_nodes=100_000)
    query = TextQuery("red w3 fish -w5 title:red")
    ids, scores = index.score_all(query)
    whole = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    for asked in (np.arange(0, 100_000, 3), np.arange(1, 2000, 97), np.array([99_999]), np.zeros(0, int)):
        got = index.score(query, asked.astype(np.uint32)).tolist()
        assert {e: s for e, s in zip(asked.tolist(), got, strict=True) if s == s} == {
            e: whole[e] for e in asked.tolist() if e in whole
        }


def test_a_small_query_never_imports_numba(build):
    build({e: {"title": "red fish"} for e in range(50)})
    code = (
        "import sys; from pathlib import Path; from hybridkg.text.index import EmbeddedTextIndex;"
        "from hybridkg.interfaces.text_index import TextQuery;"
        f"i = EmbeddedTextIndex.open(Path({str(build.folder)!r}));"
        "print(len(i.topk(TextQuery('red'), 60)[0]), 'numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["50", "False"]


def test_an_index_answers_the_same_through_the_kernel(build, kernel, monkeypatch):
    index = build({e: {"title": f"red w{e % 5}", "body": f"sea {'red ' * (e % 4)}"} for e in range(3000)})
    queries = [TextQuery(text) for text in ("red", "red sea w3", "+w1 red -w2", '"sea red" title:w4')]
    with monkeypatch.context() as patch:
        patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        plain = [index.score_all(query) for query in queries]
    used: list[object] = []
    for module, name in ((reader, "scores_of"), (additive, "score_compiled")):  # of a bag of words, of any other query
        compiled = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, compiled=compiled: used.append(given) or compiled(*given))
    for query, (ids, scores) in zip(queries, plain, strict=True):
        compiled_ids, compiled_scores = index.score_all(query)
        assert (compiled_ids.tobytes(), compiled_scores.tobytes()) == (ids.tobytes(), scores.tobytes())
    assert len(used) == len(queries)
