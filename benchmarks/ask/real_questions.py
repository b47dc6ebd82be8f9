"""All questions of STaRK, read over other knowledge bases of their forms, because STaRK's own are not here.

    python -m benchmarks.ask.real_questions [--out /tmp/stark-data] [--only mag] [--most N] [--sample N] [--no-record]

All questions are read over a made knowledge base of 400 nodes (benchmarks/stark_made.py), and with OUT, the folder that
`python -m benchmarks.stark_data` made, a sample of them over public data as well. A question is well formed if its
interpretation raises nothing, and each of its queries parses into a tree that its canonical text parses into as well.
Without the nodes that the questions name, anchors, paths and answers cannot be judged: a name is found only where a
node of the other data has it by chance. For 1,000 questions of mag, MoR (Lei et al., 2025) has the names of authors and
institutions; `names_seen` is the share of them that the reading marks as a name, known or not.
"""

from __future__ import annotations

import argparse
import ast as python_ast
import csv
import json
import lzma
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.acl_anthology import ROOT
from benchmarks.record import RESULTS, record
from benchmarks.stark_made import write_skb
from hybridkg import KnowledgeBase
from hybridkg.asking.interpretation import Interpretation
from hybridkg.datasets.stark.making import make_stark
from hybridkg.errors import HybridkgError
from hybridkg.query.parser import parse
from hybridkg.query.write import write

QUESTIONS = ROOT.parent / "shared" / "data" / "stark-qa"
FORMS: Mapping[str, tuple[str, str]] = {
    "amazon": ("amazon", "attack"),
    "mag": ("mag", "cacm"),
    "prime": ("primekg", "hetionet"),
}
"""By form, the folder of the questions, and the public data over which some are read."""

MADE_NODES, SEED = 400, 1

PLANS = {"mag": "mor-plans/mag_llama_ft.jsonl.xz"}
NAMED = ("author", "institution")
"""Kinds of nodes whose names a plan has as the question writes them."""


def read_questions(path: Path) -> list[str]:
    """The questions of a stark_qa.csv.xz."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        csv.field_size_limit(1 << 24)
        return [row["query"] for row in csv.DictReader(file)]


def read_plans(path: Path) -> dict[str, list[str]]:
    """The names in MoR's plan of each question."""
    found: dict[str, list[str]] = {}
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            said = {one["role"]: one["content"] for one in json.loads(line)["conversations"]}
            try:
                plan = python_ast.literal_eval(said["assistant"])
                names = [name for kind in NAMED for name in plan["Restriction"].get(kind, ())]
            except (ValueError, SyntaxError, KeyError, TypeError, AttributeError):
                continue
            found[said["user"]] = [name for name in names if isinstance(name, str) and name]
    return found


def is_well_formed(reading: Interpretation) -> bool:
    """Whether each query parses into a tree that its canonical text parses into as well."""
    queries = [query for query in (reading.query, reading.strict, reading.pattern) if query is not None]
    return all(parse(write(tree)) == tree for tree in map(parse, queries))


@dataclass(frozen=True)
class Read:
    """One question: the problem or none, what is in the reading, and milliseconds of the processor.

    Args:
        problem: code of an error, or words; empty for a well-formed reading.
        kinds: what the reading has.
        target: class of the answers; empty without a constraint.
        names: number of names in the plan of the question.
        seen: of these, those that the reading marks as names.
        ms: of the interpretation.
    """

    problem: str
    kinds: tuple[str, ...] = ()
    target: str = ""
    names: int = 0
    seen: int = 0
    ms: float = 0.0


def read_one(kb: KnowledgeBase, question: str, names: Sequence[str]) -> Read:
    """Reads a question."""
    started = time.thread_time()
    try:
        reading = kb.interpret(question)
        ms = 1e3 * (time.thread_time() - started)
        if not is_well_formed(reading):
            return Read("a query does not round-trip")
    except HybridkgError as e:
        return Read(e.code)
    except Exception as e:  # a bug, which must be counted
        return Read(type(e).__name__)
    kinds = ["constraint" if reading.slots.constraints else "words alone"]
    kinds += ["strict"] * (reading.strict is not None) + ["unresolved name"] * bool(reading.unresolved)
    marked = {one.casefold() for one in (*reading.unresolved, *(anchor.text for anchor in reading.anchors))}
    seen = sum(name.casefold() in marked for name in names)
    target = reading.target.name if reading.target is not None and reading.slots.constraints else ""
    return Read("", tuple(kinds), target, len(names), seen, ms)


_opened: list[KnowledgeBase] = []
"""The knowledge base of a worker process."""


def _open(path: Path) -> None:
    kb = KnowledgeBase.open(path)
    kb.interpret("papers")  # reads the schema, which is not part of a question's time
    _opened.append(kb)


def _read_one(question: str, names: Sequence[str]) -> Read:
    return read_one(_opened[0], question, names)


def read_all(path: Path, questions: Sequence[str], plans: Mapping[str, list[str]], jobs: int) -> dict[str, Any]:
    """Reads all questions over the knowledge base at a path, in some processes."""
    names = [plans.get(question, []) for question in questions]
    with ProcessPoolExecutor(jobs, get_context("spawn"), _open, (path,)) as pool:
        read = list(pool.map(_read_one, questions, names, chunksize=50))
    with KnowledgeBase.open(path) as kb:
        return {"nodes": kb.stats()["entities"], **summary(questions, read)}


def summary(questions: Sequence[str], read: Sequence[Read]) -> dict[str, Any]:
    """Shares of all questions, and milliseconds of those that were read."""
    total, well = len(read), [one for one in read if not one.problem]
    kinds = Counter(kind for one in well for kind in one.kinds)
    names, seen = sum(one.names for one in well), sum(one.seen for one in well)
    times = sorted(one.ms for one in well)
    return {
        "questions": total,
        "well_formed": round(len(well) / total, 5),
        "failed": dict(sorted(Counter(one.problem for one in read if one.problem).items())),
        "failed_examples": [question for question, one in zip(questions, read, strict=True) if one.problem][:5],
        "shares": {kind: round(count / total, 4) for kind, count in sorted(kinds.items())},
        "targets_with_constraint": dict(Counter(one.target for one in well if one.target).most_common()),
        "names_in_plans": names,
        "names_seen": round(seen / names, 4) if names else None,
        "cpu_ms": {
            "median": round(statistics.median(times), 1),
            "90 %": round(times[int(0.9 * (len(times) - 1))], 1),
            "most": round(times[-1], 1),
        },
    }


def read_form(form: str, questions: Sequence[str], sample: int, out: Path | None, jobs: int) -> dict[str, Any]:
    """The figures of one form: of all questions over made data, and of a sample over public data."""
    data = FORMS[form][1]
    plans = read_plans(QUESTIONS / PLANS[form]) if form in PLANS else {}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        write_skb(form, MADE_NODES, work)
        make_stark(work / "skb", work / "qa", work / "made")
        found = {"made": read_all(work / "made" / "kb", questions, plans, jobs)}
    if out is not None:
        chosen = random.Random(SEED).sample(questions, min(sample, len(questions)))
        found[data] = read_all(out / data / "made" / "kb", chosen, plans, jobs)
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="public data in STaRK's form (default: made data alone)")
    parser.add_argument("--only", action="append", choices=list(FORMS))
    parser.add_argument("--most", type=int, help="the first questions of each form (default: all)")
    parser.add_argument("--sample", type=int, default=1000, help="questions that are read over public data")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--no-record", action="store_true")
    options = parser.parse_args()
    for form in options.only or list(FORMS):
        questions = read_questions(QUESTIONS / FORMS[form][0] / "stark_qa" / "stark_qa.csv.xz")[: options.most]
        found = read_form(form, questions, options.sample, options.out, options.jobs)
        if options.no_record:
            print(form, json.dumps(found, indent=1))
            continue
        stored = RESULTS / "ask_real_questions.json"
        before: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8"))["forms"] if stored.exists() else {}
        forms = {**before, form: found}
        record("ask_real_questions", {"forms": {name: forms[name] for name in FORMS if name in forms}}, seed=SEED)


if __name__ == "__main__":
    main()
