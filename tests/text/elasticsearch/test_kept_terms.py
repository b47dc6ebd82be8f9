"""The terms that stay beside an index on a server, and what is asked by them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from elastic_index import build_elastic
from engine_pair import assert_same_best, assert_same_relation, build_pair
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import CorruptError, TextQueryError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.elasticsearch.index import ElasticTextIndex
from hybridkg.text.elasticsearch.terms import TermChanges, TermCollector, stored_vocabulary
from hybridkg.text.index.layout import HEADER, ArrayReader, ArrayWriter

FIELDS = (IndexedField("title", 2.0, 0.5), IndexedField("body"))
NAMES = ("terms.offsets", "terms.text", "field0.df", "field1.df")

term = st.sampled_from(["a", "ab", "a\tb", "\x01", "é", "日本", "\U0001f41f", "\ud800", " ", "", "x1:2"])
adds = st.lists(st.tuples(st.integers(0, 1), st.lists(term, max_size=5)), max_size=30)


def written(folder, added, most):
    """What a collector leaves in a folder."""
    folder.mkdir()
    collector = TermCollector(folder, 2, most)
    for field, terms in added:
        collector.add(field, terms)
    out = ArrayWriter(folder)
    n = collector.write(out)
    out.finish({"fields": [{}, {}]})
    assert sorted(path.name for path in folder.iterdir()) == sorted([*NAMES, HEADER])
    return n, ArrayReader(folder)


class TestCollector:
    @settings(deadline=None, max_examples=examples(36, 60))
    @given(added=adds, most=st.sampled_from([1, 2, 5, 1000]))
    def test_every_term_is_counted_once_for_each_entity_and_field(self, tmp_path_factory, added, most):
        folder = tmp_path_factory.mktemp("terms")
        n, reader = written(folder / "one", added, most)
        counts = [Counter(t for field, terms in added if field == i for t in set(terms)) for i in (0, 1)]
        terms = sorted({*counts[0], *counts[1]} - {"", " "}, key=lambda t: t.encode("utf-8", "surrogatepass"))
        offsets, text = (reader.array(name) for name in NAMES[:2])
        cut = [text[offsets[i] : offsets[i + 1]].tobytes().decode("utf-8", "surrogatepass") for i in range(n)]
        assert cut == terms
        for i in (0, 1):
            assert reader.array(f"field{i}.df").tolist() == [counts[i][t] for t in terms]
        vocabulary = stored_vocabulary(reader, folder, 2)
        assert vocabulary.beginning_with("a", [0, 1], 9).total == sum(t.startswith("a") for t in terms)

    def test_the_bytes_are_the_same_however_little_memory_there_is(self, tmp_path):
        chance = np.random.default_rng(1)
        added = [(int(i % 2), [f"w{n}" for n in chance.integers(0, 3_000, 20)]) for i in range(500)]
        found = []
        for most in (10, 400, 100_000):  # 10 makes more files than are merged at once
            _, reader = written(tmp_path / str(most), added, most)
            found.append([reader.array(name).tolist() for name in NAMES])
        assert found[0] == found[1] == found[2]


class TestChanges:
    @settings(deadline=None, max_examples=examples(36, 60))
    @given(before=adds, kept=adds, after=adds)
    def test_changed_frequencies_have_the_bytes_of_all_terms_counted_anew(self, tmp_path_factory, before, kept, after):
        folder = tmp_path_factory.mktemp("terms")
        _, earlier = written(folder / "earlier", [*before, *kept], 1000)
        n, _ = written(folder / "wanted", [*kept, *after], 1000)
        changes = TermChanges(2)
        for sink, added in ((changes.of_removed(), before), (changes, after)):
            for field, terms in added:
                sink.add(field, terms)
        (folder / "found").mkdir()
        out = ArrayWriter(folder / "found")
        assert changes.write(earlier, out) == n
        out.finish({"fields": [{}, {}]})
        for path in (folder / "wanted").iterdir():
            assert (folder / "found" / path.name).read_bytes() == path.read_bytes(), path.name

    def test_a_vocabulary_that_lacks_a_term_that_leaves_is_damaged(self, tmp_path):
        _, earlier = written(tmp_path / "earlier", [(0, ["red"])], 10)
        changes = TermChanges(2)
        changes.of_removed().add(1, ["red"])
        with pytest.raises(CorruptError, match="not those of its texts"):
            changes.write(earlier, ArrayWriter(tmp_path))


@pytest.mark.needs_elastic
class TestQueries:
    def test_damaged_terms_are_an_error_when_the_index_is_opened(self, elastic, elastic_name, tmp_path):
        index = build_elastic(elastic.url, elastic_name, tmp_path, {0: {"title": ["red fish"]}}, FIELDS, 1)
        for name, error in (
            ("terms.offsets", "differ in size"),
            ("field1.df", "bytes instead of"),
            ("terms.text", "lacks"),
        ):
            path = tmp_path / name
            if error == "lacks":
                path.unlink()
            else:
                path.write_bytes(b"\0" * 24)
            with pytest.raises(CorruptError, match=error) as caught:
                ElasticTextIndex(index._server, tmp_path, None, fresh=True)
            assert caught.value.hint == "index again"

    def test_native_analysis_has_no_terms_to_look_through(self, elastic, elastic_name, tmp_path):
        fields = [IndexedField("title", analyzer="english")]
        index = build_elastic(
            elastic.url, elastic_name, tmp_path, {0: {"title": ["red"]}}, fields, 1, analysis="native"
        )
        for text in ("re*", "red~1"):
            with pytest.raises(TextQueryError, match="cannot list") as caught:
                index.check(TextQuery(text))
            assert caught.value.hint == "write the words out"

    def test_more_alternatives_than_one_query_holds(self, elastic, elastic_name, tmp_path, monkeypatch):
        monkeypatch.setattr("hybridkg.text.elasticsearch.bodies.WORDS_AT_ONCE", 3)
        monkeypatch.setattr("hybridkg.text.elasticsearch.bounds.WORDS_AT_ONCE", 3)
        documents = {e: {"title": [f"word{e} word{e % 3}"], "body": [f"word{e % 7} other"]} for e in range(40)}
        pair = build_pair(elastic.url, elastic_name, tmp_path, documents, FIELDS, 40)
        for text in ("word* other", "word1* word2*", "word1~1 +other^3"):
            query = TextQuery(text)
            assert assert_same_relation(pair, query) > 10
            assert_same_best(pair, query, 5)

    def test_groups_too_deep_for_the_server_are_refused_before_it_is_asked(self, elastic, elastic_name, tmp_path):
        pair = build_pair(elastic.url, elastic_name, tmp_path, {0: {"title": ["a b"]}, 1: {"title": ["a"]}}, FIELDS, 2)

        def nested(depth):
            text = "a"
            for _ in range(depth):
                text = f"+a -(b ({text}) -a)"
            return TextQuery(text, fields=(FieldChoice("title"),))

        assert assert_same_relation(pair, nested(10)) >= 0
        with pytest.raises(TextQueryError, match="inside each other"):
            pair.elastic.check(nested(25))
