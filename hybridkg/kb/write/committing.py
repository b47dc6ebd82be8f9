"""Group commit: requests that wait for one another in a process share a commit.

The thread that gets its turn runs the requests of all that wait, in their order, and commits once; each caller has its
own answer or error. So a hundred threads wait for two commits, not for a hundred (as in DeWitt et al., SIGMOD 1984).
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from hybridkg.kb.write.open_transaction import Committed
from hybridkg.kb.write.reports import UpdateReport
from hybridkg.kb.write.transaction_state import TransactionState
from hybridkg.storage.durable import storage_error

MAX_REQUESTS = 64
"""Requests of a commit."""

MAX_TRIPLES = 10_000
"""Changed triples of a commit, after which no further request joins it."""

Request: TypeAlias = Callable[[TransactionState], UpdateReport]

Begin: TypeAlias = Callable[[], AbstractContextManager[tuple[TransactionState, Committed]]]


@dataclass(eq=False)
class _Waiting:
    request: Request
    begin: Begin
    key: Hashable
    report: UpdateReport | None = None
    error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self.report is not None or self.error is not None


class CommitQueue:
    """The requests of one process that wait to write into one knowledge base."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._turn = threading.Lock()

    def run(self, request: Request, begin: Begin, key: Hashable) -> UpdateReport:
        """Runs a request in a commit of its own, or in one with others of the same key.

        Args:
            request: changes the state of a transaction; what it raises leaves the others alone.
            begin: begins the transaction.
            key: the options of the transaction; only requests with equal ones share a commit.

        Raises:
            HybridkgError: the error of the request, or of the commit.
        """
        mine = _Waiting(request, begin, key)
        self._waiting.append(mine)
        try:
            with self._turn:
                while not mine.is_done:
                    self._commit()
        except BaseException:
            if not mine.is_done and mine in self._waiting:
                self._waiting.remove(mine)
            raise
        if mine.error is not None:
            raise mine.error
        assert mine.report is not None
        return mine.report

    def _commit(self) -> None:
        """Runs the requests that wait, up to the limits, in one commit."""
        group: list[_Waiting] = []
        outcome: Committed | None = None
        try:
            with self._waiting[0].begin() as (state, outcome):
                while self._waiting and self._waiting[0].key == (group or self._waiting)[0].key:
                    if len(group) == MAX_REQUESTS or sum(state.graph.size()) > MAX_TRIPLES:
                        break
                    group.append(self._waiting.popleft())
                    _run(group[-1], state)
        except Exception as e:
            if not group:
                group.append(self._waiting.popleft())
            for one in group:
                if one.error is None:
                    one.report, one.error = None, _copied(e)
            return
        except BaseException:  # of this thread alone
            if outcome is not None and outcome.is_live():
                _complete(group, outcome)  # it came after the commit, which must not be done twice
                raise
            for one in reversed(group):  # the others are still to be done
                one.report = one.error = None
                self._waiting.appendleft(one)
            raise
        _complete(group, outcome)


def _complete(group: Sequence[_Waiting], outcome: Committed) -> None:
    """Adds what the commit has done to the reports of its requests."""
    for one in group:
        if one.report is not None:
            one.report = replace(
                one.report,
                index=outcome.index,
                is_behind=outcome.is_behind,
                not_followed=outcome.not_followed,
            )


def _copied(error: Exception) -> Exception:
    """The error of a commit for one of its requests, whose traceback is its own; the same where it has no copy."""
    try:
        return copy.copy(error)
    except Exception:
        return error


def _run(one: _Waiting, state: TransactionState) -> None:
    try:
        one.report = one.request(state)
    except OSError as e:
        one.error = storage_error(e, f"writing to {str(state.folder.path)!r}")
    except Exception as e:
        one.error = e


_queues: dict[Path, CommitQueue] = {}
_registering = threading.Lock()


def queue_of(folder: Path) -> CommitQueue:
    """The queue of a knowledge base in this process."""
    with _registering:
        return _queues.setdefault(folder.resolve(), CommitQueue())
