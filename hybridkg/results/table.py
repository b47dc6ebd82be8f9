"""A table for people: fits the terminal, shortens IRIs, rounds scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from hybridkg.rdf.terms import XSD_DOUBLE, BlankNode, Literal, NamedNode, Term
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from rich.text import Text

CONTROL = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160))) | {9: " "}
"""Characters that could move a terminal's cursor or change its colours; data must not."""


def write_table(result: ResultSet, out: TextIO) -> None:
    """The rows as a table, as wide as the terminal (or $COLUMNS) allows; an ASK is `yes` or `no`."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(file=out, highlight=False, soft_wrap=False)
    if result.boolean is not None:
        console.print("yes" if result.boolean else "no")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in result.columns:
        table.add_column(f"?{name}", overflow="fold", justify="right" if _numeric(result, name) else "left")
    for row in result:
        table.add_row(*(_cell(row.term(name), colour=console.color_system is not None) for name in result.columns))
    if result.columns:
        console.print(table)


def _numeric(result: ResultSet, name: str) -> bool:
    at = result.columns.index(name)
    cells = [cells[at] for cells in result.cells[:20] if cells[at] is not None]
    return bool(cells) and all(isinstance(c, Literal) and _is_number(c) for c in cells)


def _is_number(literal: Literal) -> bool:
    from hybridkg.order import NUMERIC

    return literal.datatype.value in NUMERIC


def _cell(term: Term | None, *, colour: bool) -> Text:
    from rich.text import Text

    match term:
        case None:
            return Text("")
        case NamedNode():
            return Text(term.value.translate(CONTROL), style="cyan")
        case BlankNode():
            return Text(f"_:{term.value}", style="dim")
        case Literal():
            if term.datatype == XSD_DOUBLE:
                return Text(_rounded(term.value))
            text = _marked(term.value.translate(CONTROL), colour=colour)
            return text.append(f" @{term.language}", style="dim") if term.language else text
    return Text(str(term))


def _rounded(text: str) -> str:
    try:
        return f"{float(text):.4f}"
    except ValueError:
        return text


def _marked(text: str, *, colour: bool) -> Text:
    """Words between the `**` marks of a snippet in colour; without colour the marks stay."""
    from rich.text import Text

    parts = text.split("**")
    if not colour or len(parts) % 2 == 0:
        return Text(text)
    return Text.assemble(*((part, "bold yellow" if i % 2 else "") for i, part in enumerate(parts)))
