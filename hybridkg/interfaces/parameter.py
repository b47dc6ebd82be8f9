"""Parameters: nodes that stand for values, in a tree that is made once for all values.

A tree is a syntax tree, or anything made of dataclasses and tuples around one, such as a logical plan or operators. A
parameter has the class of what it stands for, and no value: code that would decide something by the value raises
UnboundParameterError, and then the tree has to be made for each set of values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple

from hybridkg.errors import Span


class UnboundParameterError(Exception):
    """The value of a parameter decides what a tree looks like.

    Args:
        message: why.
        number: that of the parameter; None if it is not known.
    """

    def __init__(self, message: str, number: int | None = None):
        super().__init__(message)
        self.number = number


class Parameter:
    """A node that stands for a value."""

    many: bool = False
    """Whether it stands for any number of values; it is the one cell of the one row of a VALUES block then."""

    def value_in(self, bindings: Any) -> Any:
        """The value in its place.

        Args:
            bindings: has `values`, in the order of the parameters.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Bindings:
    """Values, in the order of the parameters."""

    values: Sequence[Any]


class Unbound:
    """A field of a parameter that only its value has.

    >>> class Word:
    ...     text = Unbound()
    >>> Word().text
    Traceback (most recent call last):
        ...
    hybridkg.interfaces.parameter.UnboundParameterError: the value of a parameter decides
    """

    def __get__(self, node: object, kind: type | None = None) -> Unbound:
        if node is None:
            return self
        raise UnboundParameterError("the value of a parameter decides", getattr(node, "number", None))


_set_attribute = object.__setattr__

_PLAIN = frozenset((str, int, float, bool, type(None), Span))
"""Classes of values without parts."""

_NO_FIELDS: tuple[tuple[str, ...], tuple[str, ...]] = ((), ("",))
_FIELDS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}
"""Names of the fields of a dataclass that its constructor takes in order, and of those that it takes by name."""


def _fields_of(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = _NO_FIELDS
    if is_dataclass(kind):
        given = [one for one in fields(kind) if one.init]
        names = (
            tuple(one.name for one in given if not one.kw_only),
            tuple(one.name for one in given if one.kw_only),
        )
    _FIELDS[kind] = names
    return names


@cache
def _only_assigns(kind: type) -> bool:
    """Whether the constructor of a dataclass does nothing but set its fields, in the dictionary of the object.

    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    >>> @dataclass
    ... class Doubled:
    ...     x: int
    ...     def __init__(self, x):
    ...         self.x = 2 * x
    >>> _only_assigns(Point), _only_assigns(Doubled), _only_assigns(dict)
    (True, False, False)
    """
    return (
        is_dataclass(kind)
        and "__dataclass_params__" in vars(kind)
        and getattr(kind.__init__, "__code__", None) is not None
        and kind.__init__.__code__.co_filename == "<string>"  # made by dataclasses, which keeps one that a class has
        and kind.__new__ is object.__new__
        and not hasattr(kind, "__post_init__")
        and not any(vars(base).get("__slots__") for base in kind.__mro__)  # those of ABC are empty
        and all(one.init or one.default_factory is not MISSING for one in fields(kind))
    )


@cache
def _first_values(kind: type) -> list[tuple[str, Callable[[], Any]]]:
    """The fields of a dataclass that its constructor does not take, with what makes their first values."""
    no_init = [one for one in fields(kind) if not one.init]
    return [(one.name, one.default_factory) for one in no_init if one.default_factory is not MISSING]


class _Step(NamedTuple):
    """Makes one part of a tree from its fields.

    Args:
        number: that of the part.
        make: makes it from its fields.
        same: its fields in their order, or by name where `named` is None; those with parameters are open.
        named: fields that are given by name; None for a class whose fields are set without its constructor, which takes
            five times as long.
        found: the places or names of the open ones, with the number of the part that belongs there.
        fresh: the names of fields that no constructor takes, and what makes their first values.
    """

    number: int
    make: Callable[..., Any]
    same: Any
    named: Mapping[str, Any] | None
    found: Sequence[tuple[Any, int]]
    fresh: Sequence[tuple[str, Callable[[], Any]]] = ()


class Substitution:
    """A tree with values in place of its parameters, which are looked for once.

    Only the parts above parameters are made for each set of values, by their constructors. What the tree holds in
    several places is one object in what is made, too.

    Args:
        tree: with parameters or without.
        closed: classes of parts that have no parameters, whatever functions they hold.
        held: classes of parts that the bindings have with values in place, if there are parameters in them.

    Raises:
        UnboundParameterError: the tree has a part that may hide a parameter: a function, or a container other than a
            tuple.
    """

    def __init__(self, tree: Any, closed: tuple[type, ...] = (), held: tuple[type, ...] = ()):
        self.tree, self._closed, self._held = tree, closed, held
        self._steps: list[_Step] = []
        self.parameters: list[Parameter] = []
        """Those of the tree."""
        places: dict[int, int | None] = {}
        self._place(tree, places)
        # The values come first among the parts, then what the steps make, in their order.
        n = len(self.parameters)
        self._values = [parameter.value_in for parameter in self.parameters]
        self._steps = [
            step._replace(
                number=number, found=tuple((at, place if place >= 0 else n + ~place) for at, place in step.found)
            )
            for number, step in enumerate(self._steps, n)
        ]

    def __call__(self, bindings: Any) -> Any:
        """The tree with values in place.

        Args:
            bindings: what the parameters take their values from: has `values`, and `bound` where parts are held.
        """
        if not self._values:
            return self.tree
        made: list[Any] = [value_in(bindings) for value_in in self._values]
        made += self._steps  # each is replaced by what it makes
        for number, make, same, named, found, fresh in self._steps:
            if named is None:
                fields_of_new: dict[str, Any] = {**same}
                for name, place in found:
                    fields_of_new[name] = made[place]
                for name, first_value in fresh:
                    fields_of_new[name] = first_value()
                new = made[number] = object.__new__(make)  # type: ignore[arg-type]
                _set_attribute(new, "__dict__", fields_of_new)  # frozen classes refuse the plain assignment
            else:
                parts: list[Any] = [*same]
                for at, place in found:
                    parts[at] = made[place]
                made[number] = tuple(parts) if make is _tuple else make(*parts, **named)
        return made[-1]

    def _place(self, tree: Any, places: dict[int, int | None]) -> int | None:
        """The number of a part: that of its value, or ~number of the step that makes it, after those of its own parts;
        None for one that stays.
        """
        if type(tree) in _PLAIN:
            return None
        key = id(tree)
        if key not in places:
            if isinstance(tree, self._held) and Substitution(tree).parameters:
                tree = _HeldPart(tree)
            if isinstance(tree, Parameter):
                places[key] = len(self.parameters)
                self.parameters.append(tree)
                return places[key]
            step = self._step(tree, places)
            places[key] = None if step is None else ~len(self._steps)
            self._steps += [] if step is None else [step]
        return places[key]

    def _step(self, tree: Any, places: dict[int, int | None]) -> _Step | None:
        if isinstance(tree, tuple):
            if len(tree) == 1:
                match tree:
                    case ((Parameter(many=True) as cells,),):
                        return self._made(_one_column, [cells], {}, places)
            return self._made(_tuple, tree, {}, places)
        if isinstance(tree, self._closed):
            return None
        kind = type(tree)
        names = _FIELDS.get(kind) or _fields_of(kind)
        if names is _NO_FIELDS:
            if callable(tree) or isinstance(tree, dict | list | set):
                raise UnboundParameterError(f"a {kind.__name__} may have a parameter in it")
            return None
        if callable(tree):
            raise UnboundParameterError(f"a {kind.__name__} may have a parameter in it")
        parts = [getattr(tree, name) for name in names[0]]
        named = {name: getattr(tree, name) for name in names[1]}
        for part in named.values():
            if self._place(part, places) is not None:
                raise UnboundParameterError("a field that is given by name has a parameter in it")
        return self._made(kind, parts, named, places)

    def _made(
        self, make: Callable[..., Any], parts: Sequence[Any], named: Mapping[str, Any], places: dict[int, int | None]
    ) -> _Step | None:
        found = [
            (at, place)
            for at, part in enumerate(parts)
            if type(part) not in _PLAIN and (place := self._place(part, places)) is not None
        ]
        if not found:
            return None
        if isinstance(make, type) and _only_assigns(make):
            names, by_name = _FIELDS[make]
            fields_of_tree = dict(zip(names, parts, strict=True)) | {name: named[name] for name in by_name}
            open_fields = [(names[at], place) for at, place in found]
            return _Step(0, make, fields_of_tree, None, open_fields, _first_values(make))
        return _Step(0, make, [*parts], named, found)


class _HeldPart(Parameter):
    """A part that the bindings have with values in place."""

    def __init__(self, part: Any):
        self._part = part

    def value_in(self, bindings: Any) -> Any:
        return bindings.bound(self._part)


def bound(tree: Any, bindings: Any) -> Any:
    """A tree with values in place of its parameters, for once."""
    return Substitution(tree)(bindings)


def _tuple(*items: Any) -> tuple[Any, ...]:
    return items


def _one_column(cells: tuple[Any, ...]) -> tuple[tuple[Any], ...]:
    return tuple((cell,) for cell in cells)
