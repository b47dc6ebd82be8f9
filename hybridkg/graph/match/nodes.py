"""Pattern nodes: compiled patterns with constants as ids; each node evaluates its rows and the values of its variables.

`hints` map a variable to the ids that the caller needs: a node may omit solutions with another value, but need not.
Only variables that the node always binds have hints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.interfaces.graph_index import Ids

Hints = Mapping[str, Ids]


class PatternNode(Protocol):
    """A compiled part of a pattern."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables that solutions may bind, in a fixed order."""

    @property
    def certain(self) -> frozenset[str]:
        """Variables that every solution binds."""

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """The solutions, projected to at least the wanted variables; duplicates stay."""

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """The distinct ids of a certain variable over all solutions, restricted to `among`."""

    def estimate(self, variable: str | None) -> float:
        """The estimated number of solutions, or of distinct values of a variable."""

    def domain(self, variable: str) -> float:
        """The estimated distinct values of one of `variables` before constants and tests restrict the solutions."""

    def unbound_share(self, variable: str) -> float:
        """The estimated share of the solutions that leave one of `variables` unbound; 0 for a certain one."""


def narrowed(hints: Hints, names: frozenset[str]) -> Hints:
    return {name: ids for name, ids in hints.items() if name in names}
