"""What the plans of one query have in common whatever the values of its parameters: found out once.

A template is a logical plan with parameters (interfaces/parameter.py). Rankings are taken apart, strategies are tried
and operators are made for it once. For each set of values that leaves the sizes, the costs, the choice, and the
operators above the parameters. The law: the plan is the one that `choose` makes of the plan with the values in place
(tests/kb/test_prepared.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.algebra.nodes import Fragment, Plan
from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.algebra.to_tests import UnsupportedPatternError, term_of
from hybridkg.interfaces.graph_index import BoundPattern, TermParameter
from hybridkg.interfaces.parameter import Parameter, Substitution, UnboundParameterError
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.query import ast
from hybridkg.rdf.terms import Term

if TYPE_CHECKING:
    from hybridkg.planner.planner_context import PlannerContext


@dataclass(frozen=True, eq=False)
class FragmentTemplate(GraphFragment, Parameter):
    """The operator of a fragment with parameters. It stands in plans for the operator of each set of values.

    Where the pattern is Declined, the group is translated for each set of values: a datatype or a number may decide
    what it looks like.

    Args:
        fragment: it.
    """

    fragment: Fragment = field(kw_only=True)

    @cached_property
    def group_of(self) -> Substitution:
        """The group with values in place."""
        return Substitution(self.group)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The parameters in the pattern."""
        return tuple({one.number for one in Substitution(self.pattern).parameters if isinstance(one, TermParameter)})

    def value_in(self, bindings: Any) -> GraphFragment:
        """The operator for the values of a planning."""
        made: GraphFragment = bindings.bound_fragment(self.fragment)
        return made

    def bound(self, planning: PlannerContext) -> GraphFragment:
        """The same, made.

        Raises:
            UnboundParameterError: a value is no term of RDF, and so decides that the store is asked.
        """
        if isinstance(self.pattern, DeclinedPattern):
            return GraphFragment.of(self.group_of(planning), self.columns, self.dataset)
        assert not isinstance(self.pattern, BoundPattern)
        values = planning.values
        terms: list[Term | None] = [None] * len(values)
        for number in self.numbers:
            terms[number] = _term(values[number])
        pattern = BoundPattern(self.pattern, tuple(terms))
        return GraphFragment(self.group, self.columns, self.dataset, pattern, values)


def _term(value: ast.Value) -> Term:
    try:
        return term_of(value)  # type: ignore[arg-type]
    except UnsupportedPatternError as e:
        raise UnboundParameterError("a value is no term of RDF") from e


def operator_of(fragment: Fragment) -> GraphFragment:
    """The operator of a fragment without parameters."""
    return GraphFragment.of(fragment.group, tuple(sorted(fragment.variables)), fragment.dataset)


def template_of(fragment: Fragment) -> GraphFragment:
    """The operator of a fragment; a FragmentTemplate where it has parameters."""
    if not Substitution(fragment.group).parameters:
        return operator_of(fragment)
    group, columns, dataset = fragment.group, tuple(sorted(fragment.variables)), fragment.dataset
    try:
        pattern = pattern_of(group, dataset)
    except UnboundParameterError:
        pattern = DeclinedPattern("a value decides")
    return FragmentTemplate(group, columns, dataset, pattern, fragment=fragment)


class NumberParameter(float, Parameter):
    """Stands in an operator for a number that depends on sizes."""

    find: Callable[[PlannerContext], float]

    @classmethod
    def of(cls, find: Callable[[PlannerContext], float]) -> NumberParameter:
        """The number that a function finds once the values are known."""
        made = cls()
        made.find = find
        return made

    def value_in(self, bindings: Any) -> float:
        """The number, by the sizes that a planning has found."""
        return self.find(bindings)


@dataclass(eq=False)
class PlanTemplate:
    """What plans have in common that differ in the values of parameters alone. Safe to use from many threads.

    Args:
        has_parameters: whether there are any.
        rankings: plans taken apart, by identity.
        roots: the operators of each strategy that has been tried; None where it does not apply.
        fixed: what else no value changes.
    """

    has_parameters: bool = False
    rankings: dict[int, tuple[Plan, RankedPlan | None]] = field(default_factory=dict)
    roots: dict[str, Substitution | None] = field(default_factory=dict)
    memoize_for_template: dict[Hashable, Any] = field(default_factory=dict)
    _fragments: dict[int, tuple[Fragment, GraphFragment]] = field(default_factory=dict)
    _substitutions: dict[int, tuple[Any, Substitution]] = field(default_factory=dict)

    def fragment(self, fragment: Fragment) -> GraphFragment:
        """The operator of a fragment of the plan; a FragmentTemplate where it has parameters."""
        known = self._fragments.get(id(fragment))
        if known is None:
            # Of two threads the first one wins: what one has put into operators is not replaced behind it.
            made = (template_of if self.has_parameters else operator_of)(fragment)
            known = self._fragments.setdefault(id(fragment), (fragment, made))
        return known[1]

    def substitution(self, part: Any) -> Substitution:
        """A part of the plan with values in place."""
        known = self._substitutions.get(id(part))
        if known is None:
            known = self._substitutions[id(part)] = part, Substitution(part)
        return known[1]
