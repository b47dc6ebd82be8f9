"""What the engine asks of a text index, and the question it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.analyzer import Analyzer

if TYPE_CHECKING:
    from hybridkg.interfaces.explanation import Passage
    from hybridkg.interfaces.links import EntityLinker
    from hybridkg.interfaces.ranking_model import ScoringTask

MAX_WEIGHT = 1_000_000
"""Of a field or of a list in rrf: far beyond any use, and far from where sums of products overflow."""

Ids = NDArray[np.uint32]
Scores = NDArray[np.float64]

Argument = tuple[str, float | str]
"""A named argument of a model, such as `("k1", 1.2)`."""


@dataclass(frozen=True)
class FieldChoice:
    """A field of the ON clause: `title^3 b=0.4` is `FieldChoice("title", 3.0, (("b", 0.4),))`.

    weight None means the weight that the profile gives the field; with a language (`title@en`) only literals of this
    language are searched, as if there were no others, and the words of the text are taken to be in it.
    """

    name: str
    weight: float | None = None
    arguments: tuple[Argument, ...] = ()
    language: str = ""

    @property
    def written(self) -> str:
        """Name and language as ON has them: `title`, `title@en`."""
        return f"{self.name}@{self.language}" if self.language else self.name


@dataclass(frozen=True)
class PushdownCondition:
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
class AnyCondition:
    """Sets of conditions, of which the entity satisfies one: of the branches of a UNION, or of the rows of VALUES.

    Args:
        branches: each with one condition or more.
    """

    branches: tuple[tuple[PushdownCondition, ...], ...]


@dataclass(frozen=True)
class TextQuery:
    """One MATCH as the index sees it.

    Args:
        text: the words, or a query string.
        language: language tag of the text, which selects the analyzer; empty for the default (English).
        syntax: whether `"phrase"`, `+must`, `-not`, `field:term`, `prefix*` ... in the text are operators. Text from
            a parameter or a variable is plain words (language.md), unless written MATCH QUERY.
        fields: the ON clause; empty means every field of the profile with the profile's weights.
        all_terms: MATCH ALL: every term must occur, each in any of the fields.
        model: a name of RANKING_MODELS.
        arguments: the model's named arguments, in the order written.
        conditions: entities that break one may be left out, whatever their score; others never. Only those of
            which `TextIndex.holds` is true, also of those in branches.
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
    """A relation that a plan will read: complete, or its best k."""

    query: TextQuery
    k: int | None = None


@dataclass(frozen=True)
class TermStatistics:
    """A term, a phrase (written with spaces), or a prefix or fuzzy word (as it is written).

    Args:
        term: after analysis.
        df: how many entities have it in an ON field.
        role: `should`, `must` or `not`.
        alternatives: of a prefix or fuzzy word, how many terms of the index it stands for; 0 for others.
        total: how many terms it could stand for; more than `alternatives` where they were cut.
    """

    term: str
    df: int
    role: str = "should"
    alternatives: int = 0
    total: int = 0


def alternatives_of(term: TermStatistics, into: str = "{}") -> str:
    """How many terms a prefix or fuzzy word stands for, in words; empty for other terms.

    Args:
        term: what it is about.
        into: a format for the words.

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

    Entities are dense uint32 ids of the NodeTable. Scores use the statistics
    of the whole index, so `matching`, `topk` and `score` agree on every id;
    the planner may swap one for another. NaN means "does not match"; a
    score of 0 or below is still a match.
    """

    exact: bool
    """Whether `topk` is the true best k; told to the user with every answer."""

    is_remote: bool
    """Whether the postings are on a server, so that a request costs a round trip."""

    max_remote_scan: int
    """Of a remote index: the most matches of a relation that is read whole. Reading more costs more than reading a
    pattern of the graph of the same size first and scoring only what it names. Without meaning where the index is
    local."""

    linker: EntityLinker | None
    """What finds nodes in the texts for models that want them; whoever opens the index beside a graph sets it."""

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

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        """Whether the index can leave out entities that break the condition, and knows what the graph knows."""

    def check(self, query: TextQuery) -> None:
        """Raises UnknownNameError (field, model, argument) or TextQueryError; cheap, reads no postings."""

    def match_count_bound(self, query: TextQuery) -> int:
        """No fewer than `matching` will give; cheap."""

    def prefetch_counts(self, queries: Sequence[TextQuery]) -> None:
        """`most` of these will be asked for: an index that is far away asks for all of them at once."""

    def score_all(self, query: TextQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, scores float64[m])."""

    def topk(self, query: TextQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Best k: (ids uint32[m], scores float64[m]), m <= k, by score descending, then the node's rank; of `among`
        (uint32, ascending, distinct) where they are given. What is not among them is left out, never scored 0.
        """

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity does not match; ids in any order, repeats allowed."""

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        """What the query's model sees of the matching entities: of those among `ids` (uint32, ascending, distinct), or
        of all. `model.score` of it is what `matching` gives; experiments and explanations start from it.
        """

    def batch(self, questions: Sequence[IndexRequest]) -> list[tuple[Ids, Scores]]:
        """`matching` or `topk` of each question, asked together where that saves time."""

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """The analysed terms and phrases with their df, for EXPLAIN."""

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage of an entity's texts, matching words between `**` marks; empty without a match.

        Args:
            query: the MATCH.
            texts: (field, text, language tag or "") of one entity.
        """

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """The best passage of each field in which something matches, in the order of the ON fields."""


@dataclass(frozen=True)
class IndexedField:
    """A field as the text index stores it.

    Args:
        name: lower-case name used in ON and in query strings.
        weight: default weight in fielded models, at least 0.
        b: default strength of BM25F's length normalisation, 0..1.
        analyzer: a name of ANALYZERS.
        languages: of a field in an index: the tags of its literals, lower case, sorted; None where the index does not
            know them.
    """

    name: str
    weight: float = 1.0
    b: float = 0.75
    analyzer: str = "standard"
    languages: tuple[str, ...] | None = None


def speaks(tag: str, wanted: str) -> bool:
    """Whether a language tag is of a language, by the basic filtering of RFC 4647.

    Args:
        tag: of a literal, lower case.
        wanted: a tag or the beginning of one, lower case.

    >>> speaks("en-gb", "en"), speaks("en", "en-gb"), speaks("enm", "en")
    (True, False, False)
    """
    return tag == wanted or tag.startswith(wanted + "-")
