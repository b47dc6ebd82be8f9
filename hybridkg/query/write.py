"""Serialiser of syntax trees to canonical text: `parse(write(q)) == q`; Oxigraph receives no other text.

IRIs are written out, parentheses are minimal, and every name and literal is checked or escaped, so a value can never
become syntax. A query without ranked parts is plain SPARQL 1.1, or 1.2 where it has triple terms or base directions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hybridkg.query import ast
from hybridkg.query.walk import walk
from hybridkg.query.write_operations import OperationWriter


def write(node: ast.Syntax, *, prefixes: Mapping[str, str] | None = None) -> str:
    """The canonical text of a node, without a newline at its end.

    Args:
        node: a query, an update, a query form, a group or an element of one.
        prefixes: names of namespaces, to shorten IRIs for display; a whole query then declares those it uses.

    Raises:
        QueryCheckError: a tree that the parser did not build has a name or an IRI that cannot be written.

    >>> write(ast.Binary("*", ast.Binary("+", ast.Var("a"), ast.Var("b")), ast.Lit("say \\"hi\\"")))
    '(?a + ?b) * "say \\\\"hi\\\\""'
    """
    if isinstance(node, ast.Update):
        return write_update(node, prefixes=prefixes)
    writer = _Writer(prefixes or {})
    if isinstance(node, ast.Query):
        writer.node(node.form)
        return "\n".join([*_EXPLAIN[node.explain], *writer.declarations(), writer.text()])
    writer.node(node)
    if isinstance(node, ast.SelectQuery | ast.AskQuery | ast.ConstructQuery | ast.DescribeQuery):
        return "\n".join([*writer.declarations(), writer.text()])
    return writer.text().removeprefix("\n")


_EXPLAIN: dict[str, list[str]] = {"": [], "plan": ["EXPLAIN"], "analyze": ["EXPLAIN ANALYZE"]}


def write_update(update: ast.Update, *, prefixes: Mapping[str, str] | None = None) -> str:
    """The canonical text of an update: `parse_update(write_update(u)) == u`, but for which triples of INSERT DATA are
    `ground`. Arguments and errors are those of `write`.

    >>> write_update(ast.Update((ast.CreateGraph(ast.Iri("http://e/g")), ast.ClearGraphs("ALL", drop=True))))
    'CREATE GRAPH <http://e/g> ;\\nDROP ALL'
    """
    written: list[str] = []
    names = _Writer(prefixes or {})
    base: str | None = None
    has_baseless = False
    for operation in update.operations:
        writer = _Writer(prefixes or {})
        writer.node(operation)
        names.used |= writer.used
        text = writer.text()
        if writer.base is not None and writer.base != base:
            if base is None and not has_baseless:
                # At the head, because Oxigraph 0.5.13 reads declarations before the first operation only.
                names.use_base(writer.base)
            else:
                text = f"BASE <{writer.base}>\n{text}"
            base = writer.base
        has_baseless = has_baseless or any(
            isinstance(node, ast.Call) and node.function in ("IRI", "URI") and node.base is None
            for node in walk(operation)
        )
        written.append(text)
    return "\n".join([*_EXPLAIN[update.explain], *names.declarations(), " ;\n".join(written)])


class _Writer(OperationWriter):
    """Writer of queries and updates; it appends to one list of strings, so the work is linear in the text."""

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
    ast.ClearGraphs: _Writer.clear,
    ast.ConstructQuery: _Writer.construct,
    ast.CopyGraph: _Writer.copy,
    ast.CreateGraph: _Writer.create,
    ast.DatasetClause: _Writer.dataset_clause,
    ast.DeleteData: _Writer.delete_data,
    ast.DescribeQuery: _Writer.describe,
    ast.Filter: _Writer.filter,
    ast.GraphPattern: _Writer.graph,
    ast.Group: _Writer.group,
    ast.GroupKey: _Writer.group_key,
    ast.InlineData: _Writer.inline_data,
    ast.InsertData: _Writer.insert_data,
    ast.LoadFile: _Writer.load,
    ast.Match: _Writer.match,
    ast.MinusPattern: _Writer.minus,
    ast.Model: _Writer.model,
    ast.Modifiers: _Writer.modifiers,
    ast.Modify: _Writer.modify,
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
