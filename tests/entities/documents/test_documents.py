from __future__ import annotations

import bz2
import errno
import gzip
import json
import lzma
from concurrent.futures import ThreadPoolExecutor

import pytest

from hybridkg.entities.documents import document_lines, document_segment
from hybridkg.entities.documents.document_store import Documents, add_documents
from hybridkg.errors import CorruptError, LoadError
from hybridkg.rdf.terms import NamedNode

A = NamedNode("http://e/a")


def lines(path, *values):
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))
    return path


def test_the_same_input_gives_the_same_bytes(tmp_path):
    path = lines(tmp_path / "d.jsonl", *({"id": f"http://e/{i * 7919 % 1000}", "t": "word " * i} for i in range(2000)))
    for name in ("1", "2"):
        add_documents([path], None, tmp_path / name)
    assert (tmp_path / "1" / "000001.texts").read_bytes() == (tmp_path / "2" / "000001.texts").read_bytes()


@pytest.mark.parametrize(
    ("name", "pack"), [("d.jsonl.gz", gzip.compress), ("d.jsonl.bz2", bz2.compress), ("d.ndjson.xz", lzma.compress)]
)
def test_documents_may_be_compressed(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(json.dumps({"id": A.value, "t": "x" * 500}).encode()))
    add_documents([tmp_path / name], None, tmp_path / "d")
    assert Documents.open(tmp_path / "d").texts(A, "t") == ["x" * 500]


WRONG = {
    "{": "not JSON: expecting property name",
    "[1]": "a line must be a JSON object, not a list",
    '{"title": "x"}': "no 'id'",
    '{"id": "relative", "t": "x"}': "'id' must be an absolute IRI, not 'relative'",
    '{"id": "http://e/a b", "t": "x"}': "'id' must be an absolute IRI",
    '{"id": 7}': "'id' must be an absolute IRI, not 7",
    '{"id": "a:b", "t": 7}': "field 't' must be a text or a list of texts, not a number",
    '{"id": "a:b", "t": ["x", null]}': "not null",
    '{"id": "a:b", "t": {"x": "y"}}': "not an object",
    '{"id": "a:b", "t": ["x", ["y"]]}': "not a list",
    '{"id": "a:b", "t": true}': "not true or false",
    '{"id": "a:b", "Title": "x"}': "the field name 'Title' is not allowed",
    '{"id": "a:b", "": "x"}': "the field name '' is not allowed",
    '{"id": "a:b", "t": "x", "t": "y"}': "the name 't' occurs twice",
    '{"id": "a:b", "t": "\\ud800"}': "half a surrogate pair",
    "[" * 100_000: "JSON nested too deeply",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_named(tmp_path, line):
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "a:b", "t": "fine"}\n\n' + line + "\n")
    with pytest.raises(LoadError) as caught:
        add_documents([path], None, tmp_path / "d")
    assert caught.value.place == f"{path}:3"
    assert WRONG[line] in caught.value.message


def test_bytes_that_are_no_utf8_are_named(tmp_path):
    (tmp_path / "d.jsonl").write_bytes(b'{"id": "a:b", "t": "caf\xe9"}\n')
    with pytest.raises(LoadError, match="not UTF-8 text: byte 0xe9 at position 24") as caught:
        add_documents([tmp_path / "d.jsonl"], None, tmp_path / "d")
    assert caught.value.place.endswith("d.jsonl:1")
    assert "iconv" in caught.value.hint


def test_a_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "d.jsonl").write_text('\ufeff{"id": "a:b", "t": "x"}\n', encoding="utf-8")
    assert add_documents([tmp_path / "d.jsonl"], None, tmp_path / "d")[0].documents == 1


def test_a_line_without_end_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(document_lines, "MAX_LINE_LENGTH", 1000)
    (tmp_path / "d.jsonl").write_text('{"id": "a:b"}\n' + "x" * 5000)
    with pytest.raises(LoadError, match="a line of more than") as caught:
        add_documents([tmp_path / "d.jsonl"], None, tmp_path / "d")
    assert caught.value.place.endswith(":2")


def test_field_names_are_bounded(tmp_path):
    path = lines(tmp_path / "d.jsonl", *({"id": "a:b", f"f{i}": "x"} for i in range(300)))
    with pytest.raises(LoadError, match="more than 256 different fields") as caught:
        add_documents([path], None, tmp_path / "d")
    assert caught.value.place.endswith(":257")


def test_an_rdf_file_is_no_text_file(tmp_path):
    (tmp_path / "f.ttl").write_text("")
    with pytest.raises(LoadError, match=r"come as \.jsonl"):
        add_documents([tmp_path / "f.ttl"], None, tmp_path / "d")


def test_an_empty_file_adds_nothing(tmp_path):
    (tmp_path / "d.jsonl").write_text("")
    assert add_documents([tmp_path / "d.jsonl"], None, tmp_path / "d")[0].documents == 0
    empty = Documents.open(tmp_path / "d")
    assert (len(empty), empty.fields(), list(empty.stream("t"))) == (0, (), [])


def test_a_full_disk_is_an_os_error(tmp_path, monkeypatch):
    path = lines(tmp_path / "d.jsonl", *({"id": f"a:{i}", "t": str(i) * 999} for i in range(2000)))
    monkeypatch.setattr(document_segment, "SCHEMA", document_segment.SCHEMA + "PRAGMA max_page_count=8;")
    with pytest.raises(OSError, match="full") as caught:
        add_documents([path], None, tmp_path / "d")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("damage", [lambda b: b[:-5000], lambda b: b"x" * 100 + b[100:], lambda b: b""])
def test_damage_is_a_corrupt_error(tmp_path, damage):
    path = lines(tmp_path / "d.jsonl", *({"id": f"a:{i}", "t": "word " * 99} for i in range(2000)))
    add_documents([path], None, tmp_path / "d")
    segment = tmp_path / "d" / "000001.texts"
    segment.write_bytes(damage(segment.read_bytes()))
    with pytest.raises(CorruptError, match=r"000001\.texts"):
        list(Documents.open(tmp_path / "d").stream("t"))


def test_many_threads_read_the_same_texts(tmp_path):
    path = lines(tmp_path / "d.jsonl", *({"id": f"a:{i}", "t": f"text {i} " * 20} for i in range(200)))
    add_documents([path], None, tmp_path / "d")
    found = Documents.open(tmp_path / "d")
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda i: found.texts(NamedNode(f"a:{i % 200}"), "t"), range(2000)))
    assert texts == [[f"text {i % 200} " * 20] for i in range(2000)]
