"""`hybridkg tune --model graph`: learns the reranker `graph`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.cli.echo import echo
from hybridkg.errors import ParameterError
from hybridkg.registry import did_you_mean

if TYPE_CHECKING:
    from hybridkg.evaluation.tuning.folds import Fold
    from hybridkg.evaluation.tuning.graph import GraphOptions, GraphOutcome, GraphTuning

GRAPH = "graph"
"""The `--model` that is this reranker."""

NUMBERS = {"hidden": (1, 4096), "dropout": (0, 0.99), "epochs": (1, 10_000), "rate": (1e-9, 10)}
"""Values of --fixed that are numbers, and their ranges."""

WORDS = {"weight": ("rare", "count", "none"), "aggregate": ("sum", "mean"), "residual": ("yes", "no")}
"""Values of --fixed that are words; the first is the default."""


def graph_options(
    learner: str, inputs: str, nodes: str, edges: str, loss: str, fixed: Mapping[str, float | str], seed: int
) -> GraphOptions:
    """The options of the command line.

    Raises:
        ParameterError: a name or value of --fixed is not known.
    """
    from hybridkg.evaluation.tuning.graph import GraphOptions

    for name, value in fixed.items():
        if name not in NUMBERS and name not in WORDS:
            known = [*NUMBERS, *WORDS]
            raise ParameterError(
                f"--fixed has no {name!r} for a graph network; known: {', '.join(known)}",
                hint=did_you_mean(name, known),
            )
        if name in WORDS and value not in WORDS[name]:
            raise ParameterError(f"--fixed {name} is {' or '.join(WORDS[name])}, not {value!r}")
        if name in NUMBERS:
            least, most = NUMBERS[name]
            is_whole = name in ("hidden", "epochs")
            if isinstance(value, str) or not least <= value <= most or (is_whole and value != int(value)):
                kind = "a whole number" if is_whole else "a number"
                raise ParameterError(f"--fixed {name} is {kind} from {least:g} to {most:g}, not {value!r}")
    default = GraphOptions()
    sources = tuple(name.strip() for name in edges.split(",") if name.strip())
    return GraphOptions(
        learner=learner,
        inputs=inputs,
        nodes=nodes,
        edges=sources,
        loss=loss,
        hidden=int(fixed.get("hidden", default.hidden)),
        dropout=float(fixed.get("dropout", default.dropout)),
        epochs=int(fixed.get("epochs", default.epochs)),
        rate=float(fixed.get("rate", default.rate)),
        residual=fixed.get("residual", "yes") == "yes",
        weight=str(fixed.get("weight", default.weight)),
        mean=fixed.get("aggregate", "sum") == "mean",
        seed=seed,
    )


def tune_graph(
    tuning: GraphTuning,
    folds: Sequence[Fold] | None,
    categories: Mapping[str, str] | None,
    *,
    measure: str,
    top: int,
    out: Path,
    several: bool,
    run_file: Path | None,
) -> None:
    """Learns the networks, writes the files, and prints the measure on the test topics."""
    from hybridkg.cli.output import TerminalProgress, write_files
    from hybridkg.evaluation.run import write_run
    from hybridkg.evaluation.tuning.graph import to_json

    work = out.with_name(f"{out.name}.training")
    try:
        outcomes = tuning.run(folds, categories, TerminalProgress(), work)
    except KeyboardInterrupt:
        if work.is_dir():
            echo(f"the same command continues from {work}", err=True)
        raise
    files = [out / f"graph-{one.training.name}.safetensors" for one in outcomes] if several else [out]
    report = {out / "report.json": json.dumps(to_json(outcomes, measure, top), indent=2) + "\n"} if several else {}
    write_files(report, out if several else None)
    for path, one in zip(files, outcomes, strict=True):
        one.model.write(path)
    run_file = run_file or (out / "test.run" if folds is not None else None)
    written = [*files, *report]
    if run_file is not None:
        write_run(tuning.run_of(outcomes, "graph-tuned"), run_file)
        written.append(run_file)
    _print(outcomes, tested=folds is not None)
    for path in written[-2:] if several else written:
        echo(f"written: {path}", err=True)
    if unlearned := ", ".join(one.training.name or GRAPH for one in outcomes if one.epoch == 0):
        echo(f"warning: no epoch was better than the untrained network on the held-out topics: {unlearned}", err=True)
    if folds is None:
        echo(f"note: {measure} is that of the topics that the model was learned from or chosen by", err=True)
    echo(f"{measure}; {tuning.settings.width:,} numbers for each of the first {top:,} rows", err=True)


def _print(outcomes: Sequence[GraphOutcome], *, tested: bool) -> None:
    from hybridkg.cli.output import print_figures
    from hybridkg.evaluation.measures import mean

    rows = []
    for one in outcomes:
        topics = f"{len(one.training.training):,}" + (f" + {len(one.training.testing):,}" if tested else "")
        name = one.training.name or GRAPH
        rows.append([name, topics, f"{one.epoch:,}", f"{mean(one.before):.4f}", f"{mean(one.after):.4f}"])
    print_figures(["model", "topics", "epoch", "before", "reranked"], rows)
