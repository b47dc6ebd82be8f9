"""Whole queries and their solution modifiers (productions 1-30)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hybridkg.errors import QuerySyntaxError
from hybridkg.query import ast
from hybridkg.query.builders.ranking import RankingBuilders


class Queries(RankingBuilders):
    """From the prologue to the last VALUES."""

    def query_unit(self, c: list[Any], start: int, end: int) -> ast.Query:
        """A query; its prefixes have been read by now."""
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
        """`EXPLAIN [ANALYZE]`."""
        return "analyze" if len(c) == 2 else "plan"

    def declarations(self, c: list[Any], start: int, end: int) -> None:
        """BASE and PREFIX lines work by being read."""

    def query_body(self, c: list[Any], start: int, end: int) -> ast.QueryForm:
        """A query form with the VALUES behind it."""
        kind, parts = c[0]
        return kind(**parts, values=c[1], span=self.span(start, end))  # type: ignore[no-any-return]

    def values_clause(self, c: list[Any], start: int, end: int) -> ast.InlineData | None:
        """`VALUES ...` behind a query, or nothing."""
        return self.inline_data(c, start, end) if c else None

    # --- forms --------------------------------------------------------------------------

    def select_query(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        """SELECT."""
        return ast.SelectQuery, self._select(c[0], c[2], c[3]) | {"dataset": tuple(c[1])}

    def sub_select(self, c: list[Any], start: int, end: int) -> ast.SelectQuery:
        """SELECT inside a group."""
        return ast.SelectQuery(**self._select(c[0], c[1], c[2]), values=c[3], span=self.span(start, end))

    def _select(self, clause: Any, where: ast.Group, modifiers: ast.Modifiers) -> dict[str, Any]:
        reduction, projection = clause
        return {"projection": projection, "reduction": reduction, "where": where, "modifiers": modifiers}

    def select_all(self, c: list[Any], start: int, end: int) -> tuple[str, None]:
        """`SELECT *`."""
        return c[1], None

    def select_columns(self, c: list[Any], start: int, end: int) -> tuple[str, tuple[ast.SelectItem, ...]]:
        """`SELECT ?x (expression AS ?y)`."""
        return c[1], tuple(_distinct(c[2]))

    def reduction(self, c: list[Any], start: int, end: int) -> str:
        """`DISTINCT`, `REDUCED`, or nothing."""
        return c[0].text.upper() if c else ""

    def plain_projection(self, c: list[Any], start: int, end: int) -> ast.SelectItem:
        """`?x`."""
        return ast.SelectItem(c[0], span=self.span(start, end))

    def named_projection(self, c: list[Any], start: int, end: int) -> ast.SelectItem:
        """`(expression AS ?x)`."""
        return ast.SelectItem(c[3], c[1], span=self.span(start, end))

    def ask_query(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        """ASK."""
        return ast.AskQuery, {"dataset": tuple(c[1]), "where": c[2], "modifiers": c[3]}

    def construct_long(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        """`CONSTRUCT { template } WHERE { ... }`."""
        template = self._template(c[1])
        return ast.ConstructQuery, {"template": template, "dataset": tuple(c[2]), "where": c[3], "modifiers": c[4]}

    def construct_short(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        """`CONSTRUCT WHERE { template }`."""
        group: ast.Group = c[3]
        return ast.ConstructQuery, {
            "template": self._template(group),
            "dataset": tuple(c[1]),
            "where": group,
            "modifiers": c[4],
        }

    def template(self, c: list[Any], start: int, end: int) -> ast.Group:
        """The triples of a CONSTRUCT, in braces."""
        elements = () if c[1] is None else (c[1],)
        return ast.Group(elements, span=self.span(start, end))

    def _template(self, group: ast.Group) -> tuple[ast.TriplePattern, ...]:
        items = group.elements[0].items if group.elements else ()  # type: ignore[union-attr]
        for item in items:
            if isinstance(item, ast.Match | ast.Near):
                kind = type(item).__name__.upper()
                raise at_node(f"a {kind} cannot stand in the template of a CONSTRUCT", item)
            if not isinstance(item.predicate, ast.Var | ast.Iri):
                raise at_node("a property path cannot stand in the template of a CONSTRUCT", item.predicate)
        return tuple(items)

    def describe_all(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        """`DESCRIBE *`."""
        return ast.DescribeQuery, {"subjects": (), "dataset": tuple(c[2]), "where": c[3], "modifiers": c[4]}

    def describe_some(self, c: list[Any], start: int, end: int) -> tuple[Any, dict[str, Any]]:
        """`DESCRIBE ?x <iri>`."""
        return ast.DescribeQuery, {
            "subjects": tuple(dict.fromkeys(c[1])),
            "dataset": tuple(c[2]),
            "where": c[3],
            "modifiers": c[4],
        }

    def default_graph_clause(self, c: list[Any], start: int, end: int) -> ast.DatasetClause:
        """`FROM <iri>`."""
        return ast.DatasetClause(c[1], span=self.span(start, end))

    def named_graph_clause(self, c: list[Any], start: int, end: int) -> ast.DatasetClause:
        """`FROM NAMED <iri>`."""
        return ast.DatasetClause(c[2], named=True, span=self.span(start, end))

    def where_clause(self, c: list[Any], start: int, end: int) -> ast.Group:
        """A group, with WHERE before it or not."""
        return self.as_group(c[-1])

    def where_clause_opt(self, c: list[Any], start: int, end: int) -> ast.Group | None:
        """A group, or nothing."""
        return c[0] if c else None

    # --- solution modifiers -----------------------------------------------------------------

    def solution_modifier(self, c: list[Any], start: int, end: int) -> ast.Modifiers:
        """GROUP BY, HAVING, ORDER BY or RANK BY, RERANK, LIMIT and OFFSET."""
        group_by, having, ordering, rerank, (limit, offset) = c
        order = ordering if isinstance(ordering, tuple) else ()
        rank = ordering if isinstance(ordering, ast.RankBy) else None
        return ast.Modifiers(group_by, having, order, rank, limit, offset, rerank, span=self.span(start, end))

    def group_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.GroupKey, ...]:
        """`GROUP BY ...`, or nothing."""
        return tuple(c[2]) if c else ()

    def group_by_expression(self, c: list[Any], start: int, end: int) -> ast.GroupKey:
        """A variable or a call."""
        return ast.GroupKey(c[0], span=self.span(start, end))

    def group_by_bracketed(self, c: list[Any], start: int, end: int) -> ast.GroupKey:
        """`(expression)`."""
        return ast.GroupKey(c[1], span=self.span(start, end))

    def group_by_named(self, c: list[Any], start: int, end: int) -> ast.GroupKey:
        """`(expression AS ?x)`."""
        return ast.GroupKey(c[1], c[3], span=self.span(start, end))

    def having_clause(self, c: list[Any], start: int, end: int) -> tuple[ast.Expression, ...]:
        """`HAVING ...`, or nothing."""
        return tuple(c[1]) if c else ()

    def order_clause(self, c: list[Any], start: int, end: int) -> None:
        """Neither ORDER BY nor RANK BY."""

    def order_by(self, c: list[Any], start: int, end: int) -> tuple[ast.OrderKey, ...]:
        """`ORDER BY ...`."""
        return tuple(c[2])

    def ascending(self, c: list[Any], start: int, end: int) -> ast.OrderKey:
        """`ASC(expression)`."""
        return ast.OrderKey(c[1], span=self.span(start, end))

    def descending(self, c: list[Any], start: int, end: int) -> ast.OrderKey:
        """`DESC(expression)`."""
        return ast.OrderKey(c[1], descending=True, span=self.span(start, end))

    def order_by_value(self, c: list[Any], start: int, end: int) -> ast.OrderKey:
        """A variable, a call, or an expression in brackets."""
        return ast.OrderKey(c[0], span=self.span(start, end))

    def limit_offset(self, c: list[Any], start: int, end: int) -> tuple[int | None, int | None]:
        """LIMIT and OFFSET, in any order."""
        found = dict(c)
        return found.get("limit"), found.get("offset")

    def limit_clause(self, c: list[Any], start: int, end: int) -> tuple[str, int]:
        """`LIMIT n`."""
        return "limit", self.counted(c[1])

    def offset_clause(self, c: list[Any], start: int, end: int) -> tuple[str, int]:
        """`OFFSET n`."""
        return "offset", self.counted(c[1])


def _distinct(columns: list[ast.SelectItem]) -> Iterator[ast.SelectItem]:
    """`SELECT ?x ?x` has one column. A name given twice by AS stays, to be refused by the checks."""
    seen: set[str] = set()
    for column in columns:
        name = column.variable.name
        if column.expression is not None or name not in seen:
            yield column
        if column.expression is None:
            seen.add(name)


def at_node(message: str, node: ast.Syntax) -> Exception:
    """A syntax error at a node."""
    return QuerySyntaxError(message, span=node.span)
