"""The result of a search: hits, each with the reasons of its score, and facets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Literal, NamedNode, Node, Term, double, term_text
from hybridkg.results.result_set import ResultSet

COLUMNS = ("entity", "label", "types", "passage", "score", "reasons")
"""The columns of a search as rows."""


@dataclass(frozen=True)
class Reason:
    """The part of a score that comes from one field.

    Args:
        field: name of the field; `similarity` for that of vectors.
        contribution: to the score; of `similarity` the similarity itself.
        words: words of the text that the field has, the one that contributes most first.
    """

    field: str
    contribution: float
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = f" ({', '.join(self.words)})" if self.words else ""
        return f"{self.field} {self.contribution:.2f}{words}"

    def to_json(self) -> dict[str, Any]:
        return {"field": self.field, "contribution": self.contribution, "words": list(self.words)}


@dataclass(frozen=True)
class Hit:
    """An entity that a search found.

    Args:
        entity: the node.
        label: its label, or its shortened IRI.
        short_iri: the IRI with a prefix, where one is known, else in angle brackets.
        types: IRIs of its classes, the rarest class first.
        short_types: the same with prefixes, or the label of a class whose IRI ends in a code.
        passage: the best passage, `**` around matching words; empty without a matching word.
        score: as in the ranking.
        reasons: the parts of the score, the largest first.
    """

    entity: Node
    label: str
    short_iri: str
    types: tuple[str, ...]
    short_types: tuple[str, ...]
    passage: str
    score: float
    reasons: tuple[Reason, ...]

    @property
    def iri(self) -> str:
        """The IRI, or `_:` and the label of a blank node."""
        return self.entity.value if isinstance(self.entity, NamedNode) else f"_:{self.entity.value}"

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "entity": self.iri,
            "label": self.label,
            "types": list(self.types),
            "passage": self.passage,
            "score": self.score,
            "reasons": [reason.to_json() for reason in self.reasons],
        }


@dataclass(frozen=True)
class FacetValue:
    """A value of a facet.

    Args:
        term: the value.
        label: the label of a node, or the text of the value.
        count: matching entities that have it.
    """

    term: Term
    label: str
    count: int

    def to_json(self) -> dict[str, Any]:
        """JSON form, with the term in N-Triples."""
        return {"value": term_text(self.term), "label": self.label, "count": self.count}


@dataclass(frozen=True)
class FacetRange:
    """A range of the numbers of a facet, or of its dates: of their years, of the months of the only year, or of the
    days of the only month.

    Args:
        label: `below 10`, `10 to 20` or `from 20`; `2024-03 to 2024-05` for months.
        least: the lower bound, which the range includes; of the first range the least finite value.
            Of dates it is a year, a month of 1..12 or a day of 1..31.
        greatest: the upper bound, which the range excludes; of the last range the greatest finite value, which it
            includes.
        count: matching entities that have a value in it.
        where: the condition that selects these entities, for `where`.
        query: the HybridQL that counted them.
    """

    label: str
    least: int | float
    greatest: int | float
    count: int
    where: str
    query: str

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "label": self.label,
            "min": self.least,
            "max": self.greatest,
            "count": self.count,
            "where": self.where,
            "query": self.query,
        }


@dataclass(frozen=True)
class Facet:
    """The values of one property of all matching entities, the most frequent first, or ranges of them, ascending.

    Args:
        predicate: IRI of the property.
        name: the same with a prefix, `type` for the only predicate of classes.
        entities: matching entities that have the property.
        values: at most 100; none where there are ranges.
        query: the HybridQL that counted them; of ranges the one that found the least and the greatest value.
        ranges: 2 to 5 of them, if the values are many numbers or dates.
    """

    predicate: str
    name: str
    entities: int
    values: tuple[FacetValue, ...]
    query: str
    ranges: tuple[FacetRange, ...] = ()

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """(label, count) of each value or range."""
        return tuple((one.label, one.count) for one in self.ranges or self.values)

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        values = [value.to_json() for value in self.values]
        data = {"predicate": self.predicate, "entities": self.entities, "values": values, "query": self.query}
        return {**data, "ranges": [one.to_json() for one in self.ranges]} if self.ranges else data


@dataclass(frozen=True)
class SearchResult(Sequence[Hit]):
    """The entities that a search found, best first; `str` of it is a text for people.

    Args:
        text: the words.
        query: the HybridQL that ran; `kb.query(result.query)` has the same entities in the same order.
        hits: one for each entity.
        result: the rows of the query.
        matches: all entities that match, shown or not; None if they have not been counted.
        facets: counts of the matching entities, by type and by property.
        advice: what to try where nothing was found.
    """

    text: str
    query: str
    hits: tuple[Hit, ...]
    result: ResultSet = field(repr=False)
    matches: int | None = None
    facets: tuple[Facet, ...] = ()
    advice: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: Any) -> Any:
        return self.hits[index]

    @property
    def notes(self) -> tuple[str, ...]:
        """Which indexes do not know the last changes, then the advice."""
        stale = self.result.stale_indexes
        renew = "renew it with: hybridkg index KB; in Python: kb.index()"
        return (*(f"the {index} index is older than the graph; {renew}" for index in stale), *self.advice)

    @property
    def summary(self) -> str:
        """`4 entities (all that match), exact`, `the best 10 entities (more may match), exact` or, with facets,
        `10 entities (190 match), exact`.
        """
        result, n = self.result, len(self.hits)
        counted = f"{n:,} {'entity' if n == 1 else 'entities'}" if n else "no entity matches"
        is_full = 0 < n >= (result.requested or 0)
        if self.matches is not None and (self.matches > n or is_full):
            counted += f" ({self.matches:,} match)"
        elif is_full:
            counted = f"the best {counted} (more may match)"
        elif n:
            counted += " (all that match)"
        return f"{counted}, {'exact' if result.exact else 'not exact'}"

    def rows(self) -> ResultSet:
        """The hits as rows of COLUMNS, for the output formats of queries; several types or reasons are one text."""
        rows: list[Row] = [
            (
                hit.entity,
                Literal(hit.label),
                Literal(" ".join(hit.types)),
                Literal(hit.passage),
                double(hit.score),
                Literal("; ".join(map(str, hit.reasons))),
            )
            for hit in self.hits
        ]
        return replace(
            self.result,
            columns=COLUMNS,
            _variables=COLUMNS,
            _solutions=Solutions(COLUMNS, rows),
            _scores=(("score", "score"),),
            _ranked_by="score",
            _snippets=("passage",),
            _provenance=None,
        )

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "text": self.text,
            "query": self.query,
            "requested": self.result.requested,
            "returned": len(self.hits),
            "matches": self.matches,
            "exact": self.result.exact,
            "shortfall": self.result.shortfall,
            "stale_indexes": list(self.result.stale_indexes),
            "hits": [hit.to_json() for hit in self.hits],
            "facets": [facet.to_json() for facet in self.facets],
            "advice": list(self.advice),
        }

    def __str__(self) -> str:
        from io import StringIO

        from hybridkg.kb.search.text import write_search

        out = StringIO()
        write_search(self, out)
        lines = [out.getvalue().rstrip(), *(f"note: {note}" for note in self.notes), self.summary]
        return "\n".join(filter(None, lines))

    def _repr_html_(self) -> str:
        from hybridkg.kb.search.html import search_to_html

        return search_to_html(self)
