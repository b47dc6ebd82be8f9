"""Names of a node: its label predicates, and the local name of its IRI as words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hybridkg.entities.identifiers import humps, percent_decoded
from hybridkg.rdf.namespaces import last_part
from hybridkg.rdf.terms import NamedNode, Term

LABEL_PREDICATES = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://xmlns.com/foaf/0.1/name",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
    "http://schema.org/headline",
    "https://schema.org/headline",
    "http://usefulinc.com/ns/doap#name",
    "http://www.w3.org/2006/vcard/ns#fn",
    "http://www.geonames.org/ontology#name",
    "http://www.w3.org/2004/02/skos/core#altLabel",
)
"""In order of preference: the first with a string names the node."""

MAX_LOCAL_NAME_LENGTH = 200
"""Characters of an IRI's last part; longer ones are data, as in `data:`."""

_MARKS = r"\s_\-+;=&?!~@'\"()*$%|<>\[\]{}^`\\"
_SEPARATORS = re.compile(rf"[{_MARKS}.,]+")
_BETWEEN_WORDS = re.compile(rf"(?:[{_MARKS}]|(?<![0-9])[.,]|[.,](?![0-9]))+")


def local_name(iri: str, *, divided: bool = True) -> str:
    """The last part of an IRI as words; empty where there is none, or where it is too long to be a name.

    Percent-decoded, then split at camelCase humps and punctuation, except dots and commas inside numbers. Without
    `divided` it is only decoded, for an analyzer that splits identifiers.

    >>> local_name("http://dbpedia.org/resource/Blade_Runner_%281982%29")
    'Blade Runner 1982'
    >>> local_name("https://example.org/ns#birthPlaceOf")
    'birth Place Of'
    >>> local_name("https://example.org/HTML_4.01")
    'HTML 4.01'
    >>> local_name("https://example.org/")
    ''
    """
    name = last_part(iri)
    if not name or len(name) > MAX_LOCAL_NAME_LENGTH:
        return ""
    if "%" in name:
        name, _ = percent_decoded(name)
    if not divided:
        return " ".join(name.split()) if any(map(str.isalnum, name)) else ""
    if not name.islower():
        name = " ".join(humps(name))
    return _BETWEEN_WORDS.sub(" ", name).strip()


def speaking(nodes: Iterable[Term | None]) -> float:
    """The share of the IRIs among some nodes that end in words without digits, 0..1; 0 without an IRI.

    >>> from hybridkg.rdf.terms import BlankNode
    >>> speaking([NamedNode("http://e/Blade_Runner"), NamedNode("http://e/Q42"), BlankNode("b")])
    0.5
    """
    names = [local_name(node.value) for node in nodes if isinstance(node, NamedNode)]
    return sum(bool(name) and not any(map(str.isdigit, name)) for name in names) / len(names) if names else 0.0


def same_words(one: str, other: str) -> bool:
    """Whether two names differ only in case, punctuation and spaces.

    >>> same_words("Blade Runner (1982)", "blade_runner_1982")
    True
    """
    return _bare(one) == _bare(other)


def says_same(name: str, texts: Iterable[str]) -> bool:
    """Whether one of the texts has the same words as the name (`same_words`)."""
    bare = _bare(name)
    return any(_bare(text) == bare for text in texts)


def _bare(text: str) -> str:
    return _SEPARATORS.sub("", text).casefold()
