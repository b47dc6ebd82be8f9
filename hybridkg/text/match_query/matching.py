"""From clauses to what an index looks for: items with how often each counts, and which entities match."""

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
"""Terms that the prefixes and fuzzy words of one MATCH may stand for together."""

WIDEST_WINDOW = 100
"""Places in which words near each other may stand: the values of a field stand no nearer in any index, so none is
found across two of them."""

Run = list[tuple[int, Item]]
"""Neighbouring plain words and their places."""


@dataclass
class MatchClauses:
    """What the clauses of a text say, gathered part by part.

    Args:
        language: tag of the text's language.
        on: the ON fields.
        vocabulary: the terms of the index, for prefixes and fuzzy words; None where it cannot tell them.
        synonyms: alternatives of plain words.
        counts: the items that score, in order of first appearance, and how often each counts.
        runs: plain words that follow each other, and how often each of the words counts.
    """

    language: str
    on: Sequence[ResolvedField]
    vocabulary: IndexVocabulary | None
    synonyms: Synonyms = NO_SYNONYMS
    counts: dict[Item, float] = field(default_factory=dict)
    runs: list[tuple[float, Run]] = field(default_factory=lambda: [(1, [])])
    _excluded: dict[Item, None] = field(default_factory=dict)
    _alternatives: int = 0
    _words: int = 0

    def group(
        self, parts: Sequence[Part], *, all_terms: bool = False, boost: float = 1, scores: bool = True
    ) -> ItemGroup:
        """Reads the parts of a group.

        Args:
            parts: what it holds.
            all_terms: whether every part must occur that is not excluded.
            boost: how often each part counts, beside its own boost.
            scores: False inside of what is excluded.

        Raises:
            UnknownNameError: a field that is not among the ON fields.
            TextQueryError: a boost or a number of places out of range, or too many terms.
        """
        must: dict[Item | ItemGroup, None] = {}
        should: dict[Item | ItemGroup, None] = {}
        excluded: dict[Item | ItemGroup, None] = {}
        for part in plain_words_joined(parts) if self.synonyms.rules else parts:
            own = boost * part.boost
            if not MIN_BOOST <= own <= MAX_BOOST:
                raise out_of_range(f"the boosts multiply to {own:g}, which", part.span)
            inner = scores and part.role != NOT
            found: Sequence[Item | ItemGroup]
            if isinstance(part, Clause):
                found = self._clause(part, own, inner)
            else:
                group = self.group(part.parts, boost=own, scores=inner)
                found = _without_parentheses(group, part.role, all_terms)
            to = excluded if part.role == NOT else must if part.role == MUST or all_terms else should
            to |= dict.fromkeys(found)
        return ItemGroup(tuple(must), tuple(one for one in should if one not in must), tuple(excluded))

    def _clause(self, clause: Clause, boost: float, scores: bool) -> list[Item]:
        """The items of a clause, counted where they score."""
        self._check_field(clause)
        if clause.expands:
            item = expanded(clause, self.language, self.on, self.vocabulary)
            found = [] if item is None else [(0, item)]
            self._alternatives += 0 if item is None else len({pattern.words for pattern in item.patterns()})
            if self._alternatives > MAX_ALTERNATIVES_IN_ALL:
                raise TextQueryError(
                    f"the prefixes and fuzzy words stand for more than {MAX_ALTERNATIVES_IN_ALL:,} terms",
                    hint="write longer prefixes, or fewer",
                    span=clause.span,
                )
        else:
            found = items_of(clause.text, clause.phrase, clause.field, self.language, self.on, self.synonyms)
            if clause.near is not None:
                found = [(place, _near(item, clause)) for place, item in found]
        self._follow(clause, found, boost, scores)
        for _, item in found:
            if scores:
                self.counts[item] = self.counts.get(item, 0) + boost
            else:
                self._excluded[item] = None
        if len(self.counts) + len(self._excluded) > MAX_TERMS:
            raise TextQueryError(f"more than {MAX_TERMS:,} different terms in one text", span=clause.span)
        return [item for _, item in found]

    def _follow(self, clause: Clause, found: Run, boost: float, scores: bool) -> None:
        """Continues the run of plain words, or ends it. A group does not end it: (CNN) may be plain text."""
        if clause.phrase or clause.expands or clause.field or not scores:
            self.runs.append((boost, []))
            return
        if boost != self.runs[-1][0]:
            self.runs.append((boost, []))
        self.runs[-1][1].extend((self._words + place, item) for place, item in found)
        self._words += found[-1][0] + 1 if found else 1

    def _check_field(self, clause: Clause) -> None:
        names = [one.name for one in self.on]
        if clause.field and clause.field not in names:
            hint = did_you_mean(clause.field, names) or f"write {clause.field}\\: to search for the word itself"
            raise UnknownNameError(
                f"no field {clause.field!r} among the fields searched: {', '.join(names)}",
                hint=hint,
                span=clause.span,
            )


def _near(item: Item, clause: Clause) -> Item:
    """A phrase as words near each other."""
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
    """A group as parts of the group around it that mean the same: itself, or what is in it; nothing where it asks for
    nothing (stop words).

    What must occur is never made a part of what may: then any item of a Group without `must` would still score, and
    no longer be enough (`ItemGroup.any_of_its_items`).
    """
    required = role == MUST or (all_terms and role != NOT)
    if group.must:
        group = replace(group, should=())  # what need not occur decides on no match
    parts = group.must or group.should
    if not parts:
        return ()
    if group.excluded or bool(group.must) != required:
        return parts if len(parts) == 1 and required and not group.excluded else (group,)
    return parts
