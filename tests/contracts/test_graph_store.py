"""What every graph store promises. A new backend subclasses GraphStoreContract and gives `store`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse
from sparql_server import SERVERS, SparqlServer

from hybridkg.config.settings import EndpointSettings
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Triple
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.endpoint_store import EndpointStore
from hybridkg.store.oxigraph import OxigraphStore

POND = """\
@prefix : <http://e/> .
:a :p :b , "red\\tfish\\n\\"quoted\\" \\\\" , "rot"@de ; :n 7 , 1.50 , true .
:b :p "2020-01-01"^^<http://www.w3.org/2001/XMLSchema#date> ; :links :a .
:c :p [ :q "inside" ] ; :n "+07"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""
STATEMENTS = 11
"""One of which has a number that another one writes in another way."""

E = "http://e/"


class GraphStoreContract:
    """Subclass and give `store`, which has POND in its default graph."""

    @pytest.fixture
    def store(self) -> GraphStore:
        raise NotImplementedError

    def test_rows_have_the_columns_that_were_asked_for(self, store):
        stream = store.select(f"SELECT ?o ?s WHERE {{ ?s <{E}links> ?o }}")
        assert stream.variables == ("o", "s")
        assert list(stream.rows) == [(NamedNode(f"{E}a"), NamedNode(f"{E}b"))]

    def test_literals_come_as_they_are_stored(self, store):
        rows = store.select(f"SELECT ?o WHERE {{ <{E}a> ?p ?o FILTER(isLiteral(?o)) }}").rows
        assert {str(row[0]) for row in rows} == {
            '"red\\tfish\\n\\"quoted\\" \\\\"',
            '"rot"@de',
            '"7"^^<http://www.w3.org/2001/XMLSchema#integer>',
            '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
            '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>',
        }

    def test_a_number_has_one_form_however_it_was_written(self, store):
        rows = store.select(f"SELECT ?o WHERE {{ <{E}c> <{E}n> ?o }}").rows
        assert [row[0] for row in rows] == [Literal(7)]

    def test_unbound_cells_are_none(self, store):
        rows = store.select(f"SELECT ?s ?x WHERE {{ ?s <{E}links> ?o OPTIONAL {{ ?s <{E}none> ?x }} }}").rows
        assert list(rows) == [(NamedNode(f"{E}b"), None)]

    def test_bound_variables_have_their_value_in_every_row(self, store):
        text = "SELECT ?s ?o WHERE { ?s ?p ?o }"
        assert {row[0] for row in store.select(text, {"s": NamedNode(f"{E}b")}).rows} == {NamedNode(f"{E}b")}
        assert len(list(store.select(text, {"s": NamedNode(f"{E}b"), "o": NamedNode(f"{E}a")}).rows)) == 1
        assert list(store.select(text, {"s": NamedNode(f"{E}nobody")}).rows) == []

    def test_bound_values_are_terms_and_no_syntax(self, store):
        text = "SELECT ?s ?o WHERE { ?s ?p ?o }"
        for value in ('"} ?s ?p ?o #', "\\", '"""', 'red\tfish\n"quoted" \\'):
            rows = list(store.select(text, {"o": Literal(value)}).rows)
            assert len(rows) == (1 if value.startswith("red") else 0)

    def test_ask_is_true_or_false(self, store):
        assert store.ask(f"ASK {{ <{E}a> <{E}p> ?o }}") is True
        assert store.ask(f"ASK {{ <{E}a> <{E}links> ?o }}") is False
        assert store.ask("ASK { ?s ?p ?o }", {"s": NamedNode(f"{E}b")}) is True

    def test_construct_gives_each_triple_once(self, store):
        found = list(store.triples(f"CONSTRUCT {{ <{E}x> <{E}y> ?o }} WHERE {{ ?s <{E}n> ?o }}"))
        assert len(found) == len(set(found)) == 3
        assert Triple(NamedNode(f"{E}x"), NamedNode(f"{E}y"), Literal(7)) in found

    def test_describe_tells_of_the_node(self, store):
        found = list(store.triples("DESCRIBE ?node WHERE {}", {"node": NamedNode(f"{E}b")}))
        assert {triple.predicate.value for triple in found} == {f"{E}p", f"{E}links"}

    def test_lines_are_the_rows_of_every_query(self, store):
        queries = [f"SELECT ?s ?o WHERE {{ ?s <{E}{name}> ?o }}" for name in ("links", "none", "n")]
        rows: dict[int, list[str]] = {0: [], 1: [], 2: []}
        ended = []
        for i, lines in store.select_lines(queries):
            rows[i] += lines
            ended += [] if lines else [i]
        assert sorted(ended) == [0, 1, 2]
        assert (rows[0], rows[1], len(rows[2])) == ([f"<{E}b>\t<{E}a>"], [], 4)
        texts: dict[int, bytes] = {0: b"", 1: b"", 2: b""}
        for i, text in store.select_text([(query, len(rows[i])) for i, query in enumerate(queries)]):
            texts[i] += text
        assert texts[0] == f"<{E}b>\t<{E}a>".encode()

    def test_its_length_is_the_number_of_quads(self, store):
        assert len(store) == STATEMENTS

    def test_blank_nodes_of_one_answer_are_told_apart(self, store):
        rows = list(store.select(f"SELECT ?x ?y WHERE {{ <{E}c> <{E}p> ?x . ?y <{E}q> ?z }}").rows)
        ((one, same),) = rows
        assert isinstance(one, BlankNode)
        assert one == same


class TestEmbedded(GraphStoreContract):
    @pytest.fixture
    def store(self) -> GraphStore:
        return OxigraphStore.memory(parse(POND, format=RdfFormat.TURTLE))


@pytest.fixture(scope="module", params=SERVERS)
def pond(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparqlServer]:
    """Each real server, with POND in it."""
    if why := SERVERS[request.param].unavailable():
        pytest.skip(why)
    server = SERVERS[request.param]()
    try:
        server.start()
        file = Path(tmp_path_factory.mktemp("pond"), "pond.ttl")
        file.write_text(POND)
        server.load(file)
        yield server
    finally:
        server.stop()


class TestEndpoint(GraphStoreContract):
    @pytest.fixture(params=["post", "get"])
    def store(self, pond: SparqlServer, request: pytest.FixtureRequest) -> GraphStore:
        return EndpointStore(Connection(pond.url, EndpointSettings(method=request.param)))

    def test_a_blank_node_cannot_be_asked_about(self, store):
        with pytest.raises(
            UnsupportedQueryError, match="is a blank node, and no query to an endpoint can refer to one"
        ):
            store.select("SELECT ?s ?o WHERE { ?s ?p ?o }", {"s": BlankNode("b0")})

    def test_a_blank_node_cannot_be_joined(self, store):
        with pytest.raises(UnsupportedQueryError, match=r"gives a blank node for \?x"):
            list(store.select(f"SELECT ?x WHERE {{ <{E}c> <{E}p> ?x }}", joined=True).rows)

    def test_blank_nodes_of_two_graphs_are_not_the_same(self, store):
        text = f"CONSTRUCT {{ ?x <{E}y> ?o }} WHERE {{ ?x <{E}q> ?o }}"
        (first,), (second,) = store.triples(text), store.triples(text)
        assert first.subject != second.subject
