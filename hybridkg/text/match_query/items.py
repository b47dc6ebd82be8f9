"""The analysed MATCH: patterns of terms, their boolean structure and their weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.ranking_model import RankingModel
from hybridkg.interfaces.text_index import TextQuery

Words = tuple[tuple[int, str], ...]
"""(position in the phrase, term); a single word is a phrase of one."""


@dataclass(frozen=True)
class Pattern:
    """A word, a phrase or a window.

    Args:
        words: the terms and their places.
        window: 0 for a phrase, words at exactly these places; else the number of places within which the words stand in
            any order (`windows.py` counts them), and the places have no meaning.
    """

    words: Words
    window: int = 0

    @property
    def is_word(self) -> bool:
        return len(self.words) == 1


Patterns = tuple[Pattern, ...]
"""Alternatives in one field: an occurrence of any of them counts. Empty where an item may not occur."""


@dataclass(frozen=True)
class Item:
    """A unit of matching and scoring.

    Args:
        places: its patterns in each ON field, by that field's analyzer.
        written: its query syntax, where the patterns do not show it (`neural*`).
        total: for a prefix or fuzzy word, the terms that match; its patterns may be fewer.
    """

    places: tuple[Patterns, ...]
    written: str = field(default="", compare=False)
    total: int = field(default=0, compare=False)

    @cached_property
    def _hash(self) -> int:
        return hash(self.places)

    def __hash__(self) -> int:
        """Cached: a prefix has hundreds of patterns."""
        return self._hash

    @property
    def alternatives(self) -> int:
        """The terms that a prefix or fuzzy word was expanded to; 0 for others."""
        return max(map(len, self.places), default=0) if self.total else 0

    @cached_property
    def positional(self) -> bool:
        """Whether any pattern needs positions."""
        return any(not pattern.is_word for pattern in self.patterns())

    @cached_property
    def allowed(self) -> tuple[bool, ...]:
        """bool[ON fields]: where it may occur."""
        return tuple(map(bool, self.places))

    def patterns(self) -> Iterator[Pattern]:
        return (pattern for patterns in self.places for pattern in patterns)

    def shown(self) -> str:
        """Its query syntax, or the words of the first field that has any."""
        return self.written or " ".join(term for _, term in next((p.words for p in self.patterns()), ()))


@dataclass(frozen=True)
class ItemGroup:
    """A boolean group: all of `must`, none of `excluded` and, where `must` is empty, any of `should`."""

    must: tuple[Item | ItemGroup, ...] = ()
    should: tuple[Item | ItemGroup, ...] = ()
    excluded: tuple[Item | ItemGroup, ...] = ()

    @cached_property
    def any_of_its_items(self) -> bool:
        """Whether the group is a plain disjunction of items."""
        return not self.must and not self.excluded and all(isinstance(part, Item) for part in self.should)

    def excluded_items(self) -> Iterator[Item]:
        """The items of excluded parts at any depth, perhaps repeated."""
        for part in self.excluded:
            yield from [part] if isinstance(part, Item) else part.items()
        for part in (*self.must, *self.should):
            if isinstance(part, ItemGroup):
                yield from part.excluded_items()

    def items(self) -> Iterator[Item]:
        """All items, excluded ones too, perhaps repeated."""
        for part in (*self.must, *self.should, *self.excluded):
            if isinstance(part, Item):
                yield part
            else:
                yield from part.items()


@dataclass(frozen=True)
class ResolvedField:
    """A checked field of the ON clause.

    Args:
        number: its place in the index.
        weight: finite, at least 0.
        b: the profile's default.
        arguments: its own model arguments.
        language: restricts the field to literals of this language or its variants, as if there were no others; lower
            case, empty for all.
    """

    number: int
    name: str
    weight: float
    b: float
    analyzer: Analyzer
    arguments: Mapping[str, float]
    language: str = ""

    @property
    def written(self) -> str:
        """Its ON syntax: `title`, `title@en`."""
        return f"{self.name}@{self.language}" if self.language else self.name


@dataclass(frozen=True)
class ResolvedQuery:
    """An analysed MATCH.

    Args:
        arguments: the model's checked numbers.
        choices: the model's checked words (`form=galago`).
        counts: the distinct scoring items, in order of first appearance, with their number of occurrences times boost.
        matching: decides which entities match.
        ordered: pairs of neighbouring words as phrases, for a model that scores them; they do not affect matching.
        unordered: the same pairs as windows.
        text_query: the query before analysis.
    """

    fields: tuple[ResolvedField, ...]
    model: RankingModel
    arguments: Mapping[str, float]
    choices: Mapping[str, str]
    counts: Mapping[Item, float]
    matching: ItemGroup
    ordered: Mapping[Item, float]
    unordered: Mapping[Item, float]
    text_query: TextQuery

    @cached_property
    def excluded(self) -> tuple[Item, ...]:
        """The distinct items that must not occur, at any depth; some may score in another part."""
        return tuple(dict.fromkeys(self.matching.excluded_items()))

    @cached_property
    def scoring(self) -> tuple[Item, ...]:
        """The distinct items whose statistics the model reads."""
        return tuple(dict.fromkeys((*self.counts, *self.ordered, *self.unordered)))
