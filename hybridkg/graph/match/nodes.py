"""A pattern with its constants looked up: each kind of node knows its rows and the values of its variables.

`hints` name, for some variables, the only ids that the caller has use for: a node may leave out any solution in
which such a variable has another value, and need not. A hint is given only for variables that the node always binds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.interfaces.graph_index import Ids

Hints = Mapping[str, Ids]


class PatternNode(Protocol):
    """A part of a prepared pattern."""

    @property
    def variables(self) -> tuple[str, ...]:
        """What its solutions may bind, in a fixed order."""

    @property
    def certain(self) -> frozenset[str]:
        """What every solution binds."""

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        """Its solutions, cut down to (at least) the wanted variables; duplicates kept."""

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        """The set of ids that a certain variable has in some solution, among these."""

    def estimate(self, variable: str | None) -> float:
        """About how many solutions, or distinct values of a variable, it has."""


def narrowed(hints: Hints, names: frozenset[str]) -> Hints:
    """The hints for some variables only."""
    return {name: ids for name, ids in hints.items() if name in names}
