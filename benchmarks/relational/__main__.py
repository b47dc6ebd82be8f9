"""Questions without ranks, around ranks and over the whole graph, beside Oxigraph, DuckDB, Kuzu and bare arrays.

    python -m benchmarks.relational --scratch DIR --papers-from /tmp/hybrid   # stores of benchmarks.hybrid --scratch
    python -m benchmarks.relational --scratch DIR --sizes 100000,500000 --passes 3 --repeats 7
    python -m benchmarks.relational --scratch DIR --ask --report --groups small,whole --engines hybridkg,duckdb
    python -m benchmarks.relational --scratch DIR --report

Without a phase all run, in the order listed by --help. Each phase stores its parts in the scratch folder, and the
report joins those that are there, so that an engine can be measured again alone. Graph, knowledge base and Oxigraph's
store are those that `python -m benchmarks.hybrid` leaves in its scratch folder, or are made there;
benchmarks/relational/engines.py says how the peers are installed.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.hybrid.engines import PEERS_PYTHON
from benchmarks.hybrid.graph import SEED
from benchmarks.record import record
from benchmarks.relational import phases, report
from benchmarks.relational.engines import CONTENDERS
from benchmarks.relational.groups import GROUPS
from benchmarks.relational.session import Session, say

PHASES = {
    "data": phases.make_data,
    "load": phases.load_all,
    "ask": phases.ask_all,
    "cold": phases.cold,
    "rows": phases.rows,
    "groups-on-disk": phases.groups_on_disk,
}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relational", description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path, help="folder of what is made; default: a temporary one")
    parser.add_argument("--papers-from", type=Path, help="scratch folder of benchmarks.hybrid; default: --scratch")
    parser.add_argument("--sizes", default="100000", help="papers, separated by commas (default: %(default)s)")
    parser.add_argument("--engines", default=",".join(CONTENDERS), help="default: %(default)s")
    parser.add_argument("--groups", default=",".join(GROUPS), help="of questions (default: %(default)s)")
    parser.add_argument("--peers", type=Path, default=PEERS_PYTHON, help="their Python (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="of each question in a process (default: %(default)s)")
    parser.add_argument("--passes", type=int, default=2, help="processes of each engine (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for one question (default: %(default)s)")
    parser.add_argument("--name", default="run", help="of the run, whose parts are kept apart (default: %(default)s)")
    parser.add_argument("--record", default="relational", help="name of the result (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only: for rough figures on a busy machine")
    for phase in PHASES:
        parser.add_argument(f"--{phase}", action="append_const", const=phase, dest="phases", help=f"phase: {phase}")
    parser.add_argument("--report", action="append_const", const="report", dest="phases", help="only the report")
    return parser.parse_args()


def chosen(text: str, known: object, kind: str) -> tuple[str, ...]:
    """Names of a list; a SystemExit where one is unknown."""
    names, able = tuple(text.split(",")), list(known)  # type: ignore[call-overload]
    for name in names:
        if name not in able:
            raise SystemExit(f"no {kind} {name!r}; known: {', '.join(able)}")
    return names


def main() -> None:
    """Runs the phases, then joins and records what they measured."""
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = (options.scratch or Path(temporary)).resolve()
        session = Session(
            scratch=scratch,
            papers_from=(options.papers_from or scratch).resolve(),
            name=options.name,
            sizes=tuple(sorted(int(size) for size in options.sizes.split(","))),
            engines=chosen(options.engines, CONTENDERS, "engine"),
            groups=chosen(options.groups, GROUPS, "group"),
            peers=options.peers,
            repeats=options.repeats,
            passes=options.passes,
            patience_s=options.patience,
        )
        for phase, run in PHASES.items():
            if options.phases is None or phase in options.phases:
                say(f"-- {phase}")
                run(session)
        figures, lines = report.join(session)
        if not options.no_record:
            record(options.record, figures, seed=SEED)
        print("\n".join(lines))


if __name__ == "__main__":
    main()
