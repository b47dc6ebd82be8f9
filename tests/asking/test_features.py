"""The features that learned models read, and how training chooses among them."""

from __future__ import annotations

import pytest

from hybridkg.asking.features import class_features, route_features
from hybridkg.asking.learning import Example, best_way, learn
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.words import read_question
from hybridkg.kb.snapshot import snapshot_of

NS = "http://example.org/films/"
QUESTION = "in which years did the same people make other films as Alien"


def read(films, text):
    base = snapshot_of(films).asked
    question = read_question(text, base.names.analyzer)
    return question, find_mentions(question, base).found[-1]


@pytest.mark.parametrize(
    ("way", "features"),
    [
        ("window", ["make", "other", "film", "as"]),
        ("ordered", ["make", "other", "film", "as", "_", "make other", "other film", "film as", "as _"]),
    ],
)
def test_the_window_has_the_four_words_on_each_side(films, way, features):
    question, mention = read(films, QUESTION)
    assert [one.replace("made", "make") for one in route_features(question, mention, way)] == features


def test_the_whole_question_has_all_words_and_a_mark_for_the_name(films):
    question, mention = read(films, QUESTION)
    features = route_features(question, mention, "whole")
    assert {"year", "which year", "_", "as _"} <= set(features)
    assert not any("alien" in one.casefold() for one in features)


def test_a_name_of_several_words_is_one_feature_of_the_class(films):
    question, mention = read(films, "who made Blade Runner 2049")
    mentioned = range(mention.first, mention.behind)
    assert class_features(question, mentioned, "whole")[-2:] == ("made _", "3 words")
    assert class_features(question, mentioned, "whole").count("_") == 1


def test_a_short_question_differs_from_a_longer_one_with_the_same_words_around_the_name(films):
    short, of_short = read(films, "who made the film Alien")
    long, of_long = read(films, "who made the films by the people of the film Alien")
    assert route_features(short, of_short, "whole")[-1] == "5 words"
    assert route_features(long, of_long, "whole")[-1] == "11 words"
    assert set(route_features(short, of_short, "ordered")) <= set(route_features(long, of_long, "whole"))


def test_the_features_that_tell_most_held_out_questions_are_chosen():
    def told(right):
        return [("", outcome, (outcome if right else "same",)) for outcome in ("x", "y") * 20]

    assert best_way({"narrow": told(False), "wide": told(True)}) == "wide"
    assert best_way({"narrow": told(True), "wide": told(True)}) == "narrow"


def test_words_that_are_never_an_anchor_in_training_lose_confidence(films):
    examples = [
        Example(
            f'films like "{name}" on Arrival',
            NS + "Film",
            [(NS + iri, (((NS + "genre", False), (NS + "genre", True)),))],
        )
        for name, iri in (("Alien", "Alien"), ("Blade Runner", "BladeRunner"), ("Solaris", "Solaris"))
    ]
    assert learn(examples, snapshot_of(films).asked).links == {"arrival": 1 / 4}
