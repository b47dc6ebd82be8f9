"""The slots of a question: target, constraints and text. They are all that a query is made of (emit.py)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, order=True)
class Step:
    """One step of a path: along a predicate, or against it with `inverse`, to a node of a class.

    `others` are alternatives to the predicate, each with its direction: what is bought or viewed together.
    """

    predicate: str
    inverse: bool
    target: str
    others: tuple[tuple[str, bool], ...] = ()

    @property
    def alternatives(self) -> tuple[tuple[str, bool], ...]:
        """The predicates, each with its direction."""
        return ((self.predicate, self.inverse), *self.others)

    @property
    def written(self) -> str:
        """The path in SPARQL's syntax.

        >>> Step("x:writes", True, "x:Author").written
        '^<x:writes>'
        """
        return "|".join(f"{'^' * inverse}<{predicate}>" for predicate, inverse in self.alternatives)


@dataclass(frozen=True)
class Target:
    """The class of the answers.

    Args:
        iri: of the class.
        name: its label, or the words of its IRI.
        confidence: 0..1, its share among all classes.
        word: the word of the question that names it; empty for none.
    """

    iri: str
    name: str
    confidence: float
    word: str = ""


@dataclass(frozen=True)
class Anchor:
    """A mention of the question and the node that it names.

    Args:
        text: the mention, as in the question.
        start: of its first character.
        end: behind its last.
        iri: of the node.
        name: label of the node.
        kind: IRI of its class.
        confidence: of the link, above 0 and at most 1.
    """

    text: str
    start: int
    end: int
    iri: str
    name: str
    kind: str
    confidence: float


@dataclass(frozen=True)
class PathConstraint:
    """A path from an anchor to the answers.

    Args:
        anchor: where it begins.
        steps: 1 to 3, the last one to the answers.
        confidence: that of the link times the share of the path, above 0 and at most 1.
        reach: number of answers of this constraint alone.
    """

    anchor: Anchor
    steps: tuple[Step, ...]
    confidence: float
    reach: int


@dataclass(frozen=True)
class ValueConstraint:
    """A comparison of a property of the answers with a value.

    Args:
        text: the words of the question.
        predicate: the property.
        tests: operators of = < <= > >= with their number; of the year of a date with `years`.
        years: whether the property has dates.
        confidence: above 0 and at most 1.
        reach: number of answers of this constraint alone.
    """

    text: str
    predicate: str
    tests: tuple[tuple[str, int], ...]
    years: bool
    confidence: float
    reach: int


@dataclass(frozen=True)
class AbsenceConstraint:
    """A relation that the answers do not have: `without side effects`.

    Args:
        text: the words of the question.
        step: the relation, from the answer.
        confidence: above 0 and at most 1.
        reach: number of answers of this constraint alone.
    """

    text: str
    step: Step
    confidence: float
    reach: int


SURE_CLASS = 0.9
"""Confidence of a class to which the answers are restricted."""

Constraint: TypeAlias = PathConstraint | ValueConstraint | AbsenceConstraint


def distinct(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The constraints, each once with its highest confidence: a name that a question repeats says nothing more."""
    kept: dict[object, Constraint] = {}
    for one in constraints:
        demand = _demand(one)
        if demand not in kept or kept[demand].confidence < one.confidence:
            kept[demand] = one
    return tuple(kept.values())


def _demand(constraint: Constraint) -> object:
    """What a constraint demands of the answers, without the words that say it."""
    match constraint:
        case PathConstraint(anchor, steps):
            return anchor.iri, steps
        case ValueConstraint(_, predicate, tests, years):
            return predicate, tests, years
        case AbsenceConstraint(_, step):
            return step


@dataclass(frozen=True)
class Slots:
    """The content of a question.

    Args:
        question: its text.
        target: class of the answers, which restricts nothing without a constraint; None if there is no class.
        constraints: in the order of the question.
        text: the words that rank the answers.
        answers: number of nodes that satisfy all constraints.
    """

    question: str
    target: Target | None
    constraints: tuple[Constraint, ...]
    text: str
    answers: int

    @property
    def is_class_sure(self) -> bool:
        """Whether all answers are instances of the target; otherwise that is one of the satisfied parts."""
        return self.target is not None and self.target.confidence >= SURE_CLASS
