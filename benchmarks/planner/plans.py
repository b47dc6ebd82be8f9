"""Runs a question by a plan, forced or chosen, and counts and times what that takes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any

from benchmarks.planner.grid import Question
from hybridkg.algebra.nodes import Fragment, Plan
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.graph_index import Cardinality, PreparedPattern
from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.strategy import by_preference
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.parsed_query import ParsedQuery
from hybridkg.planner.choose import PhysicalPlan, choose
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.rdf.solutions import Solutions
from hybridkg.text.models.additive import KERNEL

FORCED = tuple(name for name, _ in by_preference() if name not in ("oxigraph", "reference"))
"""Plans that a choice is held against; the reference only has to give the same rows."""

CHOSEN = "chosen"
"""The name of the planner's own plan among the others: it may switch on its way."""

REPEATS = 5
SLOW_S = 0.25
"""A plan that takes longer is run three times, not five."""


@dataclass(frozen=True)
class Run:
    """One plan of one question.

    Args:
        strategy: its name.
        counts: work by kind.
        us: of the counts, by the unit costs.
        est_us: what the planner expected.
        told: how the operator that chose the rows went about it.
        ms: median of warm runs, in time of the thread; 0 where it was not timed.
    """

    strategy: str
    counts: dict[str, int]
    us: float
    est_us: float
    told: dict[str, int] = field(default_factory=dict)
    ms: float = 0.0


class Sized:
    """A prepared pattern whose sizes are others than it would say."""

    def __init__(self, prepared: PreparedPattern, size: Callable[[PreparedPattern, str], Cardinality]):
        self._prepared, self._size = prepared, size

    def size(self, variable: str | None = None) -> Cardinality:
        """That of a variable is changed; the number of solutions is not."""
        return self._prepared.size() if variable is None else self._size(self._prepared, variable)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._prepared, name)


@dataclass
class Changed(PlannerContext):
    """A planning that is told other sizes of candidate sets."""

    size_of: Callable[[PreparedPattern, str], Cardinality] = lambda prepared, variable: prepared.size(variable)

    def prepared(self, fragment: Fragment) -> Any:
        """As ever, but for its sizes."""
        found = super().prepared(fragment)
        return None if found is None else Sized(found, self.size_of)


def true_size(prepared: PreparedPattern, variable: str) -> Cardinality:
    """What the run will find."""
    n = float(len(prepared.candidates(variable, Meter())))
    return Cardinality(n, n, n)


def times_size(factor: float) -> Callable[[PreparedPattern, str], Cardinality]:
    """The estimate, wrong by a factor; its bounds move along."""

    def size(prepared: PreparedPattern, variable: str) -> Cardinality:
        own = prepared.size(variable)
        return Cardinality(own.low * factor, own.estimate * factor, own.high * factor)

    return size


class Plans:
    """An open knowledge base, whose queries are planned and run without what is the same for every plan.

    Args:
        kb: it.
        clock: seconds; of this thread, or on the wall where servers do the work.
        repeats: turns of each plan.
        planned_too: whether planning is part of the time of each plan, as it is where it asks a server.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        clock: Callable[[], float] = time.thread_time,
        repeats: int = REPEATS,
        *,
        planned_too: bool = False,
    ):
        self._planned_too = planned_too
        self.kb, self.snapshot, self.clock, self.repeats = kb, kb._snapshot, clock, repeats
        KERNEL.load()  # as in any process that goes on asking
        self.cost = self.snapshot.cost
        self._answering = kb._current_session()
        self._texts: dict[str, ParsedQuery] = {}
        self._planned: set[str] = set()

    def _text(self, question: Question) -> ParsedQuery:
        if question.text not in self._texts:
            self._texts[question.text] = ParsedQuery(question.text)
        return self._texts[question.text]

    def logical(self, question: Question) -> Plan:
        """The plan before a strategy is chosen, with its parameters in place."""
        return self._text(question).request(question.params).logical

    def planning(self, size_of: Callable[[PreparedPattern, str], Cardinality] | None = None) -> PlannerContext:
        """Of one query; with other sizes where they are given."""
        if size_of is None:
            return self.snapshot.planning()
        return Changed(self.snapshot.graph, self.snapshot.ranked, self.cost, size_of=size_of)

    def chosen(
        self, logical: Plan, size_of: Callable[[PreparedPattern, str], Cardinality] | None = None
    ) -> PhysicalPlan:
        """The planner's own choice."""
        return choose(logical, self.planning(size_of))

    def forced(self, logical: Plan) -> dict[str, PhysicalPlan]:
        """Every plan that applies, by strategy."""
        found = {}
        for name in FORCED:
            try:
                found[name] = choose(logical, self.planning(), name)
            except UnsupportedQueryError:
                continue
        return found

    def run(self, plan: PhysicalPlan) -> tuple[Run, Solutions]:
        """Once, counted."""
        context = self.snapshot.context()
        solutions = context.run_plan(plan.root)
        told: dict[str, int] = {}
        for numbers in context.details.values():
            told.update(numbers)
        counts = dict(context.meter.counts)
        expected = plan.cost.estimate
        return Run(plan.strategy, counts, self.cost.price(counts), expected, told), solutions

    def planning_ms(self, question: Question) -> tuple[float, float]:
        """Time of this thread to plan a query for values that it has not seen: (prepared, as a text of its own).

        Once each, because the index remembers the words it has looked up; so before anything else is asked.
        """
        request = self._text(question).request(question.params)
        if question.text not in self._planned:  # the first plan of a text makes the template, for which others pay less
            self._planned.add(question.text)
            self._answering._chosen(request, None, None)
        started = time.thread_time()
        self._answering._chosen(request, None, None)
        prepared = time.thread_time() - started
        logical, planning = request.logical, self.snapshot.planning()
        started = time.thread_time()
        choose(logical, planning)
        return prepared * 1e3, (time.thread_time() - started) * 1e3

    def times_ms(
        self, question: Question, plans: Mapping[str, PhysicalPlan], slow: Mapping[str, bool]
    ) -> dict[str, float]:
        """Median time of each plan; the plans take turns, so that a bad moment meets all of them.

        Planning is that of a prepared query, whose words the index has looked up.
        """
        times: dict[str, list[float]] = {name: [] for name in plans}
        request = self._text(question).request(question.params)
        names = list(plans)
        for turn in range(self.repeats):
            for name in Random(turn).sample(names, len(names)):  # nobody always follows the slowest
                plan = plans[name]
                if turn >= 3 and slow[name]:
                    continue
                context = self.snapshot.context()
                gc.disable()
                started = self.clock()
                if self._planned_too:
                    plan = self._answering._chosen(request, None, None if name == CHOSEN else name)
                context.run_plan(plan.root)
                times[name].append(self.clock() - started)
                gc.enable()
        return {name: median(own) * 1e3 for name, own in times.items()}


def answer(solutions: Solutions, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The rows that a user sees."""
    at = [solutions.variables.index(name) for name in columns]
    return [tuple(str(row[i]) for i in at) for row in solutions.rows]
