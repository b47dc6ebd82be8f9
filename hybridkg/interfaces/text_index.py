"""The text index protocol and its queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.analyzer import Analyzer

if TYPE_CHECKING:
    from hybridkg.interfaces.explanation import Passage
    from hybridkg.interfaces.links import EntityLinker
    from hybridkg.interfaces.ranking_model import ScoringTask

MAX_WEIGHT = 1_000_000
"""The maximum weight of a field, or of a list in rrf: no sum of products overflows."""

Ids = NDArray[np.uint32]
Scores = NDArray[np.float64]

Argument = tuple[str, float | str]
"""A named argument of a model, such as `("k1", 1.2)`."""


@dataclass(frozen=True)
class FieldChoice:
    """A field of the ON clause: `title^3 b=0.4` is `FieldChoice("title", 3.0, (("b", 0.4),))`.

    Without a weight, that of the profile holds. A language (`title@en`) restricts the search to its literals, as if
    there were no others, and is the language of the query text.
    """

    name: str
    weight: float | None = None
    arguments: tuple[Argument, ...] = ()
    language: str = ""

    @property
    def written(self) -> str:
        """Its ON syntax: `title`, `title@en`."""
        return f"{self.name}@{self.language}" if self.language else self.name


@dataclass(frozen=True)
class PushdownCondition:
    """A triple pattern about the entity, `?entity <predicate> value`, with a constant or a numeric range.

    Args:
        predicate: its IRI.
        equals: the constant in N-Triples, an IRI or a literal; None for a range.
        low: smallest number; None for no bound.
        high: largest number; None for no bound.
    """

    predicate: str
    equals: str | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class AnyCondition:
    """A disjunction of conjunctions: the branches of a UNION, or the rows of VALUES; no branch is empty."""

    branches: tuple[tuple[PushdownCondition, ...], ...]


class TextQuery(NamedTuple):  # made for each query, and a key: a frozen dataclass takes five times as long for both
    """A MATCH as the index receives it.

    Args:
        text: the words, or a query string.
        language: language tag of the text, which selects the analyzer; empty for the default (English).
        syntax: whether `"phrase"`, `+must`, `-not`, `field:term`, `prefix*` ... in the text are operators. Text from a
            parameter or a variable is plain words (docs/language.md), except in MATCH QUERY.
        fields: the ON clause; empty for all fields of the profile with their default weights.
        all_terms: MATCH ALL: every term must occur, each in any of the fields.
        model: a name of RANKING_MODELS.
        arguments: the model's named arguments, in the order written.
        conditions: entities that violate one may be left out; others may not. Only those that
            `TextIndex.supports_pushdown` accepts, also in branches.
    """

    text: str
    language: str = ""
    syntax: bool = True
    fields: tuple[FieldChoice, ...] = ()
    all_terms: bool = False
    model: str = "bm25f"
    arguments: tuple[Argument, ...] = ()
    conditions: tuple[PushdownCondition | AnyCondition, ...] = ()


@dataclass(frozen=True)
class IndexRequest:
    """A relation that a plan reads: complete, or its best k."""

    query: TextQuery
    k: int | None = None


@dataclass(frozen=True)
class TermStatistics:
    """The statistics of a term, a phrase (written with spaces), or a prefix or fuzzy word (as written).

    Args:
        term: after analysis.
        df: entities that have it in an ON field.
        role: `should`, `must` or `not`.
        alternatives: the terms of the index that a prefix or fuzzy word was expanded to; 0 for others.
        total: the number of all matching terms; above `alternatives` where the expansion is truncated.
    """

    term: str
    df: int
    role: str = "should"
    alternatives: int = 0
    total: int = 0


def alternatives_of(term: TermStatistics, into: str = "{}") -> str:
    """The size of the expansion of a prefix or fuzzy word, formatted by `into`; empty for other terms.

    >>> alternatives_of(TermStatistics("neur*", 9, alternatives=3, total=3))
    '3 terms'
    >>> alternatives_of(TermStatistics("a*", 9, alternatives=256, total=1300), " ({})")
    ' (256 of 1,300 terms)'
    """
    if not term.total:
        return ""
    cut = term.total > term.alternatives
    of = f"{term.alternatives:,} of {term.total:,}" if cut else f"{term.total:,}"
    return into.format(f"{of} {'term' if term.total == 1 else 'terms'}")


class TextIndex(Protocol):
    """Ranks entities by text. Safe to use from many threads.

    Entities are dense uint32 ids of the NodeTable. Scores use the statistics of the whole index, so `score_all`, `topk`
    and `score` agree on every id, and the planner may swap one for another. NaN means "does not match"; a score of 0 or
    below is still a match.
    """

    exact: bool
    """Whether `topk` is the true best k; reported with every answer."""

    is_remote: bool
    """Whether the postings are on a server, so that a request costs a round trip."""

    max_remote_scan: int
    """The maximum size of a relation that is read completely from a remote index. Beyond it, reading a graph pattern of
    the same size first, and scoring only its entities, is less expensive. Meaningless for a local index."""

    linker: EntityLinker | None
    """Links texts to nodes for models that need it; set by whoever opens the index together with a graph."""

    counts: Mapping[str, int]
    """Totals of the index: entities, terms, postings, tokens, text_bytes, where the engine has them."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The field names, in the profile's order."""

    def field_totals(self, name: str) -> dict[str, float]:
        """The entities that have a field, its tokens, and the mean length in tokens over those entities."""

    def languages_of(self, name: str) -> tuple[str, ...]:
        """The language tags of the literals of a field, lower case; empty where the index does not store them."""

    def analyzer(self, name: str) -> Analyzer:
        """The analyzer of that name in this index, which also analyses the queries of its fields.

        Raises:
            UnknownNameError: no field has it.
        """

    def about(self) -> dict[str, Any]:
        """The part of `stats` about the engine, `engine` first; never raises: a failure is reported as `problem`."""

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        """Whether the index can filter by the condition, on values that equal those of the graph."""

    def check(self, query: TextQuery) -> None:
        """Raises UnknownNameError (field, model, argument) or TextQueryError; reads no postings."""

    def match_count_bound(self, query: TextQuery) -> int:
        """Upper bound of the size of `score_all`; inexpensive."""

    def prefetch_counts(self, queries: Sequence[TextQuery]) -> None:
        """Announces calls of `match_count_bound`: a remote index sends one request for all of them."""

    def score_all(self, query: TextQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, scores float64[m])."""

    def matches(self, query: TextQuery) -> Ids:
        """The ids of `score_all`, for a relation whose scores nothing reads: uint32[m], ascending."""

    def topk(self, query: TextQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """The best k: (ids uint32[m], scores float64[m]), m <= k, by score descending, then the node's rank; of the
        candidates `among` (uint32, ascending, distinct) if given. Non-matches are left out, never scored 0.
        """

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity does not match; ids in any order, repeats allowed."""

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        """The model's input for the matching entities, restricted to `ids` (uint32, ascending, distinct) if given.
        `model.score` of it equals `score_all`; experiments and explanations start from it.
        """

    def batch(self, questions: Sequence[IndexRequest]) -> list[tuple[Ids, Scores]]:
        """`score_all` or `topk` of each request, combined where that saves time."""

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """The analysed terms and phrases with their df, for EXPLAIN."""

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage of an entity's texts, matching words between `**` marks; empty without a match.

        Args:
            query: the MATCH.
            texts: (field, text, language tag or "") of one entity.
        """

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """The best passage of each matching field, in the order of the ON fields."""


@dataclass(frozen=True)
class IndexedField:
    """A field as the text index stores it.

    Args:
        name: lower-case name used in ON and in query strings.
        weight: default weight in fielded models, at least 0.
        b: default strength of BM25F's length normalisation, 0..1.
        analyzer: a name of ANALYZERS.
        languages: the tags of its literals in an index, lower case, sorted; None where the index does not store them.
    """

    name: str
    weight: float = 1.0
    b: float = 0.75
    analyzer: str = "standard"
    languages: tuple[str, ...] | None = None


def speaks(tag: str, wanted: str) -> bool:
    """Whether a language tag matches a language range, by the basic filtering of RFC 4647; both lower case.

    >>> speaks("en-gb", "en"), speaks("en", "en-gb"), speaks("enm", "en")
    (True, False, False)
    """
    return tag == wanted or tag.startswith(wanted + "-")
