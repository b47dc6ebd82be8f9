"""Changes of a small knowledge base, of every kind: update requests, loads, removals, documents, transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

PREFIXES = """@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
NODES = (":a", ":b", ":c", ":d", ":redFish", ":Blue_Boat", ":m1", ":Film", ":Person")
GRAPHS = (":g", ":h")
TEXTS = (
    *('"red fish"', '"a red boat"@en', '"das rote Häuser Boot"@de', '"blue blue fish and the boat"', '"boat fish red"'),
    *('"1999 films"', '"reed fishes"@en-GB', '"Häuser"@de', '""', '"the"', f'"{"red " * 70}fish"'),
)
VALUES = (
    *(
        "1999",
        "255",
        "256",
        "2001",
        "+2001",
        "02.50",
        "1e3",
        '"2001-05-05"^^xsd:date',
        '"2001-05-05T00:00:00Z"^^xsd:dateTime',
        "true",
    ),
    *('"01"^^xsd:integer', '"ten"^^xsd:integer', '"x"^^:mine', '"NaN"^^xsd:double', '"2001"'),
)
TEXT_PREDICATES = ("rdfs:label", "rdfs:label", ":plot", ":note")
STATEMENTS = (
    ':a :next :b {| rdfs:label "red" ; :next :c |} .',
    "_:r :next <<( :b :next :a )>> , :a . :c :next _:r .",
    ':x rdfs:label <<( :a rdfs:label "fish" )>> .',
    ':b rdfs:label "boat"@en--ltr ; :plot "red boat"@en--rtl .',
    ":c :by << :d :next :e ~ :b >> .",
    ":d a <<( :d a :Film )>> .",
)
"""Triples that the projection omits, and others of their subjects."""

DOCUMENT_FIELDS = ("review", "title", "plot")
WHERE = (
    "?x :next ?y", "?x rdfs:label ?l", "?x ?p ?l", "?x :by ?y . ?y rdfs:label ?l", "?x :next+ ?y", "?x a :Film",
    "?x :year ?l FILTER(?l > 2000)", "?x :next ?y OPTIONAL { ?x rdfs:label ?l }", "GRAPH ?g { ?x ?p ?y }",
    "?x :next ?y MINUS { ?x :by ?z }", "{ ?x :by ?y } UNION { ?x :plot ?l }", "BIND(:a AS ?x)",
)  # fmt: skip
RANKED = (
    'WHERE {{ ?x MATCH "red" AS ?s . ?x {p} ?l }} RANK BY ?s LIMIT 2',
    'WHERE {{ ?x MATCH "+fish boat" USING lm AS ?s . ?x {p} ?l }} ORDER BY DESC(?s) ?l LIMIT 1',
    'WHERE {{ ?x NEAR "blue boat" AS ?s . ?x {p} ?l }} RANK BY ?s LIMIT 1',
    'WHERE {{ ?x {p} ?l FILTER NOT EXISTS {{ ?x MATCH "red" }} }}',
)


@dataclass(frozen=True)
class Step:
    """A change: the name of what is done, and what it is done with.

    Args:
        kind: `update`, `load`, `replace`, `delete`, `text`, `delete_text`; `transaction` of these, and `failing`, one
            that fails; `file` and `documents`, loads of their own; `reopen`, `index`, and `profile`, an index with
            another one.
        what: a text of SPARQL or Turtle; a document; steps of a transaction.
        ranked: whether it needs an index that is up to date.
    """

    kind: str
    what: Any = None
    ranked: bool = False


class UpdateMaker:
    """Draws update requests and steps.

    Args:
        choose: takes one of a sequence.
        vectors: whether NEAR may occur.
    """

    def __init__(self, choose: Callable[[Sequence[T]], T], *, vectors: bool = True):
        self._choose, self.vectors = choose, vectors
        self._part = 0

    def choose(self, options: Sequence[T]) -> T:
        return self._choose(options)

    def one_in(self, n: int) -> bool:
        return self.choose(range(n)) == n - 1

    def some(self, make: Callable[[], T], low: int, high: int) -> list[T]:
        return [make() for _ in range(self.choose(range(low, high + 1)))]

    # --- data --------------------------------------------------------------------------

    def triple(self, *, blank: bool = True) -> str:
        subject = self.choose([*NODES, *([f"_:n{self._part}", f"_:m{self._part}"] if blank else [])])
        kind = self.choose(["text", "text", "text", "value", "node", "node", "type"])
        if kind == "text":
            return f"{subject} {self.choose(TEXT_PREDICATES)} {self.choose(TEXTS)} ."
        if kind == "value":
            return f"{subject} {self.choose([':year', ':when', ':note'])} {self.choose(VALUES)} ."
        if kind == "type":
            return f"{subject} a {self.choose([':Film', ':Person'])} ."
        target = self.choose([*NODES, *([f"_:n{self._part}"] if blank else [])])
        return f"{subject} {self.choose([':next', ':by', ':next'])} {target} ."

    def data(self, low: int = 1, high: int = 6, *, blank: bool = True) -> str:
        return " ".join(self.some(lambda: self.triple(blank=blank), low, high))

    def more_than_a_block(self) -> str:
        """Nodes with texts of the same words, more than the postings of a block; in one of four knowledge bases."""
        if not self.one_in(4):
            return ""
        words = ("red", "fish", "boat", "blue", "old")
        return " ".join(
            f':m{n} rdfs:label "{self.choose(words)} {self.choose(words)} red n{n % 50}" ; :next :m{n * 7 % 300} .'
            for n in range(300)
        )

    def quads(self, *, blank: bool = True) -> str:
        """The content of a DATA, whose labels of blank nodes no other one has."""
        self._part += 1
        parts = [self.data(blank=blank)]
        if self.one_in(3):
            parts.append(f"GRAPH {self.choose(GRAPHS)} {{ {self.data(blank=blank)} }}")
        return " ".join(parts)

    # --- operations --------------------------------------------------------------------

    def template(self, *, blank: bool) -> str:
        subject = self.choose(["?x", "?x", "?y", ":b", *(["_:n", "[]"] if blank else [])])
        predicate = self.choose(["rdfs:label", ":next", ":by", ":plot", "?p"])
        target = self.choose(["?y", "?l", "?l", "?x", ":a", *TEXTS[:3], *(["_:n"] if blank else [])])
        triple = f"{subject} {predicate} {target} ."
        return f"GRAPH {self.choose(['?g', ':g'])} {{ {triple} }}" if self.one_in(6) else triple

    def modify(self) -> str:
        delete, insert = (
            self.some(lambda: self.template(blank=False), 0, 2),
            self.some(lambda: self.template(blank=True), 0, 2),
        )
        if not delete and not insert:
            delete = ["?x ?p ?l ."]
        parts = [f"WITH {self.choose(GRAPHS)}"] if self.one_in(6) else []
        parts += [f"DELETE {{ {' '.join(delete)} }}"] if delete else []
        parts += [f"INSERT {{ {' '.join(insert)} }}"] if insert else []
        if self.one_in(6):
            parts.append(self.choose(["USING :g", "USING NAMED :g", "USING :g USING NAMED :h"]))
        return " ".join([*parts, f"WHERE {{ {self.choose(WHERE)} }}"])

    def delete_where(self) -> str:
        pattern = self.choose(
            ["?x :next ?y", "?x rdfs:label ?l . ?x :by ?y", f"{self.choose(NODES)} ?p ?o", "?s :plot ?o"]
        )
        return f"DELETE WHERE {{ {pattern} }}"

    def graphs(self) -> str:
        one = self.choose(["DEFAULT", *GRAPHS, *GRAPHS])
        if self.one_in(2):
            name = one if one == "DEFAULT" else f"GRAPH {one}"
            return f"{self.choose(['CLEAR', 'DROP'])} SILENT {self.choose([name, name, 'NAMED'])}"
        return f"{self.choose(['ADD', 'COPY', 'MOVE'])} SILENT {one} TO {self.choose(['DEFAULT', *GRAPHS])}"

    def operation(self) -> str:
        """An operation without our own extensions."""
        kind = self.choose(["insert", "insert", "delete", "modify", "modify", "where", "graphs"])
        if kind == "insert":
            return f"INSERT DATA {{ {self.quads()} }}"
        if kind == "delete":
            return f"DELETE DATA {{ {self.quads(blank=False)} }}"
        if kind == "modify":
            return self.modify()
        return self.delete_where() if kind == "where" else self.graphs()

    def request(self, high: int = 2) -> str:
        """A request without our own extensions; needs the prologue of SPARQL."""
        return " ;\n".join(self.some(self.operation, 1, high))

    def ranked(self) -> str:
        where = self.choose(RANKED if self.vectors else [one for one in RANKED if "NEAR" not in one])
        predicate = self.choose(TEXT_PREDICATES)
        change = self.choose(
            [
                f"INSERT {{ ?x :note {self.choose(TEXTS)} }}",
                f"DELETE {{ ?x {predicate} ?l }}",
                f"DELETE {{ ?x {predicate} ?l }} INSERT {{ ?x {predicate} {self.choose(TEXTS)} . [] :by ?x }}",
            ]
        )
        return f"{change} {where.format(p=predicate)}"

    # --- steps -------------------------------------------------------------------------

    def text(self) -> tuple[str, dict[str, list[str]]]:
        values = [text.split('"')[1] for text in TEXTS if text.split('"')[1]]
        fields = self.some(lambda: self.choose(DOCUMENT_FIELDS), 1, 2)
        return self.choose(NODES[:7])[1:], {field: self.some(lambda: self.choose(values), 0, 2) for field in fields}

    def change(self) -> Step:
        """A step that may stand in a transaction."""
        kind = self.choose(
            ["update"] * 5 + ["ranked"] * 3 + ["load", "replace", "delete", "text", "text", "delete_text", "statement"]
        )
        if kind == "update":
            return Step(kind, self.request())
        if kind == "ranked":
            return Step("update", " ;\n".join([*self.some(self.operation, 0, 1), self.ranked()]), ranked=True)
        if kind == "load":
            return Step(kind, self.data(1, 8))
        if kind == "statement":
            return Step("load", self.choose(STATEMENTS))
        if kind == "replace":
            return Step(kind, (self.choose(["default", "http://e/g"]), self.data(1, 8)))
        if kind == "delete":
            return Step(kind, self.data(1, 8, blank=False))
        if kind == "text":
            return Step(kind, self.text())
        return Step(kind, (self.choose(NODES[:7])[1:], self.some(lambda: self.choose(DOCUMENT_FIELDS), 0, 1)))

    def step(self) -> Step:
        """One commit, or none."""
        kind = self.choose(
            ["change"] * 9
            + ["transaction"] * 2
            + ["failing", "reopen", "index", "file", "file", "documents", "profile"]
        )
        if kind in ("transaction", "failing"):
            return Step(kind, self.some(self.change, 1, 3))
        if kind == "file":
            return Step(kind, self.data(1, 8))
        if kind == "documents":
            return Step(kind, self.some(self.text, 1, 3))
        return self.change() if kind == "change" else Step(kind)


def maker(seed: int, *, vectors: bool = True) -> UpdateMaker:
    """A maker of a seed, which is faster than hypothesis."""
    return UpdateMaker(Random(seed).choice, vectors=vectors)
