"""A strategy for syntax trees: everything that the parser can build, small."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import strategies as st

from hybridkg.query import ast

XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = ["a", "b", "c", "match", "top", "é"]
IRIS = ["http://e/p", "http://e/q#x", "urn:é", ast.RDF + "type", "http://e/a%20b"]
ODD_TEXTS = ["", 'say "hi"', "a\\u0022b", "back\\", "line\nline\r", "\x00\x1f\x7f", "'''", "{}", "\ufeffx", "\\n"]
NUMBERS = {
    "integer": ["1", "-1", "+07", "007"],
    "decimal": ["1.5", "-.5", "1."],
    "double": ["1e3", "-1.E-3", "INF", "1"],
    "boolean": ["true", "false", "1"],
}
CALLS = {
    (0, 0): ["RAND", "NOW", "STRUUID"],
    (1, 1): ["STR", "ISIRI", "ABS", "ENCODE_FOR_URI", "MD5"],
    (2, 2): ["CONTAINS", "LANGMATCHES", "SAMETERM"],
    (3, 3): ["IF"],
    (2, 3): ["REGEX", "SUBSTR"],
    (3, 4): ["REPLACE"],
    (0, 3): ["CONCAT", "COALESCE"],
    (0, 1): ["BNODE"],
}
text_strategy = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


class Maker:
    """Draws trees of bounded depth; `ranked` adds MATCH and RANK BY."""

    def __init__(self, draw, ranked: bool, names=NAMES):
        self.draw, self.ranked, self.names = draw, ranked, names
        self.base = self.one_of(None, "http://base/")

    def one_of(self, *values):
        return self.draw(st.sampled_from(values))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def some(self, make, *arguments, low=0, high=3):
        return tuple(make(*arguments) for _ in range(self.number(low, high)))

    # --- terms ------------------------------------------------------------------------

    def var(self):
        return ast.Var(self.one_of(*self.names))

    def maybe_var(self):
        return self.var() if self.chance() else None

    def iri(self):
        return ast.Iri(self.one_of(*IRIS))

    def text(self):
        return self.one_of(*ODD_TEXTS) if self.chance() else self.draw(text_strategy)

    def literal(self):
        kind = self.one_of("plain", "tagged", "typed", *NUMBERS)
        if kind == "plain":
            return ast.Lit(self.text())
        if kind == "tagged":
            return ast.Lit(self.text(), language=self.one_of("en", "de-AT", "EN"))
        if kind == "typed":
            return ast.Lit(self.text(), "http://e/type")
        return ast.Lit(self.one_of(*NUMBERS[kind]), XSD + kind)

    def constant(self):
        return self.iri() if self.chance() else self.literal()

    def term(self):
        kind = self.one_of(self.var, self.var, self.iri, self.literal, self.blank)
        return kind()

    def blank(self):
        return ast.Blank(self.one_of("x", "b0", "a.b-c", "0"))

    # --- triples ------------------------------------------------------------------------

    def path(self, depth):
        kind = self.one_of("iri", "negated", "sequence", "alternative", "inverse", "repeat")
        if kind == "iri" or depth <= 0:
            return self.iri()
        if kind == "negated":
            return ast.PathNegated(self.some(self.negated_part, low=1))
        if kind == "sequence":
            return ast.PathSequence(self.some(self.path, depth - 1, low=2))
        if kind == "alternative":
            return ast.PathAlternative(self.some(self.path, depth - 1, low=2))
        if kind == "inverse":
            return ast.PathInverse(self.path(depth - 1))
        return ast.PathRepeat(self.path(depth - 1), self.one_of("*", "+", "?"))

    def negated_part(self):
        return self.iri() if self.chance() else ast.PathInverse(self.iri())

    def triple(self, depth=2):
        predicate = self.var() if self.chance() else self.path(depth)
        return ast.TriplePattern(self.term(), predicate, self.term())

    def item(self):
        return self.match() if self.ranked and self.chance() else self.triple()

    def match(self):
        text = self.one_of(self.var, lambda: ast.Lit(self.text()), lambda: ast.Lit(self.text(), language="en"))()
        file = self.one_of("", "", "params.toml", "a/b-c")
        model = (
            ast.Model(self.one_of("bm25f", "top"), self.some(self.argument, high=2), file) if self.chance() else None
        )
        top = self.number(0, 9) if self.chance() else None
        fields = self.some(self.on_field)
        return ast.Match(
            self.var(), text, self.chance(), self.chance(), fields, model, top, self.maybe_var(), self.maybe_var()
        )

    def on_field(self):
        weight = self.one_of(None, None, 0.0, 3.0, 0.1, 1e-7, -2.0, 1e20)
        return ast.OnField(self.word(), self.one_of(None, "en"), weight, self.some(self.argument, high=2))

    def word(self):
        return self.one_of("label", "on", "all", "Größe", "a-b_1", "as")

    def argument(self):
        value = self.one_of(lambda: ast.Lit("0.4", XSD + "decimal"), lambda: ast.Lit(self.text()), self.var)()
        return ast.NamedArgument(self.word(), value)

    # --- expressions ---------------------------------------------------------------------

    def expression(self, depth, *, aggregates=False):
        if depth <= 0:
            return self.var() if self.chance() else self.constant()
        kind = self.one_of("leaf", "leaf", "binary", "unary", "in", "exists", "call", "call", "aggregate")
        if kind == "binary":
            op = self.one_of("||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/")
            return ast.Binary(op, self.expression(depth - 1), self.expression(depth - 1))
        if kind == "unary":
            return ast.Unary(self.one_of("!", "+", "-"), self.expression(depth - 1))
        if kind == "in":
            return ast.In(self.expression(depth - 1), self.some(self.expression, depth - 1), self.chance())
        if kind == "exists":
            return ast.Exists(self.group(depth - 2), self.chance())
        if kind == "call":
            return self.call(depth)
        if kind == "aggregate" and aggregates:
            return self.aggregate(depth)
        return self.expression(0)

    def call(self, depth):
        if self.number(0, 4) == 0:
            return self.one_of(
                lambda: ast.Call("BOUND", (self.var(),)),
                lambda: ast.Call("IRI", (self.expression(0),), base=self.base),
                lambda: ast.Call(ast.Iri(XSD + "integer"), (self.expression(depth - 1),)),
            )()
        (low, high), functions = self.one_of(*CALLS.items())
        return ast.Call(self.one_of(*functions), self.some(self.expression, depth - 1, low=low, high=high))

    def aggregate(self, depth):
        name = self.one_of("SUM", "MIN", "MAX", "AVG", "SAMPLE", "COUNT", "GROUP_CONCAT", "*")
        if name == "*":
            return ast.Aggregate("COUNT", None, self.chance())
        separator = self.text() if name == "GROUP_CONCAT" and self.chance() else None
        return ast.Aggregate(name, self.expression(depth - 1), self.chance(), separator)

    # --- patterns -------------------------------------------------------------------------

    def group(self, depth):
        elements = []
        for _ in range(self.number(0, 3)):
            element = self.element(depth)
            # Two triples blocks beside each other would be one.
            if not (elements and isinstance(element, ast.Triples) and isinstance(elements[-1], ast.Triples)):
                elements.append(element)
        return ast.Group(tuple(elements))

    def element(self, depth):
        kind = self.number(0, 11 if depth > 0 else 4)
        below = depth - 1
        if kind <= 1:
            return ast.Triples(self.some(self.item, low=1))
        if kind == 2:
            return ast.Filter(self.expression(max(depth, 1)))
        if kind == 3:
            return ast.Bind(self.expression(max(depth, 1)), self.var())
        if kind == 4:
            return self.inline_data()
        if kind == 5:
            return self.group(below)
        if kind == 6:
            return ast.OptionalPattern(self.group(below))
        if kind == 7:
            return ast.MinusPattern(self.group(below))
        if kind == 8:
            return ast.UnionPattern(self.some(self.group, below, low=2))
        if kind == 9:
            return ast.GraphPattern(self.one_of(self.var, self.iri)(), self.group(below))
        if kind == 10:
            return ast.ServicePattern(self.one_of(self.var, self.iri)(), self.group(below), self.chance())
        return ast.SubSelect(self.select(below, inner=True))

    def inline_data(self):
        columns = self.some(self.var)
        return ast.InlineData(columns, tuple(tuple(self.cell() for _ in columns) for _ in range(self.number(0, 2))))

    def cell(self):
        return None if self.number(0, 3) == 0 else self.constant()

    # --- queries ---------------------------------------------------------------------------

    def modifiers(self, depth):
        if self.chance():
            return ast.Modifiers()
        rank, order = None, ()
        if self.ranked and self.chance():
            rank = ast.RankBy(self.expression(depth, aggregates=True), self.maybe_var())
        else:
            order = self.some(self.order_key, depth, high=2)
        having = self.some(lambda: self.expression(depth, aggregates=True), high=1)
        limits = [self.number(0, 99) if self.chance() else None for _ in range(2)]
        return ast.Modifiers(self.some(self.group_key, depth, high=2), having, order, rank, *limits)

    def order_key(self, depth):
        return ast.OrderKey(self.expression(depth, aggregates=True), self.chance())

    def group_key(self, depth):
        return ast.GroupKey(self.expression(self.number(0, max(depth, 0))), self.maybe_var())

    def projection(self, depth):
        return ast.SelectItem(self.var(), self.expression(depth, aggregates=True) if self.chance() else None)

    def columns(self, depth):
        """`SELECT ?x ?x` has one column."""
        return tuple({item.variable.name: item for item in self.some(self.projection, depth, low=1)}.values())

    def select(self, depth, inner=False):
        return ast.SelectQuery(
            None if self.chance() else self.columns(depth),
            self.group(depth),
            self.one_of("", "DISTINCT", "REDUCED"),
            **({} if inner else {"dataset": self.some(self.dataset_clause, high=1)}),
            modifiers=self.modifiers(depth),
            values=self.inline_data() if self.number(0, 3) == 0 else None,
        )

    def dataset_clause(self):
        return ast.DatasetClause(self.iri(), self.chance())

    def form(self, depth=2):
        kind = self.one_of("select", "select", "ask", "construct", "describe")
        if kind == "select":
            return self.select(depth)
        rest = {
            "dataset": self.some(self.dataset_clause, high=1),
            "modifiers": self.modifiers(1),
            "values": self.inline_data() if self.number(0, 3) == 0 else None,
        }
        where = self.group(depth)
        if kind == "ask":
            return ast.AskQuery(where, **rest)
        if kind == "construct":
            return ast.ConstructQuery(self.some(self.triple, 0), where, **rest)
        subjects = dict.fromkeys(self.some(self.var) + self.some(self.iri))
        return ast.DescribeQuery(tuple(subjects), where if self.chance() else None, **rest)

    # --- updates ---------------------------------------------------------------------------

    def quads(self, triple):
        """Blocks as the parser makes them: two without a graph are one, and none without a graph is empty."""
        blocks = []
        for graph in self.some(lambda: self.one_of(None, self.iri(), self.var())):
            if graph is not None or not blocks or blocks[-1].graph is not None:
                blocks.append(ast.QuadTemplate(self.some(triple, low=1 if graph is None else 0, high=2), graph))
        return tuple(blocks)

    def template_triple(self):
        return self.triple(0)

    def fixed_triple(self):
        subject = ast.Blank(f"own{self.number(0, 10**9)}") if self.blanks and self.chance() else self.iri()
        return ast.TriplePattern(subject, self.iri(), self.constant())

    def modify(self, depth):
        if self.number(0, 3) == 0:
            delete = self.quads(self.template_triple)
            return ast.Modify(pattern_of(delete), delete, is_short=True)
        return ast.Modify(
            self.group(depth),
            self.quads(self.template_triple) if self.chance() else (),
            self.quads(self.template_triple) if self.chance() else (),
            self.iri() if self.chance() else None,
            self.some(self.dataset_clause, high=2),
            replace(self.modifiers(1), group_by=(), having=()) if self.ranked else ast.Modifiers(),
        )

    def operation(self, depth=2):
        kind, silent = self.number(0, 8), self.chance()
        if kind <= 4:
            return self.modify(depth)
        if kind == 5:
            return self.one_of(ast.InsertData, ast.DeleteData)(
                self.quads(self.one_of(self.template_triple, self.fixed_triple))
            )
        if kind == 6:
            return ast.LoadFile(self.iri(), self.iri() if self.chance() else None, silent)
        if kind == 7:
            graphs = self.one_of("DEFAULT", "NAMED", "ALL", self.iri())
            return (
                ast.ClearGraphs(graphs, self.chance(), silent) if self.chance() else ast.CreateGraph(self.iri(), silent)
            )
        ends = [self.iri() if self.chance() else None for _ in range(2)]
        return ast.CopyGraph(self.one_of("ADD", "MOVE", "COPY"), *ends, silent)


def pattern_of(quads):
    """The WHERE that DELETE WHERE has, by the grammar: each block is a triples block or a GRAPH."""

    def element(block):
        triples = ast.Triples(block.triples)
        return (
            triples
            if block.graph is None
            else ast.GraphPattern(block.graph, ast.Group((triples,) * bool(block.triples)))
        )

    return ast.Group(tuple(map(element, quads)))


@st.composite
def queries(draw, *, ranked, names=NAMES):
    maker = Maker(draw, ranked, names)
    explain = maker.one_of("", "plan", "analyze") if ranked else ""
    return ast.Query(maker.form(), explain)


@st.composite
def updates(draw, *, ranked, names=NAMES):
    maker = Maker(draw, ranked, names)
    maker.blanks = ranked
    operations = maker.some(maker.operation, low=1)
    return ast.Update(operations, maker.one_of("", "plan", "analyze") if ranked else "")


@pytest.fixture(scope="session")
def trees():
    """Strategies: `queries` has everything, `plain` only SPARQL with many names, so that few rules are broken;
    `updates` and `plain_updates` likewise."""
    many = [f"v{number}" for number in range(30)]
    return SimpleNamespace(
        queries=queries(ranked=True),
        plain=queries(ranked=False, names=many),
        updates=updates(ranked=True),
        plain_updates=updates(ranked=False, names=many),
    )
