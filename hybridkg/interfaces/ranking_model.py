"""What a text index gives a ranking model, and the models by name. A new model is one file and one line here.

The index decides which entities match and reads the postings; a model turns
postings and statistics into scores. Statistics are always those of the whole
index; the postings may be restricted to some candidate entities, so a score
never depends on which entities are asked about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.explanation import TermShare
from hybridkg.interfaces.links import LinkedNode
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.registry import Registry, did_you_mean


@dataclass(frozen=True)
class ModelArgument:
    """A named number that a model takes, and its range; or a word, and which there are.

    Args:
        name: as written in `USING model(name=value)`, or behind a field of ON.
        low: smallest value.
        high: largest value.
        above_low: whether `low` itself is excluded.
        words: the words that it may be, where it is no number.
        text: whether it is any text.
        whole: whether it is a whole number.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf
    above_low: bool = False
    words: tuple[str, ...] = ()
    text: bool = False
    whole: bool = False

    def word(self, value: float | str, owner: str) -> str:
        """The value as one of the words, or as the text that it may be.

        Args:
            value: what the query says.
            owner: whose argument it is, for the message, such as `model 'bm25f'`.

        Raises:
            UnknownNameError: it is none of the words.
            TextQueryError: it is a number, and must be a text.

        >>> ModelArgument("form", words=("lucene", "galago")).word("galago", "model 'bm25f'")
        'galago'
        """
        if self.text and not isinstance(value, str):
            raise TextQueryError(f"argument {self.name!r} of {owner} is a text, not {value:g}")
        if not self.text and value not in self.words:
            shown = value if isinstance(value, str) else f"{value:g}"
            raise UnknownNameError(
                f"argument {self.name!r} of {owner} is {shown!r}; it must be {' or '.join(map(repr, self.words))}",
                hint=did_you_mean(shown, list(self.words)),
            )
        return str(value)

    def checked(self, value: float | str, owner: str) -> float:
        """The value as a number.

        Args:
            value: what the query says.
            owner: whose argument it is, for the message, such as `model 'bm25f'`.

        Raises:
            TextQueryError: not a finite number, out of range, or not whole.

        >>> ModelArgument("b", 0, 1).checked(0.4, "model 'bm25f'")
        0.4
        """
        if isinstance(value, str | bool):
            raise TextQueryError(f"argument {self.name!r} of {owner} is a number, not {value!r}")
        number = float(value)
        low_enough = number > self.low if self.above_low else number >= self.low
        if self.whole and not number.is_integer():
            raise TextQueryError(f"argument {self.name!r} of {owner} is {number:g}; it must be a whole number")
        if not (math.isfinite(number) and low_enough and number <= self.high):
            raise TextQueryError(f"argument {self.name!r} of {owner} is {number:,.10g}; it must be {self.range()}")
        return number

    def range(self) -> str:
        """The range in words.

        >>> ModelArgument("b", 0, 1).range(), ModelArgument("k1", 0, above_low=True).range()
        ('between 0 and 1', 'finite and above 0')
        """
        if math.isfinite(self.high):
            return f"between {self.low:,.10g} and {self.high:,.10g}"
        if not math.isfinite(self.low):
            return "finite"
        return f"finite and {'above' if self.above_low else 'at least'} {self.low:g}"


@dataclass(frozen=True)
class ModelTraits:
    """What a model looks at, and what it cannot do; a query that asks for that is refused, with the alternatives.

    Args:
        least_weight: smallest weight of a field.
        weights: whether fields have weights at all; without them those of the profile are not looked at, and a
            query may write no other than 1.
        one_analyzer: whether all ON fields must have the same analyzer.
        pairs: whether it looks at neighbouring words of the query (`ScoringTask.ordered` and `unordered`). It then
            has an argument `window`, the places in which the unordered ones must stand.
        links: whether it looks at the nodes that the text mentions (`ScoringTask.links`).
        base: the default of its argument `base`, which names the model whose rule about weights holds; empty for none.
        one_text: whether it reads the ON fields as one text (`ScoringTask.text_lengths`).
        least_score: no score is below, as long as the query gives none of the arguments that are words; -inf where
            scores have no least, as sums of logarithms of probabilities.
    """

    least_weight: float = 0.0
    weights: bool = True
    one_analyzer: bool = False
    pairs: bool = False
    links: bool = False
    base: str = ""
    one_text: bool = False
    least_score: float = -math.inf


@dataclass(frozen=True)
class Postings:
    """Occurrences of one term in one field.

    Args:
        ids: uint32[m], ascending, distinct entities.
        tf: unsigned[m], at least 1, occurrences in each.
    """

    ids: Ids
    tf: NDArray[Any]


@dataclass(frozen=True)
class ScoredField:
    """A field of the ON clause.

    Args:
        name: the field's name.
        row: its row in `ScoringTask.lengths`.
        weight: finite, at least 0.
        b: the profile's default strength of length normalisation, 0..1.
        entities: entities of the index that have the field.
        tokens: sum of their lengths.
        arguments: the field's own arguments, checked.
    """

    name: str
    row: int
    weight: float
    b: float
    entities: int
    tokens: int
    arguments: Mapping[str, float]


@dataclass(frozen=True)
class ScoredTerm:
    """A distinct query term or phrase that counts towards the score.

    Args:
        count: how often the query has it, boosts included; above 0.
        df: entities of the index that have it in any field that the query allows for it.
        cf: int[fields], its occurrences in each field of the whole index; 0 where it is not allowed.
        field_df: int[fields], entities of the whole index that have it in each field; 0 where it is not allowed.
        allowed: bool[fields], whether the query allows it in the field (`title:red` allows one).
        postings: one per field, possibly restricted to candidates; empty where the field lacks the term.
        shown: the term as a person reads it.
    """

    count: float
    df: int
    cf: tuple[int, ...]
    field_df: tuple[int, ...]
    allowed: tuple[bool, ...]
    postings: tuple[Postings, ...]
    shown: str = ""


@dataclass(frozen=True)
class ScoringTask:
    """Everything a model sees.

    Args:
        fields: the ON fields, in the order of the query.
        terms: the terms that score, in the order of their first appearance.
        n_entities: entities of the index that have any of the ON fields.
        lengths: uint32[index fields, nodes], tokens; 0 where an entity lacks the field.
        arguments: the model's numbers that the query gives, checked.
        choices: the model's words that the query gives, checked.
        ordered: neighbouring words of the query as phrases, for a model whose traits ask for pairs; their postings
            are of entities that some term has too.
        unordered: the same pairs near each other, in the order of `ordered`.
        links: the nodes that the text mentions, for a model whose traits ask for links.
        text_lengths: uint32[nodes], tokens of all ON fields together, where the index has them at hand.
    """

    fields: tuple[ScoredField, ...]
    terms: tuple[ScoredTerm, ...]
    n_entities: int
    lengths: NDArray[np.uint32]
    arguments: Mapping[str, float]
    choices: Mapping[str, str] = field(default_factory=dict)
    ordered: tuple[ScoredTerm, ...] = ()
    unordered: tuple[ScoredTerm, ...] = ()
    links: tuple[LinkedNode, ...] = ()
    text_lengths: NDArray[np.uint32] | None = None


class RankingModel(Protocol):
    """Scores the entities in the postings of a task. Has no state; safe to use from many threads."""

    arguments: ClassVar[tuple[ModelArgument, ...]]
    """What `USING model(...)` accepts."""

    field_arguments: ClassVar[tuple[ModelArgument, ...]]
    """What may stand behind a field of ON."""

    traits: ClassVar[ModelTraits]
    """What it looks at, and cannot do."""

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids uint32[m] ascending, scores float64[m]) of every entity in any of the terms' postings."""

    def explain(self, task: ScoringTask) -> list[TermShare]:
        """The parts of the score of the only entity in the task's postings; they add up to it."""


RANKING_MODELS = Registry(
    "ranking model",
    "hybridkg.ranking_models",
    {
        "bm25f": "hybridkg.text.models.bm25f:BM25F",
        "bm25": "hybridkg.text.models.bm25:BM25",
        "combined_fields": "hybridkg.text.models.combined_fields:CombinedFields",
        "lm": "hybridkg.text.models.lm:LM",
        "mlm": "hybridkg.text.models.mlm:MLM",
        "prms": "hybridkg.text.models.prms:PRMS",
        "sdm": "hybridkg.text.models.sdm:SDM",
        "fsdm": "hybridkg.text.models.fsdm:FSDM",
        "elr": "hybridkg.text.models.elr:ELR",
    },
)
