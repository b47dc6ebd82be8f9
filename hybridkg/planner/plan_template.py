"""Plan templates: the parts of a plan that are equal for all parameter values, computed once.

A template belongs to a logical plan with parameters (interfaces/parameter.py). It holds decomposed rankings, applicable
strategies and their operators. For each set of values, sizes, costs, the choice, and the operators above the parameters
are computed again. Law: the plan equals that of `choose` for the plan with the values in place
(tests/kb/test_prepared.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.algebra.nodes import Fragment, Plan
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.algebra.to_tests import UnsupportedPatternError, term_of
from hybridkg.interfaces.graph_index import BoundPattern, TermParameter
from hybridkg.interfaces.parameter import Parameter, Substitution, UnboundParameterError
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.relational import of_declined
from hybridkg.query import ast
from hybridkg.rdf.terms import Term

if TYPE_CHECKING:
    from hybridkg.planner.planner_context import PlannerContext


@dataclass(frozen=True, eq=False)
class FragmentTemplate(GraphFragment, Parameter):
    """Operator of a fragment with parameters, a placeholder for the operator of each set of values.

    If the pattern is declined, the group is translated for each set of values: a datatype or number may decide its
    form.
    """

    fragment: Fragment = field(kw_only=True)

    @cached_property
    def group_of(self) -> Substitution:
        return Substitution(self.group)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the parameters in the pattern."""
        return tuple({one.number for one in Substitution(self.pattern).parameters if isinstance(one, TermParameter)})

    def value_in(self, bindings: Any) -> GraphFragment:
        operator: GraphFragment = bindings.bound_fragment(self.fragment)
        return operator

    def bound(self, planning: PlannerContext) -> GraphFragment:
        """Operator for the values of a planning.

        Raises:
            UnboundParameterError: a value is no RDF term, so only the store can evaluate the fragment.
        """
        if isinstance(self.pattern, DeclinedPattern):
            return operator_of(replace(self.fragment, group=self.group_of(planning)), self.columns)
        assert not isinstance(self.pattern, BoundPattern)
        values = planning.values
        terms: list[Term | None] = [None] * len(values)
        try:
            for number in self.numbers:
                terms[number] = term_of(values[number])  # type: ignore[arg-type]
        except UnsupportedPatternError as e:
            raise UnboundParameterError("a value is not a term of RDF") from e
        pattern = BoundPattern(self.pattern, tuple(terms))
        return GraphFragment(self.group, self.columns, self.dataset, pattern, values, counted=self.counted)


@dataclass(frozen=True, eq=False)
class StoreQueryTemplate(StoreQuery, Parameter):
    """Query with parameters that the store answers where columns decline: few texts need it with values in place."""

    def value_in(self, bindings: Any) -> StoreQuery:
        return StoreQuery(self.query, self.declined, bindings.values)


def store_query(form: ast.QueryForm) -> StoreQuery:
    """Operator of a query that columns answer, for the case that they decline; a template if it has parameters."""
    return (StoreQueryTemplate if Substitution(form).parameters else StoreQuery)(form)


def operator_of(fragment: Fragment, columns: tuple[str, ...] | None = None) -> GraphFragment:
    """Operator of a fragment without parameters; the columns are those of its variables by default."""
    columns = tuple(sorted(fragment.variables)) if columns is None else columns
    operator = GraphFragment(fragment.group, columns, fragment.dataset, fragment.pattern, counted=fragment.counted)
    if not isinstance(operator.pattern, DeclinedPattern) or fragment.dataset:
        return operator
    return replace(operator, relational=of_declined(fragment, columns, operator_of))


def template_of(fragment: Fragment) -> GraphFragment:
    """Operator of a fragment; a FragmentTemplate if it has parameters."""
    if not Substitution(fragment.group).parameters:
        return operator_of(fragment)
    group, columns, dataset = fragment.group, tuple(sorted(fragment.variables)), fragment.dataset
    try:
        pattern = fragment.pattern
    except UnboundParameterError:
        pattern = DeclinedPattern("a value decides")
    return FragmentTemplate(group, columns, dataset, pattern, counted=fragment.counted, fragment=fragment)


class NumberParameter(float, Parameter):
    """Number in an operator that depends on sizes."""

    find: Callable[[PlannerContext], float]

    @classmethod
    def of(cls, find: Callable[[PlannerContext], float]) -> NumberParameter:
        number = cls()
        number.find = find
        return number

    def value_in(self, bindings: Any) -> float:
        return self.find(bindings)


@dataclass(eq=False)
class PlanTemplate:
    """Shared parts of plans that differ only in parameter values. Thread-safe.

    Args:
        has_parameters: whether there are parameters.
        rankings: decomposed plans, by identity.
        roots: operators of each strategy tried so far; None if it does not apply.
        memo: other values that no parameter changes.
    """

    has_parameters: bool = False
    rankings: dict[int, tuple[Plan, RankedPlan | None]] = field(default_factory=dict)
    roots: dict[str, Substitution | None] = field(default_factory=dict)
    memo: dict[Hashable, Any] = field(default_factory=dict)
    _fragments: dict[int, tuple[Fragment, GraphFragment]] = field(default_factory=dict)
    _substitutions: dict[int, tuple[Any, Substitution]] = field(default_factory=dict)

    def fragment(self, fragment: Fragment) -> GraphFragment:
        """Operator of a fragment of the plan; a FragmentTemplate if it has parameters."""
        entry = self._fragments.get(id(fragment))
        if entry is None:
            # The first of two threads wins: operators may refer to its fragment already.
            operator = (template_of if self.has_parameters else operator_of)(fragment)
            entry = self._fragments.setdefault(id(fragment), (fragment, operator))
        return entry[1]

    def substitution(self, part: Any) -> Substitution:
        """Part of the plan, ready for values."""
        entry = self._substitutions.get(id(part))
        if entry is None:
            entry = self._substitutions[id(part)] = part, Substitution(part)
        return entry[1]
