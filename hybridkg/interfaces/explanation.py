"""Why an entity has its score: what each query term gives, and what each field has of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TERM, ORDERED, UNORDERED, ENTITY = "term", "ordered", "unordered", "entity"


@dataclass(frozen=True)
class FieldShare:
    """A term in one field of the entity.

    Args:
        name: of the field.
        tf: occurrences.
        length: tokens of the entity's field; 0 where it lacks the field.
        weight: of the field for this term, as the model uses it.
        contribution: the field's share of the term's contribution, in proportion to what the field adds inside the
            model's saturation or logarithm; 0 where the term does not occur.
        values: further numbers of the model, by name.
    """

    name: str
    tf: int
    length: int
    weight: float
    contribution: float
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TermShare:
    """What one term gives to the score.

    Args:
        term: as the index has it.
        kind: `term`, `ordered` or `unordered` (two neighbouring words of the query), or `entity` (a linked node).
        count: how often the query has it, boosts included.
        df: entities that have it in any of the fields.
        contribution: to the score.
        values: numbers of the model, by name (`idf`, `p`).
        fields: one for each ON field.
    """

    term: str
    kind: str
    count: float
    df: int
    contribution: float
    values: Mapping[str, float]
    fields: tuple[FieldShare, ...]


@dataclass(frozen=True)
class ScoreExplanation:
    """The parts of one score; the contributions of the terms add up to it, but for the rounding of floats.

    Args:
        model: name of the ranking model.
        score: as in the ranking.
        terms: in the order of the query; first words, then pairs, then linked nodes.
    """

    model: str
    score: float
    terms: tuple[TermShare, ...]

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "model": self.model,
            "score": self.score,
            "terms": [
                {
                    "term": t.term,
                    "kind": t.kind,
                    "count": t.count,
                    "df": t.df,
                    "contribution": t.contribution,
                    **t.values,
                    "fields": [
                        {
                            "field": f.name,
                            "tf": f.tf,
                            "length": f.length,
                            "weight": f.weight,
                            "contribution": f.contribution,
                            **f.values,
                        }
                        for f in t.fields
                    ],
                }
                for t in self.terms
            ],
        }


@dataclass(frozen=True)
class Passage:
    """Where a text shows best why it matches.

    Args:
        field: name of the field.
        value: which of the entity's texts in this field, counted from 0.
        start: first character of the passage in that text.
        end: behind its last character.
        marks: (start, end) of each matching word in that text, ascending.
        shown: the passage on one line, `**` around matching words, `…` where the text goes on.
    """

    field: str
    value: int
    start: int
    end: int
    marks: tuple[tuple[int, int], ...]
    shown: str

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "field": self.field,
            "value": self.value,
            "start": self.start,
            "end": self.end,
            "marks": [list(mark) for mark in self.marks],
            "shown": self.shown,
        }


def shares(contribution: float, parts: list[float]) -> list[float]:
    """A contribution divided in proportion to the parts; all 0 where there are none.

    >>> shares(3.0, [1.0, 0.0, 2.0])
    [1.0, 0.0, 2.0]
    """
    total = sum(parts)
    return [contribution * part / total if total else 0.0 for part in parts]
