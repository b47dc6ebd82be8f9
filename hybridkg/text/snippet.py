"""Chooses the passage of a text that shows best why it matches, and marks the matching words.

The best window of WIDTH characters is the one with the largest sum of idf over
the distinct query terms and phrases in it; then the one with more hits, then
the earliest. Stop words count only where the query has no other word. Words
are analysed as the index analyses them, so stemmed matches are marked. Time is
linear in the text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.analysis.languages import ENGLISH_STOP_WORDS
from hybridkg.text.resolve import Item, OnField, Words

WIDTH = 200
"""Characters of a passage, marks and ellipses not counted."""

MARK, CUT = "**", "…"

_IDF_UNIT = 1_000_000
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


@dataclass(frozen=True)
class _Token:
    term: str
    start: int
    end: int


@dataclass(frozen=True)
class _Hit:
    """An occurrence of an item: its tokens from `first` to `last`, and which of them are its words."""

    first: int
    last: int
    item: int
    words: tuple[int, ...]


def best_passage(fields: Sequence[OnField], idf_of: Mapping[Item, float], texts: Sequence[tuple[str, str, str]]) -> str:
    """The best passage among the texts of one entity.

    Args:
        fields: the ON fields; texts of other fields are not looked at.
        idf_of: the items that score, with their idf.
        texts: (field, text, language tag or ""); the first of equally good passages wins.

    Returns:
        About 200 characters, `**` around matching words, `…` where the text goes on; empty without a match.
    """
    best: tuple[int, int] = (0, 0)
    passage = ""
    idf_of = {item: idf for item, idf in idf_of.items() if not _says_nothing(item)} or idf_of
    numbers = {field.name: i for i, field in enumerate(fields)}
    for name, text, language in texts:
        if name not in numbers:
            continue
        i = numbers[name]
        items = [(item.words[i], max(1, round(idf * _IDF_UNIT))) for item, idf in idf_of.items() if item.words[i]]
        tokens = _tokens(fields[i].analyzer, text, language)
        hits = _hits(tokens, [words for words, _ in items])
        if hits:
            worth, first, last = _best_window(tokens, hits, [value for _, value in items])
            if worth > best:
                best = worth
                passage = _marked(text, tokens, hits, first, last)
    return passage


def _says_nothing(item: Item) -> bool:
    """Whether an item is an English stop word: it scores like any term, but a passage full of them shows nothing."""
    return all(len(words) == 1 and words[0][1] in ENGLISH_STOP_WORDS for words in item.words if words)


def _tokens(analyzer: Analyzer, text: str, language: str) -> list[_Token]:
    stemmer = analyzer.stemmer(language)
    known: dict[str, str] = {}
    tokens = []
    for word, start, end in analyzer.spans(text):
        term = known.get(word)
        if term is None:
            term = known[word] = analyzer.term(word, stemmer)
        tokens.append(_Token(term, start, end))
    return tokens


def _hits(tokens: Sequence[_Token], items: Sequence[Words]) -> list[_Hit]:
    """Every occurrence of every item, by first token."""
    starting: dict[str, list[int]] = {}
    for number, words in enumerate(items):
        starting.setdefault(words[0][1], []).append(number)
    hits = []
    for at, token in enumerate(tokens):
        for number in starting.get(token.term, ()):
            words = items[number]
            last = at + words[-1][0]
            if last < len(tokens) and all(tokens[at + offset].term == term for offset, term in words):
                hits.append(_Hit(at, last, number, tuple(at + offset for offset, _ in words)))
    return hits


def _best_window(
    tokens: Sequence[_Token], hits: Sequence[_Hit], values: Sequence[int]
) -> tuple[tuple[int, int], int, int]:
    """((worth, hits), first hit, last hit) of the best window, by two pointers over the hits."""
    inside: Counter[int] = Counter()
    best, best_first, best_last = (0, 0), 0, 0
    worth, end = 0, 0
    for first, hit in enumerate(hits):
        if end == first:
            worth, end = worth + values[hit.item], end + 1
            inside[hit.item] += 1
        while end < len(hits) and tokens[hits[end].last].end - tokens[hit.first].start <= WIDTH:
            entering = hits[end].item
            worth += values[entering] if not inside[entering] else 0
            inside[entering] += 1
            end += 1
        if (worth, end - first) > best:
            best, best_first, best_last = (worth, end - first), first, end - 1
        inside[hit.item] -= 1
        worth -= values[hit.item] if not inside[hit.item] else 0
    return best, best_first, best_last


def _marked(text: str, tokens: Sequence[_Token], hits: Sequence[_Hit], first: int, last: int) -> str:
    """The window around the hits first..last, widened to WIDTH at word boundaries."""
    core_start, core_end = (
        tokens[hits[first].first].start,
        max(tokens[h.last].end for h in hits[first : last + 1]),
    )
    core_end = min(core_end, core_start + WIDTH)
    start = max(0, core_start - (WIDTH - (core_end - core_start)) // 2)
    end = min(len(text), start + WIDTH)
    start = max(0, end - WIDTH)
    token_starts = [token.start for token in tokens]
    token_ends = [token.end for token in tokens]
    if start > 0:
        start = min(core_start, token_starts[bisect_left(token_starts, start)])
    if end < len(text):
        whole_words = bisect_right(token_ends, end)
        last_end = token_ends[whole_words - 1] if whole_words else 0
        end = len(text) if whole_words == len(tokens) else max(core_end, last_end)
        end = min(end, start + WIDTH)
    marked = {word for hit in hits for word in hit.words if tokens[word].start < end and tokens[word].end > start}
    pieces, at = [], start
    for word in sorted(marked):
        from_, to = max(at, tokens[word].start), min(end, tokens[word].end)
        if from_ >= to:
            continue  # tokens of some analyzers of other engines overlap
        pieces += [text[at:from_], MARK, text[from_:to], MARK]
        at = to
    pieces.append(text[at:end])
    shown = " ".join("".join(pieces).translate(_CONTROLS).split())
    before, after = text[:start].strip(), text[end:].strip()
    return f"{CUT if before else ''}{shown}{CUT if after else ''}"
