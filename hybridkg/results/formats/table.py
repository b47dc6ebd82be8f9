"""The table form of a result for a terminal, with marked snippets and rounded scores."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from hybridkg.rdf.term_texts import tag_of
from hybridkg.rdf.terms import XSD_DOUBLE, BlankNode, Literal, NamedNode, Term
from hybridkg.results.iri_names import IriNames
from hybridkg.results.numbers import as_float, is_numeric
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

CONTROL = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
CONTROL |= {9: " "}
"""Characters of the data that could move a terminal's cursor, change its colours or its reading direction."""

BETWEEN_COLUMNS = 3

MIN_TEXT = 20
"""Minimum width of a column whose texts are wrapped, or that of its longest text if it is shorter."""

MAX_WORD = 30
"""Width up to which the longest word of a text is not broken."""

NARROW = 60
"""Width of a terminal below which nothing is wrapped in columns: each row is a block if the columns do not fit."""

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

    IRIs are short (`IriNames`) and never broken; texts are wrapped. If the columns do not fit readably, each row is a
    block of `?name  value` lines. Scores that are doubles are rounded to 4 places; every other value is printed as
    stored.
    """
    console = console_on(out)
    if result.boolean is not None:
        console.print("yes" if result.boolean else "no")
        return
    if not result.columns:
        return
    scores, names = _score_columns(result), result.iri_names()
    colour = console.color_system is not None
    rows = [
        [_cell(row.term(name), names, is_score=name in scores, colour=colour) for name in result.columns]
        for row in result
    ]
    widths = _widths(result.columns, rows, console.width)
    if widths is None:
        _write_records(result, rows, console)
    else:
        _write_grid(result, rows, widths, console)


def _score_columns(result: ResultSet) -> set[str]:
    """The columns that are scores, are computed from them, or equal the ranking value in every row: RANK BY ?mass."""
    scores = {*(variable for variable, _ in result._scores), *result._computed}
    if result._ranked_by in result._variables:
        at = result._variables.index(result._ranked_by)
        scores |= {
            name for i, name in enumerate(result.columns) if all(cells[i] == cells[at] for cells in result.cells)
        }
    return scores


def _widths(columns: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> list[int] | None:
    """The width of each column of a readable table; None where there is none."""
    from rich.cells import cell_len

    wide = [cell_len(name) + 1 for name in columns]
    least = list(wide)
    for row in rows:
        for at, cell in enumerate(row):
            wide[at] = max(wide[at], cell.width)
            least[at] = max(least[at], cell.least)
    room = width - BETWEEN_COLUMNS * (len(columns) - 1)
    if sum(wide) <= room:
        return wide
    if width < NARROW or sum(least) > room:
        return None
    return _shared_out(wide, least, room)


def _shared_out(wide: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths between `least` and `wide` that add up to `room`: narrow columns are as wide as they need.

    >>> _shared_out([10, 100, 60], [10, 20, 20], 100)
    [10, 45, 45]
    """

    def at_most(level: int) -> list[int]:
        return [max(low, min(high, level)) for low, high in zip(least, wide, strict=True)]

    level = bisect_right(range(max(wide) + 1), room, key=lambda level: sum(at_most(level))) - 1
    widths = at_most(max(level, 0))
    for at, high in enumerate(wide):
        widths[at] += widths[at] == level < high and sum(widths) < room
    return widths


def _write_grid(result: ResultSet, rows: Sequence[Sequence[Cell]], widths: Sequence[int], console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for at, (name, width) in enumerate(zip(result.columns, widths, strict=True)):
        right = is_numeric(cells[at] for cells in result.cells[:SAMPLE])
        table.add_column(f"?{name}", overflow="fold", justify="right" if right else "left", width=width)
    for row in rows:
        table.add_row(*(_Snippet(cell.text) if "**" in cell.text.plain else cell.text for cell in row))
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


def _write_records(result: ResultSet, rows: Sequence[Sequence[Cell]], console: Console) -> None:
    from rich.text import Text

    head = max(len(name) for name in result.columns) + 1
    for number, row in enumerate(rows):
        if number:
            console.print()
        for name, cell in zip(result.columns, row, strict=True):
            # Further lines of a value are indented, so that none looks like a variable.
            for i, line in enumerate(_lines(cell, console, console.width - head - 2)):
                label = (f"{f'?{name}' if i == 0 else '':<{head}}  ", "bold")
                console.print(Text.assemble(label, line), soft_wrap=True)


def _lines(cell: Cell, console: Console, width: int) -> list[Text]:
    """The lines of a value: a text is wrapped at words, anything else goes on over the edge of the terminal."""
    from rich.text import Text

    lines: list[Text] = []
    for line in cell.text.split("\n", allow_blank=True):
        if not cell.is_text or width < MIN_TEXT:
            lines.append(line)
            continue
        parts = line.divide(_breaks(line.plain, width)) if "**" in line.plain else [line]
        for part in parts:
            part.rstrip()
            lines += part.wrap(console, width, overflow="fold") or [Text("")]
    for line in lines:
        line.rstrip()
    return lines


@dataclass(frozen=True)
class Cell:
    """A value as it is shown; `is_text` says that it may be wrapped at its words."""

    text: Text
    is_text: bool = False

    @property
    def width(self) -> int:
        """Columns that its longest line takes."""
        from rich.cells import cell_len

        return max(map(cell_len, self.text.plain.split("\n")))

    @property
    def least(self) -> int:
        """Columns that it needs to be read."""
        width = self.width
        if not self.is_text or width <= MIN_TEXT:
            return width
        from rich.cells import cell_len

        longest = max(map(cell_len, self.text.plain.split()), default=0)
        return max(MIN_TEXT, min(longest, MAX_WORD))


def _cell(term: Term | None, names: IriNames, *, is_score: bool, colour: bool) -> Cell:
    from rich.text import Text

    match term:
        case None:
            return Cell(Text(""))
        case NamedNode(value=iri):
            return Cell(Text(names(iri).translate(CONTROL), style="cyan"), is_text=names.is_label(iri))
        case BlankNode():
            return Cell(Text(f"_:{term.value}", style="dim"))
        case Literal():
            if is_score and term.datatype == XSD_DOUBLE and (score := as_float(term)) is not None:
                return Cell(Text(f"{score:.4f}"))
            text = marked_text(term.value.translate(CONTROL), colour=colour)
            return Cell(text.append(f" {tag_of(term)}", style="dim") if term.language else text, is_text=True)
    return Cell(Text(names.term(term).translate(CONTROL)), is_text=True)


def marked_text(text: str, *, colour: bool) -> Text:
    """Colours the words between the `**` marks of a snippet; without colour the marks stay."""
    from rich.text import Text

    parts = text.split("**")
    if not colour or len(parts) % 2 == 0:
        return Text(text)
    return Text.assemble(*((part, "bold yellow" if i % 2 else "") for i, part in enumerate(parts)))
