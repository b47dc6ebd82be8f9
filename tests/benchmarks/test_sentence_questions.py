"""The questions of benchmarks/acl_sentences.py: the sentence is in nothing that is indexed, and has no names."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.sentence_questions import (  # noqa: E402
    ACL,
    Maker,
    Paper,
    constraints,
    cut,
    read_papers,
    sentences,
    without_names,
    write_without,
)

WORDS = "one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We parse. It works.", ["We parse.", "It works."]),
        ("What is it? A parser! (It works.) Fine.", ["What is it?", "A parser!", "(It works.)", "Fine."]),
        ("Smith et al. Found it, e.g. Here, by J. Doe.", ["Smith et al. Found it, e.g. Here, by J. Doe."]),
        ("It gains 3.5 points. Code is at a.b.c.", ["It gains 3.5 points.", "Code is at a.b.c."]),
        ("no end", ["no end"]),
        ("", []),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


@given(st.text(alphabet='aB .!?e.g("', max_size=60))
def test_nothing_but_white_space_is_lost_between_sentences(text):
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_a_sentence_is_cut_wherever_it_stands():
    text = "First one. Second one. Third one."
    assert [cut(text, part) for part in sentences(text)] == [
        "Second one. Third one.",
        "First one. Third one.",
        "First one. Second one.",
    ]
    with pytest.raises(ValueError, match="once"):
        cut("Again. Again.", "Again.")
    with pytest.raises(ValueError, match="once"):
        cut(text, "Fourth one.")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("We use the Penn Treebank of Marcus (1993).", "We use the of (1993)."),
        ("BERT is what we use.", "is what we use."),
        ("Parsey works.", "works."),  # no text has it in small letters
        ("A parser is what we use.", "A parser is what we use."),
        ("it is iPhone-like", "it is"),
    ],
)
def test_words_with_capitals_are_removed(sentence, expected):
    assert without_names(sentence, {"we", "a"}.__contains__) == expected


def test_every_way_to_constrain_a_paper():
    paper = Paper("p", year="2020", venues=("v",), authors=("a", "b", "a"))
    assert constraints(paper, "author") == [{"author": "a"}, {"author": "b"}]
    assert constraints(paper, "year") == [{"year": "2020"}]
    assert constraints(Paper("p", venues=("v",)), "venue and year") == []


def papers(n=40):
    """Papers of two people, one venue and one year; each has two usable sentences, and one that another has, too."""
    found = {}
    for i in range(n):
        own = " ".join(f"{word}{'abcdefghij'[i % 10]}{'klmn'[i // 10]}" for word in WORDS.split())
        abstract = f"we show that {own}. We share this sentence with all the {WORDS}. Then we say {own}. We end."
        iri = f"https://aclanthology.org/{i}"
        found[iri] = Paper(iri, f"Title {i}", abstract, "", "2020", ("e:v",), (f"e:{i % 2}",))
    return found


def test_questions_ask_for_one_sentence_that_only_their_paper_had():
    all_papers = papers()
    questions = Maker(all_papers).make(4, seed=3)
    assert [question.kind for question in questions] == ["author"] * 4 + ["venue and year"] * 4 + ["year"] * 4
    assert len({question.paper for question in questions}) == 12
    for question in questions:
        paper = all_papers[question.paper]
        assert question.sentence in paper.abstract
        assert question.sentence not in question.abstract
        assert "share" not in question.text
        assert not any(question.sentence in other.abstract for iri, other in all_papers.items() if iri != paper.iri)
        assert question.candidates == (20 if question.kind == "author" else 40)


def test_the_same_seed_gives_the_same_questions_and_another_others():
    assert Maker(papers()).make(4, seed=3) == Maker(papers()).make(4, seed=3)
    assert Maker(papers()).make(4, seed=3) != Maker(papers()).make(4, seed=4)


def test_a_paper_of_the_same_title_or_in_another_language_is_no_answer():
    all_papers = papers(15)
    for iri in list(all_papers)[:2]:
        all_papers[iri] = Paper(iri, "Twin", all_papers[iri].abstract, "", "2020", ("e:v",), ("e:0",))
    third = list(all_papers)[2]
    all_papers[third] = Paper(third, "Title", all_papers[third].abstract, "fra", "2020", ("e:v",), ("e:0",))
    answers = {question.paper for question in Maker(all_papers).make(4, seed=0)}
    assert answers == set(list(all_papers)[3:])
    with pytest.raises(ValueError, match="no 5 questions"):
        Maker(all_papers).make(5, seed=0)


def test_what_is_written_has_no_sentence_that_is_asked(tmp_path):
    all_papers = papers()
    lines = []
    for paper in all_papers.values():
        lines += [
            f"<{paper.iri}> <{ACL}publishedIn> <e:volume> .",
            f'<{paper.iri}> <{ACL}title> "{paper.title}" .',
            f'<{paper.iri}> <{ACL}abstract> "{paper.abstract}" .',
            f'<{paper.iri}> <{ACL}year> "2020"^^<http://www.w3.org/2001/XMLSchema#integer> .',
            *(f"<{paper.iri}> <{ACL}author> <{author}> ." for author in paper.authors),
            f"<{paper.iri}> <{ACL}venue> <e:v> .",
        ]
    source, out = tmp_path / "a.nt.gz", tmp_path / "b.nt.gz"
    source.write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    assert read_papers(source) == all_papers
    questions = Maker(all_papers).make(4, seed=3)
    asked = {question.paper for question in questions}
    gone = next(iri for iri in all_papers if iri not in asked)
    write_without(source, out, questions, frozenset({gone}))
    left = read_papers(out)
    assert set(all_papers) - set(left) == {gone}
    written = gzip.decompress(out.read_bytes()).decode()
    for question in questions:
        assert question.sentence not in written
        assert left[question.paper].abstract == question.abstract
    for iri in set(left) - asked:
        assert left[iri] == all_papers[iri]
