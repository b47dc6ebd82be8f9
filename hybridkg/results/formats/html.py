"""The HTML form of a result, for notebooks; all data is escaped."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from hybridkg.rdf.term_texts import tag_of
from hybridkg.rdf.terms import XSD_DOUBLE, BlankNode, Literal, NamedNode, Term
from hybridkg.results.iri_names import IriNames
from hybridkg.results.numbers import as_float, is_number, is_numeric

if TYPE_CHECKING:
    from hybridkg.results.result_set import ResultSet

MAX_ROWS = 50
"""Rows shown; a notebook stores its output in its file."""

MAX_VALUE_LENGTH = 2_000
"""Characters shown of a value."""

RIGHT = ' style="text-align: right"'
LEFT = ' style="text-align: left"'
_LINK = re.compile(r"https?://[^\s\"'<>`\\\x00-\x20\x7f-\x9f]+", re.IGNORECASE)
"""The target of a link: no script, and no character that could end the attribute."""

_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Characters that change the reading direction of the text after them."""


def result_to_html(result: ResultSet) -> str:
    """A table of the first rows, and a line with the number of rows.

    IRIs are short, with the whole one as the title; web addresses are links. Words marked in a snippet are `<mark>`,
    numbers are right-aligned, scores are rounded to 4 places.
    """
    if result.boolean is not None:
        return f"<p>{'yes' if result.boolean else 'no'}</p>"
    scores = {*(variable for variable, _ in result._scores), *result._computed}
    names = result.iri_names()
    shown = result._solutions.part(0, MAX_ROWS).rows
    right = [is_numeric(cells[at] for cells in shown) for at in range(len(result.columns))]
    head = "".join(
        f"<th{RIGHT if is_right else LEFT}>?{escape(name)}</th>"
        for name, is_right in zip(result.columns, right, strict=True)
    )
    rows = []
    for cells in shown:
        columns = zip(result.columns, cells, right, strict=False)
        row = (
            f"<td{RIGHT if is_right else LEFT}>"
            + term_to_html(term, is_score=name in scores, is_snippet=name in result._snippets, names=names)
            + "</td>"
            for name, term, is_right in columns
        )
        rows.append(f"<tr>{''.join(row)}</tr>")
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody></table>"
    warnings = "".join(f"\n<pre>{escape(str(warning))}</pre>" for warning in result.warnings)
    return f"{table if result.columns else ''}\n<p>{escape(_about(result))}</p>{warnings}"


def term_to_html(
    term: Term | None, *, is_score: bool = False, is_snippet: bool = False, names: IriNames | None = None
) -> str:
    """The HTML of one value; the marks of a snippet become `<mark>`, and an IRI is shown by its name.

    >>> term_to_html(NamedNode("http://e/a?b&c"))
    '<a href="http://e/a?b&amp;c">http://e/a?b&amp;c</a>'
    >>> term_to_html(NamedNode("http://e/a"), names=IriNames({"e": "http://e/"}, {}))
    '<a href="http://e/a" title="http://e/a">e:a</a>'
    >>> term_to_html(NamedNode("javascript:alert(1)")), term_to_html(Literal("a **red** fish <"), is_snippet=True)
    ('javascript:alert(1)', 'a <mark>red</mark> fish &lt;')
    """
    names = IriNames({}, {}) if names is None else names
    match term:
        case None:
            return ""
        case NamedNode(value=iri):
            return link_to_html(iri, names(iri))
        case BlankNode():
            return _escaped(f"_:{term.value}")
        case Literal():
            if is_score and term.datatype == XSD_DOUBLE and (score := as_float(term)) is not None:
                return f"{score:.4f}"
            if is_number(term):
                return _escaped(term.value)
            return (_marked if is_snippet else _escaped)(term.value) + (
                f" <small>{escape(tag_of(term))}</small>" if term.language else ""
            )
    return _escaped(names.term(term))


def link_to_html(iri: str, text: str) -> str:
    """A link with a text and the IRI as its title; no link where the IRI is no web address.

    >>> print(link_to_html("http://e/a", "a & b"), link_to_html("javascript:alert(1)", "a"))
    <a href="http://e/a" title="http://e/a">a &amp; b</a> <span title="javascript:alert(1)">a</span>
    """
    title = "" if text == iri else f' title="{_escaped(iri)}"'
    if _LINK.fullmatch(iri) and iri.translate(_TURNS) == iri:
        return f'<a href="{escape(iri)}"{title}>{_escaped(text)}</a>'
    return f"<span{title}>{_escaped(text)}</span>" if title else _escaped(text)


def _escaped(text: str) -> str:
    text = text.translate(_TURNS)
    return escape(text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…")


def _marked(text: str) -> str:
    """Replaces pairs of the `**` marks of a snippet by `<mark>`; an unpaired mark stays."""
    parts = _escaped(text).split("**")
    if len(parts) % 2 == 0:
        return "**".join(parts)
    return "".join(f"<mark>{part}</mark>" if i % 2 else part for i, part in enumerate(parts))


def _about(result: ResultSet) -> str:
    hidden = result.returned - MAX_ROWS
    shown = [f"{hidden:,} more not shown"] if hidden > 0 else []
    parts = [result.counted(), *shown, "exact" if result.exact else "not exact"]
    parts += [f"the {index} index is older than the graph" for index in result.stale_indexes]
    return ", ".join([*parts, *result.limits_reached])
