"""`hybridkg run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_error
from hybridkg.cli.options import PATH, WholeNumber

if TYPE_CHECKING:
    from hybridkg.evaluation.experiment import ExperimentOutcome


@click.command()
@click.argument("experiment", metavar="EXPERIMENT.toml", type=PATH)
@click.option("--out", metavar="DIR", type=PATH, help="Results; default: EXPERIMENT.results next to the file.")
@click.option("--jobs", type=WholeNumber(1, 256), default=1, show_default=True, help="Topics that run at once.")
def run(experiment: Path, out: Path | None, jobs: int) -> None:
    """Run an experiment: systems that rank the same topics are judged and compared in a report.

    EXPERIMENT.toml names the knowledge base, topics, judgements, measures and systems. A system is a query with $text,
    a run, a model to tune, or a model learned from the scores of others. DIR gets a TREC run for each system,
    report.md, report.html and report.json with plots, and manifest.json. Unchanged systems do not run again; an
    interrupted run continues.

    \b
    Example:
      hybridkg run cacm.toml --jobs 2
    """
    from hybridkg.cli.output import TerminalProgress, print_figures
    from hybridkg.evaluation.experiment import Experiment
    from hybridkg.evaluation.experiment.report import write_report

    folder = out or experiment.with_name(f"{experiment.stem}.results")
    read = Experiment.read(experiment)
    try:
        outcome = read.run(folder, jobs=jobs, progress=TerminalProgress())
    except KeyboardInterrupt as e:
        e.add_note(f"finished topics are in {folder}; the same command continues from there")
        raise
    _, missing = write_report(outcome, folder)
    print_figures(["system", *outcome.names], _rows(outcome))
    _print_verdicts(outcome)
    sys.stdout.flush()
    for name, one in outcome.runs.items():
        if one.kept:
            echo(f"{name}: unchanged, not run again", err=True)
    for warning in outcome.warnings():
        echo_error(warning)
    for note in outcome.notes():
        echo(f"note: {note}", err=True)
    if missing:
        echo(f"no plots: {missing}", err=True)
    echo(f"written: {folder / 'report.md'}, report.html, report.json, manifest.json, runs/", err=True)


def _rows(outcome: ExperimentOutcome) -> list[list[str]]:
    means = outcome.means()
    return [[name, *(f"{means[name][measure]:.4f}" for measure in outcome.names)] for name in outcome.runs]


def _print_verdicts(outcome: ExperimentOutcome) -> None:
    from hybridkg.cli.output import print_figures
    from hybridkg.evaluation.eval_report import ALL

    verdicts = outcome.verdicts()
    if total := [one for one in verdicts if one.expected.category == ALL]:
        rows = [[v.system, v.expected.measure, f"{v.expected.value:.4f}", _figure(v.found), v.verdict] for v in total]
        print_figures(["system", "measure", "published", "ours", "verdict"], rows, left=("system", "measure"))
    if within := [one for one in verdicts if one.expected.category != ALL]:
        names = dict.fromkeys(["OK", "close", "off"] if not outcome.spec.published else [v.verdict for v in within])
        counts = (f"{sum(one.verdict == name for one in within)} {name}" for name in names)
        echo(f"published figures of categories (report.md): {', '.join(counts)}")


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
