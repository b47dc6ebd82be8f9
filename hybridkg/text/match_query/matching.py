"""From the clauses of a query string to items with counts, and to the boolean group that entities must match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.registry import did_you_mean
from hybridkg.text.match_query.clause_items import items_of
from hybridkg.text.match_query.expansion import expanded, written
from hybridkg.text.match_query.items import Item, ItemGroup, Pattern, Patterns, ResolvedField
from hybridkg.text.match_query.query_string import (
    MAX_BOOST,
    MIN_BOOST,
    MUST,
    NOT,
    Clause,
    Part,
    out_of_range,
    plain_words_joined,
)
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms
from hybridkg.text.match_query.vocabulary import IndexVocabulary

MAX_TERMS = 1024
"""Distinct terms and phrases of one MATCH."""

MAX_ALTERNATIVES_IN_ALL = 4_096
"""Terms of all prefixes and fuzzy words of one MATCH together."""

WIDEST_WINDOW = 100
"""The maximum number of places of a window. Every index leaves at least as many places between the values of a field,
so that no window spans two of them."""

Run = list[tuple[int, Item]]
"""Neighbouring plain words and their places."""


@dataclass
class MatchClauses:
    """Collects the items of the clauses of a text, part by part.

    Args:
        vocabulary: the terms of the index, for prefixes and fuzzy words; None where the index cannot list them.
        stop_words: whether stop words are items as other words are, because the text has nothing else.
        counts: the scoring items with their counts, in order of first appearance.
        runs: runs of consecutive plain words, each with the count of its words.
    """

    language: str
    on: Sequence[ResolvedField]
    vocabulary: IndexVocabulary | None
    synonyms: Synonyms = NO_SYNONYMS
    stop_words: bool = False
    counts: dict[Item, float] = field(default_factory=dict)
    runs: list[tuple[float, Run]] = field(default_factory=lambda: [(1, [])])
    _excluded: dict[Item, None] = field(default_factory=dict)
    _alternatives: int = 0
    _words: int = 0

    def group(
        self, parts: Sequence[Part], *, all_terms: bool = False, boost: float = 1, scores: bool = True
    ) -> ItemGroup:
        """Reads the parts of a group, whose boosts are multiplied by `boost`; `scores` is False inside an excluded
        part.

        Raises:
            UnknownNameError: a field that is not among the ON fields.
            TextQueryError: a boost or a number of places out of range, or too many terms.
        """
        must: dict[Item | ItemGroup, None] = {}
        should: dict[Item | ItemGroup, None] = {}
        excluded: dict[Item | ItemGroup, None] = {}
        for part in plain_words_joined(parts) if self.synonyms.rules else parts:
            product = boost * part.boost
            if not MIN_BOOST <= product <= MAX_BOOST:
                raise out_of_range(f"the boosts multiply to {product:g}, which", part.span)
            inner = scores and part.role != NOT
            resolved: Sequence[Item | ItemGroup]
            if isinstance(part, Clause):
                resolved = self._clause(part, product, inner)
            else:
                group = self.group(part.parts, boost=product, scores=inner)
                resolved = _without_parentheses(group, part.role, all_terms)
            target = excluded if part.role == NOT else must if part.role == MUST or all_terms else should
            target |= dict.fromkeys(resolved)
        return ItemGroup(tuple(must), tuple(one for one in should if one not in must), tuple(excluded))

    def _clause(self, clause: Clause, boost: float, scores: bool) -> list[Item]:
        self._check_field(clause)
        if clause.expands:
            item = expanded(clause, self.language, self.on, self.vocabulary)
            items = [] if item is None else [(0, item)]
            self._alternatives += 0 if item is None else len({pattern.words for pattern in item.patterns()})
            if self._alternatives > MAX_ALTERNATIVES_IN_ALL:
                raise TextQueryError(
                    f"the prefixes and fuzzy words stand for more than {MAX_ALTERNATIVES_IN_ALL:,} terms",
                    hint="write longer prefixes, or fewer",
                    span=clause.span,
                )
        else:
            excluded = not scores  # an excluded word is meant as it is written
            items = items_of(
                clause.text, clause.phrase, clause.field, self.language, self.on, self.synonyms,
                stop_words=self.stop_words or excluded,
            )  # fmt: skip
            if clause.near is not None:
                items = [(place, _near(item, clause)) for place, item in items]
        self._follow(clause, items, boost, scores)
        for _, item in items:
            if scores:
                self.counts[item] = self.counts.get(item, 0) + boost
            else:
                self._excluded[item] = None
        if len(self.counts) + len(self._excluded) > MAX_TERMS:
            raise TextQueryError(f"more than {MAX_TERMS:,} different terms in one text", span=clause.span)
        return [item for _, item in items]

    def _follow(self, clause: Clause, items: Run, boost: float, scores: bool) -> None:
        """Continues the run of plain words, or ends it. A group does not end it: (CNN) may be plain text."""
        if clause.phrase or clause.expands or clause.field or not scores:
            self.runs.append((boost, []))
            return
        if boost != self.runs[-1][0]:
            self.runs.append((boost, []))
        self.runs[-1][1].extend((self._words + place, item) for place, item in items)
        self._words += items[-1][0] + 1 if items else 1

    def _check_field(self, clause: Clause) -> None:
        names = [one.name for one in self.on]
        if clause.field and clause.field not in names:
            hint = did_you_mean(clause.field, names) or f"write {clause.field}\\: to search for the word itself"
            raise UnknownNameError(
                f"no field {clause.field!r} among the fields searched: {', '.join(names)}", hint=hint, span=clause.span
            )


def _near(item: Item, clause: Clause) -> Item:
    """A phrase as a window."""
    near = clause.near or 0
    places = max(pattern.words[-1][0] + 1 for pattern in item.patterns())
    if places + near > WIDEST_WINDOW:
        raise TextQueryError(
            f"words near each other take at most {WIDEST_WINDOW} places; these take {places} and may have "
            f"{near:,} between them",
            hint=f"write ~{WIDEST_WINDOW - places} or less" if places <= WIDEST_WINDOW else "write fewer words",
            span=clause.span,
        )

    def windows(patterns: Patterns) -> Patterns:
        return tuple(
            pattern if pattern.is_word else Pattern(pattern.words, pattern.words[-1][0] + 1 + near)
            for pattern in patterns
        )

    return replace(item, places=tuple(map(windows, item.places)), written=written(clause))


def _without_parentheses(group: ItemGroup, role: str, all_terms: bool) -> Sequence[Item | ItemGroup]:
    """A group as equivalent parts of the group around it: itself, or its own parts; nothing for an empty group (stop
    words).

    A required part never becomes an optional one: the items of a group without `must` would still score, but one of
    them would no longer suffice (`ItemGroup.any_of_its_items`).
    """
    required = role == MUST or (all_terms and role != NOT)
    if group.must:
        group = replace(group, should=())  # optional parts do not affect matching
    parts = group.must or group.should
    if not parts:
        return ()
    if group.excluded or bool(group.must) != required:
        return parts if len(parts) == 1 and required and not group.excluded else (group,)
    return parts
