"""What one state of a knowledge base need not do again for a query that has been asked before: its plan, its warnings."""

from __future__ import annotations

from pathlib import Path

from hybridkg.errors import QueryWarning
from hybridkg.operators.context import ExecutionContext
from hybridkg.planner.choose import PhysicalPlan, choose, with_limit
from hybridkg.prepared import Parameters, QueryText, Recent, Request, Template
from hybridkg.query import ast
from hybridkg.query.holes import Value
from hybridkg.results.shortfall import matches_something
from hybridkg.snapshot import Snapshot

MOST_PLANS = 64
"""Queries, with the values of their parameters, whose plan is remembered."""

PlanKey = tuple[Template, tuple[Value, ...], int | None, str | None]


class Remembered:
    """The plans and warnings of one state. Safe to use from many threads."""

    def __init__(self, snapshot: Snapshot):
        self.snapshot = snapshot
        self._plans: Recent[PlanKey, tuple[Request, PhysicalPlan]] = Recent(MOST_PLANS)
        self._warnings: Recent[Template, tuple[QueryWarning, ...]] = Recent(MOST_PLANS)

    def planned(
        self,
        known: QueryText,
        params: Parameters | None,
        limit: int | None,
        strategy: str | None,
        *,
        folder: Path,
        services: bool,
    ) -> tuple[Request, PhysicalPlan]:
        """The query with its parameters in place, and its plan; for the same values the one that has run before.

        Args:
            known: the query.
            params: values of its variables.
            limit: rows wanted at most, beside the query's own LIMIT.
            strategy: a name of STRATEGIES, or None.
            folder: that of the knowledge base.
            services: whether queries may ask other endpoints.
        """
        request = known.request(params, folder=folder, services=services)
        if not request.template.is_kept:
            return request, self._chosen(request, limit, strategy)
        key = request.template, request.values, limit, strategy
        kept = self._plans.get(key)
        if kept is None:
            kept = request, self._chosen(request, limit, strategy)
            self._plans.put(key, kept)
        return kept

    def _chosen(self, request: Request, limit: int | None, strategy: str | None) -> PhysicalPlan:
        return choose(with_limit(request.logical, limit), self.snapshot.planning(), strategy)

    def warnings(
        self, request: Request, matches: tuple[ast.Match, ...], context: ExecutionContext
    ) -> list[QueryWarning]:
        """What the query probably does not mean, in the order of the text.

        Args:
            request: the query.
            matches: its MATCHes, parameters in place.
            context: of its run.
        """
        advisor, template = self.snapshot.advisor, request.template
        keeps = template.is_kept and not template.names_are_given
        names = self._warnings.get(template) if keeps else None
        if names is None:
            names = tuple(advisor.names(request.query))
            if keeps:
                self._warnings.put(template, names)
        texts = advisor.texts(matches, lambda match: matches_something(match, matches, context))
        found = [*template.advice, *names, *texts, *advisor.asked(context.query_strings)]
        return sorted(found, key=lambda warning: warning.span.start if warning.span else 0)
