"""Datasets from small source folders made here, and from the real ones."""

from __future__ import annotations

import json
import lzma
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.cli import cli
from hybridkg.datasets import DATASETS, sources
from hybridkg.datasets.building import make_dataset
from hybridkg.datasets.fb15k import FB
from hybridkg.datasets.recipe import Recipe, RecipeTriples, five_folds, local_name
from hybridkg.entities.profile.profile_reader import known_profiles
from hybridkg.errors import LoadError, UnknownNameError, UserError
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import read_topics
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb import KnowledgeBase
from hybridkg.rdf.terms import Literal, NamedNode

CRANFIELD = {
    "documents": """<doc>
<docno>1</docno>
<title>lift of a wing .</title>
<author>brenckman,m.</author>
<bib>j. ae. scs. 25, 1958</bib>
<text>lift of a wing .
 the slipstream &amp; the wing</text>
</doc><doc>
<docno>2</docno>
<title>heat of a plate .</title>
<author></author>
<bib></bib>
<text>heat of a plate .</text>
</doc>
""",
    "queries": """<?xml version='1.0'?><xml>
<top><num> 4</num><title>
what of
wings</title></top>
<top><num> 1</num><title>what of heat</title></top></xml>
""",
    "qrels": "1 0 1 1\n2 0 2 3\n2 0 1 0\n",
}
CACM = {
    "documents": """.I 1
.T
Virtual
Memory
.W
On paging.
.B
CACM JUly, 1966
.A
Knuth, D. E.
Arden,  B.
.K
paging, demand
paging,  thrashing
.C
4.22, None 4.3
.N
CA660701
.X
1\t5\t1
2\t5\t1
2\t5\t1
2\t4\t1
.I 2
.T
.B
CACM May 1967
.A
Knuth, D. E.
.X
1\t5\t2
1\t4\t2
.
""",
    "queries": ".I 1\n.W\n paging\n in memory\n.A\nKnuth\n.N\n 1.\n\n.I 2\n.W\n nothing\n.I 0\n",
    "qrels": "01 0002  0 0\n",
}
FB15K = {
    "entities": "mid\tname\tdescription\n/m/0a\tAda Film\tA film about Ada.\n/m/0b\tActor-GB\t\n"
    "/m/0c\tBo Bell\tAn actor.\n",
    "relations": "/film/actor/film./film/performance/film\tfilm actor film. film performance film\n"
    "/people/person/profession\tpeople person profession\n",
    "train": "/m/0c\t/film/actor/film./film/performance/film\t/m/0a\n",
    "valid": "/m/0c\t/people/person/profession\t/m/0b\n",
    "test": "\n",
    "numeric": f"/m/0c\t{FB}people.person.date_of_birth\t1964.0\n",
    "sameas": '/m/0c\thttp://dbpedia.org/resource/Robert_"Bo"_Bell/redirects\n/m/0a\thttp://dbpedia.org/resource/9/11\n',
    "qrels": "QALD2_te-1\t0\t/m/0c\t2\nTREC_Entity-2\t0\t/m/0a\t1\nQALD2_te-1\t0\t/m/0a\t0\n",
    "stopped": "TREC_Entity-2\tfilm  Ada\nINEX_LD-9\telse\nQALD2_te-1\tactor film Ada\n",
    "unstopped": "TREC_Entity-2\tfilm of Ada\nQALD2_te-1\tWho is an actor in a film of Ada?\n",
    "folds": json.dumps({"0": {"training": ["INEX_LD-9", "QALD2_te-1"], "testing": ["TREC_Entity-2"]}}),
    "folds-SemSearch_ES": '{"0": {"training": [], "testing": []}}',
    "folds-INEX_LD": '{"0": {"training": ["INEX_LD-9"], "testing": []}}',
    "folds-ListSearch": '{"0": {"training": [], "testing": ["TREC_Entity-2"]}}',
    "folds-QALD2": '{"0": {"training": ["QALD2_te-1"], "testing": []}}',
}
METAQA_TRIPLE = '{"question": "who made [Heat]", "triples": [{"h": "Heat", "r": "directed_by", "t": "Ann"}]}\n'
METAQA = {
    "graph": "Heat\tdirected_by\tAnn\nHeat\trelease_year\t1995\nCold\tdirected_by\tAnn\nCold\thas_tags\tHeat\n",
    "dev1": "who made [Heat]\tAnn\n",
    "dev1-types": "movie_to_director\n",
    "dev2": "films like [Cold] by  director\tHeat\n",
    "dev2-types": "movie_to_director_to_movie\n",
    "dev3": "when were films by the director of [Cold] released\t1995\n",
    "dev3-types": "movie_to_director_to_movie_to_year\n",
    "test1": "[Heat] is in\tCold\n[Ann] made what\tHeat|Cold\n",
    "test1-types": "tag_to_movie\ndirector_to_movie\n",
    "test2": "in which years are films of [Ann]\t1995\n",
    "test2-types": "director_to_movie_to_year\n",
    "test3": "years of films by who made [Cold]\t1995\n",
    "test3-types": "movie_to_director_to_movie_to_year\n",
    "dev-triples": METAQA_TRIPLE,
    "test-triples": METAQA_TRIPLE.replace("directed_by", "has_tags [inverse]").replace("Ann", "Cold"),
}
SMALL = {"cranfield": CRANFIELD, "cacm": CACM, "fb15k-dbpedia-entity": FB15K, "metaqa": METAQA}


def lay_out(folder: Path, name: str, files: dict[str, str]) -> Path:
    """The files of a dataset as the data folder has them."""
    for key, place in DATASETS.get(name).files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(files[key].encode()) if path.suffix == ".xz" else files[key].encode())
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """All of them, from the small sources."""
    folder = tmp_path_factory.mktemp("datasets")
    for name, files in SMALL.items():
        make_dataset(name, lay_out(folder / "data", name, files), folder / name)
    return folder


def answers(dataset: Path, query: str) -> list[list[str]]:
    with KnowledgeBase.open(dataset / "kb") as kb:
        return [[str(row[name]) for name in ("a", "b") if name in row] for row in kb.query(query)]


# --- laws ---------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SMALL))
def test_judgements_name_entities_of_the_knowledge_base_and_topics_of_the_file(made, name):
    topics, qrels = read_topics(made / name / "topics.tsv"), read_qrels(made / name / "qrels.txt")
    assert list(topics.texts) == list(qrels.grades)
    with KnowledgeBase.open(made / name / "kb") as kb:
        for document in {document for grades in qrels.grades.values() for document in grades}:
            assert kb.query(f"ASK {{ <{document}> a ?class }}").boolean, document


@pytest.mark.parametrize("name", sorted(SMALL))
def test_the_same_files_give_the_same_bytes(made, tmp_path, name):
    make_dataset(name, made / "data", tmp_path / name)
    files = sorted(path.name for path in (made / name).iterdir())
    assert files == sorted(path.name for path in (tmp_path / name).iterdir())
    for file in files:
        if file != "kb":
            assert (tmp_path / name / file).read_bytes() == (made / name / file).read_bytes(), file


@given(st.lists(st.text(min_size=1, max_size=4), unique=True, max_size=30))
@settings(max_examples=examples(30, 50), deadline=None)
def test_every_topic_is_tested_in_one_fold_and_trains_the_others(topics):
    folds = five_folds(topics)
    assert sorted(topic for fold in folds.values() for topic in fold["testing"]) == sorted(topics)
    sizes = [len(fold["testing"]) for fold in folds.values()]
    assert max(sizes) - min(sizes) <= 1
    for fold in folds.values():
        assert fold["training"] == [topic for topic in topics if topic not in fold["testing"]]
    other_order = five_folds(reversed(topics))
    assert [set(fold["testing"]) for fold in other_order.values()] == [set(f["testing"]) for f in folds.values()]


@given(st.text(max_size=30))
@settings(max_examples=examples(120, 200), deadline=None)
def test_any_name_makes_an_iri(text):
    NamedNode("http://e/" + local_name(text))


@given(st.text(max_size=30))
@settings(max_examples=examples(120, 200), deadline=None)
def test_any_text_is_read_back_from_its_line(text):
    triples = RecipeTriples()
    triples.text("http://e/s", "http://e/p", text)
    words = " ".join(text.split())
    if not words:
        assert triples.lines == []
        return
    (line,) = triples.lines
    literal = line.removeprefix("<http://e/s> <http://e/p> ").removesuffix(" .\n")
    assert line.count("\n") == 1
    assert json.loads(literal, strict=False) == words == Literal(words).value


# --- what is in them ----------------------------------------------------------


def test_a_topic_of_cranfield_is_named_by_its_position(made):
    assert read_topics(made / "cranfield/topics.tsv").texts == {"1": "what of wings", "2": "what of heat"}
    base = "https://w3id.org/hybridkg/cranfield/"
    assert (made / "cranfield/qrels.txt").read_text() == f"1 0 {base}1 1\n2 0 {base}2 3\n2 0 {base}1 0\n"


def test_cranfield_has_its_texts_in_fields(made):
    found = answers(made / "cranfield", 'SELECT ?a { ?a MATCH "slipstream" ON (text) AS ?s } RANK BY ?s')
    assert found == [["https://w3id.org/hybridkg/cranfield/1"]]
    assert answers(
        made / "cranfield", "SELECT ?a { ?d <https://w3id.org/hybridkg/cranfield#text> ?a } ORDER BY ?a"
    ) == [
        ["heat of a plate ."],
        ["lift of a wing . the slipstream & the wing"],
    ]


def test_authors_categories_dates_and_links_of_cacm_can_be_queried(made):
    cacm = "PREFIX c: <https://w3id.org/hybridkg/cacm#> PREFIX skos: <http://www.w3.org/2004/02/skos/core#> "
    base = "https://w3id.org/hybridkg/cacm/"
    dataset = made / "cacm"
    assert answers(dataset, cacm + "SELECT ?a ?b { ?a ?b ?c . ?c a c:Article } ORDER BY ?a ?b") == [
        [base + "1", "https://w3id.org/hybridkg/cacm#citation"],
        [base + "1", "https://w3id.org/hybridkg/cacm#coupled"],
        [base + "2", "https://w3id.org/hybridkg/cacm#citation"],
        [base + "2", "https://w3id.org/hybridkg/cacm#coupled"],
    ]
    assert answers(
        dataset,
        cacm
        + "SELECT ?a { ?d c:author/rdfs:label ?a ; c:year 1966 } ORDER BY ?a".replace(
            "rdfs:label", "<http://www.w3.org/2000/01/rdf-schema#label>"
        ),
    ) == [["Arden, B."], ["Knuth, D. E."]]
    assert answers(dataset, cacm + "SELECT ?a { ?d c:keyword ?a } ORDER BY ?a") == [
        ["demand paging"],
        ["paging"],
        ["thrashing"],
    ]
    within = cacm + f"SELECT ?a {{ ?a c:category/skos:broader* <{base}category/4> }}"
    assert answers(dataset, within)[0] == [base + "1"]
    assert answers(dataset, cacm + "SELECT ?a { ?d c:date ?a } ORDER BY ?a") == [["1966-07"], ["1967-05"]]
    found = answers(dataset, 'SELECT ?a { ?a MATCH "knuth" ON (authors) AS ?s } RANK BY ?s')
    assert sorted(found) == [[base + "1"], [base + "2"]]


def test_questions_of_cacm_without_judgements_are_kept_apart(made):
    assert (made / "cacm/topics.tsv").read_text() == "1\tpaging in memory\n"
    assert (made / "cacm/topics-unjudged.tsv").read_text() == "2\tnothing\n"
    assert (made / "cacm/qrels.txt").read_text() == "1 0 https://w3id.org/hybridkg/cacm/2 1\n"


def test_freebase_has_classes_facts_numbers_and_links(made):
    dataset = made / "fb15k-dbpedia-entity"
    prefixes = f"PREFIX fb: <{FB}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
    assert answers(dataset, prefixes + "SELECT ?a { fb:m.0c a ?a } ORDER BY ?a") == [
        [FB + "common.topic"],
        [FB + "film.actor"],
        [FB + "people.person"],
    ]
    assert answers(dataset, prefixes + "SELECT ?a { fb:m.0c fb:film.actor.film..film.performance.film ?a }") == [
        [FB + "m.0a"]
    ]
    assert answers(dataset, prefixes + "SELECT ?a { fb:m.0c fb:people.person.profession/rdfs:label ?a }") == [["Actor"]]
    born = "SELECT ?a { ?a fb:people.person.date_of_birth ?born FILTER(?born > 1963) }"
    assert answers(dataset, prefixes + born) == [[FB + "m.0c"]]
    assert answers(dataset, "SELECT ?a { ?d <http://www.w3.org/2002/07/owl#sameAs> ?a } ORDER BY ?a") == [
        ["http://dbpedia.org/resource/9/11"],
        ["http://dbpedia.org/resource/Robert_%22Bo%22_Bell"],
    ]


@pytest.mark.parametrize(
    ("words", "field", "found"),
    [
        ("bell", "names", ["m.0c"]),
        ("about", "attributes", ["m.0a"]),
        ("actor", "categories", ["m.0c"]),
        ("person", "categories", ["m.0c"]),
        ("robert", "similar", ["m.0c"]),
        ("11", "similar", ["m.0a"]),
        ("bell", "related", ["m.0a"]),  # against the direction of the fact
        ("ada", "related", ["m.0c"]),
    ],
)
def test_each_of_the_five_fields_of_freebase_holds_its_text(made, words, field, found):
    query = f'SELECT ?a {{ ?a MATCH "{words}" ON ({field}) AS ?s }} RANK BY ?s'
    assert answers(made / "fb15k-dbpedia-entity", query) == [[FB + one] for one in found]


def test_queries_folds_and_categories_are_cut_to_what_is_judged(made):
    dataset = made / "fb15k-dbpedia-entity"
    assert (dataset / "topics.tsv").read_text() == "TREC_Entity-2\tfilm Ada\nQALD2_te-1\tactor film Ada\n"
    assert "Who is an actor" in (dataset / "topics-unstopped.tsv").read_text()
    assert (dataset / "categories.tsv").read_text() == "TREC_Entity-2\tListSearch\nQALD2_te-1\tQALD2\n"
    folds = {"0": {"training": ["QALD2_te-1"], "testing": ["TREC_Entity-2"]}}
    assert json.loads((dataset / "folds.json").read_text()) == folds
    assert json.loads((dataset / "folds-INEX_LD.json").read_text()) == {"0": {"training": [], "testing": []}}


def test_a_dataset_says_where_it_comes_from(made):
    about = tomllib.loads((made / "cacm/dataset.toml").read_text())
    assert about["name"] == "cacm"
    assert about["licence"] == "none is stated"
    assert about["counts"]["citation"] == 2
    assert about["counts"]["authors"] == 2
    assert [len(source["sha256"]) for source in about["sources"]] == [64, 64, 64]
    readme = (made / "cacm/README.md").read_text()
    assert "kavinsan/Information-Retrieval-Project" in readme
    assert "`topics-unjudged.tsv`" in readme


def test_a_name_of_metaqa_is_one_node_for_each_of_its_classes(made):
    base = "https://w3id.org/hybridkg/metaqa/"
    named = "SELECT ?a { ?a <http://www.w3.org/2000/01/rdf-schema#label> 'Heat' } ORDER BY ?a"
    assert answers(made / "metaqa", named) == [[base + "movie/Heat"], [base + "tag/Heat"]]
    lines = map(json.loads, (made / "metaqa/questions.jsonl").read_text().splitlines())
    questions = {line.pop("topic"): line for line in lines}
    about = {"entity": base + "tag/Heat", "type": "tag_to_movie", "answers": [base + "movie/Cold"]}
    assert questions["test-1-00001"] == about


def test_questions_of_metaqa_have_no_brackets_and_train_on_dev(made):
    topics = read_topics(made / "metaqa/topics.tsv").texts
    assert topics["dev-2-00001"] == "films like Cold by director"
    (fold,) = json.loads((made / "metaqa/folds.json").read_text()).values()
    assert fold["training"] == ["dev-1-00001", "dev-2-00001", "dev-3-00001"]
    assert set(fold["testing"]) == set(topics) - set(fold["training"])


def test_the_facts_of_metaqa_have_the_film_as_their_subject(made):
    base, predicate = "https://w3id.org/hybridkg/metaqa/", "https://w3id.org/hybridkg/metaqa#"
    assert (made / "metaqa/facts.tsv").read_text().splitlines() == [
        f"dev-1-00001\t{base}movie/Heat\t{predicate}directed_by\t{base}person/Ann",
        f"test-1-00001\t{base}movie/Cold\t{predicate}has_tags\t{base}tag/Heat",
    ]


# --- the folder is whole or not there -------------------------------------------


class Stop(SILENT.__class__):
    """Interrupts when the triples are written."""

    def start(self, label: str, total_bytes: int | None) -> None:
        if label.startswith("writing"):
            raise KeyboardInterrupt


def test_nothing_is_left_where_the_work_is_interrupted(made, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        make_dataset("cranfield", made / "data", tmp_path / "out", progress=Stop())
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_refused_and_left_alone(made, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("empty", "link"):
        with pytest.raises(UserError) as e:
            make_dataset("cranfield", made / "data", tmp_path / name)
        assert e.value.render() == (
            f"error[H001]: {str(tmp_path / name)!r} exists already\n"
            "  hint: remove it, or choose another: hybridkg dataset cranfield --out FOLDER"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link"]


# --- where the files are ----------------------------------------------------------


@pytest.mark.parametrize(
    "below", ["", "ir-collections", "ir-collections/cranfield", "kg-with-text/fb15k-237", "dbpedia-entity-v2/v2"]
)
def test_the_data_folder_and_every_folder_on_the_way_will_do(made, below):
    name = "cranfield" if below.startswith("ir") else "fb15k-dbpedia-entity"
    recipe: Recipe = DATASETS.get(name)
    found = sources.find_sources(name, recipe.files, made / "data" / below, recipe.origin)
    assert {key: found[key].path.resolve() for key in found} == {
        key: (made / "data" / place).resolve() for key, place in recipe.files.items()
    }


def test_the_files_alone_will_do_unpacked(made, tmp_path):
    recipe: Recipe = DATASETS.get("cranfield")
    for key, place in recipe.files.items():
        (tmp_path / Path(place).with_suffix("").name).write_text(CRANFIELD[key])
    found = sources.find_sources("cranfield", recipe.files, tmp_path, recipe.origin)
    assert len(recipe.read(found).qrels) == 3


def test_a_missing_file_is_named_with_where_to_get_it(made, tmp_path):
    data = lay_out(tmp_path, "cacm", CACM)
    (data / "ir-collections/cacm/query.text.xz").unlink()
    with pytest.raises(LoadError) as e:
        make_dataset("cacm", data, tmp_path / "out")
    assert e.value.render() == (
        f"error[L301]: 'ir-collections/cacm/query.text.xz' is not in {str(data)!r}\n"
        "  hint: --from is the data folder, or the folder with the files of 'cacm'\n"
        "        they come from the repository kavinsan/Information-Retrieval-Project on GitHub, commit feda4806"
    )
    with pytest.raises(LoadError, match="and 2 more of its 3 files"):
        make_dataset("cranfield", data, tmp_path / "out")
    with pytest.raises(LoadError, match="does not exist"):
        make_dataset("cranfield", data / "nowhere", tmp_path / "out")


# --- files that are not what they should be -----------------------------------------


@pytest.mark.parametrize(
    ("name", "key", "old", "new", "message", "line"),
    [
        ("cranfield", "documents", "<docno>2", "<docno>3", "document number '3', where 2 comes next", 8),
        ("cranfield", "documents", "<bib></bib>", "", "document 2 has no <bib>", 8),
        ("cranfield", "documents", ".</text>\n</doc>", ".</text>", "<doc> is not closed", 8),
        ("cranfield", "documents", "doc>", "dog>", "there is no <doc> in this file", 1),
        ("cranfield", "queries", "what of heat", " ", "question 2 has no text", 5),
        ("cranfield", "qrels", "2 0 2 3", "2 0 3 1", "there is no question 2 or no document 3", 2),
        ("cranfield", "qrels", "2 0 2 3", "2 0 2", "a judgement is four numbers: question 0 document grade", 2),
        ("cacm", "documents", "1\t4\t2", "7\t4\t2", "document 2 has a link to 7, which does not exist", 24),
        ("cacm", "documents", "1\t4\t2", "1\t9\t2", "document 2 has a link '1 9 2', not 'other 4|5|6 this'", 24),
        ("cacm", "documents", ".I 2", ".I 1", "record 1 occurs twice", 24),
        ("cacm", "documents", ".W\nOn", ".T\nOn", "record 1 has .T twice", 5),
        ("cacm", "queries", ".I 1", "hello", "a record begins with '.I' and its number", 1),
        ("cacm", "qrels", "0002", "0003", "there is no question '01' or no document '0003'", 1),
        ("fb15k-dbpedia-entity", "entities", "/m/0b", "m.0b", "'m.0b' is not the id of an entity with a name", 3),
        ("fb15k-dbpedia-entity", "entities", "/m/0b", "/m/0a", "'/m/0a' occurs twice", 3),
        ("fb15k-dbpedia-entity", "relations", "/people/", "/peo ple/", "is not the name of a relation", 2),
        ("fb15k-dbpedia-entity", "train", "/m/0a", "/m/0z", "'/m/0z' is not in the file of entities", 1),
        ("fb15k-dbpedia-entity", "train", "/m/0c\t", "/m/0c ", "2 cells, where 3 are expected", 1),
        ("fb15k-dbpedia-entity", "valid", "profession", "job", "is not in the file of relations", 1),
        ("fb15k-dbpedia-entity", "numeric", "1964.0", "1e9", "is not a property of Freebase and a number", 1),
        ("fb15k-dbpedia-entity", "sameas", "http://db", "file://db", "is not a resource of DBpedia", 1),
        ("fb15k-dbpedia-entity", "qrels", "\t2\n", "\tx\n", "'x' is not a grade: 0, 1 or 2", 1),
        ("fb15k-dbpedia-entity", "stopped", "QALD2_te-1", "x", "the query 'QALD2_te-1' has judgements, but no text", 1),
        ("fb15k-dbpedia-entity", "folds", '"0"', "0", "folds are", 1),
        ("fb15k-dbpedia-entity", "folds", "testing", "test", "folds are", 1),
        ("metaqa", "graph", "release_year", "released", "no relation 'released'; known: directed_by", 2),
        ("metaqa", "dev1-types", "movie_to_director\n", "a\nb\n", "2 types for 1 questions", 2),
        ("metaqa", "test1", "[Ann]", "Ann", "a question has its entity in brackets", 2),
        ("metaqa", "test1", "\tCold", " Cold", "1 cells, where 2 are expected", 1),
        ("metaqa", "dev-triples", '"h"', '"x"', 'a line is {"question"', 1),
    ],
)
def test_a_wrong_file_is_told_with_its_line_and_nothing_is_made(tmp_path, name, key, old, new, message, line):
    files = {**SMALL[name], key: SMALL[name][key].replace(old, new)}
    assert files != SMALL[name]
    lay_out(tmp_path / "data", name, files)
    with pytest.raises(LoadError) as e:
        make_dataset(name, tmp_path / "data", tmp_path / "out")
    assert message in e.value.message
    assert e.value.place == f"{tmp_path / 'data' / DATASETS.get(name).files[key]}:{line}"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lzma.compress(b"<doc>" * 700)[:-20], "cannot read 'cran.all.1400.xml.xz'"),
        (b"no archive", "cannot read 'cran.all.1400.xml.xz'"),
        (lzma.compress(b"a\nb\xff"), "'cran.all.1400.xml.xz' is not UTF-8 text"),
        (lzma.compress(b"a" * 5000), "'cran.all.1400.xml.xz' is larger than 4,000 bytes"),
    ],
    ids=["cut", "other", "latin", "vast"],
)
def test_a_damaged_or_vast_file_is_refused(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(sources, "MAX_TEXT", 4000)
    data = lay_out(tmp_path, "cranfield", CRANFIELD)
    (data / "ir-collections/cranfield/cran.all.1400.xml.xz").write_bytes(content)
    with pytest.raises(LoadError) as e:
        make_dataset("cranfield", data, tmp_path / "out")
    assert message in e.value.message
    assert "cran.all" in e.value.place


# --- the command ------------------------------------------------------------------


def test_the_command_makes_the_folder_and_counts(made, tmp_path):
    result = CliRunner().invoke(
        cli, ["dataset", "cranfield", "--from", str(made / "data"), "--out", str(tmp_path / "c")]
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "documents: 2\n" in result.stderr
    assert "topics: 2\n" in result.stderr
    assert (tmp_path / "c/kb/CURRENT").exists()


def test_an_unknown_name_is_told_before_what_it_would_need():
    ran = CliRunner().invoke(cli, ["dataset", "cranfeld"])
    assert ran.exit_code == 2
    assert "did you mean 'cranfield'" in ran.output


def test_the_help_names_every_dataset_and_an_unknown_name_lists_them(tmp_path):
    shown = CliRunner().invoke(cli, ["dataset", "--help"]).output
    for name in DATASETS.names():
        recipe = DATASETS.get(name)
        assert recipe.name == name
        assert name in shown
        assert recipe.profile in known_profiles()
    with pytest.raises(UnknownNameError, match="no dataset 'cranfeld'; known: cacm, cranfield, dbpedia-entity-v2"):
        make_dataset("cranfeld", tmp_path, tmp_path / "out")


@pytest.mark.parametrize("kind", ["movie_to_director", "movie_to_x_to_year", "person_to_movie_to_year"])
def test_a_type_of_metaqa_has_a_relation_for_each_hop(tmp_path, kind):
    lay_out(tmp_path / "data", "metaqa", {**METAQA, "test2-types": kind + "\n"})
    with pytest.raises(LoadError, match=f"no type '{kind}' of a question of 2 hops"):
        make_dataset("metaqa", tmp_path / "data", tmp_path / "out")


# --- the real ones -----------------------------------------------------------------


def mean_average_precision(dataset: Path, clause: str, every: int = 1) -> float:
    """Of every n-th topic, rankings of 1,000."""
    topics, qrels = read_topics(dataset / "topics.tsv"), read_qrels(dataset / "qrels.txt")
    query, values = f"SELECT ?d {{ ?d MATCH $text {clause} AS ?s }} RANK BY ?s LIMIT 1000", []
    with KnowledgeBase.open(dataset / "kb") as kb:
        for topic, text in list(topics.texts.items())[::every]:
            relevant, hits, total = set(qrels.relevant(topic)), 0, 0.0
            for rank, row in enumerate(kb.query(query, {"text": text}), 1):
                if str(row["d"]) in relevant:
                    hits += 1
                    total += hits / rank
            values.append(total / len(relevant))
    return sum(values) / len(values)


@pytest.mark.needs_shared
def test_cranfield_has_its_documented_counts_and_quality(shared_data, tmp_path):
    counts = make_dataset("cranfield", shared_data, tmp_path / "c").counts
    assert counts == {"documents": 1400, "triples": 8271, "topics": 225, "judgements": 1837, "relevant": 1612}
    # .304 over all topics; topics by their <num> would have .01
    assert mean_average_precision(tmp_path / "c", "ON (title, text) USING bm25", every=5) > 0.25


@pytest.mark.needs_shared
def test_cacm_has_its_documented_counts(shared_data):
    recipe: Recipe = DATASETS.get("cacm")
    contents = recipe.read(sources.find_sources("cacm", recipe.files, shared_data, recipe.origin))
    # 2,879 names with one that differs from another in a blank; links without repetition
    assert contents.counts["documents"] == 3204
    assert contents.counts["authors"] == 2878
    assert [contents.counts[kind] for kind in ("coupled", "citation", "cocited")] == [12330, 5440, 10640]
    assert (len(contents.topics), len(contents.qrels)) == (52, 796)


@pytest.mark.needs_shared
@pytest.mark.exhaustive
def test_metaqa_has_its_documented_counts(shared_data):
    recipe: Recipe = DATASETS.get("metaqa")
    contents = recipe.read(sources.find_sources("metaqa", recipe.files, shared_data, recipe.origin))
    assert {kind: contents.counts[kind] for kind in ("movie", "person", "unknown_answers")} == {
        "movie": 16426,
        "person": 21406,
        "unknown_answers": 1655,
    }
    assert (len(contents.topics), len(contents.qrels)) == (78231, 603759)


@pytest.mark.needs_shared
def test_a_part_of_fb15k_is_searched_by_its_queries(shared_data, tmp_path):
    recipe: Recipe = DATASETS.get("fb15k-dbpedia-entity")
    found = sources.find_sources(recipe.name, recipe.files, shared_data, recipe.origin)
    texts = {key: source.text() for key, source in found.items()}
    judged = {line.split("\t")[2] for line in texts["qrels"].splitlines()}
    for key, ends in (("train", (0, 2)), ("valid", (0, 2)), ("test", (0, 2)), ("numeric", (0,)), ("sameas", (0,))):
        rows = [line for line in texts[key].splitlines() if judged.issuperset(line.split("\t")[i] for i in ends)]
        texts[key] = "\n".join(rows[:4000])
    lines = texts["entities"].splitlines()
    texts["entities"] = "\n".join([lines[0], *(line for line in lines if line.split("\t")[0] in judged)])
    data = lay_out(tmp_path / "data", recipe.name, texts)
    counts = make_dataset(recipe.name, data, tmp_path / "part").counts
    assert (counts["topics"], counts["judgements"], counts["relevant"]) == (240, 2099, 991)
    assert mean_average_precision(tmp_path / "part", "USING bm25f", every=8) > 0.4


@pytest.mark.needs_shared
@pytest.mark.exhaustive
def test_fb15k_has_its_documented_counts_and_quality(shared_data, tmp_path):
    counts = make_dataset("fb15k-dbpedia-entity", shared_data, tmp_path / "f").counts
    assert (counts["entities"], counts["facts"], counts["numeric_facts"]) == (14541, 310116, 29247)
    assert (counts["topics"], counts["judgements"], counts["relevant"]) == (240, 2099, 991)
    assert mean_average_precision(tmp_path / "f", "ON (names, attributes) USING bm25") > 0.38
    assert mean_average_precision(tmp_path / "f", "USING bm25f") > 0.41
