"""Builders of updates (productions 29-51)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from hybridkg.errors import Span
from hybridkg.query import ast
from hybridkg.query.builders.queries import Queries, template_triples
from hybridkg.query.ground_triples import GroundTriples
from hybridkg.query.lexer import Token

Block: TypeAlias = tuple[ast.Triples | None, ast.Var | ast.Iri | None, Span]
"""Triples of a template, their graph, and the place of the block."""


class Updates(Queries):
    """Builders of operations and of the templates of quads."""

    def update(self, c: list[Any], start: int, end: int) -> ast.Update:
        """An update, after its declarations."""
        return self._update(c[-1], "", start, end)

    def explained_update(self, c: list[Any], start: int, end: int) -> ast.Update:
        """`EXPLAIN` before or behind the declarations."""
        return self._update(c[-1], next(item for item in c if item), start, end)

    def _update(self, operations: list[ast.Operation], explain: str, start: int, end: int) -> ast.Update:
        prefixes = tuple(self.prefixes.items())
        return ast.Update(tuple(operations), explain, prefixes, span=self.span(start, end))

    def update_body(self, c: list[Any], start: int, end: int) -> list[ast.Operation]:
        """The operations; behind the last one a `;` and declarations may stand, which say nothing."""
        return c[0]  # type: ignore[no-any-return]

    # --- graphs ---------------------------------------------------------------------------

    def load(self, c: list[Any], start: int, end: int) -> ast.LoadFile:
        into = c[4] if len(c) > 3 else None
        return ast.LoadFile(c[2], into, c[1], span=self.span(start, end))

    def clear(self, c: list[Any], start: int, end: int) -> ast.ClearGraphs:
        return ast.ClearGraphs(c[2], silent=c[1], span=self.span(start, end))

    def drop(self, c: list[Any], start: int, end: int) -> ast.ClearGraphs:
        return ast.ClearGraphs(c[2], drop=True, silent=c[1], span=self.span(start, end))

    def create(self, c: list[Any], start: int, end: int) -> ast.CreateGraph:
        return ast.CreateGraph(c[2], silent=c[1], span=self.span(start, end))

    def copy_graph(self, c: list[Any], start: int, end: int) -> ast.CopyGraph:
        """ADD, MOVE or COPY."""
        kind = cast(Literal["ADD", "MOVE", "COPY"], c[0].text.upper())
        return ast.CopyGraph(kind, c[2], c[4], c[1], span=self.span(start, end))

    def graph_or_default(self, c: list[Any], start: int, end: int) -> ast.Iri | None:
        """The name of a graph; None is the default graph."""
        return None if isinstance(c[-1], Token) else c[-1]

    def graph_ref(self, c: list[Any], start: int, end: int) -> ast.Iri:
        return c[1]  # type: ignore[no-any-return]

    def graphs_by_word(self, c: list[Any], start: int, end: int) -> str:
        """DEFAULT, NAMED or ALL."""
        return str(c[0].text.upper())

    # --- quads ----------------------------------------------------------------------------

    def quads(self, c: list[Any], start: int, end: int) -> list[Block]:
        """Alternating triples blocks and GRAPH blocks."""
        blocks: list[Block] = [] if len(c) == 1 else c[0]
        if len(c) > 1:
            blocks.append(c[1])
        if c[-1] is not None:
            blocks.append((c[-1], None, c[-1].span))
        return blocks

    def quads_not_triples(self, c: list[Any], start: int, end: int) -> Block:
        """`GRAPH name { ... }`."""
        return c[3], c[1], self.span(start, end)

    def quads_in_braces(self, c: list[Any], start: int, end: int) -> list[Block]:
        return c[1]  # type: ignore[no-any-return]

    # --- operations -------------------------------------------------------------------------

    def insert_data(self, c: list[Any], start: int, end: int) -> ast.InsertData:
        return ast.InsertData(_quads(c[2], "INSERT DATA"), span=self.span(start, end))

    def delete_data(self, c: list[Any], start: int, end: int) -> ast.DeleteData:
        return ast.DeleteData(_quads(c[2], "DELETE DATA"), span=self.span(start, end))

    def delete_where(self, c: list[Any], start: int, end: int) -> ast.Modify:
        """A pattern that is the template as well."""
        delete = _quads(c[2], "DELETE WHERE")
        return ast.Modify(_pattern(delete), delete, is_short=True, span=self.span(start, end))

    def modification(self, c: list[Any], start: int, end: int) -> ast.Modify:
        (delete, insert), using, _, where, modifiers = c
        return ast.Modify(
            self.as_group(where), delete, insert, None, tuple(using), modifiers, span=self.span(start, end)
        )

    def modify_with(self, c: list[Any], start: int, end: int) -> ast.Modify:
        return replace(c[2], with_graph=c[1], span=self.span(start, end))  # type: ignore[no-any-return]

    def delete_template(self, c: list[Any], start: int, end: int) -> tuple[Any, Any]:
        """The templates of DELETE and INSERT."""
        return c[0], ()

    def insert_template(self, c: list[Any], start: int, end: int) -> tuple[Any, Any]:
        """As `delete_template`."""
        return (), c[0]

    def both_templates(self, c: list[Any], start: int, end: int) -> tuple[Any, Any]:
        """As `delete_template`."""
        return c[0], c[1]

    def delete_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.QuadTemplate, ...]:
        return _quads(c[1], "the template of DELETE")

    def insert_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.QuadTemplate, ...]:
        return _quads(c[1], "the template of INSERT")

    def update_modifier(self, c: list[Any], start: int, end: int) -> ast.Modifiers:
        """RANK BY or ORDER BY, LIMIT and OFFSET; neither groups nor RERANK."""
        ordering, limits = c
        return self.solution_modifier([(), (), ordering, None, limits], start, end)


def _quads(blocks: list[Block], place: str) -> tuple[ast.QuadTemplate, ...]:
    templates: list[ast.QuadTemplate] = []
    for triples, graph, span in blocks:
        items: Sequence[Any] = () if triples is None else triples.items
        ground = tuple(quad for item in items if isinstance(item, GroundTriples) for quad in item.quads)
        if ground:
            items = [item for item in items if not isinstance(item, GroundTriples)]
        templates.append(ast.QuadTemplate(template_triples(items, place), graph, ground, span=span))
    return tuple(templates)


def _pattern(quads: tuple[ast.QuadTemplate, ...]) -> ast.Group:
    """The group with the triples of a template."""
    elements: list[ast.Element] = []
    for block in quads:
        triples = ast.Triples(block.triples, span=block.span)
        if block.graph is None:
            elements.append(triples)
        else:
            inner = ast.Group((triples,) if block.triples else (), span=block.span)
            elements.append(ast.GraphPattern(block.graph, inner, span=block.span))
    return ast.Group(tuple(elements))
