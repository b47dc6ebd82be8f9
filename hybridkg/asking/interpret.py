"""The interpretation of a question: slots from names and schema of the knowledge base alone, then the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hybridkg.asking.base import AskedBase
from hybridkg.asking.conjunction import SURE_LINK, Conjunction
from hybridkg.asking.emit import LIMIT, QuerySurroundings, fusion_query, pattern_query, soft_query, strict_query
from hybridkg.asking.features import class_features
from hybridkg.asking.interpretation import Alternative, Interpretation
from hybridkg.asking.linkability import weighted
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.nested_quotations import read_quoted
from hybridkg.asking.readings import compared_readings
from hybridkg.asking.slots import Anchor, Constraint, PathConstraint, Slots, Target, distinct
from hybridkg.asking.targets import find_targets
from hybridkg.asking.uncovered import ranking_text
from hybridkg.asking.unread import unread
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights
from hybridkg.asking.words import MAX_WORDS, Question, read_question
from hybridkg.errors import UserError

LEAST = 0.3
"""Confidence that the best constraint needs; below it, the question is only ranked by its words."""

ALTERNATIVES = 3

NO_ANSWER = "no node satisfies all constraints"


def interpret(
    text: str,
    base: AskedBase,
    prefixes: Mapping[str, str],
    *,
    limit: int = LIMIT,
    weights: QuestionWeights = DEFAULT_WEIGHTS,
) -> Interpretation:
    """The interpretation of a question.

    Args:
        text: the question.
        base: the knowledge base.
        prefixes: to shorten the IRIs of the queries.
        limit: rows of the queries.
        weights: of the formulas.

    Raises:
        UserError: the question has no word.
        QueryLimitError: it is too long.
    """
    question, notes = checked_question(text, base)
    mentions = weighted(question, find_mentions(question, base), weights.links)
    named = frozenset(
        at for one in mentions.found if one.confidence >= SURE_LINK for at in range(one.first, one.behind)
    )
    learned = (
        None
        if weights.classes is None
        else weights.classes.scores(class_features(question, named, weights.class_features))
    )
    targets = find_targets(question, base, named, weights, learned)
    readings = compared_readings(question, mentions.found, targets, base, weights) if targets else []
    chosen = readings[0] if readings else None
    constraints = _constraints(question, chosen) if chosen else ()
    slots = None
    if chosen is not None and any(one.confidence > LEAST for one in constraints):
        words = ranking_text(question, chosen, base)
        slots = Slots(question.text, chosen.target, constraints, words, chosen.answers)
    others = _alternatives(question, readings, chosen if slots else None)
    used = _words_of(chosen) if slots and chosen else frozenset()
    sure = [one for one in mentions.found if one.confidence >= SURE_LINK]
    notes += unread(question, used, sure)
    if slots is None:
        slots = unconstrained(question, targets[0] if targets else None)
    unresolved = tuple(one for one in mentions.unresolved if not _names_class(one, slots.target, base))
    return emitted(slots, question, base, prefixes, limit, others, unresolved, notes)


def unconstrained(question: Question, target: Target | None) -> Slots:
    """The slots of a question without a constraint: all its words rank, and the class of the answers restricts none."""
    return Slots(question.text, target, (), question.text, 0)


def _names_class(part: str, target: Target | None, base: AskedBase) -> bool:
    """Whether a part of a question names the class of the answers, as in `Show Me Films`, and so no node."""
    words = base.lexicon.class_words[target.iri] if target is not None else ()
    return all(word.stem in words for word in read_question(part, base.names.analyzer).words)


def _words_of(reading: Conjunction) -> frozenset[int]:
    """Numbers of the words of the constraints."""
    spans = [(value.first, value.behind) for value in reading.values]
    spans += [(mention.first, mention.behind) for mention, _ in reading.paths]
    return frozenset(at for first, behind in spans for at in range(first, behind))


def checked_question(text: str, base: AskedBase) -> tuple[Question, list[str]]:
    """The words of a question, with a note if it is read in part.

    Raises:
        UserError: it has no word.
        QueryLimitError: it is too long.
    """
    question = read_quoted(text, base.names)
    if not question.words:
        raise UserError("the question has no word", hint='hybridkg ask KB "papers on parsing by people at Edinburgh"')
    return question, [f"names are sought in the first {MAX_WORDS} words only"] if question.is_cut else []


def emitted(
    slots: Slots,
    question: Question,
    base: AskedBase,
    prefixes: Mapping[str, str],
    limit: int,
    alternatives: tuple[Alternative, ...],
    unresolved: tuple[str, ...],
    notes: Sequence[str],
) -> Interpretation:
    """The interpretation with the queries of its slots; without a constraint, the plain fusion of all words."""
    if not slots.constraints:
        query = fusion_query(question.text, surroundings(slots.text, base, prefixes, limit))
        return Interpretation(slots, query, None, None, alternatives, unresolved, tuple(notes))
    slots = replace(slots, constraints=distinct(slots.constraints))
    around = surroundings(slots.text, base, prefixes, limit, question.text)
    strict = strict_query(slots, around) if slots.answers else None
    if strict is None:
        notes = [*notes, NO_ANSWER]
    return Interpretation(
        slots, soft_query(slots, around), strict, pattern_query(slots, around), alternatives, unresolved, tuple(notes)
    )


def _constraints(question: Question, reading: Conjunction) -> tuple[Constraint, ...]:
    """The constraints of a reading, in the order of the question."""
    placed: list[tuple[int, Constraint]] = [(value.first, value.constraint) for value in reading.values]
    for mention, path in reading.paths:
        written = question.written(mention.first, mention.behind)
        start, end = question.words[mention.first].start, question.words[mention.behind - 1].end
        node = path.node
        anchor = Anchor(written, start, end, node.iri, node.name, node.kind, node.confidence)
        for steps, reach in zip(path.paths, path.reaches, strict=True):
            placed.append((mention.first, PathConstraint(anchor, steps, node.confidence * path.share, reach)))
    return tuple(one for _, one in sorted(placed, key=lambda one: one[0]))


def _alternatives(
    question: Question, readings: Sequence[Conjunction], chosen: Conjunction | None
) -> tuple[Alternative, ...]:
    others = [one for one in readings if one is not chosen and one.size]
    return tuple(Alternative(one.target, _constraints(question, one), one.score) for one in others[:ALTERNATIVES])


def surroundings(
    text: str, base: AskedBase, prefixes: Mapping[str, str], limit: int, question: str = ""
) -> QuerySurroundings:
    """Properties of the knowledge base that the queries of a text depend on; `text` is a part of a question."""
    matched = base.best_score(text)
    best = max(matched, base.best_score(question)) if question else matched
    return QuerySurroundings(
        base.types, base.has_vectors, best, base.mixed, prefixes, base.schema.classes, base.graph.n_entities, limit,
        matched > 0,
    )  # fmt: skip
