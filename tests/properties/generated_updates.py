"""Random updates over a few terms and graphs, so that their patterns meet the data, and small datasets for them."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import strategies as st

NODES = ["<e:a>", "<e:b>", "<e:c>"]
PREDICATES = ["<e:p>", "<e:q>"]
GRAPHS = ["<e:g>", "<e:h>", "<e:new>"]
"""The last one is in no dataset."""

VARIABLES = ["?x", "?y", "?z"]
ALIKE = [
    "DELETE WHERE { ?s ?p ?o }",
    "WITH <e:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    "INSERT { GRAPH ?g { <e:n> ?p _:b } } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT { ?s <e:q> ?o } USING <e:g> WHERE { ?s ?p ?o }",
]
"""Updates that change <e:a> <e:p> <e:b> in the default graph, or <e:a> <e:p> <e:c> in <e:g>."""


@st.composite
def datasets(draw):
    """Quads of the default graph and two named graphs."""
    node, predicate = st.sampled_from("abc"), st.sampled_from("pq")
    graph = st.sampled_from([ox.DefaultGraph(), ox.NamedNode("e:g"), ox.NamedNode("e:h")])
    rows = draw(st.lists(st.tuples(node, predicate, node, graph), max_size=10))
    iri = lambda name: ox.NamedNode(f"e:{name}")
    return [ox.Quad(iri(s), iri(p), iri(o), g) for s, p, o, g in rows]


def loaded(quads):
    """A store in memory with quads."""
    store = ox.Store()
    store.extend(quads)
    return store


def dumped(store):
    """What a store holds, whatever the names of its blank nodes."""
    dataset = ox.Dataset(list(store))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


class Texts:
    """Draws the text of an update."""

    def __init__(self, draw):
        self.draw = draw

    def one_of(self, *values):
        return self.draw(st.sampled_from(values))

    def chance(self):
        return self.draw(st.booleans())

    def several(self, make, low=1, high=3):
        return " ".join(make() for _ in range(self.draw(st.integers(low, high))))

    def term(self):
        return self.one_of(*VARIABLES, *NODES)

    def triple(self):
        return f"{self.term()} {self.one_of(*PREDICATES, '?p')} {self.term()} ."

    def new_triple(self):
        ends = [self.one_of(*VARIABLES, *NODES, "_:n", "[]", "7") for _ in range(2)]
        return f"{ends[0].replace('7', '<e:a>')} {self.one_of(*PREDICATES, '?p')} {ends[1]} ."

    def ground(self):
        return f"{self.one_of(*NODES)} {self.one_of(*PREDICATES)} {self.one_of(*NODES, '7')} ."

    def quads(self, triple):
        def block():
            return f"GRAPH {self.graph(triple)} {{ {self.several(triple)} }}" if self.chance() else triple()

        return "{ " + self.several(block) + " }"

    def graph(self, triple=None):
        return self.one_of(*GRAPHS) if triple == self.ground else self.one_of(*GRAPHS, "?g")

    def group(self, depth=2):
        return "{ " + self.several(lambda: self.element(depth), low=0) + " }"

    def element(self, depth):
        kind = self.draw(st.integers(0, 11 if depth > 0 else 3))
        if kind <= 3:
            return self.triple()
        inner = self.group(depth - 1)
        if kind == 4:
            return f"OPTIONAL {inner}"
        if kind == 5:
            return f"GRAPH {self.graph()} {inner}"
        if kind == 6:
            return f"FILTER {self.one_of('EXISTS', 'NOT EXISTS')} {inner}"
        if kind == 7:
            return f"{inner} UNION {self.group(depth - 1)}"
        if kind == 8:
            return f"MINUS {inner}"
        if kind == 9:
            return f"{{ SELECT {self.one_of('*', '?x', '?x ?y')} {inner} }}"
        if kind == 10:
            return f"{self.one_of('?x', '?y')} {self.one_of('<e:p>/<e:q>', '<e:p>+', '^<e:q>|<e:p>')} ?z ."
        return "VALUES ?x { <e:a> <e:b> }"

    def modify(self):
        where = self.group()
        head = f"WITH {self.one_of(*GRAPHS)} " if self.chance() else ""
        using = "".join(
            f"USING {self.one_of('', 'NAMED ')}{self.one_of(*GRAPHS)} "
            for _ in range(self.draw(st.sampled_from([0, 0, 1, 2])))
        )
        delete, insert = f"DELETE {self.quads(self.triple)} ", f"INSERT {self.quads(self.new_triple)} "
        return f"{head}{self.one_of(delete, insert, delete + insert)}{using}WHERE {where}"

    def operation(self):
        kind = self.draw(st.integers(0, 9))
        if kind <= 5:
            return self.modify()
        if kind == 6:
            return f"{self.one_of('INSERT', 'DELETE')} DATA {self.quads(self.ground)}"
        if kind == 7:
            return f"DELETE WHERE {self.quads(self.triple)}"
        graph = f"{self.one_of('CLEAR', 'DROP')} SILENT {self.one_of('DEFAULT', 'NAMED', 'GRAPH <e:g>')}"
        ends = [self.one_of("DEFAULT", *GRAPHS, "GRAPH <e:h>") for _ in range(2)]
        return graph if kind == 8 else f"{self.one_of('ADD', 'MOVE', 'COPY')} SILENT {ends[0]} TO {ends[1]}"


@st.composite
def modifications(draw):
    """The text of one DELETE, INSERT or both, with its WHERE."""
    return Texts(draw).modify()


@st.composite
def updates(draw):
    """The text of an update of one to three operations."""
    texts = Texts(draw)
    return " ; ".join(texts.operation() for _ in range(draw(st.integers(1, 3))))
