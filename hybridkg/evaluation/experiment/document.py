"""A report as a document: headings, paragraphs, tables, code and figures, which Markdown and HTML print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as escaped


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is that of the document."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Table:
    """Cells of text; the first column stands left, the others right unless `left` says so.

    Args:
        head: names of the columns.
        rows: of as many cells.
        left: further columns that stand left, by their places.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[int, ...] = ()


@dataclass(frozen=True)
class Code:
    """Text as it was written."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A figure; the file is named in Markdown, the SVG stands in HTML."""

    file: str
    svg: str
    about: str


Part = Heading | Paragraph | Table | Code | Picture


def to_markdown(parts: Sequence[Part]) -> str:
    """The document in Markdown (tables as GitHub has them)."""
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
            return f"![{_plain(about)}]({file.replace(' ', '%20')})"
        case Table(head, rows, left):
            marks = ["---" if i == 0 or i in left else "--:" for i in range(len(head))]
            lines = [head, tuple(marks), *rows]
            return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


MARKS = re.compile(r"[\\`*_<\[\]~$]|&(?=#?\w+;)")
"""What means something to Markdown wherever it stands."""

FIRST_MARKS = re.compile(r"^(\d*)([-+>=#.)])")
"""What means something to it at the beginning of a line."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _plain(text: str) -> str:
    """One line in which nothing is a mark of Markdown or a tag.

    >>> print(_plain("a_b *c* <d>"))
    a\\_b \\*c\\* \\<d>
    """
    return MARKS.sub(r"\\\g<0>", printable(" ".join(text.split())))


def _paragraph(text: str) -> str:
    """The same, where a line begins.

    >>> print(_paragraph("1. one"), _paragraph("- two"))
    1\\. one \\- two
    """
    return FIRST_MARKS.sub(r"\1\\\2", _plain(text))


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def printable(text: str) -> str:
    """The text without what a terminal would take as a command; line ends and tabs stay.

    >>> printable("a\\x1b[31m b") == "a\\ufffd[31m b"
    True
    """
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def to_html(title: str, parts: Sequence[Part]) -> str:
    """The document as one page that needs nothing else; everything that comes from data is escaped."""
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
        case Table(head, rows, left):
            sides = [' class="l"' if i == 0 or i in left else "" for i in range(len(head))]
            top = "".join(f"<th{side}>{_escape(cell)}</th>" for cell, side in zip(head, sides, strict=True))
            lines = (
                "<tr>" + "".join(f"<td{s}>{_escape(cell)}</td>" for cell, s in zip(row, sides, strict=True)) + "</tr>"
                for row in rows
            )
            return f'<div class="t"><table>\n<tr>{top}</tr>\n' + "\n".join(lines) + "\n</table></div>"


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem } h3 { font-size: 1rem }
.t { overflow-x: auto; margin: 1rem 0 } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th { border-bottom: 2px solid #888 } .l { text-align: left; white-space: normal }
pre { background: #f5f5f2; padding: .7rem; overflow-x: auto; white-space: pre-wrap }
@media print { .t { overflow: visible; font-size: .8rem } tr, figure { break-inside: avoid } }
figure { margin: 1rem 0 } figure svg { max-width: 100%; height: auto } figcaption { color: #666; font-size: .9rem }
"""
