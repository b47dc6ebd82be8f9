"""Synonyms, and the alignment of words that ON fields' analyzers read differently."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import ConfigError, CorruptError
from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.kb import KnowledgeBase
from hybridkg.text.index import EmbeddedTextIndex
from hybridkg.text.match_query import clause_items
from hybridkg.text.match_query.clause_items import MAX_PAIRS, as_patterns, items_of, pair_of
from hybridkg.text.match_query.items import ResolvedField
from hybridkg.text.match_query.synonyms import (
    FILE,
    NO_SYNONYMS,
    SynonymRule,
    Synonyms,
    parse_synonyms,
    read_synonyms,
    stored_synonyms,
)

CHAINS = {name: ANALYZERS.get(name)() for name in ("standard", "stopped", "unstemmed", "identifier")}


def on(*names):
    return [ResolvedField(i, f"f{i}", 1.0, 0.75, CHAINS[name], {}) for i, name in enumerate(names)]


def shown(text, *names, phrase=False, synonyms="", only=""):
    """For each item its place, and each field's alternatives as text; `_` is a place without a word."""

    def as_text(pattern):
        places = dict(pattern.words)
        return " ".join(places.get(place, "_") for place in range(pattern.words[-1][0] + 1))

    found = items_of(text, phrase, only, "", on(*names), parse_synonyms(synonyms, "s"))
    return [(place, *(" | ".join(map(as_text, patterns)) for patterns in item.places)) for place, item in found]


texts = st.lists(
    st.sampled_from(
        [
            "the",
            "Birth",
            "birthPlace",
            "HTTPServer2",
            "GPT-4",
            "don't",
            "v2.0",
            "中文",
            "of",
            "ny,",
            "(new)",
            "-",
            "%C3%A9",
        ]
    )
).map(" ".join)


# --- alignment ---------------------------------------------------------------


@settings(max_examples=examples(63, 200), deadline=None)
@given(texts, st.sampled_from(["standard", "stopped", "unstemmed"]), st.booleans())
def test_equal_analyzers_give_an_item_for_each_word(text, name, phrase):
    analyzer = CHAINS[name]
    terms = [analyzer.term(word, "english") for word in analyzer.words(text)]
    if phrase:
        kept = [(i, term) for i, term in enumerate(terms) if term]
        want = [tuple((i - kept[0][0], term) for i, term in kept)] if kept else []
        assert [item.places[0][0].words for _, item in items_of(text, True, "", "", on(name, name))] == want
    else:
        want = [(i, term, term) for i, term in enumerate(terms) if term]
        assert shown(text, name, name) == want


@settings(max_examples=examples(60, 100), deadline=None)
@given(texts, st.permutations(["standard", "identifier", "stopped"]))
def test_the_order_of_the_fields_changes_no_item(text, names):
    names = list(names)
    straight = [(place, dict(zip(names, fields, strict=True))) for place, *fields in shown(text, *names)]
    turned = [
        (place, dict(zip(reversed(names), fields, strict=True))) for place, *fields in shown(text, *reversed(names))
    ]
    assert straight == turned


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("birthPlace of", [(0, "birthplac", "birth place | birthplace"), (1, "of", "of")]),
        ("birth place", [(0, "birth", "birth"), (1, "place", "place")]),
        ("GPT-4 models", [(0, "gpt 4", "gpt 4 | gpt4"), (1, "model", "models")]),
        ("COVID-19, v2.0", [(0, "covid 19", "covid 19 | covid19"), (1, "v2.0", "v 2.0 | v2.0")]),
        ("snake_case", [(0, "snake case", "snake case | snakecase")]),
    ],
)
def test_a_word_of_the_coarsest_reading_is_one_item(text, want):
    assert shown(text, "standard", "identifier") == want


def test_words_behind_a_split_one_stay_aligned():
    assert shown("the birthPlace of Marie", "stopped", "identifier") == [
        (0, "", "the"),
        (1, "birthplac", "birth place | birthplace"),
        (2, "", "of"),
        (3, "mari", "marie"),
    ]


def test_a_phrase_is_the_parts_in_each_field():
    assert shown("the birthPlace of", "standard", "identifier", phrase=True) == [
        (0, "the birthplac of", "the birth place of")
    ]
    assert shown("birthPlace", "identifier", phrase=True) == [(0, "birth place | birthplace")]


def test_a_word_of_one_field_is_looked_for_there():
    assert shown("birthPlace", "standard", "identifier", only="f0") == [(0, "birthplac", "")]


def test_pairs_of_phrases_are_longer_phrases():
    (place, first), (following, second) = items_of("birthPlace of", False, "", "", on("standard", "identifier"))
    pair = pair_of(first, second, following - place, 0)
    assert [[p.words for p in patterns] for patterns in pair.places] == [
        [((0, "birthplac"), (1, "of"))],
        [((0, "birth"), (1, "place"), (2, "of")), ((0, "birthplace"), (1, "of"))],
    ]


# --- the file ----------------------------------------------------------------


def test_rules_are_read():
    text = "# all\n\nny, NYC ,new  york\ncolour=>color # British\na\\,b, c\\#1 => d\\=>e\n"
    assert parse_synonyms(text, "s").rules == (
        SynonymRule(("ny", "NYC", "new york"), ("ny", "NYC", "new york")),
        SynonymRule(("colour",), ("color",)),
        SynonymRule(("a,b", "c#1"), ("d=>e",)),
    )


entries = st.text(st.sampled_from("abé ,=>#\\"), max_size=8).map(lambda text: " ".join(f"x{text}".split()))
sides = st.lists(entries, min_size=1, max_size=3).map(tuple)


@given(st.lists(st.builds(SynonymRule, sides, sides), max_size=4))
def test_what_is_written_reads_back(rules):
    rules = [rule for rule in rules if rule.given != rule.meant or len(rule.given) > 1]
    whole = Synonyms(tuple(rules))
    assert parse_synonyms(whole.text(), "s") == whole


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a, b\na,,b", "in this rule of synonyms an entry is missing", 2),
        ("a =>", "in this rule of synonyms an entry is missing", 1),
        ("=> a", "in this rule of synonyms an entry is missing", 1),
        ("a => b => c", "two '=>' in one rule of synonyms", 1),
        ("\nword", "'word' alone has no synonym", 2),
        ("a, --", "in this rule of synonyms '--' has no word", 1),
        ("a, " + "b" * 201, "an entry of more than 200 characters", 1),
        (",".join(f"a{i}" for i in range(101)), "more than 100 entries in one rule of synonyms", 1),
        ("\n".join(f"a, b{i}" for i in range(600)), "more than 1,000 synonyms of 'a'", 501),
    ],
)
def test_a_wrong_line_is_named(text, message, line):
    with pytest.raises(ConfigError) as e:
        parse_synonyms(text, "synonyms.txt")
    assert (e.value.message, e.value.place) == (message, f"synonyms.txt:{line}")


def test_a_file_that_is_none_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot read the synonyms: no such file"):
        read_synonyms(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"a, b\ncaf\xe9, x")
    with pytest.raises(ConfigError, match="not UTF-8") as e:
        read_synonyms(tmp_path / "latin.txt")
    assert e.value.place.endswith("latin.txt:2")


def test_what_an_index_keeps_has_a_version(tmp_path):
    assert stored_synonyms(tmp_path) is NO_SYNONYMS
    (tmp_path / FILE).write_text("a, b\n")
    with pytest.raises(CorruptError, match="another version"):
        stored_synonyms(tmp_path)


# --- queries -----------------------------------------------------------------

RULES = "ny, nyc, new york\ncolour => color\nTV, television set\nautos => car, race car"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("NY hotels", [(0, "ny | nyc | new york"), (1, "hotel")]),
        ("hotels in New York city", [(0, "hotel"), (1, "in"), (2, "ny | nyc | new york"), (3, "citi")]),
        ("new yorks", [(0, "ny | nyc | new york")]),
        ("new", [(0, "new")]),
        ("colours", [(0, "color")]),
        ("color", [(0, "color")]),
        ("television set", [(0, "tv | televis set")]),
        ("the television", [(0, "the"), (1, "televis")]),
        ("auto", [(0, "car")]),
    ],
)
def test_alternatives_take_the_place_of_the_longest_match(text, want):
    got = [
        (place, " | ".join(sorted(patterns.split(" | "))))
        for place, patterns in shown(text, "standard", synonyms=RULES)
    ]
    assert got == [(place, " | ".join(sorted(patterns.split(" | ")))) for place, patterns in want]


def test_a_quoted_text_is_meant_as_it_is_written():
    assert shown("ny", "standard", phrase=True, synonyms=RULES) == [(0, "ny")]


def test_each_field_reads_the_rules_by_its_own_analyzer():
    assert shown("Colours", "standard", "unstemmed", synonyms=RULES) == [(0, "color", "colours")]
    assert shown("new yorks", "standard", "unstemmed", synonyms=RULES) == [(0, "new york | ny | nyc", "new yorks")]


CITIES = {
    0: {"title": "hotels in ny ny"},
    1: {"title": "hotels in new york"},
    2: {"title": "new hotels near york"},
    3: {"title": "ny and new york"},
    4: {"title": "the city"},
}


@pytest.fixture(scope="module")
def cities(build):
    build(CITIES, [IndexedField("title"), IndexedField("body")])
    (build.folder / FILE).write_text(parse_synonyms(RULES, "s").text(), encoding="utf-8")
    return EmbeddedTextIndex.open(build.folder)


@pytest.mark.parametrize("text", ["nyc", "new york", "NY", "+NYC -hotels", "nyc city"])
@pytest.mark.parametrize("syntax", [True, False])
def test_an_index_answers_with_its_synonyms(cities, text, syntax):
    want = {"+NYC -hotels": [3], "nyc city": [0, 1, 3, 4]}.get(text, [0, 1, 3])
    if text.startswith("+") and not syntax:
        want = [0, 1, 2, 3]
    assert cities.score_all(TextQuery(text, syntax=syntax))[0].tolist() == want


def test_alternatives_are_one_term_with_one_df(cities):
    (term,) = cities.terms(TextQuery("nyc", fields=(FieldChoice("title"),)))
    assert (term.term, term.df) == ("nyc | ny | new york", 3)
    task = cities.task(TextQuery("nyc", fields=(FieldChoice("title"),)))
    assert task.terms[0].postings[0].tf.tolist() == [2, 1, 2]


@settings(max_examples=examples(5, 100), deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 9), st.lists(st.sampled_from(["ny", "nyc", "hotel", "the"])).map(" ".join), min_size=1
    )
)
def test_synonyms_of_one_word_score_as_if_the_texts_said_the_same(build, texts):
    own = {entity: {"title": text} for entity, text in texts.items()}
    same = {entity: {"title": text.replace("nyc", "ny")} for entity, text in texts.items()}
    build(own, [IndexedField("title")], n_nodes=10)
    (build.folder / FILE).write_text(parse_synonyms("ny, nyc", "s").text(), encoding="utf-8")
    got = EmbeddedTextIndex.open(build.folder).score_all(TextQuery("hotel nyc"))
    want = build(same, [IndexedField("title")], n_nodes=10).score_all(TextQuery("hotel ny"))
    assert got[0].tolist() == want[0].tolist()
    assert got[1].tolist() == want[1].tolist()


def test_a_knowledge_base_keeps_the_synonyms_of_its_index(tmp_path):
    (tmp_path / "d.ttl").write_text('<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "a hotel in New York" .')
    kb = KnowledgeBase.create(tmp_path / "d.kb")
    settings = tmp_path / "d.kb" / "kb.toml"
    settings.write_text('synonyms = "synonyms.txt"\n' + settings.read_text())  # no table is before it
    with pytest.raises(ConfigError, match="cannot read the synonyms"):
        kb.load(tmp_path / "d.ttl", index=True)
    file = tmp_path / "d.kb" / "synonyms.txt"
    file.write_text("ny, new york\n")
    kb.load(tmp_path / "d.ttl", index=True)
    query = 'SELECT ?e { ?e MATCH "NY" }'
    assert len(kb.query(query)) == 1
    assert kb.stats()["synonyms"] == {"rules": 1, "state": "as in the file"}
    file.write_text("ny, newark\n")
    kb.refresh()
    assert len(kb.query(query)) == 1
    assert kb.stats()["synonyms"]["state"] == "the file has changed since the index was built"
    kb.index()
    assert len(kb.query(query)) == 0


places = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c"])), min_size=1, max_size=3)


@given(st.lists(places.map(lambda words: tuple(sorted(dict(words).items()))), max_size=6))
def test_of_alternatives_those_stay_that_hold_no_other(alternatives):
    def shifted(words, by):
        return {(place + by, term) for place, term in words}

    first = [tuple(sorted(shifted(words, -words[0][0]))) for words in alternatives]
    want = [
        words
        for words in dict.fromkeys(first)
        if not any(other != words and any(shifted(other, by) <= set(words) for by in range(4)) for other in first)
    ]
    assert [pattern.words for pattern in as_patterns(alternatives)] == want


def test_a_word_with_the_most_synonyms_costs_no_second(monkeypatch, within):
    made = []
    following = clause_items._following
    monkeypatch.setattr(clause_items, "_following", lambda *of: made.append(of) or following(*of))
    rules = parse_synonyms("\n".join(f"hub, h{i}a h{i}b" for i in range(500)), "t")
    with within(1, process_time):
        (_, first), (_, second), *_ = items_of("hub hub hub hub", False, "", "en", on("unstemmed"), rules)
        assert len(pair_of(first, second, 1, 0).places[0]) == MAX_PAIRS
    assert len(made) <= MAX_PAIRS
