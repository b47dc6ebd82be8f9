"""EXPLAIN: the plan as text and as JSON, estimates next to actual figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, isinf
from typing import Any

from hybridkg.algebra.nodes import Slice, SparqlQuery
from hybridkg.algebra.render import render
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.context import Actual, ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.operators.topk.filtered_topk import FilteredTopK
from hybridkg.operators.topk.rank_first import RankFirst
from hybridkg.operators.topk.top_k_rows import TopKRows
from hybridkg.planner.choose import PhysicalPlan
from hybridkg.planner.cost_model import PRICES, CostModel
from hybridkg.rdf.well_known import abbreviation
from hybridkg.terminal_text import preformatted

OPERATOR_WIDTH = 64
"""Columns of the operator tree; a longer line continues below."""

MIN_WIDTH = 36
"""Columns of the operator tree on a narrow terminal."""

MIN_PIECE = 24
"""Minimum columns of a continuation line, at any depth of the tree."""


_IRI = re.compile(r"<([^<>\s]+)>")

Details = Mapping[int, Mapping[str, int]]
"""Figures recorded by operators (ExecutionContext.record_detail), by the identity of the operator."""


@dataclass(frozen=True)
class Ran:
    """Figures of a run: of operators, by their identity, and units of work by kind (interfaces/meter.py); reasons why
    an operator left its work to the store.
    """

    actuals: Mapping[int, Actual]
    details: Details
    work: Mapping[str, int]
    reasons: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, context: ExecutionContext) -> Ran:
        return cls(context.actuals, context.details, context.meter.counts, context.reasons)


@dataclass(frozen=True)
class Explanation:
    """Printable plan, with the figures of a run if it has run.

    Args:
        plan: the plan.
        estimates: those of its operators.
        cost: unit costs, for expected times; None for no times.
        ran: figures of the run; None for a plan that has not run.
        prefixes: those that abbreviate IRIs, in the order of preference.
        endpoint: address of the endpoint that has the graph; empty for a local store.
    """

    plan: PhysicalPlan
    estimates: EstimationContext = field(default_factory=EstimationContext)
    cost: CostModel | None = None
    ran: Ran | None = None
    prefixes: tuple[tuple[str, str], ...] = ()
    endpoint: str = ""

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Explanation(strategy {self.plan.strategy}; print it to read it)"

    def text(self, width: int | None = None, *, times: bool = True) -> str:
        """Plan as text, for a terminal of `width` columns. Expected times depend on the machine and can be left out."""
        lines = [self.strategy(times=times)]
        if self.endpoint:
            lines.append(f"graph: at {self.endpoint}, which answers what the projection does not hold")
        if self.ran is not None:
            counts = self._work()
            lines.append(f"work: {', '.join(f'{kind} {n:,}' for kind, n in counts.items()) or 'none'}")
        lines += ["", "logical plan", *(f"  {line}" for line in self._logical()), ""]
        if width is not None:
            lines = [piece for line in lines for piece in _hanging(line, width)]
        return "\n".join([*lines, self.operators(width, times=times)])

    def operators(self, width: int | None = None, *, times: bool = True) -> str:
        """Operator tree alone; on a narrow terminal its figures are below each operator."""
        times = times and self.cost is not None
        numbers = sum(number + 2 for _, number in _columns(times, self.ran is not None))
        is_stacked = width is not None and width < MIN_WIDTH + numbers
        left = OPERATOR_WIDTH if width is None else min(max(width - numbers, MIN_WIDTH), OPERATOR_WIDTH)
        if is_stacked and width is not None:
            left = max(width, MIN_PIECE)
        layout = _Layout(self, left, max(width, left) if width is not None else None, times, is_stacked)
        return "\n".join([layout.head(), *layout.lines(self.plan.root, self.estimates, "", "")])

    def to_json(self) -> dict[str, Any]:
        """Plan as data; names include units."""
        data = {
            "strategy": self.plan.strategy,
            "est_us": _us(self.plan.cost),
            "forced": self.plan.forced,
            "rejected": [{"strategy": other.strategy, "est_us": _us(other.cost)} for other in self.plan.rejected],
            "logical": self._logical(),
            "operator": self._operator_json(self.plan.root, self.estimates),
        }
        if self.endpoint:
            data["endpoint"] = self.endpoint
        return data if self.ran is None else {**data, "work": self._work()}

    def _repr_html_(self) -> str:
        """Plan for notebooks, escaped."""
        return preformatted(str(self))

    def strategy(self, *, times: bool = True) -> str:
        """Line with the strategy, its expected time and the rejected ones."""
        plan = self.plan
        if not times:
            others = [other.strategy for other in plan.rejected]
            return f"strategy: {plan.strategy}" + _bracketed(others, plan.forced)
        others = [f"{other.strategy}{_ms(other.cost, ' {}')}" for other in plan.rejected]
        return f"strategy: {plan.strategy}{_ms(plan.cost, ', est. {}')}" + _bracketed(others, plan.forced)

    def _logical(self) -> list[str]:
        plan, root = self.plan.logical, self.plan.root
        match plan:
            case SparqlQuery(_, relational) if relational is not None and isinstance(root, ColumnQuery):
                plan = relational
            case Slice(SparqlQuery(_, relational)) if relational and isinstance(root.children[0], ColumnQuery):
                plan = replace(plan, child=relational)
        return render(plan, self.prefixes).splitlines()

    def _work(self) -> dict[str, int]:
        counts = {} if self.ran is None else self.ran.work
        return {kind: counts[kind] for kind in (*PRICES, *sorted(counts.keys() - PRICES)) if counts.get(kind)}

    @cached_property
    def own_times(self) -> Mapping[int, float]:
        """Expected microseconds, by the identity of the operator, where they are known.

        The own time of a TopKRows, or of a query to the store, is the cost of the plan minus that of all other
        operators.
        """
        if self.cost is None:
            return {}
        times: dict[int, float] = {}
        waiting: list[tuple[PhysicalOperator, EstimationContext]] = [(self.plan.root, self.estimates)]
        best: list[PhysicalOperator] = []
        while waiting:
            operator, estimates = waiting.pop()
            if isinstance(operator, TopKRows | StoreQuery):
                best.append(operator)
            elif (work := operator.work(estimates)) is not None:
                times[id(operator)] = self.cost.price(work)
            below = operator.below(estimates)
            waiting += [(child, below) for child in operator.children]
        if len(best) == 1 and isfinite(self.plan.cost.estimate):
            times[id(best[0])] = max(0.0, self.plan.cost.estimate - sum(times.values()))
        return times

    def actual(self, operator: PhysicalOperator) -> Actual | None:
        """Figures of an operator; None if it has not run."""
        return None if self.ran is None else self.ran.actuals.get(id(operator))

    def shortened(self, line: str) -> str:
        """IRIs abbreviated by the prefixes; the text sent to the store has them in full."""
        names = dict(self.prefixes)
        return _IRI.sub(lambda found: abbreviation(found[1], names) or found[0], line)

    def _on_disk(self, operator: PhysicalOperator) -> Mapping[str, int] | None:
        """What an operator has written to disk; None for nothing."""
        details = {} if self.ran is None else self.ran.details.get(id(operator), {})
        return details if "bytes_on_disk" in details else None

    def more_lines(self, operator: PhysicalOperator, estimates: EstimationContext) -> list[str]:
        """Lines below an operator: details, then the exact text sent to the store."""
        details = None if self.ran is None else self.ran.details
        lines = _choice_lines(operator, estimates, details) if isinstance(operator, TopKRows) else []
        lines += operator.details(estimates).splitlines()
        if self.ran is not None and (reason := self.ran.reasons.get(id(operator))):
            lines.append(f"the store answered: {reason}")
        if (disk := self._on_disk(operator)) is not None:
            lines.append(f"on disk: {disk['bytes_on_disk'] / 1e6:,.1f} MB, partitions: {disk['partitions']:,}")
        lines += [" ".join(text.split()) for text in _queries(operator.asks(estimates))]
        return [self.shortened(line) for line in lines if line]

    def _operator_json(self, operator: PhysicalOperator, estimates: EstimationContext) -> dict[str, Any]:
        node: dict[str, Any] = {
            "name": type(operator).__name__,
            "description": operator.describe(),
            "est_rows": estimates.rows(operator),
        }
        if (us := self.own_times.get(id(operator))) is not None:
            node["est_own_us"] = round(us, 1)
        if isinstance(operator, TopKRows):
            node |= _choice_json(operator, estimates, None if self.ran is None else self.ran.details)
        if details := operator.details(estimates).splitlines():
            node["details"] = details
        if self.ran is not None and (reason := self.ran.reasons.get(id(operator))):
            node["store_answered"] = reason
        if (disk := self._on_disk(operator)) is not None:
            node |= disk
        if sparql := operator.asks(estimates):
            node["sparql"] = sparql
        if (actual := self.actual(operator)) is not None:
            node["rows"] = actual.rows
            node["own_us"] = actual.own_ns / 1e3
        below = operator.below(estimates)
        node["children"] = [self._operator_json(child, below) for child in operator.children]
        return node


@dataclass(frozen=True)
class _Layout:
    """Layout of the operator tree in `left` columns, figures on its right or, `stacked`, below, and further lines in
    `width` columns.
    """

    explanation: Explanation
    left: int
    width: int | None
    times: bool
    stacked: bool = False

    @property
    def _columns(self) -> list[tuple[str, int]]:
        return _columns(self.times, self.explanation.ran is not None)

    def head(self) -> str:
        if self.stacked:
            return f"operator, {', '.join(name for name, _ in self._columns)}"
        return f"{'operator':<{self.left}}" + "".join(f"  {name:>{width}}" for name, width in self._columns)

    def lines(self, operator: PhysicalOperator, estimates: EstimationContext, first: str, rest: str) -> list[str]:
        """Lines of an operator and its subtree."""
        bar = f"{rest}{'│  ' if operator.children else '   '}"
        shown = self.explanation.shortened(operator.describe())
        described, *goes_on = _pieces(shown, self.left - len(first), self.left - len(bar))
        numbers = list(zip(self._numbers(operator, estimates), self._columns, strict=True))
        if self.stacked:
            lines = [first + described, *(f"{bar}{piece}" for piece in goes_on)]
            figures = ", ".join(f"{name} {text}" for text, (name, _) in numbers)
            lines += [f"{bar}{piece}" for piece in _pieces(figures, self.left - len(bar), self.left - len(bar))]
        else:
            line = f"{first + described:<{self.left}}" + "".join(f"  {text:>{width}}" for text, (_, width) in numbers)
            lines = [line, *(f"{bar}{piece}" for piece in goes_on)]
        for line in self.explanation.more_lines(operator, estimates):
            wide = len(line) if self.width is None else self.width - len(bar)
            head, *tail = _pieces(line, wide, wide - 2)
            lines += [f"{bar}{head}", *(f"{bar}  {piece}" for piece in tail)]
        below = operator.below(estimates)
        for i, child in enumerate(operator.children):
            last = i == len(operator.children) - 1
            lines += self.lines(child, below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
        return lines

    def _numbers(self, operator: PhysicalOperator, estimates: EstimationContext) -> list[str]:
        rows, us = estimates.rows(operator), self.explanation.own_times.get(id(operator))
        numbers = ["-" if rows is None else "<1" if 0 < rows < 0.5 else f"{rows:,.0f}"]
        if self.times:
            numbers.append("-" if us is None else f"{us / 1e3:,.2f}")
        if self.explanation.ran is not None:
            actual = self.explanation.actual(operator)
            numbers += ["-", "-"] if actual is None else [f"{actual.rows:,}", f"{actual.own_ns / 1e6:,.2f}"]
        return numbers


def _choice_json(operator: TopKRows, estimates: EstimationContext, details: Details | None) -> dict[str, Any]:
    """Figures of a top-k operator, names with units; with `details`, those of the run next to the estimates."""
    own = {} if details is None else details.get(id(operator), {})
    instead = _instead(operator) if own.get("switched") else None
    last = own if instead is None or details is None else details.get(id(instead), {})
    sets: list[dict[str, Any]] = []
    for candidates in operator.candidates:
        estimate = candidates.estimate(estimates)
        one = {"variable": candidates.variable, "in": candidates.shown, "est_entities": estimate}
        if "candidates" in last:
            one["entities"] = last["candidates"]
        sets.append(one)
    figures: dict[str, Any] = {"candidates": sets}
    if own:
        names = ("looks", "read", "seen", "passed")
        figures["run"] = {
            ("looks" if name == "looks" else f"{name}_entities"): own[name] for name in names if name in own
        }
        if "matching" in last:
            figures["run"]["matching_entities"] = last["matching"]
        if instead is not None:
            figures["run"]["switched_to"] = "filtered_topk" if isinstance(instead, FilteredTopK) else "filter_first"
    return figures


def _choice_lines(operator: TopKRows, estimates: EstimationContext, details: Details | None) -> list[str]:
    """Figures of `_choice_json` as text: a line for each candidate set, and one for the run."""
    facts = _choice_json(operator, estimates, details)
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
    columns = [("est.rows", 10)]
    if times:
        columns.append(("est.ms", 8))
    return [*columns, ("rows", 10), ("ms", 8)] if ran else columns


def _bracketed(rejected: list[str], forced: bool) -> str:
    if forced:
        return "   (forced)"
    return f"   (rejected: {', '.join(rejected)})" if rejected else ""


def _queries(text: str) -> list[str]:
    return re.split(r"\n(?=SELECT )", text) if text else []


def _ms(cost: Cardinality, into: str) -> str:
    """Expected time as text; empty if unknown.

    >>> _ms(Cardinality(0.0, 1310.0, 5000.0), ", est. {}"), _ms(Cardinality(0.0, 83.2, 90.0), "{}")
    (', est. 1.3 ms', '0.083 ms')
    """
    if isinf(cost.estimate):
        return ""
    ms = cost.estimate / 1e3
    return into.format(f"{ms:,.1f} ms" if ms >= 1 else f"{ms:.2g} ms")


def _us(cost: Cardinality) -> dict[str, float | None] | None:
    if isinf(cost.estimate):
        return None
    return {
        "low": round(cost.low, 1),
        "guess": round(cost.estimate, 1),
        "high": None if isinf(cost.high) else cost.high,
    }


def _hanging(line: str, width: int) -> list[str]:
    """A line wrapped to `width`, its continuation lines indented by four columns more.

    >>> _hanging("  Project ?f ?s ?why", 16)
    ['  Project ?f ?s', '      ?why']
    """
    import textwrap

    indent = " " * (len(line) - len(line.lstrip()) + 4)
    wide = max(width, len(indent) + 1)
    return textwrap.wrap(line, wide, subsequent_indent=indent, break_on_hyphens=False) if len(line) > width else [line]


def _pieces(text: str, width: int, next_width: int) -> list[str]:
    """Text wrapped to `width`, continuation lines to `next_width`.

    >>> _pieces("Filter (?a > 1) && (?b > 2) && (?c > 3)", 30, 24)
    ['Filter (?a > 1) && (?b >', '2) && (?c > 3)']
    """
    import textwrap

    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, max(min(width, next_width), MIN_PIECE), break_on_hyphens=False)
