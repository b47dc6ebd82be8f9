"""DBpedia-Entity v2 out of dumps: made-up ones against a slow restatement of the rules, and the real sample."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from dbpedia_reference import ANCHOR, COMMENT, LABEL, SUBJECT, O, P, R, index_a, index_b
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridkg.cli import cli
from hybridkg.entities.profile_reader import load_profile
from hybridkg.errors import LoadError, LockedError, UnknownNameError, UserError
from hybridkg.evaluation.datasets.building import make_dataset
from hybridkg.evaluation.datasets.dbpedia import converting, spill, triples
from hybridkg.evaluation.datasets.dbpedia.converting import DOCUMENTS, GRAPH, Conversion, find_dumps
from hybridkg.evaluation.datasets.dbpedia.making import make_dbpedia
from hybridkg.evaluation.datasets.dbpedia.rules import FIELDS, load_rules
from hybridkg.evaluation.datasets.dbpedia.spill import Sample, Spill, lines_of
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import read_topics
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb import KnowledgeBase
from hybridkg.linking.link_file import read_link_file
from hybridkg.resources import resource

ALL = load_rules("A").files
LABEL_FILES = load_rules("A").label_files

DUMPS = {
    "labels_en": [
        f'<{R}Rome> <{LABEL}> "Rome"@en .',
        f'<{R}Ada> <{LABEL}> "Ada"@en .',
        f'<{R}List_of_cities> <{LABEL}> "List of cities"@en .',
        f'<{R}Roma> <{LABEL}> "Roma"@en .',
        f'<{R}Rome_(disambiguation)> <{LABEL}> "Rome (disambiguation)"@en .',
        f'<{R}Nowhere> <{LABEL}> "Nowhere"@en .',
    ],
    "short_abstracts_en": [
        f'<{R}Rome> <{COMMENT}> "Rome is \\"eternal\\"."@en .',
        f'<{R}Ada> <{COMMENT}> "Ada lived."@en .',
        f'<{R}List_of_cities> <{COMMENT}> "All cities."@en .',
        f'<{R}Rome_(disambiguation)> <{COMMENT}> "Rome may be"@en .',
        f'<{R}Nameless> <{COMMENT}> "has no label"@en .',
    ],
    "long_abstracts_en": [f'<{R}Rome> <{O}abstract> "Rome is \\"eternal\\" and caf\\u00E9."@en .'],
    "article_categories_en": [
        f"<{R}Rome> <{SUBJECT}> <{R}Category:Capitals_in_Europe> .",
        f"<{R}Rome> <{SUBJECT}> <{R}Category:Star_Trek:_places> .",
    ],
    "instance_types_transitive_en": [f"<{R}Rome> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{O}City> ."],
    "infobox_properties_en": [
        f'<{R}Rome> <{P}officialName> "Roma Capitale"@en .',
        f"<{R}Rome> <{P}twinTown> <{R}Paris> .",
        f"<{R}Rome> <{P}isPartOf> <{R}List_of_cities> .",
        f"<{R}Rome> <{P}website> <http://www.comune.roma.it/> .",
        f'<{R}Rome> <{P}logoURL> "x.png"@en .',
        f'<{R}Rome> <{P}empty> ""@en .',
        f"<{R}Rome> <{P}image> <{R}File:Old_Rome.v2.jpg> .",
    ],
    "mappingbased_objects_en": [
        f"<{R}Ada> <{O}birthPlace> <{R}Rome> .",
        f"<{R}Ada> <{O}location> <{R}Rome> .",
    ],
    "mappingbased_literals_en": [
        f'<{R}Rome> <{O}elevation> "21.0"^^<http://www.w3.org/2001/XMLSchema#double>.',
        f'<{R}Ada> <http://xmlns.com/foaf/0.1/name> "Ada L."@en .',
    ],
    "persondata_en": [f'<{R}Ada> <http://xmlns.com/foaf/0.1/surname> "L."@en .'],
    "transitive_redirects_en": [f"<{R}Roma> <{O}wikiPageRedirects> <{R}Rome> ."],
    "disambiguations_en": [f"<{R}Rome_(disambiguation)> <{O}wikiPageDisambiguates> <{R}Rome> ."],
    "page_links_en": [f"<{R}Rome> <{O}wikiPageWikiLink> <{R}Ada> .", f"<{R}Rome> <{O}wikiPageWikiLink> <{R}Roma> ."],
    "anchor_text_en": [f'<{R}Rome> <{ANCHOR}> "the city"@en .'] * 3,
}
"""Small enough to work out by hand; Roma is a redirect, the disambiguation page has an abstract, Paris has nothing."""

A_LABELS = {
    "category_labels_en": [f'<{R}Category:Capitals_in_Europe> <{LABEL}> "Capitals in Europe!"@en .'],
    "infobox_property_definitions_en": [
        f"<{P}twinTown> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <x:Property> .",
        f'<{P}twinTown> <{LABEL}> "twin town"@en .',
        f'<{P}isPartOf> <{LABEL}> "part of"@en .',
    ],
}


def lay_out(folder: Path, dumps: dict[str, list[str]], ending: str = "") -> Path:
    """The dumps as files, with the comments that the real ones have."""
    packed = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress}[ending]
    (folder / "core-i18n/en").mkdir(parents=True, exist_ok=True)
    for name in {**dict.fromkeys(ALL, ()), **dumps}:
        lines = ["# started 2016", *dumps.get(name, ()), "", "# completed 2016"]
        (folder / f"core-i18n/en/{name}.ttl{ending}").write_bytes(packed("\n".join(lines).encode() + b"\n"))
    return folder


def read(folder: Path) -> tuple[dict[str, dict], list[str]]:
    """Fields by entity, and the lines of the graph, of a conversion."""
    lines = gzip.decompress((folder / DOCUMENTS).read_bytes()).decode().splitlines()
    documents = [json.loads(line) for line in lines]
    graph = (
        gzip.decompress((folder / GRAPH).read_bytes()).decode().splitlines() if (folder / GRAPH).stat().st_size else []
    )
    return {document.pop("id"): document for document in documents}, graph


def convert(dumps: Path, work: Path, index: str = "B", progress=SILENT, **options) -> tuple[dict[str, dict], list[str]]:
    work.mkdir(exist_ok=True)
    rules = load_rules(index)
    Conversion(rules, find_dumps(rules, dumps), work, progress, **options).run()
    return read(work)


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
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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


@quick
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


class Interrupt:
    """Progress that interrupts the work at its n-th word, and writes down what is begun."""

    def __init__(self, after: int):
        self.left, self.begun = after, []

    def _word(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def start(self, label, total_bytes):
        self.begun.append(label)
        self._word()

    def advance(self, bytes_read, items):
        self._word()

    def done(self, items):
        self._word()


@pytest.mark.parametrize("index", ["A", "B"])
def test_an_interrupted_conversion_goes_on_to_the_same_files(tmp_path, index, monkeypatch):
    monkeypatch.setattr(converting, "ANSWERED_AT_ONCE", 2)
    dumps = lay_out(tmp_path / "d", {**DUMPS, **A_LABELS}, ".bz2")
    want = convert(dumps, tmp_path / "w", index, range_bytes=200)
    again, runs, begun = tmp_path / "again", 0, []
    while True:
        progress = Interrupt(7)
        try:
            found = convert(dumps, again, index, progress, range_bytes=200)
            break
        except KeyboardInterrupt:
            begun.append(progress.begun)
            runs += 1
            assert runs < 60
    assert found == want
    assert runs > 5
    # labels are read to choose the ranges and to be spread; no dump is begun in more runs than it takes to be done
    assert sum("page_links_en.ttl.bz2" in some for some in begun) <= 2


def test_what_an_interruption_left_behind_the_noted_sizes_is_cut_off(tmp_path):
    dumps = lay_out(tmp_path / "d", DUMPS)
    want = convert(dumps, tmp_path / "w", range_bytes=200)
    work = tmp_path / "again"
    with pytest.raises(KeyboardInterrupt):
        convert(dumps, work, "B", Interrupt(46), range_bytes=200)
    state = json.loads((work / "state.json").read_text())
    assert 0 < state["ranges"] < json.loads((tmp_path / "w/state.json").read_text())["ranges"]
    for name in (DOCUMENTS, GRAPH):
        with (work / name).open("ab") as file:
            file.write(b"half of a range")
    assert convert(dumps, work, range_bytes=200) == want


def test_a_conversion_goes_on_only_with_the_same_dumps_and_rules(tmp_path):
    dumps = lay_out(tmp_path / "d", DUMPS)
    convert(dumps, tmp_path / "w")
    with pytest.raises(UserError, match="was begun with other rules"):
        convert(dumps, tmp_path / "w", "A")
    lay_out(tmp_path / "d", {**DUMPS, "page_links_en": []})
    with pytest.raises(UserError, match="was begun with other dumps"):
        convert(dumps, tmp_path / "w")


def test_ranges_are_of_about_one_size_and_memory_holds_one(tmp_path, monkeypatch):
    sample = Sample()
    monkeypatch.setattr(spill, "MOST_SAMPLED", 500)
    keys = [f"{i * 7919 % 10007:05d}".encode() for i in range(10_007)]
    for key in keys:
        sample.add(key)
    splits = sample.splits(16)
    made = Spill(tmp_path / "s", splits, flushed_at=4_000)
    most = 0
    for key in keys:
        made.add(key, b"x" * 20)
        made.add(key, b"x" * 20)
        most = max(most, made._bytes, sum(len(row) for rows in made._waiting for row in rows))
    made.close()
    assert most < 4_100
    sizes = [len(lines_of([tmp_path / "s"], number)) for number in range(16)]
    assert sum(sizes) == 10_007  # the second of each is gone
    assert max(sizes) < 2 * 10_007 / 16


# --- hostile dumps ------------------------------------------------------------------------------------------------

WRONG = {
    b'<http://dbpedia.org/resource/X> <x:p> "open .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\\q" .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\\uD800" .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\\U00110000" .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\xff" .\n': "not UTF-8",
    b"<relative> <x:p> <x:o> .\n": "not a triple of N-Triples",
    b"<x:s> <x:p> <x:o o> .\n": "not a triple of N-Triples",
    b"@prefix a: <x:a> .\n": "not a triple of N-Triples",
    b"<x:s> <x:p>\n": "not a triple of N-Triples",
    b"\x00\n": "not a triple of N-Triples",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_line_is_an_error_with_its_place_or_counted(tmp_path, wrong):
    dumps = lay_out(tmp_path / "d", DUMPS)
    path = dumps / "core-i18n/en/page_links_en.ttl"
    path.write_bytes(path.read_bytes() + wrong + b"<x:s> <x:p> <x:o> .\n")
    number = path.read_bytes().count(b"\n") - 1
    with pytest.raises(LoadError, match=WRONG[wrong]) as caught:
        convert(dumps, tmp_path / "w")
    assert caught.value.place == f"{path}:{number}"
    rules = load_rules("B")
    conversion = Conversion(rules, find_dumps(rules, dumps), tmp_path / "w", SILENT, lenient=True)
    state = conversion.run()
    assert state.dumps["page_links_en"] == [3, 1]
    assert state.first_skipped == {"page_links_en": f"{path}:{number}"}
    assert R + "Rome" in read(tmp_path / "w")[0]


def test_a_line_without_end_and_a_cut_archive_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(triples, "LONGEST_LINE", 1000)
    dumps = lay_out(tmp_path / "d", DUMPS)
    path = dumps / "core-i18n/en/page_links_en.ttl"
    path.write_bytes(b'#\n<x:s> <x:p> "' + b"a" * 3_000_000)
    for lenient in (False, True):
        with pytest.raises(LoadError, match="a line of more than") as caught:
            convert(dumps, tmp_path / "w", lenient=lenient)
        assert caught.value.place == f"{path}:2"
    path.unlink()
    whole = bz2.compress(b"<x:s> <x:p> <x:o> .\n" * 10_000)
    (dumps / "core-i18n/en/page_links_en.ttl.bz2").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LoadError, match="the bzip2 archive ends too early"):
        convert(dumps, tmp_path / "w2")
    assert not list((tmp_path / "w2").glob("page_links*"))


def test_what_the_graph_cannot_have_is_text_only(tmp_path):
    lines = [f"<{R}Rome> <{O}odd> <{R}100%> .", f'<{R}Rome> <{O}odd> "x"@abcdefgh-1 .', f"_:b <{O}odd> <{R}Rome> .",
             f"<{R}Rome>\t<{O}tabs>\t<{R}Ada> .", f"<{R}Rome> <{O}escaped> <{R}Caf\\u00E9> ."]  # fmt: skip
    dumps = lay_out(tmp_path / "d", {**DUMPS, "mappingbased_objects_en": lines})
    rules = load_rules("B")
    (tmp_path / "w").mkdir()
    state = Conversion(rules, find_dumps(rules, dumps), tmp_path / "w", SILENT, lenient=True).run()
    fields, graph = read(tmp_path / "w")
    assert state.counts["left_out"] + state.dumps["mappingbased_objects_en"][1] >= 1
    assert {"100%", "Ada", "Café"} <= set(fields[R + "Rome"]["related"])
    assert [row for row in graph if "odd" in row] == []
    assert f"<{R}Rome> <{O}escaped> <{R}Café> ." in graph


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


# --- the dataset --------------------------------------------------------------------------------------------------

COLLECTION = {
    "queries-v2.txt": "QALD2_te-1\tWhich city is eternal?\nINEX_LD-2\tAda\n",
    "queries-v2_stopped.txt": "QALD2_te-1\tcity is eternal\nINEX_LD-2\tAda\n",
    "qrels-v2.txt": "QALD2_te-1\tQ0\t<dbpedia:Rome>\t2\nINEX_LD-2\tQ0\t<dbpedia:Ada>\t1\n",
    **{f"folds/{name}.json": '{"0": {"training": ["INEX_LD-2"], "testing": ["QALD2_te-1"]}}'
       for name in ("all_queries", "SemSearch-ES", "INEX-LD", "ListSearch", "QALD2")},
}  # fmt: skip
EXTRAS = {
    "v1/qrels-v1_2015_10.txt": "QALD2_te-1\tQ0\t<dbpedia:Rome>\t3\nold-1\tQ0\t<dbpedia:Ada>\t1\n",
    "v1/folds/all_queries.json": '{"0": {"training": ["old-1"], "testing": ["QALD2_te-1"]}}',
    "kewer/entity-extraction/query-entities.json": json.dumps({"QALD2_te-1": {"entities": [[R + "Rome", 0.9]]}}),
}


@pytest.fixture
def collection(tmp_path) -> Path:
    for name, text in {**{f"v2/{name}": text for name, text in COLLECTION.items()}, **EXTRAS}.items():
        path = tmp_path / "dbpedia-entity-v2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "dbpedia-entity-v2"


def test_the_command_makes_the_whole_folder(tmp_path, collection):
    dumps = lay_out(tmp_path / "d", DUMPS, ".bz2")
    given = ["--dumps", str(dumps), "--collection", str(collection), "--out", str(tmp_path / "o")]
    arguments = ["dataset", "dbpedia-entity-v2", *given]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "entities: 3\n" in result.stderr
    out = tmp_path / "o"
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "categories.tsv", "dataset.toml", "folds-INEX_LD.json", "folds-ListSearch.json",
        "folds-QALD2.json",
        "folds-SemSearch_ES.json", "folds-v1.json", "folds.json", "kb", "links", "qrels-v1.txt", "qrels.txt",
        "topics-stopped.tsv", "topics.tsv",
    ]  # fmt: skip
    assert not (tmp_path / "o.partial").exists()
    assert read_topics(out / "topics-stopped.tsv").texts["QALD2_te-1"] == "city is eternal"
    assert read_qrels(out / "qrels.txt").grades["QALD2_te-1"] == {R + "Rome": 2}
    assert read_qrels(out / "qrels-v1.txt").grades["QALD2_te-1"] == {R + "Rome": 3}
    links = read_link_file(out / "links/spotlight.tsv")
    assert links.of("city is eternal") == links.of("Which city is eternal?") != ()
    about = tomllib.loads((out / "dataset.toml").read_text())
    assert about["counts"]["entities"] == 3
    assert {"labels_en.ttl.bz2"} <= {source["file"] for source in about["sources"]}
    with KnowledgeBase.open(out / "kb") as kb:
        query = "SELECT ?e { ?e MATCH $text ON (catchall) USING lm(mu=2000) AS ?s } RANK BY ?s LIMIT 1"
        assert str(next(iter(kb.query(query, {"text": "city is eternal"})))["e"]) == R + "Rome"
        assert len(list(kb.query(f"SELECT ?p {{ <{R}Ada> ?p <{R}Rome> }}"))) == 2
    again = CliRunner().invoke(cli, arguments)
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_catchall_can_be_left_out(tmp_path, collection):
    made = make_dbpedia(lay_out(tmp_path / "d", DUMPS), collection, tmp_path / "o", catchall=False)
    with KnowledgeBase.open(tmp_path / "o/kb") as kb:
        entities = {field["field"]: field["entities"] for field in kb.stats()["fields"]}
    assert (entities["names"], entities["catchall"]) == (3, 0)
    assert "without catchall" in (made.path / "README.md").read_text()


def test_an_interrupted_dataset_goes_on_behind_the_load(tmp_path, collection, monkeypatch):
    dumps = lay_out(tmp_path / "d", DUMPS)

    def fails(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(KnowledgeBase, "index", fails)
        with pytest.raises(KeyboardInterrupt):
            make_dbpedia(dumps, collection, tmp_path / "o")
    assert (tmp_path / "o.partial/.work/loaded").exists()
    monkeypatch.setattr(KnowledgeBase, "load", fails)
    made = make_dbpedia(dumps, collection, tmp_path / "o")
    assert made.counts["entities"] == made.kb["index"]["entities"] == 3
    assert not (tmp_path / "o/.work").exists()


def test_two_at_once_and_missing_files_are_errors(tmp_path, collection):
    from filelock import FileLock

    dumps = lay_out(tmp_path / "d", DUMPS)
    work = tmp_path / "o.partial/.work"
    work.mkdir(parents=True)
    with FileLock(work / "lock"), pytest.raises(LockedError, match="somebody else is making"):
        make_dbpedia(dumps, collection, tmp_path / "o")
    (dumps / "core-i18n/en/labels_en.ttl.gz").write_bytes(b"")
    with pytest.raises(LoadError, match="'labels_en' is there twice"):
        make_dbpedia(dumps, collection, tmp_path / "o")
    (dumps / "core-i18n/en/page_links_en.ttl").unlink()
    with pytest.raises(LoadError, match=r"'page_links_en\.ttl\.bz2' is not in"):
        make_dbpedia(dumps, collection, tmp_path / "o")
    with pytest.raises(LoadError, match=r"the folder .* does not exist"):
        make_dbpedia(tmp_path / "none", collection, tmp_path / "o")
    with pytest.raises(UserError, match="is made of --dumps and --collection"):
        make_dataset("dbpedia-entity-v2", tmp_path, tmp_path / "o")


@pytest.mark.parametrize(
    "arguments",
    [
        ["dbpedia-entity-v2", "--from", "data"],
        ["dbpedia-entity-v2", "--dumps", "data"],
        ["cacm"],
        ["cacm", "--from", "data", "--index", "A"],
    ],
)
def test_options_of_another_dataset_are_refused(arguments):
    result = CliRunner().invoke(cli, ["dataset", *arguments])
    assert result.exit_code == 2
    assert "--dumps" in result.stderr or "--from" in result.stderr


# --- the real sample ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(shared_data) -> Path:
    return shared_data / "dbpedia-rdf-samples/nordlys-2015-10-sample"


@pytest.mark.needs_shared
def test_the_sample_is_its_restatement(sample, tmp_path):
    lines = [bz2.decompress(path.read_bytes()) for path in sample.rglob("*.bz2") if path.name.split(".")[0] in ALL]
    found, _ = convert(sample, tmp_path / "b", "B")
    assert len(found) == 97
    assert found == index_b(lines)
    found, _ = convert(sample, tmp_path / "a", "A")
    assert found == index_a(lines, category_labels=False)


@pytest.mark.needs_shared
def test_two_entities_of_the_sample_by_hand(sample, tmp_path):
    fields, graph = convert(sample, tmp_path / "w", "B")
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
