"""The texts of many terms are the texts of each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BaseDirection

from hybridkg.rdf import gather
from hybridkg.rdf.gather import gathered, joined
from hybridkg.rdf.term_texts import PLAIN_TAGS, TermTexts, TextForm, language_of, literal_of, tag_of
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Term, Triple

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
literals = (
    texts.map(Literal)
    | st.builds(lambda text, tag: Literal(text, language=tag), texts, st.sampled_from(["en", "pt-br"]))
    | st.builds(lambda text: Literal(text, language="ar", direction=BaseDirection.RTL), texts)
    | st.builds(lambda text, name: Literal(text, datatype=NamedNode(XSD + name)), texts, st.sampled_from(["int", "x"]))
)
terms = st.none() | literals | st.sampled_from([NamedNode("x:a"), NamedNode("x:\N{SNOWMAN}"), BlankNode("b1")])


class Tagged(TextForm[tuple[str, str]]):
    """The tag and the text."""

    def of_tag(self, tag: str):
        return lambda text: (tag, text)

    def of_triple(self, triple: Triple) -> tuple[str, str]:
        return "triple", str(triple)


@given(st.lists(terms, max_size=8))
def test_a_function_of_many_texts_is_that_of_each_term(cells: list[Term | None]):
    found = TermTexts.of(cells)
    assert found is not None
    assert found.tags[: len(PLAIN_TAGS)] == PLAIN_TAGS
    assert found.strings() == ["" if cell is None else cell.value for cell in cells]  # type: ignore[union-attr]
    assert [found.tags[kind] for kind in found.kinds.tolist()] == [tag_of(cell) for cell in cells]  # type: ignore[arg-type]
    form = Tagged()
    assert form.of_texts(found) == [form(cell) for cell in cells]


@given(literals)
def test_a_literal_is_its_tag_and_its_text(literal: Literal):
    tag = tag_of(literal)
    assert literal_of(tag, literal.value) == literal
    if literal.language:
        assert language_of(tag) == (literal.language, literal.direction.value if literal.direction else "")


def test_a_triple_has_no_text():
    triple = Triple(NamedNode("x:s"), NamedNode("x:p"), Literal("o"))
    assert TermTexts.of([None, triple]) is None
    assert Tagged()(triple) == ("triple", '<x:s> <x:p> "o"')


@given(st.lists(st.binary(max_size=5), max_size=9), st.data())
@pytest.mark.parametrize("at_once", [1, 4, 1 << 21])
def test_gathered_texts_are_those_at_the_places(at_once: int, strings: list[bytes], data: st.DataObject):
    bounds = np.cumsum([0, *map(len, strings)])
    places = data.draw(st.lists(st.integers(0, len(strings) - 1), max_size=9) if strings else st.just([]))
    at = np.array(places, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "BYTES_AT_ONCE", at_once)
        patch.setattr(gather.KERNEL, "for_work", lambda work: None)
        found, offsets = gathered(np.frombuffer(b"".join(strings), np.uint8), bounds[at], bounds[at + 1])
    assert [found[a:b].tobytes() for a, b in pairwise(offsets)] == [strings[n] for n in places]
    twice, ends = joined([(found, offsets), (found, offsets)])
    assert (twice.tobytes(), ends[-1]) == (2 * found.tobytes(), 2 * offsets[-1])
