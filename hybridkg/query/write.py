"""Serialiser of syntax trees to canonical text: `parse(write(q)) == q`; Oxigraph receives no other text.

IRIs are written out, parentheses are minimal, and every name and literal is checked or escaped, so a value can never
become syntax. A query without ranked parts is plain SPARQL 1.1, or 1.2 where it has triple terms or base directions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hybridkg.query import ast
from hybridkg.query.write_expressions import ExpressionWriter


def write(node: ast.Syntax, *, prefixes: Mapping[str, str] | None = None) -> str:
    """The canonical text of a node, without a newline at its end.

    Args:
        node: a query, a query form, a group or an element of one.
        prefixes: names of namespaces, to shorten IRIs for display; a whole query then declares those it uses.

    Raises:
        QueryCheckError: a tree that the parser did not build has a name or an IRI that cannot be written.

    >>> write(ast.Binary("*", ast.Binary("+", ast.Var("a"), ast.Var("b")), ast.Lit("say \\"hi\\"")))
    '(?a + ?b) * "say \\\\"hi\\\\""'
    """
    writer = _Writer(prefixes or {})
    if isinstance(node, ast.Query):
        head = {"": [], "plan": ["EXPLAIN"], "analyze": ["EXPLAIN ANALYZE"]}[node.explain]
        writer.node(node.form)
        return "\n".join([*head, *writer.declarations(), writer.text()])
    writer.node(node)
    if isinstance(node, ast.SelectQuery | ast.AskQuery | ast.ConstructQuery | ast.DescribeQuery):
        return "\n".join([*writer.declarations(), writer.text()])
    return writer.text().removeprefix("\n")


class _Writer(ExpressionWriter):
    """Writer of queries and patterns; it appends to one list of strings, so the work is linear in the text."""

    def group(self, group: ast.Group) -> None:
        """`{ ... }`, one element a line, without a newline at the end."""
        if not group.elements:
            self.add("{}")
            return
        self.add("{")
        self.indent += 1
        for element in group.elements:
            self.element(element)
        self.indent -= 1
        self.line("}")

    def element(self, element: ast.Element) -> None:
        """An element on lines of its own."""
        if isinstance(element, ast.Triples):
            self.items(element.items)
            return
        self.line("")
        self.node(element)

    def items(self, items: tuple[ast.TriplePattern | ast.RankedItem, ...]) -> None:
        """One predicate, ranked or not, a line. A repeated subject or predicate is written once: as many triples as the
        text has could share one that is as long as the text.
        """
        last: ast.TriplePattern | None = None
        for i, item in enumerate(items):
            triple = item if isinstance(item, ast.TriplePattern) else None
            if last is None or triple is None or triple.subject != last.subject:
                if i:
                    self.add(" .")
                self.line("")
                self.node(item)
            elif triple.predicate != last.predicate:
                self.add(" ;")
                self.line("  ")
                self.predicate(triple.predicate)
                self.add(" ")
                self.term(triple.object)
            else:
                self.add(", ")
                self.term(triple.object)
            last = triple
        if items:
            self.add(" .")

    def triples(self, triples: ast.Triples) -> None:
        self.items(triples.items)

    def optional(self, node: ast.OptionalPattern) -> None:
        self.add("OPTIONAL ")
        self.group(node.pattern)

    def minus(self, node: ast.MinusPattern) -> None:
        self.add("MINUS ")
        self.group(node.pattern)

    def union(self, node: ast.UnionPattern) -> None:
        for i, branch in enumerate(node.branches):
            self.add(" UNION " if i else "")
            self.group(branch)

    def graph(self, node: ast.GraphPattern) -> None:
        self.add("GRAPH ")
        self.term(node.name)
        self.add(" ")
        self.group(node.pattern)

    def service(self, node: ast.ServicePattern) -> None:
        self.add("SERVICE SILENT " if node.silent else "SERVICE ")
        self.term(node.endpoint)
        self.add(" ")
        self.group(node.pattern)

    def filter(self, node: ast.Filter) -> None:
        if isinstance(node.condition, ast.Exists):
            self.add("FILTER ")
            self.expression(node.condition)
        else:
            self.add("FILTER")
            self.bracketed(node.condition)

    def bind(self, node: ast.Bind) -> None:
        self.add("BIND")
        self.named(node.expression, node.variable)

    def inline_data(self, node: ast.InlineData) -> None:
        """VALUES; one variable on one line, several variables with one row a line."""
        if len(node.variables) == 1:
            self.add("VALUES ")
            self.term(node.variables[0])
            self.add(" {")
            for row in node.rows:
                self.add(" ")
                self.cell(row[0])
            self.add(" }" if node.rows else "}")
            return
        self.add("VALUES (")
        self.separated(node.variables, " ")
        self.add(") {")
        self.indent += 1
        for row in node.rows:
            self.line("(")
            for i, value in enumerate(row):
                self.add(" " if i else "")
                self.cell(value)
            self.add(")")
        self.indent -= 1
        self.closing(node.rows)

    def closing(self, contents: tuple[object, ...]) -> None:
        """The closing brace, on its own line unless the braces are empty."""
        if contents:
            self.line("}")
        else:
            self.add("}")

    def cell(self, value: ast.Iri | ast.Lit | ast.TripleTerm | None) -> None:
        if value is None:
            self.add("UNDEF")
        else:
            self.term(value)

    def sub_select(self, node: ast.SubSelect) -> None:
        self.add("{")
        self.indent += 1
        self.line("")
        self.node(node.query)
        self.indent -= 1
        self.line("}")

    def select(self, query: ast.SelectQuery) -> None:
        self.add(f"SELECT {query.reduction} " if query.reduction else "SELECT ")
        if query.projection is None:
            self.add("*")
        else:
            self.separated(query.projection, " ")
        self.rest(query)

    def ask(self, query: ast.AskQuery) -> None:
        self.add("ASK")
        self.rest(query)

    def construct(self, query: ast.ConstructQuery) -> None:
        """CONSTRUCT, always with its template."""
        self.add("CONSTRUCT {")
        self.indent += 1
        self.items(query.template)
        self.indent -= 1
        self.closing(query.template)
        self.rest(query)

    def describe(self, query: ast.DescribeQuery) -> None:
        self.add("DESCRIBE ")
        if query.subjects:
            self.separated(query.subjects, " ")
        else:
            self.add("*")
        self.rest(query)

    def rest(self, query: ast.QueryForm) -> None:
        """Dataset, WHERE, solution modifiers and VALUES."""
        for clause in query.dataset:
            self.line("")
            self.node(clause)
        if query.where is not None:
            self.line("WHERE ")
            self.group(query.where)
        self.modifiers(query.modifiers)
        if query.values is not None:
            self.line("")
            self.inline_data(query.values)

    def dataset_clause(self, clause: ast.DatasetClause) -> None:
        self.add("FROM NAMED " if clause.named else "FROM ")
        self.term(clause.graph)

    def modifiers(self, modifiers: ast.Modifiers) -> None:
        if modifiers.group_by:
            self.line("GROUP BY ")
            self.separated(modifiers.group_by, " ")
        if modifiers.having:
            self.line("HAVING")
            for condition in modifiers.having:
                self.add(" ")
                self.bracketed(condition)
        if modifiers.order_by:
            self.line("ORDER BY ")
            self.separated(modifiers.order_by, " ")
        for ranking in (modifiers.rank_by, modifiers.rerank):
            if ranking is not None:
                self.line("")
                self.node(ranking)
        if modifiers.limit is not None:
            self.line(f"LIMIT {int(modifiers.limit)}")
        if modifiers.offset is not None:
            self.line(f"OFFSET {int(modifiers.offset)}")

    def projection(self, item: ast.SelectItem) -> None:
        if item.expression is None:
            self.term(item.variable)
        else:
            self.named(item.expression, item.variable)

    def group_key(self, key: ast.GroupKey) -> None:
        if key.variable is not None:
            self.named(key.expression, key.variable)
        elif isinstance(key.expression, ast.Var):
            self.term(key.expression)
        else:
            self.bracketed(key.expression)

    def order_key(self, key: ast.OrderKey) -> None:
        if isinstance(key.expression, ast.Var) and not key.descending:
            self.term(key.expression)
        else:
            self.add("DESC" if key.descending else "ASC")
            self.bracketed(key.expression)

    def rank_by(self, rank: ast.RankBy) -> None:
        self.add("RANK BY ")
        self.expression(rank.expression)
        self.as_variable("AS", rank.score)

    def rerank(self, node: ast.Rerank) -> None:
        self.add(f"RERANK TOP {int(node.top)} USING ")
        self.model(node.reranker)
        self.as_variable("ON", node.on)
        self.as_variable("AS", node.score)

    def node(self, node: Any) -> None:
        method = _METHODS.get(type(node))
        if method is None:
            self.expression(node)
        else:
            method(self, node)


_METHODS: dict[type[ast.Syntax], Callable[[_Writer, Any], None]] = {
    ast.AskQuery: _Writer.ask,
    ast.Bind: _Writer.bind,
    ast.Blank: _Writer.term,
    ast.ConstructQuery: _Writer.construct,
    ast.DatasetClause: _Writer.dataset_clause,
    ast.DescribeQuery: _Writer.describe,
    ast.Filter: _Writer.filter,
    ast.GraphPattern: _Writer.graph,
    ast.Group: _Writer.group,
    ast.GroupKey: _Writer.group_key,
    ast.InlineData: _Writer.inline_data,
    ast.Match: _Writer.match,
    ast.MinusPattern: _Writer.minus,
    ast.Model: _Writer.model,
    ast.Modifiers: _Writer.modifiers,
    ast.NamedArgument: _Writer.argument,
    ast.Near: _Writer.near,
    ast.OnField: _Writer.on_field,
    ast.OptionalPattern: _Writer.optional,
    ast.OrderKey: _Writer.order_key,
    ast.PathAlternative: _Writer.path,
    ast.PathInverse: _Writer.path,
    ast.PathNegated: _Writer.path,
    ast.PathRepeat: _Writer.path,
    ast.PathSequence: _Writer.path,
    ast.SelectItem: _Writer.projection,
    ast.RankBy: _Writer.rank_by,
    ast.Rerank: _Writer.rerank,
    ast.SelectQuery: _Writer.select,
    ast.ServicePattern: _Writer.service,
    ast.SubSelect: _Writer.sub_select,
    ast.TriplePattern: _Writer.triple,
    ast.TripleTerm: _Writer.term,
    ast.Triples: _Writer.triples,
    ast.UnionPattern: _Writer.union,
}
