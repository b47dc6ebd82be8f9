"""Short forms of IRIs in tables: their labels if wanted, else prefixed names, else the IRIs as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from hybridkg.rdf.well_known import abbreviation

LabelLookup: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]
"""The labels of IRIs, by IRI; those without a label are missing."""

MAX_LABELLED = 5_000
"""Distinct IRIs of a result that are looked up for their labels, about 14 us each."""

_IRI = re.compile(r"<([^<>\s]+)>")


class IriNames:
    """The short form of each IRI.

    Args:
        prefixes: namespaces by prefix, in the order of preference.
        labels: by IRI; empty where labels are not wanted.

    >>> names = IriNames({"f": "http://e/f/"}, {"http://e/f/2": "Blade Runner"})
    >>> names("http://e/f/1"), names("http://e/f/2"), names("urn:x"), names.inside("<< <http://e/f/1> >>")
    ('f:1', 'Blade Runner', 'urn:x', '<< f:1 >>')
    """

    def __init__(self, prefixes: Mapping[str, str], labels: Mapping[str, str]):
        self._prefixes, self._labels = prefixes, labels
        self._known: dict[str, str] = {}

    def __call__(self, iri: str) -> str:
        """The label, the prefixed name, or the IRI."""
        name = self._known.get(iri)
        if name is None:
            name = self._known[iri] = self._labels.get(iri) or abbreviation(iri, self._prefixes) or iri
        return name

    def is_label(self, iri: str) -> bool:
        """Whether the short form is a label, which may have spaces."""
        return bool(self._labels.get(iri))

    def inside(self, text: str) -> str:
        """A text with prefixed names in place of IRIs in angle brackets."""
        return _IRI.sub(lambda found: abbreviation(found[1], self._prefixes) or found[0], text)
