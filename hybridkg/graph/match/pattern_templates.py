"""Patterns that differ in some IRIs alone: prepared once with placeholders, then copied with ids in their places."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

from hybridkg.copies import Copying, Step
from hybridkg.graph.match.combine import RestrictNode, SelectNode, UnionNode
from hybridkg.graph.match.edges import Edge
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.optional import OptionalNode, SortedOutNode
from hybridkg.graph.match.reduce import Member

NODES = (JoinNode, UnionNode, OptionalNode, SortedOutNode, RestrictNode, SelectNode, Member)
"""What may have a placeholder below it."""

OWN = ("guesses", "shares")
"""Fields in which a node remembers what depends on its constants."""


class Forming(Copying):
    """Puts ids, in the order of the placeholders, into a copy of a node. Only what is above a placeholder is copied."""

    def step(self, tree: Any) -> Step | None:
        """As Copying has it."""
        if isinstance(tree, Edge):
            return Step(None, tree.filled) if tree.has_placeholders else None
        if isinstance(tree, tuple):
            return self.items(tree)
        if not isinstance(tree, NODES):
            return None
        found = [
            (one.name, place) for one in fields(tree) if (place := self.place(getattr(tree, one.name))) is not None
        ]
        if not found:
            return None
        for name, value in vars(type(tree)).items():
            if isinstance(value, cached_property):
                getattr(tree, name)  # no constant changes them
        known = vars(tree)
        found += [(name, self.add(Step(dict, {}))) for name in OWN if name in known]
        return Step(type(tree), {name: value for name, value in known.items() if name not in OWN}, found)
