"""Comparisons of properties with numbers and years, and relations that answers do not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hybridkg.asking.base import AskedBase
from hybridkg.asking.features import WINDOW
from hybridkg.asking.slots import AbsenceConstraint, Constraint, Step, ValueConstraint
from hybridkg.asking.words import Question, QuestionWord
from hybridkg.interfaces.graph_index import (
    Exists,
    Ids,
    InversePath,
    Join,
    Opaque,
    PredicatePath,
    Restrict,
    Scan,
    Test,
    ValueComparison,
    Variable,
)
from hybridkg.rdf.terms import Literal, NamedNode

FIRST_YEAR, LAST_YEAR = 1000, 2100
"""Numbers that may be years."""

YEAR_WORDS = frozenset((
    "year", "date", "publish", "time", "releas", "creat",
))  # fmt: skip
"""Stems of properties that hold times."""

SURE, LIKELY = 0.9, 0.6
"""Confidence of a comparison whose property is the only one, or named; and of one among several."""

_OPERATORS = (
    (("more", "than"), ">"), (("greater", "than"), ">"), (("later", "than"), ">"), (("newer", "than"), ">"),
    (("less", "than"), "<"), (("fewer", "than"), "<"), (("earlier", "than"), "<"), (("older", "than"), "<"),
    (("at", "least"), ">="), (("at", "most"), "<="), (("not", "before"), ">="), (("up", "to"), "<="),
    (("starting", "from"), ">="), (("starting",), ">="), (("since",), ">="), (("from",), ">="), (("after",), ">"),
    (("over",), ">"), (("above",), ">"),
    (("before",), "<"), (("under",), "<"), (("below",), "<"), (("until",), "<="), (("till",), "<="), (("in",), "="),
    (("of",), "="), (("during",), "="), (("exactly",), "="), (("year",), "="),
)  # fmt: skip
_ONLY_YEARS = ("since", "from", "starting", "after", "before", "until", "till", "in", "of", "during", "year")
"""Words that compare years only: "in 3 languages" is no comparison."""

_OPEN_ENDED = ("onward", "onwards", "upward", "upwards", "forward")
"""Words behind a year that say that "from" is a beginning, and so does "on" where nothing is named behind it."""

_BEHIND_ON = ("by", "with", "without", "about", "that", "which", "who", "whose", "in", "at", "and", "from")
"""Words behind "from 1979 on" that begin another part; "from 1979 on parsing" has a year and a topic."""

_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+")
"""A number with commas between thousands, which is no year."""

_RANGES = {"from": ("to", "until", "till", "and"), "between": ("and", "to")}
ABSENCE = ("without", "lacking")
_WITHOUT = (*ABSENCE, "no")


@dataclass(frozen=True)
class FoundValue:
    """A constraint without a mention: the words first..behind of the question, the constraint, and its answers."""

    first: int
    behind: int
    constraint: Constraint
    ids: Ids


def find_values(question: Question, target: str, base: AskedBase, taken: frozenset[int]) -> list[FoundValue]:
    """The comparisons and absences of a question about instances of a class, in its order.

    Args:
        question: the words.
        target: the class.
        base: its properties.
        taken: numbers of words that are names.
    """
    found = []
    for first, behind, tests in comparisons(question, taken):
        one = _compared(question, first, behind, tests, target, base)
        if one is not None:
            found.append(one)
    for number, word in enumerate(question.words):
        if word.raw.casefold() in _WITHOUT and number not in taken:
            one = _absent(question, number, target, base)
            if one is not None:
                found.append(one)
    return sorted(found, key=lambda one: one.first)


Tests = tuple[tuple[str, int], ...]


def comparisons(question: Question, taken: frozenset[int]) -> Iterator[tuple[int, int, Tests]]:
    """(first word, behind the last, comparisons) of each number that is compared."""
    words = [word.raw.casefold() for word in question.words]
    at = 0
    while at < len(words):
        number = _number(question.words[at])
        if number is None or at in taken:
            at += 1
            continue
        is_year = FIRST_YEAR <= number <= LAST_YEAR and not _is_grouped(question.words[at])
        start, tests = _before(words, at, number, is_year=is_year)
        behind = at + 1
        if (
            start < at
            and words[start] in _RANGES
            and behind + 1 < len(words)
            and words[behind] in _RANGES[words[start]]
        ):
            upper = _number(question.words[behind + 1])
            if upper is not None and (upper >= number or is_year == (FIRST_YEAR <= upper <= LAST_YEAR)):
                tests, behind = ((">=", min(number, upper)), ("<=", max(number, upper))), behind + 2
        elif start < at and words[start] == "from":
            if _is_open_ended(question, words, behind):
                behind += 1
            else:
                tests = (("=", number),)
        if not tests and start == at and is_year and _set_off(question, at):
            tests = (("=", number),)
        if tests and not any(one in taken for one in range(start, behind)):
            yield start, behind, tests
        at = behind


def _is_open_ended(question: Question, words: list[str], behind: int) -> bool:
    """Whether the word behind a year continues it: `from 1979 onwards`, or `from 1979 on` before another part."""
    if behind == len(words) or words[behind] != "on":
        return behind < len(words) and words[behind] in _OPEN_ENDED
    end = question.words[behind].end
    is_last = behind + 1 == len(words) or question.text[end : end + 1] in ",;:.!?)"
    return is_last or words[behind + 1] in _BEHIND_ON


def _set_off(question: Question, at: int) -> bool:
    """Whether a word stands alone in brackets or between commas: `the workshop (2019)`."""
    word, text = question.words[at], question.text
    around = text[: word.start].rstrip()[-1:] + text[word.end : word.end + 1]
    return around in ("()", ",,")


def _before(words: list[str], at: int, number: int, *, is_year: bool) -> tuple[int, Tests]:
    """The first word of the operator before a number, and the comparison; none without an operator."""
    for end in dict.fromkeys((_before_year(words, at), at)):
        if end and words[end - 1] == "between":
            return end - 1, ()
        for phrase, operator in _OPERATORS:
            start = end - len(phrase)
            if start >= 0 and tuple(words[start:end]) == phrase:
                if phrase[0] in _ONLY_YEARS and not is_year:
                    return at, ()
                return start, ((operator, number),)
    return at, ()


def _before_year(words: list[str], at: int) -> int:
    """Where the words "the year" before a number begin, so that the operator of `after the year 2000` is "after"."""
    if not at or words[at - 1] not in ("year", "years"):
        return at
    return at - 2 if words[at - 2 : at - 1] == ["the"] else at - 1


def _is_grouped(word: QuestionWord) -> bool:
    return _GROUPED.fullmatch(word.text) is not None


def _number(word: QuestionWord) -> int | None:
    """The number that a word is, up to nine digits: 1979, or 2,000,000."""
    text = word.text.replace(",", "") if _is_grouped(word) else word.text
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _compared(
    question: Question, first: int, behind: int, tests: Tests, target: str, base: AskedBase
) -> FoundValue | None:
    """The constraint on the property whose range holds the numbers; the one that the words around name, if several."""
    before, after = question.window(first, behind, WINDOW)
    around = {word.stem for word in (*before, *after, *question.words[first:behind])}
    is_year = all(FIRST_YEAR <= number <= LAST_YEAR for _, number in tests)
    is_year = is_year and not any(map(_is_grouped, question.words[first:behind]))
    choices = []
    for one in base.predicates:
        kinds = set(one.histograms)
        years = bool(kinds & {"date", "date zoned", "datetime", "datetime zoned"})
        words = base.lexicon.relation_words(one.iri)
        temporal = years or bool(words & YEAR_WORDS)
        if not (years and is_year):
            numbers = one.histograms["number"] if "number" in kinds else ()
            if not numbers or not all(numbers[0].low <= number <= numbers[-1].high for _, number in tests):
                continue
        named = bool(words & around)
        if not named and is_year != temporal:
            continue
        choices.append((not named, -one.triples, one.iri, years, temporal))
    for not_named, _, predicate, years, temporal in sorted(choices):
        if not temporal and question.words[first].raw.casefold() == "from":
            tests = tuple((">=" if operator == "=" else operator, number) for operator, number in tests)
        ids = having(predicate, tests, target, base, years=years)
        if len(ids):
            sure = SURE if not not_named or len(choices) == 1 else LIKELY
            text = question.written(first, behind)
            return FoundValue(first, behind, ValueConstraint(text, predicate, tests, years, sure, len(ids)), ids)
    return None


def having(predicate: str, tests: Tests, target: str, base: AskedBase, *, years: bool) -> Ids:
    """Ids of the instances of a class with a value that passes the tests."""
    compared: tuple[Test, ...] = tuple(
        Opaque("v", f"YEAR(?v) {operator} {number}") if years else ValueComparison("v", operator, Literal(number))
        for operator, number in tests
    )
    scan = Scan(Variable("x"), PredicatePath(predicate), Variable("v"))
    typed = Scan(Variable("x"), base.type_path, NamedNode(target))
    return base.candidates(Restrict(Join((scan, typed)), compared))


def _absent(question: Question, number: int, target: str, base: AskedBase) -> FoundValue | None:
    """The relation from the class that the words behind "without" name."""
    words = question.words[number + 1 : number + 1 + WINDOW]
    best: tuple[float, int, Step] | None = None
    for one in base.schema.steps.get(target, ()):
        if one.others:
            continue
        step = Step(one.predicate, one.inverse, one.target)
        names = base.lexicon.relation_words(one.predicate) - base.lexicon.class_words[target]
        target_names = base.lexicon.class_words[one.target]
        hits = [at for at, word in enumerate(words) if word.stem in names or word.stem in target_names]
        value = len(hits) + 0.5 * any(words[at].stem in names for at in hits)
        if hits and (best is None or value > best[0]):
            best = value, max(hits), step
    if best is None:
        return None
    _, last, step = best
    ids = lacking(step, target, base)
    behind = number + 2 + last
    text = question.written(number, behind)
    return FoundValue(number, behind, AbsenceConstraint(text, step, LIKELY, len(ids)), ids) if len(ids) else None


def lacking(step: Step, target: str, base: AskedBase) -> Ids:
    """Ids of the instances of a class that a step leads nowhere."""
    path = PredicatePath(step.predicate)
    typed = Scan(Variable("x"), base.type_path, NamedNode(target))
    other = Scan(Variable("x"), InversePath(path) if step.inverse else path, Variable("n"))
    kind = Scan(Variable("n"), base.type_path, NamedNode(step.target))
    return base.candidates(Exists(typed, Join((other, kind)), negated=True))
