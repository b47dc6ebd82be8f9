"""What a MATCH looks for, once its text is analysed: patterns of terms, how they combine, and what they weigh."""

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
    """A word, a phrase or words near each other.

    Args:
        words: the terms and their places.
        window: 0 for words at exactly these places; else the words in any order within so many places, and the
            places do not matter (`windows.py` says how often that occurs).
    """

    words: Words
    window: int = 0

    @property
    def is_word(self) -> bool:
        """Whether it is one word, which needs no positions."""
        return len(self.words) == 1


Patterns = tuple[Pattern, ...]
"""Alternatives in one field: an occurrence of any of them counts. None where an item may not occur."""


@dataclass(frozen=True)
class Item:
    """Something that is looked for and scored as one term.

    Args:
        places: its patterns in each ON field, analysed as that field is.
        written: how a person wrote it, where its patterns do not tell (`neural*`).
        total: of a prefix or fuzzy word, how many terms it could stand for; its patterns may be fewer.
    """

    places: tuple[Patterns, ...]
    written: str = field(default="", compare=False)
    total: int = field(default=0, compare=False)

    @cached_property
    def _hash(self) -> int:
        return hash(self.places)

    def __hash__(self) -> int:
        """Computed once: a prefix has hundreds of patterns."""
        return self._hash

    @property
    def alternatives(self) -> int:
        """Of a prefix or fuzzy word, how many terms stand for it; 0 for others."""
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
        """Every pattern of every field."""
        return (pattern for patterns in self.places for pattern in patterns)

    def shown(self) -> str:
        """As it was written, or the words of the first field that has any."""
        return self.written or " ".join(term for _, term in next((p.words for p in self.patterns()), ()))


@dataclass(frozen=True)
class ItemGroup:
    """Entities with all of `must`, none of `excluded` and, where `must` is empty, any of `should`."""

    must: tuple[Item | ItemGroup, ...] = ()
    should: tuple[Item | ItemGroup, ...] = ()
    excluded: tuple[Item | ItemGroup, ...] = ()

    @cached_property
    def any_of_its_items(self) -> bool:
        """Whether one of its items is enough, whichever it is."""
        return not self.must and not self.excluded and all(isinstance(part, Item) for part in self.should)

    def excluded_items(self) -> Iterator[Item]:
        """Every item in a part that is excluded; some may come twice."""
        for part in self.excluded:
            yield from [part] if isinstance(part, Item) else part.items()
        for part in (*self.must, *self.should):
            if isinstance(part, ItemGroup):
                yield from part.excluded_items()

    def items(self) -> Iterator[Item]:
        """Every item in it, excluded ones too; some may come twice."""
        for part in (*self.must, *self.should, *self.excluded):
            if isinstance(part, Item):
                yield part
            else:
                yield from part.items()


@dataclass(frozen=True)
class ResolvedField:
    """A field of the ON clause, checked.

    Args:
        number: its place in the index.
        name: its name.
        weight: finite, at least 0.
        b: the profile's default.
        analyzer: its analyzer.
        arguments: its own model arguments.
        language: only literals of this language or its variants are searched, as if there were no others; lower case,
            empty for all.
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
        """As ON has it: `title`, `title@en`."""
        return f"{self.name}@{self.language}" if self.language else self.name


@dataclass(frozen=True)
class ResolvedQuery:
    """A MATCH ready to be answered.

    Args:
        fields: the ON fields.
        model: the ranking model.
        arguments: the model's numbers, checked.
        choices: the model's words (`form=galago`), checked.
        counts: the distinct items that score, in order of first appearance, with how often each is written, boosts
            included.
        matching: which entities match.
        ordered: neighbouring words as phrases, for a model that looks at them; they score, and decide on no match.
        unordered: the same words near each other.
        asked: the question itself.
    """

    fields: tuple[ResolvedField, ...]
    model: RankingModel
    arguments: Mapping[str, float]
    choices: Mapping[str, str]
    counts: Mapping[Item, float]
    matching: ItemGroup
    ordered: Mapping[Item, float]
    unordered: Mapping[Item, float]
    asked: TextQuery

    @cached_property
    def excluded(self) -> tuple[Item, ...]:
        """The items that must not occur, at whatever depth; some may score in another part of the query."""
        return tuple(dict.fromkeys(self.matching.excluded_items()))

    @cached_property
    def scoring(self) -> tuple[Item, ...]:
        """Every item whose statistics the model sees, each once."""
        return tuple(dict.fromkeys((*self.counts, *self.ordered, *self.unordered)))
