"""Datasets from the real source folders: documented counts and quality."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import lay_out

from hybridkg.datasets import DATASETS, sources
from hybridkg.datasets.building import make_dataset
from hybridkg.datasets.recipe import Recipe
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import read_topics
from hybridkg.kb import KnowledgeBase


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
