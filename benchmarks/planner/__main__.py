"""How far the planner's choices are from the best plan, in counted work and in time.

    python -m benchmarks.planner                        # 50,000 papers, about ten minutes
    python -m benchmarks.planner --full --data DIR      # 500,000 papers; about 6 GB of disk
    python -m benchmarks.planner --data DIR --half tuning --no-times

Each question of the grid (grid.py) is run by every plan that applies and by the planner's own. Work is what the meter
counts, priced by the default unit costs (HYBRIDKG_COSTS=default is set), so it is the same in every run; time is of
the thread. Half of the questions are for tuning the planner, half for judging it: the verdicts are about the latter.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

PAPERS = {True: 500_000, False: 50_000}
CELLS = {True: 30, False: 24}
WORST = 10


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planner", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="500,000 papers, not 50,000")
    parser.add_argument("--papers", type=int, help="another size")
    parser.add_argument("--data", type=Path, help="folder for graph and knowledge base; default: a temporary one")
    parser.add_argument(
        "--kb", type=Path, help="a knowledge base of that graph; default: one in the folder, or a new one"
    )
    parser.add_argument("--cells", type=int, help="of each shape; each has a question in either half")
    parser.add_argument("--half", choices=("tuning", "evaluation", "both"), default="both")
    parser.add_argument("--no-times", action="store_true", help="only counted work")
    parser.add_argument("--no-ablations", action="store_true")
    parser.add_argument("--record", help="name of the result; default: planner, with --full planner_full")
    return parser.parse_args()


def run(options: argparse.Namespace, folder: Path) -> None:
    """Makes what is missing, measures, reports and records."""
    os.environ["HYBRIDKG_COSTS"] = "default"
    from benchmarks.hybrid import ours, writing
    from benchmarks.hybrid.graph import SEED
    from benchmarks.planner import grid, measure, planning, plans, prices, report
    from benchmarks.record import record
    from hybridkg.kb import KnowledgeBase

    papers = options.papers or PAPERS[options.full]
    data = writing.write(folder / str(papers), papers, tables=False)
    kb_folder = options.kb or data.engines / "kb"
    if not (kb_folder / "CURRENT").exists():
        ours.load(data)
    questions = grid.make(data.graph(), data.df(), options.cells or CELLS[options.full])
    halves = grid.HALVES if options.half == "both" else (options.half,)
    figures: dict[str, Any] = {"papers": papers}
    of_half = {half: [question for question in questions if question.half == half] for half in halves}
    planned = {half: [] if options.no_times else planning.planning_ms(kb_folder, own) for half, own in of_half.items()}
    with KnowledgeBase.open(kb_folder) as kb:
        asked = plans.Plans(kb)
        figures["unit_costs"] = asdict(asked.cost)
        for half, own in of_half.items():
            found = measure.measure_all(asked, own, planned[half], ablated=not options.no_ablations)
            measure.keep(data.folder / f"planner-{half}.jsonl", found)
            print(f"\n== {half}", *report.printed(report.tables(found, papers)), sep="\n")
            print(*report.worst(found, report.work, WORST), sep="\n")
            figures[half] = report.to_json(found, papers)
            if not options.no_times:
                figures[half]["prices"] = prices.fitted(found, asked.cost)
    judged = halves[-1]
    record(options.record or ("planner_full" if options.full else "planner"), figures, seed=SEED)
    print(f"\non the half for {judged}")
    for verdict in figures[judged]["verdicts"]:
        print(f"{'ok' if verdict['met'] else 'NOT REACHED':12} {verdict['what']}: {verdict['figure']:g} "
              f"(bound: {verdict['bound']:g})")  # fmt: skip


def main() -> None:
    """Runs the benchmark."""
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        run(options, (options.data or Path(temporary)).resolve())


if __name__ == "__main__":
    main()
