"""The text of a search for a terminal: a table, or where it is narrow a block of lines for each entity."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, TextIO

from hybridkg.results.formats.table import CONTROL, console_on, marked_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from hybridkg.kb.search.result import Facet, Hit, SearchResult

WIDE = 110
"""Columns of a terminal from which the hits are a table."""

MAX_TYPES = 3
MAX_REASONS = 3
MAX_VALUES = 8
"""Types and reasons of a hit, and values of a facet, that are shown."""

INDENT = 4
SEPARATOR = " ·"


def write_search(found: SearchResult, out: TextIO) -> None:
    """Writes the hits and the facets within the width of the terminal (or $COLUMNS)."""
    console = console_on(out)
    if found.hits:
        (_write_table if console.width >= WIDE else _write_blocks)(found, console)
    if found.facets:
        console.print()
    for facet in found.facets:
        for line in _facet_lines(facet, console.width):
            console.print(line, soft_wrap=True)
    if selectable := next((facet.ranges[0] for facet in found.facets if facet.ranges), None):
        console.print(_plain(f"one range: --where {shlex.quote(selectable.where)}", "dim"), soft_wrap=True)


def _write_table(found: SearchResult, console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("entity", overflow="fold", ratio=3)
    table.add_column("passage", overflow="fold", ratio=5)
    table.add_column("why", overflow="fold", ratio=2)
    colour = console.color_system is not None
    for hit in found.hits:
        entity = Text("\n").join([_plain(hit.label, "bold"), *_about(hit)])
        passage = marked_text(hit.passage.translate(CONTROL), colour=colour)
        table.add_row(Text(f"{hit.score:.4f}"), entity, passage, Text("\n".join(_reasons(hit))))
    console.print(table)


def _write_blocks(found: SearchResult, console: Console) -> None:
    from rich.text import Text

    colour = console.color_system is not None
    for number, hit in enumerate(found.hits, 1):
        if number > 1:
            console.print()
        console.print(Text.assemble(f"{number:>2}. ", _plain(hit.label, "bold"), f"  {hit.score:.4f}"))
        lines = _about(hit)
        if hit.passage:
            lines.append(marked_text(hit.passage.translate(CONTROL), colour=colour))
        if reasons := _reasons(hit):
            lines.append(_plain("; ".join(reasons), "dim"))
        for line in lines:
            for part in line.wrap(console, max(console.width - INDENT, 1), overflow="fold"):
                part.rstrip()
                console.print(Text.assemble(" " * INDENT, part), soft_wrap=True)


def _about(hit: Hit) -> list[Text]:
    """The types and the IRI of a hit, each on a line."""
    shown = list(hit.short_types[:MAX_TYPES])
    if len(hit.short_types) > MAX_TYPES:
        shown.append(f"{len(hit.short_types) - MAX_TYPES} more")
    types = [_plain(", ".join(shown), "dim")] if shown else []
    return [*types, _plain(hit.short_iri, "cyan")] if hit.short_iri != hit.label else types


def _reasons(hit: Hit) -> list[str]:
    return [str(reason).translate(CONTROL) for reason in hit.reasons[:MAX_REASONS]]


def _facet_lines(facet: Facet, width: int) -> list[Text]:
    """The values with their counts, in lines of at most `width` columns; no line ends between a value and its count."""
    from rich.cells import cell_len
    from rich.text import Text

    head = f"{facet.name} ({facet.entities:,}):".translate(CONTROL)
    counts, hidden = facet.counts[:MAX_VALUES], len(facet.counts) - MAX_VALUES
    shown = [(label.translate(CONTROL), f" {count:,}") for label, count in counts]
    shown += [(f"{hidden:,} more", "")] if hidden > 0 else []
    lines, room = [Text(head, style="bold")], width - cell_len(head)
    for number, (label, count) in enumerate(shown, 1):
        end = count + SEPARATOR * (number < len(shown))
        pieces = _pieces(label, end, room - 1, max(width - INDENT, 1))
        for place, piece in enumerate(pieces):
            if place == 0 and cell_len(piece) < room:
                lines[-1].append(f" {piece}", style="not bold")
                room -= cell_len(piece) + 1
            else:
                lines.append(Text(" " * INDENT + piece))
                room = width - INDENT - cell_len(piece)
    return lines


def _pieces(label: str, end: str, room: int, width: int) -> list[str]:
    """A label with its end, whole if it has room on this line or a whole line, else in pieces; the last has the end."""
    from rich.cells import cell_len, chop_cells

    if cell_len(label + end) <= max(room, width):
        return [label + end]
    *pieces, last = chop_cells(label, width)
    while cell_len(last + end) > width and len(last) > 1:
        first = chop_cells(last, max(width - cell_len(end), 1))[0]
        pieces, last = [*pieces, first], last[len(first) :]
    return [*pieces, last + end]


def _plain(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text.translate(CONTROL), style=style)
