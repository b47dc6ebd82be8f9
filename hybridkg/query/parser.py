"""Parser of HybridQL: runs the LALR(1) tables that Lark builds from grammar/hybrid.lark.

The driver replaces Lark's, because it must refuse hostile text while it reads: it counts tokens, open brackets and the
depth of the tree under construction, so no deep tree is ever built, and it records the offsets of every node. The
builders are called as rules complete; there is no parse tree. Measured on 2 cores: a 13-line query in 1 ms, 1 MB of
text in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from hybridkg.errors import HybridkgError, QueryLimitError, QuerySyntaxError, Span
from hybridkg.query import ast, tables
from hybridkg.query.builders import LISTS, TRANSPARENT, Builder
from hybridkg.query.ground_triples import read_ground_triples
from hybridkg.query.lexer import END, Lexer, Token
from hybridkg.query.plain_triples import DEPTH, read_plain_triples
from hybridkg.query.source import SourceText, read_text
from hybridkg.rdf.known_prefixes import ONLY_DECLARED

MAX_TOKENS = 200_000
"""Tokens of a query: 200,000 of one character take about 1.5 s; longer lists of values belong in parameters."""

MAX_NESTING = 100
"""Brackets of any kind that are open at the same time."""

BRACKETS = {
    **dict.fromkeys(("(", "[", "{", "<<", "<<(", "{|"), 1),
    **dict.fromkeys((")", "]", "}", ">>", ")>>", "|}"), -1),
}
"""By how many levels a token changes the nesting."""

MAX_DEPTH = 160
"""Depth of the tree, chains such as `a + b + c` included: visitors take a few of Python's 1,000 frames a node."""

SYMBOL = 4
"""Items of a symbol on the stack of symbols: its value, the offsets of its start and end, the depth of its value."""

TRIPLE = "triples_same_subject"
"""The rule of the triples of a subject."""

Handler: TypeAlias = Callable[[Any, list[Any], int, int], Any]


class ReduceRule(NamedTuple):
    """Reduction of `size` symbols to the symbol `left`.

    handler is its builder; None passes on the value of the only symbol. With `level` the value is one level above those
    of the symbols.
    """

    left: str
    size: int
    handler: Handler | None
    level: bool


@dataclass(frozen=True, eq=False)
class Machine:
    """Parser state that does not depend on the text.

    Args:
        tables: of the grammar.
        rules: in reverse order, so the action that applies rule n, -n - 1, is its index.
        states_above: results of `above_units`; at most one for two states and a symbol of the grammar.
    """

    tables: tables.Tables
    rules: list[ReduceRule]
    states_above: dict[tuple[int, int, str], int] = field(default_factory=dict)

    def above_units(self, below: int, top: int, symbol: str) -> int:
        """The state after all rules that pass a value on: `?x` is a unary, multiplicative, additive ... expression.

        Args:
            below: the state under the value.
            top: the state above it.
            symbol: the next symbol; the rules are those that it completes.
        """
        rows, rules = self.tables.rows, self.rules
        key = below, top, symbol
        while (action := rows[top].get(symbol)) is not None and action < 0 and rules[action].handler is None:
            top = rows[below][rules[action].left]
        self.states_above[key] = top
        return top

    @cached_property
    def behind_triple(self) -> int:
        """The state behind the dot of a triple, where another one may stand."""
        rows = self.tables.rows
        (state,) = {row["."] for row in rows if row.get(".", -1) >= 0 and TRIPLE in rows[row["."]]}
        return state

    def lexer(self, text: str) -> Lexer:
        return self.ascii_lexer if text.isascii() else self.unicode_lexer

    @cached_property
    def ascii_lexer(self) -> Lexer:
        return Lexer(self.tables, ascii_only=True)

    @cached_property
    def unicode_lexer(self) -> Lexer:
        return Lexer(self.tables, ascii_only=False)


@cache
def machine(builder: type[Builder] = Builder) -> Machine:
    """The tables with the methods of a class of builders; built once per process."""
    loaded = tables.load()
    return Machine(loaded, [_rule(builder, *rule) for rule in reversed(loaded.rules)])


def _rule(builder: type[Builder], name: str, left: str, size: int, recursive: bool) -> ReduceRule:
    handler: Handler | None = getattr(builder, name, None)
    if handler is None and left in LISTS:
        handler = _append if recursive else _collect
    assert handler is not None or size == 1, f"rule {name!r} has no builder"
    return ReduceRule(left, size, handler, name not in TRANSPARENT and left not in LISTS)


def _collect(_builder: Builder, values: list[Any], _start: int, _end: int) -> list[Any]:
    return [value for value in values if not isinstance(value, Token)]


def _append(_builder: Builder, values: list[Any], _start: int, _end: int) -> list[Any]:
    collected: list[Any] = values[0]
    if not isinstance(values[-1], Token):
        collected.append(values[-1])
    return collected


def parse(text: str, *, name: str = "query", base: str = "", prefixes: Mapping[str, str] = ONLY_DECLARED) -> ast.Query:
    """The syntax tree of a HybridQL query.

    Args:
        text: the query.
        name: name of the text in errors.
        base: absolute IRI against which relative IRIs are resolved, as if BASE came first.
        prefixes: namespaces of prefixes that need no declaration; none in SPARQL. The tree declares those it uses.

    Raises:
        QuerySyntaxError: the text does not follow the grammar, or is an update; shows the place and the accepted
            alternatives.
        QueryLimitError: it is too long or too deep.
        UnsupportedQueryError: it uses a part of the language that arrives in a later version.

    >>> parse("SELECT ?s { ?s a <http://e/C> }").form.where.elements[0].items[0].subject
    Var(name='s')
    """
    query = read_text(text, name)
    try:
        return as_query(_Run(machine(), query, Builder(query, base, prefixes)).result(), text)
    except UnexpectedTokenError as stop:
        from hybridkg.query.diagnostics.syntax_help import explain

        raise explain(machine(), query, stop.states, stop.token).at(query.source) from None
    except HybridkgError as e:
        raise e.at(query.source) from e.__cause__


def parse_update(
    text: str, *, name: str = "update", base: str = "", prefixes: Mapping[str, str] = ONLY_DECLARED
) -> ast.Update:
    """The syntax tree of an update request, which may be empty. Arguments and errors are those of `parse`.

    Raises:
        QuerySyntaxError: also, the text is a query.

    >>> parse_update("INSERT DATA { <http://e/a> a <http://e/C> }").operations[0].quads[0].triples[0].object
    Iri(value='http://e/C')
    """
    query = read_text(text, name, "many triples come faster from a file: hybridkg load KB FILE")
    builder = Builder(query, base, prefixes)
    try:
        result = _Run(machine(), query, builder).result()
        if isinstance(result, ast.Query):
            raise QuerySyntaxError(
                "this is a query",
                hint="hybridkg query KB ...; in Python: kb.query(...)",
                span=_first_word(result.form, text),
            )
        assert isinstance(result, ast.Update)
        return result
    except UnexpectedTokenError as stop:
        if stop.token.type == END and _is_empty(stop.states):
            return ast.Update((), "", tuple(builder.prefixes.items()))
        from hybridkg.query.diagnostics.syntax_help import explain

        raise explain(machine(), query, stop.states, stop.token, in_update=True).at(query.source) from None
    except HybridkgError as e:
        raise e.at(query.source) from e.__cause__


def _is_empty(states: list[int]) -> bool:
    """Whether the parser has read nothing but declarations."""
    loaded = machine().tables
    return states in ([loaded.start], [loaded.start, loaded.rows[loaded.start]["declarations"]])


def as_query(tree: Any, text: str) -> ast.Query:
    """The query that the parser made of a text.

    Raises:
        QuerySyntaxError: it is an update.
    """
    if isinstance(tree, ast.Update):
        raise QuerySyntaxError(
            "this is an update",
            hint="hybridkg update KB ...; in Python: kb.update(...)",
            span=_first_word(tree.operations[0], text),
        )
    assert isinstance(tree, ast.Query)
    return tree


_WORD = re.compile(r"\w+")


def _first_word(node: ast.Syntax, text: str) -> Span:
    """The place of the keyword with which a form or an operation begins."""
    word = _WORD.match(text, node.span.start)
    return node.span if word is None else Span(*word.span())


def parse_by(builder: Builder) -> tuple[ast.Query, list[tuple[int, int]]]:
    """The syntax tree that a builder makes of the query in its text, and the (start, end) of each token.

    Raises:
        HybridkgError: as `parse`, without a source.
        UnexpectedTokenError: the text does not follow the grammar.
    """
    run = _Run(machine(type(builder)), builder.query, builder)  # type: ignore[arg-type]
    return as_query(run.result(), builder.query.source.text), run.tokens


class UnexpectedTokenError(Exception):
    """A token that the parser cannot accept; `parse` turns it into an error with a message."""

    def __init__(self, states: list[int], token: Token):
        super().__init__()
        self.states, self.token = states, token


def where_it_stops(machine: Machine, text: str) -> tuple[int, Token]:
    """The parser's state at the syntax error in a text, and the token that it could not accept.

    Raises:
        ValueError: the text has no syntax error.
    """
    query = read_text(text, "example")
    try:
        _Run(machine, query, Builder(query)).result()
    except UnexpectedTokenError as stop:
        return stop.states[-1], stop.token
    raise ValueError(f"this parses, so it cannot explain an error: {text!r}")


class _Run:
    """One pass over a text: the stacks of an LALR parser, of states and of symbols (SYMBOL items each)."""

    def __init__(self, machine: Machine, query: SourceText, builder: Builder):
        self.machine, self.query, self.builder = machine, query, builder
        self.states = [machine.tables.start]
        self.symbols: list[Any] = []
        self.tokens: list[tuple[int, int]] = []

    def result(self) -> Any:
        query, rows, states = self.query, self.machine.tables.rows, self.states
        lexer = self.machine.lexer(query.text)
        position = nesting = 0
        tokens = self.tokens
        if query.text.startswith("\ufeff"):
            position = 1
        behind_triple = self.machine.behind_triple if type(self.builder) is Builder else -1
        next_token, reduce = lexer.next, self._reduce
        while True:
            if states[-1] == behind_triple:
                position = self._plain_triples(position)
            token = next_token(query, position, rows[states[-1]])
            try:
                if reduce(token):
                    return self.symbols[-SYMBOL]
            except UnexpectedTokenError as stop:
                token = self._less_than(token, stop)
            kind, _, start, position = token
            tokens.append((start, position))
            if kind in BRACKETS:
                nesting += BRACKETS[kind]
                if nesting > MAX_NESTING:
                    raise QueryLimitError(
                        f"brackets are nested more than {MAX_NESTING} deep", span=query.span(start, position)
                    )
            if len(tokens) > MAX_TOKENS:
                raise QueryLimitError(
                    f"the text has more than {MAX_TOKENS:,} words and signs",
                    hint="pass long lists of values as a parameter",
                    span=query.span(start, position),
                )

    def _plain_triples(self, position: int) -> int:
        """Reads the plain triples behind the dot of a triple, as the rules would; returns the place behind them."""
        symbols, tokens = self.symbols, self.tokens
        triples, first, _, depth = symbols[-2 * SYMBOL : -SYMBOL]
        if not self.builder.base and self._is_in_insert_data():
            ground = read_ground_triples(self.query.text, position, MAX_TOKENS - len(tokens))
            if ground is not None:
                triples.append([ground])
                tokens += [(ground.end - 1, ground.end)] * ground.tokens
                return self._behind(triples, first, ground.last, depth, ground.end)
        if not read_plain_triples(self.builder, self.query.text, position, triples, tokens, MAX_TOKENS):
            return position
        return self._behind(triples, first, tokens[-2][1], depth, tokens[-1][1])

    def _behind(self, triples: list[Any], first: int, last: int, depth: int, end: int) -> int:
        """Puts triples and the dot behind them on the stack; returns the place behind it."""
        self.symbols[-2 * SYMBOL :] = (triples, first, last, max(DEPTH, depth))
        self.symbols += (Token(".", ".", end - 1, end), end - 1, end, 0)
        return end

    def _is_in_insert_data(self) -> bool:
        """Whether the open braces are those of INSERT DATA."""
        kinds = [value.type for value in self.symbols[::SYMBOL] if isinstance(value, Token)]
        return any(pair == ("INSERT", "DATA") for pair in pairwise(kinds))

    def _less_than(self, token: Token, stop: UnexpectedTokenError) -> Token:
        """Reads the first sign of `<<` or `<<(` as `<` where no triple may stand: `?x<<http://e/>`.

        Raises:
            UnexpectedTokenError: `stop`, which any other token has raised.
        """
        if not token.type.startswith("<<"):
            raise stop
        shorter = Token("<", "<", token.start, token.start + 1)
        try:
            self._reduce(shorter)
        except UnexpectedTokenError:
            raise stop from None
        return shorter

    def _reduce(self, token: Token) -> bool:
        """Applies the rules that are complete before the token, then shifts it; true at the end of the text."""
        states, symbols, machine, builder = self.states, self.symbols, self.machine, self.builder
        rows, rules, above = machine.tables.rows, machine.rules, machine.states_above
        kind, _, start, end = token
        while True:
            action = rows[states[-1]].get(kind)
            if action is None:
                raise UnexpectedTokenError(states, token)
            if action >= 0:
                states.append(action)
                symbols += (token, start, end, 0)
                return False
            left, size, handler, level = rules[action]
            if handler is None:
                below, top = states[-2], states[-1]
                state = above.get((below, top, kind))
                states[-1] = machine.above_units(below, top, kind) if state is None else state
                continue
            if size == 1:
                value, first, last, depth = symbols[-SYMBOL:]
                symbols[-SYMBOL] = value = handler(builder, [value], first, last)
                if level and isinstance(value, ast.Syntax):
                    symbols[-1] = self._above(depth, first, last)
                states[-1] = rows[states[-2]][left]
            elif size:
                length = -SYMBOL * size
                first, last = symbols[length + 1], symbols[-2]
                value = handler(builder, symbols[length::SYMBOL], first, last)
                depth = max(symbols[length + 3 :: SYMBOL])
                if level and isinstance(value, ast.Syntax):
                    depth = self._above(depth, first, last)
                symbols[length:] = (value, first, last, depth)
                del states[-size:]
                states.append(rows[states[-1]][left])
            else:
                symbols += (handler(builder, [], start, start), start, symbols[-2] if symbols else start, 0)
                states.append(rows[states[-1]][left])
            if kind == END and states[-1] == machine.tables.end:
                return True

    def _above(self, depth: int, start: int, end: int) -> int:
        """The depth of a node over children of a depth."""
        if depth >= MAX_DEPTH:
            raise QueryLimitError(
                f"the text is nested more than {MAX_DEPTH} levels deep",
                hint="write a long chain of '||' over one variable as ?x IN (...) or VALUES",
                span=self.query.span(start, end),
            )
        return depth + 1
