"""The embedded text engine at DBpedia's size, and beside tantivy and bm25s: every bound of its issue as a figure.

    python -m benchmarks.text                       # 100,000 entities, a few minutes
    python -m benchmarks.text --full --scratch DIR  # 4.6 M entities; about 12 GB of disk
    python -m benchmarks.text --full --scratch DIR --build --latency

Without a phase all run, in the order listed by --help. Each phase stores its
part in the scratch folder; the report joins the parts that are there, so
phases can run apart. The peers are not dependencies of hybridkg:
`pip install tantivy==0.27.0 bm25s==0.3.16` adds them, and without them they are
reported as missing.
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from benchmarks.record import record
from benchmarks.text import growth, latency, phases, report
from benchmarks.text.corpus import SEED
from benchmarks.text.session import Session, say

PHASES = {
    "corpus": ("corpus",),
    "build": ("build-five-{}", "build-flat-{}", "reading", "deterministic"),
    "peers": ("build-tantivy-{}", "build-bm25s-{}"),
    "open": ("open-{}",),
    "memory": ("memory-{}",),
    "same": ("same-{}", "batch-{}"),
    "latency": ("latency-{}",),
    "growth": ("growth",),
    "anthology": ("anthology",),
}
"""The phases and their parts, {} for a size."""

SIZES = {True: (500_000, 4_600_000), False: (100_000,)}
MAX_OF_GROWTH = {True: 1_000_000, False: 100_000}
BUILT_TWICE = {True: 25_000, False: 10_000}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the sizes of the issue: 0.5 M and 4.6 M entities")
    parser.add_argument("--sizes", help="entities, separated by commas, in place of those of the run")
    parser.add_argument("--growth-sizes", help="the same for the growth")
    parser.add_argument("--scratch", type=Path, help="folder for corpus and indexes; default: a temporary one")
    parser.add_argument("--questions", type=int, help="per cell; default 50, without --full 12")
    parser.add_argument("--passes", type=int, default=2, help="over all engines (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=3.0, help="seconds per cell and engine (default: %(default)s)")
    parser.add_argument("--same-budget", type=float, help="seconds per model but bm25f; default 60, 10")
    parser.add_argument("--no-flat", action="store_true", help="without hybridkg's index of one flat field")
    parser.add_argument("--record", help="name of the result; default: text with --full, otherwise text_small")
    for phase in PHASES:
        parser.add_argument(f"--{phase}", action="append_const", const=phase, dest="phases", help=f"phase: {phase}")
    parser.add_argument("--report", action="append_const", const="report", dest="phases", help="only the report")
    return parser.parse_args()


def numbers(text: str) -> tuple[int, ...]:
    """`100000,500000` as numbers, ascending."""
    return tuple(sorted(int(part) for part in text.split(",")))


def session_of(options: argparse.Namespace, scratch: Path) -> Session:
    """The run that the options describe."""
    halved = tuple(MAX_OF_GROWTH[options.full] >> i for i in range(5, -1, -1))
    return Session(
        scratch=scratch,
        name="full" if options.full else "small",
        sizes=numbers(options.sizes) if options.sizes else SIZES[options.full],
        growth=numbers(options.growth_sizes) if options.growth_sizes else halved,
        small=BUILT_TWICE[options.full],
        questions=options.questions or (50 if options.full else 12),
        passes=options.passes,
        budget_s=options.budget,
    )


def run(session: Session, options: argparse.Namespace) -> None:
    """The phases asked for, one after the other; one that fails is told and does not stop the others."""

    def all_latencies() -> None:
        for entities in session.sizes:
            latency.measure(session, entities)

    steps: dict[str, Callable[[], None]] = {
        "corpus": lambda: phases.make_corpus(session),
        "build": lambda: phases.build_all(session, flat=not options.no_flat),
        "peers": lambda: phases.build_peers(session),
        "open": lambda: phases.measure_opening(session),
        "memory": lambda: phases.measure_memory(session),
        "same": lambda: phases.compare(session, options.same_budget or (60.0 if options.full else 10.0)),
        "latency": all_latencies,
        "growth": lambda: growth.measure(session),
        "anthology": lambda: session.keep("anthology", session.run("anthology", folder=str(session.scratch))[0]),
    }
    for phase, parts in PHASES.items():
        if options.phases is None or phase in options.phases:
            say(f"-- {phase}")
            session.drop(parts)
            try:
                steps[phase]()
            except Exception:
                traceback.print_exc()
                say(f"phase {phase} failed")


def main() -> None:
    """Runs the phases, then joins and records what they measured."""
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (options.scratch or Path(temporary)).resolve()
        scratch.mkdir(parents=True, exist_ok=True)
        session = session_of(options, scratch)
        run(session, options)
        figures, lines = report.join(session)
        record(options.record or ("text" if options.full else "text_small"), figures, seed=SEED)
        print("\n".join(lines))


if __name__ == "__main__":
    main()
