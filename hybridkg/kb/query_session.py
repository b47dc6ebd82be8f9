"""Execution of a parsed query over one state of a knowledge base, with caches of plans and warnings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.algebra.nodes import Plan
from hybridkg.entities.profile.labels import LABEL_PREDICATES
from hybridkg.errors import HybridkgError, QueryWarning, SourceName, Span, StorageError
from hybridkg.interfaces.parameter import UnboundParameterError
from hybridkg.kb.absent_constants import ends_of
from hybridkg.kb.blank_aggregates import MAX_WARNINGS, aggregate_columns
from hybridkg.kb.clock_cache import ClockCache
from hybridkg.kb.labels import Labels
from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.kb.query_template import BoundQuery, QueryTemplate
from hybridkg.kb.snapshot import Snapshot
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.row_cursor import RowCursor
from hybridkg.operators.text_query import checked_index
from hybridkg.planner.choose import PhysicalPlan, choose, with_limit
from hybridkg.planner.plan_template import PlanTemplate
from hybridkg.query import ast
from hybridkg.query.invalid_constants import warnings_about
from hybridkg.query.services import blamed
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal
from hybridkg.results.build import WithinLimits, build_result
from hybridkg.results.result_set import ResultSet
from hybridkg.results.shortfall import has_words

if TYPE_CHECKING:
    from hybridkg.planner.explain import Explanation

MAX_PLANS = 256
"""Capacity of each cache; plans are cached by query and parameter values."""

PlanKey = tuple[QueryTemplate, Hashable, int | None, str | None, int]
"""(template, identity of the values, limit, strategy, epoch); large changes of unit costs start an epoch, so plans are
chosen again.
"""

TemplateKey = tuple[QueryTemplate, int | None, str | None]
"""(template, limit, strategy)."""

Prefixes = tuple[tuple[str, str], ...]

Kinds = tuple[tuple[str | None, bool] | None, ...]
"""(datatype, whether it has a language) of each literal among the values of parameters, None for the others."""

NameWarnings = tuple[tuple[QueryWarning, ...] | None, tuple[QueryWarning, ...] | None]
"""Warnings about the names of a query, None where parameters stand for some, and about the kinds of its values."""


class QuerySession:
    """Thread-safe execution of queries over one state; `folder` is that of the knowledge base, with files of model
    parameters.
    """

    def __init__(self, snapshot: Snapshot, folder: Path):
        self.snapshot, self._folder = snapshot, folder
        self._labels = Labels(snapshot.store, snapshot.profile.labels if snapshot.profile else LABEL_PREDICATES)
        self._stale_indexes, self._generation = snapshot.generation.behind(), snapshot.generation.name
        self._plans: ClockCache[PlanKey, PhysicalPlan] = ClockCache(MAX_PLANS)
        self.reads_many: ClockCache[QueryTemplate, bool] = ClockCache(MAX_PLANS)
        """Templates of which a plan would have read more entries than a brief run without a price may."""
        self._templates: ClockCache[TemplateKey, tuple[Plan, PlanTemplate]] = ClockCache(MAX_PLANS)
        self._names: ClockCache[tuple[QueryTemplate, Prefixes, Kinds], NameWarnings] = ClockCache(MAX_PLANS)

    def bind(self, text: ParsedQuery, params: Parameters | None, *, services: bool) -> BoundQuery:
        """The query with values for its parameters, as a logical plan; `services` allows SERVICE.

        Raises:
            HybridkgError: a SERVICE that is not allowed, a parameter that cannot be bound, an unsupported combination.
        """
        return text.request(params, folder=self._folder, services=services)

    def plan(self, request: BoundQuery, limit: int | None, strategy: str | None) -> PhysicalPlan:
        """The plan of a query, cached by values, limit and strategy.

        limit is the maximum number of rows, in addition to the query's own LIMIT; strategy None selects the cheapest.
        """
        if not request.template.is_cached or request.repeats is False:
            return self._chosen(request, limit, strategy)
        key = request.template, request.identity, limit, strategy, self.snapshot.costs.epoch
        plan = self._plans.get(key)
        if plan is None:
            plan = self._chosen(request, limit, strategy)
            # A template makes the next plan for these values in .1 ms.
            (self._plans.put if request.repeats else self._plans.put_repeated)(key, plan)
        return plan

    def _chosen(self, request: BoundQuery, limit: int | None, strategy: str | None) -> PhysicalPlan:
        """The plan for these values; the template that it shares with other values is cached."""
        logical = request.template.logical
        if request.template.is_cached and request.values:
            key = request.template, limit, strategy
            cached = self._templates.get(key)
            # A RERANK with parameters is planned again: planning is negligible next to the reranker.
            if cached is None and not request.template.reranks:
                cached = with_limit(logical, limit), PlanTemplate(has_parameters=True)
                self._templates.put(key, cached)
            if cached is not None:
                planning = self.snapshot.planning(request.values, cached[1])
                planning.ranked = request.ranked
                try:
                    return choose(cached[0], planning, strategy)
                except UnboundParameterError:
                    pass
        return choose(with_limit(request.logical, limit), self.snapshot.planning(), strategy)

    def run(self, request: BoundQuery, plan: PhysicalPlan, context: ExecutionContext) -> Solutions:
        """The solutions of the root operator."""
        try:  # no `with`: a context manager takes 3 us
            return context.run_plan(plan.root)
        except StorageError as e:
            raise blamed(e, request.query) from e.__cause__

    def open(self, request: BoundQuery, cursor: RowCursor) -> tuple[str, ...] | None:
        """Starts the plan of a cursor; returns its columns, None if it can only return all rows at once."""
        with _naming_service(request):
            return cursor.open()

    def next_block(self, request: BoundQuery, cursor: RowCursor) -> Solutions:
        """The next rows of a cursor."""
        with _naming_service(request):
            return cursor.next_block()

    def explanation(self, request: BoundQuery, plan: PhysicalPlan, context: ExecutionContext | None) -> Explanation:
        """The plan; with a context, after a run in it.

        Raises:
            UnknownNameError: a field or an argument does not exist; the span is that of the name.
        """
        from hybridkg.planner.explain import Explanation, Ran

        if context is not None:
            self.run(request, plan, context)
        elif self.snapshot.ranked is not None:
            for item in request.matches:
                checked_index(self.snapshot.ranked, item)
        ran = None if context is None else Ran.of(context)
        endpoint = self.snapshot.endpoint
        estimates = EstimationContext(self.snapshot.ranked, self.snapshot.graph, "endpoint" if endpoint else "Oxigraph")
        return Explanation(
            plan, estimates, self.snapshot.cost, ran, tuple(self._prefixes_under(request).items()), endpoint
        )

    def result(
        self,
        request: BoundQuery,
        plan: PhysicalPlan,
        solutions: Solutions,
        context: ExecutionContext,
        limit: int | None,
        source: Callable[[], SourceName],
        within: WithinLimits,
    ) -> ResultSet:
        """The result set of a run; `limit` as in `plan`, `source` is the text for warnings, `within` explains rows."""
        matches, wording, shape = request.matches, request.wording, request.template.shape
        warnings = self._warnings(request, solutions, context, limit)
        return build_result(
            shape,
            lambda: request.query,
            lambda: plan.logical,
            solutions,
            matches=matches,
            context=context,
            within=within,
            strategy=plan.strategy,
            limit=limit,
            generation=self._generation,
            stale_indexes=self._stale_indexes,
            warnings=tuple([warning.at(source()) for warning in warnings]) if warnings else (),
            names=wording.names,
            prefixes=wording.prefixes,
            known=self.snapshot.prefixes,
            labels=self._labels,
        )

    def _warnings(
        self, request: BoundQuery, solutions: Solutions, context: ExecutionContext, limit: int | None
    ) -> list[HybridkgError]:
        """The warnings about a run, in the words and the order of the text; arguments as `result` has them."""
        matches, template, advisor, returned = request.matches, request.template, self.snapshot.advisor, solutions.size
        found = [*self._name_warnings(request)]
        if matches:
            found += advisor.texts(matches, lambda match: has_words(match, matches, context))
        if context.query_strings:
            found += advisor.asked(context.query_strings)
        found += context.warnings
        is_empty = not returned or (returned == 1 and _counts_nothing(template.query, solutions))
        if is_empty and limit != 0 and not template.shape.skips_rows:
            found += self._about_constants(request, found)
        cut = template.arbitrary if template.limit is not None and returned >= template.limit else ()
        if not (found or cut or template.advice):
            return []
        wording = request.wording
        own = [wording.own(warning.copy()) for warning in found]
        own += [warning.copy() for warning in wording.advice(template)]
        own += [wording.own(warning.copy()) for warning in cut]
        own.sort(key=lambda warning: warning.span.start if warning.span else 0)
        return own

    def _about_constants(self, request: BoundQuery, found: Sequence[QueryWarning]) -> list[QueryWarning]:
        """Warnings about constants, for a query without a row; those `found` say why a comparison never has a value."""
        ends, options, checked = request.suspects
        absent = self.snapshot.advisor.constants(ends_of(ends, options), lambda: self._prefixes_under(request))
        never = [warning.span for warning in found if warning.code == "W113"]
        warnings = [one for one in absent if not any(_is_inside(one.span, span) for span in never)]
        return [*warnings, *warnings_about(checked, is_oxigraph=not self.snapshot.endpoint)]

    def blank_aggregates(
        self, request: BoundQuery, blank: Mapping[str, int], rows: int, context: ExecutionContext
    ) -> list[HybridkgError]:
        """Warnings about aggregates without a value: why each column has its number of blank cells among the rows."""
        columns = [one for one in aggregate_columns(request.query) if one.column in blank]
        warnings = []
        for one in columns[:MAX_WARNINGS]:
            text = ParsedQuery.of(one.sampled(), "")
            sample = self.bind(text, None, services=False)
            solutions = self.run(sample, self._chosen(sample, None, None), context)
            if (warning := one.warning(solutions, blank[one.column], rows)) is not None:
                warnings.append(request.wording.own(warning))
        return warnings

    def _prefixes_under(self, request: BoundQuery) -> dict[str, str]:
        """All prefixes for abbreviations; those that the query declares or uses come first."""
        return self.snapshot.prefixes.under(request.wording.prefixes)

    def _name_warnings(self, request: BoundQuery) -> tuple[QueryWarning, ...]:
        """Warnings about predicates, classes and the kinds of values, cached as far as they do not read parameters."""
        template, prefixes, advisor = request.template, request.wording.prefixes, self.snapshot.advisor
        # Of values, the warnings about kinds read only the datatypes and languages.
        given = request.values[template.constants :]
        key = template, prefixes, tuple([_kind(value) for value in given]) if given else ()
        cached = self._names.get(key)
        names, kinds = (None, None) if cached is None else cached
        if names is None:
            names = tuple(advisor.names(request.names, lambda: self._prefixes_under(request)))
        if kinds is None:
            kinds = tuple(advisor.kinds(request.query, self._prefixes_under(request)))
        if cached is None and template.is_cached and "predicate" not in template.parameter_names:
            # A hint may quote a value, so the warnings of a query with values are made for each request.
            kept = None if kinds and request.values else kinds
            self._names.put(key, (None if template.parameter_names else names, kept))
        return (*names, *kinds)


def _is_inside(span: Span | None, other: Span | None) -> bool:
    return span is not None and other is not None and other.start <= span.start and span.end <= other.end


def _kind(value: ast.Value) -> tuple[str | None, bool] | None:
    return (value.datatype, value.language is not None) if isinstance(value, ast.Lit) else None


@contextmanager
def _naming_service(request: BoundQuery) -> Iterator[None]:
    """Names the SERVICE of the query that may be the cause of a failure of the store."""
    try:
        yield
    except StorageError as e:
        raise blamed(e, request.query) from e.__cause__


def _counts_nothing(query: ast.Query, solutions: Solutions) -> bool:
    """Whether the one row holds only aggregates without a group, as they are over no solution: 0, "" or no value."""
    form = query.form
    if not isinstance(form, ast.SelectQuery) or form.modifiers.group_by:
        return False
    own = [item.expression for item in form.projection or ()]
    if not own or not all(isinstance(one, ast.Aggregate) for one in own):
        return False
    (row,) = solutions.in_rows().rows
    return all(cell is None or (isinstance(cell, Literal) and cell.value in ("0", "0.0", "")) for cell in row)
