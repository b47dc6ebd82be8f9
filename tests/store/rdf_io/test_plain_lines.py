"""Lines that pass the parser by are those that it would give back unchanged, and nothing else changes."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse, serialize

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import InputFile
from hybridkg.store.rdf_io import rdf_parsing
from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames
from hybridkg.store.rdf_io.plain_lines import plain_end
from hybridkg.store.rdf_io.rdf_parsing import quads_of

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

PLAIN = [
    "<http://a/s> <http://a/p> <http://a/o> .\n",
    "<https://a.b-c.org/x/y;z=1,2?q=%C3%A9&r=a/b?#frag/1?> <http://a/p> <http://a> .\n",
    '<http://a/s> <http://a/p> "" .\n',
    '<http://a/s> <http://a/p> "text <b> . _:x ^^ @en # no comment"@en .\n',
    '<http://a/s> <http://a/p> "Grüße, \u4f60\u597d \U0001f600 \x80\x9f\u2028\ufeff"@de-at .\n',
    f'<http://a/s> <http://a/p> "042"^^<{XSD}integer> .\n',
    "<http://a/Caf\u00e9/\u4e2d> <http://a/p> <http://a/#\u03b1> .\n",
]

OTHER = [
    "\n",
    "# a comment\n",
    "_:b <http://a/p> <http://a/o> .\n",
    "<http://a/s> <http://a/p> _:b .\n",
    "<http://a/s> <http://a/p> <http://a/o> <http://a/g> .\n",
    "<http://a/s>  <http://a/p> <http://a/o> .\n",
    "<http://a/s> <http://a/p> <http://a/o> . # why\n",
    "<http://a/s> <http://a/p> <http://a/o> .\r\n",
    "<urn:x> <http://a/p> <http://a/o> .\n",
    "<http://a:80/s> <http://a/p> <http://a/o> .\n",
    "<http://u@a/s> <http://a/p> <http://a/o> .\n",
    '<http://a/s> <http://a/p> "a\\tb\\"c" .\n',
    '<http://a/s> <http://a/p> "\\u00e9" .\n',
    '<http://a/s> <http://a/p> "x"@EN .\n',
    '<http://a/s> <http://a/p> "x"@de-Latn-AT .\n',
    f'<http://a/s> <http://a/p> "x"^^<{XSD}string> .\n',
    "<http://a/s> <http://a/p> <<( <http://a/s> <http://a/p> <http://a/o> )>> .\n",
]

WRONG = [
    "<http://a/s> <http://a/p> <http://a/o>\n",
    "<relative> <http://a/p> <http://a/o> .\n",
    "<http://a/%zz> <http://a/p> <http://a/o> .\n",
    "<http://a/s s> <http://a/p> <http://a/o> .\n",
    "<http://a/s#a#b> <http://a/p> <http://a/o> .\n",
    '<http://a/s> <http://a/p> "x"@ .\n',
    f'<http://a/s> <http://a/p> "x"^^<{RDF}langString> .\n',
    '<http://a/s> <http://a/p> "open .\n',
    '"x" <http://a/p> <http://a/o> .\n',
    "nonsense\n",
]


def lines_of(text):
    return sorted(line for line in text.split(b"\n") if line)


def written(batches):
    """Number of statements, and the statements."""
    found, n = [], 0
    for batch in batches:
        n += batch.statements
        renamed = serialize(batch.renamed, format=RdfFormat.N_QUADS)
        assert lines_of(renamed) == lines_of(batch.renamed_text)
        found += lines_of(batch.plain) + lines_of(renamed)
    return n, sorted(found)


def reference(path, form):
    """By the parser alone."""
    quads = list(parse(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), format=form))
    batch = BlankNodeNames(1).renamed(quads)
    return len(quads), sorted(lines_of(batch.plain) + lines_of(batch.renamed_text))


@pytest.mark.parametrize("line", PLAIN)
def test_plain_lines_are_what_oxigraph_would_write(line):
    text = line.encode()
    assert plain_end(text) == len(text)
    assert plain_end(text * 3 + b"x", len(text)) == 3 * len(text)
    assert serialize(parse(text, format=RdfFormat.N_TRIPLES), format=RdfFormat.N_QUADS) == text


@pytest.mark.parametrize("line", OTHER + WRONG)
def test_others_are_not(line):
    assert plain_end(line.encode()) == 0
    assert plain_end(PLAIN[0].encode() + line.encode() + PLAIN[0].encode()) == len(PLAIN[0])


def test_text_that_is_no_utf_8_is_not_plain():
    line = PLAIN[3].encode()
    assert plain_end(line + line.replace(b"text", b"te\xffxt") + line) == len(line)
    assert plain_end(line.replace(b"text", b"te\xc3")) == 0


@given(st.text(st.characters(codec="utf-8"), max_size=8), st.text(st.characters(codec="utf-8"), max_size=8))
def test_whatever_is_plain_comes_back_from_the_parser(iri, text):
    line = f'<http://a/{iri}> <http://a/p> "{text}" .\n'.encode()
    if plain_end(line) == len(line):
        assert serialize(parse(line, format=RdfFormat.N_TRIPLES), format=RdfFormat.N_QUADS) == line


@given(st.data())
def test_a_file_is_read_as_by_the_parser_alone(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("f", numbered=True)
    kinds = st.sampled_from(PLAIN + OTHER)
    lines = data.draw(st.lists(st.one_of(st.sampled_from(PLAIN), kinds), max_size=40))
    path = folder / "f.nq"
    text = "".join(lines).encode()
    path.write_bytes(
        text[: -data.draw(st.integers(0, 1))] if text.endswith(b".\n") and data.draw(st.booleans()) else text
    )
    with pytest.MonkeyPatch.context() as patched, InputFile(path) as file:
        patched.setattr(rdf_parsing, "PARSED_AT_ONCE", data.draw(st.sampled_from([1, 100, 64_000])))
        patched.setattr("hybridkg.rdf.input_file.BLOCK", data.draw(st.sampled_from([7, 300, 1 << 20])))
        patched.setattr(rdf_parsing, "MAX_REST_LENGTH", data.draw(st.sampled_from([5, 1 << 20])))
        assert written(quads_of(file, BlankNodeNames(1))) == reference(path, RdfFormat.N_QUADS)


@pytest.mark.parametrize("block", [50, 1 << 20])
@pytest.mark.parametrize("wrong", WRONG)
def test_an_error_has_the_place_that_the_parser_alone_gives(tmp_path, monkeypatch, wrong, block):
    monkeypatch.setattr("hybridkg.rdf.input_file.BLOCK", block)
    monkeypatch.setattr(rdf_parsing, "PARSED_AT_ONCE", 1)
    path = tmp_path / "f.nt.gz"
    text = (PLAIN[0] * 5 + OTHER[2] * 3 + PLAIN[4] * 2 + wrong + PLAIN[0]).encode()
    path.write_bytes(gzip.compress(text))
    with pytest.raises(SyntaxError) as alone:
        list(parse(text, format=RdfFormat.N_TRIPLES))
    with InputFile(path) as file, pytest.raises(LoadError) as caught:
        list(quads_of(file, BlankNodeNames(1)))
    assert caught.value.place == f"{path}:{alone.value.lineno}:{alone.value.offset}"
