"""Values of predicates beside the text: read as the store has them, and what it means to satisfy a condition."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities.extraction import extract
from hybridkg.entities.profile.filters import number_of, satisfies
from hybridkg.entities.profile.paths import ShaclPredicate
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.errors import ProfileError
from hybridkg.interfaces.text_index import PushdownCondition
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore

E = "http://e/"
P, LABEL = NamedNode(E + "p"), NamedNode(E + "label")
NUMERIC = ("integer", "decimal", "double", "float", "int", "boolean", "gYear", "dateTime", "duration")
nodes = st.sampled_from([NamedNode(E + "a"), NamedNode(E + "a!"), NamedNode(E + "b"), BlankNode("x"), BlankNode("y")])
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(["", "_:b", "<x:y>", "5", "tab\t \\ new\nline\r\x07\x7f\x85\u2028\ufeff", '"quoted"@en', "true"]),
)
written = st.sampled_from(
    ["5", "+05", "-0", "0.50", "1e3", "1.0E3", "-INF", "NaN", "true", "1", "x", "", " 5", "9" * 25, "2019", "P1D"]
)
values = st.one_of(
    nodes,
    st.builds(Literal, texts),
    st.builds(lambda text, tag: Literal(text, language=tag), texts, st.sampled_from(["en", "EN-gb"])),
    st.builds(lambda text, name: Literal(text, datatype=NamedNode(XSD + name)), written, st.sampled_from(NUMERIC)),
    st.builds(lambda text: Literal(text, datatype=NamedNode("x:y")), texts),
    st.builds(Triple, st.just(NamedNode(E + "a")), st.just(P), st.just(Literal("t"))),
)


def extracted(store: OxigraphStore):
    return extract(Profile("p", (Field("label", ShaclPredicate(LABEL.value)),)), store)


@settings(max_examples=examples(27, 200), deadline=None)
@given(st.lists(st.tuples(nodes, values), max_size=12), st.frozensets(nodes), st.booleans())
def test_filter_values_are_the_terms_of_the_store_for_entities_alone(rows, entities, union):
    quads = [
        Quad(subject, P, value, NamedNode(E + "g")) if union else Quad(subject, P, value) for subject, value in rows
    ]
    quads += [Quad(node, LABEL, Literal("word")) for node in entities]
    store = OxigraphStore.memory(quads, union_default_graph=union)
    found = extracted(store)
    want: dict[int, set[str]] = {}
    for subject, value in store.select(f"SELECT ?s ?o {{ ?s {P} ?o }}").rows:
        if subject in entities and isinstance(value, NamedNode | Literal):
            want.setdefault(found.nodes.index(subject), set()).add(str(value))
    assert list(found.filter_values(P.value)) == [(i, sorted(want[i])) for i in sorted(want)]


def test_a_predicate_that_nothing_has_gives_no_values():
    assert list(extracted(OxigraphStore.memory([Quad(P, LABEL, Literal("a"))])).filter_values(E + "none")) == []


def typed(text: str, datatype: str) -> str:
    return str(Literal(text, datatype=NamedNode(XSD + datatype)))


@pytest.mark.parametrize(
    ("text", "datatype", "number"),
    [
        ("2019", "integer", 2019.0),
        ("-7", "int", -7.0),
        ("+.5", "decimal", 0.5),
        ("5.", "decimal", 5.0),
        ("1e3", "double", 1000.0),
        ("1.5", "float", 1.5),
        ("INF", "double", sys.float_info.max),
        ("-INF", "float", -sys.float_info.max),
        ("1e999", "double", sys.float_info.max),
        ("-" + "9" * 5000, "decimal", -sys.float_info.max),
        ("NaN", "double", None),
        ("1_000", "integer", None),
        ("٥", "integer", None),
        ("5\n", "integer", None),
        (" 5", "integer", None),
        ("1e3", "decimal", None),
        ("infinity", "double", None),
        ("0x10", "integer", None),
        ("", "integer", None),
        ("2019", "gYear", None),
        ("2019", "string", None),
        ("true", "boolean", None),
    ],
)
def test_the_number_of_a_literal(text, datatype, number):
    assert number_of(typed(text, datatype)) == number


def test_there_is_one_zero():
    assert math.copysign(1, number_of(typed("-0", "double"))) == 1


@pytest.mark.parametrize("value", ["<http://e/5>", '"5"', '"5"@en', '"5', "", '"\\"^^<x:y>"'])
def test_what_is_no_number_has_none(value):
    assert number_of(value) is None


def test_a_constant_is_satisfied_by_the_same_term_and_a_range_by_any_number_within():
    both = [typed("2019", "integer"), typed("2025", "integer")]
    assert satisfies(both, PushdownCondition(E, both[0]))
    assert not satisfies(both, PushdownCondition(E, typed("2019", "decimal")))
    assert satisfies(both, PushdownCondition(E, low=2025.0, high=2030.0))
    assert not satisfies(both, PushdownCondition(E, low=2020.0, high=2024.0))
    assert satisfies(both, PushdownCondition(E, high=2019.0))
    assert not satisfies(['"2019"'], PushdownCondition(E, low=0.0))


# --- hk:filters ---------------------------------------------------------------------------

HEAD = "@prefix hk: <https://w3id.org/hybridkg/ns#> .\n@prefix e: <http://e/> .\n"
FIELDS = '<> a hk:Profile ; hk:fields ( [ hk:name "f" ] )'


def read(folder: Path, text: str) -> Profile:
    path = folder / "p.ttl"
    path.write_text(HEAD + text, encoding="utf-8")
    return load_profile(path)


def test_filters_are_read_in_the_order_written_and_kept_as_json(tmp_path):
    profile = read(tmp_path, FIELDS + " ;\n  hk:filters ( e:year a:b e:kind ) .".replace("a:b", "<http://a/b>"))
    assert profile.filters == (E + "year", "http://a/b", E + "kind")
    assert Profile.from_json(profile.to_json()) == profile


def test_a_profile_without_filters_has_none_and_one_stored_before_there_were_any_is_read(tmp_path):
    profile = read(tmp_path, FIELDS + " .")
    assert profile.filters == ()
    old = profile.to_json().replace(' "filters": [],\n', "")
    assert "filters" not in old
    assert Profile.from_json(old) == profile


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ("hk:filters e:year", "p.ttl:4: hk:filters takes a list: ( ... )"),
        ('hk:filters ( "year" )', "p.ttl:4: hk:filters: 'year' is not an IRI"),
        ("hk:filters ( <year> )", "p.ttl:4: hk:filters: <year> is not an absolute IRI"),
        ("hk:filters ( e:a e:b e:a )", "p.ttl:4: hk:filters: <http://e/a> is listed twice"),
        ("hk:filters ( e:a ) , ( e:b )", "p.ttl:4: hk:filters is given twice"),
        ("hk:filters ( " + " ".join(f"e:p{i}" for i in range(33)) + " )", "p.ttl:4: hk:filters has 33 predicates"),
    ],
)
def test_a_mistake_in_filters_is_named(tmp_path, filters, message):
    with pytest.raises(ProfileError) as caught:
        read(tmp_path, FIELDS + " ;\n" + filters + " .")
    assert message in f"{caught.value.place}: {caught.value.message}".replace(str(tmp_path) + "/", "")


def test_the_profile_of_the_anthology_filters_by_type_year_and_venue():
    assert [iri.rpartition("#")[2] for iri in load_profile("acl").filters] == ["type", "year", "venue"]
