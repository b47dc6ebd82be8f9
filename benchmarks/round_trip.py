"""Round trips over the whole grammar: parse(write(q)) == q for random queries and updates of every production.

    python -m benchmarks.round_trip [--texts N] [--seconds S] [--processes P] [--seed N --add]

Texts are random derivations of grammar/hybrid.lark itself, so a new production
is covered when it is written. Of the alternatives of a symbol those used least
are preferred; below a depth only the shortest are. Texts that break a rule
beyond the grammar (an undeclared prefix, a limit) are counted and left.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

from hybridkg.errors import HybridkgError
from hybridkg.query.parser import parse, parse_update
from hybridkg.query.write import write
from hybridkg.resources import resource

SEED = 20261121
PROLOGUE = "PREFIX ex: <http://e/> PREFIX : <http://e/q#> PREFIX match: <urn:m:> "
BASE = "http://b/c/"
SAMPLES = {
    "IRIREF": ["<http://e/p>", "<x>", "<>", "<../é?q#f>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"],
    "PNAME_LN": ["ex:a", ":b", "match:all", "ex:a.b", r"ex:\~%20", "ex:é:1", "ex:0"],
    "PNAME_NS": ["ex:", ":", "match:"],
    "BLANK_NODE_LABEL": ["_:a", "_:b0", "_:a.b-c", "_:0"],
    "VAR1": ["?x", "?y", "?match", "?é", "?0"],
    "VAR2": ["$x", "$text"],
    "LANGTAG": ["@en", "@de-AT", "@EN"],
    "INTEGER": ["0", "7", "007", "99"],
    "DECIMAL": ["1.5", ".5", "0.40"],
    "DOUBLE": ["1e3", ".5E-1", "1.e0"],
    "STRING_LITERAL1": ["''", "'a \"b\"'", r"'\u0041\n\\'", "'+\"x y\" -z'"],
    "STRING_LITERAL2": ['""', '"it\'s"', r'"\t\U0001F600"', '"straße"'],
    "STRING_LITERAL_LONG1": ["''''''", "'''a\n'b''c'''", r"'''\''''"],
    "STRING_LITERAL_LONG2": ['""""""', '"""a\r\n"b""c"""'],
    "NAME": ["label", "title", "bm25f", "on", "as", "Größe", "a-b_1", "k1"],
    "FUSION": ["rrf", "MinMax", "tmm", "zscore"],
    "FILE": ["@params.toml", "@a/b-c", "@x_1"],
}
SAMPLES |= {f"{name}_POSITIVE": ["+" + text for text in SAMPLES[name]] for name in ("INTEGER", "DECIMAL", "DOUBLE")}
SAMPLES |= {f"{name}_NEGATIVE": ["-" + text for text in SAMPLES[name]] for name in ("INTEGER", "DECIMAL", "DOUBLE")}

STARTS = [
    ("query_unit", "", ""),
    ("expression", "SELECT (", "AS ?r ) { }"),
    ("path", "SELECT * { ?s", "?o }"),
    ("order_clause", "SELECT * { }", ""),
    ("operation", "", ""),
]
"""Where a text starts, with what stands around it: deep symbols are rare in texts that start at the top."""

MORE_DEPTH = (2, 8, 14, 20)
"""How much deeper than the shortest text a text may be; an expression alone has 12 levels."""

Production = tuple[str, tuple[str, ...], str]
"""(left side, right side, name of the builder)."""


@dataclass(frozen=True, eq=False)
class Grammar:
    """The productions, by left side, with the depth of the shallowest text of each symbol."""

    productions: dict[str, list[Production]]
    terminals: dict[str, list[str]]
    depth: dict[str, int]

    def all(self) -> Iterator[Production]:
        """Every production."""
        for alternatives in self.productions.values():
            yield from alternatives


@cache
def grammar() -> Grammar:
    """The grammar as Lark reads it."""
    from lark import Lark

    lark = Lark.open(str(resource("grammar", "hybrid.lark")), parser="lalr", lexer="basic", start="query_unit",
                     maybe_placeholders=False)  # fmt: skip
    productions: dict[str, list[Production]] = {}
    for rule in lark.rules:
        left = _own(rule.origin.name)
        right = tuple(_own(symbol.name) for symbol in rule.expansion)
        productions.setdefault(left, []).append((left, right, _own(rule.alias or rule.origin.name)))
    terminals = {}
    for terminal in lark.terminals:
        name = _own(terminal.name)
        is_word = terminal.pattern.type == "str"
        terminals[name] = [terminal.pattern.value] if is_word else SAMPLES.get(name, [])
    return Grammar(productions, terminals, _depths(productions, terminals))


def _own(name: str) -> str:
    return str(name).rpartition("__")[2]


def _depths(productions: dict[str, list[Production]], terminals: dict[str, list[str]]) -> dict[str, int]:
    depth = dict.fromkeys(terminals, 0)
    changed = True
    while changed:
        changed = False
        for left, alternatives in productions.items():
            known = [
                1 + max((depth[s] for s in right), default=0)
                for _, right, _ in alternatives
                if all(s in depth for s in right)
            ]
            if known and min(known) < depth.get(left, 10**9):
                depth[left] = min(known)
                changed = True
    return depth


class Writer:
    """Random texts of the grammar."""

    def __init__(self, seed: int):
        self.grammar = grammar()
        self.random = random.Random(seed)
        self.used: Counter[Production] = Counter()

    def text(self) -> tuple[str, list[Production]]:
        """A text and the productions that it is made of."""
        made: list[Production] = []
        symbol, before, after = self.random.choice(STARTS)
        room = self.grammar.depth[symbol] + self.random.choice(MORE_DEPTH)
        words = [*before.split(), *self._derive(symbol, room, made), *after.split()]
        front = 0
        if words[:1] == ["EXPLAIN"]:
            front = 2 if words[1:2] == ["ANALYZE"] else 1
        return " ".join([*words[:front], PROLOGUE, *words[front:]]), made

    def _derive(self, symbol: str, room: int, made: list[Production]) -> Iterator[str]:
        if symbol in self.grammar.terminals:
            yield self.random.choice(self.grammar.terminals[symbol])
            return
        production = self._choose(self.grammar.productions[symbol], room)
        made.append(production)
        self.used[production] += 1
        for part in production[1]:
            yield from self._derive(part, room - 1, made)

    def _choose(self, alternatives: Sequence[Production], room: int) -> Production:
        if len(alternatives) == 1:
            return alternatives[0]
        depths = [max((self.grammar.depth[s] for s in right), default=0) for _, right, _ in alternatives]
        possible = [a for a, depth in zip(alternatives, depths, strict=True) if depth < room]
        if not possible:
            possible = [a for a, depth in zip(alternatives, depths, strict=True) if depth == min(depths)]
        weights = [(0.3 if a[0] in a[1] else 1) / (1 + self.used[a]) ** 0.5 for a in possible]
        return self.random.choices(possible, weights)[0]


def rounds(seed: int, texts: int, seconds: float) -> dict[str, Any]:
    """Round trips by one process.

    Raises:
        AssertionError: a text comes back as another query; the text is in the message.
    """
    writer, reached, refused = Writer(seed), Counter[Production](), Counter[str]()
    ended = time.monotonic() + seconds
    tried = queries = characters = 0
    while queries < texts and time.monotonic() < ended:
        text, made = writer.text()
        tried += 1
        read = parse_update if any(left == "operation" for left, _, _ in made) else parse
        try:
            query = read(text, base=BASE)
        except HybridkgError as e:
            refused[f"{e.code} {e.message[:40]}"] += 1
            continue
        reached.update(made)
        try:
            same = read(write(query)) == query
        except HybridkgError as e:
            raise AssertionError(f"cannot be read again ({e.message}): {text!r}") from e
        assert same, f"another query comes back: {text!r}"
        queries += 1
        characters += len(text)
    return {"tried": tried, "queries": queries, "characters": characters, "reached": reached, "refused": refused}


def unreached(reached: Counter[Production]) -> list[str]:
    """The productions that no accepted text used."""
    return [f"{left}: {' '.join(right)}" for left, right, name in grammar().all() if not reached[left, right, name]]


def main() -> None:
    """Runs and records."""
    from benchmarks.record import RESULTS, record

    options = argparse.ArgumentParser(description="round trips over the whole grammar")
    options.add_argument("--texts", type=int, default=1_000_000)
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--add", action="store_true", help="keep the stored runs of other seeds, and add this one")
    chosen = options.parse_args()
    started = time.monotonic()
    share = -(-chosen.texts // chosen.processes)
    with ProcessPoolExecutor(chosen.processes) as pool:
        runs = [pool.submit(rounds, chosen.seed + i, share, chosen.seconds) for i in range(chosen.processes)]
        done = [run.result() for run in runs]
    reached = sum((run["reached"] for run in done), Counter())
    refused = sum((run["refused"] for run in done), Counter())
    figures = {
        "seed": chosen.seed,
        "asked_for": chosen.texts,
        "queries": sum(run["queries"] for run in done),
        "texts": sum(run["tried"] for run in done),
        "characters": sum(run["characters"] for run in done),
        "seconds": round(time.monotonic() - started),
        "processes": chosen.processes,
        "productions": len(list(grammar().all())),
        "unreached": unreached(reached),
        "refused_by_rules_beyond_the_grammar": dict(refused.most_common(12)),
    }
    stored = json.loads((RESULTS / "round_trip.json").read_text())["runs"] if chosen.add else []
    every = [run for run in stored if run["seed"] != chosen.seed] + [figures]
    record("round_trip", {"queries": sum(run["queries"] for run in every), "runs": every}, seed=chosen.seed)


if __name__ == "__main__":
    main()
