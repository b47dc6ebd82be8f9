"""Planner context: indexes, unit costs and memoized estimates of the planning of one query."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

from hybridkg.algebra.nodes import Fragment, Match, Plan, SparqlQuery, children
from hybridkg.algebra.rules.compare_nodes import compare_nodes
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
from hybridkg.operators.estimation_context import EstimationContext
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
"""Computes a number from sizes."""

BEGINNING_SECONDS, BEGINNING_TRIPS = 0.1, 10
"""Time limit of a sample of a pattern at an endpoint, in seconds and in round trips; the longer one counts."""


class PushdownCount(NamedTuple):
    """Count of a remote index: entities of a variable that match the first text and the pushed-down conditions.

    `most` is an upper bound on entities with a row. It is exact (`is_whole`) if no other part of the query restricts
    them; one row each, unless the graph branches.
    """

    variable: str
    most: float
    is_whole: bool


class StoreEstimate(NamedTuple):
    """Estimate from statistics: values of a variable, solutions, minimum of triples read by an engine."""

    values: Cardinality
    rows: float
    read: float


@dataclass
class PlannerContext:
    """Planning of one query; shared requests are memoized.

    Args:
        graph: the projection; None without an up-to-date one.
        text: the text index; None before the first index.
        cost: unit costs of this machine.
        store: the graph at an endpoint, which can be sampled; None for a local store.
        statistics: of that graph, without a projection of it.
        switching: whether a strategy may switch to another once its own work has cost as much.
        may_sample: whether the endpoint may be sampled.
        repeats_triples: whether the default graph is a union in which a triple may be in several graphs: Oxigraph lists
            it once for each, the projection once.
        costs: RankingCosts of rankings, by their identity (planner/ranking_costs.py).
        costed: the plan whose costs were asked for last, and these; None if it does not rank.
        values: of the parameters of the plan.
        template: state shared by all values.
        ranked: ranked predicates with the values in place, by the identity of those of the plan.
    """

    graph: GraphIndex | None = None
    text: RankedIndex | None = None
    cost: CostModel = field(default_factory=CostModel)
    store: RemoteStore | None = None
    statistics: GraphStatistics | None = None
    switching: bool = True
    may_sample: bool = True
    repeats_triples: bool = False
    costs: dict[int, Any] = field(init=False, default_factory=dict)
    costed: tuple[Plan | None, Any] = field(init=False, default=(None, None))
    values: tuple[ast.Value, ...] = ()
    template: PlanTemplate = field(default_factory=PlanTemplate)
    ranked: Mapping[int, ast.RankedItem] = field(init=False, default_factory=dict)
    _fragments: dict[int, tuple[Plan, GraphFragment]] = field(init=False, default_factory=dict)
    _prepared: dict[int, tuple[Plan, PreparedPattern | None]] = field(init=False, default_factory=dict)
    _memo: dict[Hashable, Any] = field(init=False, default_factory=dict)
    _bounds: dict[int, tuple[ast.RankedItem, int]] = field(init=False, default_factory=dict)
    """By the identity of the node, which is referenced so that its id is not reused."""

    def ranking(self, plan: Plan) -> RankedPlan | None:
        """Decomposed plan, if it ranks."""
        entry = self.template.rankings.get(id(plan))
        if entry is None:
            entry = self.template.rankings.setdefault(id(plan), (plan, ranked_plan_of(plan)))
        return entry[1]

    def fragment(self, fragment: Fragment) -> GraphFragment:
        """Operator of a fragment, for all parameter values."""
        return self.template.fragment(fragment)

    def bound_fragment(self, fragment: Fragment) -> GraphFragment:
        """Operator of a fragment, with the values in place."""
        key = id(fragment)
        entry = self._fragments.get(key)
        if entry is None:
            operator = self.template.fragment(fragment)
            operator = operator.bound(self) if isinstance(operator, FragmentTemplate) else operator
            entry = self._fragments[key] = fragment, operator
        return entry[1]

    def bound(self, part: T) -> T:
        """Part of the plan with the values in place."""
        if not self.values:
            return part
        ranked: Any = self.ranked.get(id(part))
        bound_part: T = ranked or self.template.substitution(part)(self)
        return bound_part

    def pattern(self, fragment: Fragment) -> Pattern | DeclinedPattern:
        """Pattern of a fragment for the projection, or the reason why it has none."""
        pattern = self.bound_fragment(fragment).pattern
        return pattern.whole if isinstance(pattern, BoundPattern) else pattern

    def prepared(self, fragment: Fragment) -> PreparedPattern | None:
        """Compiled pattern of a fragment; None if only the store can evaluate it."""
        key = id(fragment)
        entry = self._prepared.get(key)
        if entry is None:
            pattern, ready = self.bound_fragment(fragment).pattern, None
            if self.graph is not None and not isinstance(pattern, DeclinedPattern):
                ready = self.graph.compile(pattern)
            entry = self._prepared[key] = fragment, ready
        return entry[1]

    def prefetch_match_counts(self, plan: Plan) -> None:
        """Prefetch of the match counts of a plan from a remote index, in one request."""
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
        """Count of a remote index for the first MATCH; None without pushed-down conditions."""
        narrowed = self._narrowed(ranking)
        if narrowed is None or self.text is None:
            return None
        query, is_whole = narrowed
        return PushdownCount(
            ranking.spine.matches[0].match.entity.name, float(self.text.match_count_bound(query)), is_whole
        )

    def _narrowed(self, ranking: RankedPlan) -> tuple[TextQuery, bool] | None:
        """Query of the first MATCH with pushed-down conditions (operators/text_join.py), and whether these are
        equivalent to the graph part.
        """
        return self.memoize((id(ranking), "narrowed"), lambda: self._find_narrowed(ranking))

    def _find_narrowed(self, ranking: RankedPlan) -> tuple[TextQuery, bool] | None:
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
        """Estimate from statistics for a fragment that only the store can evaluate; None without one."""
        statistics, pattern = self.statistics, self.pattern(fragment)
        if statistics is None or isinstance(pattern, DeclinedPattern):
            return None
        values = statistics.values(pattern, variable)
        if values is None:
            return None
        return StoreEstimate(values, statistics.rows(pattern) or values.estimate, statistics.least_read(pattern) or 0.0)

    def sample_prefix(self, fragment: Fragment, variable: str, most: int) -> PrefixSample | None:
        """At most `most` first solutions of a fragment at an endpoint; None without a sample. A complete sample is
        reused by a plan that starts with the fragment.

        Sampled are patterns with a constant to start from whose first solutions do not require the others: no lone
        filter, no `*`, `+` or negation.
        """
        store, operator = self.store, self.bound_fragment(fragment)
        if store is None or not self.may_sample or operator.dataset:
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
        """Whether one of the relations is on a server."""
        text = self.text
        if text is None or not text.is_remote:
            return False
        return text.text_is_remote or any(isinstance(match.match, ast.Near) for match in matches)

    def memoize(self, key: Hashable, find: Callable[[], T]) -> T:
        """Value of a key, computed once in this planning."""
        if key not in self._memo:
            self._memo[key] = find()
        value: T = self._memo[key]
        return value

    def memoize_for_template(self, key: Hashable, find: Callable[[], T]) -> T:
        """Value of a key that no parameter changes, computed once for the template."""
        memo = self.template.memo
        if key not in memo:
            memo[key] = find()
        value: T = memo[key]
        return value

    def relational(self, query: SparqlQuery) -> Plan | None:
        """Algebra of a query without ranked predicates, by rules that read the data; None where columns have none."""
        plan, graph = query.relational, self.graph
        if plan is None or graph is None:
            return plan
        return self.memoize_for_template(("relational", id(query)), lambda: compare_nodes(plan, graph))

    @cached_property
    def estimates(self) -> EstimationContext:
        """Context of the estimates of operators."""
        return EstimationContext(self.text, self.graph, "Oxigraph" if self.store is None else "endpoint")

    @property
    def entities(self) -> int:
        return 0 if self.text is None else self.text.counts.get("entities", 0)

    def question(self, match: ast.RankedItem) -> RankedQuery:
        """Request of a MATCH to the index."""
        return ranked_query(self.bound(match))

    def number(self, find: Number) -> float:
        """Number in an operator that depends on sizes."""
        return NumberParameter.of(find) if self.values else find(self)

    def root(self, strategy: str, logical: Plan) -> PhysicalOperator | None:
        """Operators of a strategy; None if it does not apply.

        Raises:
            UnboundParameterError: the operators depend on a value.
        """
        key = "root", strategy, id(logical)
        if key in self._memo:
            known: PhysicalOperator | None = self._memo[key]
            return known
        if self.values:
            template = self._root_template(strategy, logical)
            root = None if template is None else template(self)
        else:
            root = strategy_of(strategy).plan(logical, self)
        self._memo[key] = root
        return root

    def _root_template(self, strategy: str, logical: Plan) -> Substitution | None:
        roots = self.template.roots
        if strategy not in roots:
            operators = strategy_of(strategy).plan(logical, self)
            roots[strategy] = None if operators is None else _open(operators)
        return roots[strategy]

    def open_root(self, strategy: str, logical: Plan, fragments: Iterable[Fragment]) -> PhysicalOperator | None:
        """Operators of a strategy for `estimates`, with open parameters where those know the values of the fragments
        all the same.
        """
        if not self.values:
            return self.root(strategy, logical)
        template = self._root_template(strategy, logical)
        if template is None:
            return None if self._assumes(fragments) else self.root(strategy, logical)
        tree: PhysicalOperator = template.tree
        return tree if self._assumes(self._fragments_in(tree, fragments)) else self.root(strategy, logical)

    def memoize_for_root(self, key: str, strategy: str, root: PhysicalOperator, find: Callable[[], T]) -> T:
        """Value of the operators of `open_root`, computed once: for the template, unless they have values in place."""
        template = self.template.roots.get(strategy)
        is_open = template is not None and template.tree is root
        return (self.memoize_for_template if is_open else self.memoize)((key, id(root)), find)

    def open_operators(self, plan: Plan, make: Callable[[], PhysicalOperator]) -> PhysicalOperator:
        """Operators of a part of the plan for `estimates`, with open parameters as in `open_root`."""
        _, tree = self.memoize_for_template(("operators", id(plan)), lambda: (plan, make()))
        if not self.values or self._assumes(self._fragments_in(tree)):
            return tree
        template = self.memoize_for_template(("template", id(plan)), lambda: _open(tree))
        operators: PhysicalOperator = self.memoize(("operators", id(plan)), lambda: template(self))
        return operators

    def _assumes(self, fragments: Iterable[Fragment]) -> bool:
        """Whether `estimates` know the values of fragments with open parameters; not where a value decides on one."""
        for fragment in fragments:
            pattern = self.fragment(fragment).pattern
            if isinstance(pattern, DeclinedPattern):
                return False
            self.estimates.assume(pattern, self.prepared(fragment))
        return True

    def _fragments_in(self, root: PhysicalOperator, known: Iterable[Fragment] = ()) -> tuple[Fragment, ...]:
        """The known fragments of some operators of the template, and those with parameters: also those in an EXISTS,
        which no plan node holds.
        """

        def find() -> tuple[Fragment, ...]:
            found = [*known, *(one.fragment for one in root.walk() if isinstance(one, FragmentTemplate))]
            return tuple({id(fragment): fragment for fragment in found}.values())

        return self.memoize_for_template(("open fragments", id(root)), find)

    def match_count_bound(self, match: ast.RankedItem) -> int:
        """Upper bound on the entities that match; 0 if the index rejects the query, which the run reports."""
        if self.text is None:
            return 0
        key = id(match)
        entry = self._bounds.get(key)
        if entry is None:
            try:
                bound = self.text.match_count_bound(ranked_query(self.bound(match)))
            except HybridkgError:
                bound = 0
            entry = self._bounds[key] = match, bound
        return entry[1]

    def read(self, match: ast.RankedItem, among: float | None = None) -> float:
        """Expected postings read for the top k among `among` candidates or all entities; 0 if the index rejects."""
        if isinstance(match, ast.Match) or self.text is None:
            return float(self.match_count_bound(match))
        try:
            return postings_read(self.text, self.question(match), among) if self.match_count_bound(match) else 0.0
        except HybridkgError:
            return 0.0


def _open(operators: PhysicalOperator) -> Substitution:
    """Operators with parameters, ready for the values of a planning, which has the ranked predicates with values."""
    return Substitution(operators, (RankValue,), (ast.Match, ast.Near))


_READ_WHOLE = (ast.PathRepeat, ast.Exists, ast.MinusPattern, ast.SubSelect)
"""Elements that an engine may have to evaluate completely before the first solution."""


def _has_constant(node: ast.Syntax) -> bool:
    match node:
        case ast.TriplePattern(subject, _, object_):
            return isinstance(subject, ast.Iri | ast.Lit) or isinstance(object_, ast.Iri | ast.Lit)
        case ast.InlineData():
            return True
    return False
