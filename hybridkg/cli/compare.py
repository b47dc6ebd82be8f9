"""`hybridkg compare`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo, echo_error, echo_json
from hybridkg.cli.options import PATH, WholeNumber, accessible, by_option, figures_option, measures_option
from hybridkg.cli.output import separated_writer

if TYPE_CHECKING:
    from hybridkg.evaluation.comparison import ComparisonReport, RunComparison, TopicDifference

TESTS = click.Choice(["randomisation", "t"])


@click.command()
@click.argument("runs", metavar="RUN RUN...", nargs=-1, required=True, type=PATH, callback=accessible)
@click.option("--qrels", metavar="QRELS", required=True, type=PATH, help="The judgements.")
@measures_option
@by_option
@click.option(
    "--test", type=TESTS, default="randomisation", show_default=True, help="Two-sided paired test of significance."
)
@click.option(
    "--permutations", metavar="N", type=WholeNumber(min=1), help="Permutations drawn by the test; default: 100,000."
)
@click.option("--seed", metavar="N", type=WholeNumber(min=0), default=0, show_default=True, help="Random seed.")
@click.option("--per-topic", is_flag=True, help="Show each topic, the largest gain first; in csv and tsv only these.")
@figures_option
def compare(
    runs: tuple[Path, ...],
    qrels: Path,
    measures: tuple[str, ...],
    by: str | None,
    test: str,
    permutations: int | None,
    seed: int,
    per_topic: bool,
    fmt: str,
) -> None:
    """Test whether rankings are better than a baseline.

    The first RUN is the baseline. Each other one is shown with its mean, the difference, the 95 % bootstrap interval
    of the difference, the p-value of a paired test, the p-value after Holm's correction for all comparisons shown, and
    the topics won, tied and lost (W/T/L). The randomisation test counts all permutations of up to 16 differing topics.
    Files, topics and measures are as for eval.

    \b
    Example:
      hybridkg compare bm25.run bm25f.run --qrels qrels.txt -m ndcg@10 --by prefix
    """
    from hybridkg.errors import ParameterError
    from hybridkg.evaluation.comparison import compare_evaluated
    from hybridkg.evaluation.from_files import evaluate_files
    from hybridkg.evaluation.significance import PERMUTATIONS

    if len(runs) < 2:
        raise ParameterError("a comparison needs two runs or more", hint="the first run is the baseline")
    if test == "t" and permutations is not None:
        raise ParameterError("the t-test draws no permutations", hint="leave --permutations out, or --test t")
    evaluated = evaluate_files(qrels, runs, measures, by=by)
    report = compare_evaluated(evaluated, test=test, permutations=permutations or PERMUTATIONS, seed=seed)
    match fmt:
        case "json":
            echo_json(report.to_json(per_topic=per_topic))
        case "table":
            _print_tables(report, per_topic)
        case _:
            _print_separated(report, per_topic, fmt)
            echo(report.method(), err=True)
    for warning in evaluated.warnings:
        echo_error(warning)
    for run in evaluated.runs:
        if note := run.note():
            echo(note, err=True)


def _print_separated(report: ComparisonReport, per_topic: bool, fmt: str) -> None:
    rows: Sequence[RunComparison | TopicDifference] = report.per_topic if per_topic else report.comparisons
    writer = separated_writer(fmt)
    writer.writerow(rows[0].__dataclass_fields__)
    for row in rows:
        cells = [(name, getattr(row, name)) for name in row.__dataclass_fields__]
        writer.writerow([_separated_cell(name, value) for name, value in cells])


def _separated_cell(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}" if name in ("p", "holm_p") else f"{value:.4f}"
    return str(value)


HEADINGS = ("mean", "difference", "95 % interval", "p", "Holm p", "W/T/L")
GAP = 2
"""Columns between two figures."""

MIN_LABEL = 12
"""Minimum width of a label; a longer label that does not fit gets a line of its own."""

WIDE = 90
"""Width from which headings are not shortened."""


def _print_tables(report: ComparisonReport, per_topic: bool) -> None:
    from itertools import groupby

    from hybridkg.results.formats.table import console_on

    width = console_on(sys.stdout).width
    for measure, comparisons in groupby(report.comparisons, key=lambda row: row.measure):
        _print_aligned([measure, *HEADINGS], list(_lines(report, list(comparisons))), width)
        echo("")
    _print_wrapped(report.method(), width)
    for (measure, run), rows in groupby(report.per_topic if per_topic else (), key=lambda row: (row.measure, row.run)):
        echo("")
        _print_wrapped(f"{measure} of {run} - {report.baseline}, largest gain first", width)
        lines = [
            (_printable(r.topic), [f"{r.baseline_value:.4f}", f"{r.value:.4f}", _signed(r.difference)]) for r in rows
        ]
        _print_aligned(["topic", "baseline", "run", "difference"], lines, width)


def _lines(report: ComparisonReport, comparisons: list[RunComparison]) -> Iterator[tuple[str, list[str]]]:
    """(label, figures); a group begins with its name, if there are several, and with the baseline."""
    several = len({c.group for c in comparisons}) > 1
    indent = "  " if several else ""
    group = None
    for c in comparisons:
        if c.group != group:
            group = c.group
            if several:
                yield f"{_printable(group)}, {c.topics:,} topic{'' if c.topics == 1 else 's'}", []
            yield indent + report.baseline, [f"{c.baseline_mean:.4f}"]
        interval = f"{_signed(c.low)} {_signed(c.high)}"
        counts = f"{c.wins}/{c.ties}/{c.losses}"
        yield indent + c.run, [f"{c.mean:.4f}", _signed(c.difference), interval, _p(c.p), _p(c.holm_p), counts]


def _print_aligned(headings: list[str], lines: list[tuple[str, list[str]]], width: int) -> None:
    """Prints labels left and figures right-aligned; if they do not fit, a block for each line."""
    from rich.cells import cell_len, set_cell_size

    first, *titles = headings
    titles = [title.replace("difference", "diff") for title in titles] if width < WIDE else titles
    columns = [max([len(title), *(len(f[i]) for _, f in lines if i < len(f))]) for i, title in enumerate(titles)]
    figures_width = sum(columns) + GAP * len(columns)
    longest = max(cell_len(label) for label in [first, *(label for label, f in lines if f)])
    room = min(longest, width - figures_width)
    if room < min(longest, MIN_LABEL):
        for label, figures in lines:
            echo(label)
            for title, figure in zip(titles, figures, strict=False):
                echo(f"    {title:<{max(map(len, titles))}}  {figure}")
        return
    for label, figures in [(first, titles), *lines]:
        cells = "".join(" " * GAP + f"{figure:>{column}}" for figure, column in zip(figures, columns, strict=False))
        if cell_len(label) <= room or not figures:
            echo((set_cell_size(label, room) if figures else label) + cells)
        else:
            echo(label)
            echo(" " * room + cells)


def _print_wrapped(text: str, width: int) -> None:
    import textwrap

    echo(textwrap.fill(text, width=width, break_long_words=False, break_on_hyphens=False))


def _signed(value: float) -> str:
    """Four digits with a sign, without one for a value that rounds to 0.

    >>> _signed(0.0154), _signed(-0.00001)
    ('+0.0154', '0.0000')
    """
    shown = f"{value:+.4f}"
    return shown if float(shown) else "0.0000"


def _p(value: float) -> str:
    """A p-value with four digits, never shown as 0.

    >>> _p(0.0461), _p(0.00001)
    ('0.0461', '<.0001')
    """
    return f"{value:.4f}" if value >= 0.00005 else "<.0001"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
