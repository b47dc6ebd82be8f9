from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.analysis.standard import StandardAnalyzer
from hybridkg.text.snippets import WIDTH

FILLER = "lorem ipsum dolor sit amet consectetur "


@pytest.fixture(scope="module")
def index(build):
    documents = {e: {"title": "common", "body": "filler words"} for e in range(30)}
    documents[0] = {"title": "rare common", "body": "machine translation"}
    documents[1] = {"title": "seldom common", "body": "machine"}
    return build(documents, [IndexedField("title"), IndexedField("body"), IndexedField("notes")])


def passage(index, query, *texts, **options):
    return index.passage(TextQuery(query, **options), [t if isinstance(t, tuple) else ("body", t, "") for t in texts])


@pytest.mark.parametrize(
    ("query", "text", "want"),
    [
        ("fish", "Fishes, fishing; a fish!", "**Fishes**, **fishing**; a **fish**!"),
        ("absent", "Fishes", ""),
        ("low-resource", "a low-resource task", "a **low**-**resource** task"),
        ('"machine translation"', "machine. Translation machine", "**machine**. **Translation** machine"),
        ("machine -translation", "machine translation", "**machine** translation"),
        ("strasse", "Die STRASSE, die straße", "Die **STRASSE**, die **straße**"),
        ("model", "the model’s\n\n\tmodels\x00 \x1b[31m", "the **model’s** **models** [31m"),
        ("翻", "机器翻译", "机器**翻**译"),
        ("title:fish", "fish", ""),
        ("", "fish", ""),
    ],
)
def test_matching_words_are_marked(index, query, text, want):
    assert passage(index, query, text) == want


def test_the_rarer_words_choose_the_passage(index):
    text = f"common common {FILLER * 10} rare seldom {FILLER * 10} common"
    shown = passage(index, "common rare seldom", text)
    assert "**rare** **seldom**" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "common" not in shown


def test_distinct_words_count_more_than_repeated_ones(index):
    text = f"{'rare ' * 20}{FILLER * 10}rare seldom"
    assert "**seldom**" in passage(index, "rare seldom", text)


def test_the_first_of_equal_passages_wins(index):
    assert passage(index, "rare", ("title", "one rare", ""), ("body", "two rare", "")) == "one **rare**"
    assert passage(index, "rare", f"first rare {FILLER * 10} second rare").startswith("first **rare**")


def test_only_on_fields_are_looked_at(index):
    texts = [("title", "rare", ""), ("notes", "rare notes", ""), ("other", "rare", "")]
    assert index.passage(TextQuery("rare", fields=(FieldChoice("notes"),)), texts) == "**rare** notes"


def test_the_language_of_a_text_selects_its_stemmer(index):
    assert passage(index, "Haus", ("body", "viele Häuser", "de"), language="de") == "viele **Häuser**"


def test_a_long_word_is_cut_in_the_passage(index):
    shown = passage(index, "x" * 300, "x" * 5000)
    assert shown == "**" + "x" * WIDTH + "**…"


@settings(deadline=None, max_examples=examples(36, 300))
@given(
    st.lists(
        st.sampled_from(["rare", "common", "seldom", "other", "x" * 50, "machine translation.", "(é)"]), max_size=60
    )
)
def test_a_passage_is_cut_at_word_boundaries_and_keeps_the_text(index, words):
    text = " ".join(words)
    shown = passage(index, 'rare "machine translation" seldom', text)
    assert passage(index, 'rare "machine translation" seldom', text) == shown
    if not ({"rare", "seldom", "machine translation."} & set(words)):
        assert shown == ""
        return
    plain = shown.replace("**", "")
    inside = plain.strip("…")
    assert len(inside) <= WIDTH
    assert inside in text
    assert plain.startswith("…") or text.startswith(inside)
    assert plain.endswith("…") or text.endswith(inside)
    assert "**" in shown
    assert set(inside.replace("(", " ").replace(")", " ").replace(".", " ").split()) <= set(
        text.replace("(", " ").replace(")", " ").replace(".", " ").split()
    )


def test_a_megabyte_is_one_pass_over_its_words(index, monkeypatch):
    analysed = []
    whole = StandardAnalyzer.term
    monkeypatch.setattr(
        StandardAnalyzer, "term", lambda self, word, key: analysed.append(word) or whole(self, word, key)
    )
    text = (FILLER + "rare common ") * 20_000
    assert "**rare** **common**" in passage(index, "rare common", text)
    assert len(analysed) < 20  # each distinct word once
