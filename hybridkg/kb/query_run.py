"""One run of a query: the limits that its steps keep, and the form in which its errors leave it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from hybridkg.config.settings import LimitSettings
from hybridkg.errors import HybridkgError, SourceName
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.cancellation import StoppableThread
from hybridkg.kb.damage import may_be_damage, raise_if_damaged
from hybridkg.kb.limits import Limits, rows_wanted
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_session import QuerySession

P = ParamSpec("P")
T = TypeVar("T")


class QueryRun:
    """The state of one run, and a `with` block around its steps.

    An error of the family leaves the block with the query text as its source; any other one only after the files have
    been compared with their checksums (kb.damage).

    Args:
        session: the state of the knowledge base that answers.
        source: the query text.
        options: of the caller.
        settings: of kb.toml, for what the caller leaves open.
        progress: of a comparison of checksums.

    Raises:
        UserError: an option is out of range.
    """

    def __init__(
        self,
        session: QuerySession,
        source: SourceName,
        options: QueryOptions,
        settings: LimitSettings,
        progress: Progress,
    ):
        self.session, self.source, self._progress = session, source, progress
        self.limit, self.strategy = rows_wanted(options.limit, options.strategy), options.strategy
        limits = Limits.of(settings, options.timeout, options.max_rows, options.max_megabytes)
        self.context = limits.apply_to(session.snapshot.context())
        self._timeout, self._cancel = limits.timeout, options.cancel
        self._thread: StoppableThread | None = None

    def __enter__(self) -> Self:
        if self._timeout or self._cancel is not None:
            thread = StoppableThread(timeout=self._timeout, cancel=self._cancel, doing=self.context.doing)
            self._thread, self.context.meter = thread, thread.meter
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.close()
        if isinstance(error, HybridkgError):
            error.at(self.source)
        elif error is not None and may_be_damage(error):
            raise_if_damaged(self.session.snapshot.generation, error, self._progress)

    def step(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The value of `work(*args, **kwargs)`, in a thread of its own where time or an event may end it.

        Raises:
            QueryStoppedError: the query has taken too long, or has been cancelled; says what it was at.
        """
        return work(*args, **kwargs) if self._thread is None else self._thread(work, *args, **kwargs)
