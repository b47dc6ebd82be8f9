"""Score explanations: the contribution of each query term, and of each field to it; and snippets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TERM, ORDERED, UNORDERED, ENTITY = "term", "ordered", "unordered", "entity"


@dataclass(frozen=True)
class FieldShare:
    """The share of one field in a term's contribution.

    Args:
        name: of the field.
        tf: occurrences.
        length: tokens of the entity's field; 0 where it lacks the field.
        weight: of the field for this term, as the model uses it.
        contribution: the part of the term's contribution, in proportion to the field's summand inside the model's
            saturation or logarithm; 0 where the term does not occur.
        values: further numbers of the model, by name.
    """

    name: str
    tf: int
    length: int
    weight: float
    contribution: float
    values: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        numbers = {"tf": self.tf, "length": self.length, "weight": self.weight, "contribution": self.contribution}
        return {"field": self.name, **numbers, **self.values}


@dataclass(frozen=True)
class TermShare:
    """The contribution of one term to a score.

    Args:
        term: as indexed.
        kind: `term`, `ordered` or `unordered` (two neighbouring words of the query), or `entity` (a linked node).
        count: occurrences in the query, boosts included.
        df: entities that have it in any of the fields.
        contribution: to the score.
        values: numbers of the model, by name (`idf`, `p`).
        fields: one per ON field.
    """

    term: str
    kind: str
    count: float
    df: int
    contribution: float
    values: Mapping[str, float]
    fields: tuple[FieldShare, ...]

    def to_json(self) -> dict[str, Any]:
        numbers = {"kind": self.kind, "count": self.count, "df": self.df, "contribution": self.contribution}
        return {"term": self.term, **numbers, **self.values, "fields": [field.to_json() for field in self.fields]}


@dataclass(frozen=True)
class ScoreExplanation:
    """The parts of one score; the contributions of the terms add up to it, up to the rounding of floats.

    Args:
        model: name of the ranking model.
        score: as in the ranking.
        terms: in the order of the query; first words, then pairs, then linked nodes.
    """

    model: str
    score: float
    terms: tuple[TermShare, ...]

    def to_json(self) -> dict[str, Any]:
        return {"model": self.model, "score": self.score, "terms": [term.to_json() for term in self.terms]}


@dataclass(frozen=True)
class Passage:
    """The snippet of a text.

    Args:
        field: name of the field.
        value: place of the text among the entity's texts in this field, from 0.
        start: first character of the passage in that text.
        end: exclusive end.
        marks: (start, end) of each matching word in that text, ascending.
        shown: the passage on one line, `**` around matching words, `…` at a cut.
    """

    field: str
    value: int
    start: int
    end: int
    marks: tuple[tuple[int, int], ...]
    shown: str

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"marks": [list(mark) for mark in self.marks]}


def shares(contribution: float, parts: list[float]) -> list[float]:
    """A contribution divided in proportion to the parts; all 0 where there are none.

    >>> shares(3.0, [1.0, 0.0, 2.0])
    [1.0, 0.0, 2.0]
    """
    total = sum(parts)
    return [contribution * part / total if total else 0.0 for part in parts]
