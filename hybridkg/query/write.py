"""The canonical text of a syntax tree: `parse(write(q)) == q`, and the only text that Oxigraph sees.

IRIs are written out, brackets are those that the tree needs, and every name
and literal is checked or escaped on the way out, so that a value can never
become syntax. A query without ranked parts is plain SPARQL 1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hybridkg.query import ast
from hybridkg.query.write_expressions import ExpressionWriter

__all__ = ["write"]


def write(node: ast.Syntax, *, prefixes: Mapping[str, str] | None = None) -> str:
    """The canonical text of a node, without a newline at its end.

    Args:
        node: a query, a query form, a group or anything that stands in one.
        prefixes: names of namespaces, to shorten IRIs for display; a whole query then declares those it uses.

    Raises:
        QueryCheckError: the tree was not made by the parser and has a name or an IRI that cannot be written.

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
    """Queries and patterns. Each method adds to one list of strings: the work is linear in the text."""

    def group(self, group: ast.Group) -> None:
        """`{ ... }`, one element a line, without a newline behind it."""
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
        """One predicate, ranked or not, a line. A subject or predicate stands once for the triples that follow on
        it: as many triples as the text has could share one that is as long as the text.
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
        """A triples block outside a group."""
        self.items(triples.items)

    def optional(self, node: ast.OptionalPattern) -> None:
        """OPTIONAL."""
        self.add("OPTIONAL ")
        self.group(node.pattern)

    def minus(self, node: ast.MinusPattern) -> None:
        """MINUS."""
        self.add("MINUS ")
        self.group(node.pattern)

    def union(self, node: ast.UnionPattern) -> None:
        """UNION."""
        for i, branch in enumerate(node.branches):
            self.add(" UNION " if i else "")
            self.group(branch)

    def graph(self, node: ast.GraphPattern) -> None:
        """GRAPH."""
        self.add("GRAPH ")
        self.term(node.name)
        self.add(" ")
        self.group(node.pattern)

    def service(self, node: ast.ServicePattern) -> None:
        """SERVICE."""
        self.add("SERVICE SILENT " if node.silent else "SERVICE ")
        self.term(node.endpoint)
        self.add(" ")
        self.group(node.pattern)

    def filter(self, node: ast.Filter) -> None:
        """FILTER."""
        if isinstance(node.condition, ast.Exists):
            self.add("FILTER ")
            self.expression(node.condition)
        else:
            self.add("FILTER")
            self.bracketed(node.condition)

    def bind(self, node: ast.Bind) -> None:
        """BIND."""
        self.add("BIND")
        self.named(node.expression, node.variable)

    def inline_data(self, node: ast.InlineData) -> None:
        """VALUES; one variable on one line, several with one row a line."""
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
        if node.rows:
            self.line("}")
        else:
            self.add("}")

    def cell(self, value: ast.Iri | ast.Lit | None) -> None:
        """A value, or UNDEF."""
        if value is None:
            self.add("UNDEF")
        else:
            self.term(value)

    def sub_select(self, node: ast.SubSelect) -> None:
        """A SELECT in braces."""
        self.add("{")
        self.indent += 1
        self.line("")
        self.node(node.query)
        self.indent -= 1
        self.line("}")

    # --- queries ----------------------------------------------------------------------

    def select(self, query: ast.SelectQuery) -> None:
        """SELECT."""
        self.add(f"SELECT {query.reduction} " if query.reduction else "SELECT ")
        if query.projection is None:
            self.add("*")
        else:
            self.separated(query.projection, " ")
        self.rest(query)

    def ask(self, query: ast.AskQuery) -> None:
        """ASK."""
        self.add("ASK")
        self.rest(query)

    def construct(self, query: ast.ConstructQuery) -> None:
        """CONSTRUCT, always with its template."""
        self.add("CONSTRUCT {")
        self.indent += 1
        self.items(query.template)
        self.indent -= 1
        if query.template:
            self.line("}")
        else:
            self.add("}")
        self.rest(query)

    def describe(self, query: ast.DescribeQuery) -> None:
        """DESCRIBE."""
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
        """FROM."""
        self.add("FROM NAMED " if clause.named else "FROM ")
        self.term(clause.graph)

    def modifiers(self, modifiers: ast.Modifiers) -> None:
        """One modifier a line."""
        for keyword, parts in (
            ("GROUP BY ", modifiers.group_by),
            ("ORDER BY ", modifiers.order_by),
        ):
            if keyword == "ORDER BY " and modifiers.having:
                self.line("HAVING")
                for condition in modifiers.having:
                    self.add(" ")
                    self.bracketed(condition)
            if parts:
                self.line(keyword)
                self.separated(parts, " ")
        if modifiers.rank_by is not None:
            self.line("")
            self.node(modifiers.rank_by)
        if modifiers.rerank is not None:
            self.line("")
            self.node(modifiers.rerank)
        if modifiers.limit is not None:
            self.line(f"LIMIT {int(modifiers.limit)}")
        if modifiers.offset is not None:
            self.line(f"OFFSET {int(modifiers.offset)}")

    def projection(self, item: ast.SelectItem) -> None:
        """`?x` or `(expression AS ?x)`."""
        if item.expression is None:
            self.term(item.variable)
        else:
            self.named(item.expression, item.variable)

    def group_key(self, key: ast.GroupKey) -> None:
        """`?x`, `(expression)` or `(expression AS ?x)`."""
        if key.variable is not None:
            self.named(key.expression, key.variable)
        elif isinstance(key.expression, ast.Var):
            self.term(key.expression)
        else:
            self.bracketed(key.expression)

    def order_key(self, key: ast.OrderKey) -> None:
        """`?x`, `ASC(expression)` or `DESC(expression)`."""
        if isinstance(key.expression, ast.Var) and not key.descending:
            self.term(key.expression)
        else:
            self.add("DESC" if key.descending else "ASC")
            self.bracketed(key.expression)

    def rank_by(self, rank: ast.RankBy) -> None:
        """`RANK BY expression [AS ?score]`."""
        self.add("RANK BY ")
        self.expression(rank.expression)
        self.as_variable("AS", rank.score)

    def rerank(self, node: ast.Rerank) -> None:
        """`RERANK TOP n USING reranker(...) [ON ?variable] [AS ?score]`."""
        self.add(f"RERANK TOP {int(node.top)} USING ")
        self.model(node.reranker)
        self.as_variable("ON", node.on)
        self.as_variable("AS", node.score)

    def node(self, node: Any) -> None:
        """Any node."""
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
    ast.Triples: _Writer.triples,
    ast.UnionPattern: _Writer.union,
}
