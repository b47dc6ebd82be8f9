"""EXPLAIN: the plan as text and as JSON, estimates beside actuals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite, isinf
from typing import Any

from hybridkg.algebra.render import render
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import Actual, ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.topk.filtered_topk import FilteredTopK
from hybridkg.operators.topk.rank_first import RankFirst
from hybridkg.operators.topk.top_k_rows import TopKRows
from hybridkg.planner.choose import PhysicalPlan
from hybridkg.planner.cost_model import PRICES, CostModel

OPERATOR_WIDTH = 64
"""Columns for the operator tree before the numbers; a longer line goes on below."""

MIN_WIDTH = 32
"""Columns for the operator tree on a narrow terminal."""

MIN_PIECE = 24
"""Columns for a piece of a line that goes on below, however deep in the tree it stands."""


Told = Mapping[int, Mapping[str, int]]
"""What operators have told of their work (ExecutionContext.tell), by their identity."""


@dataclass(frozen=True)
class Ran:
    """What happened when a plan ran.

    Args:
        actuals: rows and own time, by the identity of the operator.
        told: how operators went about their work, in the same way.
        work: units of work by kind (interfaces/meter.py).
    """

    actuals: Mapping[int, Actual]
    details: Told
    work: Mapping[str, int]

    @classmethod
    def of(cls, context: ExecutionContext) -> Ran:
        """What a run has left behind."""
        return cls(context.actuals, context.details, context.meter.counts)


@dataclass(frozen=True)
class Explanation:
    """A plan that can be printed; with `ran`, what happened when it ran.

    Args:
        plan: the plan.
        known: what its operators estimate from.
        cost: unit costs, for expected times; without them there are none.
        ran: what happened; None for a plan that has not run.
        prefixes: the query's own.
        endpoint: address of the one that has the graph; empty where it lies here.
    """

    plan: PhysicalPlan
    known: EstimationContext = field(default_factory=EstimationContext)
    cost: CostModel | None = None
    ran: Ran | None = None
    prefixes: tuple[tuple[str, str], ...] = ()
    endpoint: str = ""

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        """Which plan it is; `str` has all of it."""
        return f"Explanation(strategy {self.plan.strategy}; print it to read it)"

    def text(self, width: int | None = None, *, times: bool = True) -> str:
        """The plan for people.

        Args:
            width: columns of a terminal; None for as many as it takes.
            times: with expected times, which depend on the machine.
        """
        lines = [self.strategy(times=times)]
        if self.endpoint:
            lines.append(f"graph: at {self.endpoint}, which is asked what the projection does not hold")
        if self.ran is not None:
            counts = self._work()
            lines.append(f"work: {', '.join(f'{kind} {n:,}' for kind, n in counts.items()) or 'none'}")
        logical = render(self.plan.logical, self.prefixes).splitlines()
        lines += ["", "logical plan", *(f"  {line}" for line in logical), ""]
        return "\n".join([*lines, self.operators(width, times=times)])

    def operators(self, width: int | None = None, *, times: bool = True) -> str:
        """The operators alone, a line or more for each."""
        times = times and self.cost is not None
        numbers = sum(number + 2 for _, number in _columns(times, self.ran is not None))
        left = OPERATOR_WIDTH if width is None else min(max(width - numbers, MIN_WIDTH), OPERATOR_WIDTH)
        layout = _Layout(self, left, max(width, left) if width is not None else None, times)
        return "\n".join([layout.head(), *layout.lines(self.plan.root, self.known, "", "")])

    def to_json(self) -> dict[str, Any]:
        """The same as data; units are in the names."""
        found = {
            "strategy": self.plan.strategy,
            "est_us": _us(self.plan.cost),
            "forced": self.plan.forced,
            "rejected": [{"strategy": other.strategy, "est_us": _us(other.cost)} for other in self.plan.rejected],
            "logical": render(self.plan.logical, self.prefixes).splitlines(),
            "operator": self._operator_json(self.plan.root, self.known),
        }
        if self.endpoint:
            found["endpoint"] = self.endpoint
        return found if self.ran is None else {**found, "work": self._work()}

    def _repr_html_(self) -> str:
        """The same for notebooks; query texts in it are escaped."""
        from html import escape

        return f'<pre style="line-height: 1.25">{escape(str(self))}</pre>'

    def strategy(self, *, times: bool = True) -> str:
        """The strategy, by how much it won, and what it won against."""
        plan = self.plan
        if not times:
            others = [other.strategy for other in plan.rejected]
            return f"strategy: {plan.strategy}" + _bracketed(others, plan.forced)
        others = [f"{other.strategy}{_ms(other.cost, ' {}')}" for other in plan.rejected]
        return f"strategy: {plan.strategy}{_ms(plan.cost, ', est. {}')}" + _bracketed(others, plan.forced)

    def _work(self) -> dict[str, int]:
        """What was counted, in a fixed order."""
        counts = {} if self.ran is None else self.ran.work
        return {kind: counts[kind] for kind in (*PRICES, *sorted(counts.keys() - PRICES)) if counts.get(kind)}

    @cached_property
    def own_times(self) -> Mapping[int, float]:
        """Expected microseconds, by the identity of the operator; without those of which nothing is known.

        Of a TopKRows it is what the others leave of the cost of the whole plan.
        """
        if self.cost is None:
            return {}
        found: dict[int, float] = {}
        waiting: list[tuple[PhysicalOperator, EstimationContext]] = [(self.plan.root, self.known)]
        best: list[TopKRows] = []
        while waiting:
            operator, known = waiting.pop()
            if isinstance(operator, TopKRows):
                best.append(operator)
            elif (work := operator.work(known)) is not None:
                found[id(operator)] = self.cost.price(work)
            below = operator.below(known)
            waiting += [(child, below) for child in operator.children]
        if len(best) == 1 and self.plan.cost is not None and isfinite(self.plan.cost.estimate):
            found[id(best[0])] = max(0.0, self.plan.cost.estimate - sum(found.values()))
        return found

    def actual(self, operator: PhysicalOperator) -> Actual | None:
        """What an operator did; None where it has not run."""
        return None if self.ran is None else self.ran.actuals.get(id(operator))

    def shortened(self, line: str) -> str:
        """IRIs by the query's own prefixes; the text sent to the store has them in full."""
        for prefix, iri in sorted(self.prefixes, key=lambda pair: -len(pair[1])):
            if iri:
                line = _with_prefix(line, prefix, iri)
        return line

    def more_lines(self, operator: PhysicalOperator, known: EstimationContext) -> list[str]:
        """What stands below the line of an operator: details, then the exact text sent to the store."""
        told = None if self.ran is None else self.ran.details
        lines = _choice_lines(operator, known, told) if isinstance(operator, TopKRows) else []
        lines += operator.details(known).splitlines()
        lines += [" ".join(text.split()) for text in _questions(operator.asks(known))]
        return [self.shortened(line) for line in lines if line]

    def _operator_json(self, operator: PhysicalOperator, known: EstimationContext) -> dict[str, Any]:
        node: dict[str, Any] = {
            "name": type(operator).__name__,
            "description": operator.describe(),
            "est_rows": known.rows(operator),
        }
        if (us := self.own_times.get(id(operator))) is not None:
            node["est_own_us"] = round(us, 1)
        if isinstance(operator, TopKRows):
            node |= _choice_json(operator, known, None if self.ran is None else self.ran.details)
        if details := operator.details(known).splitlines():
            node["details"] = details
        if asked := operator.asks(known):
            node["sparql"] = asked
        if (actual := self.actual(operator)) is not None:
            node["rows"] = actual.rows
            node["own_us"] = actual.own_ns / 1e3
        below = operator.below(known)
        node["children"] = [self._operator_json(child, below) for child in operator.children]
        return node


@dataclass(frozen=True)
class _Layout:
    """The tree of operators on the left, numbers on the right.

    Args:
        explanation: of what.
        left: columns of the tree.
        width: columns of the lines below an operator; None for as many as it takes.
        times: with expected times.
    """

    explanation: Explanation
    left: int
    width: int | None
    times: bool

    @property
    def _columns(self) -> list[tuple[str, int]]:
        return _columns(self.times, self.explanation.ran is not None)

    def head(self) -> str:
        """The headings."""
        return f"{'operator':<{self.left}}" + "".join(f"  {name:>{width}}" for name, width in self._columns)

    def lines(self, operator: PhysicalOperator, known: EstimationContext, first: str, rest: str) -> list[str]:
        """An operator and all below it."""
        bar = f"{rest}{'│  ' if operator.children else '   '}"
        shown = self.explanation.shortened(operator.describe())
        described, *goes_on = _pieces(shown, self.left - len(first), self.left - len(bar))
        numbers = zip(self._numbers(operator, known), self._columns, strict=True)
        lines = [f"{first + described:<{self.left}}" + "".join(f"  {text:>{width}}" for text, (_, width) in numbers)]
        lines += [f"{bar}{piece}" for piece in goes_on]
        for line in self.explanation.more_lines(operator, known):
            wide = len(line) if self.width is None else self.width - len(bar)
            head, *tail = _pieces(line, wide, wide - 2)
            lines += [f"{bar}{head}", *(f"{bar}  {piece}" for piece in tail)]
        below = operator.below(known)
        for i, child in enumerate(operator.children):
            last = i == len(operator.children) - 1
            lines += self.lines(child, below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
        return lines

    def _numbers(self, operator: PhysicalOperator, known: EstimationContext) -> list[str]:
        rows, us = known.rows(operator), self.explanation.own_times.get(id(operator))
        numbers = ["-" if rows is None else "<1" if 0 < rows < 0.5 else f"{rows:,.0f}"]
        if self.times:
            numbers.append("-" if us is None else f"{us / 1e3:,.2f}")
        if self.explanation.ran is not None:
            actual = self.explanation.actual(operator)
            numbers += ["-", "-"] if actual is None else [f"{actual.rows:,}", f"{actual.own_ns / 1e6:,.2f}"]
        return numbers


def _choice_json(operator: TopKRows, known: EstimationContext, told: Told | None) -> dict[str, Any]:
    """The facts, under names with units; with `told`, those of the run beside the estimates."""
    own = {} if told is None else told.get(id(operator), {})
    instead = _instead(operator) if own.get("switched") else None
    last = own if instead is None or told is None else told.get(id(instead), {})
    sets: list[dict[str, Any]] = []
    for candidates in operator.candidates:
        estimate = candidates.estimate(known)
        one = {"variable": candidates.variable, "in": candidates.shown, "est_entities": estimate}
        if "candidates" in last:
            one["entities"] = last["candidates"]
        sets.append(one)
    found: dict[str, Any] = {"candidates": sets}
    if own:
        names = ("looks", "read", "seen", "passed")
        found["run"] = {
            ("looks" if name == "looks" else f"{name}_entities"): own[name] for name in names if name in own
        }
        if "matching" in last:
            found["run"]["matching_entities"] = last["matching"]
        if instead is not None:
            found["run"]["switched_to"] = "filtered_topk" if isinstance(instead, FilteredTopK) else "filter_first"
    return found


def _choice_lines(operator: TopKRows, known: EstimationContext, told: Told | None) -> list[str]:
    """The same in words: a line for each candidate set, and one for the run."""
    facts = _choice_json(operator, known, told)
    lines = []
    for one in facts["candidates"]:
        estimate, head = one["est_entities"], f"candidates of ?{one['variable']}:"
        if not one["in"]:
            lines.append(f"{head} every entity, {estimate:,.0f}")
            continue
        sizes = [] if estimate is None else [f"est. {estimate:,.0f}"]
        sizes += [f"found {one['entities']:,}"] if "entities" in one else []
        sizes.append(f"in {one['in']}")
        lines.append(f"{head} {', '.join(sizes)}")
    if "run" in facts:
        lines.append(
            _run(facts["run"], "each list" if len(operator.top.matches + operator.top.optional) > 1 else "the list")
        )
    return lines


def _run(run: Mapping[str, Any], lists: str) -> str:
    parts = []
    if "looks" in run:
        looks = f"{run['looks']:,} {'look' if run['looks'] == 1 else 'looks'}"
        parts.append(f"{looks}, the best {run['read_entities']:,} of {lists}")
        if "seen_entities" in run:
            parts.append(f"{run['seen_entities']:,} entities tried, {run['passed_entities']:,} passed")
    elif "read_entities" in run:
        parts.append(f"the best {run['read_entities']:,} candidates")
    if "switched_to" in run:
        parts.append(f"then {run['switched_to']}")
    if "matching_entities" in run:
        parts.append(f"{run['matching_entities']:,} of the candidates match")
    return f"read: {'; '.join(parts)}"


def _instead(operator: TopKRows) -> TopKRows | None:
    return operator.other[0] if isinstance(operator, RankFirst) else None


def _columns(times: bool, ran: bool) -> list[tuple[str, int]]:
    """Headings and widths of the numbers."""
    found = [("est.rows", 10)]
    if times:
        found.append(("est.ms", 8))
    return [*found, ("rows", 10), ("ms", 8)] if ran else found


def _bracketed(rejected: list[str], forced: bool) -> str:
    if forced:
        return "   (asked for)"
    return f"   (rejected: {', '.join(rejected)})" if rejected else ""


def _questions(asked: str) -> list[str]:
    """The queries of a text that has one or more of them, each of which begins a line."""
    return re.split(r"\n(?=SELECT )", asked) if asked else []


def _ms(cost: Cardinality | None, into: str) -> str:
    """An expected time in words; empty where nobody knows.

    >>> _ms(Size(0.0, 1310.0, 5000.0), ", est. {}"), _ms(Size(0.0, 83.2, 90.0), "{}")
    (', est. 1.3 ms', '0.083 ms')
    """
    if cost is None or isinf(cost.estimate):
        return ""
    ms = cost.estimate / 1e3
    return into.format(f"{ms:,.1f} ms" if ms >= 1 else f"{ms:.2g} ms")


def _us(cost: Cardinality | None) -> dict[str, float | None] | None:
    """An expected time as data: best guess, and between which bounds it is."""
    if cost is None or isinf(cost.estimate):
        return None
    return {
        "low": round(cost.low, 1),
        "guess": round(cost.estimate, 1),
        "high": None if isinf(cost.high) else cost.high,
    }


def _pieces(text: str, width: int, next_width: int) -> list[str]:
    """The text in one line where it fits into `width`, else in several, as wide as there is room for each.

    >>> _pieces("Filter (?a > 1) && (?b > 2) && (?c > 3)", 30, 24)
    ['Filter (?a > 1) && (?b >', '2) && (?c > 3)']
    """
    import textwrap

    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, max(min(width, next_width), MIN_PIECE), break_on_hyphens=False)


def _with_prefix(line: str, prefix: str, iri: str) -> str:
    return re.sub(rf"<{re.escape(iri)}([A-Za-z][\w-]*)>", lambda m: f"{prefix}:{m.group(1)}", line)
