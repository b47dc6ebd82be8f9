"""`hybridkg eval`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_error, echo_json
from hybridkg.cli.options import PATH, by_option, figures_option, measures_option
from hybridkg.cli.output import separated_writer, text_table

if TYPE_CHECKING:
    from hybridkg.evaluation.eval_report import EvalReport, ReportRow


@click.command("eval")
@click.argument("qrels", type=PATH)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@measures_option
@by_option
@click.option(
    "--candidates", metavar="FILE", type=PATH, help="Possible answers, one a line, for the measures of STaRK."
)
@click.option("--per-topic", is_flag=True, help="Also show each topic.")
@figures_option
def evaluate(
    qrels: Path,
    runs: tuple[Path, ...],
    measures: tuple[str, ...],
    by: str | None,
    candidates: Path | None,
    per_topic: bool,
    fmt: str,
) -> None:
    """Measure how good rankings are.

    QRELS has lines `topic iteration document grade`; a RUN has lines `topic Q0 document rank score tag`, ordered by
    score as trec_eval does. Both may be packed (.gz, .bz2, .xz). Means are over all topics of QRELS; a topic that a
    run does not answer counts 0. If QRELS is a file of KILT (.jsonl), a RUN is a file of guesses, and the measures are
    rprec, recall@5, success@5, accuracy, em, f1, kilt-ac, kilt-em and kilt-f1. With --candidates, hit@k, recall@k,
    precision@k, ndcg@k, mrr, map and rprecision count all possible answers, as in STaRK.

    \b
    Example:
      hybridkg eval qrels.txt bm25.run bm25f.run -m ndcg@10 -m judged@10 --by prefix
    """
    from hybridkg.evaluation.from_files import evaluate_files

    report = evaluate_files(qrels, runs, measures, by=by, candidates=candidates)
    match fmt:
        case "json":
            echo_json(report.to_json(per_topic=per_topic))
        case "table":
            _print_table(report, per_topic)
        case _:
            _print_separated(report, per_topic, fmt)
    count = len(report.topics)
    echo(f"{count:,} topic{'' if count == 1 else 's'}", err=True)
    for warning in report.warnings:
        echo_error(warning)
    for run in report.runs:
        if note := run.note():
            echo(note, err=True)


def _print_separated(report: EvalReport, per_topic: bool, fmt: str) -> None:
    writer = separated_writer(fmt)
    with_category = bool(report.categories)
    writer.writerow(["run", *["category"] * with_category, *["topic"] * per_topic, "topics", *report.measures])
    for row in report.rows(per_topic=per_topic):
        labels = [row.run, *[row.category] * with_category, *[row.topic] * per_topic]
        writer.writerow([*labels, row.topics, *_figures(row)])


def _print_table(report: EvalReport, per_topic: bool) -> None:
    """Prints a row for each run, then its parts; if that is too wide, a block for each row."""
    from rich.cells import cell_len

    from hybridkg.results.formats.table import BETWEEN_COLUMNS, console_on

    console = console_on(sys.stdout)
    rows = list(report.rows(per_topic=per_topic))
    labels = [row.label() for row in rows]
    counted = bool(report.categories)
    titles = [*["topics"] * counted, *(name.replace("-", "-\n", 1) for name in report.measures)]
    cells = [[*[f"{row.topics:,}"] * counted, *_figures(row)] for row in rows]
    needed = sum(BETWEEN_COLUMNS + max(6, *map(cell_len, title.split("\n"))) for title in titles)
    longest = max(map(cell_len, labels))
    if needed + min(longest, MIN_LABEL) > console.width:
        names = [title.replace("\n", "") for title in titles]
        width = max(map(len, names))
        for label, figures in zip(labels, cells, strict=True):
            echo(label)
            for name, figure in zip(names, figures, strict=True):
                echo(f"    {name:<{width}}  {figure}")
        return
    lines = ([label, *figures] for label, figures in zip(labels, cells, strict=True))
    console.print(text_table(["run", *titles], lines, range(1, len(titles) + 1), bottom=True))


MIN_LABEL = 14
"""Minimum width of a folded label."""


def _figures(row: ReportRow) -> list[str]:
    return [f"{value:.4f}" for value in row.values]
