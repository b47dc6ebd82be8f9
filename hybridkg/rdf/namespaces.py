"""Prefixes for the namespaces of data that no known prefix covers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hybridkg.rdf.well_known import WELL_KNOWN

_PREFIX_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")


def own_prefixes(iris: Iterable[str], known: Mapping[str, str] = WELL_KNOWN) -> dict[str, str]:
    """Prefixes for the namespaces of IRIs, named after the end of the namespace; the first one gets the name.

    Namespaces that a known prefix has get no other.

    >>> own_prefixes(["http://example.org/films/year", "http://www.w3.org/2000/01/rdf-schema#label"])
    {'films': 'http://example.org/films/'}
    """
    prefixes: dict[str, str] = {}
    taken = set(known.values())
    for iri in iris:
        namespace = namespace_of(iri)
        if not namespace or namespace in taken:
            continue
        taken.add(namespace)
        for part in reversed(re.split(r"[/#.:]", namespace)):
            if _PREFIX_NAME.fullmatch(part) and part not in known and part not in prefixes:
                prefixes[part] = namespace
                break
    return prefixes


def last_part(iri: str) -> str:
    """The IRI behind its last `/`, `#` or `:`.

    >>> last_part("http://example.org/films#year"), last_part("urn:isbn:1")
    ('year', '1')
    """
    return iri[max(map(iri.rfind, "/#:")) + 1 :]


def namespace_of(iri: str) -> str:
    """The IRI up to its last `#` or `/`; empty if it has none, or ends with it."""
    cut = max(iri.rfind("#"), iri.rfind("/")) + 1
    return iri[:cut] if 0 < cut < len(iri) else ""
