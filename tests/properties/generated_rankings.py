"""Hybrid queries and graphs: small, with every shape that a strategy may meet, and with many ties.

One maker for both ways to choose: hypothesis, which shrinks what fails, and a seeded random.Random, which is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import pyoxigraph as ox
from hypothesis import strategies as st

T = TypeVar("T")

E = "http://e/"
PROLOGUE = f"PREFIX : <{E}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"

TEXTS: dict[ox.NamedNode | ox.BlankNode, tuple[str, str]] = {
    ox.BlankNode("x"): ("red fish", ""),
    ox.BlankNode("z"): ("red boat", "blue"),
    ox.NamedNode(E + "a"): ("red fish", ""),
    ox.NamedNode(E + "b"): ("red fish", ""),
    ox.NamedNode(E + "c"): ("red red boat", "fish"),
    ox.NamedNode(E + "d"): ("blue boat", "red"),
    ox.NamedNode(E + "e"): ("blue boat", "red"),
    ox.NamedNode(E + "f"): ("green fish boat", ""),
    ox.NamedNode(E + "g"): ("", "red fish"),
    ox.NamedNode(E + "h"): ("blue blue fish and a red boat", ""),
    ox.NamedNode(E + "i"): ("red boat", "blue"),
    ox.NamedNode(E + "j"): ("green", "green"),
}
"""(label, note) of the entities: some have the same, so that their scores are equal in every model."""

NODES = [*TEXTS, ox.NamedNode(E + "m"), ox.NamedNode(E + "n")]
"""The last two are in the graph and have no text."""

NUMBERS = [ox.Literal(n) for n in (1, 2, 2, 3)]
NUMBERS += [ox.Literal("2.5", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#decimal")), ox.Literal("2")]

WORDS = (
    "red",
    "red",
    "fish",
    "boat",
    "blue",
    "red boat",
    "red fish blue",
    "green red",
    "red -fish",
    "+red blue",
    "red boat fish",
)
TARGETS = (
    *('"red"', '"red"', '"red boat"', '"blue fish"', '"red red green"', '"nothing"'),
    *(":a", ":c", ":j", ":m", ":nowhere", "[1, 0, 0, 1]", "[-1, 0.5, 0, 0]"),
)
"""What is near to what: a text, a text without a vector, entities with one and without, vectors."""

CONDITIONS = ("?s > 0.2", "?t < ?s", "?y > 1", "?b != ?a", "BOUND(?b)", "!BOUND(?c)", "?x = 2 || ?y < 2", "isIRI(?a)")
CONDITIONS += ("COALESCE(?t, 0) < 1", "?s > 0.3 || BOUND(?c)")
VALUES = (
    "?a { :a :b :c _U :m }",
    "?b { :a :d :e :nowhere }",
    "?y { 1 2 3 }",
    "(?a ?b) { (:a :b) (:c UNDEF) (UNDEF :d) }",
)
RANKED = (
    *("?s",) * 6,
    *("?s + ?t",) * 8,
    "0.5 * ?s + ?t * 2",
    "?s + ?t + ?u",
    "2 * ?s + 1",
    "?s / 3 - 0.1",
    "?t",
    "?t - ?s",
    "-?s",
    "?s * ?t",
    "0 * ?s",
    "-(-?s)",
    "1 + ?s - ?s",
    "?s * 1e308 * 10 + ?t",
    '?s * "NaN"^^xsd:double',
    '?s * "1_0"^^xsd:integer',
    '?s * "ten"^^xsd:integer + ?t',
    "?s + 99999999999999999999",
    "?s + 1000000000",
    "rrf(?s)",
    "rrf(?s, ?t)",
    "rrf(?s^0.3, ?t, k=1)",
    "minmax(?s) + minmax(?t)",
    "zscore(?s)",
    "zscore(?s) + 0.5 * minmax(?t)",
    "rrf(?s) + ?t",
    "rrf(?t^2, ?s, k=0)",
    "isr(?s, ?t^0.5)",
    "combmnz(?s, ?t^2)",
    "tmm(?s) + 0.3 * tmm(?t)",
    'tmm(?s) + STRLEN("two words") * tmm(?t) / 5',
    "minmax(?s) + 2 * minmax(?t) - 1",
    "rrf(?t) + minmax(?s)",
    "isr(?s, ?t, ?u)",
    "?s + ?y",
    "IF(BOUND(?b), ?s, ?s + 1)",
    "?y",
    "?s + EXISTS { ?a :p ?b }",
    "ABS(?s)",
)
ORDERS = (
    *("RANK BY %",) * 8,
    "RANK BY % AS ?rank",
    "ORDER BY DESC(?s)",
    "ORDER BY DESC(%)",
    "ORDER BY DESC(?k)",
    "ORDER BY ?s",
    "ORDER BY DESC(?s) ?b",
    "ORDER BY ?y DESC(?s)",
    "",
)
COLUMNS = (
    *("*",) * 5,
    "?a ?s",
    "?b",
    "?b ?s",
    "?a ?b ?y",
    "?t ?b",
    "(?s + 1 AS ?k) ?b",
    "?c ?o",
)


@dataclass(frozen=True)
class Case:
    """A graph, a query, and how it is run.

    Args:
        quads: the graph.
        query: its text.
        limit: rows asked for beside the query.
        decline: of this many patterns the projection declines one.
        depth, deeper, growth: how strategies go on.
        budget: what rank_first may spend before it switches, in microseconds.
        ranks: whether it switches to the index's own best of the candidates.
        few, probe: thresholds of the joins.
    """

    quads: tuple[ox.Quad, ...]
    query: str
    limit: int | None
    decline: int
    depth: int
    deeper: int
    growth: int
    budget: float
    ranks: bool
    few: int
    probe: int


class Maker:
    """Draws cases.

    Args:
        choose: one of some things, each about as likely as the others.
    """

    def __init__(self, choose: Callable[[Sequence[T]], T]):
        self.choose = choose
        self.scores = 0
        self.snippets = 0

    def some(self, make: Callable[[], T], low: int, high: int) -> list[T]:
        return [make() for _ in range(self.choose(range(low, high + 1)))]

    def one_in(self, n: int) -> bool:
        return self.choose(range(n)) == n - 1

    def case(self) -> Case:
        limit = self.choose([0, 1, 2, 5]) if self.one_in(6) else None
        return Case(
            tuple(self.graph()),
            PROLOGUE + self.query(),
            limit,
            self.choose([2, 3]),
            self.choose([1, 1, 2, 32]),
            self.choose([2, 2, 4]),
            self.choose([2, 2, 4]),
            self.choose([0.0, 0.0, 0.5, 3.0]),
            self.choose([True, False]),
            self.choose([0, 1, 2000]),
            self.choose([0, 20, 1000]),
        )

    # --- graphs ------------------------------------------------------------------------

    def graph(self) -> list[ox.Quad]:
        """About half of the triples are in the named graph :g1, and most of them in the default graph."""
        quads = []
        for triple in self.some(self.triple_of_graph, *self.choose([(0, 15), (30, 70), (30, 70), (60, 100)])):
            where = self.choose(["default", "default", "default", "both", "named"])
            quads += [ox.Quad(*triple)] if where != "named" else []
            quads += [ox.Quad(*triple, ox.NamedNode(E + "g1"))] if where != "default" else []
        return quads

    def triple_of_graph(self) -> ox.Triple:
        subject = self.choose(NODES)
        if self.one_in(3):
            return ox.Triple(subject, ox.NamedNode(E + self.choose(["year", "year", "size"])), self.choose(NUMBERS))
        return ox.Triple(subject, ox.NamedNode(E + self.choose("ppq")), self.choose(NODES))

    # --- patterns --------------------------------------------------------------------------

    def score(self, nested: bool) -> str:
        """A fresh name; in a group whose scores are not seen outside, perhaps one that stands outside as well."""
        if nested and not self.one_in(3):
            return f"?{self.choose('stu')}"
        self.scores += 1
        return f"?{'stu'[self.scores - 1]}" if self.scores <= 3 else f"?u{self.scores}"

    def match(self, nested: bool = False, variable: str | None = None, *, named: bool = False) -> str:
        name = variable or self.choose(["?a", "?a", "?a", "?b", "?b", "?c"])
        if self.one_in(5):
            return self.near(name, nested, named=named)
        modes = "ALL " if self.one_in(12) else ""
        words = self.choose(WORDS) if not self.one_in(20) else "nothing"
        on = self.choose(["", "", "", " ON (label)", " ON (label^3, note)", " ON (note)"])
        using = self.choose(["", "", "", " USING lm", " USING bm25", " USING lm(mu=1)"])
        if "-" in words or "+" in words or "^" in on:
            using = ""
        top = f" TOP {self.choose([1, 2, 3, 8])}" if self.one_in(8) else ""
        score = f" AS {self.score(nested)}" if named or not self.one_in(4) else ""
        snippet = ""
        if self.one_in(10):
            self.snippets += 1
            snippet = f" SNIPPET ?snippet{self.snippets}"
        if self.one_in(16) and not named:
            given = f'VALUES ?w{self.scores} {{ "red" "blue boat" }} '
            return f"{given}{name} MATCH {modes}?w{self.scores}{on}{using}{top}{score}{snippet} ."
        return f'{name} MATCH {modes}"{words}"{on}{using}{top}{score}{snippet} .'

    def near(self, name: str, nested: bool, *, named: bool) -> str:
        exact = "EXACT " if self.one_in(4) else ""
        top = f" TOP {self.choose([1, 2, 3, 8])}" if self.one_in(6) else ""
        within = f" WITHIN {self.choose(['-1', '0', '0.4', '0.9'])}" if self.one_in(3) else ""
        score = f" AS {self.score(nested)}" if named or not self.one_in(4) else ""
        if self.one_in(10) and not named:
            given = f'VALUES ?w{self.scores} {{ "red" :a :m "nothing" 7 }} '
            return f"{given}{name} NEAR {exact}?w{self.scores}{top}{within}{score} ."
        return f"{name} NEAR {exact}{self.choose(TARGETS)}{top}{within}{score} ."

    def triple(self) -> str:
        kind = self.choose(["node"] * 8 + ["value"] * 2 + ["path"] * 2 + ["constant", "any"])
        s, o = self.choose(["?a", "?a", "?b", "?c"]), self.choose(["?a", "?b", "?b", "?c", "?o"])
        if kind == "node":
            return f"{s} :{self.choose('ppq')} {o} ."
        if kind == "value":
            return f"{s} :{self.choose(['year', 'year', 'size'])} {self.choose(['?y', '?y', '?x', '2'])} ."
        if kind == "path":
            return f"{s} {self.choose([':p+', ':p/:q', '^:p', ':p|:q', ':q*', ':p?', '(:p/^:p)'])} {o} ."
        if kind == "constant":
            return self.choose([f"{s} :p :{self.choose('abm')} .", f":{self.choose('abm')} :p {o} .", ":a :p :b ."])
        return self.choose([f"{s} ?any {o} .", "[] :p ?a .", "?a :p [] ."])

    def values(self) -> str:
        return f"VALUES {self.choose(VALUES).replace('_U', 'UNDEF' if self.one_in(4) else ':f')}"

    def leaf(self, nested: bool) -> str:
        kind = self.choose(["triple"] * 8 + ["match"] * 2 + ["values", "filter"])
        if kind == "match":
            return self.match(nested)
        if kind == "values":
            return self.values()
        return self.filter() if kind == "filter" else self.triple()

    def filter(self) -> str:
        return f"FILTER({self.choose(CONDITIONS)})"

    def body(self, nested: bool, most: int = 2) -> str:
        return " ".join(self.some(lambda: self.leaf(nested), 1, most))

    def plain(self, most: int = 2) -> str:
        return " ".join(self.some(lambda: self.values() if self.one_in(4) else self.triple(), 1, most))

    def element(self) -> str:
        kind = self.choose(
            ["leaf"] * 10 + ["optional"] * 3 + ["minus", "exists", "union", "select", "graph", "group", "bind"]
        )
        match kind:
            case "optional":
                if self.one_in(3):
                    return f"OPTIONAL {{ {self.match()} }}"
                return f"OPTIONAL {{ {self.body(False)} }}"
            case "minus":
                return f"MINUS {{ {self.body(True)} }}"
            case "exists":
                return f"FILTER {self.choose(['EXISTS', 'NOT EXISTS'])} {{ {self.body(True)} }}"
            case "union":
                inside = self.plain if self.one_in(2) else lambda: self.body(True)
                return f"{{ {inside()} }} UNION {{ {inside()} }}"
            case "select":
                shown = self.choose(["?a", "DISTINCT ?a", "?a ?b", "DISTINCT ?b", "?a ?s", "(MAX(?y) AS ?x) ?a"])
                group = "GROUP BY ?a" if "MAX" in shown else ""
                inside = self.plain(3) if self.one_in(2) else self.body(True)
                if not group and self.one_in(4):
                    inside, group = self.match(True) + " " + inside, "RANK BY ?s LIMIT 3"
                return f"{{ SELECT {shown} {{ {inside} }} {group} }}"
            case "graph":
                return f"GRAPH {self.choose([':g1', '?g'])} {{ {self.plain() if self.one_in(2) else self.body(True)} }}"
            case "group":
                return f"{{ {self.body(False, 3)} }}"
            case "bind":
                return (
                    f"BIND({self.choose(['?s * 2', '?y', 'COALESCE(?y, 1)', '?s + ?t'])} AS ?k{self.choose(['', '2'])})"
                )
        return self.leaf(False)

    def query(self) -> str:
        ranked = self.choose(RANKED)
        # The scores have their names in this order, so those that rank come first.
        first = [self.match(variable="?a", named=True)]
        if "?t" in ranked or self.one_in(4):
            first.append(self.match(variable=self.choose(["?a", "?a", "?b"]), named=True))
            if self.one_in(3):
                first[-1] = f"OPTIONAL {{ {first[-1]} }}"
            elif self.one_in(8):
                first[0] = f"OPTIONAL {{ {first[0]} }}"
        if "?u" in ranked and self.one_in(2):
            first.append(f"OPTIONAL {{ {self.match(variable='?a', named=True)} }}")
        elements = self.some(self.element, 0, 3)
        elements[(at := self.choose(range(len(elements) + 1))) : at] = first
        if len(first) > 1 and self.one_in(5):
            elements = [" UNION ".join(f"{{ {part} }}" for part in first)]
        order = self.choose(ORDERS).replace("%", ranked)
        cut = ""
        if order:
            limit = self.choose([None, 0, 1, 1, 1, 2, 2, 3, 3, 5, 20])
            cut = "" if limit is None else f" LIMIT {limit}"
            cut += f" OFFSET {self.choose([1, 2])}" if self.one_in(5) else ""
        body = " ".join(elements)
        if self.one_in(12):
            form = self.choose(["ASK", "CONSTRUCT { ?a :found ?b . ?b :is ?s } WHERE", "DESCRIBE ?a", "DESCRIBE ?b ?a"])
            return f"{form} {{ {body} }}{'' if form == 'ASK' else ' ' + order + cut}"
        distinct = self.choose(["", "", "", "DISTINCT "])
        dataset = " FROM :g1" if self.one_in(20) else ""
        return f"SELECT {distinct}{self.choose(COLUMNS)}{dataset} {{ {body} }} {order}{cut}"


@st.composite
def cases(draw: Callable[[st.SearchStrategy[T]], T]) -> Case:
    """Cases that shrink."""
    return Maker(lambda options: draw(st.sampled_from(options))).case()


def case(seed: int) -> Case:
    """The same by a seed."""
    return Maker(Random(seed).choice).case()
