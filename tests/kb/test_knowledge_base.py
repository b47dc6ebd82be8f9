"""The Python API: what a service or a notebook relies on."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from resealed import reseal
from sampling import examples

from hybridkg import HybridkgError, KnowledgeBase
from hybridkg.errors import (
    CorruptError,
    IndexCorruptError,
    IndexMissingError,
    LoadError,
    LockedError,
    NotAKnowledgeBaseError,
    ParameterError,
    QueryLimitError,
    UnknownNameError,
    UnsupportedQueryError,
    UserError,
)

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
F = rdflib.Namespace("http://example.org/films/")
SPACE = 'SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s'


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> KnowledgeBase:
    return KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("kb") / "films.kb"))


def test_rows_scores_and_facts(films):
    query = (
        "SELECT ?film { ?film <http://example.org/films/director> ?d . ?film MATCH 'astronaut mars' AS ?s } RANK BY ?s"
    )
    row = films.query(query)[0]
    assert row["film"] == F.TheMartian
    assert set(row.scores) == {"s"}
    assert row.facts() == [(F.TheMartian, F.director, F.Scott)]


def test_a_query_without_text_predicates_needs_no_index(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "f.kb")
    kb.load(FILMS, index=False)
    assert kb.query("ASK { ?s ?p ?o }").boolean is True
    with pytest.raises(IndexMissingError, match="build it with: hybridkg index"):
        kb.query(SPACE)


def test_an_rdflib_graph_is_an_input(tmp_path):
    graph = rdflib.Graph().parse(FILMS)
    kb = KnowledgeBase.create(tmp_path / "g.kb")
    counts = kb.load(graph, index=True)
    assert counts.statements == len(graph)
    with KnowledgeBase.temporary(FILMS) as other:
        assert [r["film"] for r in kb.query(SPACE)] == [r["film"] for r in other.query(SPACE)]


def test_an_open_knowledge_base_stays_on_its_state_until_refreshed(tmp_path):
    writer = KnowledgeBase.create(tmp_path / "f.kb")
    reader = KnowledgeBase.open(tmp_path / "f.kb")
    writer.load(FILMS, index=True)
    assert len(reader.query("SELECT ?s { ?s ?p ?o }")) == 0
    for _ in range(4):
        writer.index()
    assert len(reader.query("SELECT ?s { ?s ?p ?o }")) == 0
    reader.refresh()
    assert len(reader.query(SPACE)) == 4


def test_a_refresh_keeps_the_state_when_the_newest_one_is_damaged(tmp_path, copy_films):
    kb = KnowledgeBase.open(copy_films(tmp_path / "f.kb"))
    reader = KnowledgeBase.open(tmp_path / "f.kb")
    rows = reader.query(SPACE).to_python()
    kb.index()
    generation = tmp_path / "f.kb" / (tmp_path / "f.kb" / "CURRENT").read_text().strip()
    description = generation / "text" / "text.json"
    description.write_bytes(b"{" * description.stat().st_size)
    with pytest.raises(IndexCorruptError):
        reader.refresh()
    assert reader.query(SPACE).to_python() == rows


def test_many_threads_read_beside_a_writer(tmp_path, copy_films):
    kb = KnowledgeBase.open(copy_films(tmp_path / "f.kb"))
    want = [row.to_python() for row in kb.query(SPACE)]
    stop = threading.Event()

    def read() -> int:
        count = 0
        while not stop.is_set():
            assert [row.to_python() for row in kb.query(SPACE)] == want
            count += 1
        return count

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        other = KnowledgeBase.open(tmp_path / "f.kb")
        try:
            other.index()
        finally:
            stop.set()
        assert all(reader.result() > 0 for reader in readers)


def test_a_second_writer_is_told_to_wait(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "f.kb")
    with kb._folder.building(), pytest.raises(LockedError, match="has been writing to"):
        kb.load(FILMS, index=False)
    assert kb.load(FILMS).triples == 128


CRASHING = """
import sys
from pathlib import Path
from hybridkg import KnowledgeBase
kb = KnowledgeBase.open(sys.argv[1])
print("ready", flush=True)
while True:
    kb.load(sys.argv[2], index=True)
    kb.index()
"""


def test_a_writer_killed_at_any_instant_leaves_a_state_that_answers(tmp_path, copy_films):
    kb_path = tmp_path / "f.kb"
    copy_films(kb_path)
    want = [row["film"] for row in KnowledgeBase.open(kb_path).query(SPACE)]
    for i in range(0, 6, examples(3, 1)):
        child = subprocess.Popen(
            [sys.executable, "-c", CRASHING, str(kb_path), str(FILMS)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        # Different instants of load and index; which one a run hits does not matter for the law.
        time.sleep(0.03 + 0.037 * i)
        child.kill()
        child.wait()
        child.stdout.close()
        kb = KnowledgeBase.open(kb_path)
        assert [row["film"] for row in kb.query(SPACE)] == want
        kb.verify()
    assert KnowledgeBase.open(kb_path).index().entities == 31


def test_parameters_are_terms(films):
    query = "SELECT ?film { ?film <http://example.org/films/director> ?d }"
    scott = films.query(query, params={"d": F.Scott})
    assert {row["film"] for row in scott} == {F.Alien, F.BladeRunner, F.TheMartian}
    two = films.query(query, params={"?d": [F.Scott, F.Lang]})
    assert len(two) == len(scott) + len(films.query(query, params={"d": F.Lang}))
    assert len(films.query("SELECT ?f { ?f <http://example.org/films/year> $y }", params={"y": 1979})) == 2
    assert len(films.query(SPACE, params={"film": F.Alien})) == 1


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"nope": 1}, ParameterError),
        ({"d": rdflib.BNode()}, ParameterError),
        ({"d": object()}, ParameterError),
        ({"film": rdflib.Literal("x")}, ParameterError),
    ],
)
def test_a_wrong_parameter_is_an_error(films, params, error):
    with pytest.raises(error):
        films.query("SELECT ?film { ?film <http://example.org/films/director> ?d }", params=params)


def test_text_from_a_parameter_is_plain_words(films):
    query = "SELECT ?film ?s { ?film MATCH $words AS ?s } RANK BY ?s"
    assert len(films.query(query, params={"words": '-space "crew +'})) == len(
        films.query(query, params={"words": "space crew"})
    )
    with pytest.raises(HybridkgError):
        films.query(query.replace("$words", "QUERY $words"), params={"words": '"crew'})


def test_a_profile_that_was_asked_for_is_kept(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "f.kb")
    kb.load(FILMS, index=True, profile="default")
    mine = tmp_path / "mine.ttl"
    mine.write_text(
        "@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
        '<#p> a hk:Profile ; hk:fields ( [ hk:name "plot" ; hk:path rdfs:comment ] ) .'
    )
    kb.index(mine)
    assert [field["field"] for field in kb.stats()["fields"]] == ["plot"]
    assert kb.index().fields == 1
    assert KnowledgeBase.open(tmp_path / "f.kb").profile().fields[0].name == "plot"


def test_strings_of_an_aggregate_are_not_taken_for_its_pattern(films):
    query = """SELECT (GROUP_CONCAT(STR(?film); separator="{} urn:hybridkg:rows WHERE {}") AS ?all) (COUNT(*) AS ?n)
               { ?film MATCH "mars samurai" AS ?s }"""
    (row,) = films.query(query).to_python()
    assert row["n"] == 2
    assert row["all"].count("{} urn:hybridkg:rows WHERE {}") == 1


def test_opening_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(NotAKnowledgeBaseError):
        KnowledgeBase.open(tmp_path / "none.kb")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "file").write_text("mine")
    with pytest.raises(NotAKnowledgeBaseError):
        KnowledgeBase.create(tmp_path / "foreign")
    with pytest.raises(NotAKnowledgeBaseError):
        KnowledgeBase.remove(tmp_path / "foreign")
    assert (tmp_path / "foreign" / "file").read_text() == "mine"


def test_an_unknown_strategy_names_the_known_ones(films):
    with pytest.raises(UnknownNameError, match=r"bind_join, .*oxigraph, .*reference, text_topk"):
        films.query(SPACE, strategy="refrence")


def test_explain_is_a_result_too(films):
    result = films.query("EXPLAIN ANALYZE " + SPACE)
    assert result.columns == ("plan",)
    assert str(result.explanation).startswith("strategy: ")
    assert "own_us" in result.explanation.to_json()["operator"]


@settings(max_examples=examples(5, 100), deadline=None)
@given(
    st.sets(
        st.tuples(st.sampled_from("abc"), st.sampled_from("pq"), st.sampled_from(["a", "b", "1", "x y"])), max_size=8
    )
)
def test_a_query_without_ranking_is_answered_as_oxigraph_answers_it(tmp_path_factory, triples):
    import pyoxigraph as ox

    def term(text: str) -> ox.NamedNode | ox.Literal:
        return ox.NamedNode(f"http://e/{text}") if text.isalpha() else ox.Literal(text)

    data = sorted(f"<http://e/{s}> <http://e/{p}> {term(o)} ." for s, p, o in triples)
    path = tmp_path_factory.mktemp("d") / "data.nt"
    path.write_text("\n".join(data))
    store = ox.Store()
    store.bulk_load(path=str(path), format=ox.RdfFormat.N_TRIPLES)
    kb = KnowledgeBase.create(path.with_suffix(".kb"))
    kb.load(path, index=False)
    for query in (
        "PREFIX : <http://e/> SELECT ?s ?o { ?s :p ?o OPTIONAL { ?o :q ?z } FILTER(isIRI(?o) || STRLEN(?o) > 1) }",
        "PREFIX : <http://e/> SELECT ?s (COUNT(*) AS ?n) { ?s :p|:q ?o } GROUP BY ?s HAVING(COUNT(*) > 1)",
        "PREFIX : <http://e/> SELECT DISTINCT ?x { :a (:p/:q*)|^:q ?x MINUS { ?x :p :a } }",
    ):
        ours = sorted(str(row.to_python()) for row in kb.query(query))
        theirs = sorted(
            str({v.value: None if row[v] is None else _python(row[v]) for v in found.variables})
            for found in [store.query(query)]
            for row in found
        )
        assert ours == theirs


def _python(term: object) -> object:
    from hybridkg.rdf.terms import to_python

    return to_python(term)


PLAIN = "SELECT ?film ?y { ?film <http://example.org/films/year> ?y }"


@pytest.mark.parametrize("what", ["?name", "?known", "?t", "?year"])
def test_ranking_by_anything_gives_rows_whose_scores_are_numbers(films, what):
    query = f"""SELECT ?film {{ ?film <http://www.w3.org/2000/01/rdf-schema#label> ?name .
        ?film <http://example.org/films/year> ?year BIND(BOUND(?name) AS ?known)
        ?film MATCH "space" AS ?s SNIPPET ?t }} RANK BY {what}"""
    try:
        rows = list(films.query(query))
    except UserError:
        assert what == "?t"  # a snippet is made last, so a version may refuse to rank by it
        return
    assert rows
    for row in rows:
        assert set(row.scores) == {"s", "rank"} if what == "?year" else set(row.scores) <= {"s"}
        assert (row.rank_score is not None) == (what == "?year")


@pytest.mark.parametrize("query", [PLAIN, SPACE])
@pytest.mark.parametrize("limit", [-1, True, 2.0, "3", 1.5, [1]])
def test_a_limit_that_is_no_number_of_rows_is_an_error(films, query, limit):
    for ask in (films.query, films.explain):
        with pytest.raises(UserError, match="the limit is a whole number of rows, 0 or more"):
            ask(query, limit=limit)


@pytest.mark.parametrize("query", [PLAIN, SPACE])
def test_a_limit_beyond_all_numbers_of_rows_limits_nothing(films, query):
    everything = films.query(query).to_python()
    for limit in (2**63 - 1, 2**63, 2**64, 10**40):
        assert films.query(query, limit=limit).to_python() == everything
        films.explain(query, limit=limit)
    assert len(films.query(query, limit=0)) == 0


@pytest.mark.parametrize("strategy", [5, ["reference"], True])
def test_a_strategy_that_is_no_name_is_an_error(films, strategy):
    with pytest.raises(UnknownNameError, match=r"no strategy .*; known: bind_join"):
        films.query(SPACE, strategy=strategy)


@pytest.mark.parametrize("params", [5, [], "x", {5: 1}])
def test_parameters_that_are_no_mapping_of_names_are_an_error(films, params):
    with pytest.raises(ParameterError):
        films.query(SPACE, params)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p ?o SERVICE SILENT <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p ?x OPTIONAL { SERVICE SILENT ?x { ?s ?p ?o } } }",
        "ASK { FILTER EXISTS { SERVICE SILENT <http://127.0.0.1:9/> { ?s ?p ?o } } }",
        "SELECT * { { SELECT ?s { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } } } }",
        "SELECT ?s (EXISTS { SERVICE <http://127.0.0.1:9/> {} } AS ?e) { ?s ?p ?o }",
        'SELECT * { ?f MATCH "space" AS ?x SERVICE SILENT <http://127.0.0.1:9/> { ?f ?p ?o } } RANK BY ?x',
    ],
)
def test_no_query_reaches_the_network(films, query):
    for ask in (films.query, films.explain):
        with pytest.raises(UnsupportedQueryError, match="does not reach the network") as found:
            ask(query)
        span = found.value.span
        assert query[span.start : span.end].startswith("SERVICE")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (<http://e/f>(?y) AS ?z) { ?x <http://example.org/films/year> ?y }",
        "SELECT ?x { ?x <http://example.org/films/year> ?y FILTER(<http://e/f>(?y) > 1) }",
        'SELECT ?x { ?x MATCH "space" AS ?s FILTER(<http://e/f>(?s) > 1) } RANK BY ?s',
        'SELECT ?x { ?x MATCH "space" AS ?s } RANK BY <http://e/f>(?s)',
    ],
)
def test_a_function_that_nobody_knows_is_named(films, query):
    with pytest.raises(UnsupportedQueryError, match="the function <http://e/f> is not supported"):
        films.query(query)


def test_a_file_that_rotted_in_place_is_told_and_verify_names_it(tmp_path, copy_films):
    path = tmp_path / "f.kb"
    copy_films(path)
    graph = path / "000002" / "graph"
    told = 0
    for file in sorted(graph.iterdir()):
        data = file.read_bytes()
        for at in {0, len(data) // 2, max(0, len(data) - 40)}:
            file.unlink()  # it may be linked from the generation before
            file.write_bytes(data[:at] + bytes(b ^ 255 for b in data[at : at + 1]) + data[at + 1 :])
            try:
                KnowledgeBase.open(path).query("SELECT * { ?s ?p ?o }")
            except CorruptError as e:
                told += 1
                is_named = f"{file.name}' is damaged: its checksum differs" in e.message
                assert is_named or "hybridkg stats KB --verify" in e.hint  # noqa: PT017
        file.unlink()
        file.write_bytes(data)
    assert told > 5
    assert len(KnowledgeBase.open(path).query("SELECT * { ?s ?p ?o }")) == 128


def test_loading_nothing_is_an_error(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "f.kb")
    for arguments in ({}, {"index": True}, {"text": []}):
        with pytest.raises(LoadError, match="nothing to load"):
            kb.load(**arguments)


SERVER = """
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/broken":
            self.send_error(500)
            return
        found = {"film": {"type": "uri", "value": "http://example.org/films/Alien"}}
        body = json.dumps({"head": {"vars": ["film"]}, "results": {"bindings": [found]}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/sparql-results+json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture
def service():
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


def test_a_service_is_asked_where_the_settings_allow_it(tmp_path, service, copy_films):
    copy_films(tmp_path / "kb")
    settings_file = tmp_path / "kb" / "kb.toml"
    settings_file.write_text(settings_file.read_text().replace('service = "refuse"', 'service = "allow"'))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        text = 'SELECT ?film ?s { SERVICE <%s> { ?film ?p ?o } ?film MATCH "space" AS ?s } RANK BY ?s'
        assert [row["film"] for row in kb.query(text % f"{service}/sparql")] == [F.Alien]
        with pytest.raises(HybridkgError, match="a service failed") as caught:
            kb.query(text % f"{service}/broken")
        assert caught.value.code == "S304"
        assert text[caught.value.span.start :].startswith("SERVICE")
        assert len(kb.query(text.replace("SERVICE", "SERVICE SILENT") % f"{service}/broken")) > 1


def test_a_graph_comes_best_first_and_as_rdf(films):
    text = """PREFIX : <http://example.org/films/>
    CONSTRUCT { ?f :fits ?s . [] :is ?f } { ?f MATCH 'space' AS ?s } RANK BY ?s"""
    found = films.query(text)
    ranked = [row["f"] for row in films.query("SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s")]
    assert found.is_graph
    assert [row["subject"] for row in found if row["predicate"] == F.fits] == ranked
    assert len({row["subject"] for row in found if row["predicate"] == F["is"]}) == len(ranked)
    assert len(found.to_graph()) == len(found) == 2 * len(ranked)
    assert [row["predicate"] for row in films.query(text, limit=1)] == [F.fits]
    with pytest.raises(UnsupportedQueryError, match="not a graph"):
        films.query(SPACE).to_graph()


def test_describe_says_what_the_graph_says_of_the_best(films):
    found = films.query("DESCRIBE ?f { ?f MATCH 'mars astronaut' AS ?s } RANK BY ?s LIMIT 1")
    graph = films.graph()
    assert set(found.to_graph()) == set(graph.triples((F.TheMartian, None, None)))
    assert len(found) > 3


def test_a_fused_ranking_reads_distinct_subjects(films):
    text = """PREFIX : <http://example.org/films/>
    SELECT ?f ?g ?r { ?f :genre ?g . ?f MATCH 'space' AS ?s OPTIONAL { ?f MATCH 'crew' AS ?t } }
    RANK BY rrf(?s, ?t) AS ?r"""
    ranks = {row["f"]: row.scores["r"] for row in films.query(text)}
    alone = [row["f"] for row in films.query("SELECT ?f { ?f MATCH 'space' AS ?s } RANK BY ?s")]
    crew = [row["f"] for row in films.query("SELECT ?f { ?f MATCH 'space' . ?f MATCH 'crew' AS ?t } RANK BY ?t")]
    genre = set(films.graph().subjects(F.genre))
    alone, crew = ([film for film in films_ if film in genre] for films_ in (alone, crew))
    for film, value in ranks.items():
        want = 1 / (61 + alone.index(film)) + (1 / (61 + crew.index(film)) if film in crew else 0)
        assert value == pytest.approx(want, rel=1e-12)


def test_a_closed_knowledge_base_says_so(tmp_path):
    with KnowledgeBase.create(tmp_path / "kb") as kb:
        assert kb.schema().predicates == {}
    with pytest.raises(UserError, match="has been closed"):
        kb.query("ASK {}")


def test_warnings_come_with_the_answer_and_say_where(films):
    (warning,) = films.query("SELECT * { ?f <http://example.org/films/directr> ?d }").warnings
    assert warning.code == "W107"
    assert "did you mean :director (15 triples)" in warning.hint
    assert "^^^" in str(warning)
    assert films.query(SPACE).warnings == ()


@pytest.mark.parametrize("text", [None, 5, b"ASK {}"])
def test_what_is_no_text_is_no_query(films, text):
    with pytest.raises(UserError, match="a query is a text"):
        films.query(text)


BRANCHES = """PREFIX : <http://example.org/films/> SELECT * {
  { ?f MATCH 'space' AS ?s } UNION { ?d MATCH 'crew' AS ?s . ?d :director ?f }
} RANK BY rrf(?s)"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BRANCHES, r"\?s is the score of \?f in one branch, of \?d in another"),
        ("SELECT * { ?f MATCH 'space' AS ?s } RANK BY ?s AS ?s", r"\?s has a value already"),
        ("SELECT * { ?f MATCH 'space' ON (label^1e308) AS ?s } RANK BY ?s", "must be between 0 and 1,000,000"),
        ("SELECT * { ?f MATCH 'space' AS ?s } RANK BY rrf(?s^1e308)", "must be between 0 and 1,000,000"),
        ("SELECT * { GRAPH ?g { ?f MATCH ?g } }", r"\?g, the text of the MATCH"),
    ],
)
def test_what_has_no_sure_meaning_is_refused(films, text, message):
    with pytest.raises(UserError, match=message):
        films.query(text)


def test_many_named_graphs_are_asked_one_by_one_and_the_rows_have_a_limit(tmp_path, monkeypatch):
    quads = "".join(f"<http://e/{i}> <http://e/p> <http://e/{i + 1}> <http://e/g{i}> .\n" for i in range(60)) + "".join(
        f'<http://e/{i}> <http://www.w3.org/2000/01/rdf-schema#label> "red thing {i}" .\n' for i in range(200)
    )
    (tmp_path / "g.nq").write_text(quads)
    text = (
        "SELECT * { GRAPH ?g { ?a <http://e/p> ?b . ?a MATCH 'red' AS ?s OPTIONAL { ?b <http://e/q> ?c } } } RANK BY ?s"
    )
    with KnowledgeBase.temporary(tmp_path / "g.nq") as kb:
        found = kb.query(text)
        assert len(found) == 60
        assert found.strategy == "bind_join"
        assert [tuple(row.values()) for row in found] == [
            tuple(row.values()) for row in kb.query(text, strategy="reference")
        ]
        monkeypatch.setattr("hybridkg.operators.context.ExecutionContext.collect", _at_most_30)
        with pytest.raises(QueryLimitError):
            kb.query(text)


def _at_most_30(self, rows):
    collected = list(itertools.islice(rows, 301))
    if len(collected) > 300 or (collected and len(collected[0]) > 1 and len(collected) > 30):
        raise QueryLimitError("too many")
    return collected


def test_an_index_of_another_version_is_built_again(tmp_path):
    (tmp_path / "g.ttl").write_text('<http://e/f> <http://www.w3.org/2000/01/rdf-schema#label> "red fish" .')
    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(tmp_path / "g.ttl", index=True)
    header = next((tmp_path / "kb").glob("*/text/text.json"))
    header.write_text(re.sub(r'"version": \d', '"version": 9', header.read_text()))
    reseal(header.parents[1], "text/text.json")
    old = KnowledgeBase.open(tmp_path / "kb")
    with pytest.raises(CorruptError, match="text index of version 9") as caught:
        old.query("ASK {}")
    assert caught.value.hint == "index again"
    old.index()
    assert old.query('ASK { ?f MATCH "fishes" }').boolean
