"""A run of one query: its steps under its limits, and the source of its errors."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from hybridkg.config.settings import LimitSettings
from hybridkg.errors import HybridkgError, SourceName
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.cancellation import StoppableThread
from hybridkg.kb.damage import may_be_damage, raise_if_damaged
from hybridkg.kb.limits import Limits, checked_limit
from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.query_template import BoundQuery
from hybridkg.planner.choose import PhysicalPlan
from hybridkg.rdf.solutions import Solutions
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.planner.explain import Explanation

P = ParamSpec("P")
T = TypeVar("T")


class QueryRun:
    """The steps of one run, inside its `with` block.

    A HybridkgError leaves the block with the query text as its source; any other error leaves it after the files have
    been compared with their checksums (kb/damage.py), with `progress`. Each step may raise QueryStoppedError.

    Raises:
        UserError: an option is out of range.
    """

    def __init__(
        self,
        session: QuerySession,
        source: SourceName,
        options: QueryOptions,
        defaults: LimitSettings,
        progress: Progress,
    ):
        self._session, self._source, self._progress = session, source, progress
        self._limit, self._strategy = checked_limit(options.limit, options.strategy), options.strategy
        limits = Limits.of(defaults, options.timeout, options.max_rows, options.max_megabytes)
        self._context = limits.apply_to(session.snapshot.context())
        self._timeout, self._cancel = limits.timeout, options.cancel
        self._thread: StoppableThread | None = None
        self._query: BoundQuery | None = None

    def __enter__(self) -> Self:
        if self._timeout or self._cancel is not None:
            thread = StoppableThread(timeout=self._timeout, cancel=self._cancel, doing=self._context.doing)
            self._thread, self._context.meter = thread, thread.meter
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.close()
        if isinstance(error, HybridkgError):
            if self._query is not None:
                self._query.wording.own(error)
            error.at(self._source)
        elif error is not None and may_be_damage(error):
            raise_if_damaged(self._session.snapshot.generation, error, self._progress)

    def _step(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls `work`, in the stoppable thread where the run has a time limit or can be cancelled."""
        return work(*args, **kwargs) if self._thread is None else self._thread(work, *args, **kwargs)

    def plan(self, text: ParsedQuery, params: Parameters | None, *, services: bool) -> tuple[BoundQuery, PhysicalPlan]:
        """Binds the parameters and chooses the physical plan; `services` allows SERVICE."""
        self._query = None  # an error of `bind` has the words of the text already, also after an earlier attempt
        query = self._query = self._step(self._session.bind, text, params, services=services)
        return query, self._step(self._session.plan, query, self._limit, self._strategy)

    def explain(self, query: BoundQuery, plan: PhysicalPlan, *, analyze: bool) -> Explanation:
        """Explains the plan; with `analyze`, runs it."""
        return self._step(self._session.explanation, query, plan, self._context if analyze else None)

    def execute(self, query: BoundQuery, plan: PhysicalPlan) -> Solutions:
        """Runs the plan."""
        return self._step(self._session.run, query, plan, self._context)

    def result(self, query: BoundQuery, plan: PhysicalPlan, solutions: Solutions) -> ResultSet:
        """Makes the result of the solutions."""
        return self._step(self._session.result, query, plan, solutions, self._context, self._limit, self._source)
