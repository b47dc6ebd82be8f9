"""Table 2 of DBpedia-Entity v2 on the sample of 97 entities, from Python: thirteen models as DataFrames.

First, the sample as index A and index B, each with topics, judgements and folds:

    hybridkg dataset dbpedia-entity-v2 --dumps DUMPS --collection COLLECTION --index A --out a
    hybridkg dataset dbpedia-entity-v2 --dumps DUMPS --collection COLLECTION --index B --out b
    python table2_sample.py a b

It prints the means, the comparisons with BM25, and where the paper's figures are. 97 of 4.6 million entities say
nothing about the models; the script shows what to write.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from hybridkg.evaluation.experiment import Experiment, ExperimentOutcome
from hybridkg.evaluation.experiment.spec import PublishedFigure, SystemSpec

FIELDS = ("names", "categories", "similar", "attributes", "related")
ALIKE = ", ".join(f"{field}^1" for field in FIELDS)
PUBLISHED = {"BM25": 0.2558, "PRMS": 0.3905, "MLM-all": 0.4021, "LM": 0.4182, "SDM": 0.4185, "LTR": 0.3464,
             "LM+ELR": 0.4230, "SDM+ELR": 0.4261, "MLM-CA": 0.4365, "BM25-CA": 0.4399, "FSDM": 0.4524,
             "BM25F-CA": 0.4605, "FSDM+ELR": 0.4590}  # fmt: skip
"""NDCG@10 on the whole of DBpedia, of the collection's README."""


def asked(name: str, on: str, using: str, kb: Path, **more: object) -> SystemSpec:
    """A system that is a query."""
    query = f"SELECT ?e {{ ?e MATCH $text {on} USING {using} AS ?s }} RANK BY ?s"
    return SystemSpec(name, "query", query, kb=kb, expected=expected(name), **more)  # type: ignore[arg-type]


def learned(name: str, kind: str, value: dict[str, object], kb: Path) -> SystemSpec:
    """A system that is learned in the folds."""
    return SystemSpec(name, kind, value, kb=kb, expected=expected(name))


def expected(name: str) -> tuple[PublishedFigure, ...]:
    """What was published of it."""
    return (PublishedFigure("ndcg@10", PUBLISHED[name]),) if name in PUBLISHED else ()


def systems(a: Path, b: Path) -> dict[str, SystemSpec]:
    """The rows, each with the index that it had in the paper; `hidden` ones only serve LTR."""
    on = f"ON ({', '.join(FIELDS)})"
    rows = [
        asked("BM25", "", "bm25(k1=1.2, b=0.8)", a),
        asked("PRMS", on, "prms(mu=2000)", b),
        asked("MLM-all", f"ON ({ALIKE})", "mlm(mu=2000)", b),
        asked("LM", on, "lm(mu=2000)", b),
        asked("SDM", "", "sdm(mu=1500)", a),
        *(asked(field, f"ON ({field})", "lm(mu=1500)", a, hidden=True) for field in FIELDS),
        learned("LTR", "learn", {"features": ("BM25", "MLM-all", "PRMS", "SDM", *FIELDS)}, a),
        asked("LM+ELR", on, "elr(base=lm, mu=2000)", b),
        asked("SDM+ELR", "", "elr(base=sdm, mu=1500)", a),
        learned("MLM-CA", "tune", {"model": "mlm", "fixed": {"mu": 1500.0}, "by_category": True}, a),
        learned("BM25-CA", "tune", {"model": "bm25", "by_category": True}, a),
        learned("FSDM", "tune", {"model": "fsdm", "fixed": {"mu": 1500.0}, "by_category": True}, a),
        learned("BM25F-CA", "tune", {"model": "bm25f", "fixed": {"form": "galago"}, "by_category": True}, a),
        learned("FSDM+ELR", "tune", {"model": "elr", "fixed": {"base": "fsdm", "mu": 1500.0}, "by_category": True}, a),
    ]
    return {row.name: row for row in rows}


def frames(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(topics, judgements) as PyTerrier and ir_datasets have them."""
    topics = pd.read_csv(folder / "topics-stopped.tsv", sep="\t", names=["qid", "query"], dtype=str, quoting=3)
    names = ["qid", "iteration", "docno", "label"]
    qrels = pd.read_csv(folder / "qrels.txt", sep=r"\s+", names=names, dtype={"qid": str, "docno": str}, quoting=3)
    return topics, qrels


def table2(a: Path, b: Path, *, every: int = 1, restarts: int = 5) -> ExperimentOutcome:
    """The experiment on the folders of the two indexes.

    Args:
        a: made with `--index A`.
        b: made with `--index B`.
        every: take each n-th topic only.
        restarts: climbs of what is learned.
    """
    topics, qrels = frames(a)
    rows = systems(a / "kb", b / "kb")
    for row in rows.values():
        if row.kind == "tune":
            row.value["restarts"] = restarts
    measures = ["ndcg@10", "ndcg@100", "map@100", "judged@10"]
    return Experiment(
        None, rows, topics.iloc[::every], qrels, measures=measures, baseline="BM25", by="prefix",
        folds=a / "folds.json", title="Table 2 on the sample",
    ).run()  # fmt: skip


def main() -> None:
    """Prints the means, the comparisons and the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    given = parser.parse_args()
    found = table2(given.a, given.b)
    print(found.to_dataframe().round(4).to_string())
    compared = found.comparisons()
    shown = compared[compared["measure"] == "ndcg@10"][["run", "difference", "low", "high", "p", "holm_p"]]
    print(shown.round(4).to_string(index=False))
    for one in found.verdicts():
        print(f"{one.system}: published {one.expected.value:.4f} on 4.6 million entities, here {one.found:.4f}")


if __name__ == "__main__":
    main()
