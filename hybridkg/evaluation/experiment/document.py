"""A report as a document of headings, paragraphs, tables, code and figures, rendered as Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape as escaped


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the document's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class ReportTable:
    """A table of text; the first column is left-aligned, the others right-aligned.

    Args:
        left: indexes of further left-aligned columns.
        caption: an empty one gets no number.
        strong: (row, column) of the bold cells.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[int, ...] = ()
    caption: str = ""
    strong: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Picture:
    """A figure: a link to the file in Markdown, inline SVG in HTML."""

    file: str
    svg: str
    about: str


Part = Heading | Paragraph | ReportTable | Code | Picture


def numbered(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts with numbered captions of tables and figures.

    >>> tables = [ReportTable(("a",), (), caption="One."), ReportTable(("a",), (), caption="Two.")]
    >>> [part.caption for part in numbered(tables)]
    ['Table 1. One.', 'Table 2. Two.']
    """
    tables = figures = 0
    for part in parts:
        match part:
            case ReportTable() if part.caption:
                tables += 1
                yield replace(part, caption=f"Table {tables}. {part.caption}")
            case Picture():
                figures += 1
                yield replace(part, about=f"Figure {figures}. {part.about}")
            case _:
                yield part


def to_markdown(parts: Sequence[Part]) -> str:
    """The document in GitHub's Markdown."""
    return "\n\n".join(_markdown(part) for part in parts) + "\n"


def _markdown(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _paragraph(text)
        case Code(text):
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
            return f"{fence}\n{printable(text)}\n{fence}"
        case Picture(file, _, about):
            return f"![{_plain(about)}]({file.replace(' ', '%20')})\n\n{_paragraph(about)}"
        case ReportTable(head, rows, left):
            marks = ["---" if i == 0 or i in left else "--:" for i in range(len(head))]
            cells = [
                [_strong(_cell(cell), (i, j) in part.strong) for j, cell in enumerate(row)]
                for i, row in enumerate(rows)
            ]
            lines = [[_cell(cell) for cell in head], marks, *cells]
            table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
            return f"{_paragraph(part.caption)}\n\n{table}" if part.caption else table


MARKS = re.compile(r"[\\`*_<\[\]~$]|&(?=#?\w+;)")
"""Characters with a meaning anywhere in Markdown."""

FIRST_MARKS = re.compile(r"^(\d*)([-+>=#.)])")
"""Characters with a meaning at the beginning of a line."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _plain(text: str) -> str:
    """One line with Markdown and tags escaped.

    >>> print(_plain("a_b *c* <d>"))
    a\\_b \\*c\\* \\<d>
    """
    return MARKS.sub(r"\\\g<0>", printable(" ".join(text.split())))


def _paragraph(text: str) -> str:
    """Escaped text at the beginning of a line.

    >>> print(_paragraph("1. one"), _paragraph("- two"))
    1\\. one \\- two
    """
    return FIRST_MARKS.sub(r"\1\\\2", _plain(text))


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _strong(cell: str, strong: bool) -> str:
    return f"**{cell}**" if strong and cell else cell


def printable(text: str) -> str:
    """The text with control characters replaced, except line ends and tabs.

    >>> printable("a\\x1b[31m b") == "a\\ufffd[31m b"
    True
    """
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def to_html(title: str, parts: Sequence[Part]) -> str:
    """The document as one self-contained page; all text is escaped."""
    body = "\n".join(_html(part) for part in parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _escape(text: str) -> str:
    return escaped(printable(text))


def _html(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"<h{level}>{_escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_escape(text)}</p>"
        case Code(text):
            return f"<pre>{_escape(text)}</pre>"
        case Picture(_, svg, about):
            return f"<figure>{svg}<figcaption>{_escape(about)}</figcaption></figure>"
        case ReportTable(head, rows, left):
            sides = [' class="l"' if i == 0 or i in left else "" for i in range(len(head))]
            top = "".join(f"<th{side}>{_escape(cell)}</th>" for cell, side in zip(head, sides, strict=True))
            caption = f"<caption>{_escape(part.caption)}</caption>\n" if part.caption else ""
            lines = []
            for i, row in enumerate(rows):
                cells = [
                    f"<strong>{_escape(c)}</strong>" if (i, j) in part.strong else _escape(c) for j, c in enumerate(row)
                ]
                lines.append("".join(f"<td{side}>{cell}</td>" for side, cell in zip(sides, cells, strict=True)))
            body = "\n".join(f"<tr>{line}</tr>" for line in lines)
            return f'<div class="t"><table>\n{caption}<thead><tr>{top}</tr></thead>\n{body}\n</table></div>'


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem } h3 { font-size: 1rem }
.t { overflow-x: auto; margin: 1rem 0 } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th { border-bottom: 2px solid #888; vertical-align: bottom; white-space: normal }
.l { text-align: left; white-space: normal }
caption { text-align: left; color: #444; font-size: .9rem; padding-bottom: .4rem }
pre { background: #f5f5f2; padding: .7rem; overflow-x: auto; white-space: pre-wrap }
@media print { .t { overflow: visible; font-size: .75rem } th, td { padding: .15rem .35rem }
  tr, figure { break-inside: avoid } h2, h3, caption { break-after: avoid } }
figure { margin: 1rem 0 } figure svg { max-width: 100%; height: auto } figcaption { color: #666; font-size: .9rem }
"""
