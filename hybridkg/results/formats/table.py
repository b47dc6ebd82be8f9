"""A table for people: fits the terminal, marks the words of snippets, rounds scores."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from hybridkg.rdf.order import NUMERIC
from hybridkg.rdf.terms import XSD_DOUBLE, BlankNode, Literal, NamedNode, Term
from hybridkg.results.numbers import as_float
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

CONTROL = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
CONTROL |= {9: " "}
"""Characters that could move a terminal's cursor, change its colours or turn the reading direction of what
follows; data must not."""

MIN_COLUMN = 6
"""Characters below which a column is not readable; a narrower value needs no more than its own width."""

BETWEEN_COLUMNS = 3


WIDTH = 80
"""Columns of a terminal that does not tell how many it has, or says 0."""


def is_plain(environment: Mapping[str, str]) -> bool:
    """Whether the user wants text alone: NO_COLOR (no-color.org), unless FORCE_COLOR says otherwise.

    What is bold goes as well: the terminal that cannot show colours may not show that either.

    >>> is_plain({"NO_COLOR": "1"}), is_plain({"NO_COLOR": ""}), is_plain({"NO_COLOR": "1", "FORCE_COLOR": "1"})
    (True, False, False)
    """
    return bool(environment.get("NO_COLOR")) and not environment.get("FORCE_COLOR")


def console_on(out: TextIO) -> Console:
    """A rich console on a stream; as wide as the terminal, or as $COLUMNS says where that is above 0."""
    from rich.console import Console

    console = Console(file=out, highlight=False, color_system=None if is_plain(os.environ) else "auto")
    if console.width < 1:
        console.width = WIDTH
    return console


def write_table(result: ResultSet, out: TextIO) -> None:
    """The rows as a table, as wide as the terminal (or $COLUMNS) allows; an ASK is `yes` or `no`.

    Where the columns do not fit beside each other, each row is a block of `?name  value` lines. The scores of
    MATCH and RANK BY, where they are doubles, are rounded to 4 places; every other value is as it is stored.
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
    """The columns that are scores of the result, or hold in every row the value that ranks it: RANK BY ?mass."""
    scores = {variable for variable, _ in result._scores}
    if result._ranked_by in result._variables:
        at = result._variables.index(result._ranked_by)
        scores |= {
            name for i, name in enumerate(result.columns) if all(cells[i] == cells[at] for cells in result.cells)
        }
    return scores


def _fits(columns: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> bool:
    """Whether every column can have MIN_COLUMN characters, or all that it needs."""
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
    for name in result.columns:
        table.add_column(f"?{name}", overflow="fold", justify="right" if _numeric(result, name) else "left")
    for row in rows:
        table.add_row(*(_Snippet(cell) if "**" in cell.plain else cell for cell in row))
    console.print(table)


@dataclass(frozen=True)
class _Snippet:
    """A cell whose `**marked**` words stay whole where they fit into the column."""

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
    """Where to end a line so that no mark is cut: rich cuts a word that is wider than the column just anywhere.

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
"""A marked word, or what stands between two."""


def _write_records(result: ResultSet, rows: Sequence[Sequence[Text]], console: Console) -> None:
    from rich.text import Text

    width = max(len(name) for name in result.columns) + 1
    for number, row in enumerate(rows):
        if number:
            console.print()
        for name, cell in zip(result.columns, row, strict=True):
            # Further lines of a value are indented, so that none looks like a variable of its own.
            for i, line in enumerate(cell.split("\n", allow_blank=True)):
                head = (f"{f'?{name}' if i == 0 else '':<{width}}  ", "bold")
                console.print(Text.assemble(head, line), soft_wrap=True)


def _numeric(result: ResultSet, name: str) -> bool:
    at = result.columns.index(name)
    cells = [cells[at] for cells in result.cells[:20] if cells[at] is not None]
    return bool(cells) and all(isinstance(c, Literal) and c.datatype.value in NUMERIC for c in cells)


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
            text = _marked(term.value.translate(CONTROL), colour=colour)
            return text.append(f" @{term.language}", style="dim") if term.language else text
    return Text(str(term).translate(CONTROL))


def _marked(text: str, *, colour: bool) -> Text:
    """Words between the `**` marks of a snippet in colour; without colour the marks stay."""
    from rich.text import Text

    parts = text.split("**")
    if not colour or len(parts) % 2 == 0:
        return Text(text)
    return Text.assemble(*((part, "bold yellow" if i % 2 else "") for i, part in enumerate(parts)))
