"""Prefixes that need no declaration: kept and well-known ones. A declaration of the query wins."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib

from hybridkg import KnowledgeBase
from hybridkg.errors import ParameterError, QuerySyntaxError
from hybridkg.kb.parsed_query import ParsedQuery
from hybridkg.query.parser import parse

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
THING = "<http://{0}/thing> <http://{0}/p> {1} ."


def made(folder: Path, name: str, *texts: str, extension: str = "ttl") -> KnowledgeBase:
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"{name}{number}.{extension}")
        files[-1].write_text(text)
    kb = KnowledgeBase.create(folder / f"{name}.kb")
    for file in files:
        kb.load(file)
    return kb


@pytest.fixture(scope="module")
def one_prefix(tmp_path_factory):
    """A knowledge base that nobody changes."""
    return made(tmp_path_factory.mktemp("prefixes"), "k", "@prefix e: <http://a/> . " + THING.format("a", 1))


def value(kb: KnowledgeBase, text: str) -> list[int]:
    return [int(row["v"]) for row in kb.query(text)]


def test_two_knowledge_bases_with_one_prefix_never_share_a_parse(tmp_path):
    a = made(tmp_path, "a", "@prefix e: <http://a/> . " + THING.format("a", 1))
    b = made(tmp_path, "b", "@prefix e: <http://b/> . " + THING.format("b", 2))
    none = made(tmp_path, "none", "<http://n/thing> <http://n/p> 3 .")
    for text in ("SELECT ?v { e:thing e:p ?v }", "SELECT ?v { e:thing e:p ?v FILTER(?v < 9) }"):
        for _ in range(4):  # alone, then by the shared tree of their shape
            assert (value(a, text), value(b, text)) == ([1], [2])
            with pytest.raises(QuerySyntaxError):
                none.query(text)


def test_the_declaration_of_a_query_wins_over_a_kept_prefix_and_that_over_a_well_known_one(tmp_path):
    kb = made(tmp_path, "k", "@prefix foaf: <http://a/> . " + THING.format("a", 1) + THING.format("b", 2))
    kb.load(rdflib.Graph().parse(data="<http://xmlns.com/foaf/0.1/thing> <http://xmlns.com/foaf/0.1/p> 3 ."))
    assert value(kb, "SELECT ?v { foaf:thing foaf:p ?v }") == [1]
    assert value(kb, "PREFIX foaf: <http://b/> SELECT ?v { foaf:thing foaf:p ?v }") == [2]
    kb.set_prefixes({"foaf": None})
    assert value(kb, "SELECT ?v { foaf:thing foaf:p ?v }") == [3]


def test_an_update_and_its_transaction_know_the_prefixes(tmp_path):
    kb = made(tmp_path, "k", "@prefix e: <http://a/> . " + THING.format("a", 1))
    kb.update("DELETE { e:thing e:p ?v } INSERT { e:thing e:p 5 ; rdfs:label 'five' } WHERE { e:thing e:p ?v }")
    assert value(kb, "SELECT ?v { e:thing e:p ?v }") == [5]
    (tmp_path / "more.ttl").write_text("@prefix more: <http://more/> . more:thing more:p 7 .")
    with kb.transaction() as t:
        t.load(tmp_path / "more.ttl")
        assert [int(row["v"]) for row in t.query("SELECT ?v { more:thing more:p ?v }")] == [7]
        t.update("INSERT { more:thing more:p 8 } WHERE { more:thing more:p 7 }")
    assert sorted(value(kb, "SELECT ?v { more:thing more:p ?v }")) == [7, 8]


def test_the_prefixes_of_a_load_that_is_undone_are_not_kept(tmp_path):
    kb = made(tmp_path, "k", "@prefix e: <http://a/> . " + THING.format("a", 1))
    (tmp_path / "bad.ttl").write_text("@prefix bad: <http://bad/> . bad:a bad:p 1 . bad:a bad:p")
    (tmp_path / "good.ttl").write_text("@prefix good: <http://good/> . good:a good:p 1 .")
    with kb.transaction() as t, pytest.raises(Exception, match="bad"):
        t.load(tmp_path / "good.ttl", tmp_path / "bad.ttl")
    assert dict(kb.prefixes) == {"e": "http://a/"}


def test_the_prefixes_of_the_formats_are_kept(tmp_path):
    texts = {
        "ttl": "@prefix a: <http://a/> . PREFIX : <http://d/> a:x a:p :y .",
        "trig": "@prefix a: <http://a/> . @prefix : <http://d/> . { a:x a:p :y }",
        "rdf": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://d/" xmlns:a="http://a/">'
        '<rdf:Description rdf:about="http://a/x"><a:p rdf:resource="http://d/y"/></rdf:Description></rdf:RDF>',
        "jsonld": '{"@context": {"a": "http://a/"}, "@id": "a:x", "a:p": {"@id": "http://d/y"}}',
        "nt": "<http://a/x> <http://a/p> <http://d/y> .",
    }
    kept = {name: dict(made(tmp_path, name, text, extension=name).prefixes) for name, text in texts.items()}
    both = {"": "http://d/", "a": "http://a/"}
    rdf = {"rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#"}
    assert kept == {"ttl": both, "trig": both, "rdf": both | rdf, "jsonld": {"a": "http://a/"}, "nt": {}}


def test_prefixes_that_somebody_bound_in_an_rdflib_graph_are_kept(tmp_path):
    graph = rdflib.Graph().parse(data="<http://a/x> <http://a/p> 1 .")
    graph.bind("a", "http://a/")
    kb = KnowledgeBase.create(tmp_path / "k.kb")
    kb.load(graph)
    assert dict(kb.prefixes) == {"a": "http://a/"}


def test_the_first_namespace_stays_and_the_clash_is_reported(tmp_path):
    kb = made(tmp_path, "k", "@prefix e: <http://a/> . " + THING.format("a", 1))
    other = tmp_path / "other.ttl"
    other.write_text("@prefix e: <http://b/> . @prefix f: <http://f/> . e:x e:p 1 .")
    for index in (None, True):  # the path of small loads, and that of bulk loads
        report = kb.load(other, index=index)
        assert dict(kb.prefixes) == {"e": "http://a/", "f": "http://f/"}
        assert [w.code for w in report.warnings] == ["W302"]
        assert report.warnings[0].render() == (
            f"warning[W302]: '{other}' declares 'e:' as <http://b/>, but in queries it is <http://a/>\n"
            "  hint: the first one loaded is kept; to change it: hybridkg prefixes KB --add e=http://b/"
        )


def test_prefixes_survive_updates_index_backup_dump_and_a_second_build(tmp_path):
    first, second = (made(tmp_path, name, FILMS.read_text(), "@prefix z: <http://z/> . z:a z:p 1 .") for name in "ab")
    kept = dict(first.prefixes)
    assert {"", "rdfs", "xsd", "z"} == kept.keys()
    assert dict(second.prefixes) == kept
    first.update("INSERT DATA { z:a z:p 2 }")
    first.index()
    first.backup(tmp_path / "backup")
    KnowledgeBase.restore(tmp_path / "backup", tmp_path / "restored.kb")
    assert dict(KnowledgeBase.open(tmp_path / "restored.kb").prefixes) == kept
    first.dump(tmp_path / "dump.ttl")
    third = KnowledgeBase.create(tmp_path / "third.kb")
    third.load(tmp_path / "dump.ttl")
    assert dict(third.prefixes) == kept
    assert first.check().ok


def test_a_file_whose_triples_are_there_already_still_gives_its_prefixes(tmp_path):
    kb = made(tmp_path, "k", "<http://a/x> <http://a/p> 1 .")
    (tmp_path / "again.ttl").write_text("@prefix a: <http://a/> . a:x a:p 1 .")
    kb.load(tmp_path / "again.ttl")
    assert value(kb, "SELECT ?v { a:x a:p ?v }") == [1]
    assert kb.stats()["stale_indexes"] == []


def test_changing_prefixes_keeps_every_index(tmp_path):
    kb = made(tmp_path, "k", FILMS.read_text())
    before = kb.stats()
    kb.set_prefixes({"films": "http://example.org/films/", "xsd": None})
    after = kb.stats()
    assert {**after, "generation": ""} == {**before, "generation": ""}
    assert after["generation"] != before["generation"]
    kb.set_prefixes({"films": "http://example.org/films/"})  # which is so already
    assert kb.stats()["generation"] == after["generation"]
    assert kb.check().ok


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"1a": "http://e/"}, "'1a' is not a prefix name"),
        ({"a b": "http://e/"}, "'a b' is not a prefix name"),
        ({"a": "films/"}, "'films/' is not an absolute IRI"),
        ({"a": "http://e/<"}, "is not an absolute IRI"),
        ({"a": "http://e/" + "x" * 500}, "its namespace has more than 500 characters"),
        ({"a": 1}, "both of type str"),
        ({1: None}, "both of type str"),
        ("a", "both of type str"),
        ({"": None}, "no prefix ':' is kept; kept: e:"),
    ],
)
def test_a_prefix_that_no_query_could_use_is_refused(one_prefix, changes, message):
    with pytest.raises(ParameterError, match=message):
        one_prefix.set_prefixes(changes)
    assert dict(one_prefix.prefixes) == {"e": "http://a/"}


def test_hostile_declarations_are_bounded(tmp_path):
    many = "".join(f"@prefix p{n}: <http://p{n}/> . " for n in range(3_000))
    long = f"@prefix long: <http://{'x' * 600}/> . @prefix {'n' * 61}: <http://n/> . "
    (tmp_path / "k.ttl").write_text(many + long + "p1:a p1:p 1 .")
    kb = KnowledgeBase.create(tmp_path / "k.kb")
    first, *_, last = [(w.code, w.message) for w in kb.load(tmp_path / "k.ttl").warnings]
    assert len(kb.prefixes) == 1_000
    assert "long" not in kb.prefixes
    assert first[0] == "W302"
    assert "declares 'p1899:', but 1,000 prefixes are kept already" in first[1]
    assert last[1].endswith("more prefixes are not kept as the inputs declare them")


def test_strict_sparql_knows_no_prefix_and_a_text_outside_a_knowledge_base_well_known_ones():
    with pytest.raises(QuerySyntaxError, match="put this line first"):
        parse("SELECT * { ?x rdfs:label ?l }")
    assert ParsedQuery("SELECT * { ?x rdfs:label ?l }").written == parse(
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> SELECT * { ?x rdfs:label ?l }"
    )
    with pytest.raises(QuerySyntaxError):
        ParsedQuery("SELECT * { ?x films:year ?l }")


def test_an_unknown_prefix_is_answered_with_the_known_ones(tmp_path):
    kb = made(tmp_path, "k", "@prefix films: <http://f/> . @prefix b: <http://b/> . films:x b:p 1 .")
    with pytest.raises(QuerySyntaxError) as caught:
        kb.query("PREFIX own: <http://o/>\nSELECT * { own:x film:year ?y }")
    assert caught.value.render() == (
        "error[Q101]: the prefix 'film:' is not declared\n"
        " --> query:2:18\n"
        "  |\n"
        "2 | SELECT * { own:x film:year ?y }\n"
        "  |                  ^^^^^\n"
        "  hint: did you mean 'films'?\n"
        "        declared: own:\n"
        "        kept by the knowledge base: b:, films:"
    )


def test_a_prepared_query_has_the_prefixes_of_its_preparation(tmp_path):
    kb = made(tmp_path, "k", "@prefix e: <http://a/> . " + THING.format("a", 1) + THING.format("b", 2))
    prepared = kb.prepare("SELECT ?v { e:thing e:p ?v }")
    kb.set_prefixes({"e": "http://b/"})
    assert [int(row["v"]) for row in prepared.query()] == [1]
    assert value(kb, "SELECT ?v { e:thing e:p ?v }") == [2]


def test_the_prefixes_of_the_mapping_of_a_table_are_kept(tmp_path):
    table, mapping = tmp_path / "shoes.csv", tmp_path / "map.yml"
    table.write_text("sku,price\nA1,89\n")
    kb = KnowledgeBase.create(tmp_path / "k.kb")
    kb.load(table, id="sku", prefix="http://shop/")
    assert dict(kb.prefixes) == {"ex": "http://shop/", "shoe": "http://shop/Shoe/"}  # the second one for its rows
    assert value(kb, "SELECT ?v { ?shoe ex:price ?v }") == [89]
    mapping.write_text(
        "prefixes: {shop: 'http://shop/'}\n"
        "mappings: {m: {sources: [[shoes.csv~csv]], s: shop:$(sku), po: [[a, shop:X]]}}"
    )
    other = KnowledgeBase.create(tmp_path / "other.kb")
    other.load(table, mapping=mapping)
    assert dict(other.prefixes) == {"shop": "http://shop/"}
