"""Routes from an anchor to the class of the answers: a path of up to three steps, or two paths from one anchor.

    P(route) = softmax(2 cue + .5 log-odds - .7 (hops - 1) - .3 log10(1 + |reach|))

over the routes that reach something. `cue` is that of the four words on each side of the mention (lexicon.py), and the
log-odds come from training questions (learning.py). Two paths, as of "by the authors of X in the same field", have the
mean of their cues, the hops of the longer one, and the answers of both; only those that training has are tried.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import exp, log10

import numpy as np

from hybridkg.asking.base import AskedBase
from hybridkg.asking.features import WINDOW, route_features
from hybridkg.asking.lexicon import signature
from hybridkg.asking.mentions import NameMention, NodeChoice
from hybridkg.asking.schema_graph import SchemaGraph
from hybridkg.asking.slots import Step
from hybridkg.asking.weights import QuestionWeights, Route, WordModel, between, written_route
from hybridkg.asking.words import Question
from hybridkg.interfaces.graph_index import Ids

MAX_HOPS = 3
MAX_ROUTES = 2_000
"""Paths between two classes that are compared: the shortest, and of these the ones with most edges."""

TRIED = 12
"""Routes whose answers are counted: those with the highest score without it."""

KEPT = 5

Path = tuple[Step, ...]


@dataclass(frozen=True)
class PathChoice:
    """One or two paths from a node to some answers, with their share among all routes, and the ids of the answers.

    `reaches` has the number of answers of each path alone.
    """

    node: NodeChoice
    paths: tuple[Path, ...]
    share: float
    ids: Ids
    reaches: tuple[int, ...]


@dataclass(frozen=True)
class _Tried:
    score: float
    paths: tuple[Path, ...]
    written: str


def path_choices(
    question: Question, mention: NameMention, node: NodeChoice, target: str, base: AskedBase, weights: QuestionWeights
) -> list[PathChoice]:
    """The most probable routes from a node to instances of a class."""
    before, after = question.window(mention.first, mention.behind, WINDOW)
    model = weights.routes.get(between(node.kind, target))
    learned = {} if model is None else model.scores(route_features(question, mention, weights.route_features))
    cues = {steps: base.lexicon.cue(steps, node.kind, before, after) for steps in routes(base, node.kind, target)}
    tried = []
    for paths in (*((one,) for one in cues), *_pairs(cues, model)):
        written = written_paths(paths)
        cue = sum(cues[one] for one in paths) / len(paths)
        score = weights.cue * cue - weights.hop * (max(map(len, paths)) - 1)
        if model is not None:
            score += weights.learned * learned.get(written, model.unseen)
        tried.append(_Tried(score, paths, written))
    tried.sort(key=lambda one: (-one.score, one.written))
    reaching = []
    for one in tried[:TRIED]:
        found = [base.reach(node.iri, steps) for steps in one.paths]
        ids = found[0] if len(found) == 1 else np.intersect1d(found[0], found[1], assume_unique=True)
        if len(ids):
            reaching.append((one.score - weights.reach * log10(1 + len(ids)), one, ids, tuple(map(len, found))))
    total = sum(exp(score) for score, *_ in reaching)
    choices = [PathChoice(node, one.paths, exp(score) / total, ids, sizes) for score, one, ids, sizes in reaching]
    return sorted(choices, key=lambda one: (-one.share, written_paths(one.paths)))[:KEPT]


def route_of(paths: Sequence[Path]) -> Route:
    """The route of one or two paths."""
    return tuple(sorted(signature(steps) for steps in paths))


@lru_cache(20_000)
def written_paths(paths: tuple[Path, ...]) -> str:
    """The route of one or two paths as text, which is the outcome of a model."""
    return written_route(route_of(paths))


def _pairs(paths: Iterable[Path], model: WordModel | None) -> Iterator[tuple[Path, ...]]:
    """The pairs of paths that training has, with all classes on their ways."""
    if model is None:
        return
    by_route: dict[str, list[Path]] = defaultdict(list)
    for steps in paths:
        by_route[written_paths((steps,))].append(steps)
    for outcome in sorted(model.prior):
        parts = outcome.split(" & ")
        if len(parts) == 2:
            yield from product(by_route.get(parts[0], ()), by_route.get(parts[1], ()))


def routes(base: AskedBase, start: str, target: str) -> Sequence[Path]:
    """The paths of up to MAX_HOPS steps between two classes, the shortest first."""
    if (start, target) not in base.routes:
        base.routes[start, target] = tuple(_routes(base.schema, start, target))
    return base.routes[start, target]


def _routes(schema: SchemaGraph, start: str, target: str) -> list[Path]:
    found: list[Path] = []
    partial: list[tuple[int, Path]] = [(1 << 62, ())]
    for _ in range(MAX_HOPS):
        longer: list[tuple[int, Path]] = []
        for edges, steps in partial:
            here = steps[-1].target if steps else start
            longer += [
                (min(edges, one.edges), (*steps, Step(one.predicate, one.inverse, one.target, one.others)))
                for one in schema.steps.get(here, ())
            ]
        longer.sort(key=lambda one: -one[0])
        found += [steps for _, steps in longer if steps[-1].target == target]
        if len(found) >= MAX_ROUTES:
            break
        partial = longer[:MAX_ROUTES]
    return list(dict.fromkeys(found[:MAX_ROUTES]))
