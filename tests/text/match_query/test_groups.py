"""Groups, roles and boosts against a slow reading of the tree, one entity and one token list at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import Span, TextQueryError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery

WORDS = ["aa1", "bb1", "cc1"]
FIELDS = ("title", "body")
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=2)
documents = st.dictionaries(st.integers(0, 7), st.tuples(texts, texts), max_size=7)


@dataclass(frozen=True)
class Leaf:
    """Words that must stand in some way in one field, or in any (field "")."""

    words: tuple[str, ...]
    kind: str
    field: str
    near: int = 0

    def text(self):
        words = " ".join(self.words)
        near = f"~{self.near}" if self.kind == "near" else ""
        written = words if self.kind == "word" else f'"{words}"{near}'
        return (f"{self.field}:" if self.field else "") + written

    def holds(self, doc, field=""):
        only = self.field or field
        return any(
            self._in(value) for name, values in zip(FIELDS, doc, strict=True) if only in ("", name) for value in values
        )

    def _in(self, value):
        if self.kind != "near":
            n = len(self.words)
            return any(tuple(value[i : i + n]) == self.words for i in range(len(value)))
        width = len(self.words) + self.near
        wanted = Counter(self.words)
        return any(not wanted - Counter(value[i : i + width]) for i in range(len(value)))


@dataclass(frozen=True)
class Tree:
    """(role, part, boost) of each part."""

    parts: tuple
    field: str = ""

    def inside(self):
        return " ".join(
            {"must": "+", "not": "-", "should": ""}[role] + part.text() + (f"^{boost}" if boost != 1 else "")
            for role, part, boost in self.parts
        )

    def text(self):
        return (f"{self.field}:" if self.field else "") + f"({self.inside()})"

    def holds(self, doc, field="", every=False):
        only = self.field or field
        found = [(role, part.holds(doc, only)) for role, part, _ in self.parts]
        if any(yes for role, yes in found if role == "not"):
            return False
        required = [yes for role, yes in found if role == "must" or (every and role == "should")]
        return all(required) if required else any(yes for role, yes in found if role == "should")


fields = st.sampled_from(["", "", "", *FIELDS])
leaves = st.one_of(
    st.builds(lambda w, f: Leaf((w,), "word", f), st.sampled_from(WORDS), fields),
    st.builds(
        lambda w, k, f, n: Leaf(tuple(w), k, f, n if k == "near" else 0),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
        st.sampled_from(["phrase", "near"]),
        fields,
        st.integers(0, 3),
    ),
)
roles = st.sampled_from(["should", "should", "must", "not"])


def trees(parts):
    part = st.tuples(roles, parts, st.sampled_from([1, 1, 2, 0.5]))
    wanted = st.lists(part, min_size=1, max_size=4).filter(lambda all_: any(role != "not" for role, _, _ in all_))
    return st.builds(lambda found, field: Tree(tuple(found), field), wanted, fields)


whole = trees(st.recursive(leaves, trees, max_leaves=8))


def built(build, docs):
    return build(
        {e: {n: [" ".join(w) for w in v] for n, v in zip(FIELDS, d, strict=True)} for e, d in docs.items()}, n_nodes=8
    )


@settings(deadline=None, max_examples=examples(6, 240))
@given(documents, whole, st.booleans())
def test_exactly_the_entities_match_for_which_the_tree_holds(build, docs, tree, every):
    index = built(build, docs)
    tree = Tree(tree.parts)
    query = TextQuery(tree.inside(), all_terms=every)
    want = [e for e in sorted(docs) if tree.holds(docs[e], every=every)]
    assert index.score_all(query)[0].tolist() == want
    scores = index.score(query, np.arange(8, dtype=np.uint32))
    assert [e for e in range(8) if scores[e] == scores[e]] == want


@settings(deadline=None, max_examples=examples(5, 80))
@given(documents, whole)
def test_a_tree_in_parentheses_means_the_same(build, docs, tree):
    index = built(build, docs)
    tree = Tree(tree.parts)
    for one, other in zip(
        index.score_all(TextQuery(tree.inside())), index.score_all(TextQuery(tree.text())), strict=True
    ):
        assert one.tolist() == other.tolist()


@settings(deadline=None, max_examples=examples(5, 80))
@given(documents, whole, st.sampled_from([0.25, 2, 1000]))
def test_boosts_multiply_the_score(build, docs, tree, boost):
    index = built(build, docs)
    text = Tree(tree.parts).text()
    ids, scores = index.score_all(TextQuery(text))
    boosted, times = index.score_all(TextQuery(f"{text}^{boost}"))
    assert boosted.tolist() == ids.tolist()
    assert times == pytest.approx(scores * boost, rel=1e-12)


@dataclass(frozen=True)
class Joined:
    """Operands joined by one of AND and OR; those of AND may have a NOT, the first of them none."""

    operator: str
    operands: tuple

    def text(self):
        texts = [f"({part.text()})" if isinstance(part, Joined) else part for _, part in self.operands]
        signs = ["NOT " if excluded else "" for excluded, _ in self.operands]
        return f" {self.operator} ".join(sign + text for sign, text in zip(signs, texts, strict=True))

    def holds(self, words):
        each = [
            (part.holds(words) if isinstance(part, Joined) else part in words) != excluded
            for excluded, part in self.operands
        ]
        return all(each) if self.operator == "AND" else any(each)


def joined(parts):
    plain, signed = st.tuples(st.just(False), parts), st.tuples(st.booleans(), parts)
    both = st.tuples(plain, st.lists(signed, min_size=1, max_size=3)).map(lambda found: (found[0], *found[1]))
    either = st.lists(plain, min_size=2, max_size=4).map(tuple)
    return st.one_of(st.builds(Joined, st.just("AND"), both), st.builds(Joined, st.just("OR"), either))


@settings(deadline=None, max_examples=examples(12, 240))
@given(joined(st.recursive(st.sampled_from(WORDS), joined, max_leaves=6)), st.booleans())
def test_and_or_and_not_are_those_of_logic(build, tree, every):
    subsets = [[word for i, word in enumerate(WORDS) if number >> i & 1] for number in range(8)]
    index = build({number: {"body": " ".join(words)} for number, words in enumerate(subsets)}, n_nodes=8)
    want = [number for number, words in enumerate(subsets) if tree.holds(words)]
    query = TextQuery(tree.text(), all_terms=every)
    assert index.score_all(query)[0].tolist() == want
    scores = index.score(query, np.arange(8, dtype=np.uint32))
    assert [e for e in range(8) if scores[e] == scores[e]] == want


def test_words_joined_by_or_score_as_words_without_it(build):
    index = build({0: {"body": "red sea"}, 1: {"body": "red old sea"}, 2: {"body": "old or"}})
    for model in ("bm25f", "bm25", "sdm"):
        one, other = (index.score_all(TextQuery(text, model=model)) for text in ("red OR old OR sea", "red old sea"))
        assert one[0].tolist() == other[0].tolist()
        assert one[1].tolist() == other[1].tolist()


def test_operators_are_words_in_a_text_that_is_no_query_string(build):
    index = build(
        {0: {"body": "red sea"}, 1: {"body": "red"}, 2: {"body": "not"}}, [IndexedField("body", analyzer="all_words")]
    )
    assert index.score_all(TextQuery("red NOT sea"))[0].tolist() == [1]
    assert index.score_all(TextQuery("red NOT sea", syntax=False))[0].tolist() == [0, 1, 2]


def counts(index, text, **options):
    query = TextQuery(text, **options)
    return dict(zip((t.term for t in index.terms(query)), (t.count for t in index.task(query).terms), strict=False))


def test_each_item_counts_as_often_as_it_is_written_times_its_boosts(build):
    index = build({0: {"body": "red sea old fish"}})
    text = "red red^3 (sea (old^2 red)^2)^1.5 -fish"
    assert counts(index, text) == {"red": 1 + 3 + 3, "sea": 1.5, "old": 6}


def test_what_is_excluded_in_an_excluded_group_scores_nowhere(build):
    index = build({0: {"body": "red sea"}, 1: {"body": "red sea old"}, 2: {"body": "red"}})
    query = TextQuery("red -(sea -old)")
    assert index.score_all(query)[0].tolist() == [1, 2]
    assert {(t.term, t.role) for t in index.terms(query)} == {("red", "should"), ("sea", "not"), ("old", "not")}


def test_a_group_of_which_nothing_is_indexed_asks_for_nothing(build):
    fields = [IndexedField("body", analyzer="stopped")]
    index = build({0: {"body": "red sea"}, 1: {"body": "red"}}, fields)
    for text in ("+red +(the of)", "+red -(the)", "+red +(the -sea)", "+red (the)^2"):
        assert index.score_all(TextQuery(text))[0].tolist() == [0, 1], text


def test_what_may_occur_beside_what_must_is_not_enough(build):
    index = build({0: {"body": "red"}, 1: {"body": "sea"}, 2: {"body": "red sea"}})
    for text in ("old (+red sea)", "old (+(+red sea))", "old ((+red sea))", "+(+red sea)", "(+red sea)"):
        assert index.score_all(TextQuery(text))[0].tolist() == [0, 2], text


def test_the_inner_field_of_a_group_wins(build):
    index = build({0: {"title": "red", "body": "sea"}, 1: {"title": "sea", "body": "red"}})
    assert index.score_all(TextQuery("title:(red sea)"))[0].tolist() == [0, 1]
    assert index.score_all(TextQuery("title:(red body:red)"))[0].tolist() == [0, 1]
    assert index.score_all(TextQuery("title:(+red +body:sea)"))[0].tolist() == [0]


def test_match_all_asks_for_each_part_of_the_outermost_group(build):
    index = build({0: {"body": "red sea"}, 1: {"body": "red old"}, 2: {"body": "sea old"}})
    assert index.score_all(TextQuery("red (sea old)", all_terms=True))[0].tolist() == [0, 1]
    assert index.score_all(TextQuery("red sea old", all_terms=True))[0].tolist() == []
    assert index.score_all(TextQuery("(red sea old)", all_terms=True))[0].tolist() == [0, 1, 2]


def test_plain_text_in_parentheses_ranks_as_without_them(build):
    index = build({0: {"body": "red sea"}, 1: {"body": "red old sea"}, 2: {"body": "old"}})
    for model in ("bm25f", "bm25", "sdm"):
        one, other = (index.score_all(TextQuery(text, model=model)) for text in ("red (old) sea", "red old sea"))
        assert one[0].tolist() == other[0].tolist()
        assert one[1].tolist() == other[1].tolist()


def test_boosts_that_multiply_out_of_range_are_an_error(build):
    index = build({0: {"body": "red"}})
    with pytest.raises(TextQueryError) as e:
        index.check(TextQuery("sea ((red^1e6)^1e6)^2"))
    assert e.value.message == "the boosts multiply to 2e+06, which is not between 0.000001 and 1,000,000"
    assert e.value.span == Span(5, 18)
    index.check(TextQuery("((red^1e6)^1e-6)^2"))


def test_a_field_in_a_group_must_be_searched(build):
    index = build({0: {"title": "red", "body": "sea"}})
    with pytest.raises(Exception, match="no field 'body' among the fields searched: title"):
        index.check(TextQuery("body:(red)", fields=(FieldChoice("title"),)))
