"""What the planner sees of a knowledge base, and what it has found out about the query at hand."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from hybridkg.algebra.nodes import Fragment, Match, Plan, children
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.graph_index import BoundPattern, Cardinality, GraphIndex, Pattern, PreparedPattern
from hybridkg.interfaces.graph_store import PrefixSample, RemoteStore
from hybridkg.interfaces.parameter import Substitution
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, postings_read
from hybridkg.interfaces.statistics import GraphStatistics
from hybridkg.interfaces.strategy import strategy_of
from hybridkg.interfaces.text_index import TextQuery
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.pushdown_conditions import say_all, whole
from hybridkg.operators.text_join import TextJoin
from hybridkg.operators.text_query import checked_index, ranked_query
from hybridkg.operators.topk.rank_value import RankValue
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.plan_template import FragmentTemplate, NumberParameter, PlanTemplate
from hybridkg.planner.ranking_shape import RankedPlan, ranked_plan_of
from hybridkg.query import ast
from hybridkg.query.walk import walk

T = TypeVar("T")

Number: TypeAlias = "Callable[[PlannerContext], float]"
"""Finds a number once the sizes are known."""

BEGINNING_SECONDS, BEGINNING_TRIPS = 0.1, 10
"""The first solutions of a pattern at an endpoint may take so long, or so many round trips where these are long."""


class PushdownCount(NamedTuple):
    """How many entities match the first text and have what the graph says of them, as an index far away counts them.

    Args:
        variable: whose entities.
        most: no more of them have a row.
        is_whole: whether so many have, if nothing else takes part; one row each, unless the graph has branches.
    """

    variable: str
    most: float
    is_whole: bool


class StoreEstimate(NamedTuple):
    """What statistics say of a pattern.

    Args:
        values: of a variable.
        rows: solutions, about.
        read: triples that an engine reads to find them, about and at least.
    """

    values: Cardinality
    rows: float
    read: float


@dataclass
class PlannerContext:
    """The planning of one query; what several strategies ask is found out once.

    Args:
        graph: the projection; None where there is none that is up to date.
        text: the text index; None before the first index.
        cost: unit costs of this machine.
        store: the graph at an endpoint, which is asked how patterns begin; None for one that lies here.
        statistics: of that graph, where there is no projection of it.
        switching: whether a strategy may give up for another one that its own cost has caught up with.
        asking: whether it may be asked.
        costs: what is known of rankings, by their identity (costs.py).
        values: of the parameters of the plan.
        template: what is the same for all values.
    """

    graph: GraphIndex | None = None
    text: RankedIndex | None = None
    cost: CostModel = field(default_factory=CostModel)
    store: RemoteStore | None = None
    statistics: GraphStatistics | None = None
    switching: bool = True
    asking: bool = True
    costs: dict[int, Any] = field(default_factory=dict)
    values: tuple[ast.Value, ...] = ()
    template: PlanTemplate = field(default_factory=PlanTemplate)
    _fragments: dict[int, tuple[Plan, GraphFragment]] = field(default_factory=dict)
    _prepared: dict[int, tuple[Plan, PreparedPattern | None]] = field(default_factory=dict)
    _once: dict[Hashable, Any] = field(default_factory=dict)
    _most: dict[int, tuple[ast.RankedItem, int]] = field(default_factory=dict)
    """By the identity of the node, which is kept so that no other node gets it."""

    def ranking(self, plan: Plan) -> RankedPlan | None:
        """The plan taken apart, where it ranks."""
        known = self.template.rankings.get(id(plan))
        if known is None:
            known = self.template.rankings.setdefault(id(plan), (plan, ranked_plan_of(plan)))
        return known[1]

    def fragment(self, fragment: Fragment) -> GraphFragment:
        """The operator of a fragment, for the plans of all values."""
        return self.template.fragment(fragment)

    def bound_fragment(self, fragment: Fragment) -> GraphFragment:
        """The operator of a fragment, with the values in place."""
        known = self._fragments.get(id(fragment))
        if known is None:
            made = self.template.fragment(fragment)
            known = self._fragments[id(fragment)] = (
                fragment,
                made.bound(self) if isinstance(made, FragmentTemplate) else made,
            )
        return known[1]

    def bound(self, part: T) -> T:
        """A part of the plan with the values in place."""
        if not self.values:
            return part
        made: T = self.template.substitution(part)(self)
        return made

    def pattern(self, fragment: Fragment) -> Pattern | DeclinedPattern:
        """What the projection is asked for a fragment, or why it is not."""
        pattern = self.bound_fragment(fragment).pattern
        return pattern.whole if isinstance(pattern, BoundPattern) else pattern

    def prepared(self, fragment: Fragment) -> PreparedPattern | None:
        """What the projection knows of a fragment; None where the store has to be asked."""
        if id(fragment) not in self._prepared:
            pattern, ready = self.bound_fragment(fragment).pattern, None
            if self.graph is not None and not isinstance(pattern, DeclinedPattern):
                ready = self.graph.compile(pattern)
            self._prepared[id(fragment)] = fragment, ready
        return self._prepared[id(fragment)][1]

    def ask_sizes(self, plan: Plan) -> None:
        """`most` of the MATCHes of a plan will be asked for: an index that is far away is asked for all at once."""
        if self.text is None or not self.text.text_is_remote:
            return
        queries, waiting = [], [plan]
        while waiting:
            waiting += children(part := waiting.pop())
            if isinstance(part, Match) and not isinstance(part.match.text, ast.Var):
                match = self.bound(part.match)
                try:
                    checked_index(self.text, match)
                except HybridkgError:
                    continue  # an error only once the operator runs
                queries.append(ranked_query(match))
        ranking = self.ranking(plan)
        narrowed = None if ranking is None else self._narrowed(ranking)
        self.text.prefetch_counts(queries[::-1] if narrowed is None else [*queries[::-1], narrowed[0]])

    def pushdown_count(self, ranking: RankedPlan) -> PushdownCount | None:
        """What an index that is far away counts for the first MATCH; None where it knows nothing of the graph."""
        narrowed = self._narrowed(ranking)
        if narrowed is None or self.text is None:
            return None
        query, is_whole = narrowed
        return PushdownCount(
            ranking.spine.matches[0].match.entity.name, float(self.text.match_count_bound(query)), is_whole
        )

    def _narrowed(self, ranking: RankedPlan) -> tuple[TextQuery, bool] | None:
        """The first MATCH of a ranking with the conditions that go along with it (operators/text_join.py), and whether
        these are all that the graph says.
        """
        return self.memoize((id(ranking), "narrowed"), lambda: self._narrowed_anew(ranking))

    def _narrowed_anew(self, ranking: RankedPlan) -> tuple[TextQuery, bool] | None:
        if self.text is None or not self.text.text_is_remote or ranking.spine.leading > 1:
            return None
        first = ranking.spine.matches[0]
        variable = first.match.entity.name
        fragments = ranking.by_variable[variable]
        if not fragments or first.match.top is not None or first.snippet_early:
            return None
        match, fragment = self.bound(first.match), self.bound_fragment(fragments[0])
        try:
            checked_index(self.text, match)
        except HybridkgError:
            return None  # an error only once the operator runs
        query = TextJoin(match, first.score, fragment).narrowed(self.text)
        if not isinstance(query, TextQuery) or not query.conditions:
            return None
        spine = ranking.spine
        alone = len(spine.matches) == len(spine.fragments) == 1 and not spine.others
        return query, alone and say_all(fragment.bound_group, variable, query.conditions)

    def store_estimate(self, fragment: Fragment, variable: str) -> StoreEstimate | None:
        """What statistics say of a fragment that only the store knows; None where they say nothing."""
        known, pattern = self.statistics, self.pattern(fragment)
        if known is None or isinstance(pattern, DeclinedPattern):
            return None
        values = known.values(pattern, variable)
        if values is None:
            return None
        return StoreEstimate(values, known.rows(pattern) or values.estimate, known.least_read(pattern) or 0.0)

    def sample_prefix(self, fragment: Fragment, variable: str, most: int) -> PrefixSample | None:
        """How a fragment begins that only an endpoint knows; None where it is not asked, or does not tell. If its first
        solutions are all, a plan that begins with them has them already.

        It is asked where a constant says where to begin, and the first solutions come before the others: not of a
        filter alone, of `*` and `+`, nor of what is absent.

        Args:
            fragment: it.
            variable: whose values are wanted.
            most: solutions that are read.
        """
        store, operator = self.store, self.bound_fragment(fragment)
        if store is None or not self.asking or operator.dataset:
            return None
        group = whole(operator.bound_group)
        nodes = list(walk(group))
        if not any(map(_has_constant, nodes)) or any(isinstance(node, _READ_WHOLE) for node in nodes):
            return None
        sparql = SparqlFragment(group, (variable,)).sparql
        seconds = max(BEGINNING_SECONDS, BEGINNING_TRIPS * self.cost.us_per_store_question / 1e6)
        return self.memoize(
            (id(fragment), variable, "beginning"), lambda: store.sample_prefix(sparql, variable, most, seconds)
        )

    def is_remote(self, matches: Iterable[Match]) -> bool:
        """Whether one of some relations is on a server."""
        text = self.text
        if text is None or not text.is_remote:
            return False
        return text.text_is_remote or any(isinstance(match.match, ast.Near) for match in matches)

    def memoize(self, key: Hashable, find: Callable[[], T]) -> T:
        """What has been found under a key, or what `find` gives now."""
        if key not in self._once:
            self._once[key] = find()
        found: T = self._once[key]
        return found

    def memoize_for_template(self, key: Hashable, find: Callable[[], T]) -> T:
        """The same for what no value of a parameter changes."""
        known = self.template.memoize_for_template
        if key not in known:
            known[key] = find()
        found: T = known[key]
        return found

    @property
    def entities(self) -> int:
        """Entities of the text index."""
        return 0 if self.text is None else self.text.counts.get("entities", 0)

    def question(self, match: ast.RankedItem) -> RankedQuery:
        """What the index is asked for a MATCH."""
        return ranked_query(self.bound(match))

    def number(self, find: Number) -> float:
        """A number of an operator that depends on sizes."""
        return NumberParameter.of(find) if self.values else find(self)

    def root(self, strategy: str, logical: Plan) -> PhysicalOperator | None:
        """The operators that a strategy makes; None where it does not apply.

        Raises:
            UnboundParameterError: a value decides what they are.
        """
        roots, made = self.template.roots, None
        if not self.values or strategy not in roots:
            made = strategy_of(strategy).plan(logical, self)
        if not self.values:
            return made
        if strategy not in roots:
            roots[strategy] = None if made is None else Substitution(made, (RankValue,))
        template = roots[strategy]
        root: PhysicalOperator | None = None if template is None else template(self)
        return root

    def match_count_bound(self, match: ast.RankedItem) -> int:
        """No fewer than match; 0 where the index has an objection, which the run will raise."""
        if self.text is None:
            return 0
        if id(match) not in self._most:
            try:
                self._most[id(match)] = match, self.text.match_count_bound(self.question(match))
            except HybridkgError:
                self._most[id(match)] = match, 0
        return self._most[id(match)][1]

    def read(self, match: ast.RankedItem, among: float | None = None) -> float:
        """What finding its best reads, in postings; of so many candidates, or of everyone. 0 as in `most`."""
        if isinstance(match, ast.Match) or self.text is None:
            return float(self.match_count_bound(match))
        try:
            return postings_read(self.text, self.question(match), among) if self.match_count_bound(match) else 0.0
        except HybridkgError:
            return 0.0


_READ_WHOLE = (ast.PathRepeat, ast.Exists, ast.MinusPattern, ast.SubSelect)
"""What an engine may have to look at as a whole before the first solution comes."""


def _has_constant(node: ast.Syntax) -> bool:
    match node:
        case ast.TriplePattern(subject, _, object_):
            return isinstance(subject, ast.Iri | ast.Lit) or isinstance(object_, ast.Iri | ast.Lit)
        case ast.InlineData():
            return True
    return False
