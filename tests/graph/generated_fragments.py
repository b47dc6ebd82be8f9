"""Groups and graphs: small, with every kind of value and of pattern, and with many coincidences.

One maker for both ways to choose: hypothesis, which shrinks what fails, and a seeded random.Random, which is fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import pyoxigraph as ox
from hypothesis import strategies as st

T = TypeVar("T")

E = "http://e/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROLOGUE = f"PREFIX : <{E}> PREFIX xsd: <{XSD}>\n"
NODES: list[ox.NamedNode | ox.BlankNode] = [*(ox.NamedNode(E + name) for name in "abcd"), ox.BlankNode("x")]


def typed(name: str, *texts: str) -> list[ox.Literal]:
    return [ox.Literal(text, datatype=ox.NamedNode(XSD + name)) for text in texts]


VALUES = [
    *typed("integer", "1", "2", "01", "-3", "2147483648", "99999999999999999999", "one"),
    *typed("byte", "1"),
    *typed("decimal", "1.0", "2.5", "0.000000000000000001"),
    *typed("double", "1", "2.5e0", "NaN", "INF", "-0.0", "0"),
    *typed("float", "2.5", "NaN"),
    *typed("boolean", "true", "0", "yes"),
    *typed(
        "dateTime", "2001-02-03T04:05:06", "2001-02-03T04:05:06Z", "2001-02-03T14:00:00+14:00", "2001-13-01T00:00:00"
    ),
    *typed("date", "2001-02-03", "2001-02-03Z"),
    *typed("duration", "P1Y", "P12M"),
    *typed("time", "01:02:03"),
    *(ox.Literal(text) for text in ("", "a", "ab", "b", "1", "é")),
    ox.Literal("a", language="en"),
    ox.Literal("ab", language="EN-gb"),
    ox.Literal("a", datatype=ox.NamedNode(E + "type")),
    ox.Literal("b", datatype=ox.NamedNode(E + "type")),
]


CONSTANTS = [*map(str, VALUES), ":a", ":p", ":v", ":absent", "-1", "- 1", "+2.5", "- 2.5e0", "true", "3", '"zz"']
CELLS = [*map(str, VALUES), ":a", ":b", ":c", ":p", ":v", ":absent", "UNDEF", "1", "2"]
LINKS = [":p", ":q", ":r", ":v", ":w", ":absent"]
NODE_SLOTS = ["?a", "?b", "?c", "?a", "?b", "?c", ":a", ":b", ":absent", "_:z", "[]"]
VALUE_SLOTS = ["?x", "?y", "?x", "?y", "?a", *CONSTANTS[:6], CONSTANTS[-1]]
PREDICATES = ["?p", "?p", "?p", "?q", "?a", "?b", "?x"]
"""Variable predicates; rarely one that is a node or a value elsewhere."""

OPERATORS = ["=", "!=", "<", ">", "<=", ">="]
CONDITIONS = [
    "{v} {op} {c}",
    "{v} {op} {c}",
    "{c} {op} {v}",
    "{v} {op} {u}",
    "{v} IN ({c}, {d})",
    "{v} NOT IN ({c}, {d})",
    "{v} NOT IN ({c}, {u})",
    "{v} IN ({c}, {u} + 1)",
    "CONTAINS({v}, {c})",
    "STRSTARTS({v}, {c})",
    "STRENDS({v}, {c})",
    "CONTAINS(STR({v}), {c})",
    "sameTerm({v}, {u})",
    "!sameTerm({v}, {u})",
    "sameTerm({v}, {c})",
    "BOUND({v})",
    "!BOUND({v})",
    "isIRI({v})",
    "isBLANK({v})",
    "isLITERAL({v})",
    "isNUMERIC({v})",
    'LANG({v}) = ""',
    'STR({v}) = "a"',
    'STRSTARTS(STR({v}), "http://e/")',
    'STR({v}) > "http://e/p"',
    'UCASE({v}) != "A"',
    'langMatches(lang({v}), "*")',
    "DATATYPE({v}) = xsd:integer",
    'REGEX({v}, "^a")',
    "{v} + 1 > {c}",
    "- {v} < {c}",
    "COALESCE({v}, 1) = 1",
    "IF(BOUND({v}), {v} > 1, true)",
    "xsd:integer({v}) = 1",
    "{v}",
    "{v} = {v}",
    "{v} + {u} > 2",
    "RAND() >= 0",
]


class Maker:
    """Draws texts.

    Args:
        choose: one of some things, each about as likely as the others.
    """

    def __init__(self, choose: Callable[[Sequence[T]], T]):
        self.choose = choose

    def some(self, make: Callable[[], T], low: int, high: int) -> list[T]:
        return [make() for _ in range(self.choose(range(low, high + 1)))]

    def one_in(self, n: int) -> bool:
        return self.choose(range(n)) == n - 1

    def graph(self) -> list[ox.Triple]:
        return self.some(self.graph_triple, 0, 18)

    def graph_triple(self) -> ox.Triple:
        subject = self.choose(NODES)
        if self.one_in(8):
            subject = ox.NamedNode(E + self.choose("pv"))  # a predicate that is a node
        if self.one_in(3):
            return ox.Triple(subject, ox.NamedNode(E + self.choose("vwp")), self.choose(VALUES))
        target = ox.NamedNode(E + self.choose("pqv")) if self.one_in(8) else self.choose(NODES)
        return ox.Triple(subject, ox.NamedNode(E + self.choose("pqr")), target)

    # --- patterns ----------------------------------------------------------------

    def path(self, depth: int) -> str:
        kind = self.choose(["link", "link", "sequence", "alternative", "inverse", "repeat"]) if depth else "link"
        if kind == "link":
            return self.choose(LINKS[:-1]) if not self.one_in(8) else LINKS[-1]
        inner = self.path(depth - 1)
        if kind == "sequence":
            return f"({inner}/{self.path(depth - 1)})"
        if kind == "alternative":
            return f"({inner}|{self.path(depth - 1)})"
        return f"(^{inner})" if kind == "inverse" else f"({inner}{self.choose('?*+')})"

    def triple(self) -> str:
        kind = self.choose(["node", "node", "node", "value", "value", "path", "path of values", "any", "odd"])
        subject = self.choose(NODE_SLOTS)
        if kind == "value":
            return f"{subject} {self.choose([':v', ':w', ':p'])} {self.choose(VALUE_SLOTS)} ."
        if kind == "any":
            return f"{subject} {self.choose(PREDICATES)} {self.choose([*NODE_SLOTS, *VALUE_SLOTS, '?p'])} ."
        if kind == "path":
            return f"{subject} {self.path(3)} {self.choose(NODE_SLOTS)} ."
        if kind == "path of values":
            return f"{self.choose(VALUE_SLOTS)} {self.path(2)} {self.choose(VALUE_SLOTS)} ."
        if kind == "odd" and self.one_in(4):
            return self.choose(["GRAPH :g { ?a :p ?b }", "BIND(1 AS ?new)", "?a !:p ?b ."])
        return f"{subject} {self.choose(LINKS[:3])} {self.choose(NODE_SLOTS)} ."

    def values(self) -> str:
        if self.one_in(2):
            rows = self.some(lambda: f"({self.choose(CELLS)} {self.choose(CELLS)})", 0, 3)
            return f"VALUES ({self.choose(['?a ?x', '?b ?y', '?a ?b', '?p ?a'])}) {{ {' '.join(rows)} }}"
        cells = self.some(lambda: self.choose(CELLS), 0, 3)
        return f"VALUES {self.choose(['?a', '?x', '?c', '?p'])} {{ {' '.join(cells)} }}"

    def condition(self, names: list[str], depth: int = 2) -> str:
        if depth and self.one_in(4):
            inner = self.condition(names, depth - 1)
            if self.one_in(3):
                return f"!({inner})"
            return f"({inner}) {self.choose(['&&', '||'])} ({self.condition(names, depth - 1)})"
        v = self.choose(names)
        u = self.choose(names) if self.one_in(3) else v
        c, d = self.choose(CONSTANTS), self.choose(CONSTANTS)
        return self.choose(CONDITIONS).format(v=v, u=u, c=c, d=d, op=self.choose(OPERATORS))

    def filter(self, body: str) -> str:
        names = sorted(set(re.findall(r"\?[abcxypq]\b", body))) or ["?a"]
        return f"FILTER({self.condition([*names, '?y'] if self.one_in(12) else names)})"

    def body(self, depth: int, most: int = 3) -> str:
        """What stands in a group."""
        parts = self.some(lambda: self.element(depth), 1, most)
        if not self.one_in(8):
            parts.insert(0, self.triple())
        text = "\n".join(parts)
        filters = self.some(lambda: self.filter(text), 0, 2) if self.one_in(2) else []
        return "\n".join([text, *filters])

    def element(self, depth: int) -> str:
        if not depth or self.one_in(2):
            return self.values() if self.one_in(6) else self.triple()
        body = self.body(depth - 1, 2)
        match self.choose(["optional", "optional", "alone", "minus", "group", "union", "exists", "exists", "select"]):
            case "optional":
                return f"OPTIONAL {{ {body} }}"
            case "alone":
                return f"OPTIONAL {{ {self.choose(['?a :v', '?b :w'])} ?x }} FILTER(!BOUND(?x))"
            case "minus":
                return f"MINUS {{ {body} }}"
            case "group":
                return f"{{ {body} }}"
            case "union":
                return f"{{ {body} }} UNION {{ {self.body(depth - 1, 2)} }}"
            case "exists":
                word = self.choose(["FILTER EXISTS", "FILTER NOT EXISTS", "FILTER(!EXISTS"])
                return f"{word} {{ {body} }}{')' if '(' in word else ''}"
            case _:
                shown = self.choose(["?a", "?a ?x", "*", "?b ?c", "?p ?b", "(COUNT(*) AS ?n)"])
                return f"{{ SELECT {self.choose(['', 'DISTINCT '])}{shown} {{ {body} }} }}"


@st.composite
def cases(draw: Callable[[st.SearchStrategy[T]], T]) -> tuple[list[ox.Triple], str]:
    """(graph, text of a group) that shrink."""
    maker = Maker(lambda options: draw(st.sampled_from(options)))
    return maker.graph(), maker.body(2)


def case(seed: int) -> tuple[list[ox.Triple], str]:
    """The same by a seed."""
    maker = Maker(Random(seed).choice)
    return maker.graph(), maker.body(2)
