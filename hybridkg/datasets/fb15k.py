"""FB15k-237 as a knowledge base with text, and the queries of DBpedia-Entity v2 that it can answer.

Freebase's names are preserved: `/m/06rf7` is fb:m.06rf7, `/people/person/profession` is fb:people.person.profession,
and `/film/actor/film./film/performance/film`, which has a node in between, fb:film.actor.film..film.performance.film.

Freebase names a property by the type of its subjects: that of /people/person/profession is a /people/person. This gives
the classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hybridkg.datasets.recipe import (
    FOLD_FILES,
    RDF,
    RDFS,
    XSD,
    Contents,
    Recipe,
    RecipeTriples,
    local_name,
    official_folds,
    one_line,
)
from hybridkg.datasets.sources import SourceFile
from hybridkg.evaluation.categories import categories_by_prefix

FB = "http://rdf.freebase.com/ns/"
TOPIC = FB + "common.topic"
DBPEDIA = "http://dbpedia.org/resource/"
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"

_MID = re.compile(r"/[a-z]/[0-9a-z_]{1,20}")
_RELATION = re.compile(r"(?:\.?/[0-9a-z_]+)+")
_PROPERTY = re.compile(re.escape(FB) + r"[0-9a-z_]+(?:\.[0-9a-z_]+)+")
_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?")
_COUNTRY = re.compile(r"-(?:GB|US)$")


def read_fb15k(files: Mapping[str, SourceFile]) -> Contents:
    """The knowledge base and the collection. Raises LoadError: a file is malformed."""
    graph = _Graph()
    graph.entities(files["entities"])
    graph.relation_labels(files["relations"])
    for part in ("train", "valid", "test"):
        graph.facts(files[part])
    graph.numbers(files["numeric"])
    graph.same_as(files["sameas"])
    qrels = list(_judgements(files["qrels"], graph))
    judged = {topic for topic, _, _ in qrels}
    topics = _queries(files["stopped"], judged)
    folds = {key: official_folds(files[key], judged) for key in files if key.startswith("folds")}
    return Contents(
        graph.triples.lines,
        topics,
        qrels,
        folds.pop("folds"),
        categories=categories_by_prefix(topics),
        more_topics={"topics-unstopped.tsv": _queries(files["unstopped"], judged)},
        more_folds={f"{key}.json": split for key, split in folds.items()},
        counts=graph.triples.counts,
    )


class _Graph:
    """The triples, built file by file."""

    def __init__(self) -> None:
        self.triples = RecipeTriples()
        self.iris: dict[str, str] = {}
        self.relations: dict[str, tuple[str, str]] = {}
        self.members: set[tuple[str, str]] = set()

    def entities(self, source: SourceFile) -> None:
        for line, (mid, name, description) in source.rows(3, header=True):
            if not _MID.fullmatch(mid) or not name.strip():
                raise source.wrong(f"{mid!r} is not the id of an entity with a name", line)
            if mid in self.iris:
                raise source.wrong(f"{mid!r} occurs twice", line)
            iri = self.iris[mid] = FB + mid[1:].replace("/", ".")
            self.triples.node(iri, TOPIC, _COUNTRY.sub("", name), "entities")
            self.triples.text(iri, RDFS + "comment", description)

    def iri_of(self, mid: str, source: SourceFile, line: int) -> str:
        iri = self.iris.get(mid)
        if iri is None:
            raise source.wrong(f"{mid!r} is not in the file of entities", line)
        return iri

    def relation_labels(self, source: SourceFile) -> None:
        for line, (relation, words) in source.rows(2):
            if not _RELATION.fullmatch(relation):
                raise source.wrong(f"{relation!r} is not the name of a relation", line)
            iri = FB + relation[1:].replace("/", ".")
            class_ = FB + relation.split("./")[0].rpartition("/")[0][1:].replace("/", ".")
            self.relations[relation] = iri, class_
            if self.triples.node(iri, RDF + "Property", words, "relations"):
                self.triples.link(iri, RDFS + "domain", class_)

    def facts(self, source: SourceFile) -> None:
        relations, link, number = self.relations, self.triples.link, 0
        for line, (head, relation, tail) in source.rows(3):
            if relation not in relations:
                raise source.wrong(f"the relation {relation!r} is not in the file of relations", line)
            predicate, class_ = relations[relation]
            subject = self.iri_of(head, source, line)
            link(subject, predicate, self.iri_of(tail, source, line))
            self.member(subject, class_)
            number += 1
        self.triples.counts["facts"] = self.triples.counts.get("facts", 0) + number

    def member(self, subject: str, class_: str) -> None:
        """Adds a class to an entity, once; the label of a class is the last part of its name."""
        if (subject, class_) not in self.members:
            self.members.add((subject, class_))
            self.triples.node(class_, RDFS + "Class", class_.rpartition(".")[2].replace("_", " "), "classes")
            self.triples.link(subject, RDF + "type", class_)

    def numbers(self, source: SourceFile) -> None:
        count = 0
        for line, (mid, property_, number) in source.rows(3):
            if not _PROPERTY.fullmatch(property_) or not _NUMBER.fullmatch(number):
                raise source.wrong(f"{property_!r} {number!r} is not a property of Freebase and a number", line)
            subject = self.iri_of(mid, source, line)
            self.triples.text(subject, property_, number, XSD + "decimal")
            self.member(subject, property_.rpartition(".")[0])
            count += 1
        self.triples.counts["numeric_facts"] = count

    def same_as(self, source: SourceFile) -> None:
        count = 0
        for line, (mid, uri) in source.rows(2):
            if not uri.startswith(DBPEDIA) or len(uri) > 1000:
                raise source.wrong(f"{uri!r} is not a resource of DBpedia", line)
            name = uri.removeprefix(DBPEDIA).removesuffix("/redirects")
            iri = DBPEDIA + local_name(name)
            self.triples.link(self.iri_of(mid, source, line), SAME_AS, iri)
            self.triples.text(iri, RDFS + "label", name.replace("_", " "))
            count += 1
        self.triples.counts["links_to_dbpedia"] = count


def _judgements(source: SourceFile, graph: _Graph) -> Iterator[tuple[str, str, int]]:
    for line, (topic, _, mid, grade) in source.rows(4):
        if grade not in ("0", "1", "2"):
            raise source.wrong(f"{grade!r} is not a grade: 0, 1 or 2", line)
        yield topic, graph.iri_of(mid, source, line), int(grade)


def _queries(source: SourceFile, judged: set[str]) -> dict[str, str]:
    """Texts of the judged topics, in the order of the file."""
    texts = {topic: one_line(text) for _, (topic, text) in source.rows(2) if topic in judged}
    missing = sorted(judged - {topic for topic, text in texts.items() if text})
    if missing:
        raise source.wrong(f"the query {missing[0]!r} has judgements, but no text here", 1)
    return texts


_KG = "kg-with-text/fb15k-237/"
_QUERIES = "dbpedia-entity-v2/v2/"

FB15K_DBPEDIA_ENTITY = Recipe(
    name="fb15k-dbpedia-entity",
    title="FB15k-237: 14,541 entities of Freebase with text and facts, and 240 queries of DBpedia-Entity v2 about them",
    profile="fb15k-dbpedia-entity",
    files={
        "entities": _KG + "entities.tsv.xz",
        "relations": _KG + "relation2text.tsv",
        "train": _KG + "train.tsv.xz",
        "valid": _KG + "valid.tsv.xz",
        "test": _KG + "test.tsv.xz",
        "numeric": _KG + "numeric.tsv.xz",
        "sameas": _KG + "sameas_dbpedia.tsv.xz",
        "qrels": _KG + "dbpedia-entity-v2_restricted.qrels",
        "stopped": _QUERIES + "queries-v2_stopped.txt",
        "unstopped": _QUERIES + "queries-v2.txt",
        **FOLD_FILES,
    },
    origin="the GitHub repositories vaijsc/keallm (facts), wangbo9719/StAR_KGC (ids, names, descriptions), "
    "mniepert/mmkb (numbers, links to DBpedia) and iai-group/DBpedia-Entity (queries, folds, judgements)",
    licence="Freebase CC BY; vaijsc/keallm and mniepert/mmkb BSD-3; iai-group/DBpedia-Entity MIT; StAR_KGC states none",
    notes=(
        "All 14,541 entities are candidates; the judgements are those of DBpedia-Entity v2 for them, and the topics "
        "those with at least one relevant entity among them.",
        "topics.tsv has the stopped queries of the collection, topics-unstopped.tsv the original ones.",
        "The folds are the official ones, restricted to these topics; folds-CATEGORY.json splits one category alone.",
        "All facts are included: those of the training, validation and test sets of FB15k-237.",
        "An entity is an instance of the first part of the name of each of its properties: the subject of "
        "fb:people.person.profession is a fb:people.person. All are instances of fb:common.topic.",
        "Dates are numbers, as in the source: the year and a twelfth for each month, so December 1963 is 1964.0.",
        "The endings -GB and -US of 159 names, which mark a variant of English, are left out.",
        "The label of a DBpedia resource is its name; the field `similar` consists of these.",
    ),
    read=read_fb15k,
)
