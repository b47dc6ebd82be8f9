from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities.identifiers import humps, percent_decoded
from hybridkg.entities.profile.labels import local_name
from hybridkg.errors import UnknownNameError
from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.kb import KnowledgeBase

ANALYZER = ANALYZERS.get("identifier")()
alphabet = st.one_of(st.sampled_from(list("abcXYZ09_-.,' %éÉſß中の‑’E28s")), st.characters(exclude_categories=["Cs"]))
texts = st.text(alphabet, max_size=25)


@settings(max_examples=examples(180, 300), deadline=None)
@given(texts)
def test_words_are_the_words_of_the_spans(text):
    assert ANALYZER.words(text) == [word for word, _, _ in ANALYZER.spans(text)]


@settings(max_examples=examples(180, 300), deadline=None)
@given(texts)
def test_spans_point_at_their_words_and_parts_at_parts_of_wholes(text):
    spans = [one for one in ANALYZER.spans(text) if one[1] < one[2]]
    for word, start, end in spans:
        assert percent_decoded(text[start:end])[0].replace("’", "'") == word
    starts = [start for _, start, _ in spans]
    wholes = [one for i, one in enumerate(spans) if starts[i] < max(starts[: i + 1])]
    for word, start, end in wholes:
        parts = [part for part, at, until in spans if start <= at and until <= end and part != word]
        assert "".join(parts) == word.translate(str.maketrans("", "", "_-‐‑"))


@settings(max_examples=examples(180, 300), deadline=None)
@given(st.text(st.one_of(st.sampled_from(list("%%aAfF09C3é")), st.characters(codec="ascii")), max_size=20))
def test_percent_escapes_are_read_as_in_an_address(text):
    got, starts = percent_decoded(text)
    want = unquote(text, errors="replace")
    if "�" not in want:
        assert got == want
    assert len(starts) == len(got) + 1
    assert starts == sorted(set(starts))
    assert starts[-1] == len(text)


@settings(max_examples=examples(180, 300), deadline=None)
@given(st.text(st.sampled_from(list("abszXYZS019")), max_size=12))
def test_ascii_humps_are_the_humps_of_unicode(name):
    from hybridkg.entities.identifiers import _hump

    assert humps(name) == _hump().split(name)


def read(text):
    terms = [ANALYZER.term(word, "") for word in ANALYZER.words(text)]
    cut = terms.index("") if "" in terms else len(terms)
    return " ".join(terms[:cut]), [term for term in terms[cut:] if term]


@pytest.mark.parametrize(
    ("text", "parts", "wholes"),
    [
        ("dbo:birthPlace", "dbo birth place", ["birthplace"]),
        ("HTTPServer2 parseXMLFile", "http server 2 parse xml file", ["httpserver2", "parsexmlfile"]),
        ("snake_case kebab-case", "snake case kebab case", ["snakecase", "kebabcase"]),
        ("GPT-4 COVID19 H2O v2.0", "gpt 4 covid 19 h 2 o v 2.0", ["gpt4", "covid19", "h2o", "v2.0"]),
        ("listOfURLs IRIs", "list of urls iris", ["listofurls"]),
        ("Caf%C3%A9_M%C3%BCller (1982)", "cafe muller 1982", ["cafemuller"]),
        ("plain words, 1,000", "plain words 1000", []),
        ("_x_ -- 中文", "x 中 文", []),
        ("a-" * 60 + "a", " ".join("a" * 61), []),
    ],
)
def test_an_identifier_is_its_parts_and_the_whole(text, parts, wholes):
    assert read(text) == (parts, wholes)


DOCUMENTS = {0: "dbo:birthPlace", 1: "the birth place", 2: "birthplace", 3: "placeOfBirth", 4: "BIRTH_PLACE of"}


@pytest.fixture(scope="module")
def identifiers(build):
    documents = {i: {"name": text, "label": text} for i, text in DOCUMENTS.items()}
    return build(documents, [IndexedField("name", analyzer="identifier"), IndexedField("label")])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('"birth place"', [0, 1, 4]),
        ("birthplace", [0, 2, 4]),
        ("birthPlace", [0, 1, 2, 4]),
        ("+birth_place", [0, 1, 2, 4]),
        ('"birthPlace of"', [4]),
        ('"dbo birth"', [0]),
        ("birth -birthPlace", [3]),
    ],
)
def test_an_identifier_is_found_in_every_spelling(identifiers, text, want):
    assert identifiers.score_all(TextQuery(text, fields=(FieldChoice("name"),)))[0].tolist() == want


def test_each_field_reads_an_identifier_in_its_own_way(identifiers):
    (term,) = identifiers.terms(TextQuery("birthPlace"))
    assert (term.df, identifiers.score_all(TextQuery("birthPlace"))[0].tolist()) == (4, [0, 1, 2, 4])


def test_a_passage_marks_an_identifier_once(identifiers):
    query = TextQuery("birthPlace place", fields=(FieldChoice("name"),))
    assert identifiers.passage(query, [("name", "see dbo:birthPlace, a place", "")]) == (
        "see dbo:**birthPlace**, a **place**"
    )


def test_a_local_name_stays_whole_for_identifiers():
    assert local_name("http://e/Caf%C3%A9_inParis", divided=False) == "Café_inParis"
    assert local_name("http://e/()", divided=False) == ""


PROFILE = """@prefix hk: <https://w3id.org/hybridkg/ns#> .
<#p> a hk:Profile ; hk:fields ( [ hk:name "name" ; hk:localName true ; hk:analyzer "NAME" ] ) ."""


def test_local_names_are_found_in_every_spelling(tmp_path):
    (tmp_path / "d.ttl").write_text("@prefix : <http://e/> . :birthPlace a :Property .")
    (tmp_path / "p.ttl").write_text(PROFILE.replace("NAME", "identifier"))
    kb = KnowledgeBase.create(tmp_path / "d.kb")
    kb.load(tmp_path / "d.ttl", index=True, profile=tmp_path / "p.ttl")
    for text in ("birth place", "birthplace", "BirthPlace"):
        assert [str(row["e"]) for row in kb.query('SELECT ?e { ?e MATCH ALL QUERY "' + text + '" }')] == [
            "http://e/birthPlace"
        ]


def test_an_unknown_analyzer_in_a_profile_is_named_before_any_work(tmp_path):
    (tmp_path / "d.ttl").write_text("@prefix : <http://e/> . :birthPlace a :Property .")
    (tmp_path / "p.ttl").write_text(PROFILE.replace("NAME", "identifer"))
    kb = KnowledgeBase.create(tmp_path / "d.kb")
    with pytest.raises(UnknownNameError) as e:
        kb.load(tmp_path / "d.ttl", index=True, profile=tmp_path / "p.ttl")
    assert e.value.message == (
        "profile 'p', field 'name': no analyzer 'identifer'; known: all_words, bm25s, identifier, plain, standard, "
        "stopped, "
        "unstemmed"
    )
    assert e.value.hint == "did you mean 'identifier'?"
