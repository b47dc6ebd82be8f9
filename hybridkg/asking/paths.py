"""Paths from an anchor to the class of the answers, of up to three steps.

    P(p) = softmax(2 cue + .5 log-odds - .7 (hops - 1) - .3 log10(1 + |reach|))

over the paths that reach something; `cue` is that of the four words before and behind the mention (lexicon.py), and the
log-odds come from training questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log10

from hybridkg.asking.base import AskedBase
from hybridkg.asking.lexicon import signature
from hybridkg.asking.mentions import Mention, NodeChoice
from hybridkg.asking.schema_graph import SchemaGraph
from hybridkg.asking.slots import Step
from hybridkg.asking.weights import Weights
from hybridkg.asking.words import Question
from hybridkg.interfaces.graph_index import Ids

MAX_HOPS = 3
WINDOW = 4
"""Words on each side of a mention."""

MAX_ROUTES = 2_000
"""Paths between two classes that are compared: the shortest, and of these the ones with most edges."""

TRIED = 12
"""Paths whose answers are counted: those with the highest score without it."""

KEPT = 5


@dataclass(frozen=True)
class PathChoice:
    """A path from a node to some answers, with its share among all paths, and the ids of the answers."""

    node: NodeChoice
    steps: tuple[Step, ...]
    cue: float
    share: float
    ids: Ids


def path_choices(
    question: Question, mention: Mention, node: NodeChoice, target: str, base: AskedBase, weights: Weights
) -> list[PathChoice]:
    """The most probable paths from a node to instances of a class."""
    before, after = question.window(mention.first, mention.behind, WINDOW)
    scored = []
    for steps in routes(base, node.kind, target):
        cue = base.lexicon.cue(steps, node.kind, before, after)
        learned = weights.log_odds.get(signature(steps), 0.0)
        score = weights.cue * cue + weights.learned * learned - weights.hop * (len(steps) - 1)
        scored.append((-score, len(scored), steps, cue))
    reaching = []
    for negated, _, steps, cue in sorted(scored, key=lambda one: one[:2])[:TRIED]:
        ids = base.reach(node.iri, steps)
        if len(ids):
            reaching.append((-negated - weights.reach * log10(1 + len(ids)), steps, cue, ids))
    total = sum(exp(score) for score, *_ in reaching)
    choices = [PathChoice(node, steps, cue, exp(score) / total, ids) for score, steps, cue, ids in reaching]
    return sorted(choices, key=lambda one: (-one.share, [step.written for step in one.steps]))[:KEPT]


def routes(base: AskedBase, start: str, target: str) -> Sequence[tuple[Step, ...]]:
    """The paths of up to MAX_HOPS steps between two classes, the shortest first."""
    if (start, target) not in base.routes:
        base.routes[start, target] = tuple(_routes(base.schema, start, target))
    return base.routes[start, target]


def _routes(schema: SchemaGraph, start: str, target: str) -> list[tuple[Step, ...]]:
    found: list[tuple[Step, ...]] = []
    partial: list[tuple[int, tuple[Step, ...]]] = [(1 << 62, ())]
    for _ in range(MAX_HOPS):
        longer = []
        for edges, steps in partial:
            here = steps[-1].target if steps else start
            longer += [
                (min(edges, one.edges), (*steps, Step(one.predicate, one.inverse, one.target)))
                for one in schema.steps.get(here, ())
            ]
        longer.sort(key=lambda one: -one[0])
        found += [steps for _, steps in longer if steps[-1].target == target]
        if len(found) >= MAX_ROUTES:
            break
        partial = longer[:MAX_ROUTES]
    return found[:MAX_ROUTES]
