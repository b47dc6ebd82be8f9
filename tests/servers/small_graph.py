"""A graph to be copied from a scripted endpoint, and what was asked for its pages."""

from __future__ import annotations

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store, Triple
from scripted_endpoint import Asked, ScriptedEndpoint


def graph(n: int = 40, blank: int = 0) -> Store:
    """n triples of one predicate, some of others, and some with blank nodes."""
    store = Store()
    texts = [Literal('line\n"tab"\t\\'), Literal(7), Literal("rot", language="de"), Literal(True), Literal(1.5)]
    store.extend(Quad(NamedNode(f"http://e/{i}"), NamedNode("http://e/p"), Literal(f"text {i}")) for i in range(n))
    store.extend(Quad(NamedNode("http://e/0"), NamedNode(f"http://e/q{j}"), one) for j, one in enumerate(texts))
    for i in range(blank):
        store.add(Quad(NamedNode(f"http://e/{i}"), NamedNode("http://e/part"), BlankNode(f"x{i}")))
        store.add(Quad(BlankNode(f"x{i}"), NamedNode("http://e/name"), Literal(f"part {i}")))
    return store


def triple(quad: Quad) -> Triple:
    return Triple(quad.subject, quad.predicate, quad.object)


def pages(endpoint: ScriptedEndpoint) -> list[Asked]:
    return [asked for asked in endpoint.asked if "LIMIT" in asked.query]
