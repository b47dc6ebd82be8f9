"""Quads of a pattern, without those that Oxigraph finds by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from pyoxigraph import BlankNode, NamedNode, Quad, Store

from hybridkg.rdf.terms import GraphName, Literal, Triple

Subject: TypeAlias = NamedNode | BlankNode | Triple


def quads_of_pattern(
    store: Store,
    subject: Subject | None,
    predicate: NamedNode | None,
    object: NamedNode | BlankNode | Literal | Triple | None,
    graph: GraphName | None,
) -> Iterator[Quad]:
    """The quads of a pattern, in which None matches any term; a literal is in the store's form (rdf/stored.py).

    `Store.quads_for_pattern` of a store on disk (pyoxigraph 0.5.13) has a wrong end of its range where the last byte of
    a key is 0xFF: for the object 255 it also gives the quads with 256 to 510, for -1 those with decimals. SPARQL does
    not, nor does a store in memory.

    >>> p, one = NamedNode("a:p"), Literal(1)
    >>> store = Store()
    >>> store.add(Quad(p, p, one))
    >>> [quad.object.value for quad in quads_of_pattern(store, None, p, one, None)]
    ['1']
    """
    found = store.quads_for_pattern(subject, predicate, object, graph)
    if not isinstance(object, Literal | Triple):
        return found
    return (quad for quad in found if quad.object == object)
