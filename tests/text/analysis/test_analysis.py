from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import UnknownNameError
from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.text.analysis import words
from hybridkg.text.analysis.folding import fold_accents, fold_case
from hybridkg.text.analysis.standard import MAX_WORD_LENGTH
from hybridkg.text.analysis.words import split_words, word_spans

alphabet = st.one_of(
    st.sampled_from(list("abZ09_.,' '’‘“”–—…-.\xa0\n\x00éßﬁ中文のｱกा́‍😀אָ")), st.characters(exclude_categories=["Cs"])
)


def terms(text, language="", name="standard"):
    analyzer = ANALYZERS.get(name)()
    return [analyzer.term(word, analyzer.stemmer(language)) for word in analyzer.words(text)]


@settings(max_examples=examples(117, 400), deadline=None)
@given(st.text(alphabet, max_size=40))
def test_the_quick_split_and_the_pattern_give_the_same_words(text):
    assert [w.replace("’", "'") for w in split_words(text)] == [word for word, _, _ in word_spans(text)]


def spans_by_the_pattern(text):
    return [(found.group().replace("’", "'"), *found.span()) for found in words._pattern().finditer(text)]


def test_every_character_is_the_same_to_both_patterns():
    for i in range(0x3100):
        for text in (chr(i), f"a{chr(i)}b", f"1{chr(i)}2", f"{chr(i)}'{chr(i)}", f"{chr(i)}1.{chr(i)}"):
            assert list(word_spans(text)) == spans_by_the_pattern(text)


@settings(max_examples=examples(180, 300), deadline=None)
@given(st.text(st.sampled_from("aZé19_'’‘“”–—…\xa0., →≤ßǃ×²ªΩ中"), max_size=12))
def test_both_patterns_give_the_same_spans(text):
    assert list(word_spans(text)) == spans_by_the_pattern(text)


@settings(max_examples=examples(120, 200), deadline=None)
@given(st.text(alphabet, max_size=40))
def test_spans_point_at_their_words(text):
    for word, start, end in word_spans(text):
        assert text[start:end].replace("’", "'") == word


@settings(max_examples=examples(180, 300), deadline=None)
@given(st.text(alphabet, max_size=8))
def test_folding_twice_changes_nothing(text):
    assert fold_case(fold_case(text)) == fold_case(text)
    assert fold_accents(fold_accents(text)) == fold_accents(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("straße STRASSE", ["strass", "strass"]),
        ("résumés resumes RÉSUMÉS", ["resum", "resum", "resum"]),
        ("Ærø Łódź Þór", ["aero", "lodz", "thor"]),
        ("the model's models", ["the", "model", "model"]),
        ("O’Reilly don't", ["o'reilli", "don't"]),
        ("low-resource snake_case e.g.", ["low", "resourc", "snake", "case", "e", "g"]),
        ("BERT-base v2.0 GPT4", ["bert", "base", "v2.0", "gpt4"]),
        ("pi is 3.14. Or 3,14", ["pi", "is", "3.14", "or", "3,14"]),
        ("1,000 = 1000, not 1,00", ["1000", "1000", "not", "1,00"]),
        ("in 2024-08-15, 15.08.2024", ["in", "2024", "08", "15", "15.08.2024"]),
        ("GPT-4 COVID-19 GPT-3.5.1", ["gpt", "4", "covid", "19", "gpt", "3.5.1"]),
        (".5 5. a.5 5.a U.S. 3.'4 3'.4 ٣.١", ["5", "5", "a", "5", "5", "a", "u", "s", "3", "4", "3", "4", "٣.١"]),
        ("ﬁne ① ４２", ["fine", "42"]),
        ("机器翻译 カタカナ ひら", ["机", "器", "翻", "译", "カタカナ", "ひ", "ら"]),
        ("emoji 😀 ❤️ only", ["emoji", "", "onli"]),
        ("नमस्ते দুনিয়া", ["नमस्ते", "দুনিয়া"]),
        ("e\u0301te\u0301 été", ["ete", "ete"]),
        ("λόγος ΛΌΓΟΣ", ["λογοσ", "λογοσ"]),
        ("йод ёж", ["йод", "ёж"]),
        ("", []),
        ("\x00a\x00b\x00", ["a", "b"]),
    ],
)
def test_the_default_chain(text, want):
    assert terms(text) == want


@pytest.mark.parametrize(
    ("text", "language", "want"),
    [
        ("Häuser Haus", "de", ["haus", "haus"]),
        ("Häuser Haus", "de-AT", ["haus", "haus"]),
        ("l'avion qu’avions", "fr", ["avion", "avion"]),
        ("l'amico", "it", ["amic"]),
        ("models", "ja", ["models"]),
        ("models", "EN-us", ["model"]),
        ("models", "x-unknown", ["models"]),
        ("книги книга", "ru", ["книг", "книг"]),
    ],
)
def test_the_language_tag_selects_the_stemmer(text, language, want):
    assert terms(text, language) == want


def test_stop_words_keep_their_position_without_a_term():
    assert terms("State of the Art", name="stopped") == ["state", "", "", "art"]


def test_unstemmed_words_are_folded_only():
    assert terms("Résumés of Models", name="unstemmed") == ["resumes", "of", "models"]


def test_an_over_long_word_is_cut():
    assert terms("x" * 1_000_000) == ["x" * MAX_WORD_LENGTH]


def test_an_unknown_analyzer_is_an_error():
    with pytest.raises(UnknownNameError) as e:
        ANALYZERS.get("standart")
    assert e.value.hint == "did you mean 'standard'?"


def test_a_chain_names_its_steps():
    assert ANALYZERS.get("standard")().chain.startswith("standard/2 snowball/")
    assert ANALYZERS.get("unstemmed")().chain == "unstemmed/2"


def test_threads_share_an_analyzer():
    analyzer = ANALYZERS.get("standard")()
    words = [f"running{i} stemming translations".split()[i % 3] for i in range(3000)]
    want = [analyzer.term(word, "english") for word in words]
    got: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: got.append([analyzer.term(w, "english") for w in words])) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [want] * 6


def test_plain_words_lose_their_case_and_stop_words_and_nothing_else():
    assert terms("The Café's 1,000 ROOMS of Zürich: A4, IT and flying", name="plain") == [
        "", "café's", "1,000", "rooms", "", "zürich", "a4", "", "", "flying",
    ]  # fmt: skip
