"""Copies of a tree with other values in some places.

What it takes to make one is found out once, as a list of steps: only the parts above those places are made anew. One
loop takes the steps of every tree, so that what a processor needs for it is at hand from the tree before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Fill: TypeAlias = Callable[[Sequence[Any]], Any]
"""Puts values into one tree."""


class Step(NamedTuple):
    """Makes one part of a copy.

    Args:
        kind: its class; None where `same` is a function that makes it from the values.
        same: what stays of its fields (a dict) or items (a list).
        found: names of its other fields, or numbers of its other items, and the place of each.
        of: the place of a part that gives the fields which are in neither; -1 for none.
    """

    kind: type | None
    same: Any
    found: Sequence[tuple[Any, int]] = ()
    of: int | None = None


class Copying:
    """Finds the steps: the parts of a tree above the values, each once, in an order in which they can be made.

    Args:
        slots: parts that are values themselves, by identity: the place of each among the values.
    """

    def __init__(self, slots: Mapping[int, int] = {}):
        self._steps: list[Step] = []
        self._slots, self._places = slots, dict[int, int | None]()
        self._n_values = 1 + max(slots.values(), default=-1)

    def step(self, tree: Any) -> Step | None:
        """What makes a part, its own parts first; None for one that stays as it is."""
        raise NotImplementedError

    def place(self, tree: Any) -> int | None:
        """The number of the step that makes a part, or ~ the number of the value that it is; None where it stays."""
        if (slot := self._slots.get(id(tree))) is not None:
            return ~slot
        if id(tree) not in self._places:
            step = self.step(tree)
            self._places[id(tree)] = None if step is None else self.add(step)
        return self._places[id(tree)]

    def value(self, number: int) -> int:
        """The place of a value."""
        self._n_values = max(self._n_values, number + 1)
        return ~number

    def add(self, step: Step) -> int:
        """The place of what a step makes."""
        self._steps.append(step)
        return len(self._steps) - 1

    def items(self, tree: tuple[Any, ...]) -> Step | None:
        """The step of a tuple."""
        found = [(at, place) for at, item in enumerate(tree) if (place := self.place(item)) is not None]
        return Step(tuple, [*tree], found) if found else None

    def filling(self, tree: Any) -> Fill | None:
        """What makes a copy of a tree from values; None where nothing in it changes.

        What the tree holds in several places is one object in the copy, too.
        """
        root = self.place(tree)
        if root is None:
            return None
        n, new, put = self._n_values, object.__new__, object.__setattr__

        def settled(place: int) -> int:
            return n + place if place >= 0 else ~place  # first come the values, then what the steps make

        last = settled(root)
        steps = tuple(
            (kind, same, tuple([(name, settled(place)) for name, place in found]), None if of is None else settled(of))
            for kind, same, found, of in self._steps
        )

        def fill(values: Sequence[Any]) -> Any:
            made = [*values[:n]]
            for kind, same, found, of in steps:
                if kind is None:
                    made.append(same(values))
                    continue
                inside = same.copy() if of is None else {**made[of].__dict__, **same}
                for name, place in found:
                    inside[name] = made[place]
                if kind is tuple:
                    made.append(tuple(inside))
                elif kind is dict:
                    made.append(inside)
                else:  # past the constructor: that of a frozen dataclass takes 0.3 us for each field
                    copied: Any = new(kind)
                    put(copied, "__dict__", inside)
                    made.append(copied)
            return made[last]

        return fill


class _Changing(Copying):
    """Gives some fields of a dataclass other values."""

    def __init__(self, names: Sequence[str]):
        super().__init__()
        self._names = names

    def step(self, tree: Any) -> Step:
        """As Copying has it."""
        return Step(type(tree), vars(tree), [(name, self.value(at)) for at, name in enumerate(self._names)])


def changing(tree: Any, *names: str) -> Fill:
    """What puts values into some fields of a dataclass, in the order of these names.

    >>> from hybridkg.interfaces.text_index import TextQuery
    >>> changing(TextQuery("a", "en", all_terms=True), "text", "language")(["b", "de"]).language
    'de'
    """
    fill = _Changing(names).filling(tree)
    assert fill is not None
    return fill
