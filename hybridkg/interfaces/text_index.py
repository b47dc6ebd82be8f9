"""What the engine asks of a text index, and the question it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.analyzer import Analyzer

Ids = NDArray[np.uint32]
Scores = NDArray[np.float64]

Argument = tuple[str, float | str]
"""A named argument of a model, such as `("k1", 1.2)`."""


@dataclass(frozen=True)
class FieldChoice:
    """A field of the ON clause: `title^3 b=0.4` is `FieldChoice("title", 3.0, (("b", 0.4),))`.

    weight None means the weight that the profile gives the field.
    """

    name: str
    weight: float | None = None
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Condition:
    """A triple pattern about the entity, `?entity <predicate> value`, with a constant or a number in a range.

    Args:
        predicate: its IRI.
        equals: the constant as N-Triples writes it: `<iri>` or a quoted literal; None for a range.
        low: smallest number; None for no bound.
        high: largest number; None for no bound.
    """

    predicate: str
    equals: str | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class TextQuery:
    """One MATCH as the index sees it.

    Args:
        text: the words, or a query string.
        language: language tag of the text, which selects the analyzer; empty for the default (English).
        syntax: whether `"phrase"`, `+must`, `-not` and `field:term` in the text are operators. Text from a
            parameter or a variable is plain words (language.md), unless written MATCH QUERY.
        fields: the ON clause; empty means every field of the profile with the profile's weights.
        all_terms: MATCH ALL: every term must occur, each in any of the fields.
        model: a name of RANKING_MODELS.
        arguments: the model's named arguments, in the order written.
        conditions: entities that break one may be left out, whatever their score; others never. Only those of
            which `TextIndex.holds` is true.
    """

    text: str
    language: str = ""
    syntax: bool = True
    fields: tuple[FieldChoice, ...] = ()
    all_terms: bool = False
    model: str = "bm25f"
    arguments: tuple[Argument, ...] = ()
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class TextQuestion:
    """A relation that a plan will read: complete, or its best k."""

    query: TextQuery
    k: int | None = None


@dataclass(frozen=True)
class TermStatistics:
    """A term or phrase (written with spaces) after analysis, and how many entities have it in an ON field."""

    term: str
    df: int
    role: str = "should"
    """`should`, `must` or `not`."""


class TextIndex(Protocol):
    """Ranks entities by text. Safe to use from many threads.

    Entities are dense uint32 ids of the NodeTable. Scores use the statistics
    of the whole index, so `matching`, `topk` and `score` agree on every id;
    the planner may swap one for another. NaN means "does not match"; a
    score of 0 or below is still a match.
    """

    exact: bool
    """Whether `topk` is the true best k; told to the user with every answer."""

    scan_limit: int | None
    """Matches beyond which reading the complete relation costs more than reading a pattern of the graph of the same
    size first and scoring only what it names; None where the relation is at hand."""

    counts: Mapping[str, int]
    """Of the whole index: entities, terms, postings, tokens, text_bytes, as far as the engine knows them."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The field names, in the profile's order."""

    def field_totals(self, name: str) -> dict[str, float]:
        """Of one field: entities that have it, tokens in all, and mean length in tokens over those entities."""

    def analyzer(self, name: str) -> Analyzer:
        """The analyzer of that name in this index, which is what cuts the queries of its fields.

        Raises:
            UnknownNameError: no field has it.
        """

    def about(self) -> dict[str, Any]:
        """What `stats` says of the engine, `engine` first; never raises: what cannot be told is told as such."""

    def holds(self, condition: Condition) -> bool:
        """Whether the index can leave out entities that break the condition, and knows what the graph knows."""

    def check(self, query: TextQuery) -> None:
        """Raises UnknownNameError (field, model, argument) or TextQueryError; cheap, reads no postings."""

    def most(self, query: TextQuery) -> int:
        """No fewer than `matching` will give; cheap."""

    def prepare(self, queries: Sequence[TextQuery]) -> None:
        """`most` of these will be asked for: an index that is far away asks for all of them at once."""

    def matching(self, query: TextQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, scores float64[m])."""

    def topk(self, query: TextQuery, k: int) -> tuple[Ids, Scores]:
        """Best k: (ids uint32[m], scores float64[m]), m <= k, by score descending, then the node's rank."""

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity does not match; ids in any order, repeats allowed."""

    def answers(self, questions: Sequence[TextQuestion]) -> list[tuple[Ids, Scores]]:
        """`matching` or `topk` of each question, asked together where that saves time."""

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """The analysed terms and phrases with their df, for EXPLAIN."""

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage of an entity's texts, matching words between `**` marks; empty without a match.

        Args:
            query: the MATCH.
            texts: (field, text, language tag or "") of one entity.
        """


@dataclass(frozen=True)
class IndexedField:
    """A field as the text index stores it.

    Args:
        name: lower-case name used in ON and in query strings.
        weight: default weight in fielded models, at least 0.
        b: default strength of BM25F's length normalisation, 0..1.
        analyzer: a name of ANALYZERS.
    """

    name: str
    weight: float = 1.0
    b: float = 0.75
    analyzer: str = "standard"
