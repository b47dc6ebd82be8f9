"""Gold queries of questions (gold.jsonl of `hybridkg synthesise`), and how far a reading of a question agrees with one.

The parts of a reading that are graded, 0..1 each:

    type       whether the class of the answers is that of the gold query
    anchor_f1  F1 of the nodes that the question names
    path       whether the paths from them to the answers are those of the gold query, whatever the nodes
    exec       whether the nodes that satisfy all constraints are the answers of the gold query
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hybridkg.asking.base import AskedBase
from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.learning import Example
from hybridkg.asking.slots import PathConstraint
from hybridkg.asking.slots import Step as SlotStep
from hybridkg.asking.weights import Signature
from hybridkg.errors import HybridkgError, UserError
from hybridkg.evaluation.text_lines import numbered_lines, refuse
from hybridkg.kb import KnowledgeBase
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.scope import projected
from hybridkg.query.write import write
from hybridkg.rdf.terms import RDF_TYPE

PARTS = ("type", "anchor_f1", "path", "exec")

MAX_LINE = 1 << 24
"""Bytes of a line: a question may have some thousand answers."""

Step = frozenset[tuple[str, bool]]
"""Predicates of one step, each with its direction; several are alternatives."""

Steps = tuple[Step, ...]
"""From the anchor to the answers."""

Edge = tuple[object, Step, object]


@dataclass(frozen=True)
class GoldQuestion:
    """A question with the query that it was made from.

    Args:
        id: of the topic.
        split: train, val or test; may be empty.
        text: the question.
        query: HybridQL of the pattern, with its anchors and the class of ?x.
    """

    id: str
    split: str
    text: str
    query: str

    @cached_property
    def target(self) -> str:
        """IRI of the class of the answers; empty for none."""
        answers, kind = ast.Var("x"), ast.Iri(RDF_TYPE)
        objects = [one.object for one in _triples(self.query) if (one.subject, one.predicate) == (answers, kind)]
        classes = [one.value for one in objects if isinstance(one, ast.Iri)]
        return classes[0] if classes else ""


def read_gold(path: Path) -> dict[str, GoldQuestion]:
    """The questions of a gold.jsonl by id.

    Raises:
        LoadError: with the line: not such a file.
    """
    found: dict[str, GoldQuestion] = {}
    for number, line in numbered_lines(path, "a gold.jsonl", MAX_LINE):
        try:
            data = json.loads(line)
            values = [data["id"], data.get("split", ""), data["query"], data["hybridql"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            values = []
        if not values or not all(isinstance(value, str) for value in values):
            refuse(path, number, "no question with id, query and hybridql", "gold.jsonl is of hybridkg synthesise")
        question = GoldQuestion(*values)
        try:
            _check(question.query)
        except HybridkgError as e:
            refuse(path, number, f"the query of {question.id!r}: {e.message}", "gold.jsonl is of hybridkg synthesise")
        if question.id in found:
            refuse(path, number, f"a second question {question.id!r}", "ids are distinct")
        found[question.id] = question
    return found


def _check(query: str) -> None:
    """Raises HybridkgError: the query cannot be parsed, has no answers ?x, or a predicate without a direction."""
    form = parse(query).form
    if not isinstance(form, ast.SelectQuery) or "x" not in projected(form):
        raise UserError("it is no SELECT with a column ?x")
    paths_of(query, ())


class ReadingGrader:
    """Grades readings of questions about one knowledge base."""

    def __init__(self, kb: KnowledgeBase, base: AskedBase):
        self._kb = kb
        steps = [step for some in base.schema.steps.values() for step in some]
        self.symmetric = {step.predicate for step in steps} - {step.predicate for step in steps if step.inverse}

    def parts(self, gold: GoldQuestion, reading: Interpretation) -> dict[str, float]:
        """PARTS of a reading."""
        wanted = paths_of(gold.query, self.symmetric)
        found = [path_of(path, self.symmetric) for path in reading.paths]
        anchors, right = {one for one, _ in found}, {one for one, _ in wanted}
        shared = len(anchors & right)
        return {
            "type": float(reading.target is not None and reading.target.iri == gold.target),
            "anchor_f1": 2 * shared / (len(anchors) + len(right)) if anchors or right else 1.0,
            "path": float(Counter(steps for _, steps in found) == Counter(steps for _, steps in wanted)),
            "exec": float(reading.pattern is not None and self._nodes(reading.pattern) == self._nodes(gold.query)),
        }

    def example(self, gold: GoldQuestion) -> Example:
        """The question as an example to learn from."""
        routes: dict[str, list[Signature]] = {}
        for iri, steps in paths_of(gold.query, self.symmetric):
            routes.setdefault(iri, []).append(self._signature(steps))
        return Example(gold.text, gold.target, [(iri, tuple(sorted(some))) for iri, some in routes.items()])

    def _nodes(self, query: str) -> set[str]:
        return {str(row["x"]) for row in self._kb.query(query)}

    def _signature(self, steps: Steps) -> Signature:
        """The path from the answers to the anchor, as models of routes have it."""
        signature = []
        for step in reversed(steps):
            if len(step) > 1:
                signature.append((SlotStep("", False, "", tuple(sorted(step))).written.removeprefix("<>|"), True))
            else:
                ((predicate, inverse),) = step
                signature.append((predicate, predicate in self.symmetric or not inverse))
        return tuple(signature)


def paths_of(query: str, symmetric: Collection[str]) -> list[tuple[str, Steps]]:
    """(IRI of the anchor, steps to ?x) of each path in a query; classes and filters are left out.

    Args:
        query: of a template, with its anchors.
        symmetric: predicates whose direction means nothing.

    Raises:
        UserError: a predicate is a variable, or a path of any length.
    """
    edges: list[Edge] = []
    for triple in _triples(query):
        if triple.predicate != ast.Iri(RDF_TYPE):
            edges += _edges(triple.subject, triple.predicate, triple.object, symmetric)
    anchors = dict.fromkeys(end for edge in edges for end in (edge[0], edge[2]) if isinstance(end, ast.Iri))
    return [(anchor.value, steps) for anchor in anchors for steps in _walks(anchor, edges, symmetric)]


def path_of(constraint: PathConstraint, symmetric: Collection[str]) -> tuple[str, Steps]:
    """The same for a constraint."""
    steps = (
        frozenset((predicate, inverse and predicate not in symmetric) for predicate, inverse in step.alternatives)
        for step in constraint.steps
    )
    return constraint.anchor.iri, tuple(steps)


def _triples(query: str) -> Iterator[ast.TriplePattern]:
    """The triple patterns of a SELECT, outside of its groups."""
    form = parse(query).form
    if isinstance(form, ast.SelectQuery):
        for element in form.where.elements:
            if isinstance(element, ast.Triples):
                yield from (item for item in element.items if isinstance(item, ast.TriplePattern))


def _edges(subject: object, path: object, target: object, symmetric: Collection[str]) -> Iterator[Edge]:
    if isinstance(path, ast.PathSequence):
        nodes = [subject, *(object() for _ in path.parts[1:]), target]
        for start, part, end in zip(nodes, path.parts, nodes[1:], strict=False):
            yield from _edges(start, part, end, symmetric)
    else:
        parts = path.parts if isinstance(path, ast.PathAlternative) else (path,)
        yield subject, frozenset(_direction(part, symmetric) for part in parts), target


def _direction(path: object, symmetric: Collection[str]) -> tuple[str, bool]:
    inverse = isinstance(path, ast.PathInverse)
    iri = path.path if isinstance(path, ast.PathInverse) else path
    if not isinstance(iri, ast.Iri):
        written = write(path) if isinstance(path, ast.Syntax) else str(path)
        raise UserError(f"{written} is neither a predicate nor an inverse one")
    return iri.value, inverse and iri.value not in symmetric


def _walks(anchor: object, edges: list[Edge], symmetric: Collection[str]) -> Iterator[Steps]:
    """The paths from an anchor to ?x that visit no node twice."""
    stack: list[tuple[object, Steps, tuple[object, ...]]] = [(anchor, (), (anchor,))]
    while stack:
        here, steps, seen = stack.pop()
        if here == ast.Var("x"):
            yield steps
            continue
        for subject, step, target in edges:
            for start, end, turned in ((subject, target, step), (target, subject, _turned(step, symmetric))):
                if start == here and end not in seen and not (isinstance(end, ast.Iri)):
                    stack.append((end, (*steps, turned), (*seen, end)))


def _turned(step: Step, symmetric: Collection[str]) -> Step:
    return frozenset((predicate, not inverse and predicate not in symmetric) for predicate, inverse in step)
