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
    ],
)
def test_a_comparison_is_on_the_property_whose_range_holds_the_number(films, written, tests):
    (value,) = films.interpret(f"films {written} in space").values
    assert (value.predicate, value.tests) == (NS + "year", tests)


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
