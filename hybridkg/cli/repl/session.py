"""The state of an interactive session, without a terminal: what is typed goes in, text comes out."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from shutil import get_terminal_size
from threading import Event, Lock
from typing import TYPE_CHECKING, Protocol, TextIO, TypeVar

from hybridkg.cli.repl.reading import COMMAND_LINE, QUERY_COMMAND, declared, read, statements, undeclared
from hybridkg.cli.repl.running import Runner, directly
from hybridkg.cli.repl.vocabulary import NOTHING, CompletionVocabulary, read_vocabulary
from hybridkg.errors import HybridkgError, SourceName, Span
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.rdf.well_known import WELL_KNOWN
from hybridkg.terminal_text import for_whom, printable, printable_json

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase
    from hybridkg.results.result_set import ExplainedPlan, ResultSet

T = TypeVar("T")

DEEPEST_LOAD = 10
"""Files that may `.load` one another; one that loads itself ends there."""

WORDS = {"quit": ".quit", "exit": ".quit", "help": ".help"}
"""What people type in any prompt. No query is a word alone."""


class Screen(Protocol):
    """Where a session writes."""

    def rows(self, write: Callable[[TextIO], None]) -> None:
        """Shows an answer; `write` puts it into a stream."""

    def say(self, text: str) -> None:
        """Shows what is no answer: errors, notes, timings."""


class Session:
    """One conversation with a knowledge base.

    Args:
        kb: what is asked.
        screen: where it writes.
        fmt: a name of OUTPUT_FORMATS.
        limit: rows of an answer at most; None for all.
        runner: runs what is no query; the default cannot be left by Ctrl-C while Oxigraph works.
        timeout: seconds that a query may take; 0 for no limit, None for what kb.toml says.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        screen: Screen,
        *,
        fmt: str = "table",
        limit: int | None = None,
        runner: Runner = directly,
        timeout: float | None = None,
    ):
        self.kb, self.screen, self.fmt, self.limit, self.runner = kb, screen, fmt, limit, runner
        self.timeout = timeout
        self.declared: dict[str, str] = {}
        self.vocabulary: CompletionVocabulary = NOTHING
        self.last_query = ""
        self.last_result: ResultSet | None = None
        self.failed = 0
        self.done = False
        self._depth = 0
        self._names_wanted = False
        self._reading_names = Lock()

    @property
    def prefixes(self) -> dict[str, str]:
        """Every prefix that a query may use undeclared: well known, of the data, and declared here, which wins."""
        return {**WELL_KNOWN, **dict(self.vocabulary.prefixes), **self.declared}

    def names(self) -> CompletionVocabulary:
        """The names in the data, read now if they have not been."""
        if self.vocabulary is NOTHING:
            self.runner(self._read_names)
        return self.vocabulary

    def names_later(self, start: Callable[[Callable[[], None]], object]) -> None:
        """Begins to read the names in the data, once, by what starts work in the background."""
        if not self._names_wanted:
            self._names_wanted = True
            start(self._try_to_read_names)

    def _try_to_read_names(self) -> None:
        with suppress(HybridkgError):  # who asks for the names later is told; completion does without
            self._read_names()

    def _read_names(self) -> None:
        with self._reading_names:
            if self.vocabulary is NOTHING:
                self.vocabulary = read_vocabulary(self.kb)

    def run(self, text: str) -> bool:
        """Runs one input, a query or a dot command; true where it worked. Errors are shown and counted.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        return self._run(text, "query", text)

    def run_all(self, text: str, name: str) -> bool:
        """Runs the queries and dot commands of a file one after the other, up to `.quit`; true where all worked."""
        failed = self.failed
        for statement in statements(text):
            # Blanks instead of what stands before keep the line and column of errors those of the file.
            before = text[: statement.start]
            column = len(before) - before.rfind("\n") - 1
            padding = "\n" * before.count("\n") + " " * column
            self._run(statement.text, name, padding + statement.text)
            if self.done:
                break
        return self.failed == failed

    def _run(self, text: str, name: str, whole: str) -> bool:
        from hybridkg.cli.repl.commands import run_command

        text = text.strip()
        text = WORDS.get(text.lower(), text)
        if not text:
            return True
        try:
            if COMMAND_LINE.match(text):
                run_command(self, text, name, whole)
            else:
                self.query(whole, name)
        except HybridkgError as e:
            self.screen.say(e.render())
            self.failed += 1
            return False
        return True

    def query(self, text: str, name: str = "query", *, typed: str = "", explain: str = "") -> None:
        """Answers a query and shows the rows.

        Args:
            text: the query; the session's prefixes are added where it needs them.
            name: what to call it in errors.
            typed: what to show in errors, where it is more than the query: as long, its end at the same offset.
            explain: `explain` or `analyze`, to show the plan instead.
        """
        from hybridkg.results.build import explained

        self.last_query = text.strip()
        header, at = self.header(text), _behind_explain(text)
        full, source = text[:at] + header + text[at:], SourceName(name, typed or text)
        begin = time.perf_counter()
        try:
            if explain:
                analyze = explain == "analyze"
                result = explained(
                    self.kb.explain(
                        full, limit=self.limit, analyze=analyze, name=name, timeout=self.timeout, cancel=Event()
                    )
                )
            else:
                # The event, which nobody sets, gives the query a thread of its own, so that Ctrl-C ends it at once.
                result = self.kb.query(full, limit=self.limit, name=name, timeout=self.timeout, cancel=Event())
        except HybridkgError as e:
            raise _without_header(e, source, full, at, len(header)) from e.__cause__
        milliseconds = (time.perf_counter() - begin) * 1000
        if result.explanation is None:
            self.last_result = result
        self._remember_prefixes(text)
        for warning in result.warnings:
            self.screen.say(_without_header(warning, source, full, at, len(header)).render())
        self.show(result, milliseconds)

    def header(self, text: str) -> str:
        """PREFIX lines, on one line, for the prefixes that a query uses, does not declare, and the session knows."""
        missing = undeclared(text)
        if any(name not in self.prefixes for name in missing):
            self.names()
        known = self.prefixes
        return "".join(f"PREFIX {name}: <{known[name]}> " for name in missing if name in known)

    def _remember_prefixes(self, text: str) -> None:
        """What one query declares, and it was understood, the next one may use."""
        self.declared.update({name: iri for name, iri in declared(list(read(text).tokens)).items() if ":" in iri})

    def show(self, result: ResultSet, milliseconds: float) -> None:
        """The rows in the session's format, then what is known about them."""
        if result.explanation is not None:
            self.screen.rows(partial(_put_plan, result.explanation, as_json=self.fmt == "json"))
            return
        writer = OUTPUT_FORMATS.get(self.fmt)
        own_colours = self.fmt == "table"
        self.screen.rows(lambda out: writer(result, out if own_colours else for_whom(out)))
        for index in result.stale_indexes:
            self.screen.say(f"note: the {index} index is older than the graph; renew it with: hybridkg index KB")
        for note in (*result.limits_reached, *result.reranked):
            self.screen.say(f"note: {note}")
        self.screen.say(f"{self._summary(result)}{milliseconds:,.1f} ms")

    def _summary(self, result: ResultSet) -> str:
        if result.boolean is not None:
            return ""
        rows = result.counted(of_requested=result.requested != self.limit)
        if self.limit is not None and result.returned == result.requested == self.limit:
            rows += f" (.limit {self.limit}; there may be more: .limit none)"
        return f"{rows}, {'exact' if result.exact else 'not exact'}, "

    def load(self, text: str, name: str) -> None:
        """Runs a file inside the session."""
        if self._depth >= DEEPEST_LOAD:
            from hybridkg.errors import LoadError

            raise LoadError(f"files load one another more than {DEEPEST_LOAD} deep", hint="does a file load itself?")
        self._depth += 1
        try:
            self.run_all(text, name)
        finally:
            self._depth -= 1


def is_complete(text: str) -> bool:
    """Whether Enter should run what is typed: a query that can end here or is wrong already, or a dot command.

    An empty last line also says so: then the error tells what is missing.

    >>> is_complete("SELECT * {"), is_complete("SELECT * {}"), is_complete("SELECT * {\\n"), is_complete(".help")
    (False, True, True, True)
    """
    stripped = text.strip()
    if not stripped or stripped.lower() in WORDS or text.rpartition("\n")[2].strip() == "" != text:
        return True
    if COMMAND_LINE.match(stripped):
        found = QUERY_COMMAND.match(stripped)
        return found is None or found.end() == len(stripped) or not _goes_on(stripped[found.end() :])
    return not _goes_on(text)


def _goes_on(text: str) -> bool:
    """Whether more lines could make a query of the text; a text in three quotes may have many."""
    reading = read(text)
    if reading.open or reading.complete:
        return reading.open
    at = reading.failed if reading.stopped is None else reading.stopped.start
    # Without its end, it reads as an empty text and then another one.
    return at is not None and at >= 2 and text[at - 2 : at + 1] in ('"""', "'''")


_EXPLAIN = re.compile(r"\s*EXPLAIN(?:\s+ANALYZE)?\s", re.IGNORECASE)


def _behind_explain(text: str) -> int:
    """Where PREFIX lines may be put: behind EXPLAIN, which may stand before or after all of them."""
    found = _EXPLAIN.match(text)
    return 0 if found is None else found.end()


def _without_header(error: HybridkgError, source: SourceName, full: str, at: int, length: int) -> HybridkgError:
    """The error with its place in the text as it was typed."""
    if error.source is not None and error.source.text == full:
        error.source = source
        if error.span is not None:
            start, end = (max(at, n - length) if n > at else n for n in (error.span.start, error.span.end))
            error.span = Span(start, max(start, end))
    return error


def _put_plan(plan: ExplainedPlan, out: TextIO, *, as_json: bool) -> None:
    """A plan as JSON, or as text that fits into the terminal where there is one."""
    if as_json:
        out.write(f"{printable_json(json.dumps(plan.to_json(), indent=2, ensure_ascii=False))}\n")
    else:
        out.write(f"{printable(plan.text(get_terminal_size().columns if out.isatty() else None))}\n")
