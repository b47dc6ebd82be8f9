"""Short forms of IRIs in tables: their labels if wanted, else prefixed names, else the IRIs as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from hybridkg.rdf.terms import NamedNode, Term, Triple, term_text
from hybridkg.rdf.well_known import abbreviation

LabelLookup: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]
"""The labels of IRIs, by IRI; those without a label are missing."""

MAX_LABELLED = 5_000
"""Distinct IRIs of a result that are looked up for their labels, about 14 us each."""


class IriNames:
    """The short form of each IRI.

    Args:
        prefixes: namespaces by prefix, in the order of preference.
        labels: by IRI; empty where labels are not wanted.

    >>> names = IriNames({"f": "http://e/f/"}, {"http://e/f/2": "Blade Runner"})
    >>> names("http://e/f/1"), names("http://e/f/2"), names("urn:x"), names.term(NamedNode("http://e/f/2"))
    ('f:1', 'Blade Runner', 'urn:x', 'f:2')
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

    def term(self, term: Term) -> str:
        """The term as in Turtle: with prefixed names, and IRIs without one in angle brackets."""
        match term:
            case NamedNode(value=iri):
                return abbreviation(iri, self._prefixes) or str(term)
            case Triple(subject=subject, predicate=predicate, object=target):
                return f"<<( {self.term(subject)} {self.term(predicate)} {self.term(target)} )>>"
        return term_text(term)
