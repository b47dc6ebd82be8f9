"""Laws of `title@en`: an index answers as one that holds the literals of that language only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery, speaks
from hybridkg.kb import KnowledgeBase
from hybridkg.text.index.build.builder import BuildLimits
from hybridkg.text.match_query.field_language import check_language

words = st.sampled_from(["red", "fish", "models", "modelle", "häuser", "haus", "die", "of"])
tags = st.sampled_from(["", "en", "EN-gb", "de", "de-AT", "ja"])
values = st.lists(st.tuples(st.lists(words, max_size=5).map(" ".join), tags), max_size=4, unique=True)
documents = st.dictionaries(
    st.integers(0, 12), st.fixed_dictionaries({"title": values, "body": values}), min_size=1, max_size=8
)
FIELDS = [IndexedField("title", 2.0, 0.6), IndexedField("body")]


def only(texts, name, wanted):
    """The documents with the literals of one language in one field."""
    return {
        entity: own | {name: [(text, tag) for text, tag in own[name] if speaks(tag.lower(), wanted)]}
        for entity, own in texts.items()
    }


@settings(max_examples=examples(5, 100), deadline=None)
@given(
    documents,
    st.lists(words, min_size=1, max_size=4).map(" ".join),
    st.booleans(),
    st.sampled_from(["en", "en-gb", "de", "de-at", "ja"]),
    st.sampled_from(["bm25f", "bm25", "combined_fields"]),
)
def test_a_field_in_a_language_is_that_field_without_other_literals(build, texts, asked, phrase, wanted, model):
    whole = build(texts, FIELDS, n_nodes=13)
    part = build(only(texts, "title", wanted), FIELDS, n_nodes=13)
    if not any(speaks(tag, wanted) for tag in whole._fields[0].languages):
        return
    text = f'"{asked}" fish' if phrase else asked
    choices = (FieldChoice("title", None if model != "bm25" else 1.0, (), wanted), FieldChoice("body"))
    plain = (FieldChoice("title", choices[0].weight), FieldChoice("body"))
    for fields, same in (((choices[0],), (plain[0],)), (choices, plain)):
        got = whole.score_all(TextQuery(text, wanted, fields=fields, model=model))
        want = part.score_all(TextQuery(text, wanted, fields=same, model=model))
        assert got[0].tolist() == want[0].tolist()
        assert got[1].tolist() == want[1].tolist()
        ids = np.arange(13, dtype=np.uint32)
        assert np.array_equal(
            whole.score(TextQuery(text, wanted, fields=fields, model=model), ids),
            part.score(TextQuery(text, wanted, fields=same, model=model), ids),
            equal_nan=True,
        )


@settings(max_examples=examples(5, 100), deadline=None)
@given(documents, st.integers(1, 30))
def test_the_size_of_a_chunk_changes_nothing(build, texts, chunk):
    whole, cut = (
        build(texts, FIELDS, n_nodes=13),
        build(texts, FIELDS, n_nodes=13, sizes=BuildLimits(chunk_tokens=chunk)),
    )
    for tag in whole._fields[0].languages:
        query = TextQuery("fish models haus", fields=(FieldChoice("title", language=tag),))
        assert whole.score_all(query)[1].tolist() == cut.score_all(query)[1].tolist()


@pytest.fixture(scope="module")
def signs(build):
    return build(
        {
            0: {"title": [("die Häuser", "de-AT"), ("the houses die", "en"), ("houses houses", "")]},
            1: {"title": [("houses", "en-GB"), ("Haus", "de")], "body": "houses"},
            2: {"title": [("house", "fr")]},
        },
        [IndexedField("title"), IndexedField("body")],
    )


def found(index, text, *fields, **more):
    return index.score_all(TextQuery(text, fields=fields, **more))[0].tolist()


@pytest.mark.parametrize(
    ("text", "language", "want"),
    [
        ("house", "en", [0, 1]),
        ("house", "EN-gb", [1]),
        ("haus", "de", [0, 1]),
        ("Häuser", "de-AT", [0]),
        ("houses", "fr", [2]),
        ("haus", "fr", []),
        ('"houses die"', "en", [0]),
        ('"häuser houses"', "de", []),
        ("-die houses", "en", [1]),
    ],
)
def test_a_language_restricts_and_stems(signs, text, language, want):
    assert found(signs, text, FieldChoice("title", language=language)) == want


def test_one_field_may_stand_in_several_languages(signs):
    both = (FieldChoice("title", language="de"), FieldChoice("title", language="en"))
    assert found(signs, "häuser", *both) == [0, 1]
    assert found(signs, "die", *both) == [0]
    (die,) = signs.terms(TextQuery("die", fields=both))
    assert die.df == 1
    with pytest.raises(TextQueryError, match="'title@de' is named twice"):
        found(signs, "die", *both, FieldChoice("title", language="DE"))


def test_statistics_are_those_of_the_language(signs):
    task = signs.task(TextQuery("house", fields=(FieldChoice("title", language="en"),)))
    assert [(f.name, f.entities, f.tokens) for f in task.fields] == [("title@en", 2, 4)]
    assert (task.n_entities, task.terms[0].df, task.terms[0].cf) == (2, 2, (2,))
    assert task.lengths[task.fields[0].row].tolist() == [3, 1, 0]


def test_a_passage_shows_a_text_of_the_language(signs):
    texts = [("title", "die Häuser", "de-AT"), ("title", "the houses die", "en"), ("title", "houses", "")]
    query = TextQuery("die", fields=(FieldChoice("title", language="de"),))
    assert signs.passage(query, texts) == "**die** Häuser"


@pytest.mark.parametrize(
    ("field", "language", "message", "hint"),
    [
        ("title", "es",
         "field 'title' has no literal in the language 'es'; its languages: de, de-at, en, en-gb, fr", ""),
        ("body", "en", "field 'body' has no literal in the language 'en'; none of its literals has a language tag",
         "write body"),
    ],
)  # fmt: skip
def test_a_language_without_literals_is_an_error_that_lists_the_others(signs, field, language, message, hint):
    with pytest.raises(UnknownNameError) as e:
        signs.check(TextQuery("house", fields=(FieldChoice(field, language=language),)))
    assert e.value.message == message
    assert hint in e.value.hint


def test_an_index_that_does_not_keep_languages_apart_says_so():
    with pytest.raises(TextQueryError, match="does not store languages, which 'title@en' needs") as e:
        check_language(IndexedField("title"), "en")
    assert "embedded" in e.value.hint


def test_a_query_names_the_language_of_a_field(tmp_path):
    (tmp_path / "d.ttl").write_text(
        "@prefix : <http://e/> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':a r:label "die Häuser"@de , "the houses"@en . :b r:label "die"@en .'
    )
    kb = KnowledgeBase.create(tmp_path / "d.kb")
    kb.load(tmp_path / "d.ttl", index=True)

    def ask(on):
        query = f'SELECT ?e ?p {{ ?e MATCH "die" ON ({on}) AS ?s SNIPPET ?p }} RANK BY ?s'
        return [(str(row["e"])[-1], str(row["p"])) for row in kb.query(query)]

    assert ask("label@de^2 b=0.3") == [("a", "**die** Häuser")]
    assert ask("label@en") == [("b", "**die**")]
    assert sorted(ask("label@en, label@de")) == [("a", "**die** Häuser"), ("b", "**die**")]
    assert "label@de^2" in str(kb.explain('SELECT ?e { ?e MATCH "die" ON (label@de^2) }'))
    with pytest.raises(UnknownNameError) as e:
        ask("label@de, label@es")
    assert "its languages: de, en" in e.value.message
    assert e.value.source.text[e.value.span.start : e.value.span.end] == "label@es"
