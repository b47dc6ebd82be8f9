"""Structural blank nodes: they spell out a construct of RDF or OWL, and are no entities.

The mapping of OWL 2 to RDF (https://www.w3.org/TR/owl2-mapping-to-rdf/, sections 2 and 3) writes a class expression, a
data range, an inverse property, an annotated axiom, a disjointness and a list as blank nodes. Each of them has one of
these predicates, and no other blank node has. Fields give them text nevertheless: `related` the names of what a
restriction is about, `types` the word Restriction, `attributes` the annotated text, which its own entity has as well.
"""

from __future__ import annotations

_OWL = "http://www.w3.org/2002/07/owl#"

STRUCTURAL_PREDICATES = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#first",
    *(
        _OWL + name
        for name in (
            "annotatedSource",
            "complementOf",
            "datatypeComplementOf",
            "distinctMembers",
            "intersectionOf",
            "inverseOf",
            "members",
            "onDatatype",
            "onProperties",
            "onProperty",
            "oneOf",
            "sourceIndividual",
            "unionOf",
        )
    ),
)
"""A blank node with one of these is structure; an IRI, such as a named class that is a union, stays an entity."""
