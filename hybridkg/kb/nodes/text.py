"""The text of a node for a terminal: one line for each text and each relation, wrapped within its width."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from hybridkg.results.formats.table import CONTROL, console_on

if TYPE_CHECKING:
    from hybridkg.kb.nodes.node_view import NodeRelation, NodeText, NodeView
    from hybridkg.kb.nodes.paths import NodePaths

MAX_SHOWN = 300
"""Characters of a text; JSON has all."""

BETWEEN = " · "

INDENT = 4


def write_node(view: NodeView, out: TextIO) -> None:
    """Writes a node within the width of the terminal (or $COLUMNS)."""
    from rich.text import Text

    console = console_on(out)
    for number, line in enumerate(node_lines(view)):
        text = Text(line.translate(CONTROL), style="bold" if number == 0 else "")
        for place, part in enumerate(text.wrap(console, max(console.width - INDENT, 1), overflow="fold")):
            part.rstrip()
            console.print(Text.assemble(" " * INDENT * (place > 0), part), soft_wrap=True)


def node_lines(view: NodeView) -> list[str]:
    """The lines without a width: label, types and IRI, texts, relations, those of the other direction behind `^`."""
    lines = [view.label or view.iri]
    if view.short_types:
        lines.append(", ".join(view.short_types))
    if view.label:
        lines.append(view.iri)
    for texts in map(_text_lines, view.texts):
        lines += texts
    lines += [_relation_line("", one) for one in view.outgoing]
    lines += [_relation_line("^", one) for one in view.incoming]
    if view.hidden:
        lines.append(f"{view.hidden:,} more predicates")
    if view.paths is not None:
        lines += _path_lines(view.paths)
    return lines


def _text_lines(group: NodeText) -> list[str]:
    lines = [f"{group.name}: {_cut(text)}" for text in group.texts]
    more = group.count - len(group.texts)
    return [*lines, f"{group.name}: {more:,} more"] if more else lines


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}… ({len(text):,} characters)"


def _relation_line(mark: str, relation: NodeRelation) -> str:
    shown = [_cut(one.label) for one in relation.neighbours]
    if (more := relation.count - len(shown)) > 0:
        shown.append(f"{more:,} more")
    return f"{mark}{relation.name} ({relation.count:,}): {BETWEEN.join(shown)}"


def _path_lines(found: NodePaths) -> list[str]:
    count = f"{found.count:,}" if found.is_complete else f"at least {found.count:,}"
    lines = [f"paths {found.steps} ({count}):"]
    lines += ["  " + " > ".join(_cut(label) for _, label in path) for path in found.paths]
    if (more := found.count - len(found.paths)) > 0:
        lines.append(f"  {more:,} more")
    return lines
