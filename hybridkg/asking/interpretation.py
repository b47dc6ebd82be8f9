"""The interpretation of a question: its slots, the queries, and what else was possible or not understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hybridkg.asking.slots import Anchor, Constraint, PathConstraint, Slots, Target, ValueConstraint


@dataclass(frozen=True)
class Alternative:
    """Another reading of a question, with less confidence.

    Args:
        target: class of the answers.
        constraints: of this reading.
        score: logarithm of its confidence, as the beam compares it.
    """

    target: Target
    constraints: tuple[Constraint, ...]
    score: float


@dataclass(frozen=True)
class Interpretation:
    """A question as a query.

    Args:
        slots: target, constraints and text.
        query: HybridQL that ranks answers which satisfy more constraints higher.
        strict: HybridQL of the answers that satisfy all; None without a constraint, or if no node satisfies all.
        pattern: HybridQL of all nodes that satisfy all constraints, without a rank; None without a constraint.
        alternatives: other readings, best first.
        unresolved: quoted or capitalised words that name no known node.
        notes: sentences about what was left out, and why.
    """

    slots: Slots
    query: str
    strict: str | None
    pattern: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    unresolved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence for each part of the question that was left out: first the names without a node."""
        return (*(f"no node with a class has the name {part!r}" for part in self.unresolved), *self.notes)

    @property
    def target(self) -> Target | None:
        """The class of the answers."""
        return self.slots.target

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The nodes that the question names, each once."""
        return tuple(dict.fromkeys(path.anchor for path in self.paths))

    @property
    def paths(self) -> tuple[PathConstraint, ...]:
        """The paths from anchors to the answers."""
        return tuple(one for one in self.slots.constraints if isinstance(one, PathConstraint))

    @property
    def values(self) -> tuple[ValueConstraint, ...]:
        """The comparisons with values."""
        return tuple(one for one in self.slots.constraints if isinstance(one, ValueConstraint))

    @property
    def text(self) -> str:
        """The words that rank the answers."""
        return self.slots.text

    def to_json(self) -> dict[str, Any]:
        """The interpretation as JSON data."""
        return {
            "question": self.slots.question,
            "target": None if self.target is None else vars(self.target),
            "constraints": [constraint_json(one) for one in self.slots.constraints],
            "text": self.text,
            "query": self.query,
            "strict": self.strict,
            "pattern": self.pattern,
            "alternatives": [
                {
                    "target": one.target.iri,
                    "constraints": [constraint_json(constraint) for constraint in one.constraints],
                    "score": one.score,
                }
                for one in self.alternatives
            ],
            "unresolved": list(self.unresolved),
            "notes": list(self.notes),
        }


def constraint_json(constraint: Constraint) -> dict[str, Any]:
    """A constraint as JSON data."""
    about: dict[str, Any] = {"confidence": constraint.confidence, "reach": constraint.reach}
    if isinstance(constraint, PathConstraint):
        steps = [step.written for step in constraint.steps]
        return {"kind": "path", "anchor": vars(constraint.anchor), "steps": steps, **about}
    if isinstance(constraint, ValueConstraint):
        tests = [[op, number] for op, number in constraint.tests]
        return {"kind": "value", "text": constraint.text, "predicate": constraint.predicate, "tests": tests, **about}
    return {"kind": "absence", "text": constraint.text, "step": constraint.step.written, **about}
