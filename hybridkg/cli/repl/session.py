"""The state of an interactive session, without a terminal: it maps inputs to texts."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from shutil import get_terminal_size
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

from hybridkg.cli.repl.reading import COMMAND_LINE, QUERY_COMMAND, declared, read, statements, undeclared
from hybridkg.cli.repl.running import Runner, directly
from hybridkg.cli.repl.vocabulary import NOTHING, CompletionVocabulary, read_vocabulary
from hybridkg.errors import HybridkgError, LoadError, SourceName, Span
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.rdf.well_known import WELL_KNOWN
from hybridkg.terminal_text import for_whom, printable, printable_json

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase
    from hybridkg.results.result import ExplainedPlan
    from hybridkg.results.result_set import ResultSet

T = TypeVar("T")

MAX_LOAD_DEPTH = 10
"""Depth of files that `.load` one another, at which one that loads itself ends."""

WORDS = {"quit": ".quit", "exit": ".quit", "help": ".help"}
"""Words of other prompts; no query is a single word."""


class Screen(Protocol):
    """The output of a session."""

    def rows(self, write: Callable[[TextIO], None]) -> None:
        """Shows an answer, which `write` writes into a stream."""

    def say(self, text: str) -> None:
        """Shows a message: errors, notes, timings."""


class Session:
    """An interactive session with one knowledge base.

    Args:
        kb: the knowledge base.
        screen: the output.
        fmt: a name of OUTPUT_FORMATS.
        limit: maximum number of rows of an answer; None for all.
        runner: runs queries and other work; Ctrl-C does not interrupt the default while Oxigraph reads the names.
        timeout: seconds for a query; 0 for no limit, None for that of kb.toml.
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
        """Prefixes that need no declaration: well known, of the data, and of the session, which has precedence."""
        return {**WELL_KNOWN, **dict(self.vocabulary.prefixes), **self.declared}

    def names(self) -> CompletionVocabulary:
        """The names in the data, read at the first call."""
        if self.vocabulary is NOTHING:
            self.runner(self._read_names)
        return self.vocabulary

    def names_later(self, start: Callable[[Callable[[], None]], object]) -> None:
        """Reads the names in the data in the background, once; `start` starts the work."""
        if not self._names_wanted:
            self._names_wanted = True
            start(self._try_to_read_names)

    def _try_to_read_names(self) -> None:
        with suppress(HybridkgError):  # `names` raises it again; completion works without names
            self._read_names()

    def _read_names(self) -> None:
        with self._reading_names:
            if self.vocabulary is NOTHING:
                self.vocabulary = read_vocabulary(self.kb)

    def run(self, text: str) -> bool:
        """Runs one input, a query or a dot command; shows and counts errors; returns whether there was none."""
        return self._run(text, "query", text)

    def run_all(self, text: str, name: str) -> bool:
        """Runs the queries and dot commands of a file, up to `.quit`; returns whether none failed."""
        failed = self.failed
        for statement in statements(text):
            # Blanks replace the text before a statement, so that errors have the line and column of the file.
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
        """Runs a query with the missing prefixes of the session added, and shows the rows.

        With `explain`, `explain` or `analyze`, shows the plan instead. `typed` is the input to show in errors, if it is
        more than the query; it has the same length.
        """
        from hybridkg.results.build import explained

        self.last_query = text.strip()
        header, at = self.header(text), _after_explain(text)
        full, source = text[:at] + header + text[at:], SourceName(name, typed or text)
        begin = time.perf_counter()
        # With an event the query has a thread of its own, which may be left behind at work in the store.
        options: dict[str, Any] = {"limit": self.limit, "name": name, "timeout": self.timeout, "cancel": Event()}
        try:
            if explain:
                plan = self.runner(partial(self.kb.explain, full, analyze=explain == "analyze", **options))
                result = explained(plan)
            else:
                result = self.runner(partial(self.kb.query, full, **options))
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
        """PREFIX declarations, on one line, of the session's prefixes that a query uses without declaring them."""
        missing = undeclared(text)
        if any(name not in self.prefixes for name in missing):
            self.names()
        prefixes = self.prefixes
        return "".join(f"PREFIX {name}: <{prefixes[name]}> " for name in missing if name in prefixes)

    def _remember_prefixes(self, text: str) -> None:
        """Adds the prefixes that a successful query declares to those of the session."""
        self.declared.update({name: iri for name, iri in declared(list(read(text).tokens)).items() if ":" in iri})

    def show(self, result: ResultSet, milliseconds: float) -> None:
        """Shows the rows in the session's format, then notes and the time."""
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
        if self._depth >= MAX_LOAD_DEPTH:
            raise LoadError(f"files load one another more than {MAX_LOAD_DEPTH} deep", hint="does a file load itself?")
        self._depth += 1
        try:
            self.run_all(text, name)
        finally:
            self._depth -= 1


def is_complete(text: str) -> bool:
    """Whether Enter runs the input: a dot command, or a query that can end here, is malformed, or ends in a blank line.

    >>> is_complete("SELECT * {"), is_complete("SELECT * {}"), is_complete("SELECT * {\\n"), is_complete(".help")
    (False, True, True, True)
    """
    stripped = text.strip()
    if not stripped or stripped.lower() in WORDS or text.rpartition("\n")[2].strip() == "" != text:
        return True
    if COMMAND_LINE.match(stripped):
        match = QUERY_COMMAND.match(stripped)
        return match is None or match.end() == len(stripped) or not _is_unfinished(stripped[match.end() :])
    return not _is_unfinished(text)


def _is_unfinished(text: str) -> bool:
    """Whether more lines could complete the query, as in a string in three quotes."""
    reading = read(text)
    if reading.open or reading.complete:
        return reading.open
    at = reading.failed if reading.stopped is None else reading.stopped.start
    # Without its end, it reads as an empty string and the beginning of another one.
    return at is not None and at >= 2 and text[at - 2 : at + 1] in ('"""', "'''")


_EXPLAIN = re.compile(r"\s*EXPLAIN(?:\s+ANALYZE)?\s", re.IGNORECASE)


def _after_explain(text: str) -> int:
    """Offset at which PREFIX declarations can be inserted: after a leading EXPLAIN."""
    match = _EXPLAIN.match(text)
    return 0 if match is None else match.end()


def _without_header(error: HybridkgError, source: SourceName, full: str, at: int, length: int) -> HybridkgError:
    """The error with its span in the text as typed."""
    if error.source is not None and error.source.text == full:
        error.source = source
        if error.span is not None:
            start, end = (max(at, n - length) if n > at else n for n in (error.span.start, error.span.end))
            error.span = Span(start, max(start, end))
    return error


def _put_plan(plan: ExplainedPlan, out: TextIO, *, as_json: bool) -> None:
    if as_json:
        out.write(f"{printable_json(json.dumps(plan.to_json(), indent=2, ensure_ascii=False))}\n")
    else:
        out.write(f"{printable(plan.text(get_terminal_size().columns if out.isatty() else None))}\n")
