"""The cliff hunter: random queries, and those that take over ten times the sum of their parts.

    python -m benchmarks.cliffs --scratch DIR --papers-from /tmp/hybrid --papers 100000 --queries 2000
    python -m benchmarks.cliffs --scratch DIR --acl --record cliffs_acl
    python -m benchmarks.cliffs --scratch DIR --papers 2000 --queries 200 --first 5000 --limit 2 --no-record

Queries have sub-selects, OPTIONAL, UNION, MINUS, EXISTS, VALUES, BIND, aggregates, orders and several ranked variables,
with LIMIT and without; one in four has no rank. A query is made from its number alone, so `--first N --queries 1` asks
one of the list again. Knowledge base and graph are those of `python -m benchmarks.hybrid`, or are made.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.cliffs import anthology
from benchmarks.cliffs.measure import MANY, TIMES
from benchmarks.hybrid import writing
from benchmarks.hybrid.verdicts import Verdict
from benchmarks.record import record
from benchmarks.relational import engine_hybridkg
from benchmarks.relational.contract import Places
from benchmarks.relational.session import ROOT, say
from benchmarks.relational.supervised import TIME, supervised
from benchmarks.text.session import SINGLE

GRACE_S = 120.0
"""Parts, repetitions and other strategies of one query take so long beside its time limit."""
STRATEGIES_ASKED = 8
SHOWN = 40


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cliffs", description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path, help="folder of what is made; default: a temporary one")
    parser.add_argument("--papers-from", type=Path, help="scratch folder of benchmarks.hybrid; default: --scratch")
    parser.add_argument("--papers", type=int, default=100_000, help="size of the graph (default: %(default)s)")
    parser.add_argument("--acl", action="store_true", help="the ACL Anthology in place of the generated graph")
    parser.add_argument("--queries", type=int, default=2_000, help="how many (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first query (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for a query (default: %(default)s)")
    parser.add_argument("--strategies", action="store_true", help="cliffs are also asked with each other strategy")
    parser.add_argument("--record", default="cliffs", help="name of the result (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only: for rough figures on a busy machine")
    return parser.parse_args()


def hunted(kb: Path, papers: Path | None, options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """The lines about all queries; a process that overruns goes on behind the query it was in."""
    found, first, end = list[dict[str, Any]](), options.first, options.first + options.queries
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    while first < end:
        given = {
            "kb": str(kb), "papers": str(papers) if papers else "", "first": first, "end": end,
            "limit_s": options.limit, "strategies": options.strategies,
        }  # fmt: skip
        lines = folder / f"cliffs-{os.getpid()}.jsonl"
        command = [sys.executable, "-m", "benchmarks.cliffs.measure", str(lines), json.dumps(given)]
        wait_s = options.limit * (2 * STRATEGIES_ASKED if options.strategies else 8) + GRACE_S
        own, ended = supervised(command, lines, wait_s, {**os.environ, "PYTHONPATH": path, **SINGLE})
        found += [line for line in own if "shape" in line]
        if any("done" in line for line in own):
            break
        numbers = [line["number"] for line in own if "number" in line]
        if not numbers:
            raise SystemExit(f"the measuring process ended with {ended} before its first query")
        first = numbers[-1] + 1
        reason = "over the limit, and could not be stopped" if ended == TIME else ended
        found.append({"number": numbers[-1], "shape": [], "failed": reason})
        say(f"query {numbers[-1]}: {reason}")
    return found


def summed(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts, the distribution of the ratios, and the cliffs, largest ratio first."""
    timed = [line for line in lines if "ratio" in line]
    cliffs = sorted((line for line in timed if line["ratio"] > TIMES), key=lambda line: -line["ratio"])
    ratios = sorted(line["ratio"] for line in timed)
    features, of_cliffs = (Counter(f for line in own for f in line["shape"]) for own in (timed, cliffs))
    return {
        "queries": len(lines), "timed": len(timed), "over_the_limit": sum("over" in line for line in timed),
        "reference_over_many": [line["number"] for line in timed if line.get("reference_over_many")],
        "refused": dict(Counter(line["failed"].split(":")[0] for line in lines if "failed" in line)),
        "ratio": {
            "median": statistics.median(ratios) if ratios else None,
            "p90": ratios[len(ratios) * 9 // 10] if ratios else None, "max": ratios[-1] if ratios else None,
        },
        "ms": {"median": statistics.median([line["ms"] for line in timed]) if timed else None},
        "share_of_cliffs_by_feature": {
            feature: f"{of_cliffs[feature]} of {count}" for feature, count in features.most_common()
        },
        "cliffs": cliffs,
        "failed": [line for line in lines if "failed" in line],
    }  # fmt: skip


def main() -> None:
    """Hunts, lists and records."""
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (options.scratch or Path(temporary)).resolve()
        scratch.mkdir(parents=True, exist_ok=True)
        if options.acl:
            kb, papers, graph = anthology.made(scratch), None, "the ACL Anthology"
        else:
            data = writing.write((options.papers_from or scratch).resolve() / str(options.papers), options.papers)
            engine_hybridkg.load(Places(data, scratch))
            kb, papers, graph = data.engines / "kb", data.folder, f"{options.papers:,} papers"
        found = summed(hunted(kb, papers, options, scratch))
    about = {"graph": graph, "first": options.first, "limit_s": options.limit, "times": TIMES}
    verdict = Verdict(
        f"queries above {TIMES:g} times the sum of their parts, {graph}",
        f"{len(found['cliffs'])} of {found['timed']}", "0", not found["cliffs"],
    )  # fmt: skip
    if not options.no_record:
        record(options.record, {**about, "verdict": verdict.line(), **found}, seed=options.first)
    print(
        f"{found['queries']} queries, {found['over_the_limit']} over {options.limit:g} s, refused: {found['refused']}"
    )
    print(f"the reference strategy over relations of more than {MANY:,} entries: {len(found['reference_over_many'])}")
    print(f"ratio {found['ratio']}, median {found['ms']['median']} ms")
    for feature, share in found["share_of_cliffs_by_feature"].items():
        print(f"  {feature}: {share}")
    for one in found["cliffs"][:SHOWN]:
        over, strategy = f" ({one['over']})" if "over" in one else "", one.get("strategy", "-")
        print(f"{one['ratio']:>8.1f}  {one['ms']:,.1f} ms{over}, parts {one['sum_ms']:,.1f} ms, {strategy}")
        print(f"          #{one['number']} {', '.join(one['shape'])}\n          {one['text']}")
    print(verdict.line())


if __name__ == "__main__":
    main()
