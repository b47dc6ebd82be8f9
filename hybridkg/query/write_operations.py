"""Serialiser of the operations of updates."""

from __future__ import annotations

from hybridkg.query import ast
from hybridkg.query.write_patterns import PatternWriter
from hybridkg.query.write_terms import _refuse
from hybridkg.rdf.terms import Quad


class OperationWriter(PatternWriter):
    """Writer of operations and their quads."""

    def insert_data(self, node: ast.InsertData) -> None:
        self.quads("INSERT DATA", node.quads)

    def delete_data(self, node: ast.DeleteData) -> None:
        self.quads("DELETE DATA", node.quads)

    def quads(self, keyword: str, quads: tuple[ast.QuadTemplate, ...]) -> None:
        """Triples in braces, behind a keyword; those of a named graph in braces of their own."""
        self.add(f"{keyword} {{")
        self.indent += 1
        for block in quads:
            if block.graph is None:
                self.items(block.triples)
                self.ground(block.ground)
                continue
            self.line("GRAPH ")
            self.term(block.graph)
            self.add(" {")
            self.indent += 1
            self.items(block.triples)
            self.ground(block.ground)
            self.indent -= 1
            self.closing(block.triples or block.ground)
        self.indent -= 1
        self.closing(quads)

    def ground(self, quads: tuple[Quad, ...]) -> None:
        """A triple a line."""
        for quad in quads:
            self.line(f"{quad.triple} .")

    def modify(self, node: ast.Modify) -> None:
        """DELETE WHERE, or the clauses of a modification; without quads it has an empty DELETE."""
        if node.is_short:
            self.quads("DELETE WHERE", node.delete)
            return
        if node.with_graph is not None:
            self.add("WITH ")
            self.term(node.with_graph)
            self.line("")
        if node.delete or not node.insert:
            self.quads("DELETE", node.delete)
            self.line("")
        if node.insert:
            self.quads("INSERT", node.insert)
            self.line("")
        for clause in node.using:
            self.add("USING NAMED " if clause.named else "USING ")
            self.term(clause.graph)
            self.line("")
        self.add("WHERE ")
        self.group(node.where)
        self.node(node.modifiers)

    def load(self, node: ast.LoadFile) -> None:
        self.add("LOAD SILENT " if node.silent else "LOAD ")
        self.term(node.source)
        if node.into is not None:
            self.add(" INTO GRAPH ")
            self.term(node.into)

    def clear(self, node: ast.ClearGraphs) -> None:
        self.add(("DROP " if node.drop else "CLEAR ") + ("SILENT " if node.silent else ""))
        if isinstance(node.graphs, ast.Iri):
            self.add("GRAPH ")
            self.term(node.graphs)
        else:
            self.add(node.graphs if node.graphs in ("DEFAULT", "NAMED", "ALL") else _refuse("graph", node.graphs))

    def create(self, node: ast.CreateGraph) -> None:
        self.add("CREATE SILENT GRAPH " if node.silent else "CREATE GRAPH ")
        self.term(node.graph)

    def copy(self, node: ast.CopyGraph) -> None:
        kind = node.kind if node.kind in ("ADD", "MOVE", "COPY") else _refuse("operation", node.kind)
        self.add(f"{kind} SILENT " if node.silent else f"{kind} ")
        for joiner, graph in (("", node.source), (" TO ", node.target)):
            self.add(joiner if graph is not None else f"{joiner}DEFAULT")
            if graph is not None:
                self.term(graph)
