"""What is true of each question: which papers satisfy its pattern, which have one of its words; by numpy alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.graph import Graph
from benchmarks.hybrid.texts import Texts, vocabulary
from benchmarks.hybrid.workload import Question

Mask = NDArray[np.bool_]


class Patterns:
    """The papers that satisfy a pattern."""

    def __init__(self, graph: Graph):
        self._graph = graph
        self._papers_of = graph.authors.back(len(graph.affiliation))
        self._citing = graph.cites.back(graph.papers)
        self._in_field = graph.fields.back(len(graph.parents))

    def mask(self, question: Question) -> Mask:
        """bool[papers]."""
        shapes: dict[str, Callable[[dict[str, int]], Mask]] = {
            "type": lambda _: np.ones(self._graph.papers, bool),
            "field": self._field,
            "optional": self._field,
            "two_hop": self._institution,
            "star": lambda c: self._field(c) & (self._graph.venue == c["venue"]),
            "coauthor": self._coauthors,
            "cites": lambda c: self._only(self._citing.at(c["paper"])),
            "union": lambda c: self._field(c) | (self._graph.venue == c["venue"]),
            "negation": lambda c: self._field(c) & ~self._institution(c),
            "year": lambda c: (self._graph.year >= c["low"]) & (self._graph.year <= c["high"]),
        }
        return shapes[question.shape](question.constants)

    def _only(self, papers: NDArray[np.integer]) -> Mask:
        found = np.zeros(self._graph.papers, bool)
        found[papers] = True
        return found

    def _field(self, constants: dict[str, int]) -> Mask:
        return self._only(self._in_field.at(constants["field"]))

    def _institution(self, constants: dict[str, int]) -> Mask:
        return self._graph.authors.any_in(self._graph.affiliation == constants["institution"])

    def _coauthors(self, constants: dict[str, int]) -> Mask:
        people = np.zeros(len(self._graph.affiliation), bool)
        for paper in self._papers_of.at(constants["author"]).tolist():
            people[self._graph.authors.at(paper)] = True
        return self._graph.authors.any_in(people)


@dataclass(frozen=True)
class Truth:
    """By question: how many papers satisfy the pattern, how many have a word, and those that do both, ascending."""

    pattern: NDArray[np.int64]
    text: NDArray[np.int64]
    starts: NDArray[np.int64]
    papers: NDArray[np.int32]

    def both(self, number: int) -> NDArray[np.int32]:
        """The papers a question is about."""
        return self.papers[self.starts[number] : self.starts[number + 1]]

    def write(self, path: Path) -> None:
        """As .npz."""
        np.savez(path, pattern=self.pattern, text=self.text, starts=self.starts, papers=self.papers)

    @classmethod
    def read(cls, path: Path) -> Truth:
        """What `write` wrote."""
        with np.load(path) as file:
            return cls(file["pattern"], file["text"], file["starts"], file["papers"])


def find(graph: Graph, questions: list[Question]) -> Truth:
    """The truth about questions that are numbered 0, 1, ..."""
    number = {word: at for at, word in enumerate(vocabulary())}
    wanted = sorted({number[word] for question in questions for word in question.words.split()})
    papers_with = Texts(graph).papers_with(wanted)
    patterns = Patterns(graph)
    of_pattern, of_text, parts = [], [], []
    for question in questions:
        matching = np.zeros(graph.papers, bool)
        for word in question.words.split():
            matching[papers_with[number[word]]] = True
        satisfying = patterns.mask(question)
        of_pattern.append(int(satisfying.sum()))
        of_text.append(int(matching.sum()))
        parts.append(np.flatnonzero(matching & satisfying).astype(np.int32))
    starts = np.cumsum([0, *map(len, parts)])
    return Truth(np.array(of_pattern), np.array(of_text), starts, np.concatenate(parts))
