"""The fields of DBpedia-Entity v2 out of dumps: made-up ones against a slow restatement, and the real sample."""

from __future__ import annotations

import bz2
import random
from pathlib import Path

import pytest
from dbpedia_dumps import A_LABELS, ALL, DUMPS, convert, lay_out
from dbpedia_reference import ANCHOR, COMMENT, LABEL, SUBJECT, O, P, R, index_a, index_b
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.datasets.dbpedia.making import make_dbpedia
from hybridkg.datasets.dbpedia.rules import FIELDS, load_rules
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.errors import LoadError, UnknownNameError
from hybridkg.kb import KnowledgeBase
from hybridkg.resources import resource

# --- by hand ----------------------------------------------------------------------------------------------------


def test_the_fields_of_index_b(tmp_path):
    fields, graph = convert(lay_out(tmp_path / "d", DUMPS), tmp_path / "w")
    assert list(fields) == [R + name for name in ("Ada", "List_of_cities", "Rome")]
    rome = fields[R + "Rome"]
    assert rome["names"] == ["Roma Capitale", "Rome"]
    assert rome["categories"] == [" places", "Capitals in Europe"]
    assert rome["similar"] == ["Roma", "Rome (disambiguation)", "the city"]
    assert rome["attributes"] == ["21.0", 'Rome is "eternal" and café.', 'Rome is "eternal".', "logo U R L x.png"]
    assert rome["related"] == [
        "Ada",
        "Roma",
        "image Old Rome.v2.jpg",
        "is Part Of List of cities",
        "twin Town Paris",
        "website http://www.comune.roma.it/",
    ]
    assert rome["catchall"] == ["\n".join(text for field in FIELDS for text in rome[field])]
    assert fields[R + "Ada"] == {
        "names": ["Ada", "Ada L.", "L."],
        "attributes": ["Ada lived."],
        "related": ["Rome"],  # of dbo:birthPlace; dbo:location is on the blacklist
        "catchall": ["Ada\nAda L.\nL.\nAda lived.\nRome"],
    }
    assert fields[R + "List_of_cities"]["names"] == ["List of cities"]
    assert f"<{R}Ada> <{O}location> <{R}Rome> ." in graph
    assert [line for line in graph if "wikiPage" in line or "abstract" in line or "comment" in line] == []
    assert [line for line in graph if "logoURL" in line or "roma.it" in line] == []
    assert len(graph) == 5 + 1 + 8


def test_the_fields_of_index_a(tmp_path):
    fields, graph = convert(lay_out(tmp_path / "d", {**DUMPS, **A_LABELS}), tmp_path / "w", "A")
    rome = fields[R + "Rome"]
    assert rome["names"] == ["Roma Capitale", "Rome"]
    assert rome["categories"] == ["Capitals in Europe!"]
    assert rome["similar"] == ["Roma", "Rome (disambiguation)", "the city"]
    assert rome["attributes"] == [
        "21.0", "Old Rome.v2", 'Rome is "eternal" and café.', 'Rome is "eternal".', "the city", "x.png",
    ]  # fmt: skip
    assert rome["related"] == ["Ada", "Old Rome.v2", "Roma", "part of List of cities"]
    assert "catchall" not in rome
    assert graph == convert(tmp_path / "d", tmp_path / "b", "B")[1]


def test_index_a_without_labels_falls_back_on_iris(tmp_path):
    fields, _ = convert(lay_out(tmp_path / "d", DUMPS), tmp_path / "w", "A")
    assert fields[R + "Rome"]["categories"] == [" places", "Capitals in Europe"]
    assert "logo U R L x.png" in fields[R + "Rome"]["attributes"]
    assert "is Part Of List of cities" in fields[R + "Rome"]["related"]


# --- laws ---------------------------------------------------------------------------------------------------------

local = st.sampled_from(["A", "B_b", "B_", "Ba", "C:c", "Ä_x", "Category:K_1", "File:F_x.jpg", "D%22", "Z_(z)"])
odd = st.sampled_from(["<http://x.org/y>", f"<{O}City>", "<http://en.wikipedia.org/wiki/W_w>"])
node = st.one_of(local.map(lambda name: f"<{R}{name}>"), odd)
predicate = st.sampled_from(
    [LABEL, COMMENT, SUBJECT, ANCHOR, P + "name", P + "twinTown", P + "logoURL", O + "birthPlace", O + "location",
     O + "wikiPageRedirects", O + "wikiPageDisambiguates", O + "wikiPageWikiLink", O + "birthName", O + "abstract"]
)  # fmt: skip
literal = st.sampled_from(
    ['"a"@en', '"a b"', '"\\"q\\" \\u00e9\\n"@en', '""@en', '"3"^^<http://x.org/int>', '"A\tb"@en-GB']
)
line = st.one_of(
    st.tuples(local.map(lambda n: f"<{R}{n}>"), predicate.map(lambda p: f"<{p}>"), st.one_of(node, literal)),
    st.tuples(local.map(lambda n: f"<{R}{n}>"), st.sampled_from([f"<{LABEL}>", f"<{COMMENT}>"]), literal),
).map(lambda parts: " ".join(parts) + " .")
quick = settings(
    max_examples=examples(15, 25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def fresh(tmp_path):
    """fresh(): an empty folder, another each time."""
    made = iter(range(10**6))

    def make() -> Path:
        folder = tmp_path / str(next(made))
        folder.mkdir()
        return folder

    return make


def spread(lines: list[str], seed: int) -> dict[str, list[str]]:
    """Lines over dumps in any order, some twice. Which file a triple is in makes no difference."""
    chance = random.Random(seed)
    dumps: dict[str, list[str]] = {}
    for text in [*lines, *chance.sample(lines, len(lines) // 2)]:
        dumps.setdefault(chance.choice(ALL), []).append(text)
    for some in dumps.values():
        chance.shuffle(some)
    return dumps


ANCHORED = [
    f'<{R}A> <{LABEL}> "a"@en .',
    f"<{R}A> <{ANCHOR}> <{R}A> .",  # an anchor text that is none
    f'<{R}A> <{COMMENT}> "a"@en .',
]


@quick
@example(lines=ANCHORED, seed=0, range_bytes=1, labels=False)
@given(st.lists(line, max_size=60), st.integers(0, 10**6), st.sampled_from([1, 50, 400, 10**9]), st.booleans())
def test_every_index_is_its_restatement_whatever_the_order_and_the_ranges(fresh, lines, seed, range_bytes, labels):
    given = [text.encode() + b"\n" for text in lines]
    definitions = [text.encode() + b"\n" for text in A_LABELS["infobox_property_definitions_en"]]
    extra = {"infobox_property_definitions_en": A_LABELS["infobox_property_definitions_en"], "category_labels_en": []}
    dumps = lay_out(fresh(), {**spread(lines, seed), **(extra if labels else {})})
    found, graph = convert(dumps, fresh(), "B", range_bytes=range_bytes)
    assert found == index_b(given)
    assert list(found) == sorted(found, key=str.encode)
    assert graph == sorted(set(graph), key=lambda row: (row.split(">")[0].encode(), row.encode()))
    a, graph_a = convert(dumps, fresh(), "A", range_bytes=range_bytes)
    assert a == index_a(given, definitions if labels else (), category_labels=labels)
    assert graph_a == graph


# --- rules --------------------------------------------------------------------------------------------------------


def test_rules_of_ones_own_are_checked(tmp_path):
    text = resource("ontologies", "dbpedia", "index-b.toml").read_text()
    path = tmp_path / "own.toml"
    path.write_text(text.replace('"dbo:abstract", ', ""))
    _, graph = convert(lay_out(tmp_path / "d", DUMPS), tmp_path / "w", str(path))
    assert sum("abstract" in row for row in graph) == 1
    for old, new, message in [
        ('resource = "iri"', 'resource = "uri"', "'text.resource' is 'iri' or 'label', not 'uri'"),
        ("catchall = true", "catchall = 1", "'text.catchall' is true or false, not 1"),
        ("catchall = true", "cachall = true", "no key 'text.cachall'"),
        ('"dcterms:subject"', '"dct:subject"', "'dct:subject' does not begin with a prefix"),
        ("has = [", "# has = [", "the key 'entities.has' is missing"),
        ("[graph]", "[graphs]", "no key 'graphs'"),
        ('name = "B"', 'name = "B', "not TOML"),
    ]:
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(LoadError, match=message) as caught:
            load_rules(str(path))
        assert caught.value.place == str(path)
    with pytest.raises(UnknownNameError, match="no index 'C'; known: A, B"):
        load_rules("C")


@pytest.mark.parametrize("index", ["A", "B"])
def test_the_profile_of_an_index_has_its_fields(index):
    rules = load_rules(index)
    wanted = [*FIELDS, "catchall"] if rules.catchall else list(FIELDS)
    assert [field.name for field in load_profile(rules.profile).fields] == wanted


# --- the real sample ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(shared_data) -> Path:
    return shared_data / "dbpedia-rdf-samples/nordlys-2015-10-sample"


@pytest.fixture(scope="module")
def sample_b(sample, tmp_path_factory):
    """(fields, graph) of the sample's index B."""
    return convert(sample, tmp_path_factory.mktemp("sample") / "b", "B")


@pytest.mark.needs_shared
def test_the_sample_is_its_restatement(sample, sample_b, tmp_path):
    lines = [bz2.decompress(path.read_bytes()) for path in sample.rglob("*.bz2") if path.name.split(".")[0] in ALL]
    found, _ = sample_b
    assert len(found) == 97
    assert found == index_b(lines)
    found, _ = convert(sample, tmp_path / "a", "A")
    assert found == index_a(lines, category_labels=False)


@pytest.mark.needs_shared
def test_two_entities_of_the_sample_by_hand(sample_b):
    fields, graph = sample_b
    ruin, spice = fields[R + "Ruin_value"], fields[R + "Black_cardamom"]
    assert ruin["names"] == ["Ruin value"]
    assert ruin["categories"] == ["Building engineering", "Nazi architecture", "Ruins"]
    assert ruin["similar"] == ["Ruin value", "Theory of Ruin Value", "ruin value"]
    assert len(ruin["attributes"]) == 2  # the short and the long abstract
    assert {"Albert Speer", "1936 Olympics Bell - Berlin.jpg", "Nazi architecture"} <= set(ruin["related"])
    assert spice["names"] == ["Black cardamom"]
    assert spice["attributes"][1:] == [
        "binomial Amomum subulatum, Amomum costatum",
        "binomial Authority Roxb.  Benth. & Hook.f.",
        "genus Amomum",
        "image Caption Black cardamom fruit as used as spice",
        "species A. subulatum, A. costatum",
    ]
    assert spice["similar"][0] == "Amomum costatum"
    assert all("wikiPage" not in row for row in graph)


@pytest.mark.needs_shared
def test_catchall_is_what_the_fields_read_as_one_text_are(sample, shared_data, tmp_path):
    made = make_dbpedia(sample, shared_data / "dbpedia-entity-v2", tmp_path / "o")
    assert (made.counts["entities"], made.counts["judgements"]) == (97, 49280)
    fields = ", ".join(FIELDS)
    with KnowledgeBase.open(tmp_path / "o/kb") as kb:
        for text in ("roman architecture", "airlines in the united kingdom", "spice of nepal"):
            ranked = []
            for on in ("catchall", fields):
                query = f"SELECT ?e ?s {{ ?e MATCH $text ON ({on}) USING lm(mu=2000) AS ?s }} RANK BY ?s"
                ranked.append([(str(row["e"]), row.scores["s"]) for row in kb.query(query, {"text": text})])
            assert ranked[0] == ranked[1]
            assert ranked[0]
