"""Triples by their predicate, in columns: many triples of few predicates are read without an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, cast

from hybridkg.rdf.terms import NamedNode, Node, Quad, Term, Triple


class PairColumns(NamedTuple):
    """The subjects and the objects of triples, of the same length."""

    subjects: list[Node]
    objects: list[Term]


@dataclass(frozen=True)
class TripleColumns:
    """Triples.

    Args:
        by_predicate: those of each predicate, by its IRI, in the order of the triples; none is empty.
    """

    by_predicate: Mapping[str, PairColumns]

    @classmethod
    def of(cls, triples: Iterable[Triple | Quad]) -> TripleColumns:
        """The columns of triples, or of quads without their graphs.

        >>> a, p, b = (NamedNode(f"e:{x}") for x in "apb")
        >>> own = TripleColumns.of([Triple(a, p, b), Triple(b, p, a)]).by_predicate["e:p"]
        >>> own.subjects == [a, b] and own.objects == [b, a]
        True
        """
        triples = list(triples)
        predicates = [one.predicate for one in triples]
        subjects = cast(list[Node], [one.subject for one in triples])  # no subject is a triple term in RDF 1.2
        objects = [one.object for one in triples]
        if len(set(predicates)) == 1:
            return cls({predicates[0].value: PairColumns(subjects, objects)})
        found: dict[NamedNode, PairColumns] = {}
        for predicate, subject, end in zip(predicates, subjects, objects, strict=True):
            own = found.setdefault(predicate, PairColumns([], []))
            own.subjects.append(subject)
            own.objects.append(end)
        return cls({predicate.value: own for predicate, own in found.items()})

    def __len__(self) -> int:
        return sum(len(own.subjects) for own in self.by_predicate.values())

    def __iter__(self) -> Iterator[tuple[Node, NamedNode, Term]]:
        """(subject, predicate, object) of each, predicate by predicate."""
        for iri, own in self.by_predicate.items():
            predicate = NamedNode(iri)
            yield from ((subject, predicate, end) for subject, end in zip(*own, strict=True))

    def subjects(self) -> list[Node]:
        """The distinct subjects."""
        return list(dict.fromkeys(chain.from_iterable(own.subjects for own in self.by_predicate.values())))

    def objects(self) -> list[Term]:
        """The distinct objects."""
        return list(dict.fromkeys(chain.from_iterable(own.objects for own in self.by_predicate.values())))

    def terms(self) -> list[Term]:
        """The distinct subjects, then the other distinct objects."""
        return list(dict.fromkeys(chain(self.subjects(), self.objects())))
