"""A query without a row names the constant that no triple has in its place, and what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.errors import EndpointError
from hybridkg.kb.absent_constants import ConstantAdvisor
from hybridkg.kb.parsed_query import ParsedQuery
from hybridkg.query.constants import constant
from hybridkg.query.parameters.bind import bind
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
GENRE, RDF_TYPE = NamedNode("http://example.org/films/genre"), NamedNode(rdflib.RDF.type)
PREFIX = "PREFIX : <http://example.org/films/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    with KnowledgeBase.create(tmp_path_factory.mktemp("absent") / "films.kb") as kb:
        in_graph = Quad(NamedNode("x:s"), NamedNode("x:os"), Literal("Linux"), NamedNode("x:g"))
        float_ = Literal("1.1", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#float"))
        kb.load(FILMS, [in_graph, Triple(NamedNode("x:s"), NamedNode("x:weight"), float_)], index=True)
        yield kb


def warned(kb, text, params=None):
    return [(w.code, w.message, w.hint) for w in kb.query(PREFIX + text, params).warnings]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("?x rdfs:label 'alien'", 'no triple has the object "alien" with the predicate rdfs:label', '"Alien"'),
        ("?x rdfs:label 'Alien'@en", 'no triple has the object "Alien"@en with the predicate rdfs:label', '"Alien"'),
        ("?x rdfs:label 'Ailen'", 'no triple has the object "Ailen" with the predicate rdfs:label', '"Alien"'),
        ("?x :genre 'Drama'", 'no triple has the object "Drama" with the predicate :genre', ":Drama"),
        ("?x :genre :drama", "no triple has the object :drama with the predicate :genre", ":Drama"),
        ("?x :year '1979'", 'no triple has the object "1979" with the predicate :year', "1979"),
        (":Aliens :year ?x", "no triple has the subject :Aliens with the predicate :year", ":Alien"),
        ("?x rdfs:label 'an \"A\"'", r'no triple has the object "an \"A\"" with the predicate rdfs:label', ""),
        ("?x :year '1979'^^<x:t>", 'no triple has the object "1979"^^<x:t> with the predicate :year', "1979"),
        ("?x :year 1800", "no triple has the object 1800 with the predicate :year", ""),
        ("?x :genre <x:zzz>", "no triple has the object <x:zzz> with the predicate :genre", ""),
        ("{ ?x :by 1 } UNION { ?x :year 1 }", "no triple has the object 1 with the predicate :year", ""),
        ("?x MATCH 'mars' . ?x :genre :drama", "no triple has the object :drama with the predicate :genre", ":Drama"),
        ("?x :next/rdfs:label 'alien'", 'no triple has the object "alien" with the predicate rdfs:label', '"Alien"'),
        ("?x ^:genre/:genre+ :drama", "no triple has the object :drama with the predicate :genre", ":Drama"),
        (":drama ^:genre ?x", "no triple has the object :drama with the predicate :genre", ":Drama"),
        ("?x a 'film'", 'no triple has the object "film" with the predicate rdf:type', ":Film"),
        ("{ SELECT ?x { ?x :genre :drama } }", "no triple has the object :drama with the predicate :genre", ":Drama"),
    ],
)  # fmt: skip
def test_a_constant_that_no_triple_has_is_named_with_the_nearest(films, text, message, hint):
    found = [one for one in warned(films, f"SELECT * {{ {text} }}") if one[0] != "W107"]
    assert found == [("W112", message, f"did you mean {hint}?" if hint else "")]


@pytest.mark.parametrize(
    "condition",
    [
        "FILTER(?g IN (:drama))",
        "FILTER(?g = :drama)",
        "FILTER(isIRI(?g) && :drama = ?g)",
        "VALUES ?g { :drama }",
        "VALUES (?n ?g) { (1 :drama) (2 UNDEF) } ?x :next :Alien, :Arrival",
        "{ ?x :year ?y } FILTER(?g IN (:Drama, :drama) && ?x = :Alien)",
        "} VALUES ?g { :drama",
    ],
)
def test_so_is_an_option_of_a_filter_or_of_values(films, condition):
    text = f"SELECT * {{ ?x :genre ?g {condition} }}"
    result = films.query(PREFIX + text)
    assert len(result) == 0
    (warning,) = [w for w in result.warnings if w.code == "W112"]
    message = "no triple has the object :drama with the predicate :genre"
    assert (warning.message, warning.hint) == (message, "did you mean :Drama?")
    assert (PREFIX + text)[warning.span.start : warning.span.end] == ":drama"


def test_a_few_of_many_options_are_looked_up(films):
    options = " ".join(f":G{i}" for i in range(20))
    found = warned(films, f"SELECT * {{ VALUES ?g {{ {options} }} ?x :genre ?g ; :genre ?g }}")
    assert [message.split()[5] for _, message, _ in found] == [f":G{i}" for i in range(5)]


def test_numbers_that_are_written_alike_are_shown_with_their_datatypes(films):
    [(_, message, hint)] = warned(films, "SELECT * { ?x <x:weight> 1.1 }")
    assert message == "no triple has the object 1.1 with the predicate <x:weight>"
    assert hint == 'did you mean "1.1"^^xsd:float? 1.1 alone is an xsd:decimal'
    report = films.update("DELETE DATA { <x:s> <x:weight> 1.1 }", dry_run=True)
    assert [warning.hint for warning in report.warnings] == [hint]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?x :genre :Drama ; :year 1968 }",
        "SELECT * { ?x :year 1979 OPTIONAL { ?x :genre :drama } }",
        "SELECT * { ?x :year 1979 FILTER NOT EXISTS { ?x :genre :drama } } OFFSET 9",
        "SELECT * { ?x :year 1979 MINUS { ?x :genre :Thriller , :Drama } FILTER(?x = :Arrival) }",
        "SELECT * { ?x :genre :drama } LIMIT 0",
        "ASK { ?x :genre :drama }",
        "SELECT (COUNT(*) AS ?n) { ?x :genre :Drama }",
        "SELECT (0 AS ?n) { { ?x :year 1979 } UNION { ?x :genre :drama } } LIMIT 1",
        "SELECT (COUNT(*) AS ?n) { ?x :year 1979 OPTIONAL { ?x :genre :drama } FILTER(?x = :Arrival) }",
        "SELECT * { ?x :year ?y FILTER(?y IN (1979.0, 1e3) && ?x = :Arrival) }",
        "SELECT * { ?x :genre ?g FILTER(?g NOT IN (:drama) && (?g != :drama || ?g = :dram) && ?g = ?x) }",
        "SELECT * { ?x :year 1979 OPTIONAL { ?x :genre ?g } FILTER(?g = :drama) }",
        "ASK { ?x :genre ?g FILTER(?g = :drama) }",
        "SELECT * { GRAPH <x:h> { ?s <x:os> 'Linux' } }",
    ],
)
def test_other_queries_have_no_such_warning(films, text):
    assert warned(films, text) == []


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ('"2024-01-05"^^xsd:date', 'did you mean "2024-01-05T09:30:00Z"^^xsd:dateTime?'),
        ('"2024-01-05"', 'did you mean "2024-01-05T09:30:00Z"^^xsd:dateTime?'),
        ('"2024-01-05T00:00:00Z"^^xsd:dateTime', 'did you mean "2024-01-05T09:30:00Z"^^xsd:dateTime?'),
        ('"2024-01-15T00:00:00"^^xsd:dateTime', 'did you mean "2024-01-15"^^xsd:date?'),
        ('"2024-01-06"^^xsd:date', ""),
    ],
)
def test_a_date_is_similar_to_those_of_its_day_only(tmp_path, written, hint):
    xsd = "http://www.w3.org/2001/XMLSchema#"
    days = [Literal("2024-01-05T09:30:00Z", datatype=NamedNode(xsd + "dateTime"))]
    days += [Literal(day, datatype=NamedNode(xsd + "date")) for day in ("2024-01-15", "2024-10-05", "2023-01-05")]
    with KnowledgeBase.create(tmp_path / "d.kb") as kb:
        kb.load(Triple(NamedNode(f"x:{i}"), NamedNode("x:on"), day) for i, day in enumerate(days))
        (warning,) = kb.query(f"SELECT * {{ ?x <x:on> {written} }}").warnings
        assert (warning.code, warning.hint) == ("W112", hint)


@pytest.mark.parametrize(
    "head",
    ["(COUNT(*) AS ?n)", "(COUNT(DISTINCT ?x) AS ?n) (MIN(?x) AS ?m)", "(SUM(?x) AS ?n)", "(AVG(?x) AS ?n)",
     "(MAX(?x) AS ?n)", "(GROUP_CONCAT(?x) AS ?n)"],
)  # fmt: skip
def test_a_count_of_nothing_is_answered_like_a_query_without_a_row(films, head):
    ((code, message, hint),) = warned(films, f"SELECT {head} {{ ?x :genre :drama }}")
    assert (code, message) == ("W112", "no triple has the object :drama with the predicate :genre")
    assert hint == "did you mean :Drama?"


def test_a_parameter_is_a_constant_of_the_query(films):
    text = "SELECT * { ?x rdfs:label $name }"
    assert warned(films, text, {"name": "Alien"}) == []
    (found,) = warned(films, text, {"name": "ALIEN"})
    assert found[2] == 'did you mean "Alien"?'


def test_the_kinds_of_values_are_those_of_each_request(films):
    text = "SELECT * { ?x :year ?y FILTER(?y = $year) }"
    assert warned(films, text, {"year": 1979}) == []
    for _ in range(2):
        ((code, message, _),) = warned(films, text, {"year": "1979"})
        assert (code, message[:16]) == ("W113", "?y is a number (")
    assert warned(films, text, {"year": 1979}) == []
    assert [code for code, *_ in warned(films, text, {"year": NamedNode("x:y")})] == ["W113"]


@pytest.mark.parametrize("constant", ["$x", "{}"])
def test_a_hint_has_the_value_of_its_request(films, constant):
    for value in (50, 60, 70):
        text = f"SELECT * {{ ?f rdfs:label ?n FILTER(?n < {constant.format(value)}) }}"
        ((_, _, hint),) = warned(films, text, {"x": value} if constant == "$x" else None)
        assert hint == f"convert it: xsd:decimal(?n) < {value} leaves out what is not a number"


def test_texts_of_one_shape_have_each_their_own_warnings(films):
    for _ in range(2):
        for written, codes in (("1979", []), ('"1979"', ["W113"]), ("<x:y>", ["W113"]), ("1979.0", [])):
            text = f"SELECT * {{ ?x :year ?y FILTER(?y = {written}) }}"
            assert [code for code, *_ in warned(films, text)] == codes


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("?x rdfs:label {}", [("'alien'",), ("'Alien'@en",), ("'Solaris'",), ("'ALIEN'",)]),
        ("?x :genre ?g FILTER(?g IN ({}, {}))", [(":drama", ":Comedy"), (":drama", ":horror"), ("<x:z>", "<x:y>")]),
        ("?x :year ?y FILTER(?y = {})", [("1800",), ("1801",), ("'1802'",), ("'1803'",)]),
        ("VALUES ?g {{ {} {} }} ?x :genre ?g", [(":drama", ":d"), (":Dramas", ":drama"), (":a", ":b")]),
        ("?x rdfs:label ?n FILTER(REGEX(?n, {}))", [("'('",), ("'zzz'",), ("'['",)]),
        ("?x :year ?y FILTER(?y > {}^^<http://www.w3.org/2001/XMLSchema#date>)", [("'x'",), ("'2025-13-01'",)]),
        ("?x rdfs:label ?n FILTER(?n = {} && {} > 1)", [("'alien'", "0"), ("'x'", "1"), ("'ALIEN'", "2")]),
    ],
)
def test_an_empty_answer_has_the_warnings_of_its_text_alone(films, text, values):
    warned = set()
    for constants in values * 2:
        asked = f"{PREFIX}SELECT * {{ {text.format(*constants)} }}"
        shared, alone = films.query(asked), films.query(ParsedQuery(asked))
        assert [w.render() for w in shared.warnings] == [w.render() for w in alone.warnings]
        warned |= {constants for _ in shared.warnings}
    assert len(warned) > 1


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        ("?x $p :drama", [{"p": RDF_TYPE}, {"p": GENRE}, {"p": NamedNode("x:none")}, {"p": GENRE}]),
        ("?x $p :drama FILTER(?x != $y)", [{"p": GENRE, "y": 1}, {"p": RDF_TYPE, "y": "a"}]),
        ("?x :genre $g", [{"g": [NamedNode("x:a")]}, {"g": [GENRE, NamedNode("x:b")]}, {"g": ["x"]}]),
        ("?x :genre ?g FILTER(?g = $g)", [{"g": GENRE}, {"g": 1}, {"g": "Drama"}, {"g": NamedNode("x:c")}]),
    ],
)
def test_parameters_have_the_warnings_of_constants_in_their_place(films, text, requests):
    text = f"{PREFIX}SELECT * {{ {text} }}"
    prepared = films.prepare(text)
    for request in requests * 2:
        assert codes_of(prepared.query(request)) == codes_of(films.query(bound_alone(text, request)))


def codes_of(result):
    return [(w.code, w.message, w.hint, w.span) for w in result.warnings]


def bound_alone(text, request):
    """The query with values in place, which shares no template with another."""
    parsed = ParsedQuery(text)
    return ParsedQuery.of(bind(parsed.written, request), text)


def test_an_endpoint_that_refuses_a_look_up_takes_no_answer_away(films, monkeypatch):
    def ask(*_: object) -> bool:
        raise EndpointError("too many requests")

    monkeypatch.setattr(OxigraphStore, "ask", ask)
    assert warned(films, "SELECT * { ?x rdfs:label 'not asked before' }") == []


def test_a_constant_that_the_projection_has_costs_no_request(films, monkeypatch):
    asked = []
    monkeypatch.setattr(OxigraphStore, "ask", lambda _, sparql, *more: asked.append(sparql))
    assert warned(films, "SELECT * { ?x :genre :Drama ; :year 1968 . :Alien :year ?x }") == []
    assert asked == []


def test_the_projection_and_the_store_find_the_same_constants(films):
    snapshot = films._current_session().snapshot
    by_store, by_both = ConstantAdvisor(snapshot.store), ConstantAdvisor(snapshot.store, snapshot.graph)
    triples = [quad.triple for quad in snapshot.store.quads()]
    nodes = {term for one in triples for term in (one.subject, one.object)} | {
        Literal("01979", datatype=NamedNode(rdflib.XSD.integer)),
        Literal("1979.0", datatype=NamedNode(rdflib.XSD.decimal)),
        NamedNode("x:none"),
    }
    sought = [constant(term) for term in sorted(nodes, key=str) if not isinstance(term, BlankNode)]
    found = set()
    for predicate in sorted({one.predicate.value for one in triples}):
        for place in ("subject", "object"):
            for node in sought:
                expected = by_store._lookup(place, predicate, node)
                assert by_both._lookup(place, predicate, node) == expected, (place, predicate, node)
                found.add(expected.occurs)
    assert found == {False, True}


def test_many_values_are_compared_in_a_moment(tmp_path, within):
    with KnowledgeBase.create(tmp_path / "many.kb") as kb:
        name = NamedNode("x:name")
        kb.load(
            Triple(NamedNode(f"x:{i}"), name, Literal("a" + "b" * (i % 150) + str(i)))
            for i in range(examples(2_000, 20_000))
        )
        with within(5):
            (warning,) = kb.query('SELECT * { ?x <x:name> "ABBB15" }').warnings
        assert warning.code == "W112"


def test_a_text_in_a_language_that_nobody_knows_is_named(tmp_path):
    label = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
    with KnowledgeBase.create(tmp_path / "l.kb") as kb:
        kb.load([Triple(NamedNode("x:a"), label, Literal("猫", language="ja"))], index=True)
        (warning,) = kb.query('SELECT * { ?x MATCH "worm"@xx }').warnings
        assert (warning.code, warning.span.start, warning.span.end) == ("W115", 20, 29)
        assert warning.message == (
            "there is no stemmer for the language 'xx', and no literal of the index has it: "
            "words match as they are written"
        )
        for text in ('"猫"@ja', '"worm"@de', '"worm"', '"worm"@en-GB', "$t"):
            given = {"t": rdflib.Literal("猫", lang="ja")} if text == "$t" else None
            assert kb.query(f"SELECT * {{ ?x MATCH {text} }}", given).warnings == ()
