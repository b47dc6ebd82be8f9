"""Planning a query whose parameters alone are new: what the values cannot change is found out once.

Rankings are taken apart, strategies are tried and operators are made over a plan with holes (query/parameters/holes.py). For each
set of values that leaves the sizes, the costs, the choice, and a copy of the operators with the values in their places.
The law: the plan is the one that `choose` makes of the plan with the values in place (tests/kb/test_prepared.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from hybridkg.algebra.nodes import Fragment, Plan
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.copies import Fill, changing
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.graph_index import Form, PreparedPattern
from hybridkg.interfaces.ranked_index import RankedQuery
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.text_query import text_query
from hybridkg.operators.topk.rank_value import RankValue
from hybridkg.planner.planner_context import Number, PlannerContext, T
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.query import ast
from hybridkg.query.parameters.holes import HiddenHoleError, LitHole, Value, filling, holes_of
from hybridkg.query.walk import walk
from hybridkg.rdf.terms import NamedNode


@dataclass(frozen=True, eq=False)
class FragmentTemplate:
    """A fragment of a plan with holes.

    Args:
        holed: its operator, with holes.
        group: puts the values into the group; None where it has no holes.
        pattern: puts them into the pattern; None where that depends on them by more than IRIs: on numbers, datatypes.
        form: of the pattern.
        iris: the parameters that its placeholders stand for.
    """

    holed: GraphFragment
    group: Fill | None
    pattern: Fill | None = None
    form: Form | None = None
    iris: tuple[int, ...] = ()

    @classmethod
    def of(cls, fragment: Fragment) -> FragmentTemplate:
        """Translates the group, with its holes."""
        holed = GraphFragment.of(fragment.group, tuple(sorted(fragment.variables)), fragment.dataset)
        group = filling(fragment.group)
        with suppress(HiddenHoleError):
            if group is not None and not isinstance(holed.pattern, DeclinedPattern):
                pattern, found = filling(holed.pattern), holes_of(holed.pattern)
                if pattern is not None:
                    return cls(holed, group, pattern, Form(holed.pattern, tuple(found)), tuple(found.values()))
        return cls(holed, group)

    def filled(self, values: Sequence[Value]) -> GraphFragment:
        """The operator with values in place."""
        if self.group is None:
            return self.holed
        if self.pattern is not None:
            return self.holed.filled(self.pattern(values), partial(self.group, values))
        return GraphFragment.of(self.group(values), self.holed.columns, self.holed.dataset)


@dataclass(frozen=True, eq=False)
class RootTemplate:
    """The operators that a strategy makes, with holes.

    Args:
        holed: the root.
        fill: puts into it what stands behind the values: fragments, MATCHes, numbers and the rank score; None for
            nothing.
        fragments: those with holes.
        matches: those that rank or filter.
        numbers: what depends on sizes.
        rank_value: how the rank score is computed, which no value changes.
    """

    holed: PhysicalOperator
    fill: Fill | None
    fragments: tuple[Fragment, ...]
    matches: tuple[ast.RankedItem, ...]
    numbers: tuple[Number, ...]
    rank_value: RankValue | None


@dataclass(frozen=True, eq=False)
class MatchTemplate:
    """A MATCH or NEAR of a plan with holes.

    Args:
        holed: itself.
        fill: puts the values into it; None where it has no holes.
        ask: puts the text and its language into what the index is asked, where nothing else of it is a hole.
        text: the parameter that the text is; -1 where there is no `ask`.
    """

    holed: ast.RankedItem
    fill: Fill | None
    ask: Fill | None = None
    text: int = -1

    @classmethod
    def of(cls, match: ast.RankedItem) -> MatchTemplate:
        """Looks for the holes."""
        fill = filling(match)
        if isinstance(match, ast.Match) and isinstance(match.text, LitHole):
            with suppress(HybridkgError):  # which the run will raise
                if filling(replace(match, text=ast.Lit(""))) is None:
                    ask = changing(text_query(match), "text", "language")
                    return cls(match, fill, ask, match.text.parameter)
        return cls(match, fill)


@dataclass(eq=False)
class PlanTemplate:
    """What the plans of one query have in common, from one strategy or from all.

    Args:
        logical: the plan with holes.
        n_values: how many parameters it has.
    """

    logical: Plan
    n_values: int
    rankings: dict[int, tuple[Plan, RankedPlan | None]] = field(default_factory=dict)
    roots: dict[str, RootTemplate | None] = field(default_factory=dict)
    memoize_for_template: dict[Hashable, Any] = field(default_factory=dict)
    _fragments: dict[int, tuple[Fragment, FragmentTemplate]] = field(default_factory=dict)
    _matches: dict[int, MatchTemplate] = field(default_factory=dict)

    def fragment(self, fragment: Fragment) -> FragmentTemplate:
        """That of a fragment of the plan."""
        known = self._fragments.get(id(fragment))
        if known is None:
            # Of two threads the first one wins: what one has put into operators is not replaced behind it.
            known = self._fragments.setdefault(id(fragment), (fragment, FragmentTemplate.of(fragment)))
        return known[1]

    def match(self, match: ast.RankedItem) -> MatchTemplate:
        """That of a MATCH of the plan."""
        known = self._matches.get(id(match))
        if known is None:
            known = self._matches[id(match)] = MatchTemplate.of(match)
        return known

    @cached_property
    def fill_logical(self) -> Fill | None:
        """Puts the values into the plan."""
        return filling(self.logical)


class HoledNumber(float):
    """Stands in an operator for a number that depends on sizes."""


@dataclass
class TemplatePlanning(PlannerContext):
    """The planning of a plan with holes, for some values.

    Args:
        template: the plan.
        values: of the parameters.

    Raises:
        HiddenHoleError: by its methods, where the values decide more than a template leaves open.
    """

    template: PlanTemplate = field(kw_only=True)
    values: tuple[Value, ...] = field(kw_only=True)
    _operators: dict[int, GraphFragment] = field(default_factory=dict)
    _given: dict[int, tuple[ast.RankedItem, ast.RankedItem]] = field(default_factory=dict)
    _used: dict[int, Fragment] = field(default_factory=dict)
    _numbers: list[tuple[HoledNumber, Number]] = field(default_factory=list)

    def ranking(self, plan: Plan) -> RankedPlan | None:
        """The plan taken apart, where it ranks."""
        known = self.template.rankings.get(id(plan))
        if known is None:
            found = super().ranking(plan)
            if found is not None and found.expression is not None and _has_literal(found.expression):
                raise HiddenHoleError("the rank score depends on a value")
            known = self.template.rankings.setdefault(id(plan), (plan, found))
        return known[1]

    def memoize_for_template(self, key: Hashable, find: Callable[[], T]) -> T:
        """What no value changes, found out once for all."""
        known = self.template.memoize_for_template
        if key not in known:
            known[key] = find()
        found: T = known[key]
        return found

    def bound(self, match: ast.RankedItem) -> ast.RankedItem:
        """A MATCH with the values in place."""
        known = self._given.get(id(match))
        if known is None:
            fill = self.template.match(match).fill
            known = self._given[id(match)] = match, match if fill is None else fill(self.values)
        return known[1]

    def question(self, match: ast.RankedItem) -> RankedQuery:
        """What the index is asked for a MATCH, with the values in place."""
        template = self.template.match(match)
        if template.ask is None:
            return super().question(match)
        text: Any = self.values[template.text]
        asked: RankedQuery = template.ask((text.lexical, text.language or ""))
        return asked

    def fragment(self, fragment: Fragment) -> GraphFragment:
        """The operator of a fragment, with holes."""
        self._used[id(fragment)] = fragment
        return self.template.fragment(fragment).holed

    def bound_fragment(self, fragment: Fragment) -> GraphFragment:
        """The operator of a fragment, with the values in place."""
        made = self._operators.get(id(fragment))
        if made is None:
            made = self._operators[id(fragment)] = self.template.fragment(fragment).filled(self.values)
        return made

    def prepared(self, fragment: Fragment) -> PreparedPattern | None:
        """What the projection knows of a fragment, with the values in place."""
        known = self._prepared.get(id(fragment))
        if known is None:
            made, ready = self.bound_fragment(fragment), None
            if self.graph is not None and not isinstance(made.pattern, DeclinedPattern):
                template = self.template.fragment(fragment)
                iris = [NamedNode(self.values[at].value) for at in template.iris]  # type: ignore[union-attr]
                ready = self.graph.compile(made.pattern, template.form, iris)
            known = self._prepared[id(fragment)] = fragment, ready
        return known[1]

    def number(self, find: Number) -> float:
        """What stands for a number that depends on sizes."""
        number = HoledNumber()
        self._numbers.append((number, find))
        return number

    def root(self, strategy: str, logical: Plan) -> PhysicalOperator | None:
        """The operators that a strategy makes, with the values in place."""
        roots = self.template.roots
        if strategy not in roots:
            self._used.clear()
            self._numbers.clear()
            holed = super().root(strategy, logical)
            roots[strategy] = None if holed is None else self._root_template(holed, logical)
        root = roots[strategy]
        if root is None or root.fill is None:
            return None if root is None else root.holed
        values: list[Any] = [*self.values, *map(self.bound_fragment, root.fragments), *map(self.bound, root.matches)]
        if root.numbers:
            values += [find(self) for find in root.numbers]
        values.append(root.rank_value)
        made: PhysicalOperator = root.fill(values)
        return made

    def _root_template(self, holed: PhysicalOperator, logical: Plan) -> RootTemplate:
        fragments = tuple(one for one in self._used.values() if self.template.fragment(one).group is not None)
        ranking = self.ranking(logical)
        value = None if ranking is None else ranking.value
        matches = () if ranking is None else tuple(m.match for m in ranking.matches)
        holed_fragments = [self.template.fragment(one).holed for one in fragments]
        # A rank score has functions in it, but no holes.
        slots: list[object] = [*holed_fragments, *matches, *(number for number, _ in self._numbers)]
        slots += [] if value is None else [value]
        places = {id(slot): at for at, slot in enumerate(slots, self.template.n_values)}
        numbers = tuple(find for _, find in self._numbers)
        return RootTemplate(holed, filling(holed, places), fragments, matches, numbers, value)

    def filled(self, logical: Plan) -> Plan:
        """The whole plan, with the values in place."""
        fill = self.template.fill_logical
        return logical if fill is None else fill(self.values)


def _has_literal(expression: ast.Expression) -> bool:
    return any(isinstance(node, LitHole) for node in walk(expression))
