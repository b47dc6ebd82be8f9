"""Incremental reading of unfinished text by the parser's tables.

The driver only moves states: it builds no tree, and a mistake is an offset, not an error. Completion, the decision of
Enter to submit, and the end of a query in a file all depend on the symbols that are legal at that offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from hybridkg.errors import HybridkgError, SourceName
from hybridkg.query.diagnostics.expected import advance
from hybridkg.query.lexer import END, Token
from hybridkg.query.parser import machine
from hybridkg.query.source import SourceText, read_text

NO_PARSER: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Reading:
    """The readable prefix of a text.

    Args:
        tokens: tokens that the parser accepted, with offsets in the text as written.
        states: the parser's stack after them.
        end: offset after the last of them.
        stopped: the first token that the parser does not accept, if any.
        failed: offset at which no token starts, as in a string without its second quote, if any.
        complete: whether the text is a whole query.
    """

    tokens: tuple[Token, ...]
    states: tuple[int, ...]
    end: int = 0
    stopped: Token | None = None
    failed: int | None = None
    complete: bool = False

    @property
    def open(self) -> bool:
        """Whether more text could complete the query."""
        return not self.complete and self.stopped is None and self.failed is None


@lru_cache(maxsize=16)
def read(text: str) -> Reading:
    """Reads a text up to its first mistake.

    >>> read("SELECT * {").open, read("SELECT * {}").complete, read("SELECT }").stopped.text
    (True, True, '}')
    """
    try:
        query = read_text(text, "query")
    except HybridkgError:
        return Reading((), (machine().tables.start,), failed=0)
    return _read(query, 0)


def _read(query: SourceText, position: int) -> Reading:
    tables = machine().tables
    lexer, skip = machine().lexer(query.text), re.compile(tables.skip)
    states, tokens = [tables.start], list[Token]()
    if position == 0 and query.text.startswith("\ufeff"):
        position = 1
    end = position
    while True:
        here = query.span(end, end).end
        try:
            token = lexer.next(query, position, tables.rows[states[-1]])
        except HybridkgError:
            skipped = skip.match(query.text, position)
            start = query.span(position if skipped is None else skipped.end(), position).start
            return Reading(tuple(tokens), tuple(states), here, failed=start)
        trial = states.copy()
        taken = advance(tables, trial, token.type)
        if token.type == END:
            return Reading(tuple(tokens), tuple(states), here, complete=taken)
        place = query.span(token.start, token.end)
        position = end = token.end
        token = Token(token.type, token.text, place.start, place.end)
        if not taken:
            return Reading(tuple(tokens), tuple(states), here, stopped=token)
        states = trial
        tokens.append(token)


@cache
def symbols_of_states() -> tuple[str, ...]:
    """The symbol, a token or a rule, that leads into each state."""
    tables = machine().tables
    symbols = [""] * len(tables.rows)
    for row in tables.rows:
        for symbol, action in row.items():
            if action >= 0:
                symbols[action] = symbol
    return tuple(symbols)


def path(states: tuple[int, ...]) -> list[str]:
    """The symbols on the parser's stack, outermost first: `[..., "ON", "("]` before the first field."""
    names = symbols_of_states()
    return [names[state] for state in states[1:]]


def all_tokens(text: str) -> list[Token]:
    """Every token up to the first offset where none starts; after a mistake, without context of the parser."""
    reading = read(text)
    tokens = list(reading.tokens)
    if reading.stopped is None:
        return tokens
    tokens.append(reading.stopped)
    query, lexer = SourceText(SourceName("query", text), text), machine().lexer(text)
    position = reading.stopped.end
    while True:
        try:
            token = lexer.next(query, position, NO_PARSER)
        except HybridkgError:
            return tokens
        if token.type == END:
            return tokens
        tokens.append(token)
        position = token.end


def declared(tokens: list[Token]) -> dict[str, str]:
    """The prefixes that a query declares, without their colons."""
    return {
        name.text[:-1]: iri.text[1:-1]
        for keyword, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if (keyword.type, name.type, iri.type) == ("PREFIX", "PNAME_NS", "IRIREF")
    }


def undeclared(text: str) -> list[str]:
    """The prefixes that a query uses without declaring them, in the order of their first use.

    >>> undeclared("PREFIX a: <http://a/> SELECT * { ?x a:p b:q, rdfs:Class }")
    ['b', 'rdfs']
    """
    tokens = all_tokens(text)
    own = declared(tokens)
    used = [token.text.partition(":")[0] for token in tokens if token.type in ("PNAME_LN", "PNAME_NS")]
    return [name for name in dict.fromkeys(used) if name not in own]


def in_comment(text: str) -> bool:
    """Whether the text ends inside a comment."""
    reading = read(text)
    if reading.stopped is not None or reading.failed is not None:
        return False
    return "#" in text[max(reading.end, text.rfind("\n") + 1) :]


COMMAND_LINE = re.compile(r"\.[A-Za-z?]")
"""Start of a dot command; no query starts with a dot."""

WORDS = {"quit": ".quit", "exit": ".quit", "help": ".help"}
"""Words of other prompts, each on a line of its own; no query is a single word."""

WORD_LINE = re.compile(rf"(?P<word>{'|'.join(WORDS)})[ \t]*;?[ \t\r]*(?=\n|\Z)", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """A query or a dot command inside a longer text, with the offset of its first character."""

    text: str
    start: int


def statements(text: str) -> Iterator[Statement]:
    """The queries and dot commands of a file, one by one.

    A query ends before the first line that cannot belong to it and is a dot command, a word such as `exit`, or can
    start another query. A malformed query ends at a blank line, at such a word, at a line that begins another query
    (`_end_after_mistake`), or after a ";" of SQL at the end of a line.

    >>> [s.text for s in statements("SELECT * {}\\nLIMIT 1\\n.limit 5\\nASK {}")]
    ['SELECT * {}\\nLIMIT 1', '.limit 5', 'ASK {}']
    >>> [s.text for s in statements("SELECT * {} LIMIT 1;\\nASK { ?s ?p ?o ;\\n }")]
    ['SELECT * {} LIMIT 1;', 'ASK { ?s ?p ?o ;\\n }']
    >>> [s.text for s in statements("SELECT * { ?x MACTH 'a' } LIMIT 1\\nASK {}")]
    ["SELECT * { ?x MACTH 'a' } LIMIT 1", 'ASK {}']
    >>> [s.text for s in statements("SELECT * {\\nexit\\nASK {}")]
    ['SELECT * {', 'exit', 'ASK {}']
    """
    query = SourceText(SourceName("file", text), text)
    skip = re.compile(machine().tables.skip)
    position = 1 if text.startswith("\ufeff") else 0
    while True:
        skipped = skip.match(text, position)
        start = position if skipped is None else skipped.end()
        if start >= len(text):
            return
        if WORD_LINE.match(text, start):
            position = _line_end(text, start)
        elif COMMAND_LINE.match(text, start):
            position = _end_of_command(query, start)
        else:
            position = _end_of_query(query, start)
        yield Statement(text[start:position].rstrip(" \t\r\n"), start)


QUERY_COMMAND = re.compile(r"\.(?:explain|analyze|update)\s+", re.IGNORECASE)
"""Start of a command whose argument is a query or an update, which may have several lines."""


def _end_of_command(query: SourceText, start: int) -> int:
    line_end = _line_end(query.text, start)
    match = QUERY_COMMAND.match(query.text, start)
    return line_end if match is None or match.end() >= line_end else _end_of_query(query, match.end())


def _end_of_query(query: SourceText, start: int) -> int:
    text = query.text
    reading = _read(query, start)
    if reading.stopped is None and reading.failed is None:
        return len(text)
    at = reading.failed if reading.stopped is None else reading.stopped.start
    assert at is not None  # one of the two is not None
    return _before_word(text, start, at, _end_of_wrong(query, start, reading, at))


def _before_word(text: str, start: int, at: int, end: int) -> int:
    """The end of a query with a mistake at `at`, or the first line from there on that is a word outside strings."""
    for match in WORD_LINE.finditer(text, at, end):
        here = match.start("word")
        if text[text.rfind("\n", 0, here) + 1 : here].strip():
            continue
        if not any(one.start() < here < one.end() for one in _BRACES.finditer(text, start, end)):
            return here
    return end


def _end_of_wrong(query: SourceText, start: int, reading: Reading, at: int) -> int:
    text, tables = query.text, machine().tables
    if (
        text[at : at + 1] == ";"
        and not text[at + 1 : _line_end(text, at)].strip()
        and advance(tables, list(reading.states), END)
    ):
        return at + 1
    first_on_line = not text[text.rfind("\n", 0, at) + 1 : at].strip()
    starts_another = COMMAND_LINE.match(text, at) is not None or (
        reading.stopped is not None and reading.stopped.type in tables.rows[tables.start]
    )
    if at > start and first_on_line and starts_another:
        whole = advance(tables, list(reading.states), END)
        if whole or _BLANK_LINE.search(text, reading.end, at):
            return at
    return _end_after_mistake(query, start, at)


def _end_after_mistake(query: SourceText, start: int, at: int) -> int:
    """The end of a query with a mistake at `at`.

    It is a blank line, a dot command, or a line that begins another query: after the last closing brace, or, if braces
    stay open, if a whole query begins there and ends at the end of a statement.
    """
    text, tried, depth, opened = query.text, 0, 0, False
    braces = _BRACES.finditer(text, start)
    brace = next(braces, None)
    before = text.rfind("\n", 0, at)  # a mistake that is the first token of its line may begin the other query
    for match in _BREAK.finditer(text, max(start + 1, at if text[before + 1 : at].strip() else before)):
        here, inside = match.end(), False
        if match["start"] is None:
            return match.start()
        while brace is not None and brace.start() < here:
            opened = opened or brace[0] == "{"
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            inside = brace.end() > here
            brace = next(braces, None)
        if inside or not opened:
            continue  # inside a string; or a SELECT after its own malformed PREFIX line
        tried += 1
        if depth <= 0 or (tried <= MAX_TRIED and _is_whole(query, here)):
            return match.start()
    return len(text)


def _is_whole(query: SourceText, start: int) -> bool:
    """Whether a query from `start` ends at the end of the text, at a blank line, or before another statement."""
    text, tables = query.text, machine().tables
    reading = _read(query, start)
    if reading.stopped is None:
        return reading.complete
    at = reading.stopped.start
    between = text[reading.end : at]
    begins = "\n" in between and (reading.stopped.type in tables.rows[tables.start] or COMMAND_LINE.match(text, at))
    return bool(begins or _BLANK_LINE.search(between)) and advance(tables, list(reading.states), END)


MAX_TRIED = 32
"""Lines after one mistake that are tried as the beginning of a query, which takes a reading each."""

_BRACES = re.compile(
    r'"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|<[^<>"{}|^`\\\s]*>|#[^\n]*|[{}]'
)
"""Braces, and the strings, IRIs and comments that may contain other braces."""

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_BREAK = re.compile(
    r"\n[ \t\r]*(?=\n)|\n(?=\.[A-Za-z?])"
    r"|\n(?P<start>[ \t]*)(?=(?:SELECT|CONSTRUCT|DESCRIBE|ASK|PREFIX|BASE|EXPLAIN)\b)",
    re.IGNORECASE,
)


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return len(text) if found < 0 else found
