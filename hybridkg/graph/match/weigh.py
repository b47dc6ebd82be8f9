"""Message passing over a tree of triple patterns: how many solutions of the tree each value of its root has.

The algorithm is that of Yannakakis (VLDB 1981) with counts in place of sets: the weight of a value is the product, over
its triple patterns, of the sum of the weights of its neighbours. Like reduce.py, a subtree is solved alone, or
restricted to the neighbours of the current values first, whichever reads fewer entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.graph.match.edges import Conditions, Edge
from hybridkg.graph.match.ids import Counts, both, without
from hybridkg.graph.match.nodes import Hints
from hybridkg.graph.match.reduce import PROBE_COST, Member, listed, meet
from hybridkg.graph.match.relations import Relation, chunks
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.weights import IdWeights, summed
from hybridkg.interfaces.graph_index import Ids

WeightsOf = Callable[[Ids | None], IdWeights]
"""The weights of a variable by another node, restricted to a set of ids; None for all."""

FactorOf = Callable[[Ids], Counts]
"""int64[n]: a factor, at least 1, for each id of a set."""


def scattered(relation: Relation, weights: IdWeights, forward: bool, run: PatternRun) -> IdWeights:
    """For each id that the weighted ids are linked with, the sum of their weights; the inverse of `Relation.tally`."""
    parts = []
    for first, part in chunks(relation, weights.ids, forward):
        index, targets = relation.expand(part, forward, run)
        counts = None if weights.counts is None else weights.counts[first : first + len(part)][index]
        parts.append(summed(targets, counts, weights.bound))
    if len(parts) == 1:
        return parts[0]
    bound = max(part.bound for part in parts)
    return summed(np.concatenate([part.ids for part in parts]), np.concatenate([part.listed for part in parts]), bound)


@dataclass(frozen=True, eq=False)
class Weigher:
    """The weights of the variables of one join.

    Args:
        children: for each variable, the edges to the variables below it.
        constants: for each variable, the edges between it and constants.
        loops: for each variable, the edges from it to itself.
        conditions, members, hints: restrictions of single variables.
        nodes: for each variable, the weights that other nodes give it; it is the only variable that they share.
        factors: for each variable, the numbers of solutions of OPTIONALs.
    """

    children: Mapping[str, Sequence[Edge]]
    constants: Mapping[str, Sequence[Edge]]
    loops: Mapping[str, Sequence[Edge]]
    conditions: Conditions
    members: Mapping[str, Sequence[Member]]
    hints: Hints
    nodes: Mapping[str, Sequence[WeightsOf]]
    factors: Mapping[str, Sequence[FactorOf]]
    run: PatternRun

    def weights(self, variable: str, among: Ids | None, via: Edge | None = None) -> IdWeights:
        """The weights by the whole subtree of a variable, restricted to `among`; `via` is the edge to its parent.

        Raises:
            QueryLimitError: a weight exceeds MAX_COUNT.
        """
        run = self.run
        if variable in self.hints:
            among = meet(among, self.hints[variable], run)
        among = listed(self.constants.get(variable, ()), variable, among, run)
        condition = self.conditions.get(variable)
        if among is None and (condition is not None or variable not in self.children) and variable not in self.nodes:
            among = self._any(variable, via)
        if condition is not None and among is not None:
            among, condition = condition.of_set(among, run), None
        found = self.below(variable, among)
        if condition is not None:
            found = found.only(condition.of_set(found.ids, run))
        for edge in self.loops.get(variable, ()):
            found = found.only(found.ids[edge.relation.links(found.ids, found.ids, run)])
        for member in self.members.get(variable, ()):
            if len(found.ids):
                values = member.node.values(variable, found.ids, run)
                found = found.only(without(found.ids, values) if member.negated else both(found.ids, values))
        return found

    def has_below(self, variable: str) -> bool:
        return variable in self.children or variable in self.nodes or variable in self.factors

    def below(self, variable: str, among: Ids | None) -> IdWeights:
        """The weights by what is below a variable alone: children, other nodes and OPTIONALs.

        Args:
            variable: with something below it.
            among: restricts it; not None where only OPTIONALs are below.
        """
        found = None if among is None else IdWeights(among)
        for node in self.nodes.get(variable, ()):
            weights = node(among)
            weights = weights if among is None else weights.only(among)
            found = weights if found is None else found * weights
            among = found.ids
        children = self.children.get(variable, ())
        if len(children) > 1:
            children = sorted(children, key=lambda edge: self._work(edge, variable))
        degrees: dict[tuple[int, bool], IdWeights] = {}  # of all ids, by relation: several edges may have the same
        for edge in children:
            if among is not None and len(among) == 0:
                return IdWeights(among)
            key, is_leaf = (id(edge.relation), edge.from_subject(variable)), self._is_leaf(edge, variable)
            if is_leaf and key in degrees:
                message = degrees[key]
            else:
                message = self._message(edge, variable, among)
                if is_leaf and among is None:
                    degrees[key] = message
            found = message if found is None else found * message
            among = found.ids
        assert found is not None
        for factor in self.factors.get(variable, ()):
            counts = factor(found.ids)
            found = found * IdWeights(found.ids, counts, int(counts.max(initial=1)))
        return found

    def is_selective(self, variable: str) -> bool:
        """Whether anything below a variable restricts it more than that it has neighbours."""
        if variable in self.nodes:
            return True
        for edge in self.children.get(variable, ()):
            child = edge.other(variable)
            assert isinstance(child, str)
            if self.is_restricted(child) or self.is_selective(child):
                return True
        return False

    def is_restricted(self, variable: str) -> bool:
        """Whether a variable has a restriction, apart from edges to other variables."""
        parts = (self.constants, self.loops, self.conditions, self.members, self.hints, self.nodes)
        return any(variable in part for part in parts)

    def _is_leaf(self, edge: Edge, variable: str) -> bool:
        child = edge.other(variable)
        return isinstance(child, str) and self.is_free(child)

    def is_free(self, variable: str) -> bool:
        """Whether a variable has no restriction, nothing below it, and so the weight 1 for every id."""
        return not self.is_restricted(variable) and variable not in self.children and variable not in self.factors

    def _any(self, variable: str, via: Edge | None) -> Ids:
        """A superset of the values of a variable, by its smallest edge."""
        edges = [*self.children.get(variable, ()), *self.loops.get(variable, ())]
        edges += [via] if via is not None else []
        edge = min(edges, key=lambda edge: edge.sources[edge.from_subject(variable)])
        return edge.relation.ends(edge.from_subject(variable), self.run)

    def _work(self, edge: Edge, variable: str) -> float:
        """The estimated entries that the message along an edge reads."""
        child = edge.other(variable)
        assert isinstance(child, str)
        forward = edge.from_subject(variable)
        if self.is_free(child):
            return edge.sources[forward]
        return min(edge.pairs[True], self._values(child) * edge.pairs[True] / max(1.0, edge.sources[not forward]))

    def _values(self, variable: str) -> float:
        """The estimated values that constants, hints and tests leave to a variable."""
        sizes = [edge.least() for edge in self.constants.get(variable, ())]
        if variable in self.hints:
            sizes.append(float(len(self.hints[variable])))
        if variable in self.conditions:
            sizes.append(float(self.conditions[variable].span.size))
        return min(sizes, default=float("inf"))

    def _message(self, edge: Edge, variable: str, among: Ids | None) -> IdWeights:
        """For each value of a variable, the sum of the weights of its neighbours along an edge."""
        relation, forward, run = edge.relation, edge.from_subject(variable), self.run
        child = edge.other(variable)
        assert isinstance(child, str)
        if self.is_free(child):
            return relation.tally(among, forward, None, run)
        reached = None
        down = edge.pairs[forward] if among is None else relation.near(among, forward)
        if among is not None and down * PROBE_COST < min(edge.sources[not forward], self._values(child)):
            reached = relation.reach(among, forward, run)
        weights = self.weights(child, reached, edge)
        if relation.near(weights.ids, not forward) * PROBE_COST < down:
            found = scattered(relation, weights, not forward, run)
            return found if among is None else found.only(among)
        return relation.tally(among, forward, weights, run)
