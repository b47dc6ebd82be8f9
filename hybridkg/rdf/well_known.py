"""Well-known namespace prefixes, used in hints and to abbreviate IRIs."""

from __future__ import annotations

import re
from collections.abc import Mapping

WELL_KNOWN = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "dbr": "http://dbpedia.org/resource/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "fn": "http://www.w3.org/2005/xpath-functions#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "void": "http://rdfs.org/ns/void#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

_LOCAL_NAME = re.compile(r"[A-Za-z0-9_](?:[\w-]*\w)?", re.ASCII)


def shortened(iri: str, prefixes: Mapping[str, str] = WELL_KNOWN) -> str:
    """The IRI as in a query: with the prefix of its longest namespace, else in angle brackets.

    >>> shortened("http://www.w3.org/2000/01/rdf-schema#label"), shortened("urn:x")
    ('rdfs:label', '<urn:x>')
    """
    fitting = [
        (len(namespace), name)
        for name, namespace in prefixes.items()
        if namespace and iri.startswith(namespace) and _LOCAL_NAME.fullmatch(iri, len(namespace))
    ]
    if not fitting:
        return f"<{iri}>"
    length, name = max(fitting, key=lambda pair: (pair[0], -len(pair[1])))
    return f"{name}:{iri[length:]}"
