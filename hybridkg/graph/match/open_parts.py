"""Parts of a compiled pattern whose constants are parameters, in its template: the values decide on their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hybridkg.graph.match.combine import TableNode
from hybridkg.graph.match.conditions import IdTest, all_of
from hybridkg.graph.match.shape import PatternDeclined
from hybridkg.interfaces.graph_index import TermParameter, ValueComparison
from hybridkg.interfaces.parameter import Parameter, UnboundParameterError
from hybridkg.rdf.terms import Literal, NamedNode, Term


class PatternBindings(NamedTuple):
    """Bindings of the parameters of a template, by their numbers.

    Args:
        values: ids in the place of a subject or an object; 0 for other parameters.
        terms: None for a parameter that is not in the pattern.
    """

    values: Sequence[int]
    terms: Sequence[Term | None]


@dataclass(frozen=True, eq=False)
class OpenTableNode(TableNode, Parameter):
    """The node of VALUES with parameters in its cells, in whose places are zeros.

    Args:
        made: makes the node of the terms of the parameters; may raise PatternDeclined.
    """

    made: Callable[[Sequence[Term | None]], TableNode]

    def value_in(self, bindings: Any) -> TableNode:
        """The node with the ids of the terms of PatternBindings."""
        return self.made(bindings.terms)


class OpenConditions(Mapping[str, IdTest], Parameter):
    """The conditions of a join by variable, some of them open.

    Args:
        tests: those of each variable, compiled but for the open comparisons.
        compiled: compiles a comparison with a term.
        check: raises PatternDeclined for conditions that the store has to evaluate.
    """

    def __init__(
        self,
        tests: Mapping[str, Sequence[IdTest | ValueComparison]],
        compiled: Callable[[ValueComparison], IdTest],
        check: Callable[[Mapping[str, IdTest]], None],
    ):
        self._tests, self._compiled, self._check = tests, compiled, check

    def __getitem__(self, variable: str) -> IdTest:
        raise UnboundParameterError("the value of a parameter decides what passes")

    def __iter__(self) -> Iterator[str]:
        return iter(self._tests)

    def __len__(self) -> int:
        return len(self._tests)

    def value_in(self, bindings: Any) -> dict[str, IdTest]:
        """The conditions with the terms of the parameters.

        Args:
            bindings: PatternBindings.

        Raises:
            PatternDeclined: the store has to evaluate them.
        """
        conditions = {
            name: all_of(
                [test if isinstance(test, IdTest) else self._compiled(closed(test, bindings.terms)) for test in tests]
            )
            for name, tests in self._tests.items()
        }
        self._check(conditions)
        return conditions


def closed(test: ValueComparison, terms: Sequence[Term | None] | None) -> ValueComparison:
    """A comparison with the term of its parameter, if it has one.

    Raises:
        PatternDeclined: the terms are not known, or that of the parameter is neither an IRI nor a literal.
    """
    if not isinstance(test.constant, TermParameter):
        return test
    term = None if terms is None else terms[test.constant.number]
    if not isinstance(term, NamedNode | Literal):
        raise PatternDeclined
    return ValueComparison(test.variable, test.op, term)
