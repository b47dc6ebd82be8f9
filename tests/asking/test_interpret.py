"""What is understood of questions about the films."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.words import read_question
from hybridkg.errors import UserError
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.well_known import WELL_KNOWN

NS = "http://example.org/films/"


def names(result):
    return [str(row["x"]).removeprefix(NS) for row in result]


def test_a_name_is_an_anchor_whose_path_leads_to_the_class_that_the_question_names(films):
    found = films.interpret("films by Ridley Scott about androids")
    (path,) = found.paths
    assert (found.target.iri, path.anchor.iri) == (NS + "Film", NS + "Scott")
    assert [step.written for step in path.steps] == [f"^<{NS}director>"]
    assert (path.anchor.text, path.reach, found.text) == ("Ridley Scott", 3, "by about androids")


def test_the_class_of_the_answers_decides_on_the_direction(films):
    (path,) = films.interpret('directors of "Alien"').paths
    assert [step.written for step in path.steps] == [f"<{NS}director>"]


@pytest.mark.parametrize(
    ("written", "tests"),
    [
        ("since 1979", ((">=", 1979),)),
        ("after 1979", ((">", 1979),)),
        ("before 1970", (("<", 1970),)),
        ("in 1979", (("=", 1979),)),
        ("between 1970 and 1980", ((">=", 1970), ("<=", 1980))),
        ("from 1970 to 1980", ((">=", 1970), ("<=", 1980))),
        ("from 1979", (("=", 1979),)),
        ("from 1979, on crews", (("=", 1979),)),
        ("from 1979 on the crew", (("=", 1979),)),
        ("from 1979 on", ((">=", 1979),)),
        ("from 1979 on, with crews", ((">=", 1979),)),
        ("from 1979 on by Ridley Scott", ((">=", 1979),)),
        ("from 1979 onwards", ((">=", 1979),)),
        ("starting from 1979", ((">=", 1979),)),
        ("from 1979 to the present", ((">=", 1979),)),
    ],
)
def test_a_comparison_is_on_the_property_whose_range_holds_the_number(films, written, tests):
    (value,) = films.interpret(f"films {written}").values
    assert (value.predicate, value.tests) == (NS + "year", tests)


@pytest.mark.parametrize(
    ("written", "tests"),
    [
        ("after the year 1980", ((">", 1980),)),
        ("before year 1960", (("<", 1960),)),
        ("between the years 1970 and 1980", ((">=", 1970), ("<=", 1980))),
        ("between 1980 and 1970", ((">=", 1970), ("<=", 1980))),
        ("from 1980 to 1970", ((">=", 1970), ("<=", 1980))),
    ],
)
def test_the_words_the_year_hide_no_operator_and_a_range_may_begin_with_its_end(films, written, tests):
    (value,) = films.interpret(f"films {written}").values
    assert value.tests == tests


def test_a_named_node_is_not_found_by_its_own_name(films):
    pairs = films.query(
        "PREFIX : <http://example.org/films/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
        "SELECT ?f ?d ?name { ?f :director ?d ; rdfs:label ?name }"
    )
    for pair in pairs:
        found = films.ask(f"the director of {pair['name'].value}", limit=1)
        assert names(found) == [str(pair["d"]).removeprefix(NS)]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("director of Alien", "director of"),
        ("films by Ridley Scott in space", "by in space"),
        ("Solaris by Tarkovsky", "Solaris by Tarkovsky"),
    ],
)
def test_a_name_is_a_word_that_ranks_only_where_there_is_no_other(films, question, text):
    assert films.interpret(question).text == text


def test_a_repeated_constraint_counts_once(films):
    once = films.interpret("films by Ridley Scott with the crew")
    twice = films.interpret("films by Ridley Scott with the crew of Ridley Scott")
    assert len(once.paths) == len(twice.paths) == 1
    assert twice.query.count("IF(?g1, 1, 0)") == 1
    assert "?g2" not in twice.query


@pytest.mark.parametrize("word", ["without", "lacking"])
def test_what_answers_lack_is_not_their_class(films, word):
    assert films.interpret(f"films {word} a director").target.name == "film"


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    folder = tmp_path_factory.mktemp("towns")
    lines = [
        f':t{n} a :Town ; rdfs:label "Town {n}" ; :population {n} ; :yearFounded {year} .'
        for n, year in ((900, 1200), (2000, 1500), (40000, 1800), (3000000, 1900))
    ]
    heads = ["@prefix : <http://example.org/towns/> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    (folder / "towns.ttl").write_text("\n".join([*heads, *lines]))
    with KnowledgeBase.create(folder / "towns.kb") as kb:
        kb.load(folder / "towns.ttl", index=True)
        yield kb


@pytest.mark.parametrize(
    ("question", "predicate", "tests"),
    [
        ("towns with more than 2,000,000 people", "population", ((">", 2_000_000),)),
        ("towns with a population of at least 2,000", "population", ((">=", 2_000),)),
        ("towns with more than 1,500 people", "population", ((">", 1_500),)),
        ("towns with a population between 1,000 and 50,000", "population", ((">=", 1_000), ("<=", 50_000))),
        ("towns founded after 1500", "yearFounded", ((">", 1500),)),
        ("towns founded from 1500", "yearFounded", (("=", 1500),)),
        ("towns with a population from 2000", "population", ((">=", 2000),)),
    ],
)
def test_commas_between_thousands_make_a_number_that_is_no_year(towns, question, predicate, tests):
    (value,) = towns.interpret(question).values
    assert (value.predicate.rpartition("/")[2], value.tests) == (predicate, tests)


@pytest.mark.parametrize("number", ["1,5", "2,00", "0,500", "1,000,00", "20,0000", "1,000,000,000"])
def test_commas_elsewhere_and_numbers_of_more_than_nine_digits_are_none(towns, number):
    assert towns.interpret(f"towns with more than {number} people").values == ()


@pytest.mark.parametrize("written", ["films by Ridley Scott (1979)", "films by Ridley Scott, 1979, in space"])
def test_a_year_in_brackets_or_between_commas_is_a_comparison(films, written):
    (value,) = films.interpret(written).values
    assert value.tests == (("=", 1979),)


@pytest.mark.parametrize("written", ["films of 12, 1979 and more", "films (12)", "films like Alien, 1979"])
def test_another_number_is_none(films, written):
    assert films.interpret(written).values == ()


def test_a_whole_label_is_not_weakened_by_similar_ones(tmp_path):
    labels = ("Workshop on Parsing", "Proceedings of the Workshop on Parsing", "Workshop on Parsing 2")
    prefixes = "".join(f"PREFIX {name}: <{WELL_KNOWN[name]}>\n" for name in ("rdfs", "skos"))
    nodes = [
        f'<x:{n}> a <x:Venue> ; rdfs:label "{label}" ; skos:altLabel "W{n}" . <x:p{n}> a <x:Paper> ; <x:at> <x:{n}> .\n'
        for n, label in enumerate(labels)
    ]
    (tmp_path / "v.ttl").write_text("".join([prefixes, *nodes]))
    with KnowledgeBase.create(tmp_path / "v.kb") as kb:
        kb.load(tmp_path / "v.ttl", index=True)
        base = snapshot_of(kb).asked
        found = find_mentions(read_question("papers at Workshop on Parsing", base.names.analyzer), base).found
    (mention,) = [one for one in found if one.behind - one.first == 3]
    assert [choice.iri for choice in mention.choices] == ["x:0"]
    assert mention.is_exact


def test_a_number_without_an_operator_or_outside_every_range_is_text(films):
    assert films.interpret("films about 12 monkeys").values == ()
    assert films.interpret("films since 1400").values == ()
    assert films.interpret('films like "2001: A Space Odyssey"').values == ()


def test_rows_that_satisfy_all_constraints_come_first(films):
    assert names(films.ask("films by Ridley Scott after 1980"))[:2] == ["TheMartian", "BladeRunner"]
    assert names(films.ask("films by Ridley Scott after 1980", strict=True)) == ["TheMartian", "BladeRunner"]


def test_there_is_no_strict_query_where_no_node_satisfies_all(films):
    found = films.interpret("films by Ridley Scott and by Stanley Kubrick")
    assert found.strict is None or found.slots.answers
    with pytest.raises(UserError, match="no strict query"):
        films.ask("space travel", strict=True)


def test_a_misspelt_name_is_found_and_an_unknown_one_is_reported(films):
    assert films.interpret("films by Ridly Scott").anchors[0].iri == NS + "Scott"
    assert films.interpret("films by Greta Gerwig").unresolved == ("Greta Gerwig",)


def test_alternatives_are_other_readings(films):
    found = films.interpret("films by Ridley Scott after 1980")
    assert found.alternatives
    assert all(one.constraints != found.slots.constraints for one in found.alternatives)
    assert found.to_json()["alternatives"][0]["target"].startswith(NS)


@pytest.mark.parametrize("limit", [0, 10_001, True, "3"])
def test_a_limit_out_of_range_is_an_error(films, limit):
    with pytest.raises(UserError, match="the limit of a question"):
        films.interpret("films", limit=limit)


def test_a_question_is_a_text(films):
    with pytest.raises(UserError, match="a question is a text, not int"):
        films.interpret(3)
