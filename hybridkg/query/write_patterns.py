"""Serialiser of graph patterns and triples blocks."""

from __future__ import annotations

from hybridkg.query import ast
from hybridkg.query.write_expressions import ExpressionWriter


class PatternWriter(ExpressionWriter):
    """Writer of groups and their elements."""

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
