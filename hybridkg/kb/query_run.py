"""A run of one query: its steps under its limits, and the source of its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from hybridkg.config.settings import Config
from hybridkg.errors import HybridkgError, QueryLimitError, QueryStoppedError, SourceName, UserError
from hybridkg.interfaces.meter import ManyEntriesError, NotBriefError
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.blank_aggregates import blank_cells
from hybridkg.kb.brief_run import briefly, is_planned_here, most_entries
from hybridkg.kb.cancellation import StoppableThread, forget_frames
from hybridkg.kb.damage import may_be_damage, raise_if_damaged
from hybridkg.kb.known_names import with_known_names
from hybridkg.kb.limits import Limits, checked_limit
from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.query_template import BoundQuery
from hybridkg.kb.second_look import blank_warnings
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.row_cursor import RowCursor
from hybridkg.planner.choose import PhysicalPlan
from hybridkg.rdf.solutions import Solutions
from hybridkg.results.build import explained
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.planner.explain import Explanation

P = ParamSpec("P")
T = TypeVar("T")


class QueryRun:
    """The steps of one run, inside its `with` block.

    A HybridkgError leaves the block with the query text as its source; any other error leaves it after the files have
    been compared with their checksums (kb/damage.py), with `progress`. Each step may raise QueryStoppedError.

    Args:
        stays_open: whether the run may last longer than the block, for rows that are read later; `close` then ends it.
        explains_blanks: whether a blank cell of an aggregate is worth a second look (kb/second_look.py).

    Raises:
        UserError: an option is out of range.
    """

    def __init__(
        self,
        session: QuerySession,
        text: str | ParsedQuery,
        options: QueryOptions,
        settings: Config,
        progress: Progress,
        *,
        stays_open: bool = False,
        explains_blanks: bool = True,
    ):
        self._explains_blanks = explains_blanks
        self._session, self._progress, self._stays_open = session, progress, stays_open
        self._text, self._options, self._settings = text, options, settings
        self.prefixes = session.snapshot.prefixes
        """Those that the text need not declare."""
        self._allows_services = settings.service == "allow"
        self._limit, self._strategy = checked_limit(options.limit, options.strategy), options.strategy
        self._limits = limits = Limits.of(settings.limits, options.timeout, options.max_rows, options.max_megabytes)
        self.context = limits.apply_to(session.snapshot.context())
        self._timeout, self._cancel = limits.timeout, options.cancel
        self._thread: StoppableThread | None = None
        self._is_brief = False
        self._query: BoundQuery | None = None
        self._cursor: RowCursor | None = None
        self._began_at = self._paused_at = 0.0
        self._has_failed = False

    def __enter__(self) -> Self:
        # Rows that are read later may be read from any thread, but an answer of Oxigraph belongs to one.
        if self._timeout or self._cancel is not None or self._stays_open:
            thread = StoppableThread(timeout=self._timeout, cancel=self._cancel, doing=self._doing)
            self._thread, self.context.meter = thread, thread.meter
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._fail(error)
        elif not self._stays_open:
            self.close()

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """A later step of a run that stays open; its errors leave it as they leave the block of the run."""
        try:
            yield
        except BaseException as e:
            self._fail(e)
            raise

    def _fail(self, error: BaseException) -> None:
        if self._has_failed:
            return  # the error has its source
        self._has_failed = True
        self.close()
        if isinstance(error, HybridkgError):
            forget_frames(error)
            with_known_names(error, self._session.snapshot)
            if self._query is not None:
                self._query.wording.own(error)
            error.at(self._source())
        elif may_be_damage(error):
            raise_if_damaged(self._session.snapshot.generation, error, self._progress)

    def close(self) -> None:
        """Ends the run; called once or more."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.close(None if self._cursor is None else self._cursor.close)

    def _source(self) -> SourceName:
        return source_of(self._options.name, self._text)

    def _doing(self) -> str:
        return self.context.doing()

    def _step(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls `work`; in the stoppable thread if the run has a time limit or can be cancelled, and is not brief."""
        if self._thread is None or self._is_brief:
            return work(*args, **kwargs)
        return self._thread(work, *args, **kwargs)

    def plan(self, text: ParsedQuery, params: Parameters | None) -> tuple[BoundQuery, PhysicalPlan]:
        """Binds the parameters and chooses the physical plan."""
        self._query = None  # an error of `bind` has the words of the text already, also after an earlier attempt
        services = self._allows_services and text.has_service
        query = self._query = self._session.bind(text, params, services=services)
        if self._thread is None or is_planned_here(query.template, self._session.snapshot):
            return query, self._session.plan(query, self._limit, self._strategy)
        return query, self._step(self._session.plan, query, self._limit, self._strategy)

    def explain(self, query: BoundQuery, plan: PhysicalPlan, *, analyze: bool) -> Explanation:
        """Explains the plan; with `analyze`, runs it."""
        return self._step(self._session.explanation, query, plan, self.context if analyze else None)

    def answer(
        self,
        text: ParsedQuery,
        params: Parameters | None,
        made: Callable[[BoundQuery, PhysicalPlan], T],
    ) -> T | ResultSet:
        """The value of `made` for the plan, or the plan of an EXPLAIN; an error is in the words of the text."""
        try:
            return self._answer(text, params, made)
        except QueryLimitError:
            raise
        except UserError:
            if text.alone is text:
                raise
            # The same error, in the words and at the places of this text.
            return self._answer(text.alone, params, made)

    def _answer(
        self, text: ParsedQuery, params: Parameters | None, made: Callable[[BoundQuery, PhysicalPlan], T]
    ) -> T | ResultSet:
        query, plan = self.plan(text, params)
        if explain := query.template.written.explain:
            return explained(self.explain(query, plan, analyze=explain == "analyze"))
        return made(query, plan)

    def execute(self, query: BoundQuery, plan: PhysicalPlan) -> ResultSet:
        """Runs the plan; returns all rows."""
        self._began_at = monotonic()
        solutions = self._briefly(query, plan)
        if solutions is not None:
            return self.result(query, plan, solutions)
        # One step: to hand over to the other thread and back takes 0.05 ms (2-core machine).
        solutions, result = self._step(self._ran, query, plan)
        return self._explained(result, query, solutions)

    def _ran(self, query: BoundQuery, plan: PhysicalPlan) -> tuple[Solutions, ResultSet]:
        solutions = self._session.run(query, plan, self.context)
        return solutions, self._made(query, plan, solutions)

    def _briefly(self, query: BoundQuery, plan: PhysicalPlan) -> Solutions | None:
        """Runs the plan in this thread, if it is brief; None if it is not, as may turn out on the way."""
        if self._thread is None:
            return None
        session, template = self._session, query.template
        reads_many = session.reads_many.get(template) is not None
        most = most_entries(template, plan, session.snapshot, reads_many=reads_many)
        if not most:
            return None
        self._is_brief = True
        try:
            return briefly(partial(session.run, query, plan), self.context, most)
        except NotBriefError as e:
            self._is_brief = False
            self.context = self._limits.apply_to(session.snapshot.context())
            self.context.meter = self._thread.meter
            self.context.meter.counts.clear()
            if not isinstance(e, ManyEntriesError):
                return None
        session.reads_many.put(template, True)
        return self._briefly(query, plan)

    def result(self, query: BoundQuery, plan: PhysicalPlan, solutions: Solutions, *, are_all: bool = True) -> ResultSet:
        """Makes the result of the solutions; `are_all` is whether no more follow, whose cells may be blank as well."""
        result = self._step(self._made, query, plan, solutions)
        return self._explained(result, query, solutions) if are_all else result

    def _made(self, query: BoundQuery, plan: PhysicalPlan, solutions: Solutions) -> ResultSet:
        context = self.context
        # Not self, which has the thread.
        of_rows = self._session, self._text, self._options, self._settings, self._progress

        def within(work: Callable[[ExecutionContext], T]) -> T:
            """Work on the rows of a result: a run with the limits of the query, and the whole time limit again."""
            with QueryRun(*of_rows) as run:
                return run.resume(work, query, context)

        return self._session.result(query, plan, solutions, context, self._limit, self._source, within)

    def _explained(self, result: ResultSet, query: BoundQuery, solutions: Solutions) -> ResultSet:
        """The result with the warnings about blank cells of aggregates, where they are wanted."""
        aggregates = query.template.aggregates
        blank = blank_cells(aggregates, solutions) if aggregates and self._explains_blanks else {}
        if not blank:
            return result
        found = blank_warnings(
            self._session,
            query,
            blank,
            len(result),
            limits=self._limits,
            cancel=self._cancel,
            spent=monotonic() - self._began_at,
            deadline=self.context.meter.deadline,
        )
        warnings = [*result.warnings, *(warning.at(self._source()) for warning in found)]
        warnings.sort(key=lambda warning: warning.span.start if warning.span else 0)
        return replace(result, warnings=tuple(warnings))

    def resume(self, work: Callable[[ExecutionContext], T], query: BoundQuery, context: ExecutionContext) -> T:
        """Does some work with the context of an earlier run of a query, whose limits are those of this run."""
        self._query, context = query, copy(context)
        context.meter = self.context.meter
        try:
            return self._step(work, context)
        except QueryStoppedError as e:
            e.doing = "the explanation of a row"
            raise

    def open(self, query: BoundQuery, plan: PhysicalPlan) -> tuple[str, ...] | None:
        """Starts a plan whose rows `next_block` returns; the names of its columns, None if it cannot be read so."""
        self._began_at = monotonic()
        self._cursor = RowCursor(plan.root, self.context)
        return self._step(self._session.open, query, self._cursor)

    def next_block(self) -> tuple[Solutions, bool]:
        """The next rows of the plan that `open` started, and whether they are the last.

        The time since the block before does not count: it went by while rows were written.
        """
        assert self._cursor is not None
        assert self._query is not None
        if self._thread is None:
            raise UserError(
                "this query has been ended, and gives no more rows",
                hint="read the rows inside the block: with kb.stream(...) as result: ...",
            )
        if self._paused_at:
            self._thread.prolong(monotonic() - self._paused_at)
        block = self._step(self._session.next_block, self._query, self._cursor)
        self._paused_at = monotonic()
        return block, block.size < self._cursor.size


def source_of(name: str, text: str | ParsedQuery) -> SourceName:
    """The text that the places of errors point into, and its name."""
    return SourceName(name, text.text if isinstance(text, ParsedQuery) else text)
