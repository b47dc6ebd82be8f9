"""Explains a condition that is a comparison, or whose property is a bare word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.errors import HybridkgError, QueryCheckError, SourceName, Span
from hybridkg.query.source import shown
from hybridkg.rdf.similar import similar_iris
from hybridkg.rdf.well_known import shortened

MAX_VALUE = 60
"""Characters of a compared value that a hint repeats."""

_FIRST = re.compile(r"\s*(?P<name><[^<>\s]*>|[?$]?[^\W\d][\w.-]*(?::[\w.-]*)?|:[\w.-]+)")
_COMPARED = re.compile(r"\s*(?P<op><=|>=|!=|=|<(?![^<>\s]*>)|>)\s*(?P<value>[^\n]*)")


@dataclass(frozen=True)
class Vocabulary:
    """The names that a condition may have.

    Args:
        prefixes: names of namespaces.
        predicates: IRIs of the properties in the data, with their triples.
    """

    prefixes: Mapping[str, str]
    predicates: Mapping[str, int]

    def nearest(self, name: str) -> str:
        """The property that a name means, as a query writes it; empty for none."""
        prefix, colon, local = name.partition(":")
        iri = name[1:-1] if name.startswith("<") else self.prefixes.get(prefix, "") + local if colon else name
        if iri in self.predicates:
            return shortened(iri, self.prefixes)
        near = similar_iris(iri, self.predicates)
        return shortened(near[0], self.prefixes) if near else ""


def mistake_in(body: str, start: int, source: SourceName, words: Vocabulary) -> HybridkgError | None:
    """The error of a fragment that the grammar refuses; None where the error of the grammar says enough.

    Args:
        body: the fragment behind its PREFIX declarations.
        start: its place in the source.
        source: the fragment.
        words: the names that it may have.

    >>> known = Vocabulary({"ex": "http://e/"}, {"http://e/price_eur": 9})
    >>> mistake_in("price_eur < 50", 0, SourceName("where", "price_eur < 50"), known).hint
    'write a property and a variable, then a filter: ex:price_eur ?p . FILTER(?p < 50)'
    """
    first = _FIRST.match(body)
    if first is None:
        return None
    name = first["name"]
    compared = _COMPARED.match(body, first.end())
    if compared is not None:
        span = Span(start + compared.start("op"), start + compared.end("op"))
        return QueryCheckError(
            "a comparison stands in a FILTER", hint=_rule(name, compared, words), span=span, source=source
        )
    if name[0] in "?$<" or ":" in name or name.lower() in ("a", "filter"):
        return None
    span = Span(start + first.start("name"), start + first.end("name"))
    near = words.nearest(name)
    hint = f"did you mean {near}?" if near else "list what there is: hybridkg schema KB; in Python: kb.schema()"
    message = f"{shown(name)!r} is not a property: a property is a prefixed name or an IRI"
    return QueryCheckError(message, hint=hint, span=span, source=source)


def _rule(name: str, compared: re.Match[str], words: Vocabulary) -> str:
    """The right form of `name op value`."""
    op, value = compared["op"], compared["value"].strip()
    is_variable, is_bare = name[0] in "?$", ":" not in name
    written = "" if is_variable else words.nearest(name)
    written = written or (":property" if is_variable or is_bare else name)
    variable = name if is_variable else "?value" if "?p" in value else "?p"
    is_simple = 0 < len(value) <= MAX_VALUE and not re.search(r"[;{}()&|.]\s|[;{}()&|.]$", value)
    if op == "=" and is_simple and not is_variable:
        return f"write a property and a value: {written} {value}"
    condition = f"{variable} {op} {value if is_simple else '...'}"
    return f"write a property and a variable, then a filter: {written} {variable} . FILTER({condition})"
