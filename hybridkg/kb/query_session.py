"""From a query that has been read to its result, over one state of a knowledge base.

What a query that has been asked before need not do again is remembered here: its plan, and its warnings.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.reranking import below_rerank
from hybridkg.errors import QueryWarning, SourceName, StorageError
from hybridkg.interfaces.parameter import UnboundParameterError
from hybridkg.kb.prepared import BoundQuery, LruCache, Parameters, ParsedQuery, QueryTemplate
from hybridkg.kb.snapshot import Snapshot
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.text_query import checked_index
from hybridkg.planner.choose import PhysicalPlan, choose, with_limit
from hybridkg.planner.plan_template import PlanTemplate
from hybridkg.query import ast
from hybridkg.query.services import blamed
from hybridkg.rdf.solutions import Solutions
from hybridkg.results.build import build_result
from hybridkg.results.result_set import ResultSet
from hybridkg.results.shortfall import has_words

if TYPE_CHECKING:
    from hybridkg.planner.explain import Explanation

MAX_PLANS = 64
"""Queries, with the values of their parameters, whose plan is remembered."""

PlanKey = tuple[QueryTemplate, tuple[ast.Value, ...], int | None, str | None, int]
"""The last of them is how often unit costs have changed by much, so that such plans are chosen anew."""


class QuerySession:
    """Answers queries from one state. Safe to use from many threads.

    Args:
        snapshot: the state.
        folder: that of the knowledge base, with files of model parameters.
    """

    def __init__(self, snapshot: Snapshot, folder: Path):
        self.snapshot, self._folder = snapshot, folder
        self._plans: LruCache[PlanKey, PhysicalPlan] = LruCache(MAX_PLANS)
        self._templates: LruCache[tuple[QueryTemplate, int | None, str | None], tuple[Plan, PlanTemplate]] = LruCache(
            MAX_PLANS
        )
        self._names: LruCache[QueryTemplate, tuple[QueryWarning, ...]] = LruCache(MAX_PLANS)

    def bind(self, text: ParsedQuery, params: Parameters | None, *, services: bool) -> BoundQuery:
        """The query with values for its parameters, as a logical plan.

        Args:
            text: the query.
            params: values of its variables.
            services: whether it may ask other endpoints.

        Raises:
            HybridkgError: SERVICE without leave, a parameter that cannot be bound, a combination without engine.
        """
        return text.request(params, folder=self._folder, services=services)

    def plan(self, request: BoundQuery, limit: int | None, strategy: str | None) -> PhysicalPlan:
        """The plan of a query; for the same values, limit and strategy the one that has run before.

        Args:
            request: the query with its parameters in place.
            limit: rows wanted at most, beside the query's own LIMIT.
            strategy: a name of STRATEGIES; None for the best.
        """
        if not request.template.is_kept:
            return self._chosen(request, limit, strategy)
        key = request.template, request.values, limit, strategy, self.snapshot.costs.epoch
        plan = self._plans.get(key)
        if plan is None:
            plan = self._chosen(request, limit, strategy)
            self._plans.put(key, plan)
        return plan

    def _chosen(self, request: BoundQuery, limit: int | None, strategy: str | None) -> PhysicalPlan:
        """The plan for these values, with what it has in common with those for other values."""
        logical = request.template.logical
        # A RERANK with parameters in it is planned anew: that takes nothing beside what the reranker does.
        if request.template.is_kept and request.values and below_rerank(logical) is None:
            key = request.template, limit, strategy
            kept = self._templates.get(key)
            if kept is None:
                kept = with_limit(logical, limit), PlanTemplate(has_parameters=True)
                self._templates.put(key, kept)
            try:
                return choose(kept[0], self.snapshot.planning(request.values, kept[1]), strategy)
            except UnboundParameterError:
                pass
        return choose(with_limit(request.logical, limit), self.snapshot.planning(), strategy)

    def run(self, request: BoundQuery, plan: PhysicalPlan, context: ExecutionContext) -> Solutions:
        """What the root operator gives."""
        try:
            return context.run_plan(plan.root)
        except StorageError as e:
            raise blamed(e, request.query) from e.__cause__

    def explanation(self, request: BoundQuery, plan: PhysicalPlan, context: ExecutionContext | None) -> Explanation:
        """The plan; with a context, run in it.

        Raises:
            UnknownNameError: a field or an argument that does not exist; the span points at it.
        """
        from hybridkg.planner.explain import Explanation, Ran

        if context is not None:
            self.run(request, plan, context)
        elif self.snapshot.ranked is not None:
            for item in request.matches:
                checked_index(self.snapshot.ranked, item)
        ran = None if context is None else Ran.of(context)
        endpoint = self.snapshot.endpoint
        known = EstimationContext(self.snapshot.ranked, self.snapshot.graph, "endpoint" if endpoint else "Oxigraph")
        return Explanation(plan, known, self.snapshot.cost, ran, request.template.query.prefixes, endpoint)

    def result(
        self,
        request: BoundQuery,
        plan: PhysicalPlan,
        solutions: Solutions,
        context: ExecutionContext,
        limit: int | None,
        source: SourceName,
    ) -> ResultSet:
        """The rows, with all that can be asked about them.

        Args:
            request: what was asked.
            plan: how it was run.
            solutions: what that gave.
            context: of the run.
            limit: as in `plan`.
            source: of the text, for warnings.
        """
        matches, generation = request.matches, self.snapshot.generation
        texts = self.snapshot.advisor.texts(matches, lambda match: has_words(match, matches, context))
        asked = self.snapshot.advisor.asked(context.query_strings)
        found = [*request.template.advice, *self._name_warnings(request), *texts, *asked, *context.warnings]
        found.sort(key=lambda warning: warning.span.start if warning.span else 0)
        return build_result(
            request.template.shape,
            lambda: request.query,
            lambda: plan.logical,
            solutions,
            matches=matches,
            context=context,
            strategy=plan.strategy,
            limit=limit,
            generation=generation.name,
            stale_indexes=generation.behind(),
            warnings=tuple(warning.copy().at(source) for warning in found),
        )

    def _name_warnings(self, request: BoundQuery) -> tuple[QueryWarning, ...]:
        """What is wrong with its predicates and classes: for a text the same at each time, unless they are given."""
        template = request.template
        keeps = template.is_kept and not template.names_are_given
        known = self._names.get(template) if keeps else None
        if known is None:
            known = tuple(self.snapshot.advisor.names(request.query))
            if keeps:
                self._names.put(template, known)
        return known
