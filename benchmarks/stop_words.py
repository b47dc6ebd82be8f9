"""What stop words do to retrieval: the default, the default where they count, and bm25s with its own defaults.

    python -m benchmarks.stop_words [--work FOLDER]

On Cranfield, CACM and FB15k with DBpedia-Entity's judgements, each with its own profile:
    standard    the default analyzer: stop words are no plain words of a query; lengths count them
    all_words   the same profile with `hk:analyzer "all_words"`: stop words are words as all others
    bm25s       `pip install bm25s`, with its defaults (method lucene, k1 1.5, b 0.75), its 33 English stop words and
                PyStemmer's English stemmer, on the texts of all fields, one after the other

Every model of the two indexes with default parameters, and two paired tests of `standard` against each of the others,
with Holm over a collection. Nothing here depends on the machine.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.models_figures import SEED, Values, compared, means
from benchmarks.models_systems import COLLECTIONS, Collection, System, collections
from benchmarks.record import record
from hybridkg import KnowledgeBase
from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.run import Run
from hybridkg.resources import resource

MODELS = ("bm25f", "bm25", "combined_fields", "lm", "mlm", "fsdm")
MEASURES = ("map@1000", "ndcg@10", "mrr")
DEPTH = 1000


def with_all_words(collection: Collection) -> Collection:
    """The collection with an index in which stop words count."""
    folder = collection.folder.with_name(f"{collection.name}-all-words")
    if not folder.exists():
        shutil.copytree(collection.folder, folder)
        text = resource("ontologies", "profiles", f"{collection.name}.ttl").read_text(encoding="utf-8")
        own = folder / "all-words.ttl"
        own.write_text(text.replace("a hk:Profile ;", 'a hk:Profile ; hk:analyzer "all_words" ;'), encoding="utf-8")
        KnowledgeBase.open(folder / "kb").index(own)
    return replace(collection, folder=folder)


def bm25s_run(collection: Collection) -> Run:
    """The best 1,000 entities of each topic by bm25s."""
    bm25s: Any = import_module("bm25s")
    stemmer = import_module("Stemmer").Stemmer("english")
    entities, values = zip(*collection.entity_texts(), strict=True)

    def tokens(these: list[str]) -> list[list[str]]:
        found: list[list[str]] = bm25s.tokenize(
            these, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return found

    index = bm25s.BM25()
    index.index(tokens([" ".join(texts) for texts in values]), show_progress=False)
    results = {}
    for (topic, _), words in zip(
        collection.topics.texts.items(), tokens(list(collection.topics.texts.values())), strict=True
    ):
        known = [word for word in words if word in index.vocab_dict]
        scores = index.get_scores(known) if known else []
        best = sorted(
            ((float(score), i) for i, score in enumerate(scores) if score > 0), key=lambda one: (-one[0], one[1])
        )
        results[topic] = tuple((entities[i], score) for score, i in best[:DEPTH])
    return Run("bm25s", results)


def measured(collection: Collection) -> dict[str, Any]:
    """Means of every system, and the tests."""
    measures = [parse_measure(name) for name in MEASURES]
    others = with_all_words(collection)
    values: dict[str, Values] = {}
    for model in MODELS:
        for name, own in (("standard", collection), ("all_words", others)):
            values[f"{model}, {name}"] = evaluate(collection.qrels, own.run(System(model), name), measures)
    values["bm25s"] = evaluate(collection.qrels, bm25s_run(collection), measures)
    found = {name: means(own) for name, own in values.items()}
    print(collection.name, *found.items(), sep="\n  ", flush=True)
    default = "bm25f, standard"
    return {
        "topics": len(collection.qrels.grades),
        "means": found,
        f"against {default}": compared(
            {name: values[name] for name in (default, "bm25f, all_words", "bm25s")}, tested=MEASURES
        ),
    }


def verdicts(found: Mapping[str, Any]) -> dict[str, bool]:
    """Whether the default is at least as good as each of the others, by every measure of every collection."""
    return {
        f"{name}: bm25f is at least {other} in {measure}": own["means"]["bm25f, standard"][measure]
        >= own["means"][other][measure]
        for name, own in found.items()
        for other in ("bm25f, all_words", "bm25s")
        for measure in MEASURES
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, help="folder of the collections; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hybridkg-") as scratch:
        found = {own.name: measured(own) for own in collections(options.work or Path(scratch), COLLECTIONS)}
    record(
        "stop_words",
        {"bm25s": version("bm25s"), "collections": found, "verdicts": verdicts(found)},
        seed=SEED,
    )


if __name__ == "__main__":
    main()
