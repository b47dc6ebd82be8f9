"""Hints of errors from the names of a knowledge base, which whoever raised the error does not know."""

from __future__ import annotations

from collections.abc import Mapping

from hybridkg.entities.field_routing import FieldRouting
from hybridkg.entities.profile.labels import local_name, same_words
from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import HybridkgError, NotAnIriError, UnknownFieldError
from hybridkg.kb.snapshot import Snapshot
from hybridkg.query.source import shown
from hybridkg.rdf.well_known import iri_of_prefixed, shortened

MAX_NAMED = 3
"""Predicates in a hint."""


def with_known_names(error: HybridkgError, snapshot: Snapshot) -> None:
    """Completes the hint of an error about the name of a field, or about a text in the place of an IRI."""
    if isinstance(error, UnknownFieldError) and snapshot.profile is not None:
        predicates = snapshot.advisor.schema.predicates
        error.hint = fields_of(error.name, predicates, snapshot.profile, snapshot.prefixes) or error.hint
    elif isinstance(error, NotAnIriError):
        error.hint = iri_hint(error.text, snapshot.prefixes) or error.hint


def fields_of(name: str, predicates: Mapping[str, int], profile: Profile, prefixes: Mapping[str, str]) -> str:
    """The fields that have the texts of the predicates with a local name or a prefixed name; empty for none.

    >>> from hybridkg.entities.profile.profile import Field
    >>> profile = Profile("p", (Field("label", path="x:name"), Field("text", rest=True)))
    >>> fields_of("colour", {"x:name": 9, "x:colour": 3}, profile, {})
    "the text of <x:colour> is in the field 'text'"
    """
    routing, lines = FieldRouting(profile), []
    for iri in predicates:
        if name != shortened(iri, prefixes) and not same_words(local_name(iri), name):
            continue
        route = routing.route(iri)
        fields = [profile.fields[position].name for position in route.strings or route.links]
        if fields:
            lines.append(
                f"the text of {shown(shortened(iri, prefixes))} is in the field {' and '.join(map(repr, fields))}"
            )
    return "\n".join(lines[:MAX_NAMED])


def iri_hint(text: str, prefixes: Mapping[str, str]) -> str:
    """How an IRI is given that a text names with a known prefix; empty for other texts.

    >>> iri_hint("ex:a", {"ex": "http://e/"})
    'ex:a is a text here; for the IRI write <http://e/a> on the command line, rdflib.URIRef in Python'
    """
    iri = iri_of_prefixed(text, prefixes)
    if not iri:
        return ""
    return f"{shown(text)} is a text here; for the IRI write <{iri}> on the command line, rdflib.URIRef in Python"
