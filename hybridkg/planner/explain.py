"""EXPLAIN: the plan as text and as JSON, estimates beside actuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import Any

from hybridkg.algebra.render import render
from hybridkg.interfaces.graph_index import Size
from hybridkg.interfaces.text_index import TextIndex
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import Actual
from hybridkg.planner.choose import PhysicalPlan

OPERATOR_WIDTH = 64
"""Columns for the operator tree before the numbers; a longer line goes on below."""

LEAST_PIECE = 24
"""Columns for a piece of a line that goes on below, however deep in the tree it stands."""


@dataclass(frozen=True)
class Explanation:
    """A plan that can be printed; with `actuals`, what happened when it ran."""

    plan: PhysicalPlan
    text: TextIndex | None
    actuals: Mapping[int, Actual] | None = None
    prefixes: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        rejected = ", ".join(f"{other.strategy}{_ms(other.cost, ' {}')}" for other in self.plan.rejected)
        lines = [
            f"strategy: {self.plan.strategy}{_ms(self.plan.cost, ', est. {}')}"
            + (f"   (rejected: {rejected})" if rejected else ""),
            "",
            "logical plan",
            *(f"  {line}" for line in render(self.plan.logical, self.prefixes).splitlines()),
            "",
            self._head(),
            *self._operators(self.plan.root, "", ""),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same for notebooks; query texts in it are escaped."""
        from html import escape

        return f'<pre style="line-height: 1.25">{escape(str(self))}</pre>'

    def _head(self) -> str:
        head = f"{'operator':<{OPERATOR_WIDTH}}  {'est.rows':>10}"
        return head + (f"  {'rows':>10}  {'ms':>9}" if self.actuals is not None else "")

    def _operators(self, operator: PhysicalOperator, first: str, rest: str) -> list[str]:
        estimate = operator.estimate(self.text)
        bar = f"{rest}{'│  ' if operator.children else '   '}"
        described, *more_lines = _pieces(self._shortened(operator.describe()), OPERATOR_WIDTH - len(first), len(bar))
        line = f"{first}{described}"
        line = f"{line:<{OPERATOR_WIDTH}}  {'-' if estimate is None else f'{estimate:,.0f}':>10}"
        if self.actuals is not None:
            actual = self.actuals.get(id(operator))
            numbers = ("-", "-") if actual is None else (f"{actual.rows:,}", f"{actual.own_ns / 1e6:,.2f}")
            line += f"  {numbers[0]:>10}  {numbers[1]:>9}"
        lines = [line, *(f"{bar}{piece}" for piece in more_lines)]
        sparql = " ".join(operator.sparql.split())
        lines += [f"{bar}{self._shortened(more)}" for more in (operator.details(self.text), sparql) if more]
        for i, child in enumerate(operator.children):
            last = i == len(operator.children) - 1
            lines += self._operators(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
        return lines

    def _shortened(self, line: str) -> str:
        """IRIs by the query's own prefixes; the text sent to the store has them in full."""
        for prefix, iri in sorted(self.prefixes, key=lambda pair: -len(pair[1])):
            if iri:
                line = _with_prefix(line, prefix, iri)
        return line

    def to_json(self) -> dict[str, Any]:
        """The same as data; units are in the names."""
        return {
            "strategy": self.plan.strategy,
            "est_us": _us(self.plan.cost),
            "rejected": [{"strategy": other.strategy, "est_us": _us(other.cost)} for other in self.plan.rejected],
            "logical": render(self.plan.logical, self.prefixes).splitlines(),
            "operator": self._operator_json(self.plan.root),
        }

    def _operator_json(self, operator: PhysicalOperator) -> dict[str, Any]:
        node: dict[str, Any] = {
            "name": type(operator).__name__,
            "description": operator.describe(),
            "est_rows": operator.estimate(self.text),
        }
        if details := operator.details(self.text):
            node["details"] = details
        if operator.sparql:
            node["sparql"] = operator.sparql
        if self.actuals is not None and (actual := self.actuals.get(id(operator))) is not None:
            node["rows"] = actual.rows
            node["own_us"] = actual.own_ns / 1e3
        node["children"] = [self._operator_json(child) for child in operator.children]
        return node


def _ms(cost: Size | None, into: str) -> str:
    """An expected time in words; empty where nobody knows.

    >>> _ms(Size(0.0, 1310.0, 5000.0), ", est. {}")
    ', est. 1.3 ms'
    """
    return "" if cost is None or isinf(cost.guess) else into.format(f"{cost.guess / 1e3:,.1f} ms")


def _us(cost: Size | None) -> dict[str, float | None] | None:
    """An expected time as data: best guess, and between which bounds it is."""
    if cost is None or isinf(cost.guess):
        return None
    return {"low": round(cost.low, 1), "guess": round(cost.guess, 1), "high": None if isinf(cost.high) else cost.high}


def _pieces(text: str, width: int, indent: int) -> list[str]:
    """The text in one line where it fits into `width`, else in several that leave room for the indent of the others.

    >>> _pieces("Filter (?a > 1) && (?b > 2) && (?c > 3)", 30, 6)
    ['Filter (?a > 1) && (?b > 2) &&', '(?c > 3)']
    """
    import textwrap

    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, max(min(width, OPERATOR_WIDTH - indent), LEAST_PIECE), break_on_hyphens=False)


def _with_prefix(line: str, prefix: str, iri: str) -> str:
    import re

    return re.sub(rf"<{re.escape(iri)}([A-Za-z][\w-]*)>", lambda m: f"{prefix}:{m.group(1)}", line)
