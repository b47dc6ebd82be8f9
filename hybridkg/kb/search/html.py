"""The HTML of a search, for notebooks; all data is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from hybridkg.kb.search.text import MAX_REASONS, MAX_TYPES, MAX_VALUES
from hybridkg.rdf.terms import Literal, NamedNode
from hybridkg.results.formats.html import LEFT, MAX_ROWS, RIGHT, link_to_html, term_to_html

if TYPE_CHECKING:
    from hybridkg.kb.search.result import Hit, SearchResult

_HEAD = "".join(
    f"<th{RIGHT if name == 'score' else LEFT}>{name}</th>" for name in ("score", "entity", "passage", "why")
)


def search_to_html(found: SearchResult) -> str:
    """A table of the hits, a line for each facet, and the query."""
    rows = "\n".join(map(_row, found.hits[:MAX_ROWS]))
    table = f"<table><thead><tr>{_HEAD}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>\n" if found.hits else ""
    hidden = len(found) - MAX_ROWS
    shown = f", of which the first {MAX_ROWS} are shown" if hidden > 0 else ""
    lines = [f"<p>{escape(found.summary + shown)}</p>"]
    lines += [f"<p>{escape(line)}</p>" for line in found.notes]
    for facet in found.facets:
        values = " · ".join(f"{_text(label)} <small>{count:,}</small>" for label, count in facet.counts[:MAX_VALUES])
        more = len(facet.counts) - MAX_VALUES
        lines.append(f"<p><b>{_text(facet.name)}</b>: {values}{f' · {more:,} more' if more > 0 else ''}</p>")
    lines += [f"<pre>{escape(str(warning))}</pre>" for warning in found.result.warnings]
    lines.append(f"<details><summary>query</summary><pre>{escape(found.query)}</pre></details>")
    return table + "\n".join(lines)


def _row(hit: Hit) -> str:
    entity = hit.entity
    name = link_to_html(entity.value, hit.label) if isinstance(entity, NamedNode) else _text(hit.label)
    types = ", ".join(hit.short_types[:MAX_TYPES])
    cells = (
        (RIGHT, f"{hit.score:.4f}"),
        (LEFT, f"{name}<br><small>{_text(types)}</small>" if types else name),
        (LEFT, term_to_html(Literal(hit.passage), is_snippet=True)),
        (LEFT, "<br>".join(_text(str(reason)) for reason in hit.reasons[:MAX_REASONS])),
    )
    return f"<tr>{''.join(f'<td{style}>{cell}</td>' for style, cell in cells)}</tr>"


def _text(text: str) -> str:
    return term_to_html(Literal(text))
