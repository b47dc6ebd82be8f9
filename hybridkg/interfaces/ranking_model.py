"""The ranking model protocol, its input, and the registry of models. A new model is one file and one line here.

The index decides which entities match and reads the postings; a model turns postings and statistics into scores.
Statistics are always those of the whole index; the postings may be restricted to candidates, so a score never depends
on the candidate set.
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
    """An argument of a model: a number with its range, one of several words, or a text.

    Args:
        name: as written in `USING model(name=value)`, or after a field of ON.
        low: smallest value.
        high: largest value.
        above_low: whether `low` itself is excluded.
        words: the allowed words of an argument that is no number.
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
        """The checked value of an argument that is a word or a text; `owner` is for the message, such as `model
        'bm25f'`.

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
        """The checked value of an argument that is a number; `owner` is for the message, such as `model 'bm25f'`.

        Raises:
            TextQueryError: not a finite number, out of range, or not whole.

        >>> ModelArgument("b", 0, 1).checked(0.4, "model 'bm25f'")
        0.4
        """
        if isinstance(value, str | bool):
            raise TextQueryError(f"argument {self.name!r} of {owner} is a number, not {value!r}")
        number = float(value)
        above = number > self.low if self.above_low else number >= self.low
        if self.whole and not number.is_integer():
            raise TextQueryError(f"argument {self.name!r} of {owner} is {number:g}; it must be a whole number")
        if not (math.isfinite(number) and above and number <= self.high):
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
    """The inputs and restrictions of a model; a query that violates them is refused, with alternatives.

    Args:
        least_weight: minimum weight of a field.
        weights: whether fields have weights; without them those of the profile are ignored, and a query may write only
            1.
        one_analyzer: whether all ON fields must have the same analyzer.
        pairs: whether it scores pairs of neighbouring words (`ScoringTask.ordered` and `unordered`). It then has an
            argument `window`, the number of places of an unordered pair.
        links: whether it scores the nodes that the text mentions (`ScoringTask.links`).
        base: the default of its argument `base`, the model whose `weights` holds; empty for none.
        one_text: whether it reads the ON fields as one text (`ScoringTask.text_lengths`).
        least_score: lower bound of the scores, unless the query gives an argument that is a word; -inf where there is
            none, as for sums of logarithms of probabilities.
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
    """The postings of one term in one field.

    Args:
        ids: uint32[m], ascending, distinct entities.
        tf: unsigned[m], at least 1.
    """

    ids: Ids
    tf: NDArray[Any]


@dataclass(frozen=True)
class ScoredField:
    """A field of the ON clause.

    Args:
        name: its name.
        row: its row in `ScoringTask.lengths`.
        weight: finite, at least 0.
        b: the profile's default strength of length normalisation, 0..1.
        entities: entities of the index that have the field.
        tokens: sum of their lengths.
        arguments: the field's own checked arguments.
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
    """A distinct query term or phrase that is scored.

    Args:
        count: occurrences in the query, boosts included; above 0.
        df: entities of the index that have it in any of its allowed fields.
        cf: int[fields], its occurrences in each field of the whole index; 0 where it is not allowed.
        field_df: int[fields], entities of the whole index that have it in each field; 0 where it is not allowed.
        allowed: bool[fields], whether the query allows it in the field (`title:red` allows one).
        postings: one per field, possibly restricted to candidates; empty where the field lacks the term.
        shown: the term for people.
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
    """The input of a model.

    Args:
        fields: the ON fields, in the order of the query.
        terms: the scored terms, in the order of their first appearance.
        n_entities: entities of the index that have any of the ON fields.
        lengths: uint32[index fields, nodes], tokens; 0 where an entity lacks the field.
        arguments: the model's checked numbers in the query.
        choices: the model's checked words in the query.
        ordered: neighbouring words as phrases, for a model with the trait `pairs`; their postings are of entities that
            also have some term.
        unordered: the same pairs as windows, in the order of `ordered`.
        links: the nodes that the text mentions, for a model with the trait `links`.
        text_lengths: uint32[nodes], tokens of all ON fields together, where the index has them precomputed.
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
    """Scores the entities in the postings of a task. Stateless; safe to use from many threads."""

    arguments: ClassVar[tuple[ModelArgument, ...]]
    """Arguments of `USING model(...)`."""

    field_arguments: ClassVar[tuple[ModelArgument, ...]]
    """Arguments after a field of ON."""

    traits: ClassVar[ModelTraits]

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids uint32[m] ascending, scores float64[m]) of every entity in any of the terms' postings."""

    def explain(self, task: ScoringTask) -> list[TermShare]:
        """The contributions to the score of the only entity in the task's postings, which add up to it."""


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
