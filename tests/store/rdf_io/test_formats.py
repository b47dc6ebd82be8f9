from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse, serialize
from sampling import examples

from hybridkg.errors import LoadError
from hybridkg.store.generations.folder import Folder
from hybridkg.store.rdf_io.formats import FORMATS, format_of

TRIPLES = '<http://e/a> <http://e/p> <http://e/b> , "x"@en , 7 . <http://e/b> <http://e/p> "é\\n" .'
COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def compressions(extension):
    """(ending, function) pairs: all of them for N-Triples, and for the other formats in `make test-all`."""
    return [pair for pair in COMPRESS.items() if not pair[0] or extension == ".nt" or examples(0, 1)]


@pytest.mark.parametrize("extension", FORMATS)
def test_every_format_and_compression_gives_the_same_graph(extension, tmp_path, load_into, dump):
    quads = list(parse(TRIPLES, format=RdfFormat.TURTLE))
    want = sorted(map(str, quads))
    items = quads if FORMATS[extension].syntax.supports_datasets else [quad.triple for quad in quads]
    text = serialize(items, format=FORMATS[extension].syntax)
    for compression, compress in compressions(extension):
        path = tmp_path / f"f{extension}{compression}"
        path.write_bytes(compress(text))
        folder = Folder.create(tmp_path / f"{compression}.kb")
        assert load_into(folder, path)[0].statements == 4
        assert dump(folder) == want


@pytest.mark.parametrize("extension", FORMATS)
def test_a_byte_order_mark_is_no_part_of_a_text(extension, tmp_path, load_into, dump):
    triples = [quad.triple for quad in parse(TRIPLES, format=RdfFormat.TURTLE)]
    text = serialize(triples, format=FORMATS[extension].syntax)
    for compression, compress in compressions(extension):
        path = tmp_path / f"f{extension}{compression}"
        path.write_bytes(compress(b"\xef\xbb\xbf" + text))
        assert load_into(Folder.create(tmp_path / f"{compression}.kb"), path)[0].statements == 4
    (tmp_path / f"only{extension}").write_bytes(b"\xef\xbb\xbf")
    if extension == ".nt":
        assert load_into(Folder.create(tmp_path / "empty.kb"), tmp_path / "only.nt")[0].statements == 0


def test_named_graphs_are_kept(folder, tmp_path, load_into, dump):
    path = tmp_path / "f.trig"
    path.write_text("<http://e/g> { <http://e/a> <http://e/p> 1 } <http://e/a> <http://e/p> 1 .")
    load_into(folder, path)
    assert len(dump(folder)) == 2


def test_the_extension_is_read_in_any_case():
    assert format_of(Path("A.TTL.GZ")).name == "Turtle"


@pytest.mark.parametrize(
    ("name", "hint"), [("f.tll", "did you mean '.ttl'?"), ("f.n3", "did you mean '.nt'?"), ("f", ""), ("f.gz", "")]
)
def test_an_unknown_extension_lists_the_known_ones(name, hint):
    with pytest.raises(LoadError) as caught:
        format_of(Path(name))
    assert "known: .nt, .nq, .ttl, .trig, .rdf, .owl, .xml, .jsonld" in caught.value.message
    assert ".gz, .bz2, .xz" in caught.value.message
    assert caught.value.hint == hint


def test_text_documents_are_told_their_option():
    with pytest.raises(LoadError, match="has text documents, not RDF") as caught:
        format_of(Path("d.jsonl.gz"))
    assert caught.value.hint == "they are given with --text d.jsonl.gz; in Python: kb.load(text='d.jsonl.gz')"
