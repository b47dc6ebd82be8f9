"""Documents that are replaced and removed are those of a folder built anew."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities.documents import change_documents as change_module
from hybridkg.entities.documents import next_segments
from hybridkg.entities.documents.change_documents import DocumentChanges, change_documents
from hybridkg.entities.documents.document_lines import read_removals
from hybridkg.entities.documents.document_segment import SegmentSize, connect
from hybridkg.entities.documents.document_store import Documents, add_documents
from hybridkg.entities.documents.segments import newest_first
from hybridkg.errors import LoadError
from hybridkg.rdf.terms import BlankNode, NamedNode

IRIS = ["http://e/a", "http://e/b", "http://e/é", "urn:z"]
FIELDS = ["body", "note", "title"]

text = st.sampled_from(["", " ", "a", "b", "é" * 300])
value = st.one_of(st.none(), text, st.lists(text, max_size=2))
fields = st.dictionaries(st.sampled_from(FIELDS), value, max_size=3)
iri = st.sampled_from(IRIS)
load = st.tuples(st.just("load"), st.lists(st.tuples(iri, fields), max_size=4))
change = st.tuples(st.just("change"), st.dictionaries(iri, st.none() | fields, max_size=3))
merging = st.sampled_from([1, 1, 1, 2, 3, 99])  # how many of the newest segments become one
steps = st.lists(st.tuples(st.one_of(load, change), merging), min_size=1, max_size=14)


def lines(path, *values):
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))
    return path


def listed(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def texts_of(folder):
    """Everything that the folder answers."""
    found = Documents.open(folder)
    return {
        "fields": found.fields(),
        "len": len(found),
        "stream": {field: list(found.stream(field)) for field in [*FIELDS, "none"]},
        "values": {field: list(found.values(field)) for field in FIELDS},
        "document": {iri: found.document(NamedNode(iri)) for iri in [*IRIS, "urn:none"]},
        "texts": {(iri, field): found.texts(NamedNode(iri), field) for iri in IRIS for field in FIELDS},
        "blank": (found.texts(BlankNode("a"), "title"), found.document(BlankNode("a"))),
    }


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tombstones(path):
    connection = connect(path)
    rows = connection.execute("SELECT field, entity FROM text WHERE texts = x''").fetchall()
    connection.close()
    return rows


def applied(step, state, previous, base, number):
    """Does a step, also to the state, and compares the counts; returns the live folder."""
    kind, what = step
    folder, before = base / str(number), dict(state)
    if kind == "load":
        path = lines(base / f"{number}.jsonl", *({"id": iri, **given} for iri, given in what))
        (count,) = add_documents([path], previous, folder)
        assert count.documents == len(what)
        for iri, given in what:
            state.update({(iri, field): listed(given[field]) for field in given})
    else:
        for iri, given in what.items():
            names = [field for of, field in state if of == iri] if given is None else given
            state.update({(iri, field): listed(given[field]) if given else [] for field in names})
    for key in [key for key, texts in state.items() if not texts]:
        del state[key]
    if kind == "load":
        return folder
    done = change_documents(what, previous, folder)
    new = {key: texts for key, texts in state.items() if before.get(key) != texts}
    gone = before.keys() - state.keys()
    assert done == DocumentChanges(
        documents=len({iri for iri, _ in new}),
        removed=len({iri for iri, _ in gone} - {iri for iri, _ in state}),
        texts=sum(map(len, new.values())),
        removed_fields=len(gone),
        entities=tuple(sorted({iri for iri, _ in {*new, *gone}})),
    )
    assert folder.exists() == bool(new or gone)
    return folder if folder.exists() else previous


@given(steps)
@settings(max_examples=examples(5, 600))
def test_after_any_changes_and_merges_the_documents_are_those_of_a_folder_built_anew(tmp_path_factory, steps):
    base = tmp_path_factory.mktemp("docs")
    previous, state, folders = None, {}, []
    with pytest.MonkeyPatch.context() as patch:
        for number, (step, merging) in enumerate(steps):
            patch.setattr(next_segments, "_due", lambda sizes, most=merging: min(len(sizes), most))
            previous = applied(step, state, previous, base, number)
            if previous is not None and previous not in [folder for folder, _ in folders]:
                folders.append((previous, contents(previous)))
                assert not tombstones(newest_first(previous)[-1]), "the oldest segment has nothing to hide"
    for folder, before in folders:
        assert contents(folder) == before
    anew = lines(base / "anew.jsonl", *({"id": iri, field: texts} for (iri, field), texts in state.items()))
    add_documents([anew], None, base / "anew")
    if previous is None:
        assert not state
    else:
        assert texts_of(previous) == texts_of(base / "anew")
    shutil.rmtree(base)


def test_small_changes_share_the_large_segment_and_make_few(tmp_path):
    whole = lines(tmp_path / "d.jsonl", *({"id": f"http://e/{i}", "body": f"{i * 7919} " * 40} for i in range(8_000)))
    add_documents([whole], None, tmp_path / "0")
    large = tmp_path / "0" / "000001.texts"
    most = 0
    for i in range(60):
        change_documents({f"http://e/{i * 50}": {"body": [f"new {i}"]}}, tmp_path / str(i), tmp_path / str(i + 1))
        segments = newest_first(tmp_path / str(i + 1))
        assert segments[-1].samefile(large)
        most = max(most, len(segments))
    assert 2 <= most <= 4
    found = Documents.open(tmp_path / "60")
    assert len(found) == 8_000
    assert [found.texts(NamedNode(f"http://e/{i * 50}"), "body") for i in range(60)] == [
        [f"new {i}"] for i in range(60)
    ]


size = st.builds(SegmentSize, st.integers(1, 1 << 40), st.integers(1, 1 << 30))


@given(st.lists(size, min_size=1, max_size=60))
def test_each_segment_is_several_times_as_large_as_the_next_newer_one(changes):
    sizes = []
    for new in changes:
        sizes.insert(0, new)
        due = next_segments._due(sizes)
        sizes[:due] = [sum(sizes[1:due], sizes[0])]
        for newer, older in pairwise(sizes):
            assert older.bytes >= 4 * newer.bytes
            assert older.rows >= 4 * newer.rows
    assert len(sizes) <= 1 + math.log(sum(one.rows for one in changes), 4)


@pytest.mark.parametrize("number", [10, 1_000, 10_000])
def test_equal_changes_are_written_again_a_few_times_and_make_few_segments(number):
    sizes, written, most = [], 0, 0
    for _ in range(number):
        sizes.insert(0, SegmentSize(100_000, 1))
        due = next_segments._due(sizes)
        sizes[:due] = [sum(sizes[1:due], sizes[0])]
        written += sizes[0].rows if due > 1 else 0
        most = max(most, len(sizes))
    assert most <= 1 + math.log(number, 4)
    assert written <= number * 4 * math.log(number, 4)


def test_removed_documents_give_their_bytes_back(tmp_path):
    ids = [f"http://e/{i}" for i in range(4_000)]
    add_documents([lines(tmp_path / "d.jsonl", *({"id": i, "t": "word " * 9} for i in ids))], None, tmp_path / "1")
    done = change_documents(dict.fromkeys(ids[:3_000]), tmp_path / "1", tmp_path / "2")
    assert (done.documents, done.removed, done.texts, done.removed_fields) == (0, 3_000, 0, 3_000)
    (only,) = newest_first(tmp_path / "2")
    assert not tombstones(only)
    assert only.stat().st_size < (tmp_path / "1" / "000001.texts").stat().st_size / 2


KILLED = """
import os, signal, sys
from pathlib import Path
from hybridkg.entities.documents.change_documents import change_documents

def dies_at(n):
    def hook(event, _):
        nonlocal n
        if event in ("os.link", "os.remove", "os.rename", "os.mkdir", "sqlite3.connect", "open"):
            n -= 1
            if not n:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

previous, n = Path(sys.argv[1]), 0
while True:
    n += 1
    if not (child := os.fork()):
        dies_at(n)
        change_documents({"a:0": None, "a:1": {"t": ["new"]}}, previous, previous.with_name(f"after-{n}"))
        os._exit(0)
    if os.WIFEXITED(os.waitpid(child, 0)[1]):
        break
print(n)
"""


def test_a_process_that_is_killed_leaves_the_previous_folder_as_it_was(tmp_path, monkeypatch):
    previous = None
    for number, growth in enumerate([4, 0, 0]):
        monkeypatch.setattr(next_segments, "GROWTH", growth)
        change_documents({f"a:{number}": {"t": ["x"]}, "a:1": {"u": [f"{number}"]}}, previous, tmp_path / str(number))
        previous = tmp_path / str(number)
    before = contents(previous)
    assert len(before) == 3
    ended = subprocess.run([sys.executable, "-c", KILLED, previous], capture_output=True, text=True, check=True)
    times = int(ended.stdout)
    assert times > 20
    assert contents(previous) == before
    assert len(list((tmp_path / f"after-{times}").iterdir())) == 1, "the change that nobody killed has merged all"
    assert Documents.open(tmp_path / f"after-{times}").document(NamedNode("a:1")) == {"t": ["new"], "u": ["2"]}


def test_the_last_document_can_be_removed(tmp_path):
    change_documents({IRIS[0]: {"t": ["x"]}}, None, tmp_path / "1")
    change_documents({IRIS[0]: None}, tmp_path / "1", tmp_path / "2")
    empty = Documents.open(tmp_path / "2")
    assert (len(empty), empty.fields(), list(empty.stream("t")), empty.document(NamedNode(IRIS[0]))) == (0, (), [], {})
    change_documents({IRIS[1]: {"u": ["y"]}}, tmp_path / "2", tmp_path / "3")
    assert Documents.open(tmp_path / "3").document(NamedNode(IRIS[1])) == {"u": ["y"]}


def test_what_removes_or_replaces_nothing_writes_nothing(tmp_path):
    change_documents({IRIS[0]: {"t": ["x", "y"], "u": ["z"]}}, None, tmp_path / "1")
    same = {IRIS[0]: {"t": ("x", "y"), "none": []}, IRIS[1]: None, IRIS[2]: {}, IRIS[3]: {"t": []}}
    assert change_documents(same, tmp_path / "1", tmp_path / "2") == DocumentChanges()
    assert change_documents({IRIS[0]: None}, None, tmp_path / "2") == DocumentChanges()
    assert not (tmp_path / "2").exists()


def test_the_same_changes_give_the_same_bytes(tmp_path):
    for name in ("x", "y"):
        changes = {f"http://e/{i}": {"t": [f"{i}"], "u": [f"{i} " * 90]} for i in range(500)}
        change_documents(dict(sorted(changes.items(), reverse=name == "y")), None, tmp_path / f"{name}1")
        for i, iri in enumerate(sorted(changes)[:60:3], 1):
            change_documents({iri: None}, tmp_path / f"{name}{i}", tmp_path / f"{name}{i + 1}")
    assert contents(tmp_path / "x21") == contents(tmp_path / "y21")


def test_segments_are_in_the_order_of_their_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(next_segments, "GROWTH", 0)
    change_documents({IRIS[0]: {"t": ["old"]}}, None, tmp_path / "1")
    (tmp_path / "1" / "000001.texts").rename(tmp_path / "1" / "999999.texts")
    change_documents({IRIS[0]: {"t": ["new"]}}, tmp_path / "1", tmp_path / "2")
    assert [path.name for path in newest_first(tmp_path / "2")] == ["1000000.texts", "999999.texts"]
    assert Documents.open(tmp_path / "2").texts(NamedNode(IRIS[0]), "t") == ["new"]


WRONG_CHANGES = {
    "an absolute IRI": ("relative", {"t": ["x"]}),
    "the field name 'T' is not allowed": ("a:b", {"T": ["x"]}),
    "the field name '' is not allowed": ("a:b", {"": []}),
    "field 't' must be a text or a list of texts, not a number": ("a:b", {"t": 7}),
    "not a list": ("a:b", {"t": [["x"]]}),
    "half a surrogate pair": ("a:b", {"t": ["\ud800"]}),
    "more than 256 different fields": ("a:b", {f"f{i}": ["x"] for i in range(257)}),
}


@pytest.mark.parametrize("message", WRONG_CHANGES)
def test_a_wrong_change_is_named_and_nothing_is_written(tmp_path, message):
    iri, fields = WRONG_CHANGES[message]
    with pytest.raises(LoadError, match=message) as caught:
        change_documents({"a:a": {"t": ["fine"]}, iri: fields}, None, tmp_path / "d")
    assert caught.value.place in ("", f"<{iri}>")
    assert not (tmp_path / "d").exists()


def test_a_document_has_a_largest_size(tmp_path, monkeypatch):
    monkeypatch.setattr(change_module, "MAX_LINE_LENGTH", 1_000)
    with pytest.raises(LoadError, match="a document of more than"):
        change_documents({"a:b": {"t": ["é" * 300], "u": ["é" * 300]}}, None, tmp_path / "d")
    assert change_documents({"a:b": {"t": ["é" * 300], "u": ["é" * 200]}}, None, tmp_path / "d").texts == 2


def test_a_removed_field_leaves_room_for_another(tmp_path):
    change_documents({"a:b": {f"f{i}": ["x"] for i in range(256)}}, None, tmp_path / "1")
    change_documents({"a:b": {"f0": []}}, tmp_path / "1", tmp_path / "2")
    change_documents({"a:b": {"g": ["x"]}}, tmp_path / "2", tmp_path / "3")
    more = lines(tmp_path / "d.jsonl", {"id": "a:c", "h": None, "i": []}, {"id": "a:c", "j": "x"})
    with pytest.raises(LoadError, match="more than 256") as caught:
        add_documents([more], tmp_path / "3", tmp_path / "4")
    assert caught.value.place == f"{more}:2"


def test_ids_of_documents_to_remove_are_read_from_lines(tmp_path):
    path = tmp_path / "gone.jsonl.gz"
    path.write_bytes(gzip.compress('{"id": "a:b"}\n\n{"id": "http://e/é"}\n'.encode()))
    assert list(read_removals(path)) == ["a:b", "http://e/é"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a:b", "title": null}', "'title' beside 'id', in a file of documents to remove"),
        ('{"iri": "a:b"}', "no 'id'"),
        ('{"id": "b"}', "an absolute IRI"),
        ('"a:b"', "must be a JSON object, not a text"),
        ("a:b", "not JSON"),
    ],
)
def test_a_wrong_line_of_a_removal_is_named(tmp_path, line, message):
    path = tmp_path / "gone.jsonl"
    path.write_text('{"id": "a:a"}\n' + line + "\n")
    with pytest.raises(LoadError, match=message) as caught:
        list(read_removals(path))
    assert caught.value.place == f"{path}:2"


def test_a_triple_file_is_no_file_of_documents_to_remove(tmp_path):
    (tmp_path / "f.ttl").write_text("")
    with pytest.raises(LoadError, match=r"come as \.jsonl"):
        list(read_removals(tmp_path / "f.ttl"))
