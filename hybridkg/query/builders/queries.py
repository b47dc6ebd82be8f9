"""Builders of whole queries and their solution modifiers (productions 1-30)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hybridkg.errors import QuerySyntaxError
from hybridkg.query import ast
from hybridkg.query.builders.ranking import RankingBuilders


class Queries(RankingBuilders):
    """Builders from the prologue to the trailing VALUES."""

    def query_unit(self, c: list[Any], start: int, end: int) -> ast.Query:
        """A query, after its declarations."""
        return self._query(c[-1], "", start, end)

    def explained(self, c: list[Any], start: int, end: int) -> ast.Query:
        """`EXPLAIN`, declarations, query."""
        return self._query(c[-1], c[0], start, end)

    def explained_late(self, c: list[Any], start: int, end: int) -> ast.Query:
        """Declarations, `EXPLAIN`, query."""
        return self._query(c[-1], c[1], start, end)

    def _query(self, form: ast.QueryForm, explain: str, start: int, end: int) -> ast.Query:
        return ast.Query(form, explain, tuple(self.prefixes.items()), span=self.span(start, end))

    def explain(self, c: list[Any], start: int, end: int) -> str:
        return "analyze" if len(c) == 2 else "plan"

    def declarations(self, c: list[Any], start: int, end: int) -> None:
        """BASE and PREFIX lines take effect when they are read."""

    def query_body(self, c: list[Any], start: int, end: int) -> ast.QueryForm:
        """A query form with its trailing VALUES."""
        kind, parts = c[0]
        return kind(**parts, values=c[1], span=self.span(start, end))  # type: ignore[no-any-return]

    def values_clause(self, c: list[Any], start: int, end: int) -> ast.InlineData | None:
        return self.inline_data(c, start, end) if c else None

    def select_query(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        return ast.SelectQuery, self._select(c[0], c[2], c[3]) | {"dataset": tuple(c[1])}

    def sub_select(self, c: list[Any], start: int, end: int) -> ast.SelectQuery:
        return ast.SelectQuery(**self._select(c[0], c[1], c[2]), values=c[3], span=self.span(start, end))

    def _select(self, clause: Any, where: ast.Group, modifiers: ast.Modifiers) -> dict[str, Any]:
        reduction, projection = clause
        return {"projection": projection, "reduction": reduction, "where": where, "modifiers": modifiers}

    def select_all(self, c: list[Any], start: int, end: int) -> tuple[str, None]:
        return c[1], None

    def select_columns(self, c: list[Any], start: int, end: int) -> tuple[str, tuple[ast.SelectItem, ...]]:
        return c[1], tuple(_distinct(c[2]))

    def reduction(self, c: list[Any], start: int, end: int) -> str:
        return c[0].text.upper() if c else ""

    def plain_projection(self, c: list[Any], start: int, end: int) -> ast.SelectItem:
        return ast.SelectItem(c[0], span=self.span(start, end))

    def named_projection(self, c: list[Any], start: int, end: int) -> ast.SelectItem:
        return ast.SelectItem(c[3], c[1], span=self.span(start, end))

    def ask_query(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        return ast.AskQuery, {"dataset": tuple(c[1]), "where": c[2], "modifiers": c[3]}

    def construct_long(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        template = self._template(c[1])
        return ast.ConstructQuery, {"template": template, "dataset": tuple(c[2]), "where": c[3], "modifiers": c[4]}

    def construct_short(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        template = self._template(c[3])
        return ast.ConstructQuery, {"template": template, "dataset": tuple(c[1]), "where": c[3], "modifiers": c[4]}

    def template(self, c: list[Any], start: int, end: int) -> ast.Group:
        elements = () if c[1] is None else (c[1],)
        return ast.Group(elements, span=self.span(start, end))

    def _template(self, group: ast.Group) -> tuple[ast.TriplePattern, ...]:
        items = group.elements[0].items if group.elements else ()  # type: ignore[union-attr]
        return template_triples(items, "the template of a CONSTRUCT")

    def describe_all(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        return ast.DescribeQuery, {"subjects": (), "dataset": tuple(c[2]), "where": c[3], "modifiers": c[4]}

    def describe_some(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        subjects = tuple(dict.fromkeys(c[1]))
        return ast.DescribeQuery, {"subjects": subjects, "dataset": tuple(c[2]), "where": c[3], "modifiers": c[4]}

    def default_graph_clause(self, c: list[Any], start: int, end: int) -> ast.DatasetClause:
        return ast.DatasetClause(c[1], span=self.span(start, end))

    def named_graph_clause(self, c: list[Any], start: int, end: int) -> ast.DatasetClause:
        return ast.DatasetClause(c[2], named=True, span=self.span(start, end))

    def where_clause(self, c: list[Any], start: int, end: int) -> ast.Group:
        return self.as_group(c[-1])

    def solution_modifier(self, c: list[Any], start: int, end: int) -> ast.Modifiers:
        group_by, having, ordering, rerank, (limit, offset) = c
        order = ordering if isinstance(ordering, tuple) else ()
        rank = ordering if isinstance(ordering, ast.RankBy) else None
        return ast.Modifiers(group_by, having, order, rank, limit, offset, rerank, span=self.span(start, end))

    def group_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.GroupKey, ...]:
        return tuple(c[2]) if c else ()

    def group_by_expression(self, c: list[Any], start: int, end: int) -> ast.GroupKey:
        return ast.GroupKey(c[0], span=self.span(start, end))

    def group_by_bracketed(self, c: list[Any], start: int, end: int) -> ast.GroupKey:
        return ast.GroupKey(c[1], span=self.span(start, end))

    def group_by_named(self, c: list[Any], start: int, end: int) -> ast.GroupKey:
        return ast.GroupKey(c[1], c[3], span=self.span(start, end))

    def having_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.Expression, ...]:
        return tuple(c[1]) if c else ()

    def order_clause(self, c: list[Any], start: int, end: int) -> None:
        """Neither ORDER BY nor RANK BY."""

    def order_by(self, c: list[Any], start: int, end: int) -> tuple[ast.OrderKey, ...]:
        return tuple(c[2])

    def ascending(self, c: list[Any], start: int, end: int) -> ast.OrderKey:
        return ast.OrderKey(c[1], span=self.span(start, end))

    def descending(self, c: list[Any], start: int, end: int) -> ast.OrderKey:
        return ast.OrderKey(c[1], descending=True, span=self.span(start, end))

    def order_by_value(self, c: list[Any], start: int, end: int) -> ast.OrderKey:
        return ast.OrderKey(c[0], span=self.span(start, end))

    def limit_offset(self, c: list[Any], start: int, end: int) -> tuple[int | None, int | None]:
        clauses = dict(c)
        return clauses.get("limit"), clauses.get("offset")

    def limit_clause(self, c: list[Any], start: int, end: int) -> tuple[str, int]:
        return "limit", self.counted(c[1])

    def offset_clause(self, c: list[Any], start: int, end: int) -> tuple[str, int]:
        return "offset", self.counted(c[1])


def _distinct(columns: list[ast.SelectItem]) -> Iterator[ast.SelectItem]:
    """`SELECT ?x ?x` has one column. A duplicate name after AS stays, because the checks refuse it."""
    seen: set[str] = set()
    for column in columns:
        name = column.variable.name
        if column.expression is not None or name not in seen:
            yield column
        if column.expression is None:
            seen.add(name)


def template_triples(items: Iterable[ast.TriplePattern | ast.RankedItem], place: str) -> tuple[ast.TriplePattern, ...]:
    """The triples of a template, which makes triples and searches for nothing.

    Raises:
        QuerySyntaxError: a ranked predicate or a property path is among them.
    """
    triples: list[ast.TriplePattern] = []
    for item in items:
        if isinstance(item, ast.Match | ast.Near):
            kind = type(item).__name__.upper()
            raise at_node(f"a {kind} cannot stand in {place}", item, f"write the {kind} in WHERE")
        if not isinstance(item.predicate, ast.Var | ast.Iri):
            hint = "write an IRI or a variable; WHERE may have paths"
            raise at_node(f"a property path cannot stand in {place}", item.predicate, hint)
        triples.append(item)
    return tuple(triples)


def at_node(message: str, node: ast.Syntax, hint: str = "") -> Exception:
    return QuerySyntaxError(message, hint=hint, span=node.span)
