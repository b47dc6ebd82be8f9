"""Profiles: what is accepted, what every mistake looks like, and that JSON keeps everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities.profile import paths as p
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.profile.profile_reader import NAMES, known_profiles, load_profile
from hybridkg.errors import CorruptError, HybridkgError, ProfileError
from hybridkg.resources import resource

HEAD = """@prefix hk: <https://w3id.org/hybridkg/ns#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix e: <http://example.org/> .
"""


def read(folder: Path, text: str) -> Profile:
    path = folder / "p.ttl"
    path.write_text(HEAD + text, encoding="utf-8")
    return load_profile(path)


def only_field(folder: Path, inside: str) -> Field:
    return read(folder, f'<> a hk:Profile ; hk:fields ( [ hk:name "f" ; {inside} ] ) .').fields[0]


def test_a_file_is_parsed_again_only_after_a_change(tmp_path):
    text = '<> a hk:Profile ; hk:fields ( [ hk:name "f" ; hk:path e:a ; hk:weight %s ] ) .'
    first = read(tmp_path, text % 1)
    assert read(tmp_path, text % 1) is first
    assert read(tmp_path, text % 2).fields[0].weight == 2
    with pytest.raises(ProfileError):
        read(tmp_path, text % -1)
    with pytest.raises(ProfileError):
        read(tmp_path, text % -1)
    assert read(tmp_path, text % 1) == first


E = "http://example.org/"
A, B = p.ShaclPredicate(E + "a"), p.ShaclPredicate(E + "b")


@pytest.mark.parametrize(
    ("turtle", "path"),
    [
        ("e:a", A),
        ("( e:a e:b )", p.Sequence((A, B))),
        ("( e:a )", A),
        ("[ sh:inversePath e:a ]", p.ShaclInverse(A)),
        ("[ sh:alternativePath ( e:b e:a ) ]", p.ShaclAlternative((B, A))),
        ("[ sh:alternativePath ( ( e:a e:b ) ) ]", p.Sequence((A, B))),
        ("e:b , e:a", p.ShaclAlternative((A, B))),
        ("[ sh:zeroOrMorePath e:a ]", p.Repeat(A, "*")),
        ("[ sh:oneOrMorePath [ sh:inversePath e:a ] ]", p.Repeat(p.ShaclInverse(A), "+")),
        ("( e:a [ sh:zeroOrOnePath ( e:a e:b ) ] )", p.Sequence((A, p.Repeat(p.Sequence((A, B)), "?")))),
    ],
)
def test_every_shacl_path_is_read(tmp_path, turtle, path):
    assert only_field(tmp_path, f"hk:path {turtle}").path == path


def test_everything_that_a_field_can_say_is_read(tmp_path):
    field = only_field(
        tmp_path,
        'hk:path e:a ; hk:text hk:Labels ; hk:weight 2.5 ; hk:b 0 ; hk:analyzer "plain" ;'
        ' hk:languages ( "de" "en-GB" ) ; hk:localName true',
    )
    assert field == Field("f", A, "labels", False, True, ("de", "en-gb"), 2.5, 0.0, "plain")


def test_the_order_of_the_list_is_the_order_of_the_fields(tmp_path):
    text = '<> a hk:Profile ; hk:fields ( [ hk:name "z" ] [ hk:name "a" ] [ hk:name "m" ] ) .'
    assert [field.name for field in read(tmp_path, text).indexed_fields()] == ["z", "a", "m"]


MISTAKES = [
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "title" ; hk:wieght 3 ] ) .',
        "error[P501]: hk:wieght is not in the vocabulary of profiles; known: " + ", ".join(sorted(NAMES)) + "\n"
        " --> FILE:4\n"
        "  hint: did you mean 'hk:weight'?",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path e:a ; hk:text hk:Lables ] ) .',
        "error[P501]: hk:Lables is not in the vocabulary of profiles; known: " + ", ".join(sorted(NAMES)) + "\n"
        " --> FILE:4\n"
        "  hint: did you mean 'hk:Labels'?",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path e:a ; hk:text hk:labels ] ) .',
        "error[P501]: field 't': hk:text is 'https://w3id.org/hybridkg/ns#labels'; "
        "known: hk:Literals, hk:Strings, hk:Labels\n --> FILE\n"
        "  hint: did you mean 'hk:Labels'?",
    ),
    (
        '<> a hk:Profile ; hk:lables ( e:l ) ; hk:fields ( [ hk:name "t" ; hk:path e:a ] ) .',
        "error[P501]: hk:lables is not in the vocabulary of profiles; known: " + ", ".join(sorted(NAMES)) + "\n"
        " --> FILE:4\n"
        "  hint: did you mean 'hk:labels'?",
    ),
    (
        '<> a hk:Profile ; hk:fields (\n  [ hk:name "title" ; hk:weight "heavy" ]\n) .',
        "error[P501]: field 'title': hk:weight 'heavy' is not a number\n --> FILE:5",
    ),
    (
        '<> a hk:Profile ; hk:fields (\n  [ hk:name "title" ; hk:weight -1 ]\n) .',
        "error[P501]: field 'title': weight -1 is not a number between 0 and 1,000,000\n --> FILE:5",
    ),
    (
        '<> a hk:Profile ; hk:fields (\n  [ hk:name "title" ; hk:weight 1e307 ]\n) .',
        "error[P501]: field 'title': weight 1e+307 is not a number between 0 and 1,000,000\n --> FILE:5",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "title" ; hk:b 1.5 ] ) .',
        "error[P501]: field 'title': b 1.5 is not between 0 and 1\n --> FILE:4",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path e:a ]\n [ hk:name "t" ; hk:path e:b ] ) .',
        "error[P501]: field 't' is defined 2 times\n --> FILE",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "Title of it" ] ) .',
        "error[P501]: 'Title of it' cannot be a field name\n --> FILE:4\n"
        "  hint: a lower-case letter, then lower-case letters, digits, '_' or '-'",
    ),
    (
        "<> a hk:Profile ; hk:fields ( [ hk:path e:a ] ) .",
        'error[P501]: a field has no name\n --> FILE\n  hint: hk:name "title"',
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path "e:a" ] ) .',
        "error[P501]: field 't': this is not a property path: 'e:a'\n --> FILE\n"
        "  hint: an IRI, a list, or [ sh:PROPERTY path ] with one of inversePath, alternativePath, zeroOrMorePath, "
        "oneOrMorePath, zeroOrOnePath",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path [ sh:inverse e:a ] ] ) .',
        "error[P501]: field 't': this is not a property path: http://www.w3.org/ns/shacl#inverse\n --> FILE\n"
        "  hint: an IRI, a list, or [ sh:PROPERTY path ] with one of inversePath, alternativePath, zeroOrMorePath, "
        "oneOrMorePath, zeroOrOnePath",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path [ sh:alternativePath e:a ] ] ) .',
        "error[P501]: field 't': sh:alternativePath takes a list\n --> FILE:4",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path <title> ] ) .',
        "error[P501]: the path of field 't': <title> is not an absolute IRI\n --> FILE:4\n"
        "  hint: IRIs are written in full, or with a declared prefix",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path e:a ; hk:text hk:Profile ] ) .',
        "error[P501]: field 't': hk:text is 'https://w3id.org/hybridkg/ns#Profile'; "
        "known: hk:Literals, hk:Strings, hk:Labels\n --> FILE",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path e:a ; hk:rest hk:Labels ] ) .',
        "error[P501]: field 't' has both a path and a rest\n --> FILE:4\n  hint: define two fields",
    ),
    (
        '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:entities e:A ] ) .',
        "error[P501]: field 't': hk:entities is not allowed here; known: analyzer, b, languages, localName, name, "
        "path, rest, text, weight\n --> FILE:4",
    ),
    (
        '<> a hk:Profile ; hk:fields [ hk:name "t" ] .',
        "error[P501]: hk:fields takes a list: ( ... )\n --> FILE:4",
    ),
    (
        "<> a hk:Profile .",
        "error[P501]: profile 'p' has no field\n --> FILE\n  hint: list them in hk:fields ( [ ... ] )",
    ),
    (
        "<> a e:Profile .",
        "error[P501]: the file describes no profile; it must describe one\n --> FILE\n"
        "  hint: a profile is a node of type <https://w3id.org/hybridkg/ns#Profile>",
    ),
    (
        "<a> a hk:Profile . <b> a hk:Profile .",
        "error[P501]: the file describes 2 profiles; it must describe one\n --> FILE",
    ),
    (
        '<> a hk:Profile ;\n hk:fields ( [ hk:name "t" ]',
        "error[P501]: this is not Turtle: the file ends within a statement\n --> FILE:5",
    ),
    ("<> a xx:Profile .", 'error[P501]: this is not Turtle: prefix "xx:" not bound\n --> FILE:4'),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_names_the_file_and_says_what_to_write(tmp_path, text, message):
    with pytest.raises(ProfileError) as caught:
        read(tmp_path, text)
    assert caught.value.render().replace(str(tmp_path / "p.ttl"), "FILE") == message


def test_an_unknown_name_lists_the_known_profiles():
    with pytest.raises(HybridkgError) as caught:
        load_profile("defautl")
    assert caught.value.render() == (
        f"error[R201]: no profile 'defautl'; known: {', '.join(known_profiles())}\n"
        "  hint: did you mean 'default'?\n"
        "        write your own profile as a path that ends in '.ttl'"
    )
    assert caught.value.exit_code == 2


def test_a_missing_file_a_folder_and_wrong_bytes_are_errors(tmp_path):
    (tmp_path / "latin.ttl").write_bytes(b"# ok\n# caf\xe9\n")
    for name, message in [
        ("none.ttl", "cannot read the profile: no such file or directory"),
        ("", "cannot read the profile: is a directory"),
        ("latin.ttl", "the profile is not UTF-8 text"),
    ]:
        with pytest.raises(ProfileError) as caught:
            load_profile(tmp_path / name)
        assert caught.value.message == message
    assert caught.value.place.endswith("latin.ttl:2")


def test_deep_and_circular_paths_end_in_an_error(tmp_path):
    deep = "[ sh:inversePath " * 300 + "e:a" + " ]" * 300
    circle = '_:p sh:inversePath _:p . <> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path _:p ] ) .'
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    ring = f"_:l <{rdf}first> e:a ; <{rdf}rest> _:l ."
    in_ring = ring + '<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path _:l ] ) .'
    for text in (f'<> a hk:Profile ; hk:fields ( [ hk:name "t" ; hk:path {deep} ] ) .', circle, in_ring):
        with pytest.raises(ProfileError):
            read(tmp_path, text)


def test_every_shipped_profile_is_correct():
    assert {"acl", "default", "python-packages"} <= set(known_profiles())
    for name in known_profiles():
        profile = load_profile(name)
        assert profile.name == name
        assert Profile.from_json(profile.to_json()) == profile


def test_the_ontology_declares_and_explains_every_name_that_profiles_use():
    import rdflib
    from rdflib import RDF, RDFS

    graph = rdflib.Graph().parse(resource("ontologies", "hybridkg.ttl"), format="turtle")
    declared = {str(s).rpartition("#")[2] for s in graph.subjects(RDF.type) if "#" in str(s)}
    assert set(NAMES) <= declared
    for name in declared:
        subject = rdflib.URIRef("https://w3id.org/hybridkg/ns#" + name)
        assert (subject, RDFS.label, None) in graph, name
        assert (subject, RDFS.comment, None) in graph, name


iris = st.sampled_from([E + "a", E + "b"]).map(p.ShaclPredicate)
any_path = st.recursive(
    iris,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: p.Sequence(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: p.ShaclAlternative(tuple(parts))),
        inner.map(p.ShaclInverse),
        st.builds(p.Repeat, inner, st.sampled_from("*+?")),
    ),
    max_leaves=6,
)
any_field = st.builds(
    Field,
    name=st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True),
    path=st.none() | any_path,
    text=st.sampled_from(["literals", "strings", "labels"]),
    local_name=st.booleans(),
    languages=st.lists(st.sampled_from(["en", "de"])).map(tuple),
    weight=st.floats(0, 100),
    b=st.floats(0, 1),
)
any_profile = st.builds(
    Profile,
    name=st.text(max_size=5),
    fields=st.lists(any_field, min_size=1, max_size=4, unique_by=lambda f: f.name).map(tuple),
    entities=st.lists(st.just(E + "C")).map(tuple),
)


@settings(max_examples=examples(12, 100), deadline=None)
@given(any_profile)
def test_json_keeps_a_profile_as_it_is(profile):
    assert Profile.from_json(profile.to_json()) == profile


@pytest.mark.parametrize("change", ["{", "[]", '{"format": 99}', '{"format": 1, "fields": [{}]}', "null"])
def test_damaged_json_is_a_corrupt_knowledge_base(change):
    with pytest.raises(CorruptError):
        Profile.from_json(change)


def test_json_with_a_path_that_is_no_iri_is_refused():
    data = json.loads(Profile("p", (Field("f", A),)).to_json())
    data["fields"][0]["path"] = "http://e/> ?s ?p ?o"
    with pytest.raises(CorruptError):
        Profile.from_json(json.dumps(data))


def test_paths_print_as_sparql_that_oxigraph_reads():
    import pyoxigraph

    path = p.Sequence(
        (p.ShaclInverse(p.ShaclAlternative((A, p.Repeat(B, "*")))), p.Repeat(p.Repeat(A, "+"), "?"), p.ShaclInverse(A))
    )
    assert p.to_sparql(path) == f"(^((<{E}a>|<{E}b>*))/(<{E}a>+)?/^<{E}a>)"
    pyoxigraph.Store().query(f"SELECT * {{ ?s {p.to_sparql(path)} ?o }}")


def test_a_language_takes_its_sub_tags_and_untagged_text():
    field = Field("f", languages=("en", "de-at"))
    assert [field.accepts(tag) for tag in ("", "en", "EN-gb", "de", "de-AT", "eng")] == [
        True,
        True,
        True,
        False,
        True,
        False,
    ]


def test_a_stored_profile_whose_numbers_are_refused_by_now_says_which():
    stored = json.loads(load_profile("default").to_json())
    stored["fields"][0]["weight"] = 5_000_000
    with pytest.raises(CorruptError, match="weight 5,000,000 is not a number between 0 and 1,000,000") as caught:
        Profile.from_json(json.dumps(stored))
    assert "--profile" in caught.value.hint


OBO, OIO = "http://purl.obolibrary.org/obo/", "http://www.geneontology.org/formats/oboInOwl#"
SKOS, SKOSXL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#"


@pytest.mark.parametrize(
    ("predicate", "field"),
    [
        *((OIO + f"has{kind}Synonym", "label") for kind in ("Exact", "Related", "Broad", "Narrow")),
        (OBO + "IAO_0000118", "label"),
        (SKOS + "altLabel", "label"),
        ("https://schema.org/alternateName", "label"),
        ("http://purl.org/dc/terms/alternative", "label"),
        ("http://www.w3.org/2006/vcard/ns#fn", "label"),
        (OBO + "IAO_0000115", "description"),
        ("http://purl.org/dc/terms/description", "description"),
        ("http://schema.org/disambiguatingDescription", "description"),
        ("http://usefulinc.com/ns/doap#shortdesc", "description"),
    ],
)
def test_the_default_profile_knows_what_common_vocabularies_call_names_and_descriptions(predicate, field):
    steps = {f.name: set(p.single_steps(f.path)) for f in load_profile().fields if f.path is not None}
    assert [name for name, iris in steps.items() if predicate in iris] == [field]


def test_the_labels_of_skos_xl_are_names():
    (path,) = p.alternatives(load_profile().fields[0].path)
    kinds = "|".join(f"<{SKOSXL}{kind}Label>" for kind in ("pref", "alt", "hidden"))
    assert p.to_sparql(path) == f"(({kinds})/<{SKOSXL}literalForm>)"


def test_the_predicates_of_classes_are_read_in_their_order_and_kept_as_json(tmp_path):
    profile = read(tmp_path, '<> a hk:Profile ; hk:types ( e:kind e:a ) ; hk:fields ( [ hk:name "f" ] ) .')
    assert profile.types == (E + "kind", E + "a")
    assert Profile.from_json(profile.to_json()) == profile
    plain = read(tmp_path, '<> a hk:Profile ; hk:fields ( [ hk:name "f" ] ) .')
    assert plain.types == ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type",)
    data = json.loads(plain.to_json())
    del data["types"]  # as stored before there were any
    assert Profile.from_json(json.dumps(data)) == plain


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("( )", "has an empty hk:types"),
        ("( e:a e:a )", "hk:types: <http://example.org/a> is listed twice"),
        ("e:a", "hk:types takes a list"),
        ("( e:a ) , ( e:b )", "hk:types is given twice"),
        ('( "a" )', "hk:types: 'a' is not an IRI"),
    ],
)
def test_a_mistake_in_the_predicates_of_classes_is_named(tmp_path, types, message):
    with pytest.raises(ProfileError) as e:
        read(tmp_path, f'<> a hk:Profile ; hk:types {types} ; hk:fields ( [ hk:name "f" ] ) .')
    assert message in str(e.value.render())
