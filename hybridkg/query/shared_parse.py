"""Parse of a first text of a shape: canonical variable names, and parameters in place of constants.

A constant becomes a parameter where a literal or an IRI of the syntax tree has its value and nothing else of the text
has. All others belong to the tree: numbers of LIMIT, weights, predicates, datatypes, names of functions, and whatever
decides what the tree looks like.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hybridkg.interfaces.parameter import UnboundParameterError
from hybridkg.query import ast
from hybridkg.query.builders import Builder
from hybridkg.query.builders.triples import NodeWithTriples
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse_by
from hybridkg.query.source import SourceText, read_text
from hybridkg.query.text_shape import CANONICAL_NAMES, IRI, STRING, Constant, TextShape, boundaries
from hybridkg.query.walk import rebuild


@dataclass(frozen=True, eq=False)
class SharedTree:
    """The checked syntax tree of all texts of a shape whose fixed constants are equal.

    Args:
        text: the first text, into which spans of the tree point.
        shape: that of the text.
        query: the tree.
        fixed: numbers of the constants that belong to the tree, ascending.
        suffixes: (datatype, language) of each other constant that is a string.
    """

    text: str
    shape: TextShape
    query: ast.Query
    fixed: tuple[int, ...]
    suffixes: dict[int, tuple[str | None, str | None]]


class NoSharedTreeError(Exception):
    """Texts of a shape have no shared tree: the parser reads a token in another way than `read_shape`, as a NAME."""


def parse_shared(text: str, shape: TextShape, fixed: frozenset[int] = frozenset()) -> SharedTree:
    """The tree of a shape, with at least the `fixed` constants in place.

    Raises:
        HybridkgError: the text has an error; `parse` and `check` raise it with the names and places of the text.
        UnexpectedTokenError: the same, for a text that does not follow the grammar.
        NoSharedTreeError: the shape has no shared tree.
    """
    source = read_text(text, "query")
    while True:
        builder = SharedBuilder(source, shape, set(fixed))
        try:
            query, tokens = parse_by(builder)
            body = [*boundaries(text)]
            if query.explain or query.prefixes != shape.prefixes or tokens[-len(body) :] != body:
                raise NoSharedTreeError
            now_fixed = builder.now_fixed()
            if not any(builder.opened[number] for number in now_fixed):
                check(query)
                numbers = tuple(sorted(now_fixed))
                return SharedTree(text, shape, query, numbers, builder.suffixes)
        except UnboundParameterError as e:
            now_fixed = frozenset(range(len(shape.constants)) if e.number is None else builder.closed | {e.number})
        fixed = now_fixed


class SharedBuilder(Builder):
    """Builder of the syntax tree of a shape; constants in `closed` stay constants."""

    def __init__(self, query: SourceText, shape: TextShape, closed: set[int]):
        super().__init__(query, known=dict(shape.prefixes))
        self.shape, self.closed = shape, closed
        self.opened: Counter[int] = Counter()
        self.suffixes: dict[int, tuple[str | None, str | None]] = {}
        self._numbers = {constant: number for number, constant in enumerate(shape.constants)}
        self._canonical = dict(zip(shape.names, CANONICAL_NAMES, strict=False))

    def now_fixed(self) -> frozenset[int]:
        """Constants that the tree needs, after the parse: closed ones, and those with an occurrence elsewhere."""
        uses = self.shape.uses
        return frozenset(n for n in range(len(uses)) if n in self.closed or self.opened[n] != uses[n])

    def _opened(self, constant: Constant) -> int | None:
        number = self._numbers.get(constant)
        if number is None or number in self.closed:
            return None
        self.opened[number] += 1
        return number

    def _close(self, number: int) -> None:
        self.closed.add(number)
        self.opened[number] -= 1

    def concrete(self, node: Any) -> Any:
        """A node with constants in place of parameters, which belong to the tree from then on."""
        match node:
            case ast.IriParameter(number=number):
                self._close(number)
                return ast.Iri(self.shape.constants[number][1], span=node.span)
            case ast.LiteralParameter(number=number):
                self._close(number)
                kind, value = self.shape.constants[number]
                datatype, language = self.suffixes[number] if kind == STRING else (kind, None)
                return ast.Lit(value, datatype, language, span=node.span)
            case ast.Syntax():
                return rebuild(node, self.concrete)
        return node

    def var(self, c: list[Any], start: int, end: int) -> ast.Var:
        name = self._canonical.get(c[0].text[1:])
        if name is None:  # behind a FILE, which `read_shape` does not know
            raise NoSharedTreeError
        return ast.Var(name, is_marked=c[0].text[0] == "$", span=self.span(start, end))

    def iri(self, c: list[Any], start: int, end: int) -> ast.Iri:
        node = super().iri(c, start, end)
        number = self._opened((IRI, node.value))
        return node if number is None else ast.IriParameter(number, span=node.span)

    def numeric_literal_unsigned(self, c: list[Any], start: int, end: int) -> ast.Lit:
        node = super().numeric_literal_unsigned(c, start, end)
        number = self._opened((str(node.datatype), node.lexical))
        return node if number is None else ast.LiteralParameter(number, span=node.span)

    numeric_literal_positive = numeric_literal_negative = numeric_literal_unsigned

    def simple_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        return self._string(super().simple_literal(c, start, end))

    def language_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        return self._string(super().language_literal(c, start, end))

    def typed_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        return self._string(super().typed_literal([*c[:2], self.concrete(c[2])], start, end))

    def _string(self, node: ast.Lit) -> ast.Lit:
        number = self._opened((STRING, node.lexical))
        if number is None:
            return node
        if node.direction is not None:  # the projection holds no such literals
            self._close(number)
            return node
        suffix = node.datatype, node.language
        if self.suffixes.setdefault(number, suffix) != suffix:
            self.closed.add(number)
        return ast.LiteralParameter(number, span=node.span)

    def signed_addition(self, c: list[Any], start: int, end: int) -> ast.Binary:
        return super().signed_addition([c[0], self.concrete(c[1])], start, end)

    def verb_objects(self, c: list[Any], start: int, end: int) -> Any:
        verb = c[0] if isinstance(c[0], ast.Var) else self.concrete(c[0])
        return super().verb_objects([verb, c[1]], start, end)

    def triple_term(self, c: list[Any], start: int, end: int) -> ast.TripleTerm:
        verb = c[2] if isinstance(c[2], ast.Var) else self.concrete(c[2])
        return super().triple_term([*c[:2], verb, *c[3:]], start, end)

    triple_term_data = expression_triple = triple_term

    def reified_triple(self, c: list[Any], start: int, end: int) -> NodeWithTriples:
        verb = c[2] if isinstance(c[2], ast.Var) else self.concrete(c[2])
        return super().reified_triple([*c[:2], verb, *c[3:]], start, end)

    def function_call(self, c: list[Any], start: int, end: int) -> ast.Call:
        return super().function_call([self.concrete(c[0]), c[1]], start, end)

    def default_graph_clause(self, c: list[Any], start: int, end: int) -> ast.DatasetClause:
        return super().default_graph_clause([c[0], self.concrete(c[1])], start, end)

    def named_graph_clause(self, c: list[Any], start: int, end: int) -> ast.DatasetClause:
        return super().named_graph_clause([*c[:2], self.concrete(c[2])], start, end)

    def graph_pattern(self, c: list[Any], start: int, end: int) -> ast.GraphPattern:
        name = self.concrete(c[1]) if isinstance(c[1], ast.Iri) else c[1]
        return super().graph_pattern([c[0], name, c[2]], start, end)

    def argument(self, c: list[Any], start: int, end: int) -> ast.NamedArgument:
        value = c[2] if isinstance(c[2], ast.Var) else self.concrete(c[2])
        return super().argument([*c[:2], value], start, end)
