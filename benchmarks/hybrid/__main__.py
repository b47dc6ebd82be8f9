"""Hybrid queries on a MAG-like graph, beside every peer that runs here: every bound of the issue as a figure.

    python -m benchmarks.hybrid                       # 100,000 papers; half an hour on an idle machine
    python -m benchmarks.hybrid --full --scratch DIR  # 100,000 and 500,000; growth up to 5 M; about 60 GB of disk
    python -m benchmarks.hybrid --full --scratch DIR --ask --engines hybridkg
    python -m benchmarks.hybrid --fresh               # the mode in which no text repeats
    python -m benchmarks.hybrid --half tuning         # while tuning: the other half is for the result

Without a phase all run, in the order listed by --help. Each phase stores its
part in the scratch folder; the report joins the parts that are there, so
phases can run apart, and an engine can be measured again alone. The peers are
no dependencies: benchmarks/hybrid/engines.py says how they are installed, and
those that are absent are left out with a reason.
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from pathlib import Path

from benchmarks.hybrid import phases, report
from benchmarks.hybrid.engines import CONTENDERS, PEERS_PYTHON
from benchmarks.hybrid.graph import SEED
from benchmarks.hybrid.session import Session, say
from benchmarks.hybrid.workload import HALVES
from benchmarks.record import record

PHASES = {
    "data": phases.make_data,
    "load": phases.load_all,
    "ask": phases.ask_all,
    "force": phases.force,
    "grow": phases.grow,
}
SIZES = {True: (100_000, 500_000), False: (100_000,)}
GROWTH = {True: (50_000, 100_000, 500_000, 5_000_000), False: (25_000, 50_000, 100_000)}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hybrid", description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the sizes of the issue")
    parser.add_argument("--sizes", help="papers, separated by commas, in place of those of the run")
    parser.add_argument("--growth-sizes", help="the same for the growth")
    parser.add_argument("--scratch", type=Path, help="folder for data and engines; default: a temporary one")
    parser.add_argument("--engines", help=f"names, separated by commas; default: {','.join(CONTENDERS)}")
    parser.add_argument("--peers", type=Path, default=PEERS_PYTHON, help="their Python (default: %(default)s)")
    parser.add_argument("--half", choices=HALVES, default="evaluation", help="of the workload (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, help="asks one of so many questions (default: %(default)s)")
    parser.add_argument("--passes", type=int, default=2, help="processes of each engine (default: %(default)s)")
    parser.add_argument("--warming", type=int, default=2, help="passes of warming questions (default: %(default)s)")
    parser.add_argument("--checked", type=int, default=1, help="own scores: one of so many questions; 0: none")
    parser.add_argument("--fresh", action="store_true", help="no text repeats, and no engine prepares one")
    parser.add_argument("--name", help="of the run, whose parts are kept apart; default: full or small")
    parser.add_argument("--record", help="name of the result; default: hybrid with --full, else hybrid_small; + _fresh")
    parser.add_argument("--no-record", action="store_true", help="prints only: for rough figures on a busy machine")
    for phase in PHASES:
        parser.add_argument(f"--{phase}", action="append_const", const=phase, dest="phases", help=f"phase: {phase}")
    parser.add_argument("--report", action="append_const", const="report", dest="phases", help="only the report")
    return parser.parse_args()


def numbers(text: str) -> tuple[int, ...]:
    """`100000,500000` as numbers, ascending."""
    return tuple(sorted(int(part) for part in text.split(",")))


def session_of(options: argparse.Namespace, scratch: Path) -> Session:
    """The run that the options describe."""
    names = tuple(options.engines.split(",")) if options.engines else tuple(CONTENDERS)
    unknown = sorted(set(names) - set(CONTENDERS))
    if unknown:
        raise SystemExit(f"no engine {unknown[0]!r}; known: {', '.join(CONTENDERS)}")
    return Session(
        scratch=scratch,
        name=options.name or ("full" if options.full else "small") + ("-fresh" if options.fresh else ""),
        sizes=numbers(options.sizes) if options.sizes else SIZES[options.full],
        growth=numbers(options.growth_sizes) if options.growth_sizes else GROWTH[options.full],
        engines=names,
        peers=options.peers,
        half=options.half,
        every=options.every,
        passes=options.passes,
        warming=options.warming,
        checked=options.checked,
        fresh=options.fresh,
    )


def main() -> None:
    """Runs the phases, then joins and records what they measured."""
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (options.scratch or Path(temporary)).resolve()
        scratch.mkdir(parents=True, exist_ok=True)
        session = session_of(options, scratch)
        for phase, run in PHASES.items():
            if options.phases is None or phase in options.phases:
                say(f"-- {phase}")
                try:
                    run(session)
                except Exception:
                    traceback.print_exc()
                    say(f"phase {phase} failed")
        figures, lines = report.join(session)
        if not options.no_record:
            name = ("hybrid" if options.full else "hybrid_small") + ("_fresh" if options.fresh else "")
            record(options.record or name, figures, seed=SEED)
        print("\n".join(lines))


if __name__ == "__main__":
    main()
