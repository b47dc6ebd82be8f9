"""The commits of the facade: an update request, and a transaction of a `with` block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from hybridkg.compute.garbage_collector import collector_paused
from hybridkg.kb.parsed_query import Parameters
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.committing import queue_of
from hybridkg.kb.write.explaining import UpdateExplanation, explained_update
from hybridkg.kb.write.open_transaction import Transaction, TransactionOptions, begun, report_of
from hybridkg.kb.write.reports import UpdateReport
from hybridkg.kb.write.transaction_state import TransactionState
from hybridkg.kb.write.updating import UpdateOptions, UpdateRun, checked_update
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.writer_lock import refuse_nested


def run_update(
    folder: Folder,
    live: Snapshot,
    text: str,
    params: Parameters | None,
    options: UpdateOptions,
    how: TransactionOptions,
) -> UpdateReport:
    """Runs a request in a commit, perhaps with others of this process; see `KnowledgeBase.update`.

    The garbage collector is paused while the request works, not while it waits for other writers: it would look through
    the syntax tree of 10,000 triples again and again, 40 ms of a commit.
    """
    with collector_paused():
        update = checked_update(text, params, options.name, live.prefixes)
    if update.explain:
        plans = explained_update(update, text, options, folder, lambda _: live, analyze=update.explain == "analyze")
        return UpdateReport(0, 0, 0, is_behind=bool(live.generation.behind()), explanation=plans)
    refuse_nested(folder.path)

    @collector_paused()
    def request(state: TransactionState) -> UpdateReport:
        run = UpdateRun(state, update, text, options)
        run.run()
        return replace(report_of(run, state), is_dry_run=how.dry_run)

    key = (how.index, how.wait, id(how)) if how.dry_run else (how.index, how.wait)
    return queue_of(folder.path).run(request, lambda: begun(folder, live, how), key)


def explain_update(
    folder: Folder, live: Snapshot, text: str, params: Parameters | None, options: UpdateOptions, *, analyze: bool
) -> UpdateExplanation:
    """The plans of a request; see `KnowledgeBase.explain_update`."""
    update = checked_update(text, params, options.name, live.prefixes)
    analyze = analyze or update.explain == "analyze"
    return explained_update(update, text, options, folder, lambda _: live, analyze=analyze)


@contextmanager
def transaction(folder: Folder, live: Snapshot, how: TransactionOptions) -> Iterator[Transaction]:
    """A transaction of a `with` block; see `KnowledgeBase.transaction`."""
    refuse_nested(folder.path)
    with begun(folder, live, how) as (state, outcome):
        open_transaction = Transaction(state)
        try:
            yield open_transaction
        finally:
            open_transaction.end()
        report = open_transaction.report_of_all(state)
    open_transaction.report = replace(
        report,
        index=outcome.index,
        documents=outcome.documents,
        is_behind=outcome.is_behind,
        not_followed=outcome.not_followed,
        is_dry_run=how.dry_run,
    )
