"""Prefixes and fuzzy words against a scan of the whole vocabulary, one term at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TermStatistics, TextQuery
from hybridkg.kb import KnowledgeBase
from hybridkg.text.match_query.analyzed import as_query
from hybridkg.text.match_query.fuzzy_terms import NearTerms
from hybridkg.text.match_query.vocabulary import ArrayVocabulary, Expansion, SortedTerms

words = st.text(st.sampled_from("abcé神😀"), min_size=1, max_size=6)


def distance(one, other):
    """Optimal string alignment, the whole matrix."""
    d = [[max(i, j) if not i * j else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            same = one[i - 1] == other[j - 1]
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (not same))
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1)
    return d[-1][-1]


def arrays(terms):
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    return np.cumsum([0, *map(len, encoded)]).astype(np.uint32), np.frombuffer(b"".join(encoded), np.uint8)


def vocabulary(common):
    """Of {term: [entities in field 0, in field 1]}."""
    terms = sorted(common, key=lambda term: term.encode("utf-8", "surrogatepass"))
    table = np.array([common[term] for term in terms], np.uint32).reshape(len(terms), 2)
    return ArrayVocabulary(SortedTerms(*arrays(terms)), lambda numbers, field: table[numbers, field])


vocabularies = st.dictionaries(words, st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=40)
some_fields = st.sampled_from([[0], [1], [0, 1]])


def scanned(common, fields, edits_of, most):
    """The terms of the fields for which `edits_of` is a number, in the documented order."""
    found = []
    for term, counts in common.items():
        df = sum(counts[field] for field in fields)
        if df and (edits := edits_of(term)) is not None:
            found.append((edits, -df, term.encode("utf-8", "surrogatepass"), term))
    return Expansion(tuple(term for *_, term in sorted(found)[:most]), len(found))


@settings(deadline=None, max_examples=examples(48, 400))
@given(vocabularies, words, some_fields, st.integers(1, 8))
def test_a_prefix_finds_what_a_scan_finds(common, prefix, fields, most):
    want = scanned(common, fields, lambda term: 0 if term.startswith(prefix) else None, most)
    assert vocabulary(common).beginning_with(prefix, fields, most) == want


@settings(deadline=None, max_examples=examples(48, 400))
@given(vocabularies, words, st.sampled_from([1, 2]), some_fields, st.integers(1, 8))
def test_a_fuzzy_word_finds_what_a_scan_finds(common, word, edits, fields, most):
    def near(term):
        needed = distance(word, term)
        return needed if needed <= edits and needed < min(len(word), len(term)) else None

    found = vocabulary(common)
    assert found.near(word, edits, fields, most) == scanned(common, fields, near, most)
    assert found.has(word, fields) == (word in common and any(common[word][field] for field in fields))


@settings(deadline=None, max_examples=examples(15, 120))
@given(st.lists(st.text(max_size=5), min_size=1, max_size=30), st.text(max_size=5), st.integers(0, 3))
def test_any_unicode_has_its_distance(terms, word, edits):
    numbers, needed = NearTerms(*arrays(terms)).near(word, edits)
    want = {
        i: distance(word, term)
        for i, term in enumerate(terms)
        if distance(word, term) <= edits and distance(word, term) < min(len(term), max(1, len(word)))
    }
    assert dict(zip(numbers.tolist(), needed.tolist(), strict=True)) == want


def test_terms_longer_than_the_lengths_that_are_told_apart_are_found():
    terms = ["a" * 254, "a" * 255, "a" * 256, "a" * 300]
    numbers, needed = NearTerms(*arrays(terms)).near("a" * 256, 2)
    assert dict(zip(numbers.tolist(), needed.tolist(), strict=True)) == {0: 2, 1: 1, 2: 0}


def documents(index, text, **options):
    return index.score_all(TextQuery(text, **options))[0].tolist()


def term(index, text, **options):
    (found,) = index.terms(TextQuery(text, **options))
    return found


# --- in an index --------------------------------------------------------------------


TEXTS = {
    0: "neural models",
    1: "a neuron",
    2: "modelling",
    3: "mondeling",
    4: "universities",
    5: "neurons neurons",
    6: "happiness",
}


@pytest.fixture(scope="module")
def stemmed(build):
    return build({e: {"body": text} for e, text in TEXTS.items()}, [IndexedField("body")])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("neur*", [0, 1, 5]),
        ("NEUR*", [0, 1, 5]),
        ("neuron*", [1, 5]),
        ("model*", [0, 2]),
        ("modelling*", [0, 2]),
        ("univ*", [4]),
        ("universities*", [4]),
        ("universit*", [4]),
        ("happin*", []),  # the index holds happi, which neither begins so nor is the stem of "happin"
        ("xyz*", []),
        ("+xyz* neur*", []),
        ("neur* -neuron*", [0]),
        ("modal~1", [0, 2]),
        ("mdoel~1", [0, 2]),
        ("meodl~1", []),
        ("meodl~2", [0, 2]),
        ("meodl~", [0, 2]),
        ("noron~", [1, 5]),
        ("+noron~1", []),
        ('"neural m*"', []),
        ("neur*^2 +(modeling~1 xyz*)", [0, 2, 3]),
    ],
)  # fmt: skip
def test_prefixes_and_fuzzy_words_in_an_index_of_stems(stemmed, text, want):
    assert documents(stemmed, text) == want


def test_an_expansion_is_one_term_with_the_df_of_all(stemmed):
    assert term(stemmed, "neur*") == TermStatistics("neur*", 3, "should", 2, 2)
    assert term(stemmed, "+modal~1") == TermStatistics("modal~1", 2, "must", 1, 1)
    assert term(stemmed, "xyz*") == TermStatistics("xyz*", 0)
    (scored,) = stemmed.task(TextQuery("neur*")).terms
    assert scored.postings[0].ids.tolist() == [0, 1, 5]
    assert scored.postings[0].tf.tolist() == [1, 1, 2]
    assert (scored.df, scored.cf, scored.field_df) == (3, (4,), (3,))


def test_a_passage_marks_what_an_expansion_found(stemmed):
    assert stemmed.passage(TextQuery("neur*"), [("body", "the Neurons are Neural", "")]) == (
        "the **Neurons** are **Neural**"
    )


def test_each_field_expands_as_its_analyzer_folds_and_stems(build):
    fields = [IndexedField("stem"), IndexedField("exact", analyzer="unstemmed")]
    index = build({0: {"stem": "modelling"}, 1: {"exact": "modelling"}, 2: {"exact": "model"}}, fields)
    assert documents(index, "modelling*") == [0, 1]
    assert documents(index, "stem:modelling*") == [0]
    assert documents(index, "exact:model*") == [1, 2]
    assert documents(index, "modelling~1") == [0, 1]


def test_only_terms_of_the_fields_searched_count(build):
    index = build({0: {"title": "red1 red2"}, 1: {"body": "red2 red3 red4"}})
    assert term(index, "red*").total == 4
    assert term(index, "title:red*").total == 2
    assert term(index, "red*", fields=(FieldChoice("body"),)).total == 3


def test_the_language_of_the_text_selects_the_stem(build):
    index = build({0: {"body": [("Häuser", "de")]}}, [IndexedField("body")])
    assert documents(index, "Häuser*", language="de") == [0]
    assert documents(index, "Häuser~1", language="de") == [0]


def test_a_field_in_two_languages_expands_in_each(build):
    index = build({0: {"body": [("Häusern", "de")]}, 1: {"body": [("houses", "en")]}}, [IndexedField("body")])
    on = (FieldChoice("body", language="en"), FieldChoice("body", language="de"))
    assert documents(index, "Häusern*", fields=on) == [0]
    assert documents(index, "houses*", fields=on) == [1]
    assert documents(index, "h*", fields=on) == []
    assert documents(index, "ha* ho*", fields=on) == [0, 1]
    assert documents(index, "ha* ho*", fields=on[:1]) == [1]


@pytest.fixture(scope="module")
def many(build):
    # red000 is in one entity, red001 in two, ...; 300 terms begin with red.
    return build({e: {"body": " ".join(f"red{i:03}" for i in range(max(0, 299 - e), 300))} for e in range(300)})


def test_more_terms_than_may_stand_for_a_prefix_are_cut_to_the_most_common_and_told(many):
    found = term(many, "red*")
    assert (found.alternatives, found.total) == (256, 300)
    assert found.df == 300
    (kept,) = many.task(TextQuery("red*")).terms
    assert sum(kept.cf) == sum(range(45, 301))


def test_a_fuzzy_word_tells_how_many_terms_are_near(many):
    # Itself; 2, 9 and 9 with another digit; red010 with two digits swapped.
    assert term(many, "red100~1").total == 1 + 2 + 9 + 9 + 1


@pytest.mark.parametrize("text", ['"red{} no"', "red{}*", '"no red{}"~3'])
def test_what_an_index_remembers_of_expansions_and_phrases_is_bounded_by_their_patterns(build, monkeypatch, text):
    monkeypatch.setattr("hybridkg.text.index.positions.word_pairs.MAX_CACHED_POSTINGS", 3_000)
    monkeypatch.setattr("hybridkg.text.index.positions.occurrences.MAX_CACHED_COUNTS", 100)
    words = " ".join(f"red{i:03}" for i in range(200))
    index = build({0: {"title": words, "body": words}, 1: {"body": "no"}})
    for i in range(200):
        index.score_all(TextQuery(text.format(f"{i:03}"[:2] if "*" in text else f"{i:03}")))
        kept = [
            1 if isinstance(key[2], int) else len(key[2]) for key in index._occurrences._cache.entries
        ]  # a pair of words is one
        assert sum(kept) <= 50
        assert sum(sum(map(len, item.places)) for _, item in index._occurrences._df) <= 100


def test_too_many_alternatives_in_one_text_are_an_error(many):
    many.check(TextQuery(" ".join(["red*"] * 16)))
    with pytest.raises(TextQueryError, match="stand for more than 4,096 terms"):
        many.check(TextQuery(" ".join(["red*"] * 17)))


def test_plain_words_are_never_expanded(stemmed):
    assert documents(stemmed, "neur* modal~1", syntax=False) == []


# --- what a person is told ------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("expansion") / "many.ttl"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'<http://e.org/{i}> {label} "red{i:03} sea" .\n' for i in range(300)]
    path.write_text("".join(lines), encoding="utf-8")
    with KnowledgeBase.temporary(str(path)) as found:
        found.index()
        yield found


CUT = "'red*' stands for 300 terms of the index; only the 256 that most entities have are looked for"


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ('SELECT ?e { ?e MATCH "+sea red*" }', {}),
        ("SELECT ?e { ?e MATCH QUERY $text }", {"text": "(sea red*)"}),
        ('SELECT ?e ?t { VALUES ?t { "red*" "sea" } ?e MATCH QUERY ?t }', {}),
    ],
)
def test_a_cut_is_told_with_the_answer(kb, query, params):
    result = kb.query(query, params)
    assert [(w.code, w.message) for w in result.warnings] == [("W108", CUT)]
    assert "warning[W108]" in str(result.warnings[0])


def test_a_cut_is_told_by_explain(kb):
    assert "(df red*=256 (256 of 300 terms))" in str(kb.explain('SELECT ?e { ?e MATCH "red*" }'))


def test_what_is_not_cut_is_not_warned_about(kb):
    assert not kb.query('SELECT ?e { ?e MATCH "red1* red299~1" }').warnings
    assert not kb.query("SELECT ?e { ?e MATCH $text }", {"text": "red*"}).warnings


def test_analyze_shows_what_operators_make_of_a_text_and_nothing_for_plain_words(stemmed):
    found = [(t.role, t.term, t.df, t.alternatives) for t in as_query("+(neur* model)^2 -univ*", stemmed)]
    assert found == [("should", "neur*", 3, 2), ("should", "model", 2, 0), ("not", "univ*", 1, 1)]
    for plain in ("neural (models)", "f(x) A* 10^6", "((red) sea)"):
        assert as_query(plain, stemmed) == []
    for text in ("(neural)^2", "neural~", "+(neural)", "(body:neural)"):
        assert as_query(text, stemmed)
