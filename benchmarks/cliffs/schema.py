"""What the random queries know of a graph: edges between kinds of nodes, constants, and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from benchmarks.hybrid.graph import FIRST_YEAR, YEARS, Graph
from benchmarks.hybrid.sparql import PREFIX
from benchmarks.relational.matches import Matches

NUMBER, TEXT = "number", "text"
"""Kinds of literals."""


@dataclass(frozen=True)
class Edge:
    """A predicate between two kinds.

    Args:
        subject: kind.
        predicate: as it is written.
        target: kind of the object.
        both_ways: whether a query also goes from object to subject, which hubs such as venues forbid: all pairs of
            papers of a venue are no question.
    """

    subject: str
    predicate: str
    target: str
    both_ways: bool = False


@dataclass(frozen=True)
class Schema:
    """A graph as the generator sees it.

    Args:
        prefix: of every query.
        ranked: the kind that has text.
        edges: all of them.
        constants: by kind, a maker of constants.
        words: texts that nearly all entities match, a quarter of them, few, and hardly any.
        letters: a few that many strings have.
    """

    prefix: str
    ranked: str
    edges: tuple[Edge, ...]
    constants: Mapping[str, Callable[[Random], str]]
    words: tuple[tuple[str, ...], ...]
    letters: tuple[str, ...]


EDGES = (
    Edge("paper", ":author", "author", both_ways=True),
    Edge("paper", ":cites", "paper", both_ways=True),
    Edge("paper", ":field", "field"),
    Edge("paper", ":venue", "venue"),
    Edge("paper", ":year", NUMBER),
    Edge("paper", ":title", TEXT),
    Edge("paper", ":doi", TEXT),
    Edge("author", ":affiliation", "institution"),
    Edge("author", ":name", TEXT),
    Edge("field", ":parent", "field"),
    Edge("field", ":name", TEXT),
    Edge("venue", ":name", TEXT),
    Edge("institution", ":name", TEXT),
)


def of_papers(graph: Graph, matches: Matches) -> Schema:
    """The graph of benchmarks.hybrid."""

    def one_of(letter: str, count: int) -> Callable[[Random], str]:
        return lambda rng: f":{letter}{rng.randrange(count)}"

    constants = {
        "paper": one_of("p", graph.papers), "author": one_of("a", len(graph.affiliation)),
        "field": one_of("f", len(graph.parents)), "venue": one_of("v", graph.venues),
        "institution": one_of("i", graph.institutions),
        NUMBER: lambda rng: str(FIRST_YEAR + rng.randrange(YEARS)),
    }  # fmt: skip
    letters = tuple(sorted({text[:3] for text in matches.texts["2.8 %"]}))
    return Schema(PREFIX, "paper", EDGES, constants, (*matches.texts.values(), matches.rare), letters)
