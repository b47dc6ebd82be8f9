"""Every broken input is one LoadError that names file and line, and nothing that was loaded is lost."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading

import pytest

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import InputFile
from hybridkg.store.generations.folder import Folder
from hybridkg.store.loading import load
from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames
from hybridkg.store.rdf_io.rdf_parsing import quads_of

OPEN_XML = (
    '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
    '<rdf:Description rdf:about="http://e/a">\n<e:p>v</e:p>\n</rdf:Description>\n'
)
XML = OPEN_XML + "%s\n</rdf:RDF>"
GOOD = "<http://e/a> <http://e/p> <http://e/b> .\n"

BROKEN = {
    "object.nt": (GOOD + "<http://e/a> <http://e/p> oops .\n", ":2:", "not valid N-Triples: the object"),
    "open.nt": (
        GOOD + '<http://e/a> <http://e/p "x" .\n',
        ":2:",
        "not valid N-Triples: an IRI, a literal or a statement is not complete at the end of the line",
    ),
    "short.nq": (GOOD + "<http://e/a> <http://e/p>", ":2:", "not valid N-Quads"),
    "end.ttl": (GOOD * 3 + "<http://e/a> <http://e/p> ", ":4", "not valid Turtle"),
    "prefix.trig": (GOOD + "\n\nex:a ex:b ex:c .", ":4:", "not valid TriG"),
    "relative.ttl": (GOOD + "<a> <b> <c> .", ":2:", "no scheme"),
    "latin.nt": (GOOD.encode() + b'<http://e/a> <http://e/p> "caf\xe9" .\n', ":2:", "invalid utf-8"),
    "cut.rdf": (OPEN_XML, ":6:", "not well-formed XML: the file ends too early"),
    "empty.rdf": ("", ":1:", "not well-formed XML: the file has no element"),
    "empty.owl.gz": (b"", ":1:", "not well-formed XML: the file has no element"),
    "comment.rdf": ("<?xml version='1.0'?>\n<!-- nothing -->\n", ":3:", "not well-formed XML: the file has no element"),
    "turtle.rdf": ("# a comment\n@prefix e: <http://e/> .\n", ":1:", "not XML, and it looks like Turtle"),
    "sparql.owl": ("PREFIX e: <http://e/>\n", ":1:", "not XML, and it looks like Turtle"),
    "triples.rdf": (GOOD, ":1:", "not XML, and it looks like Turtle"),
    "json.rdf": ('{"@id": "http://e/a"}', ":1:", "not XML, and it looks like JSON-LD"),
    "words.rdf": ("some words", ":1:", "not well-formed XML: syntax error"),
    "amp.rdf": (XML % "<e:a>&</e:a>", ":6:", "not well-formed XML: invalid token"),
    "cut-tag.rdf": (OPEN_XML[:-8], ":5:", "not well-formed XML"),
    "tags.rdf": (XML % "<e:a></e:b>", ":6:", "mismatched tag"),
    "relative.rdf": (XML % '<rdf:Description rdf:about="x"><e:p>v</e:p></rdf:Description>', ":6", "no scheme"),
    "bomb.rdf": ('<!DOCTYPE x [\n<!ENTITY a "aaaa">\n<!ENTITY b "&a;&a;">]>\n' + XML % "&b;", ":2:", "entity 'a'"),
    "deep.rdf": (XML % ("<e:a>" * 100_000 + "</e:a>" * 100_000), ":6:", "nested more than 1000 deep"),
    "comma.jsonld": (
        '{"@context": {"n": "http://e/n"},\n"@id": "http://e/a", "n": "x", oops',
        ":2:",
        "not valid JSON-LD",
    ),
    "empty.jsonld": ("", ":1:", "not valid JSON-LD: unexpected end of file"),
    "white.jsonld": (" \n", ":2:", "not valid JSON-LD: unexpected end of file"),
    "remote.jsonld": ('{"@context": "http://schema.org/", "@id": "http://e/a"}', "", "fetches nothing"),
    "relative.jsonld": ('{"@id": "rel", "http://e/p": "x"}', "", "relative IRI 'rel'"),
    "deep.jsonld": ("[" * 100_000 + "]" * 100_000, ":1", "not valid JSON-LD"),
    "deep-terms.ttl": (
        GOOD + "<http://e/a> <http://e/p> " + "<<( <http://e/a> <http://e/p> " * 100_000 + "1" + " )>>" * 100_000 + ".",
        ":2",
        "nested more than 100 deep",
    ),
    "packed.nt": (gzip.compress(GOOD.encode()), "", "but a .gz archive"),
    "cut.nt.gz": (gzip.compress(GOOD.encode() * 999)[:-20], "", "gzip archive ends too early"),
    "cut.nt.bz2": (bz2.compress(GOOD.encode() * 999)[:-20], "", "bzip2 archive ends too early"),
    "cut.nt.xz": (lzma.compress(GOOD.encode() * 999)[:-20], "", "xz archive ends too early"),
    "plain.nt.gz": (GOOD, "", "not a whole gzip archive"),
    "plain.nt.bz2": (GOOD, "", "not a whole bzip2 archive"),
    "plain.nt.xz": (GOOD, "", "not a whole xz archive"),
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A folder with a graph of one good file; no broken file changes it."""
    folder = Folder.create(tmp_path_factory.mktemp("malformed") / "kb")
    good = folder.path.with_name("good.nt")
    good.write_text('<http://e/old> <http://e/p> "1" .\n')
    with folder.building() as building:
        load(building, [good])
    return folder, good


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_its_line_and_nothing_is_lost(name, loaded, tmp_path, load_into, dump):
    content, line, message = BROKEN[name]
    (folder, good), path = loaded, tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before, generation = dump(folder), folder.live_name()
    with pytest.raises(LoadError) as caught:
        load_into(folder, good, path)
    error = caught.value
    assert message.lower() in error.message.lower()
    assert error.place.startswith(str(path) + line)
    assert dump(folder) == before
    assert folder.live_name() == generation
    assert not [entry.name for entry in folder.path.iterdir() if entry.name.startswith(".")]


def test_a_missing_file_suggests_its_neighbour(folder, tmp_path, load_into):
    (tmp_path / "films.ttl").write_text("")
    with pytest.raises(LoadError) as caught:
        load_into(folder, tmp_path / "film.ttl")
    assert caught.value.hint == f"did you mean {str(tmp_path / 'films.ttl')!r}?"


def test_a_folder_is_not_a_file(folder, tmp_path, load_into):
    inside = tmp_path / "data"
    inside.mkdir()
    for name in ("a.aaa", "b.pdf", "c.csv", "d.nt.gz"):
        (inside / name).write_text("")
    with pytest.raises(LoadError, match="is a folder, not a file") as caught:
        load_into(folder, inside)
    assert caught.value.hint == f"give its files, such as {str(inside / 'c.csv')!r}, {str(inside / 'd.nt.gz')!r}"


QUADS = GOOD + "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n"
TURTLE = "@prefix e: <http://e/> .\ne:a e:p e:b , 5 .\n"
GRAPHS = TURTLE + "e:g {\n  e:a e:p e:c .\n}\n"
IN_XML = XML % '<rdf:Description rdf:about="http://e/b"><e:p>v</e:p></rdf:Description>'
IN_JSON = '{"@id": "http://e/a",\n"http://e/p": "v"}'
MISNAMED = [
    ("a.ttl", QUADS, "N-Quads", ".nq"),
    ("a.trig", QUADS, "N-Quads", ".nq"),
    ("a.nt.gz", QUADS, "N-Quads", ".nq.gz"),
    ("a.nt", TURTLE, "Turtle", ".ttl"),
    ("a.nq", GOOD + TURTLE, "Turtle", ".ttl"),
    ("a.ttl", GRAPHS, "TriG", ".trig"),
    ("a.jsonld", GOOD, "N-Triples", ".nt"),
    ("a.ttl", IN_XML, "RDF/XML", ".rdf"),
    ("a.nq", IN_JSON, "JSON-LD", ".jsonld"),
    ("a.ttl", QUADS + GOOD * 30_000, "N-Quads", ".nq"),
]


@pytest.mark.parametrize(("name", "content", "looks_like", "extension"), MISNAMED)
def test_a_file_of_another_format_is_told_which(name, content, looks_like, extension, loaded, tmp_path, load_into):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    with pytest.raises(LoadError) as caught:
        load_into(loaded[0], path)
    hint = f"its content looks like {looks_like}: give it a name that ends in '{extension}'"
    assert caught.value.hint == hint
    renamed = path.rename(tmp_path / f"right{extension}")
    with InputFile(renamed) as file:
        assert sum(batch.statements for batch in quads_of(file, BlankNodeNames(1))) > 0


@pytest.mark.parametrize("name", ["object.nt", "end.ttl", "prefix.trig", "short.nq", "comma.jsonld", "deep-terms.ttl"])
def test_a_broken_file_looks_like_no_other_format(name, loaded, tmp_path, load_into):
    path = tmp_path / name
    path.write_text(BROKEN[name][0])
    with pytest.raises(LoadError) as caught:
        load_into(loaded[0], path)
    assert "looks like" not in caught.value.hint


@pytest.mark.parametrize("extension", ["nt", "nq", "ttl", "trig", "nt.gz"])
def test_an_empty_file_has_no_statements(extension, folder, tmp_path, load_into):
    path = tmp_path / f"empty.{extension}"
    path.write_bytes(b"")
    assert load_into(folder, path)[0].statements == 0


def test_a_pipe_has_statements_though_its_size_is_0(folder, tmp_path, load_into):
    path = tmp_path / "pipe.ttl"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(GOOD,))
    writer.start()
    with InputFile(path) as file:
        assert sum(batch.statements for batch in quads_of(file, BlankNodeNames(1))) == 1
    writer.join()


def test_brackets_in_literals_and_comments_are_not_nesting(folder, tmp_path, load_into):
    path = tmp_path / "code.ttl"
    text = "<<( " * 200
    path.write_text(
        f'<http://e/a> <http://e/p> "{text}", """{text}\n"{text}""", \'{text}\' . # {text}\n'
        + "<http://e/a> <http://e/q> <<( <http://e/a> <http://e/p> 1 )>> .\n" * 3
    )
    assert load_into(folder, path)[0].statements == 6


@pytest.mark.parametrize(
    "text", ["<a:b> <c:d> " + "[" * 100_000, "<a:b> <c:d> " + "(" * 100_000 + ")" * 100_000 + " ."]
)
def test_deep_turtle_does_not_end_the_process(text, tmp_path):
    path = tmp_path / "deep.ttl"
    path.write_text(text)
    program = (
        "import sys; from pathlib import Path; from hybridkg.rdf.input_file import InputFile\n"
        "from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames\n"
        "from hybridkg.store.rdf_io.rdf_parsing import quads_of\n"
        "from hybridkg.errors import LoadError\n"
        "try: print(sum(b.statements for b in quads_of(InputFile(Path(sys.argv[1])), BlankNodeNames(1))))\n"
        "except LoadError as e: print(e)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ["a.ttl", "a.nt", "a.jsonld"])
def test_a_text_in_another_encoding_is_told_how_to_convert_it(name, folder, tmp_path, load_into):
    text = '{"@id": "http://e/a", "http://e/p": "caf\u00e9"}' if name == "a.jsonld" else GOOD.replace("b>", "\u00e9>")
    for encoding in ("latin-1", "utf-16"):
        (tmp_path / name).write_text(text, encoding=encoding)
        with pytest.raises(LoadError) as caught:
            load_into(folder, tmp_path / name)
        if encoding == "latin-1":
            assert "invalid UTF-8" in caught.value.message
            assert "iconv -f LATIN1 -t UTF-8 FILE" in caught.value.hint


def test_an_encoding_that_rdf_xml_declares_is_named_and_the_hint_leads_to_a_file_that_loads(
    folder, tmp_path, load_into, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text = XML.replace("?>", ' encoding="ISO-8859-1"?>', 1) % "" + "\n"
    (tmp_path / "a.rdf").write_text(text.replace(">v<", ">caf\u00e9<"), encoding="latin-1")
    with pytest.raises(LoadError, match="its XML declaration names ISO-8859-1, and only UTF-8 is read") as caught:
        load_into(folder, tmp_path / "a.rdf")
    command = caught.value.hint.partition(": ")[2].replace("FILE", "a.rdf").replace("NEW", "new.rdf")
    subprocess.run(["sh", "-c", command], check=True)
    load_into(folder, tmp_path / "new.rdf")


@pytest.mark.parametrize("name", ["http://example.org/a.ttl", "HTTPS://example.org/a", "ftp://example.org/a.nt.gz"])
def test_an_address_is_not_fetched(name, folder, load_into):
    with pytest.raises(LoadError) as caught:
        load_into(folder, name)
    assert caught.value.message == f"{name!r} is an address, and hybridkg fetches nothing from the network"
    assert caught.value.hint == f"download it first: curl -OL {name}"


def test_a_knowledge_base_is_no_input(folder, load_into):
    with pytest.raises(LoadError, match="is a knowledge base, and one cannot be loaded into another"):
        load_into(folder, folder.path)


@pytest.mark.parametrize("source", [42, None, 1.5, object])
def test_what_is_no_input_is_said_to_be_none(source, folder, load_into):
    with pytest.raises(LoadError, match="it is not a file name, graph or collection of statements"):
        load_into(folder, source)
