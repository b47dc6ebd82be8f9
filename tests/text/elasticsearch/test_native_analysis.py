"""analysis = "native": Elasticsearch cuts the texts, and everything else is as with hybridkg's own analysis."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from elastic_index import build_elastic
from engine_pair import Pair, assert_same_scores, build_embedded
from sampling import examples

from hybridkg.errors import HybridkgError, UnknownNameError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.elasticsearch.analysis import NATIVE_ANALYZERS, NativeAnalyzer
from hybridkg.text.elasticsearch.index import ElasticTextIndex

pytestmark = pytest.mark.needs_elastic

WORDS = {
    "english": ["the", "Fishes", "fishing", "of", "sea", "seas", "red", "Red's", "a"],
    "german": ["die", "Häuser", "Haus", "rote", "roter", "und", "Straße", "strasse", "Meer"],
    "standard": ["the", "Fish", "fish", "sea-fish", "42", "naïve", "日本語", "𝔘𝔫", "don't"],
    "cjk": ["日本語", "日本", "本", "東京都", "fish", "the", "한국어", "𠮷野家"],
    "keyword": ["new york", "York", "new york ", "a", "_", "日本"],
    "whitespace": ["Red", "red", "new-york", "the", "x,y", "_x", "日本語"],
    "stop": ["the", "Red", "red7fish", "of", "sea", "to"],
    "fingerprint": ["sea fish", "fish sea", "Fish", "fish fish", "naïve"],
}
FIELDS = ("title", "body")
N = 30


class Tokens:
    """The server's own tokens: for each place of a text the token, or "" where one was dropped."""

    def __init__(self, server, analyzer):
        self.server, self.analyzer, self.known, self.numbers = server, analyzer, {}, {}

    def of(self, text):
        if text not in self.known:
            body = {"analyzer": self.analyzer, "text": text}
            status, answer = self.server.request("POST", "/_analyze", body)
            assert status == 200, answer
            places = {token["position"]: token["token"] for token in answer["tokens"]}
            assert len(places) == len(answer["tokens"])
            self.known[text] = [places.get(i, "") for i in range(max(places, default=-1) + 1)]
        return self.known[text]

    def plain(self, text):
        """The text with a word of its own for each token, and a stop word where there is none."""
        return [f"x{self.numbers.setdefault(t, len(self.numbers))}x" if t else "the" for t in self.of(text)]


def some_documents(analyzer, seed):
    chance = random.Random(seed)
    separator = "\n" if analyzer in ("keyword", "fingerprint") else " "

    def value():
        least = 1 if analyzer == "keyword" else 0  # of an empty text it makes an empty token
        words = [chance.choice(WORDS[analyzer]) for _ in range(chance.choice([least, 1, 1, 2, 3, 5, 8]))]
        return separator.join(words * chance.choice([1, 1, 1, 9, 60]))

    return {
        entity: {name: [value() for _ in range(chance.choice([1, 1, 3]))] for name in FIELDS if chance.random() < 0.8}
        for entity in range(N)
    }


def some_query(analyzer, chance, tokens):
    """The same query in the words of both indexes."""
    own, plain = [], []
    for number in range(chance.randrange(1, 5)):
        role = "" if not number else chance.choice(["", "", "", "+", "-"])
        field = chance.choice(["", "", "", "title:"])
        words = [chance.choice(WORDS[analyzer]) for _ in range(chance.choice([1, 1, 2, 3]))]
        text = " ".join(words)
        if not any(tokens.of(text)):
            continue
        quoted = len(words) > 1 or " " in text
        near = chance.choice(["", "", "~0", "~2", "~5"]) if quoted else ""
        own.append(f'{role}{field}"{text}"{near}' if quoted else f"{role}{field}{text}")
        if quoted or role == "-":
            plain.append(f'{role}{field}"{" ".join(tokens.plain(text))}"{near}')
        else:
            plain += [f"{role}{field}{word}" for word in tokens.plain(text) if word != "the"]
    if not any(not text.startswith("-") for text in plain):
        return None
    return " ".join(own), " ".join(plain)


@pytest.fixture
def native(elastic, elastic_name, tmp_path):
    """(documents, fields) -> index with native analysis; ids are dense."""

    def make(documents, fields, **settings):
        folder = tmp_path / f"native{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        alias = f"{elastic_name}-{len(list(tmp_path.iterdir()))}"
        return build_elastic(
            elastic.url, alias, folder, documents, fields, len(documents), analysis="native", **settings
        )

    return make


QUICK = (("english", 1), ("cjk", 2), ("keyword", 1))
"""What the default run looks at: each pair takes some seconds."""


class TestSameAsItsTokens:
    """An index of a text is the embedded index of the tokens that the server cuts it into."""

    @pytest.mark.parametrize(
        ("analyzer", "shards"),
        [
            pytest.param(name, shards, marks=() if (name, shards) in QUICK else pytest.mark.exhaustive)
            for name in WORDS
            for shards in (1, 2)
        ],
    )
    def test_every_answer_is_that_of_the_embedded_index_of_the_tokens(
        self, elastic, native, tmp_path, analyzer, shards
    ):
        tokens, documents = Tokens(elastic, analyzer), some_documents(analyzer, shards)
        fields = [IndexedField(name, 2.0 - i, 0.5, analyzer) for i, name in enumerate(FIELDS)]
        plain = {
            e: {name: [" ".join(tokens.plain(v)) for v in values] for name, values in texts.items()}
            for e, texts in documents.items()
        }
        (tmp_path / "plain").mkdir()
        embedded = build_embedded(
            tmp_path / "plain", plain, [IndexedField(f.name, f.weight, f.b, "stopped") for f in fields], N
        )
        pair = Pair(embedded, native(documents, fields, shards=shards), N)
        for name in FIELDS:
            assert pair.elastic.field_totals(name) == embedded.field_totals(name)
        chance, asked = random.Random(7), 0
        while asked < examples(15, 40):
            both = some_query(analyzer, chance, tokens)
            if both is None:
                continue
            asked += 1
            model = chance.choice(["bm25f", "bm25", "combined_fields", "mlm", "prms"])
            on = chance.choice([(), (FieldChoice("title"),), (FieldChoice("body"), FieldChoice("title"))])
            if "title:" in both[0] and on[:1] == (FieldChoice("body"),):
                on = ()
            more = {"fields": on, "model": model, "all_terms": chance.random() < 0.2}
            own, other = TextQuery(both[0], **more), TextQuery(both[1], **more)
            assert_same_pair(pair, own, other)


def assert_same_pair(pair, own, other):
    """As assert_same_relation and assert_same_best, with a question for each index."""
    ids, scores = pair.embedded.score_all(other)
    own_ids, own_scores = pair.elastic.score_all(own)
    assert own_ids.tolist() == ids.tolist(), own
    assert_same_scores(own_scores, scores)
    assert_same_scores(pair.elastic.score(own, ids[::-1]), scores[::-1])
    for k in (1, 3, N):
        best, best_scores = pair.embedded.topk(other, k)
        own_best, own_best_scores = pair.elastic.topk(own, k)
        assert own_best.tolist() == best.tolist(), own
        assert_same_scores(own_best_scores, best_scores)
    assert pair.elastic.match_count_bound(own) == len(ids)
    roles = [(term.df, term.role) for term in pair.elastic.terms(own)]
    assert roles == [(term.df, term.role) for term in pair.embedded.terms(other)]


class TestRestatement:
    def test_words_near_each_other_and_pairs_by_hand(self, elastic, native):
        chance = random.Random(3)
        documents = {
            e: {"title": [" ".join(chance.choice("abcx") for _ in range(chance.randrange(1, 12))) for _ in range(2)]}
            for e in range(40)
        }
        index = native(documents, [IndexedField("title", analyzer="whitespace")])

        def wanted(words, width):
            """Entities with enough disjoint windows, and how many: from the left, the window that ends first."""
            found = {}
            for e, texts in documents.items():
                for text in texts["title"]:
                    start = 0
                    for end in range(len(text.split()) + 1):
                        inside = text.split()[max(start, end - width) : end]
                        if all(inside.count(w) >= words.count(w) for w in words):
                            found[e], start = found.get(e, 0) + 1, end
            return found

        for words in (["a", "b"], ["c", "a", "b"], ["a", "a"], ["b", "a", "b"]):
            for more in (0, 1, 4):
                (term,) = index.task(TextQuery(f'"{" ".join(words)}"~{more}')).terms
                (found,) = term.postings
                assert dict(zip(found.ids.tolist(), found.tf.tolist(), strict=True)) == wanted(words, len(words) + more)
                assert (term.df, term.cf) == (len(found.ids), (int(found.tf.sum()),))
        task = index.task(TextQuery("a b c", model="sdm", arguments=(("window", 3.0),)))
        for pair, words in zip(task.unordered, (["a", "b"], ["b", "c"]), strict=True):
            (found,) = pair.postings
            assert dict(zip(found.ids.tolist(), found.tf.tolist(), strict=True)) == wanted(words, 3)
        for pair, words in zip(task.ordered, ("a b", "b c"), strict=True):
            assert pair.cf == (sum(text.count(words) for texts in documents.values() for text in texts["title"]),)

    def test_bm25f_over_fields_of_different_analyzers_by_hand(self, elastic, native):
        fields = [IndexedField("title", 2.0, 0.5, "english"), IndexedField("body", 0.3, 0.75, "whitespace")]
        documents = {
            0: {"title": ["The fishes", "Fishing of the sea"], "body": ["red fish fish"]},
            1: {"title": ["seas"], "body": ["fishes sea", "sea"]},
            2: {"body": ["Fish"]},
            3: {"title": ["of the"], "body": [" "]},
        }
        index = native(documents, fields)
        cut = {f.name: Tokens(elastic, f.analyzer) for f in fields}
        words = {
            (e, f.name): Counter(t for v in documents[e].get(f.name, []) for t in cut[f.name].of(v) if t)
            for e in documents
            for f in fields
        }
        has = {f.name: [e for e in documents if words[e, f.name]] for f in fields}
        mean = {f.name: sum(words[e, f.name].total() for e in documents) / len(has[f.name]) for f in fields}
        n = len({e for entities in has.values() for e in entities})
        wanted = dict.fromkeys(documents, math.nan)
        for position in range(2):  # of the query "fishes sea"; each field has terms of its own
            terms = {f.name: cut[f.name].of("fishes sea")[position] for f in fields}
            df = sum(any(words[e, f.name][terms[f.name]] for f in fields) for e in documents)
            for e in documents:
                x = 0.0
                for f in fields:
                    tf, length = words[e, f.name][terms[f.name]], words[e, f.name].total()
                    if tf:
                        x += f.weight * tf / ((1 - f.b) + f.b * length / mean[f.name])
                if x:
                    score = math.log(1 + (n - df + 0.5) / (df + 0.5)) * x / (1.2 + x)
                    wanted[e] = score if math.isnan(wanted[e]) else wanted[e] + score
        found = index.score_all(TextQuery("fishes sea"))
        assert dict(zip(*map(list, (found[0].tolist(), found[1].tolist())), strict=True)) == pytest.approx(
            {e: s for e, s in wanted.items() if s == s}, rel=1e-14
        )

    def test_the_statistics_count_only_entities_with_a_token(self, native):
        fields = [IndexedField("title", analyzer="stop"), IndexedField("body", analyzer="stop")]
        documents = {0: {"title": ["the of"]}, 1: {"body": ["the", "to"]}, 2: {"title": ["red"], "body": ["of"]}}
        index = native(documents, fields)
        assert index.field_totals("body") == {"entities": 0, "tokens": 0, "mean_length": 0.0}
        # N = 1 and df = 1: ln(1 + 0.5 / 1.5) / 2.2
        assert index.score(TextQuery("red"), [0, 1, 2])[2] == pytest.approx(math.log(4 / 3) / 2.2)
        assert index.score_all(TextQuery("the of"))[0].tolist() == []
        assert index.score_all(TextQuery("red", fields=(FieldChoice("body"),)))[0].tolist() == []
        assert index.passage(TextQuery("the"), [("title", "the of", "")]) == ""

    def test_a_phrase_does_not_cross_values_and_a_dropped_word_is_any_word(self, native):
        documents = {0: {"title": ["old man", "and the sea"]}, 1: {"title": ["man of sea"]}, 2: {"title": ["man sea"]}}
        index = native(documents, [IndexedField("title", analyzer="stop")])
        assert index.score_all(TextQuery('"man sea"'))[0].tolist() == [2]
        assert index.score_all(TextQuery('"man the sea"'))[0].tolist() == [1]
        assert index.score_all(TextQuery('"old man"'))[0].tolist() == [0]

    def test_a_token_that_is_a_line_is_no_gap(self, native):
        index = native(
            {0: {"title": ["a _ b"]}, 1: {"title": ["a x b"]}}, [IndexedField("title", analyzer="whitespace")]
        )
        assert index.score_all(TextQuery('"a _ b"'))[0].tolist() == [0]
        assert index.score_all(TextQuery('b -"a _ b"'))[0].tolist() == [1]

    def test_the_language_of_a_query_and_of_a_value_changes_nothing(self, native):
        fields = [IndexedField("title", analyzer="german")]
        index = native({0: {"title": [("rote Häuser", "en")]}, 1: {"title": [("rotes Haus", "de")]}}, fields)
        for language in ("", "de", "en", "ja"):
            query = TextQuery("Hauses", language=language)
            assert index.score_all(query)[0].tolist() == [0, 1]
            assert index.passage(query, [("title", "rote Häuser", language)]) == "rote **Häuser**"


class TestPassages:
    @pytest.mark.parametrize(
        ("analyzer", "query", "text", "shown"),
        [
            ("english", "fish", "The fishes of the sea", "The **fishes** of the sea"),
            ("english", '"fish sea"', "Fish, sea; sea fish", "**Fish**, **sea**; sea fish"),
            ("standard", "fish", "\U0001d518\U0001d52b \U0001f41f fish \U0001f41f", "𝔘𝔫 🐟 **fish** 🐟"),
            ("standard", "\U0001d518\U0001d52b", "x \U0001d518\U0001d52b y", "x **𝔘𝔫** y"),
            ("whitespace", "a-b", "🐟a-b a-b 🐟", "🐟a-b **a-b** 🐟"),
            ("keyword", '"new york"', "new york", "**new york**"),
            ("german", "strassen", "die Straße 🐟 Straßen", "die **Straße** 🐟 **Straßen**"),
            ("cjk", "日本", "昔の日本の寺", "昔の**日本**の寺"),
        ],
    )
    def test_marks_are_where_the_server_says_the_tokens_are(self, native, analyzer, query, text, shown):
        index = native({0: {"title": [text]}, 1: {"title": ["x"]}}, [IndexedField("title", analyzer=analyzer)])
        assert index.passage(TextQuery(query), [("title", text, "")]) == shown

    def test_tokens_that_overlap_repeat_no_character(self, native):
        index = native({0: {"title": ["日本語の"]}}, [IndexedField("title", analyzer="cjk")])
        shown = index.passage(TextQuery("日本語"), [("title", "昔の日本語の寺", "")])
        assert shown.replace("*", "") == "昔の日本語の寺"
        assert shown == "昔の**日本****語**の寺"


class TestNames:
    def test_an_unknown_analyzer_is_an_error_that_lists_the_known_ones(self, native):
        with pytest.raises(UnknownNameError) as caught:
            native({}, [IndexedField("title", analyzer="englsh")])
        assert "no analyzer 'englsh'" in caught.value.message
        assert all(name in caught.value.message for name in NATIVE_ANALYZERS)
        assert caught.value.hint == "did you mean 'english'?"

    def test_the_listed_analyzers_are_those_of_the_server(self, elastic, native):
        index = native({0: {"title": ["x"]}}, [IndexedField("title", analyzer="standard")])
        for name in NATIVE_ANALYZERS:
            assert NativeAnalyzer(index._server, name).words("fish 日本"), name

    def test_an_unknown_analyzer_leaves_no_index_behind(self, elastic, elastic_name, native):
        with pytest.raises(UnknownNameError):
            native({}, [IndexedField("title", analyzer="nothing")])
        assert elastic.indexes(elastic_name) == []


class TestReopened:
    def test_a_value_too_long_for_one_token_is_refused_with_its_entity(self, native):
        with pytest.raises(HybridkgError) as caught:
            native({0: {"title": ["x" * 40_000]}}, [IndexedField("title", analyzer="keyword")])
        assert "0" in caught.value.message
        assert "x" * 500 not in caught.value.message

    def test_a_whitespace_text_is_no_token(self, native):
        index: ElasticTextIndex = native(
            {0: {"title": [" ", "\t\n"]}, 1: {"title": ["x"]}}, [IndexedField("title", analyzer="keyword")]
        )
        assert index.field_totals("title")["tokens"] in (1, 3)
        assert assert_nothing(index, TextQuery(" ")) == 0


def assert_nothing(index, query):
    return len(index.score_all(query)[0])
