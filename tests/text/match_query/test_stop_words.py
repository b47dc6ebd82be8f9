"""Laws of stop words: no plain word, no length; but phrases, and texts that have nothing else, find them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def without_stop_words(values):
    """The values of a field, without stop words where it has any other word."""
    kept = [" ".join(word for word in value.split() if word not in STOPS) for value in values]
    return kept if any(kept) else values


def relation(index, text, **more):
    ids, scores = index.score_all(TextQuery(text, **more))
    return ids.tolist(), scores.tolist()


def model_of(name):
    return {"model": name, "fields": (FieldChoice("title", 1.0), FieldChoice("body", 1.0))}


@settings(max_examples=40, deadline=None)
@given(documents, texts, st.sampled_from(MODELS), st.booleans(), st.booleans())
def test_a_text_scores_as_if_no_stop_word_had_been_written(build, documents, text, model, syntax, all_terms):
    content = [word for word in text if word not in STOPS]
    if not content:
        return
    bare = {entity: {name: without_stop_words(own[name]) for name in own} for entity, own in documents.items()}
    index = build(documents, fields("standard"), n_nodes=10)
    reference = build(bare, fields("all_words"), n_nodes=10)
    more = model_of(model) | {"syntax": syntax, "all_terms": all_terms}
    assert relation(index, " ".join(text), **more) == relation(reference, " ".join(content), **more)
    query = TextQuery(" ".join(text), **more)
    assert np.array_equal(index.topk(query, 3)[0], best(*index.score_all(query), 3, None)[0])


@settings(max_examples=25, deadline=None)
@given(
    documents, st.lists(st.sampled_from(STOPS), min_size=1, max_size=3), st.sampled_from(sorted(RANKING_MODELS.names()))
)
def test_a_text_of_stop_words_alone_finds_them_and_scores_agree(build, documents, text, model):
    if RANKING_MODELS.get(model)().traits.links:
        return
    index = build(documents, fields("standard"), n_nodes=10)
    counted = build(documents, fields("all_words"), n_nodes=10)
    query = TextQuery(" ".join(text), **model_of(model))
    ids, scores = index.score_all(query)
    assert ids.tolist() == counted.score_all(query)[0].tolist()
    assert np.isfinite(scores).all()
    for k in (1, 2, 10):
        top, own = index.topk(query, k)
        wanted, wanted_scores = best(ids, scores, k, None)
        assert (top.tolist(), own.tolist()) == (wanted.tolist(), wanted_scores.tolist())
    every = index.score(query, EVERY_ID)
    assert every[ids].tolist() == scores.tolist()


@settings(max_examples=40, deadline=None)
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


def test_lengths_do_not_count_them(bands):
    """ "The Who" has nothing else, so it has the length 2; "Red Models of the art" the length 3."""
    task = bands.task(TextQuery("red"))
    assert task.lengths[0].tolist() == [2, 2, 3, 2]
    assert bands.field_totals("title") == {"entities": 4, "tokens": 9, "mean_length": 9 / 4}


def test_explain_lists_the_searched_words_only(bands):
    assert [(one.term, one.df) for one in bands.terms(TextQuery("the red art of it"))] == [("red", 2), ("art", 2)]
    assert [(one.term, one.df) for one in bands.terms(TextQuery("the of"))] == [("the", 4), ("of", 2)]


def test_a_stop_word_in_one_language_is_a_word_in_another(build):
    index = build({0: {"title": [("die Häuser", "de")]}, 1: {"title": [("die hard", "en")]}}, [IndexedField("title")])
    index = build(
        {0: {"title": [("die Häuser", "de")]}, 1: {"title": [("die hard", "en")]}},
        [IndexedField("title", analyzer="standard")],
    )
    assert index.task(TextQuery("hard")).lengths[0].tolist() == [1, 2]
    assert relation(index, "die hard")[0] == [0, 1]
    assert relation(index, "die häuser", language="de")[0] == [0]


@pytest.mark.parametrize("language", sorted(STEMMERS))
def test_every_language_with_a_stemmer_has_stop_words(language):
    analyzer = ANALYZERS.get("standard")()
    own = stop_words(stemmer_of(language))
    assert len(own) >= 40
    assert all(analyzer.words(word) == [word] for word in own)
    assert all(analyzer.is_stop_word(word.upper(), stemmer_of(language)) for word in own)


def test_accents_and_elisions_do_not_hide_a_stop_word():
    analyzer = ANALYZERS.get("standard")()
    for word, language in [("fur", "de"), ("FÜR", "de"), ("l'à", "fr"), ("it’s", "en"), ("τοῦ", "el"), ("ή", "el")]:
        (raw,) = analyzer.words(word)
        assert analyzer.is_stop_word(raw, stemmer_of(language)), word
    assert not analyzer.is_stop_word("will", "english")
    assert not analyzer.is_stop_word("the", "")
    assert not ANALYZERS.get("all_words")().is_stop_word("the", "english")


def test_an_index_is_the_same_whatever_the_sizes_of_batches(build):
    from hybridkg.text.index.build.builder import BuildLimits

    documents = {
        i: {"title": [("the state of the art " * (i % 4), "en"), ("die " * i, "de")], "body": "who of " * i}
        for i in range(30)
    }
    indexes = [
        build(documents, fields("standard"), sizes=sizes)
        for sizes in (BuildLimits(), BuildLimits(direct_bytes=1, batch_bytes=60, chunk_tokens=7, workers=1))
    ]
    for text in ("state", "the", '"of the art"'):
        for query in (TextQuery(text), TextQuery(text, fields=(FieldChoice("title", language="en"),))):
            one, other = (index.score_all(query) for index in indexes)
            assert (one[0].tolist(), one[1].tolist()) == (other[0].tolist(), other[1].tolist())
            assert np.array_equal(indexes[0].task(query).lengths, indexes[1].task(query).lengths)
