"""The files of DBpedia-Entity v2: queries, judgements, folds, and published links of the queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridkg.datasets.dbpedia.rules import load_rules
from hybridkg.datasets.recipe import FOLD_FILES, Contents, Folds, Recipe, official_folds, one_line
from hybridkg.datasets.sources import SourceFile, find_optional
from hybridkg.evaluation.categories import categories_by_prefix
from hybridkg.interfaces.links import EntityLink
from hybridkg.linking.annotations import entity_iri, read_annotations

NAME = "dbpedia-entity-v2"

LINKS = {
    "tagme": "elr-v1/data/tagme_annotations.json",
    "spotlight": "kewer/entity-extraction/query-entities.json",
    "nordlys-ltr": "kewer/entity-extraction/nordlys/ltr-query-entities.json",
    "smaph": "kewer/entity-extraction/smaph/query-entities.json",
    "annotators": "geeer-annotations/geeer_annotated_ELQ.csv",
    "annotators-total": "geeer-annotations/geeer_annotated_total.csv",
    "rel": "geeer-annotations/geeer_conf_rel.csv",
}
"""Published links of the queries, by name of the file that they become; optional."""

V1 = {"qrels": "v1/qrels-v1_2015_10.txt", "folds": "v1/folds/all_queries.json"}
"""The first version of the collection, with whose judgements the paper's Table 2 was trained; optional."""


def read_collection(files: Mapping[str, SourceFile]) -> Contents:
    """Queries, judgements and folds, without triples. Raises LoadError: a file is malformed."""
    topics, stopped = _queries(files["queries"]), _queries(files["stopped"])
    missing = sorted(topics.keys() ^ stopped.keys())
    if missing:
        raise files["stopped"].wrong(f"the query {missing[0]!r} is in only one of the two files of queries", 1)
    more_folds = {key: official_folds(files[key], topics) for key in files if key.startswith("folds-")}
    return Contents(
        (),
        topics,
        list(_judgements(files["qrels"], topics)),
        official_folds(files["folds"], topics),
        categories=categories_by_prefix(topics),
        more_topics={"topics-stopped.tsv": stopped},
        more_folds={f"{key}.json": folds for key, folds in more_folds.items()},
    )


@dataclass(frozen=True)
class Extras:
    """Optional parts of the collection.

    Args:
        sources: the files, by a description.
        qrels_v1: judgements of version 1 for the queries of version 2, which lacks 18 of its queries.
        folds_v1: folds of version 1 without those queries.
        links: for each published linking the links of each query, by its original and its stopped text.
    """

    sources: Mapping[str, SourceFile]
    qrels_v1: list[tuple[str, str, int]]
    folds_v1: Folds
    links: Mapping[str, Mapping[str, Sequence[EntityLink]]]


def read_extras(given: Path, contents: Contents) -> Extras:
    """The optional parts in the folder of the collection. Raises LoadError: a file is malformed."""
    v1, linkings = find_optional(V1, given), find_optional(LINKS, given)
    texts = [contents.topics, *contents.more_topics.values()]
    links: dict[str, dict[str, Sequence[EntityLink]]] = {}
    for name, source in linkings.items():
        annotations = read_annotations(source.path)
        links[name] = {
            text: annotations[topic]
            for texts_of_topics in texts
            for topic, text in texts_of_topics.items()
            if topic in annotations
        }
    return Extras(
        {**{f"v1 {name}": source for name, source in v1.items()}, **{f"links {n}": s for n, s in linkings.items()}},
        list(_judgements(v1["qrels"], contents.topics, version=1)) if "qrels" in v1 else [],
        official_folds(v1["folds"], contents.topics) if "folds" in v1 else {},
        links,
    )


def _queries(source: SourceFile) -> dict[str, str]:
    queries: dict[str, str] = {}
    for line, (topic, text) in source.rows(2):
        if topic in queries or not text.strip() or any(blank in topic for blank in " \r"):
            raise source.wrong(f"the query {topic!r} occurs twice, has no text, or a blank in its id", line)
        queries[topic] = one_line(text)
    return queries


def _judgements(source: SourceFile, topics: Mapping[str, str], *, version: int = 2) -> Iterator[tuple[str, str, int]]:
    """Judgements of these queries; only version 1 may have others, and grades above 2."""
    for line, (topic, _, entity, grade) in source.rows(4):
        if not re.fullmatch("[0-2]" if version == 2 else "[0-9]", grade):
            raise source.wrong(f"{grade!r} is not a grade", line)
        if not (entity.startswith("<dbpedia:") and entity.endswith(">")):
            raise source.wrong(f"{entity!r} is not an entity: <dbpedia:X>", line)
        if topic in topics:
            yield topic, entity_iri(entity), int(grade)
        elif version == 2:
            raise source.wrong(f"the query {topic!r} has judgements but no text", line)


_FOLDER = "dbpedia-entity-v2/v2/"

DBPEDIA_ENTITY_V2 = Recipe(
    name=NAME,
    title="DBpedia 2015-10 with the five fields of DBpedia-Entity v2, its 467 queries and 49,280 judgements",
    profile=load_rules("B").profile,
    files={
        "queries": _FOLDER + "queries-v2.txt",
        "stopped": _FOLDER + "queries-v2_stopped.txt",
        "qrels": _FOLDER + "qrels-v2.txt",
        **FOLD_FILES,
    },
    origin="downloads.dbpedia.org/2015-10/core-i18n/en (dumps) and the GitHub repository iai-group/DBpedia-Entity "
    "(queries, judgements, folds)",
    licence="DBpedia CC BY-SA 3.0 and GFDL; iai-group/DBpedia-Entity MIT",
    notes=(
        "topics.tsv has the original queries, topics-stopped.tsv those without stop patterns, which the published "
        "results use.",
        "folds.json has the official folds of all queries, folds-CATEGORY.json those of one category.",
        "The fields are text documents, made by the rules in ontologies/dbpedia; the graph has the types, categories, "
        "names, numbers and links of entities, but neither page links nor anchor texts.",
    ),
    read=read_collection,
    needs="--dumps and --collection",
)
