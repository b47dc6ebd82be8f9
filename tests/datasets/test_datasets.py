"""What datasets made from small source folders hold."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples
from small_sources import SMALL, answers

from hybridkg.datasets.building import make_dataset
from hybridkg.datasets.fb15k import FB
from hybridkg.datasets.recipe import RecipeTriples, five_folds, local_name
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import read_topics
from hybridkg.kb import KnowledgeBase
from hybridkg.rdf.terms import Literal, NamedNode


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
