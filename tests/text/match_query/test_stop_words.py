"""Laws of stop words: they are no plain words, but phrases, and texts that have nothing else, find them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.analysis.languages import STEMMERS, stemmer_of
from hybridkg.text.analysis.stop_word_lists import stop_words
from hybridkg.text.index.stored_fields import best

STOPS = ("the", "of", "it's", "who")
CONTENT = ("red", "fish", "state", "art", "models")
words = st.sampled_from((*STOPS, *CONTENT))
values = st.lists(st.lists(words, max_size=6).map(" ".join), max_size=2)
documents = st.dictionaries(
    st.integers(0, 9), st.fixed_dictionaries({"title": values, "body": values}), min_size=1, max_size=8
)
texts = st.lists(words, min_size=1, max_size=6)
MODELS = ("bm25f", "bm25", "combined_fields", "lm", "mlm", "prms")
EVERY_ID = np.arange(10, dtype=np.uint32)


def fields(analyzer):
    return [IndexedField("title", 2.0, 0.6, analyzer), IndexedField("body", analyzer=analyzer)]


def relation(index, text, **more):
    ids, scores = index.score_all(TextQuery(text, **more))
    return ids.tolist(), scores.tolist()


def model_of(name):
    return {"model": name, "fields": (FieldChoice("title", 1.0), FieldChoice("body", 1.0))}


@settings(max_examples=examples(5, 100), deadline=None)
@given(documents, texts, st.sampled_from(MODELS), st.booleans(), st.booleans())
def test_a_text_scores_as_if_no_stop_word_had_been_written(build, documents, text, model, syntax, all_terms):
    content = [word for word in text if word not in STOPS]
    if not content:
        return
    index = build(documents, fields("standard"), n_nodes=10)
    reference = build(documents, fields("all_words"), n_nodes=10)
    more = model_of(model) | {"syntax": syntax, "all_terms": all_terms}
    assert relation(index, " ".join(text), **more) == relation(reference, " ".join(content), **more)
    query = TextQuery(" ".join(text), **more)
    assert np.array_equal(index.topk(query, 3)[0], best(*index.score_all(query), 3, None)[0])


@settings(max_examples=examples(5, 100), deadline=None)
@given(
    documents, st.lists(st.sampled_from(STOPS), min_size=1, max_size=3), st.sampled_from(sorted(RANKING_MODELS.names()))
)
def test_a_text_of_stop_words_alone_is_a_text_like_others(build, documents, text, model):
    if RANKING_MODELS.get(model)().traits.links:
        return
    index = build(documents, fields("standard"), n_nodes=10)
    counted = build(documents, fields("all_words"), n_nodes=10)
    more = model_of(model)
    assert relation(index, " ".join(text), **more) == relation(counted, " ".join(text), **more)


@settings(max_examples=examples(5, 100), deadline=None)
@given(documents, texts, st.sampled_from(["", "~2"]))
def test_a_phrase_finds_its_stop_words(build, documents, text, window):
    index = build(documents, fields("standard"), n_nodes=10)
    counted = build(documents, fields("all_words"), n_nodes=10)
    phrase = f'"{" ".join(text)}"{window}' if len(text) > 1 else f'"{text[0]}"'
    for query in (phrase, f"red -{phrase}" if not window else phrase):
        assert relation(index, query)[0] == relation(counted, query)[0]


@pytest.fixture(scope="module")
def bands(build):
    return build(
        {
            0: {"title": "The Who"},
            1: {"title": "The Red Models"},
            2: {"title": "Red Models of the art"},
            3: {"title": "state of the art"},
        },
        fields("standard"),
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the red models", [1, 2]),
        ("+the +red", [1, 2]),
        ('+"the" +red', [1, 2]),
        ('+"the red"', [1]),
        ("the who", [0, 1, 2, 3]),
        ('"The Who"', [0]),
        ("who red", [1, 2]),
        ("red -of", [1]),
        ("th*", [0, 1, 2, 3]),
        ("title:of", [2, 3]),
        ("the -red", [0, 3]),
        ("(the of) models", [1, 2]),
    ],
)
def test_what_operators_find(bands, text, found):
    assert relation(bands, text)[0] == found


def test_the_shorter_of_two_titles_is_first_also_where_a_text_has_nothing_else(build):
    index = build({0: {"title": "The Who by Numbers"}, 1: {"title": "The Who"}}, fields("standard"))
    for text in ("the who", '"the who"'):
        assert index.topk(TextQuery(text), 2)[0].tolist() == [1, 0]


def test_explain_lists_the_searched_words_only(bands):
    assert [(one.term, one.df) for one in bands.terms(TextQuery("the red art of it"))] == [("red", 2), ("art", 2)]
    assert [(one.term, one.df) for one in bands.terms(TextQuery("the of"))] == [("the", 4), ("of", 2)]


def test_a_stop_word_of_one_field_is_one_in_all_of_them(build):
    """No field has to contain a word because the analyzer or the language of another one does not drop it."""
    mixed = [IndexedField("title", analyzer="standard"), IndexedField("name", analyzer="identifier")]
    index = build(
        {
            0: {"title": [("die Häuser", "de"), ("die hard", "en")], "name": "overTheMoon"},
            1: {"title": "The Who"},
            2: {"title": "The Red Planet", "name": "redPlanet"},
        },
        mixed,
    )
    assert relation(index, "the who")[0] == [0, 1, 2]
    assert relation(index, "the red planet")[0] == [2]
    assert relation(index, "the red planet", all_terms=True)[0] == [2]
    assert relation(index, "+the +red")[0] == [2]
    both = (FieldChoice("title", language="de"), FieldChoice("title", language="en"))
    assert relation(index, "die Häuser", fields=both, all_terms=True)[0] == [0]
    assert relation(index, "die hard", fields=both)[0] == [0]
    assert relation(index, "die", fields=both)[0] == [0]
    assert relation(index, "die hard", language="en", fields=both[1:], all_terms=True)[0] == [0]


@pytest.mark.parametrize("language", sorted(STEMMERS))
def test_every_language_with_a_stemmer_has_stop_words(language):
    analyzer = ANALYZERS.get("standard")()
    own = stop_words(stemmer_of(language))
    assert len(own) >= 40
    assert all(analyzer.words(word) == [word] for word in own)
    assert all(analyzer.is_stop_word(word, stemmer_of(language)) for word in own)


def test_elisions_do_not_hide_a_stop_word_and_accents_make_another_word():
    analyzer = ANALYZERS.get("standard")()
    for word, language in [("FÜR", "de"), ("l'à", "fr"), ("it’s", "en"), ("Let's", "en"), ("τοῦ", "el"), ("ή", "el")]:
        (raw,) = analyzer.words(word)
        assert analyzer.is_stop_word(raw, stemmer_of(language)), word
    for word, language in [("maïs", "fr"), ("män", "sv"), ("byt", "cs"), ("té", "es"), ("will", "en"), ("the", "ja")]:
        assert not analyzer.is_stop_word(word, stemmer_of(language)), word
    assert not ANALYZERS.get("all_words")().is_stop_word("the", "english")
