"""Patterns that differ in some IRIs alone: prepared once with placeholders, then copied with ids in their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, TypeAlias

from hybridkg.graph.match.combine import RestrictNode, SelectNode, UnionNode
from hybridkg.graph.match.edges import Edge
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.optional import OptionalNode, SortedOutNode
from hybridkg.graph.match.reduce import Member

Filling: TypeAlias = Callable[[Sequence[int]], Any]
"""Puts ids, in the order of the placeholders, into a copy."""

NODES = (JoinNode, UnionNode, OptionalNode, SortedOutNode, RestrictNode, SelectNode, Member)
"""What may have a placeholder below it."""

OWN = ("guesses", "shares")
"""Fields in which a node remembers what depends on its constants."""


class Placeholder(int):
    """Stands for the id of a constant; its value is the number of the constant."""


def filling(part: Any) -> Filling | None:
    """What puts ids into a node, or a part of one; None where it has no placeholders. Only what is above one is copied.

    >>> class Two: pass
    >>> edge = Edge("x", Two(), Placeholder(0))
    >>> filling((edge,))([17])[0].object
    17
    """
    if isinstance(part, Edge):
        return _edge(part)
    if isinstance(part, tuple):
        items = [(at, fill) for at, item in enumerate(part) if (fill := filling(item)) is not None]
        return _items(part, items) if items else None
    if isinstance(part, NODES):
        found = [(one.name, fill) for one in fields(part) if (fill := filling(getattr(part, one.name))) is not None]
        return _node(part, found) if found else None
    return None


def _edge(edge: Edge) -> Filling | None:
    subject, relation, object_, is_type = edge.subject, edge.relation, edge.object, edge.is_type
    if isinstance(subject, Placeholder) and isinstance(object_, Placeholder):
        return lambda ids: Edge(ids[subject], relation, ids[object_], is_type=is_type)
    if isinstance(subject, Placeholder):
        return lambda ids: Edge(ids[subject], relation, object_, is_type=is_type)
    if isinstance(object_, Placeholder):
        return lambda ids: Edge(subject, relation, ids[object_], is_type=is_type)
    return None


def _items(items: tuple[Any, ...], found: Sequence[tuple[int, Filling]]) -> Filling:
    def fill_items(ids: Sequence[int]) -> tuple[Any, ...]:
        copied = [*items]
        for at, fill in found:
            copied[at] = fill(ids)
        return tuple(copied)

    return fill_items


def _node(node: Any, found: Sequence[tuple[str, Filling]]) -> Filling:
    """A copy past the constructor, with what no constant changes: the cached properties."""
    kind, new, put = type(node), object.__new__, object.__setattr__
    for name, value in vars(kind).items():
        if isinstance(value, cached_property):
            getattr(node, name)
    own = tuple(name for name in OWN if name in vars(node))
    same = {name: value for name, value in vars(node).items() if name not in own}

    def fill_node(ids: Sequence[int]) -> Any:
        inside = same.copy()
        for name, fill in found:
            inside[name] = fill(ids)
        for name in own:
            inside[name] = {}
        copied = new(kind)
        put(copied, "__dict__", inside)
        return copied

    return fill_node
