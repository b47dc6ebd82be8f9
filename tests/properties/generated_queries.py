"""Plain queries over the graphs of generated_fragments: aggregates, HAVING, orders, DISTINCT, slices, BIND; ASK,
CONSTRUCT and DESCRIBE.
"""

from __future__ import annotations

import re
from random import Random

import pyoxigraph as ox
from generated_fragments import Maker

NAMES = ("a", "b", "c", "x", "y", "p")
AGGREGATES = [
    "COUNT(*)", "COUNT(?{v})", "COUNT(DISTINCT ?{v})", "SUM(?{v})", "AVG(?{v})", "MIN(?{v})", "MAX(?{v})",
    "SUM(DISTINCT ?{v})", "COUNT(?{v} + 1)", "MIN(STR(?{v}))", "SUM(STRLEN(STR(?{v})))", "MAX(?{v}) + COUNT(*)",
    "COUNT(DISTINCT *)", "AVG(STRLEN(STR(?{v})) / 3)",
]  # fmt: skip
IRIS = (":a", ":b", ":p", ":absent")
EXPRESSIONS = [
    "STR(?{v})", "?{v} + 1", "?{v} + ?{u}", "IF(BOUND(?{v}), ?{v}, ?{u})", "DATATYPE(?{v})", "STRLEN(STR(?{v}))",
    "CONCAT(STR(?{v}), STR(?{u}))", "?{v} = ?{u}", "isIRI(?{v})", "COALESCE(?{v}, 7)",
]  # fmt: skip
TESTS = [
    "STRLEN(STR(?{v})) > 1", "?{v} < ?{u}", "?{v} = ?{u}", "STR(?{v}) != STR(?{u})", "?{v} * 2 > ?{u} + 1",
    "STR(?{v}) < STR(?{u})", "!(STR(?{v}) >= STR(?{u}))", "?{v} != ?{u}",
    "BOUND(?{v}) || BOUND(?{u})",
]  # fmt: skip


class QueryMaker(Maker):
    """Draws whole queries."""

    def select(self, depth: int = 1) -> str:
        body = self.where(depth)
        kind = self.choose(["plain", "plain", "grouped", "grouped", "whole"])
        if kind == "plain":
            return self.plain(body)
        return self.grouped(body, [] if kind == "whole" else self.some(self.key, 1, 2))

    def where(self, depth: int) -> str:
        parts = [self.body(1) if self.one_in(3) else " ".join(self.some(self.triple, 1, 3))]
        if self.one_in(5):
            parts.append(f"BIND({self.expression()} AS ?{self.choose(['n', 'm'])})")
        if self.one_in(6):
            parts.append(f"FILTER({self.filled(self.choose(TESTS))})")
        if depth and self.one_in(6):
            parts.insert(self.choose([0, len(parts)]), f"{{ {self.select(depth - 1)} }}")
        return " ".join(parts)

    def plain(self, body: str) -> str:
        shown = [f"?{name}" for name in self.some(lambda: self.choose([*NAMES, "n", "never"]), 1, 3)]
        shown = list(dict.fromkeys(shown))
        if self.one_in(4):
            shown.append(f"({self.expression()} AS ?made)")
        what = "*" if self.one_in(6) else " ".join(shown)
        order = [f"?{name}" for name in NAMES] + [f"({self.expression()})"]
        return f"SELECT {self.choose(['', '', 'DISTINCT '])}{what} {{ {body} }}{self.modifiers(order)}"

    def grouped(self, body: str, keys: list[str]) -> str:
        names = [key if key.startswith("?") else key.split(" AS ")[1].rstrip(")") for key in keys]
        names = [name for name in dict.fromkeys(names) if not self.one_in(5)]
        made = [f"({self.aggregate()} AS ?g{n})" for n in range(self.choose([0, 1, 1, 2] if names else [1, 2]))]
        group = f" GROUP BY {' '.join(keys)}" if keys else ""
        having = f" HAVING ({self.aggregate()} > {self.choose('012')})" if self.one_in(4) else ""
        order = [*names, *(f"?g{n}" for n in range(len(made)))]
        shown = " ".join([*names, *made]) or "(COUNT(*) AS ?g)"
        distinct = self.choose(["", "", "DISTINCT "])
        return f"SELECT {distinct}{shown} {{ {body} }}{group}{having}{self.modifiers(order)}"

    def modifiers(self, order: list[str]) -> str:
        text = ""
        if order and self.one_in(2):
            wrap = [key if key.startswith("(") else f"({key})" for key in self.some(lambda: self.choose(order), 1, 2)]
            text = " ORDER BY " + " ".join(self.choose(["ASC", "DESC"]) + key for key in wrap)
        if self.one_in(3):
            text += f" LIMIT {self.choose(range(5))}"
        if self.one_in(6):
            text += f" OFFSET {self.choose(range(3))}"
        return text

    def key(self) -> str:
        return f"({self.expression()} AS ?k)" if self.one_in(5) else f"?{self.choose(NAMES)}"

    def expression(self) -> str:
        return self.filled(self.choose(EXPRESSIONS))

    def aggregate(self) -> str:
        return self.filled(self.choose(AGGREGATES))

    def filled(self, text: str) -> str:
        return text.format(v=self.choose(NAMES), u=self.choose(NAMES))

    # --- the forms without columns -----------------------------------------------------

    def form(self) -> str:
        """ASK, CONSTRUCT, DESCRIBE, or SELECT REDUCED; most have solutions, and the variables of their patterns."""
        kind = self.choose(["ask", "construct", "construct", "construct", "describe", "describe", "reduced"])
        body = self.where(1) if self.one_in(3) else self.plain_where()
        names = sorted(set(re.findall(r"\?\w+", body)) or {"?a"})
        if kind == "ask":
            return f"ASK {{ {body} }}"
        if kind == "reduced":
            return f"SELECT REDUCED * {{ {body} }}"
        if kind == "describe":
            subjects = self.some(lambda: self.choose([*names, *names, *IRIS]), 1, 2)
            where = "" if self.one_in(2) and not any("?" in one for one in subjects) else f" {{ {body} }}"
            return f"DESCRIBE {'*' if where and self.one_in(4) else ' '.join(subjects)}{where}"
        template = " ".join(self.some(lambda: self.instance(names), 0 if self.one_in(9) else 1, 3))
        ordered = f" ORDER BY {self.choose(names)}" if self.one_in(5) else ""
        return f"CONSTRUCT {{ {template} }} WHERE {{ {body} }}{ordered}"

    def plain_where(self) -> str:
        """Triples of variables, which have solutions in most graphs, perhaps with an OPTIONAL or a UNION."""
        parts = self.some(self.plain_triple, 1, 2)
        if self.one_in(3):
            parts.append(f"OPTIONAL {{ {self.plain_triple()} }}")
        if self.one_in(4):
            parts.append(f"{{ {self.plain_triple()} }} UNION {{ {self.plain_triple()} }}")
        return " ".join(parts)

    def plain_triple(self) -> str:
        predicate = self.choose([":p", ":p", ":q", ":r", ":v", "?p"])
        return f"?{self.choose('abc')} {predicate} ?{self.choose('abcxy')} ."

    def instance(self, names: list[str]) -> str:
        """A triple of a template, perhaps with a blank node, or with terms that are no triple in some solutions."""
        subject = self.choose([*names, *names, "_:b", "[]", ":a"])
        predicate = self.choose([*names, ":made", ":made", ":p"])
        target = self.choose([*names, *names, "_:b", ":a", "1", '"01"^^xsd:integer', '"x"@en', "?never"])
        return f"{subject} {predicate} {target} ."


def form(seed: int) -> tuple[list[ox.Triple], str]:
    """(graph, text) of a seed, of a query that is no plain SELECT."""
    maker = QueryMaker(Random(seed).choice)
    return [*maker.graph(), *maker.graph()], maker.form()


def query(seed: int) -> tuple[list[ox.Triple], str]:
    """(graph, text) of a seed."""
    maker = QueryMaker(Random(seed).choice)
    return maker.graph(), maker.select()
