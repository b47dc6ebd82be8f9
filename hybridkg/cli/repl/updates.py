"""Updates in a session: what would change is counted first, and a large change is asked about."""

from __future__ import annotations

import time
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from hybridkg.cli.repl.session import Session, WithPrefixes
from hybridkg.errors import HybridkgError, QuerySyntaxError, SourceName, UserError
from hybridkg.query.text_kind import query_keyword

if TYPE_CHECKING:
    from hybridkg.kb.write.reports import UpdateReport

MAX_UNASKED = 1_000
"""Entities that an update may change without a question."""


def run_update(session: Session, text: str, name: str = "update", *, typed: str = "") -> None:
    """Runs an update with the missing prefixes of the session added, and shows what has changed.

    `typed` is the input to show in errors, if it is more than the update; it has the same length.

    Raises:
        HybridkgError: any mistake; or it would change many entities, and nobody can be asked. Nothing has changed.
    """
    name = "update" if name == "query" else name
    keyword = query_keyword(text)
    if keyword is not None:
        hint, source = "a query needs no command: type it alone", SourceName(name, typed or text)
        raise QuerySyntaxError("this is a query", hint=hint, span=keyword, source=source)
    full = WithPrefixes.of(session, text, SourceName(name, typed or text))
    begin = time.perf_counter()
    options: dict[str, Any] = {"name": name, "timeout": session.timeout}
    try:
        report = session.runner(partial(session.kb.update, full.text, dry_run=True, cancel=Event(), **options))
        if report.explanation is None and (report.added or report.removed):
            if not _is_wanted(session, report):
                session.screen.say("nothing has been changed")
                return
            begin = time.perf_counter()
            report = session.runner(partial(session.kb.update, full.text, cancel=Event(), **options))
            session.forget_names()
    except HybridkgError as e:
        raise full.as_typed(e) from e.__cause__
    session.tell_of_own_prefixes(text)
    session.remember_prefixes(text)
    for warning in report.warnings:
        session.screen.say(full.as_typed(warning).render())
    if report.explanation is not None:
        session.show_plan(report.explanation)
        return
    milliseconds = (time.perf_counter() - begin) * 1000
    for line in report.lines():
        session.screen.say(line)
    if report.is_behind:
        why = f" ({report.not_followed})" if report.not_followed else ""
        session.screen.say(f"note: the change is not searchable yet{why}; run: hybridkg index {session.place}")
    if session.kb.load_report is not None:
        session.screen.say("note: this knowledge base is temporary, and so is the change: the file stays as it is")
    session.screen.say(f"{milliseconds:,.1f} ms")


def _is_wanted(session: Session, report: UpdateReport) -> bool:
    """Whether the user wants a large change.

    Raises:
        UserError: nobody can be asked.
    """
    if report.entities <= MAX_UNASKED:
        return True
    counts = f"{report.added:,} triples added, {report.removed:,} removed, {report.entities:,} entities changed"
    answer = session.screen.ask(f"{counts}; do it? [y/N] ")
    if answer is None:
        raise UserError(
            f"this update would change {report.entities:,} entities, and there is no terminal to ask about it",
            hint=f"hybridkg update {session.place} ... asks nothing",
        )
    return answer
