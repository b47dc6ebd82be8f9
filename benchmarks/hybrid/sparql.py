"""The shapes as SPARQL graph patterns on ?p, for every engine that reads SPARQL."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import BASE

PREFIX = f"PREFIX : <{BASE}> "
LETTERS = {"field": "f", "venue": "v", "institution": "i", "author": "a", "paper": "p"}
MANY_ROWS = ("two_hop", "coauthor", "union")
"""Shapes whose pattern has several solutions for one paper."""

_AT = "?p :author ?a . ?a :affiliation {institution} ."
PATTERNS = {
    "type": "?p a :Paper .",
    "field": "?p :field {field} .",
    "two_hop": _AT,
    "star": "?p a :Paper ; :field {field} ; :venue {venue} .",
    "coauthor": "?q :author {author} ; :author ?a . ?p :author ?a .",
    "cites": "?p :cites {paper} .",
    "union": "{{ ?p :field {field} }} UNION {{ ?p :venue {venue} }}",
    "negation": "?p :field {field} . FILTER NOT EXISTS {{ " + _AT + " }}",
    "minus": "?p :field {field} . MINUS {{ " + _AT + " }}",
    "year": "?p :year ?y . FILTER(?y >= {low} && ?y <= {high})",
    "optional": "?p :field {field} .",
}
NAMES = ("p", "s", "score", "a", "q", "y", "doi")
"""Variables of the queries."""
DOI = "OPTIONAL { ?p :doi ?doi }"


def spelled(name: str, number: int) -> str:
    """A constant in SPARQL, the prefix being declared.

    >>> spelled("field", 7), spelled("low", 1999)
    (':f7', '1999')
    """
    return f":{LETTERS[name]}{number}" if name in LETTERS else str(number)


def pattern(question: Question, constant: Callable[[str, int], str] = spelled) -> str:
    """The pattern without its OPTIONAL part."""
    shape = "minus" if question.minus else question.shape
    return PATTERNS[shape].format(**{name: constant(name, n) for name, n in question.constants.items()})


def has_doi(question: Question) -> bool:
    """Whether the DOI is asked for."""
    return question.shape == "optional"


def paper_of(iri: str) -> int:
    """The number of a paper.

    >>> paper_of(BASE + "p12")
    12
    """
    return int(iri[len(BASE) + 1 :])
