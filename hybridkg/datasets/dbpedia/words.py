"""The words of IRIs and literals in the text of an entity.

The rules for IRIs are those of Nordlys, which made index B: the local name; of categories and files the part after the
last colon; of a page of Wikipedia the part after the last slash; any other IRI whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CONTROLS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}

AFTER_COLON = ("Category:", "File:")
WIKIPEDIA = "http://en.wikipedia.org"


def literal_text(token: bytes) -> str:
    r"""The text of a literal in N-Triples.

    >>> literal_text(b'"a \\"b\\" \\u00E9"@en')
    'a "b" é'
    """
    text = token[1 : token.rindex(b'"')].decode()
    return _ESCAPED.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _CONTROLS.get(match[3], match[3])


def iri_text(iri: bytes, prefixes: Sequence[bytes], resources: bytes) -> str:
    """The words of an IRI.

    Args:
        iri: without brackets.
        prefixes: namespaces, the longest first.
        resources: namespace of entities; no other begins with it.

    >>> known = (b"http://dbpedia.org/resource/", b"http://dbpedia.org/property/")
    >>> [iri_text(b"http://dbpedia.org/" + name, known, known[0]) for name in
    ...     (b"resource/Karen_Sparck_Jones", b"resource/Category:Star_Trek:_Voyager", b"property/birthPlace", b"else")]
    ['Karen Sparck Jones', ' Voyager', 'birthPlace', 'http://dbpedia.org/else']
    """
    if iri.startswith(resources):  # the usual case
        name = iri[len(resources) :].decode()
        return (name.rpartition(":")[2] if name.startswith(AFTER_COLON) else name).replace("_", " ")
    for prefix in prefixes:
        if iri.startswith(prefix):
            return iri[len(prefix) :].decode().replace("_", " ")
    whole = iri.decode()
    return whole.rpartition("/")[2].replace("_", " ") if whole.startswith(WIKIPEDIA) else whole


def predicate_words(name: str) -> str:
    """The name of a predicate with a blank before each capital.

    >>> predicate_words("birthPlace"), predicate_words("logoURL")
    ('birth Place', 'logo U R L')
    """
    return "".join(f" {letter}" if letter.isupper() else letter for letter in name)


def file_name(iri: bytes, resources: bytes) -> str | None:
    """The words of a file name without its ending; None if the IRI is not that of a file.

    >>> file_name(b"x:File:Eiffel_Tower.jpg", b"x:")
    'Eiffel Tower'
    """
    if not iri.startswith(resources + b"File:"):
        return None
    name = iri[len(resources) + 5 :].decode()
    return (name.rpartition(".")[0] or name).replace("_", " ")
