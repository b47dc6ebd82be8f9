"""Analysis of a clause: from written words to items, by the analyzer of each ON field.

Analyzers tokenise differently: where one reads `birthPlace` as a word, another reads two. Their words are aligned by
character offsets. An item is a word of the coarsest tokenisation; in a field whose analyzer splits it, the parts are a
phrase. Where one analyzer reads both the whole and the parts, they are alternatives.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.match_query.items import Item, Pattern, Patterns, ResolvedField, Words
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms, SynonymTable

MAX_PAIRS = 16
"""Combinations of the alternatives of two neighbouring words that are searched as pairs."""

Interval = tuple[int, int]
"""Character offsets: start and exclusive end."""


@dataclass(frozen=True)
class _Word:
    place: int
    term: str
    start: int
    end: int
    is_stop: bool = False


@dataclass(frozen=True)
class _Unit:
    """The words of one field within an interval of the text.

    Args:
        parts: (place, term) of the words that are not split further; the term of a dropped word is empty.
        wholes: the terms of the words that are split into parts.
        is_stop: whether it is a stop word.
    """

    parts: Words
    wholes: tuple[str, ...] = ()
    is_stop: bool = False

    def terms(self) -> tuple[str, ...]:
        return tuple(term for _, term in self.parts)

    def patterns(self) -> Patterns:
        return as_patterns([self.parts, *(((0, term),) for term in self.wholes)])


_NOTHING = _Unit(())


@dataclass(frozen=True)
class _Reading:
    """The tokenisation of a text by one analyzer.

    Args:
        words: in the order of their characters, wholes before their parts.
        gaps: the offsets of places without a word, ascending.
    """

    words: Sequence[_Word]
    gaps: Sequence[int]


def items_of(
    text: str,
    phrase: bool,
    only: str,
    language: str,
    on: Sequence[ResolvedField],
    synonyms: Synonyms = NO_SYNONYMS,
    *,
    stop_words: bool = True,
) -> list[tuple[int, Item]]:
    """The items of a text with the places of their first words.

    Args:
        text: plain words.
        phrase: whether the words are one item, a phrase; else each word is an item.
        only: the only field in which they may occur; empty for all.
        language: tag of the text's language, which selects the stemmer of fields without a language of their own.
        on: the ON fields.
        synonyms: alternatives of words; a phrase has none.
        stop_words: whether stop words are items; a phrase has them in any case. A word that is a stop word in one of
            the fields is one in all of them, so that no field has to contain it because another one does not drop it.
    """
    keys = [
        None
        if only and only != field.name
        else (id(field.analyzer), field.analyzer.stemmer(field.language or language))
        for field in on
    ]
    analyzers = {key: field.analyzer for key, field in zip(keys, on, strict=True) if key is not None}
    readings = {key: _read(text, analyzer, key[1]) for key, analyzer in analyzers.items()}
    intervals = _coarsest([word for reading in readings.values() for word in reading.words])
    units_of = {key: _units(reading.words, intervals) for key, reading in readings.items()}
    stretches: list[tuple[int, int]]
    if phrase:
        stretches = [(0, len(intervals))] if intervals else []
        tables: Mapping[tuple[int, str], SynonymTable] = {}
    else:
        tables = {key: synonyms.table(analyzers[key], key[1], _entry) for key in readings} if synonyms.rules else {}
        stretches = _stretches(len(intervals), units_of, tables)
    items = []
    for place, (start, end) in enumerate(stretches):
        alternatives = {
            key: _alternatives(_joined(units[start:end]), tables.get(key)) for key, units in units_of.items()
        }
        is_stop = end == start + 1 and any(units[start].is_stop for units in units_of.values())
        if is_stop and not (phrase or stop_words or any(expanded for _, expanded in alternatives.values())):
            continue
        item = Item(tuple(() if key is None else alternatives[key][0] for key in keys), _written(alternatives.values()))
        if any(item.places):
            dropped = max(bisect_right(reading.gaps, intervals[start][0]) for reading in readings.values())
            items.append((place + dropped, item))
    return items


def pair_of(first: Item, second: Item, distance: int, window: int) -> Item:
    """Two neighbouring words, `distance` places apart, as one item: a window or, with window 0, a phrase, in which a
    stop word between them leaves its gap.
    """
    return Item(
        tuple(_pairs(one, other, distance, window) for one, other in zip(first.places, second.places, strict=True))
    )


def _pairs(firsts: Patterns, seconds: Patterns, distance: int, window: int) -> Patterns:
    plain = [[pattern.words for pattern in patterns if not pattern.window] for patterns in (firsts, seconds)]
    joined = [_following(one, other, distance) for one, other in islice(product(*plain), MAX_PAIRS)]
    return tuple(dict.fromkeys(Pattern(words, window) for words in joined))


def _following(first: Words, second: Words, distance: int) -> Words:
    shift = first[-1][0] + distance
    return (*first, *((place + shift, term) for place, term in second))


def as_patterns(alternatives: Sequence[Words]) -> Patterns:
    """Distinct patterns of words and phrases, without those that contain a shorter one: it occurs wherever they do.

    >>> [p.words for p in as_patterns([((0, "new"), (1, "york")), ((3, "york"),), ((0, ""),)])]
    [((0, 'york'),)]
    """
    distinct = [words for words in dict.fromkeys(map(_from_first, alternatives)) if words]
    if len(distinct) == 1:
        return (Pattern(distinct[0]),)
    by_first: dict[str, list[Words]] = {}
    for words in distinct:
        by_first.setdefault(words[0][1], []).append(words)
    return tuple(Pattern(words) for words in distinct if not _contains_another(words, by_first))


def _from_first(words: Words) -> Words:
    """Places relative to the first indexed word; dropped words leave a gap."""
    if len(words) == 1:
        return ((0, words[0][1]),) if words[0][1] else ()
    indexed = [(place, term) for place, term in words if term]
    return tuple((place - indexed[0][0], term) for place, term in indexed)


def _contains_another(words: Words, by_first: Mapping[str, Sequence[Words]]) -> bool:
    own = set(words)
    return any(
        other != words and all((place + at, following) in own for at, following in other)
        for place, term in words
        for other in by_first.get(term, ())
    )


def _read(text: str, analyzer: Analyzer, stemmer: str) -> _Reading:
    terms: dict[str, tuple[str, bool]] = {}
    words, gaps = [], []
    for place, (raw, start, end) in enumerate(analyzer.spans(text)):
        if end == start:
            gaps.append(start)
            continue
        if raw not in terms:
            terms[raw] = analyzer.term(raw, stemmer), analyzer.is_stop_word(raw, stemmer)
        term, is_stop = terms[raw]
        words.append(_Word(place, term, start, end, is_stop))
    return _Reading(sorted(words, key=lambda word: (word.start, -word.end, word.place)), sorted(gaps))


def _coarsest(words: Sequence[_Word]) -> list[Interval]:
    """The maximal intervals of the words, in order."""
    intervals: list[Interval] = []
    for start, end in sorted({(word.start, word.end) for word in words}, key=lambda one: (one[0], -one[1])):
        if not intervals or end > intervals[-1][1]:
            intervals.append((start, end))
    return intervals


def _units(words: Sequence[_Word], intervals: Sequence[Interval]) -> list[_Unit]:
    """The unit of each interval."""
    starts = [word.start for word in words]
    units = []
    for start, end in intervals:
        inside = []
        at = bisect_left(starts, start)
        while at < len(words) and words[at].start < end:
            if words[at].end <= end:
                inside.append(words[at])
            at += 1
        units.append(_unit(inside))
    return units


def _unit(words: Sequence[_Word]) -> _Unit:
    """Takes words in the order of their characters, wholes before their parts."""
    if not words:
        return _NOTHING
    if len(words) == 1:
        return _Unit(((words[0].place, words[0].term),), (), words[0].is_stop)
    parts, wholes = [], []
    for word, following in zip(words, (*words[1:], None), strict=True):
        is_same = following is None or (word.start, word.end) == (following.start, following.end)
        if following is not None and not is_same and following.end <= word.end:
            wholes.append(word.term)
        else:
            parts.append((word.place, word.term))
    return _Unit(tuple(sorted(parts)), tuple(term for term in wholes if term))


def _joined(units: Sequence[_Unit]) -> _Unit:
    """Several units as one: their parts in order."""
    if len(units) == 1:
        return units[0]
    return _Unit(tuple(sorted({word for unit in units for word in unit.parts})))


def _entry(text: str, analyzer: Analyzer, stemmer: str) -> tuple[tuple[str, ...], tuple[Words, ...]]:
    """The terms of an entry of a synonyms file, and the alternatives that it stands for."""
    words = _read(text, analyzer, stemmer).words
    unit = _joined(_units(words, _coarsest(words)))
    return unit.terms(), tuple(pattern.words for pattern in unit.patterns())


def _stretches(
    n: int, units_of: Mapping[tuple[int, str], Sequence[_Unit]], tables: Mapping[tuple[int, str], SynonymTable]
) -> list[tuple[int, int]]:
    """Segments n units into the longest entries that have synonyms, and single units."""
    if not tables:
        return [(at, at + 1) for at in range(n)]
    longest = max(table.longest for table in tables.values())
    stretches, at = [], 0
    while at < n:
        end = at + 1
        begins = any(
            units[at].terms()[:1] and units[at].terms()[0] in tables[key].firsts for key, units in units_of.items()
        )
        for last in range(min(n, at + longest), at + 1, -1) if begins else ():
            if any(_joined(units[at:last]).terms() in tables[key].alternatives for key, units in units_of.items()):
                end = last
                break
        stretches.append((at, end))
        at = end
    return stretches


def _alternatives(unit: _Unit, table: SynonymTable | None) -> tuple[Patterns, bool]:
    """The patterns of a stretch in one field, and whether they come from a synonyms file."""
    others = table.alternatives.get(unit.terms()) if table is not None else None
    return (unit.patterns(), False) if others is None else (as_patterns(others), True)


def _written(alternatives: Iterable[tuple[Patterns, bool]]) -> str:
    """The display form of an item with synonyms: its alternatives in the first field that has any."""
    patterns = next((patterns for patterns, expanded in alternatives if expanded), ())
    return " | ".join(" ".join(term for _, term in pattern.words) for pattern in patterns)
