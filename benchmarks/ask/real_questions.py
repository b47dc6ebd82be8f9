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


def read_all(kb: KnowledgeBase, questions: Sequence[str], plans: Mapping[str, list[str]]) -> dict[str, Any]:
    """Reads all questions; shares, and milliseconds of the processor."""
    kb.interpret("papers")  # reads the schema, which is not part of a question's time
    failed: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    times: list[float] = []
    names = seen = 0
    examples: list[str] = []
    total = len(questions)
    for question in questions:
        started = time.thread_time()
        try:
            reading = kb.interpret(question)
            times.append(1e3 * (time.thread_time() - started))
            problem = "" if is_well_formed(reading) else "a query does not round-trip"
        except HybridkgError as e:
            problem = e.code
        except Exception as e:  # a bug, which must be counted
            problem = type(e).__name__
        if problem:
            failed[problem] += 1
            examples = [*examples, question][:5]
            continue
        kinds["constraint" if reading.slots.constraints else "words alone"] += 1
        kinds["strict"] += reading.strict is not None
        kinds["unresolved name"] += bool(reading.unresolved)
        if reading.target is not None:
            targets[reading.target.name] += 1
        marked = {one.casefold() for one in (*reading.unresolved, *(anchor.text for anchor in reading.anchors))}
        for name in plans.get(question, ()):
            names += 1
            seen += name.casefold() in marked
    ordered = sorted(times)
    return {
        "questions": total,
        "well_formed": round((total - sum(failed.values())) / total, 5),
        "failed": dict(sorted(failed.items())),
        "failed_examples": examples,
        "shares": {kind: round(count / total, 4) for kind, count in sorted(kinds.items())},
        "targets_with_constraint": dict(targets.most_common()),
        "names_in_plans": names,
        "names_seen": round(seen / names, 4) if names else None,
        "cpu_ms": {
            "median": round(statistics.median(ordered), 1),
            "90 %": round(ordered[int(0.9 * (len(ordered) - 1))], 1),
            "most": round(ordered[-1], 1),
        },
    }


def read_form(form: str, questions: Sequence[str], sample: int, out: Path | None) -> dict[str, Any]:
    """The figures of one form: of all questions over made data, and of a sample over public data."""
    data = FORMS[form][1]
    plans = read_plans(QUESTIONS / PLANS[form]) if form in PLANS else {}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        write_skb(form, MADE_NODES, work)
        make_stark(work / "skb", work / "qa", work / "made")
        with KnowledgeBase.open(work / "made" / "kb") as kb:
            found = {"made": {"nodes": kb.stats()["entities"], **read_all(kb, questions, plans)}}
    if out is not None:
        chosen = random.Random(SEED).sample(questions, min(sample, len(questions)))
        with KnowledgeBase.open(out / data / "made" / "kb") as kb:
            found[data] = {"nodes": kb.stats()["entities"], **read_all(kb, chosen, plans)}
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="public data in STaRK's form (default: made data alone)")
    parser.add_argument("--only", action="append", choices=list(FORMS))
    parser.add_argument("--most", type=int, help="the first questions of each form (default: all)")
    parser.add_argument("--sample", type=int, default=1000, help="questions that are read over public data")
    parser.add_argument("--no-record", action="store_true")
    options = parser.parse_args()
    for form in options.only or list(FORMS):
        questions = read_questions(QUESTIONS / FORMS[form][0] / "stark_qa" / "stark_qa.csv.xz")[: options.most]
        found = read_form(form, questions, options.sample, options.out)
        if options.no_record:
            print(form, json.dumps(found, indent=1))
            continue
        stored = RESULTS / "ask_real_questions.json"
        before: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8"))["forms"] if stored.exists() else {}
        forms = {**before, form: found}
        record("ask_real_questions", {"forms": {name: forms[name] for name in FORMS if name in forms}}, seed=SEED)


if __name__ == "__main__":
    main()
