"""Notes about words that change the meaning of a question, and that no constraint has taken over."""

from __future__ import annotations

import pytest

from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.unread import unread
from hybridkg.asking.words import read_question
from hybridkg.kb.asking import interpreted
from hybridkg.kb.snapshot import snapshot_of


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("films not by Ridley Scott", "'not' is not understood: no constraint is negated"),
        ("films by Ridley Scott or Fritz Lang", "'or' is not understood: constraints are joined by 'and'"),
        ("films without director", "'without director' is no constraint: it names no relation that some answers lack"),
        ("the oldest films by Fritz Lang", "'oldest' is not understood: the answers are not put in such an order"),
        ("how many films since 1980", "'how many' is not understood: the answers are listed, not counted"),
        ("films with less than 7 actors", "'less than 7' is compared with no property"),
    ],
)
def test_a_part_that_is_not_understood_has_a_note(films, question, note):
    assert note in interpreted(films, question, limit=10).notes


@pytest.mark.parametrize(
    "question",
    [
        "films by Ridley Scott after 1980",
        "films not before 1980",
        'films like "not or without"',
        "films since at most 1980",
        "films between 1970 and 1980",
        "mars astronaut",
    ],
)
def test_a_part_that_is_understood_or_quoted_has_none(films, question):
    assert interpreted(films, question, limit=10).notes == ()


def test_a_name_without_a_constraint_has_a_note(films):
    base = snapshot_of(films).asked
    question = read_question('films by "Ridley Scott"', base.names.analyzer)
    names = find_mentions(question, base).found
    note = "'Ridley Scott' is a name, and only its words rank"
    assert unread(question, frozenset(), names) == (note,)
    assert unread(question, frozenset(range(2, 4)), names) == ()


def test_remarks_begin_with_the_names_without_a_node(films):
    found = interpreted(films, "films not by Nosuch Person", limit=10)
    assert found.remarks[0] == "no node with a class has the name 'Nosuch Person'"
    assert found.remarks[1:] == found.notes != ()


@pytest.mark.parametrize("question", ["FILMS BY RIDLEY SCOTT", "Show Me Films Of Ridley Scott"])
def test_the_class_of_the_answers_is_no_name_without_a_node(films, question):
    assert interpreted(films, question, limit=10).remarks == ()


def test_a_node_without_a_class_is_no_anchor_and_the_remark_says_so(films):
    assert interpreted(films, 'films of the genre "Drama"', limit=10).remarks == (
        "no node with a class has the name 'Drama'",
    )
