"""The table form of a result for a terminal, with marked snippets and rounded scores."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from hybridkg.rdf.term_texts import tag_of
from hybridkg.rdf.terms import XSD_DOUBLE, BlankNode, Literal, NamedNode, Term, term_text
from hybridkg.results.numbers import as_float, is_numeric
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

CONTROL = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
CONTROL |= {9: " "}
"""Characters of the data that could move a terminal's cursor, change its colours or its reading direction."""

MIN_COLUMN = 6
"""Minimum width of a column, or the width of its values if they are narrower."""

BETWEEN_COLUMNS = 3

SAMPLE = 20
"""Rows that decide whether a column is numeric."""

WIDTH = 80
"""Width of a terminal that reports none, or 0."""


def is_plain(environment: Mapping[str, str]) -> bool:
    """Whether the environment asks for plain text, without colour and bold: NO_COLOR (no-color.org), no FORCE_COLOR.

    >>> is_plain({"NO_COLOR": "1"}), is_plain({"NO_COLOR": ""}), is_plain({"NO_COLOR": "1", "FORCE_COLOR": "1"})
    (True, False, False)
    """
    return bool(environment.get("NO_COLOR")) and not environment.get("FORCE_COLOR")


def console_on(out: TextIO) -> Console:
    """A rich console on a stream, with the width of the terminal or of a positive $COLUMNS."""
    from rich.console import Console

    console = Console(file=out, highlight=False, color_system=None if is_plain(os.environ) else "auto")
    if console.width < 1:
        console.width = WIDTH
    return console


def write_table(result: ResultSet, out: TextIO) -> None:
    """Writes the rows as a table within the width of the terminal (or $COLUMNS); an ASK is `yes` or `no`.

    If the columns do not fit, each row is a block of `?name  value` lines. Scores that are doubles are rounded to 4
    places; every other value is printed as stored.
    """
    console = console_on(out)
    if result.boolean is not None:
        console.print("yes" if result.boolean else "no")
        return
    if not result.columns:
        return
    scores = _score_columns(result)
    colour = console.color_system is not None
    rows = [
        [_cell(row.term(name), is_score=name in scores, colour=colour) for name in result.columns] for row in result
    ]
    write = _write_grid if _fits(result.columns, rows, console.width) else _write_records
    write(result, rows, console)


def _score_columns(result: ResultSet) -> set[str]:
    """The columns that are scores, or equal the ranking value in every row: RANK BY ?mass."""
    scores = {variable for variable, _ in result._scores}
    if result._ranked_by in result._variables:
        at = result._variables.index(result._ranked_by)
        scores |= {
            name for i, name in enumerate(result.columns) if all(cells[i] == cells[at] for cells in result.cells)
        }
    return scores


def _fits(columns: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> bool:
    """Whether every column can have MIN_COLUMN characters, or its full width."""
    from rich.cells import cell_len

    needed = [min(MIN_COLUMN, cell_len(name) + 1) for name in columns]
    for row in rows:
        needed = [
            have if have == MIN_COLUMN else max(have, min(MIN_COLUMN, cell_len(cell.plain)))
            for have, cell in zip(needed, row, strict=True)
        ]
    return sum(needed) + BETWEEN_COLUMNS * (len(columns) - 1) <= width


def _write_grid(result: ResultSet, rows: Sequence[Sequence[Text]], console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for at, name in enumerate(result.columns):
        right = is_numeric(cells[at] for cells in result.cells[:SAMPLE])
        table.add_column(f"?{name}", overflow="fold", justify="right" if right else "left")
    for row in rows:
        table.add_row(*(_Snippet(cell) if "**" in cell.plain else cell for cell in row))
    console.print(table)


@dataclass(frozen=True)
class _Snippet:
    """A cell whose `**marked**` words stay whole if they fit into the column."""

    text: Text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return self.text.__rich_measure__(console, options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        parts = self.text.divide(_breaks(self.text.plain, options.max_width))
        for part in parts:
            part.rstrip()
        yield Text("\n").join(parts)


def _breaks(text: str, width: int) -> list[int]:
    """Positions at which to end a line so that no mark is cut: rich cuts a word wider than the column at any place.

    >>> text = "a low-**resource** one"
    >>> [text[:at] for at in _breaks(text, 12)]
    ['a ', 'a low-']
    """
    from rich.cells import cell_len

    breaks: list[int] = []
    for word in re.finditer(r"\S+", text):
        if cell_len(word[0]) <= width or "**" not in word[0]:
            continue
        used = 0
        if word.start():
            breaks.append(word.start())
        for part in MARK.finditer(word[0]):
            needed = cell_len(part[0])
            if used and used + needed > width:
                breaks.append(word.start() + part.start())
                used = 0
            used = used + needed if needed <= width else needed % width
    return breaks


MARK = re.compile(r"\*\*[^*]+\*\*|(?:(?!\*\*[^*]+\*\*).)+")
"""A marked word, or the text between two of them."""


def _write_records(result: ResultSet, rows: Sequence[Sequence[Text]], console: Console) -> None:
    from rich.text import Text

    width = max(len(name) for name in result.columns) + 1
    for number, row in enumerate(rows):
        if number:
            console.print()
        for name, cell in zip(result.columns, row, strict=True):
            # Further lines of a value are indented, so that none looks like a variable.
            for i, line in enumerate(cell.split("\n", allow_blank=True)):
                head = (f"{f'?{name}' if i == 0 else '':<{width}}  ", "bold")
                console.print(Text.assemble(head, line), soft_wrap=True)


def _cell(term: Term | None, *, is_score: bool, colour: bool) -> Text:
    from rich.text import Text

    match term:
        case None:
            return Text("")
        case NamedNode():
            return Text(term.value.translate(CONTROL), style="cyan")
        case BlankNode():
            return Text(f"_:{term.value}", style="dim")
        case Literal():
            if is_score and term.datatype == XSD_DOUBLE and (score := as_float(term)) is not None:
                return Text(f"{score:.4f}")
            text = marked_text(term.value.translate(CONTROL), colour=colour)
            return text.append(f" {tag_of(term)}", style="dim") if term.language else text
    return Text(term_text(term).translate(CONTROL))


def marked_text(text: str, *, colour: bool) -> Text:
    """Colours the words between the `**` marks of a snippet; without colour the marks stay."""
    from rich.text import Text

    parts = text.split("**")
    if not colour or len(parts) % 2 == 0:
        return Text(text)
    return Text.assemble(*((part, "bold yellow" if i % 2 else "") for i, part in enumerate(parts)))
