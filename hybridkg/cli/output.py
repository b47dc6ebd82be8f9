"""Output of the commands: rows on stdout, everything else on stderr."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import echo, echo_error, echo_json
from hybridkg.errors import StorageError
from hybridkg.terminal_text import count_lines, for_whom, printable

if TYPE_CHECKING:
    from rich.table import Table

    from hybridkg.entities.profile.profile import Profile
    from hybridkg.kb import KnowledgeBase
    from hybridkg.results.result import ExplainedPlan, Result


def separated_writer(fmt: str) -> Any:
    """A csv.writer to stdout, for "csv" or "tsv"."""
    sys.stdout.flush()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # these formats define their encoding and line ends
    if fmt == "csv":
        return csv.writer(sys.stdout, lineterminator="\r\n")
    return csv.writer(sys.stdout, lineterminator="\n", delimiter="\t")


def print_result(result: Result, fmt: str, file: Path | None = None) -> None:
    """Writes the rows to a file or prints them, in a format; warnings and notes go to stderr.

    So does the number of rows of a table, and of a stream, which no format can have in front of the rows.

    Raises:
        StorageError: the file cannot be written.
    """
    is_counted = result.returned is not None
    if file is not None:
        result.write(file, fmt)
    elif result.explanation is not None and fmt in ("table", "json"):
        print_explanation(result.explanation, "json" if fmt == "json" else "text")
        return
    else:
        write_rows(result, fmt)
    for warning in result.warnings:
        echo_error(warning)
    print_stale(result.stale_indexes)
    for note in (*result.limits_reached, *result.reranked):
        echo(f"note: {note}", err=True)
    if result.boolean is None and (fmt == "table" or not is_counted):
        echo(summary(result), err=True)


def write_rows(result: Result, fmt: str) -> None:
    """Writes the rows to stdout in a format, and nothing else."""
    out = sys.stdout
    if fmt != "table" and hasattr(out, "reconfigure"):
        out.reconfigure(encoding="utf-8", newline="")  # these formats define their encoding and line ends
    result.write(out if fmt == "table" else for_whom(out), fmt)
    out.flush()


def summary(result: Result) -> str:
    """`10 rows, exact`, with the reason of a shortfall."""
    return f"{result.counted()}, {'exact' if result.exact else 'not exact'}"


def print_explanation(explanation: ExplainedPlan, fmt: str) -> None:
    """Prints the plan as text or JSON, on stdout, because it is the result."""
    if fmt == "json":
        echo_json(explanation.to_json())
        return
    # Of a pipe only the variable says how wide it is, as for the tables of rich.
    is_known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    echo(explanation.text(get_terminal_size().columns if is_known else None))


def print_lines(lines: Sequence[str]) -> None:
    """Prints the lines of a report on stderr."""
    for line in lines:
        echo(line, err=True)


def print_stats(stats: dict[str, Any]) -> None:
    """Prints the counts as a list, the fields as a table."""
    fields = stats.get("fields", [])
    for line in count_lines({name: value for name, value in stats.items() if name not in ("fields", "text")}):
        echo(line)
    for line in _engine_lines(stats.get("text", {})):
        echo(line)
    if not fields:
        return
    names = [name.replace("_", " ") for name in fields[0]]
    rows = [
        [f"{v:,.2f}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else str(v) for v in field.values()]
        for field in fields
    ]
    print_figures(names, rows, left=("field",))


def print_stale(indexes: Iterable[str]) -> None:
    """Prints a note for each index that is older than the graph."""
    for index in indexes:
        echo(f"note: the {index} index is older than the graph; renew it with: hybridkg index KB", err=True)


def print_stale_of(kb: KnowledgeBase) -> None:
    """As `print_stale`, for a command that reads the entities of the indexes and runs no query."""
    print_stale(kb.stats()["stale_indexes"])


def write_files(contents: Mapping[Path, str], folder: Path | None) -> None:
    """Writes texts, into a new `folder` if there is one.

    Raises:
        StorageError: a file cannot be written.
    """
    try:
        if folder is not None:
            folder.mkdir(exist_ok=True)
        for path, content in contents.items():
            path.write_text(content, encoding="utf-8")
    except OSError as e:
        raise StorageError(f"cannot write {str(e.filename)!r}: {e.strerror}") from e


def text_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Container[int], *, bottom: bool = False
) -> Table:
    """A rich table: numeric columns, by position, are right-aligned and never wrapped, the others are folded.

    With `bottom`, the figures are in the last line of a folded row.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, head in enumerate(heads):
        if i in numeric:
            table.add_column(Text(head), justify="right", no_wrap=True, vertical="bottom" if bottom else "top")
        else:
            table.add_column(Text(head), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))  # in a str, brackets would be markup
    return table


def print_figures(names: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] | None = None) -> None:
    """Prints a table that never cuts a figure: if it is too wide, each row is a block of lines.

    Columns in `left`, by default the first one, are left-aligned.
    """
    from rich.cells import cell_len

    from hybridkg.results.formats.table import BETWEEN_COLUMNS, console_on

    console = console_on(sys.stdout)
    columns = list(zip(names, *rows, strict=True))
    needed = sum(max(map(cell_len, column)) + BETWEEN_COLUMNS for column in columns) - BETWEEN_COLUMNS
    if needed > console.width:
        for row in rows:
            echo("")
            for name, value in zip(names, row, strict=True):
                echo(f"{name:<{max(map(len, names))}}  {value}")
        return
    echo("")
    console.print(text_table(names, rows, [i for i, name in enumerate(names) if name not in (left or names[:1])]))


def _engine_lines(about: dict[str, Any]) -> list[str]:
    if not about:
        return []
    details = {name: value for name, value in about.items() if name != "engine"}
    lines = [f"  {name.replace('_', ' ')}: {shown(name, value)}" for name, value in details.items()]
    return [f"text engine: {about.get('engine', 'unknown')}", *lines]


def shown(name: str, value: Any) -> str:
    """A value for people: bytes, by the name, in units, whole numbers in groups of three digits.

    >>> shown("bytes", 5_000_000), shown("documents", 1234), shown("alias", "films")
    ('4.8 MiB', '1,234', 'films')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("bytes"):
        return _size(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)


def _size(n: int) -> str:
    if n < 1024:
        return f"{n:,} bytes"
    power = min((n.bit_length() - 1) // 10, 3)
    return f"{n / 1024**power:,.1f} {('KiB', 'MiB', 'GiB')[power - 1]}"


def print_fields(profile: Profile) -> None:
    """Prints the fields of a profile."""
    for field in profile.fields:
        echo(f"{field.name:<16} weight {field.weight:g}  b {field.b:g}  analyzer {field.analyzer}")


class TerminalProgress:
    """A progress bar (interfaces/progress.py) on stderr with rate and ETA; silent without a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def start(self, label: str, total_bytes: int | None) -> None:
        """Begins a piece of work of `total_bytes` units (bytes of a file, or entities); None if unknown.

        Without a total there is no percentage and no ETA.
        """
        import os

        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        from hybridkg.results.formats.table import is_plain

        console = Console(stderr=True, color_system=None if is_plain(os.environ) else "auto")
        self._end()
        if not console.is_terminal:
            return
        context = click.get_current_context(silent=True)
        if context is not None:
            # A bar must end before the message of Ctrl-C: it would be drawn below it and hide the cursor.
            context.call_on_close(self._end)
        share, end = [TextColumn("{task.percentage:>3.0f}%")], [TextColumn("ETA"), TimeRemainingColumn()]
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            *(share if total_bytes else ()),
            TextColumn("{task.fields[items]:,} items, {task.fields[rate]:,.0f}/s"),
            TimeElapsedColumn(),
            *(end if total_bytes else ()),
            console=console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(escape(printable(label)), total=total_bytes or None, items=0, rate=0.0)

    def advance(self, bytes_read: int, items: int) -> None:
        """Adds completed work: units of the total, and items (triples, texts) for the rate."""
        if self._bar is None:
            return
        task = self._bar.tasks[0]
        done = task.fields["items"] + items
        rate = done / task.elapsed if task.elapsed else 0.0
        self._bar.update(self._task, advance=bytes_read, items=done, rate=rate)

    def done(self, items: int) -> None:
        """Ends the piece of work, with a full bar."""
        if self._bar is not None:
            total = self._bar.tasks[0].total or 1
            self._bar.update(self._task, total=total, completed=total, items=items)
            self._end()

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
