"""A made knowledge base of the size of STaRK's MAG: time and peak memory of each step.

    python -m benchmarks.stark_scale --out /tmp/stark-scale [--share 1.0] [--questions 40]

At share 1 there are 1.9 million nodes (700,000 papers with title and abstract, 1.1 million authors, 60,000 fields and
10,000 institutions) and 40 million edges, drawn at random. Each step has a process of its own, whose peak memory is the
largest resident set that the system has seen: `files` writes STaRK's pickles and tensors, `make` reads, loads and
indexes them, and `ask` reads and answers questions that name an author, an institution or a field of study. OUT is
removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.record import record
from benchmarks.stark_made import Graph, Question, Words, write_graph

PAPERS, AUTHORS, FIELDS, INSTITUTIONS = 700_000, 1_130_000, 60_000, 10_000
"""Nodes at share 1."""

CITES, TOPICS, WRITERS, HOMES = 39, 10, 6, 1.25
"""Edges of a paper by kind, and affiliations of an author; 40.1 million at share 1."""

TITLE, ABSTRACT = 8, 60
"""Words of a paper."""

AT_ONCE = 20_000
"""Papers whose words are drawn together."""

STEPS = ("files", "make", "ask")


def made(share: float, seed: int = 1) -> Graph:
    """The graph, with a question about every thousandth paper."""
    words = Words(seed, 40_000)
    draw = words.draw
    papers, authors, fields, institutions = (max(20, round(share * n)) for n in (PAPERS, AUTHORS, FIELDS, INSTITUTIONS))
    first = np.cumsum([0, authors, institutions, fields, papers]).tolist()
    spelled = np.array(words.all, object)
    drawn = draw.integers(0, len(spelled), (first[3], 3))
    nodes: dict[int, dict[str, Any]] = {}
    for number, row in enumerate(drawn):
        kind = ("author", "institution", "field_of_study")[sum(number >= edge for edge in first[1:3])]
        name = f"{' '.join(spelled[row]).title()} {number}"
        nodes[number] = {"id": number, "mag_id": number, "type": kind, "DisplayName": name, "PaperCount": number % 7}
    for begin in range(first[3], first[4], AT_ONCE):
        some = min(AT_ONCE, first[4] - begin)
        texts = spelled[draw.choice(len(spelled), (some, TITLE + ABSTRACT), p=words.share)]
        for number, text in enumerate(texts, begin):
            nodes[number] = {
                "id": number, "mag_id": number, "type": "paper", "title": " ".join(text[:TITLE]),
                "abstract": " ".join(text[TITLE:]), "Date": f"{1990 + number % 30}-01-01",
            }  # fmt: skip
    pairs = [
        (draw.integers(0, authors, round(HOMES * authors)), draw.integers(*first[1:3], round(HOMES * authors)), 0),
        (draw.integers(*first[3:5], CITES * papers), draw.integers(*first[3:5], CITES * papers), 1),
        (np.repeat(np.arange(*first[3:5]), TOPICS), draw.integers(*first[2:4], TOPICS * papers), 2),
        (draw.integers(0, authors, WRITERS * papers), np.repeat(np.arange(*first[3:5]), WRITERS), 3),
    ]
    edges = np.concatenate([np.stack([start, end, np.full(len(start), kind)], axis=1) for start, end, kind in pairs])
    questions = []
    for paper in range(first[3], first[4], max(1, papers // 300)):
        at = (paper - first[3]) * WRITERS
        name = nodes[int(pairs[3][0][at])]["DisplayName"]
        questions.append(Question(f"papers by {name}", name, name, "", (paper,)))
    names = {0: "author", 1: "institution", 2: "field_of_study", 3: "paper"}
    kinds = np.repeat(np.arange(4), np.diff(first))
    return Graph(nodes, kinds, edges, names, {}, questions)


def step(name: str, out: Path, share: float, count: int) -> dict[str, Any]:
    """One step, in this process."""
    from hybridkg.datasets.stark.making import make_stark
    from hybridkg.kb import KnowledgeBase

    if name == "files":
        graph = made(share)
        write_graph("mag", graph, out)
        return {"nodes": len(graph.nodes), "edges": len(graph.edges)}
    if name == "make":
        make_stark(out / "skb", out / "qa", out / "made")
        size = sum(path.stat().st_size for path in (out / "made" / "kb").rglob("*") if path.is_file())
        return {"megabytes": round(size / 1e6)}
    lines = (out / "made" / "topics.tsv").read_text(encoding="utf-8").splitlines()
    asked = [line.partition("\t")[2] for line in lines[:count]]
    read, answered, right = [], [], 0
    with KnowledgeBase.open(out / "made" / "kb") as kb:
        started = time.perf_counter()
        kb.ask(asked[0])
        first = time.perf_counter() - started
        for question in asked:
            started = time.process_time()
            found = kb.interpret(question)
            read.append(time.process_time() - started)
            started = time.process_time()
            rows = list(kb.query(found.query))
            answered.append(time.process_time() - started)
            right += bool(found.paths) and len(rows) > 0
        triples = kb.stats()["triples"]
    return {
        "triples": triples,
        "questions": len(asked),
        "with_path_and_rows": right,
        "first_question_s": round(first, 1),
        "interpret_cpu_ms_median": round(1000 * median(read), 1),
        "answer_cpu_ms_median": round(1000 * median(answered), 1),
    }


def measured(name: str, out: Path, share: float, count: int) -> dict[str, Any]:
    """A step in a process of its own, with its seconds and its peak memory."""
    command = [sys.executable, "-m", "benchmarks.stark_scale", "--step", name, "--out", str(out)]
    command += ["--share", str(share), "--questions", str(count)]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the step {name!r} failed")
    return {
        **json.loads(said.splitlines()[-1]),
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mib": usage.ru_maxrss // 1024,
    }


def main() -> None:
    """Runs all steps and records them, or one step in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    if given.step:
        print(json.dumps(step(given.step, given.out, given.share, given.questions)))
        return
    given.out.mkdir(parents=True)
    try:
        figures = {name: measured(name, given.out, given.share, given.questions) for name in STEPS}
    finally:
        shutil.rmtree(given.out)
    figures = {"share": given.share, "load_average": round(os.getloadavg()[0], 1), **figures}
    if given.no_record:
        print(json.dumps(figures, indent=1))
    else:
        record("stark_scale", figures, seed=1)


if __name__ == "__main__":
    main()
