"""LALR(1) tables of the parser: built by Lark from the grammar files, cached as JSON in the user's cache folder.

Lark builds them with `strict=True`, so a conflict in the grammar is an error, in 0.3-0.7 s; reading the cache takes
0.01 s and does not import Lark. The file is plain data, never a pickle: a forged one can only make the parser accept
another language. Without a writable folder the tables are built in each process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hybridkg.resources import cache_dir, resource

START = "query_unit"
GRAMMARS = ("hybrid.lark", "sparql_update.lark", "sparql.lark")
"""The grammar files; each extends the next one."""

FORMAT = 2
"""Version of the layout of the cached file."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of the driver in parser.py.

    Symbols have their names in the grammar; keywords (upper case) and punctuation are named by their own text.

    Args:
        terminals: (name, regular expression), first match wins.
        words: keywords, upper case; and `a`, the only case-sensitive one.
        punctuation: every other terminal in quotes.
        skip: regular expression of white space and comments.
        rules: (name of the builder, left side, length, whether the first symbol is the left side itself).
        rows: for each state, the action for a symbol: go to state n (n >= 0) or apply rule -n - 1.
        start: first state.
        end: the state that accepts at the end of the text.
    """

    terminals: list[tuple[str, str]]
    words: frozenset[str]
    punctuation: list[str]
    skip: str
    rules: list[tuple[str, str, int, bool]]
    rows: list[dict[str, int]]
    start: int
    end: int


@cache
def load() -> Tables:
    """The tables of HybridQL, from the cache or built and then cached."""
    folder = cache_dir()
    path = None if folder is None else folder / f"parser-{_key()}.json"
    if path is not None and (cached := _read(path)) is not None:
        return cached
    data = build(GRAMMARS[0])
    if path is not None:
        _write(path, data)
    return _tables(data)


def _key() -> str:
    parts = [str(FORMAT), version("lark"), f"{sys.version_info[0]}.{sys.version_info[1]}"]
    parts += [
        resource("grammar", name).read_text("utf-8") for name in ("hybrid.lark", "sparql_update.lark", "sparql.lark")
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _read(path: Path) -> Tables | None:
    try:
        return _tables(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, data: dict[str, Any]) -> None:
    """Atomic write: a reader never sees half a file; a cache that cannot be written is no error."""
    import tempfile

    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".parser-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(data, file, ensure_ascii=True, separators=(",", ":"))
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)


def _tables(data: dict[str, Any]) -> Tables:
    return Tables(
        terminals=[(name, pattern) for name, pattern in data["terminals"]],
        words=frozenset(data["words"]),
        punctuation=list(data["punctuation"]),
        skip=str(data["skip"]),
        rules=[(name, left, size, recursive) for name, left, size, recursive in data["rules"]],
        rows=list(data["rows"]),
        start=int(data["start"]),
        end=int(data["end"]),
    )


def build(grammar: str) -> dict[str, Any]:
    """The tables of a grammar file, as plain data.

    Raises:
        lark.exceptions.GrammarError: the grammar has a conflict.
    """
    from lark import Lark
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """Placeholder for lexer.py; Lark's lexer would compile one expression for each parser state."""

        def __init__(self, conf: Any):
            pass

        def lex(self, lexer_state: Any, parser_state: Any) -> Any:
            raise NotImplementedError

    text = resource("grammar", grammar)
    lark = Lark.open(str(text), parser="lalr", strict=True, lexer=NoLexer, start=START, maybe_placeholders=False)
    data = lark.memo_serialize([])[0]
    return _plain(data["parser"]["lexer_conf"], data["rules"], data["parser"]["parser"])


def _plain(lexer: dict[str, Any], rules: list[dict[str, Any]], parser: dict[str, Any]) -> dict[str, Any]:
    symbols = {"$END": "$END"}
    expressions: list[tuple[int, str, str]] = []
    words: list[str] = []
    punctuation: list[str] = []
    for terminal in lexer["terminals"]:
        name, pattern = _own_name(terminal["name"]), terminal["pattern"]
        if pattern["__type__"] == "PatternRE":
            symbols[terminal["name"]] = name
            expressions.append((-terminal["priority"], name, pattern["value"]))
            continue
        symbol = pattern["value"].upper() if "i" in pattern["flags"] else pattern["value"]
        symbols[terminal["name"]] = symbol
        (words if symbol[0].isalpha() else punctuation).append(symbol)
    ignored = {_own_name(name) for name in lexer["ignore"]}
    numbers = {_rule_key(rule): number for number, rule in enumerate(rules)}
    names = {int(number): name for number, name in parser["tokens"].items()}
    states = parser["states"]
    (start,), (end,) = parser["start_states"].values(), parser["end_states"].values()
    return {
        "terminals": [[name, text] for _, name, text in sorted(expressions) if name not in ignored],
        "words": sorted(words),
        "punctuation": sorted(punctuation, key=lambda text: (-len(text), text)),
        "skip": "(?>(?:" + "|".join(text for _, name, text in sorted(expressions) if name in ignored) + ")*)",
        "rules": [_rule(rule) for rule in rules],
        "rows": [
            {
                symbols.get(names[symbol], _own_name(names[symbol])): (
                    target if kind == 0 else -1 - numbers[_rule_key(target)]
                )
                for symbol, (kind, target) in states[state].items()
            }
            for state in range(len(states))
        ],
        "start": start,
        "end": end,
    }


def _own_name(name: str) -> str:
    """The name without the names of grammars, which Lark prefixes to imported symbols."""
    return name.rpartition("__")[2]


def _rule(rule: dict[str, Any]) -> list[Any]:
    left, expansion = rule["origin"]["name"], rule["expansion"]
    recursive = bool(expansion) and expansion[0]["name"] == left
    return [_own_name(rule["alias"] or left), _own_name(left), len(expansion), recursive]


def _rule_key(rule: dict[str, Any]) -> tuple[str, ...]:
    return (rule["origin"]["name"], *(symbol["name"] for symbol in rule["expansion"]))
