"""The laws of questions (hybridkg/asking): what holds for any text, also for a hostile one."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridkg.asking import emit, slots
from hybridkg.asking.emit import fusion_query
from hybridkg.asking.interpret import surroundings
from hybridkg.errors import HybridkgError, QueryLimitError, UserError
from hybridkg.kb.search.base import SearchedBase
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.query.parser import parse
from hybridkg.query.write import write

PARTS = (
    "films", "directors", "by", "Ridley Scott", "Kubrick", '"Alien"', '"Blade Runner"', "from", "after", "before",
    "since", "between", "and", "1970", "1982", "without", "genre", "space", "crew", "of the same director as", '"', "“",
    "{", "}", "?x", "$a", "<http://e/x>", "\\", "'", "UNION", "-not", "title:x", "ж",
)  # fmt: skip
questions = st.lists(st.sampled_from(PARTS), min_size=1, max_size=9).map(" ".join)
hostile = st.text(max_size=60)


def rows(kb, query):
    return [str(row["x"]) for row in kb.query(query)]


def interpreted(kb, question):
    """The interpretation; None for a text without a word."""
    try:
        return kb.interpret(question, limit=10_000)
    except UserError:
        return None


@given(questions | hostile)
def test_emitted_queries_parse_and_round_trip(films, question):
    found = interpreted(films, question)
    for query in () if found is None else filter(None, (found.query, found.strict, found.pattern)):
        tree = parse(query)
        assert parse(write(tree)) == tree
        assert write(tree) == write(parse(write(tree)))


@example("films by Ridley Scott after 1980")
@example('films of the same director as "Alien" before 1985')
@example("films by Kubrick from 1960 to 1970 on war")
@given(questions)
def test_strict_rows_are_the_soft_rows_that_satisfy_all_constraints_in_the_same_order(films, question):
    found = interpreted(films, question)
    if found is None or found.pattern is None:
        return
    satisfied = set(rows(films, found.pattern))
    assert len(satisfied) == found.slots.answers
    expected = [node for node in rows(films, found.query) if node in satisfied]
    assert set(expected) == satisfied
    assert (rows(films, found.strict) if found.strict else []) == expected


@pytest.mark.parametrize(
    "question", ["space films since 1970", "films after 1960 by the crew", "films before 2010 on space"]
)
def test_strict_rows_are_the_soft_ones_where_only_the_best_are_ranked(films, monkeypatch, question):
    monkeypatch.setattr(emit, "MAX_RANKED", 2)
    monkeypatch.setattr(emit, "TOP", 2)
    monkeypatch.setattr(emit, "BEST", 3)
    found = films.interpret(question)
    satisfied = set(rows(films, found.pattern))
    strict = rows(films, found.strict)
    assert len(strict) < len(satisfied)
    assert strict == [node for node in rows(films, found.query) if node in satisfied]


@given(questions | hostile)
def test_a_question_without_a_constraint_is_the_plain_fusion_byte_for_byte(films, question):
    found = interpreted(films, question)
    if found is None or found.slots.constraints:
        return
    snapshot = snapshot_of(films)
    around = surroundings(found.slots.question, snapshot.asked, SearchedBase(films, snapshot, {}).prefixes, 10_000)
    assert found.query == fusion_query(found.slots.question, around)
    assert (found.strict, found.pattern) == (None, None)


def test_the_class_of_a_question_without_a_constraint_is_read_and_restricts_nothing(films):
    found = films.interpret("films about loneliness")
    assert not found.slots.constraints
    assert found.target is not None
    assert found.target.word == "films"
    assert found.target.iri not in found.query


@given(questions)
def test_the_same_question_has_the_same_interpretation(films, question):
    assert interpreted(films, question) == interpreted(films, question)


@given(hostile)
def test_any_text_gives_rows_or_an_error_of_ours(films, question):
    with suppress(HybridkgError):
        films.ask(question, limit=3)


def test_a_megabyte_is_refused(films):
    with pytest.raises(QueryLimitError, match=r"1,000,000 characters; at most 10,000"):
        films.interpret("films " * 166_666 + "abcd")


def test_ten_thousand_quotes_are_no_question(films):
    with pytest.raises(UserError, match="no word"):
        films.interpret('"' * 10_000)


def test_names_are_sought_in_the_first_words_only_and_the_interpretation_says_so(films):
    found = films.interpret("space " * 200 + "by Ridley Scott")
    assert found.anchors == ()
    assert found.notes == ("names are sought in the first 128 words only",)


@given(questions)
def test_strict_rows_are_the_soft_ones_also_where_the_class_is_sure(films, question):
    surest, slots.SURE_CLASS = slots.SURE_CLASS, 0.0
    try:
        found = interpreted(films, question)
    finally:
        slots.SURE_CLASS = surest
    if found is None or found.pattern is None:
        return
    satisfied = set(rows(films, found.pattern))
    assert (rows(films, found.strict) if found.strict else []) == [
        node for node in rows(films, found.query) if node in satisfied
    ]


def test_the_soft_query_of_an_unsure_class_has_rows_of_other_classes(films, monkeypatch):
    monkeypatch.setattr(slots, "SURE_CLASS", 1.1)
    found = films.interpret("films by Ridley Scott in space", limit=1000)
    assert set(rows(films, found.query)) - set(rows(films, f"SELECT ?x {{ ?x a <{found.target.iri}> }}"))
    monkeypatch.setattr(slots, "SURE_CLASS", 0.0)
    found = films.interpret("films by Ridley Scott in space", limit=1000)
    assert set(rows(films, found.query)) <= set(rows(films, f"SELECT ?x {{ ?x a <{found.target.iri}> }}"))
