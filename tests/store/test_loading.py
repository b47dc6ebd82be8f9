from __future__ import annotations

import gzip
import sys

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, Store, parse, serialize
from sampling import examples

from hybridkg.errors import LoadError
from hybridkg.rdf.terms import XSD, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple
from hybridkg.store import loading
from hybridkg.store.generations.folder import Folder
from hybridkg.store.rdf_io import byte_feed, nesting_guard, part_writer
from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames


def write(path, text):
    path.write_text(text)
    return path


def test_counts_say_what_was_read_and_what_is_new(folder, tmp_path, load_into):
    one = write(tmp_path / "1.nt", "<a:a> <a:p> <a:b> .\n<a:a> <a:p> <a:b> .\n<a:a> <a:p> <a:c> .\n")
    two = write(tmp_path / "2.nt", "<a:a> <a:p> <a:c> .\n<a:a> <a:p> <a:d> .\n")
    counts = load_into(folder, one, two)
    assert [(c.name, c.statements, c.new) for c in counts] == [(str(one), 3, 2), (str(two), 2, 1)]
    assert folder.current().manifest.counts["quads"] == 3


@pytest.mark.parametrize("statements", [0, 1, 499, 500, 501, 1000, 1001, 2499, 2500, 2501, 3000])
@pytest.mark.parametrize("target", ["<a:o>", "_:b"])
def test_every_statement_arrives_whatever_the_size_of_the_parts(
    target, statements, folder, tmp_path, load_into, monkeypatch
):
    monkeypatch.setattr(loading, "PART", 1000)
    monkeypatch.setattr(part_writer, "PART", 1000)
    path = write(tmp_path / "n.nt", "".join(f"<a:{i}> <a:p> {target} .\n" for i in range(statements)))
    count = load_into(folder, path)[0]
    assert (count.statements, count.new) == (statements, statements)


def test_a_load_opens_no_earlier_graph(folder, tmp_path, load_into):
    """Each opening of a graph takes 5 to 10 ms of the processor: its files are linked without one."""
    path = write(tmp_path / "n.nt", "<a:a> <a:p> <a:b> .\n")
    opened = []
    for _ in range(2):
        sys.setprofile(lambda frame, event, called: opened.append(event) if _opens(event, called) else None)
        try:
            load_into(folder, path)
        finally:
            sys.setprofile(None)
        opened.append("loaded")
    assert opened == ["loaded", "loaded"]
    assert folder.current().manifest.counts["quads"] == 1


def _opens(event, called):
    return event == "c_call" and called.__name__ == "read_only"


def test_blank_nodes_of_two_files_stay_apart(folder, tmp_path, load_into, dump):
    one = write(tmp_path / "1.nt", '_:a <a:p> "1" .\n_:b <a:p> _:a .\n')
    two = write(tmp_path / "2.ttl", '_:a <a:p> "2" . [] <a:p> ("x") .')
    load_into(folder, one, two)
    quads = dump(folder)
    assert '_:d1x1 <a:p> "1"' in quads
    assert "_:d1x2 <a:p> _:d1x1" in quads
    assert '_:d2x1 <a:p> "2"' in quads
    load_into(folder, one)
    assert '_:d3x1 <a:p> "1"' in dump(folder)
    assert folder.current().manifest.documents == 3


def test_blank_nodes_are_renamed_wherever_they_stand(folder, tmp_path, load_into, dump):
    path = write(tmp_path / "f.nq", "_:s <a:p> _:o _:g .\n<a:a> <a:p> <<( _:s <a:p> <<( <a:a> <a:p> _:o )>> )>> .\n")
    load_into(folder, path)
    assert dump(folder) == [
        "<a:a> <a:p> <<( _:d1x1 <a:p> <<( <a:a> <a:p> _:d1x2 )>> )>>",
        "_:d1x1 <a:p> _:d1x2 _:d1x3",
    ]


def test_a_first_blank_node_deep_in_a_file_is_still_renamed(folder, tmp_path, load_into, dump, monkeypatch):
    monkeypatch.setattr("hybridkg.rdf.input_file.BLOCK", 1000)
    lines = [f"<http://e/{i:06d}> <http://e/p> <http://e/o> .\n" for i in range(2000)]
    for at in (700, 1234):
        lines[at] = "<http://e/a> <http://e/p> _:b .\n"
    load_into(folder, write(tmp_path / "f.nt", "".join(lines)))
    assert [quad for quad in dump(folder) if "_:" in quad] == ["<http://e/a> <http://e/p> _:d1x1"]


node = st.sampled_from([BlankNode("a"), BlankNode("b"), NamedNode("a:a"), NamedNode("a:b")])
quad = st.builds(
    Quad,
    node,
    st.sampled_from([NamedNode("a:p"), NamedNode("a:q")]),
    st.one_of(node, st.builds(Literal, st.text(max_size=3)), st.builds(Literal, st.text('_:a<>"\\\n\r '))),
    st.sampled_from([DefaultGraph(), NamedNode("a:g"), BlankNode("a")]),
)


def renamed_slowly(quads, document):
    """One term at a time, with a list for the names."""
    seen, done = [], []
    for statement in quads:
        terms = []
        for term in statement:
            if isinstance(term, BlankNode):
                if term not in seen:
                    seen.append(term)
                terms.append(BlankNode(f"d{document}x{seen.index(term) + 1}"))
            else:
                terms.append(term)
        done.append(Quad(*terms))
    return done


@given(st.lists(quad), st.integers(1, 9))
def test_renaming_follows_the_order_of_first_appearance(quads, document):
    # a quad's own order of naming is subject, object, graph
    batch = BlankNodeNames(document).renamed(quads)
    want = renamed_slowly(quads, document)
    assert list(batch.renamed) == [quad for quad in want if "_:" in str(quad)]
    assert list(parse(batch.plain, format=RdfFormat.N_QUADS)) == [quad for quad in want if "_:" not in str(quad)]
    assert batch.statements == len(quads)
    assert batch.plain_statements == batch.plain.count(b"\n")


literals = st.one_of(
    st.builds(Literal, st.text()),
    st.builds(Literal, st.text(), datatype=st.sampled_from([NamedNode("a:é"), NamedNode(f"{XSD}integer")])),
    st.builds(Literal, st.text(), language=st.sampled_from(["en", "de-AT"])),
)
plain = st.builds(Quad, node, st.just(NamedNode("a:p")), literals, st.sampled_from([DefaultGraph(), NamedNode("a:g")]))


@given(st.lists(plain.filter(lambda quad: isinstance(quad.subject, NamedNode)), max_size=30))
@settings(deadline=None)
def test_what_is_written_beside_the_parser_is_what_was_given(quads):
    store = Store()
    with part_writer.PartWriter(store) as writer:
        for quad in quads:
            writer.add(serialize([quad], format=RdfFormat.N_QUADS), 1)
    assert set(store) == set(quads)


def test_a_failure_to_write_beside_the_parser_is_raised_and_the_rest_dropped():
    class Full:
        calls = 0

        def bulk_load(self, *_, **__):
            self.calls += 1
            raise OSError("no space")

    full = Full()

    def write():
        with part_writer.PartWriter(full) as writer:
            for _ in range(100):
                writer.add(b"", part_writer.PART)

    with pytest.raises(OSError, match="no space"):
        write()
    assert full.calls < 20


@given(st.lists(quad, max_size=20))
@settings(max_examples=examples(3, 30), deadline=None)
def test_the_same_input_gives_the_same_dump(tmp_path_factory, quads):
    base = tmp_path_factory.mktemp("same")
    path = base / "f.nq"
    path.write_bytes(serialize(quads, format=RdfFormat.N_QUADS))
    dumps = []
    for name in ("1", "2"):
        folder = Folder.create(base / name)
        for _ in range(2):
            with folder.building() as building:
                loading.load(building, [path])
        store = loading.Store.read_only(str(folder.current().graph))
        dumps.append(sorted(map(str, store)))
        assert len(store) == folder.current().manifest.counts["quads"]
    assert dumps[0] == dumps[1]


class Recorder:
    def __init__(self):
        self.calls, self.bytes, self.items = [], 0, 0

    def start(self, label, total_bytes):
        self.calls.append(("start", label, total_bytes))
        self.bytes = self.items = 0

    def advance(self, bytes_read, items):
        assert bytes_read >= 0
        assert items >= 0
        self.bytes += bytes_read
        self.items += items
        self.calls.append(("advance", self.bytes, self.items))

    def done(self, items):
        self.calls.append(("done", self.bytes, items))


@pytest.mark.parametrize("name", ["f.nt", "f.nt.gz"])
def test_progress_grows_to_the_size_of_the_file(name, folder, tmp_path, load_into, monkeypatch):
    monkeypatch.setattr("hybridkg.rdf.input_file.BLOCK", 10_000)
    text = "".join(f"<a:{i}> <a:p> <a:o{i * 7919 % 10007}> .\n" for i in range(30_000)).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    progress = Recorder()
    load_into(folder, path, progress=progress)
    assert progress.calls[0] == ("start", str(path), path.stat().st_size)
    assert progress.calls[-1] == ("done", path.stat().st_size, 30_000)
    assert progress.calls[-2][2] == 30_000
    assert len({call[1] for call in progress.calls if call[0] == "advance"}) > 2


def test_an_rdflib_graph_is_an_input(folder, load_into, dump):
    graph = rdflib.Graph()
    graph.parse(data='_:a <a:p> "x"@en, 7 . <a:b> <a:p> _:a .', format="turtle")
    count = load_into(folder, graph)[0]
    assert (count.statements, count.new) == (3, 3)
    assert dump(folder) == [
        "<a:b> <a:p> _:d1x1",
        '_:d1x1 <a:p> "7"^^<http://www.w3.org/2001/XMLSchema#integer>',
        '_:d1x1 <a:p> "x"@en',
    ]


def test_an_rdflib_dataset_keeps_its_graphs(folder, load_into, dump):
    dataset = rdflib.Dataset()
    dataset.default_graph.add((rdflib.URIRef("a:a"), rdflib.URIRef("a:p"), rdflib.Literal("x")))
    dataset.graph(rdflib.URIRef("a:g")).add((rdflib.URIRef("a:a"), rdflib.URIRef("a:p"), rdflib.Literal("y")))
    load_into(folder, dataset)
    assert dump(folder) == ['<a:a> <a:p> "x"', '<a:a> <a:p> "y" <a:g>']


def test_triples_of_pyoxigraph_are_an_input(folder, load_into, dump):
    load_into(folder, [Triple(NamedNode("a:a"), NamedNode("a:p"), BlankNode("z"))])
    assert dump(folder) == ["<a:a> <a:p> _:d1x1"]


@pytest.mark.parametrize(
    "statement",
    [
        (rdflib.Literal("x"), rdflib.URIRef("a:p"), rdflib.URIRef("a:o")),
        (rdflib.URIRef("a:s"), rdflib.BNode(), rdflib.URIRef("a:o")),
        (rdflib.URIRef("no scheme"), rdflib.URIRef("a:p"), rdflib.URIRef("a:o")),
        (rdflib.URIRef("a:s"), rdflib.URIRef("a:p")),
        "text",
    ],
)
def test_what_is_no_rdf_is_refused(statement, folder, load_into, dump):
    with pytest.raises(LoadError, match="not an RDF statement"):
        load_into(folder, [statement])
    assert dump(folder) == []


def test_a_base_resolves_relative_iris(folder, tmp_path, load_into, dump):
    load_into(folder, write(tmp_path / "f.ttl", "<a> <b> <c> ."), base_iri="http://e/")
    load_into(folder, write(tmp_path / "f.jsonld", '{"@id": "d", "http://e/b": {"@id": "c"}}'), base_iri="http://e/")
    assert dump(folder) == [f"<http://e/{s}> <http://e/b> <http://e/c>" for s in "ad"]


@given(st.text(alphabet="<>()\"'#\\ \na", max_size=60), st.integers(1, 9))
@settings(deadline=None)
def test_nesting_is_the_same_in_blocks_of_any_size(tmp_path_factory, text, size):
    path = tmp_path_factory.getbasetemp() / "nesting.ttl"
    path.write_text(text)

    def refused(block):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hybridkg.rdf.input_file.BLOCK", block)
            patch.setattr(nesting_guard, "MAX_DEPTH", 1)
            try:
                nesting_guard.check_nesting(path)
            except LoadError:
                return True
        return False

    assert refused(size) == refused(1000)


def test_watchers_see_the_whole_file_even_if_the_parser_stops_early(tmp_path):
    from hybridkg.rdf.input_file import InputFile

    path, seen = write(tmp_path / "f.xml", "abc"), []
    with InputFile(path) as file:
        feed = byte_feed.ByteFeed(file, [seen.append])
        feed.drain()
        assert feed.read(5) == b""
    assert seen == [b"abc", b""]


def test_reading_in_parts_gives_what_parsing_at_once_gives(folder, tmp_path, load_into, dump):
    text = "".join(f'<a:{i}> <a:p> "{i % 7}", <a:{i % 11}> .\n' for i in range(1500))
    load_into(folder, write(tmp_path / "f.ttl", text))
    assert dump(folder) == sorted({str(q) for q in parse(text, format=RdfFormat.TURTLE)})
