"""Mentions: parts of a question that name nodes, with the confidence of each link.

    l = s lp^(1/words) w / (sum of w over the nodes of the name),   w = (1 + degree) * spelling

s is 1 for a whole name and the similarity otherwise; lp, the link probability, is the sum of 1 + degree divided by the
number of entities whose own text has the words, at most 1 (linking/linker.py counts incoming triples only). It is at
least NAMED where the question marks a name, by quotation marks or by capitals. `spelling` prefers, among nodes of one
name, those that are written like the mention to those that differ in case (OTHER_CASE) or inflection (OTHER_FORM).

Whole names are sought for all parts of up to MAX_LENGTH words; similar ones for quotations, and for words with capitals
or digits. A whole name of several words hides the names inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.asking.base import AskedBase
from hybridkg.asking.names import Words
from hybridkg.asking.words import MAX_LENGTH, Question, QuestionWord
from hybridkg.rdf.terms import NamedNode

LEAST_SIMILAR = 0.75
"""Dice coefficient of a name that is not written as it is stored."""

WHOLE = 1.0 - 1e-9
"""Similarity of a whole label, which the index does not know as one where a node has several names."""

LEAST_PART = 0.5
"""Share of the idf of a name that some of its words have."""

OTHER_CASE, OTHER_FORM = 0.25, 0.02
"""Weight of a node whose name differs from the mention in case, or in more."""

NAMED = 0.7
"""Least link probability of a whole name that the question has in quotation marks or with capitals."""

HIDES = 0.5
"""Confidence of a whole name of several words that hides the names inside it."""

PER_MENTION = 5
"""Nodes of one mention, those with the highest confidence."""


@dataclass(frozen=True)
class NodeChoice:
    """A node that a mention may name: id, IRI, label, class, and the confidence of the link, above 0 and at most 1."""

    id: int
    iri: str
    name: str
    kind: str
    confidence: float


@dataclass(frozen=True)
class NameMention:
    """The words first..behind of a question, and the nodes that they may name, best first."""

    first: int
    behind: int
    choices: tuple[NodeChoice, ...]
    is_exact: bool

    @property
    def confidence(self) -> float:
        """That of the best node."""
        return self.choices[0].confidence


@dataclass(frozen=True)
class Mentions:
    """The mentions of a question, and the quoted or capitalised parts that name no known node."""

    found: tuple[NameMention, ...]
    unresolved: tuple[str, ...]


def find_mentions(question: Question, base: AskedBase) -> Mentions:
    """The mentions of a question, which may overlap, in its order."""
    found: dict[tuple[int, int], NameMention] = {}
    marked = (*question.quoted, *_names_in(question))
    for first, behind in _parts(question, base):
        mention = _exact(question, first, behind, base, marked=(first, behind) in marked)
        if mention is not None:
            found[first, behind] = mention
    for first, behind in marked:
        if any(one <= first and behind <= other for one, other in found):
            continue
        quoted = (first, behind) in question.quoted
        mention = (_exact(question, first, behind, base, marked=True) if quoted else None) or _similar(
            question, first, behind, base, parts=not quoted
        )
        if mention is not None:
            found[first, behind] = mention
    covered = _covered(found)
    unresolved = [question.written(*part) for span in marked for part in _unnamed(question, *span, covered)]
    shown = tuple(found[key] for key in sorted(found) if not _is_hidden(found[key], found))
    return Mentions(shown, tuple(dict.fromkeys(unresolved)))


def _covered(found: Mapping[tuple[int, int], NameMention]) -> frozenset[int]:
    """Numbers of the words of mentions, without similar names that have a whole one inside."""
    whole = [span for span, mention in found.items() if mention.is_exact]
    return frozenset(
        at
        for (first, behind), mention in found.items()
        if mention.is_exact or not any(first <= one and other <= behind for one, other in whole)
        for at in range(first, behind)
    )


def _unnamed(question: Question, first: int, behind: int, covered: frozenset[int]) -> list[tuple[int, int]]:
    """What no mention covers of a part that is written as a name: all of it, or its runs of words with capitals."""
    if covered.isdisjoint(range(first, behind)):
        return [(first, behind)]
    named = [at for at in range(first, behind) if at not in covered and _is_name(question, at)]
    runs: list[tuple[int, int]] = []
    for at in named:
        if runs and runs[-1][1] == at:
            runs[-1] = runs[-1][0], at + 1
        else:
            runs.append((at, at + 1))
    return runs


def _is_hidden(mention: NameMention, found: Mapping[tuple[int, int], NameMention]) -> bool:
    """Whether a mention is inside a longer whole name."""
    return any(
        other.is_exact
        and other.confidence >= HIDES
        and first <= mention.first
        and mention.behind <= behind
        and behind - first > mention.behind - mention.first
        for (first, behind), other in found.items()
    )


def _parts(question: Question, base: AskedBase) -> list[tuple[int, int]]:
    """The parts of up to MAX_LENGTH words that are in some name; a single stop word only if it is written as a name."""
    parts = []
    words = question.words
    for first in range(len(words)):
        if first in question.in_quotes:
            continue
        for behind in range(first + 1, min(first + MAX_LENGTH, len(words)) + 1):
            last = words[behind - 1]
            if behind - 1 in question.in_quotes:
                break
            part = _raw(question, first, behind)
            if (behind > first + 1 or not last.is_stop) and not base.names.df(part):
                break
            if behind > first + 1 or not last.is_stop or _has_capital(last):
                parts.append((first, behind))
    return parts


def _names_in(question: Question) -> list[tuple[int, int]]:
    """The longest parts of words with capitals or digits, with stop words between them."""
    parts: list[tuple[int, int]] = []
    words = question.words
    at = 0
    while at < len(words):
        if at in question.in_quotes or not _is_name(question, at):
            at += 1
            continue
        behind = reach = at + 1
        while reach < len(words) and reach not in question.in_quotes and reach - at < MAX_LENGTH:
            if _is_name(question, reach):
                behind = reach + 1
            elif not words[reach].is_stop:
                break
            reach += 1
        parts.append((at, behind))
        at = behind
    return parts


def _is_name(question: Question, at: int) -> bool:
    word = question.words[at]
    if word.is_stop or word.text.isdigit():
        return False
    return _has_capital(word) or any(map(str.isdigit, word.text))


def _has_capital(word: QuestionWord) -> bool:
    return word.text[:1].isupper() and (not word.begins or word.text[1:2].isupper())


def _raw(question: Question, first: int, behind: int) -> Words:
    return tuple(word.raw for word in question.words[first:behind])


def _exact(question: Question, first: int, behind: int, base: AskedBase, *, marked: bool) -> NameMention | None:
    ids = base.names.exact(_raw(question, first, behind)).tolist()
    labels = base.names.closest(ids[:1000], question.written(first, behind))
    named = {id: (1.0, labels.get(id, "")) for id in ids[:1000]}
    return _mention(question, first, behind, base, named, is_exact=True, least=NAMED if marked else 0.0)


def _similar(question: Question, first: int, behind: int, base: AskedBase, *, parts: bool) -> NameMention | None:
    names, degrees = base.names, base.schema.degrees
    written, raw = question.written(first, behind), _raw(question, first, behind)
    found = names.similar(written, raw, parts=parts, weight=lambda ids: degrees[ids])
    least = LEAST_PART if parts else LEAST_SIMILAR
    whole = {id: one for id, one in found.items() if one[0] >= WHOLE}
    close = whole or {id: one for id, one in found.items() if one[0] >= least}
    return _mention(question, first, behind, base, close, is_exact=bool(whole))


def _mention(
    question: Question,
    first: int,
    behind: int,
    base: AskedBase,
    found: Mapping[int, tuple[float, str]],
    *,
    is_exact: bool,
    least: float = 0.0,
) -> NameMention | None:
    if not found:
        return None
    degrees = {id: 1.0 + float(base.schema.degrees[id]) for id in found}
    written = question.written(first, behind)
    weights = {id: degrees[id] * _spelling(written, label) for id, (_, label) in found.items()}
    df = max(1, base.names.own_df(_raw(question, first, behind)))
    probability = max(least, min(1.0, sum(degrees.values()) / df) ** (1 / (behind - first)))
    total = sum(weights.values())
    choices = []
    for (id, (similarity, label)), node in zip(found.items(), base.nodes(list(found)), strict=True):
        kind = base.schema.kind(id)
        if kind is not None and isinstance(node, NamedNode):
            confidence = min(1.0, similarity * probability * weights[id] / total)
            choices.append(NodeChoice(id, node.value, label, kind, confidence))
    best = sorted(choices, key=lambda one: (-one.confidence, one.iri))[:PER_MENTION]
    return NameMention(first, behind, tuple(best), is_exact) if best else None


def _spelling(written: str, label: str) -> float:
    """The weight of a name by how it is written.

    >>> _spelling("Goat", "Goat"), _spelling("goat", "Goat"), _spelling("goat", "Goats")
    (1.0, 0.25, 0.02)
    """
    if written == label:
        return 1.0
    return OTHER_CASE if written.casefold() == label.casefold() else OTHER_FORM
