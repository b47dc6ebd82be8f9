"""Terms as the store gives them back: Oxigraph keeps the value of a number or date, not how it was written."""

from __future__ import annotations

from typing import cast

from pyoxigraph import Quad, Store

from hybridkg.rdf.terms import Literal, NamedNode

_ANY = NamedNode("x:any")


def as_stored(literal: Literal) -> Literal:
    """The literal that is in the store once this one has been put there, and that this one in a query finds.

    >>> str(as_stored(Literal("+07", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#int"))))
    '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    store = Store()
    store.add(Quad(_ANY, _ANY, literal))
    return cast(Literal, next(iter(store)).object)
