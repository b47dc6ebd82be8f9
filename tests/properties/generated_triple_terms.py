"""Random graphs with reified triples, and random SPARQL 1.2 queries over their words."""

from __future__ import annotations

import random
from collections import Counter

import pyoxigraph as ox

E = "http://e/"


REIFIES = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")


class Reified:
    """One random graph, and queries over it; equal for equal seeds."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.names = iter(range(100))

    def node(self) -> ox.NamedNode:
        return ox.NamedNode(E + self.random.choice("ab"))

    def predicate(self) -> ox.NamedNode:
        return ox.NamedNode(E + self.random.choice("pq"))

    def value(self) -> object:
        direction = ox.BaseDirection(self.random.choice(["ltr", "rtl"]))
        some = [ox.Literal(1), ox.Literal("x"), ox.Literal("x", language="en", direction=direction)]
        return self.random.choice([self.node(), self.node(), *some])

    def plain(self) -> ox.NamedNode | ox.Literal:
        return self.random.choice(
            [self.node(), self.node(), ox.Literal(1), ox.Literal("x"), ox.Literal("x", language="en")]
        )

    def ground(self) -> ox.Triple:
        inner = self.ground() if self.random.random() < 0.2 else self.value()
        return ox.Triple(self.node(), self.predicate(), inner)

    def data(self) -> list[ox.Quad]:
        triples = [self.ground() for _ in range(20)]
        reified = [ox.Triple(self.random.choice([self.node(), ox.BlankNode(f"r{i}")]), REIFIES, t)
                   for i, t in enumerate(self.random.sample(triples, 16))]  # fmt: skip
        about = [ox.Triple(t.subject, self.predicate(), self.value()) for t in reified]
        return [ox.Quad(*triple) for triple in (*triples, *reified, *about)]

    def choose(self, *options: str) -> str:
        return self.random.choice(options)

    def term(self) -> str:
        return self.choose("?x", "?y", "?z", "?w", ":a", "_:n")

    def verb(self) -> str:
        return self.choose(":p", "?p", "?q")

    def target(self, depth: int) -> str:
        if depth and self.random.random() < 0.3:
            return self.choose(
                f"<<( {self.term()} {self.verb()} {self.inner(depth - 1)} )>>",
                f"<< {self.term()} {self.verb()} {self.inner(depth - 1)} {self.reifier()} >>",
            )
        return self.choose(*[self.term() for _ in range(6)], "1", '"x"')

    def inner(self, depth: int) -> str:
        if depth and self.random.random() < 0.3:
            return f"<<( {self.term()} {self.verb()} {self.inner(depth - 1)} )>>"
        return self.choose(*[self.term() for _ in range(6)], "1", '"x"@en--ltr')

    def reifier(self) -> str:
        return self.choose("", "~", "~ ?r", "~ ?z", "~ _:m")

    def annotations(self, depth: int) -> str:
        parts = []
        while self.random.random() < 0.4:
            block = f"{{| {self.verb()} {self.target(0)} {self.annotations(depth - 1)} |}}" if depth else ""
            parts.append(self.choose(self.reifier(), block))
        return " ".join(parts)

    def pattern(self) -> str:
        subject = self.choose(self.term(), f"<< {self.term()} {self.verb()} {self.inner(1)} {self.reifier()} >>")
        objects = ", ".join(f"{self.target(1)} {self.annotations(2)}" for _ in range(self.random.choice([1, 1, 2])))
        return f"{subject} {self.verb()} {objects} ."

    def query(self) -> str:
        patterns = " ".join(self.pattern() for _ in range(self.random.choice([1, 1, 2])))
        return f"PREFIX : <{E}> SELECT * {{ {patterns} }}"


def rows(store: ox.Store, text: str) -> Counter | str:
    """The rows of a query; Oxigraph 0.5.13 fails where a literal would be the subject of a triple term."""
    found = store.query(text)
    names = [variable.value for variable in found.variables]
    try:
        return Counter(frozenset((name, row[name]) for name in names if row[name] is not None) for row in found)
    except RuntimeError as e:
        return str(e)
