"""Training of a model on some topics: the objective of the search, stage by stage."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from hybridkg.config.model_parameters import WEIGHT, ModelParameters
from hybridkg.evaluation.measures import parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.ranking import query_of
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.cached import scorer
from hybridkg.evaluation.tuning.collection import gather, places_of
from hybridkg.evaluation.tuning.ranges import SEARCH_SPACES, Stage
from hybridkg.evaluation.tuning.search import Climb, Point, ascend
from hybridkg.evaluation.tuning.space import StageMoves, space_of
from hybridkg.evaluation.tuning.values import TopicValues
from hybridkg.interfaces.links import LinkedNode
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.kb.snapshot import Snapshot

Told = Callable[[int, int], None]

MAX_POINTS = 100_000
"""Maximum points in the cache of values."""


@dataclass(frozen=True)
class Settings:
    """Settings of a training.

    Args:
        model: a name of RANKING_MODELS with a search space.
        fields: the ON fields; empty for all of the profile.
        fixed: arguments of the model that are not learned.
        choose: arguments with several words; each training takes the one with the best training measure.
        measure: its mean over the topics is maximised.
        restarts: climbs, at least 1; the first starts at the defaults.
        seed: of all random draws.
        depth: maximum rows of a ranking.
    """

    model: str = "bm25f"
    fields: tuple[str, ...] = ()
    fixed: Mapping[str, float | str] = field(default_factory=dict)
    measure: str = "ndcg@10"
    restarts: int = 5
    seed: int = 0
    depth: int = 1000
    choose: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def variants(self) -> list[Settings]:
        """Settings for each combination of chosen words, which become fixed arguments.

        >>> [own.fixed for own in Settings("mlm", choose={"smoothing": ("dirichlet", "jm")}).variants()]
        [{'smoothing': 'dirichlet'}, {'smoothing': 'jm'}]
        """
        words = product(*([(name, word) for word in several] for name, several in self.choose.items()))
        return [replace(self, fixed={**self.fixed, **dict(chosen)}, choose={}) for chosen in words]


@dataclass(frozen=True)
class Learned:
    """The result of a training.

    Args:
        default: the measure of the default parameters on the training topics.
        value: the measure of `parameters`, at least as high.
        evaluations: number of evaluated points.
        seconds: wall-clock time.
        cpu: CPU time of the thread in seconds.
        climbs: by stage and restart.
    """

    parameters: ModelParameters
    default: float
    value: float
    evaluations: int
    seconds: float
    cpu: float
    climbs: tuple[Climb, ...] = ()


class Trainer:
    """The shared state of trainings on the same topics; thread-safe. Topics without a judgement are ignored.

    Raises:
        IndexMissingError, ParameterError, UnknownNameError, TextQueryError: the settings do not fit the index, or
            the judgements not the topics.
    """

    def __init__(self, snapshot: Snapshot, topics: Topics, qrels: Qrels, settings: Settings):
        stages: tuple[Stage, ...] = SEARCH_SPACES.get(settings.model)
        model = RANKING_MODELS.get(settings.model)()
        measure = parse_measure(settings.measure)
        self.settings = settings
        self.default = _default(snapshot, settings, model.traits.least_weight)
        self._topics = gather(snapshot, topics, qrels, query_of(self.default))
        self.topics = tuple(topic.topic for topic in self._topics)
        self.space, self._stages = space_of(stages, settings.model, model, self._topics[0].task, settings.fixed)
        self._values = TopicValues(measure, self._topics, qrels, settings.depth)
        assert snapshot.nodes is not None
        self._scorer = scorer(model, self._topics, snapshot.nodes.rank, self._values.cap)
        self._cache: dict[tuple[object, Point], dict[int, float]] = {}
        self._lock = threading.Lock()

    @property
    def climbs(self) -> int:
        return len(self._stages) * self.settings.restarts

    def linked(self, topics: Sequence[str]) -> list[LinkedNode]:
        """The linked nodes of some topics; empty for a model without links."""
        return [node for i in places_of(self._topics, topics) for node in self._topics[i].task.links]

    def measure(self, parameters: ModelParameters, topics: Sequence[str]) -> dict[str, float]:
        """The measure of each topic, in the order of the collection."""
        places = places_of(self._topics, topics)
        if not places:
            return {}
        ranks = self._scorer.ranks(parameters, places)
        return {self.topics[i]: self._values.value(i, r) for i, r in zip(places, ranks, strict=True)}

    def train(self, topics: Sequence[str], *, progress: Told = lambda climbs, evaluations: None) -> Learned:
        """Learns from these topics only.

        Args:
            topics: of the collection, at least one.
            progress: receives (climbs, evaluations) since the last call; may raise, to stop.
        """
        started, cpu = time.perf_counter(), time.thread_time()
        places = places_of(self._topics, topics)
        default = math.fsum(self.measure(self.default, topics).values()) / len(places)
        count, reported = 1, 0
        point = self.space.start
        climbs: list[Climb] = []

        def report(climbs: int) -> None:
            nonlocal reported
            progress(climbs, count - reported)
            reported = count

        for stage, moves in self._stages:

            def objective(candidate: Point, stage: Stage = stage) -> float:
                nonlocal count
                count += 1
                report(0)
                return self._mean(stage, candidate, places)

            settings = self.settings
            ascent = ascend(
                _memoized(objective), replace(moves, base=point), _in_stage(moves, point, self.space.start),
                restarts=settings.restarts, seed=settings.seed, after=lambda: report(1),
            )  # fmt: skip
            climbs += ascent.climbs
            point = ascent.best.point
        value = self._mean(Stage("", ()), point, places)
        parameters = self.space.parameters(point, {})
        if value < default:  # stages optimise parts of a model; the whole may be worse
            value, parameters = default, self.space.parameters(self.space.start, {})
        seconds = time.perf_counter() - started
        return Learned(parameters, default, value, count, seconds, time.thread_time() - cpu, tuple(climbs))

    def _mean(self, stage: Stage, point: Point, places: Sequence[int]) -> float:
        """The mean of the measure; trainings share the cached values of topics."""
        key = (tuple(stage.pinned.items()), point)
        with self._lock:
            values = self._cache.get(key)
            if values is None:
                if len(self._cache) >= MAX_POINTS:
                    self._cache.clear()
                values = self._cache[key] = {}
        missing = [i for i in places if i not in values]
        if missing:
            ranks = self._scorer.ranks(self.space.parameters(point, stage.pinned), missing)
            for i, r in zip(missing, ranks, strict=True):
                values[i] = self._values.value(i, r)
        return math.fsum(values[i] for i in places) / len(places)


def _default(snapshot: Snapshot, settings: Settings, least_weight: float) -> ModelParameters:
    """The untuned parameters; weights of the profile below the model's minimum are raised to it."""
    weights = {f.name: f.weight for f in snapshot.profile.fields} if snapshot.profile is not None else {}
    return ModelParameters(
        settings.model,
        dict(settings.fixed),
        {
            name: {WEIGHT: least_weight} if weights.get(name, 1.0) < least_weight else {}
            for name in settings.fields or (() if snapshot.text is None else snapshot.text.fields)
        },
    )


def _in_stage(moves: StageMoves, point: Point, start: Point) -> Point:
    """The best point, with this stage's coordinates reset to the start."""
    return tuple(start[i] if i in moves.places else value for i, value in enumerate(point))


def _memoized(objective: Callable[[Point], float]) -> Callable[[Point], float]:
    values: dict[Point, float] = {}

    def memoized(point: Point) -> float:
        value = values.get(point)
        if value is None:
            value = values[point] = objective(point)
        return value

    return memoized
