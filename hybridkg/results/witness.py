"""Witness of a property path: one shortest chain of triples between two nodes.

The path becomes an automaton without empty moves (Glushkov, "The abstract theory of automata", 1961), with a position
for each link of its text. A bidirectional breadth-first search over (position, node) expands the smaller frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from hybridkg.query import ast
from hybridkg.rdf.terms import Term, Triple

MAX_STATES = 20_000
"""Bound of the visited (position, node) pairs, some tens of milliseconds; beyond it, no chain is found."""

BEGIN = -1
"""The position before the first link."""

State = tuple[int, Term]


@dataclass(frozen=True)
class PathStep:
    """One step of a path.

    Args:
        predicate: its IRI; empty for every predicate that is not `excluded`.
        excluded: IRIs.
        inverse: whether it goes from object to subject.
    """

    predicate: str
    excluded: frozenset[str] = frozenset()
    inverse: bool = False


Ask = Callable[[PathStep, list[Term], bool], Iterable[tuple[Term, Triple]]]
"""(node, triple) of the steps along a link that begin, or with True end, at one of the nodes."""


@dataclass
class Automaton:
    """The Glushkov automaton of a path: its links, which links follow each, and the last ones.

    >>> path = ast.PathSequence((ast.Iri("e:p"), ast.PathRepeat(ast.PathInverse(ast.Iri("e:q")), "*")))
    >>> made = Automaton.of(path)
    >>> [(link.predicate, link.inverse) for link in made.links], sorted(made.last), made.follow
    ([('e:p', False), ('e:q', True)], [0, 1], {-1: {0}, 0: {1}, 1: {1}})
    """

    links: list[PathStep] = field(default_factory=list)
    follow: dict[int, set[int]] = field(default_factory=lambda: {BEGIN: set()})
    last: set[int] = field(default_factory=set)
    empty: bool = False
    """Whether the path links each node with itself."""

    @classmethod
    def of(cls, path: ast.Path) -> Automaton:
        """The automaton of a path."""
        automaton = cls()
        automaton.empty, automaton.follow[BEGIN], automaton.last = automaton._part(path, False)
        return automaton

    def _part(self, path: ast.Path, inverse: bool) -> tuple[bool, set[int], set[int]]:
        """(whether a part can be empty, its first positions, its last positions)."""
        match path:
            case ast.PathInverse(inner):
                return self._part(inner, not inverse)
            case ast.PathSequence(parts):
                return self._sequence(parts[::-1] if inverse else parts, inverse)
            case ast.PathAlternative(parts):
                return _either([self._part(part, inverse) for part in parts])
            case ast.PathRepeat(inner, mark):
                empty, first, last = self._part(inner, inverse)
                if mark != "?":
                    for position in last:
                        self.follow[position] |= first
                return empty or mark != "+", first, last
            case ast.PathNegated(parts):
                forward = frozenset(part.value for part in parts if isinstance(part, ast.Iri))
                backward = frozenset(
                    part.path.value
                    for part in parts
                    if isinstance(part, ast.PathInverse) and isinstance(part.path, ast.Iri)
                )
                links = [PathStep("", forward, inverse)] if forward or not backward else []
                links += [PathStep("", backward, not inverse)] if backward else []
                return _either([self._link(link) for link in links])
            case ast.Iri(value):
                return self._link(PathStep(value, inverse=inverse))
        raise TypeError(f"no path: {path!r}")

    def _link(self, link: PathStep) -> tuple[bool, set[int], set[int]]:
        position = len(self.links)
        self.links.append(link)
        self.follow[position] = set()
        return False, {position}, {position}

    def _sequence(self, parts: tuple[ast.Path, ...], inverse: bool) -> tuple[bool, set[int], set[int]]:
        empty, first, last = True, set[int](), set[int]()
        for part in parts:
            own_empty, own_first, own_last = self._part(part, inverse)
            for position in last:
                self.follow[position] |= own_first
            first |= own_first if empty else set()
            last = own_last | (last if own_empty else set())
            empty = empty and own_empty
        return empty, first, last


def _either(parts: list[tuple[bool, set[int], set[int]]]) -> tuple[bool, set[int], set[int]]:
    empties, firsts, lasts = zip(*parts, strict=True)
    return any(empties), set().union(*firsts), set().union(*lasts)


def witness(path: ast.Path, begin: Term, end: Term, ask: Ask) -> list[Triple] | None:
    """A shortest chain of triples by which a path links two nodes; `ask` returns the steps along a link.

    Returns:
        The triples in the order of the chain, none where the path may be empty and both ends are the same; None where
        there is no chain, or it was not found within MAX_STATES.
    """
    automaton = Automaton.of(path)
    if automaton.empty and begin == end:
        return []
    before: dict[int, set[int]] = {position: set() for position in automaton.follow}
    for position, behind in automaton.follow.items():
        for other in behind:
            before[other].add(position)
    ahead, back = _Search({(BEGIN, begin): None}), _Search({(p, end): None for p in sorted(automaton.last)})
    while ahead.frontier and back.frontier and len(ahead.seen) + len(back.seen) <= MAX_STATES:
        if len(ahead.frontier) <= len(back.frontier):
            met = ahead.step(_forward(automaton, ahead.frontier, ask), back)
        else:
            met = back.step(_backward(automaton, before, back.frontier, ask), ahead)
        if met is not None:
            return [*ahead.chain(met)[::-1], *back.chain(met)]
    return None


@dataclass
class _Search:
    seen: dict[State, tuple[State, Triple] | None]
    frontier: list[State] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.frontier = list(self.seen)

    def step(self, found: Iterator[tuple[State, State, Triple]], other: _Search) -> State | None:
        """Expands one level; returns the new state with the shortest chain that the other search has seen, if any."""
        fresh: list[State] = []
        met: list[State] = []
        for old, new, triple in found:
            if new not in self.seen:
                self.seen[new] = old, triple
                fresh.append(new)
                if new in other.seen:
                    met.append(new)
            if len(self.seen) + len(other.seen) > MAX_STATES:
                break
        self.frontier = fresh
        return min(met, key=lambda state: len(other.chain(state)), default=None)

    def chain(self, state: State) -> list[Triple]:
        """The triples from a state back to the start of the search."""
        triples = []
        while (step := self.seen[state]) is not None:
            state, triple = step
            triples.append(triple)
        return triples


def _forward(automaton: Automaton, frontier: list[State], ask: Ask) -> Iterator[tuple[State, State, Triple]]:
    requests: dict[int, dict[Term, State]] = {}
    for state in frontier:
        for position in sorted(automaton.follow[state[0]]):
            requests.setdefault(position, {}).setdefault(state[1], state)
    for position, states in requests.items():
        link = automaton.links[position]
        for node, triple in ask(link, list(states), False):
            yield states[node], (position, triple.subject if link.inverse else triple.object), triple


def _backward(
    automaton: Automaton, before: dict[int, set[int]], frontier: list[State], ask: Ask
) -> Iterator[tuple[State, State, Triple]]:
    requests: dict[int, list[Term]] = {}
    for position, node in frontier:
        if position != BEGIN:
            requests.setdefault(position, []).append(node)
    for position, nodes in requests.items():
        link = automaton.links[position]
        for node, triple in ask(link, nodes, True):
            start = triple.object if link.inverse else triple.subject
            for other in sorted(before[position]):
                yield (position, node), (other, start), triple
