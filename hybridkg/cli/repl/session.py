"""The state of an interactive session, without a terminal: it maps inputs to texts."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from shutil import get_terminal_size
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

from hybridkg.cli.repl.reading import (
    COMMAND_LINE,
    QUERY_COMMAND,
    WORD_LINE,
    WORDS,
    all_tokens,
    declared,
    read,
    statements,
    undeclared,
)
from hybridkg.cli.repl.running import Runner, directly
from hybridkg.cli.repl.vocabulary import NOTHING, CompletionVocabulary, read_vocabulary
from hybridkg.errors import HybridkgError, LoadError, SourceName, Span, UserError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.query.text_kind import update_keyword
from hybridkg.rdf.well_known import WELL_KNOWN
from hybridkg.terminal_text import for_whom, printable, printable_json

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase
    from hybridkg.kb.question_time import QuestionTime
    from hybridkg.results.result import ExplainedPlan
    from hybridkg.results.result_set import ResultSet

T = TypeVar("T")

MAX_LOAD_DEPTH = 10
"""Depth of files that `.load` one another, at which one that loads itself ends."""


class Screen(Protocol):
    """The output of a session."""

    def rows(self, write: Callable[[TextIO], None]) -> None:
        """Shows an answer, which `write` writes into a stream."""

    def say(self, text: str) -> None:
        """Shows a message: errors, notes, timings."""

    def ask(self, question: str) -> bool | None:
        """Whether the user says yes to a question; None where there is nobody to ask."""


class Session:
    """An interactive session with one knowledge base.

    Args:
        kb: the knowledge base.
        screen: the output.
        fmt: a name of OUTPUT_FORMATS.
        limit: maximum number of rows of an answer; None for all.
        runner: runs queries and other work; Ctrl-C does not interrupt the default while Oxigraph reads the names.
        timeout: seconds for a query; 0 for no limit, None for that of kb.toml.
        place: the knowledge base, as it is named on the command line.
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
        place: str = "KB",
    ):
        self.kb, self.screen, self.fmt, self.limit, self.runner = kb, screen, fmt, limit, runner
        self.timeout, self.place, self.labels = timeout, place, False
        self.declared: dict[str, str] = {}
        self.vocabulary: CompletionVocabulary = NOTHING
        self.last_query = ""
        self.last_result: ResultSet | None = None
        self.failed = 0
        self.done = False
        self._depth = 0
        self._told: set[str] = set()
        self._names_wanted = self._names_are_old = False
        self._reading_names = Lock()

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefixes that need no declaration: guessed from the data, well known, kept, of the session; the last wins."""
        return {**dict(self.vocabulary.prefixes), **WELL_KNOWN, **self.kb.prefixes, **self.declared}

    @property
    def own_prefixes(self) -> dict[str, str]:
        """Those that hold in this session only."""
        return {**dict(self.vocabulary.prefixes), **self.declared}

    def names(self) -> CompletionVocabulary:
        """The names in the data, read at the first call, and at the first one after a change."""
        if self.vocabulary is NOTHING or self._names_are_old:
            self.runner(self._read_names)
        return self.vocabulary

    def forget_names(self) -> None:
        """Tells that the data has changed: the names are read again when they are wanted."""
        self._names_wanted, self._names_are_old = False, True

    def names_later(self, start: Callable[[Callable[[], None]], object]) -> None:
        """Reads the names in the data in the background, once for each state; `start` starts the work."""
        if not self._names_wanted:
            self._names_wanted = True
            start(self._try_to_read_names)

    def _try_to_read_names(self) -> None:
        with suppress(HybridkgError):  # `names` raises it again; completion works without names
            self._read_names()

    def _read_names(self) -> None:
        with self._reading_names:
            if self.vocabulary is NOTHING or self._names_are_old:
                self._names_are_old = False
                self.vocabulary = read_vocabulary(self.kb)

    def run(self, text: str) -> bool:
        """Runs one input (query, update, dot command); shows and counts errors; returns whether there was none."""
        return self._run(text, "query", text)

    def run_all(self, text: str, name: str) -> bool:
        """Runs the queries, updates and dot commands of a file, up to `.quit`; returns whether none failed.

        After an error its updates are not run: they may build on what failed, or be the rest of it.
        """
        failed = self.failed
        for statement in statements(text):
            # Blanks replace the text before a statement, so that errors have the line and column of the file.
            before = text[: statement.start]
            column = len(before) - before.rfind("\n") - 1
            padding = "\n" * before.count("\n") + " " * column
            whole = padding + statement.text
            if self.failed > failed and is_update(statement.text):
                source, place = SourceName(name, whole), Span(len(padding), len(padding) + 1)
                self._failed(UserError("this update is not run, because of an error before it", span=place).at(source))
                continue
            self._run(statement.text, name, whole)
            if self.done:
                break
        return self.failed == failed

    def _run(self, text: str, name: str, whole: str) -> bool:
        from hybridkg.cli.repl.commands import run_command
        from hybridkg.cli.repl.updates import run_update

        text = text.strip()
        word = WORD_LINE.fullmatch(text)
        text = text if word is None else WORDS[word["word"].lower()]
        if not text:
            return True
        try:
            if COMMAND_LINE.match(text):
                run_command(self, text, name, whole)
            elif update_keyword(text) is not None:
                run_update(self, whole, name)
            else:
                self.query(whole, name)
        except HybridkgError as e:
            self._failed(e)
            last = WORD_LINE.fullmatch(text.rpartition("\n")[2].strip())
            if last is not None:
                self.screen.say(f"note: {last['word']!r} was read as a part of this query; type it again")
            return False
        return True

    def _failed(self, error: HybridkgError) -> None:
        self.screen.say(error.render())
        self.failed += 1

    def query(
        self, text: str, name: str = "query", *, typed: str = "", explain: str = "", left: QuestionTime | None = None
    ) -> None:
        """Runs a query with the missing prefixes of the session added, and shows the rows.

        With `explain`, `explain` or `analyze`, shows the plan instead. `typed` is the input to show in errors, if it is
        more than the query; it has the same length. `left` is the time of a question, of which a part is over.
        """
        from hybridkg.results.build import explained

        self.last_query = text.strip()
        self._follow()
        full = WithPrefixes.of(self, text, SourceName(name, typed or text))
        begin = time.perf_counter()
        # With an event the query has a thread of its own, which may be left behind at work in the store.
        options: dict[str, Any] = {"limit": self.limit, "name": name, "timeout": self.timeout, "cancel": Event()}
        try:
            if explain:
                is_analyzed = explain == "analyze"
                if update_keyword(text) is not None:
                    del options["limit"]
                    self.show_plan(
                        self.runner(partial(self.kb.explain_update, full.text, analyze=is_analyzed, **options))
                    )
                    return
                plan = self.runner(partial(self.kb.explain, full.text, analyze=is_analyzed, **options))
                result = explained(plan)
            elif left is not None:
                options["timeout"] = left.left()
                result = self.runner(partial(left.named, partial(self.kb.query, full.text, **options)))
            else:
                result = self.runner(partial(self.kb.query, full.text, **options))
        except HybridkgError as e:
            raise full.as_typed(e) from e.__cause__
        milliseconds = (time.perf_counter() - begin) * 1000
        if result.explanation is None:
            self.last_result = result
        self.tell_of_own_prefixes(text)
        self.remember_prefixes(text)
        for warning in result.warnings:
            self.screen.say(full.as_typed(warning).render())
        self.show(result, milliseconds)

    def _follow(self) -> None:
        """Moves on to the newest state, if another process has made one."""
        if not self.kb.is_newest:
            self.kb.refresh()
            self.forget_names()
            self.screen.say("note: another process has changed this knowledge base, and answers are from its new state")

    def header(self, text: str) -> str:
        """PREFIX declarations, on one line, of the session's prefixes that a query uses without declaring them, and of
        those in place of known ones, by which plans and messages would abbreviate IRIs.
        """
        missing = undeclared(text)
        if any(name not in self.prefixes for name in missing):
            self.names()
        own, known = self.own_prefixes, {**WELL_KNOWN, **self.kb.prefixes}
        used = [name for name in missing if name in self.declared or (name in own and name not in known)]
        used += [name for name, iri in self.declared.items() if known.get(name, iri) != iri and name not in used]
        return "".join(f"PREFIX {name}: <{own[name]}> " for name in used)

    def tell_of_own_prefixes(self, text: str) -> None:
        """Says once of each prefix that a text uses, and that holds in this session only, how to keep it."""
        known = {**WELL_KNOWN, **self.kb.prefixes}
        for name in undeclared(text):
            iri = self.own_prefixes.get(name)
            if iri is not None and known.get(name) != iri and name not in self._told:
                self._told.add(name)
                self.screen.say(
                    f"note: {name}: is <{iri}> in this session only; to keep it: "
                    f"hybridkg prefixes {self.place} --add {name}={iri}"
                )

    def remember_prefixes(self, text: str) -> None:
        """Adds the prefixes that a successful query or update declares to those of the session."""
        self.declared.update({name: iri for name, iri in declared(list(read(text).tokens)).items() if ":" in iri})

    def show(self, result: ResultSet, milliseconds: float) -> None:
        """Shows the rows in the session's format, then notes and the time."""
        if result.explanation is not None:
            self.show_plan(result.explanation)
            return
        writer = OUTPUT_FORMATS.get(self.fmt)
        own_colours = self.fmt == "table"
        result = result.with_prefixes(self.own_prefixes)
        if self.labels and own_colours:
            result = self.runner(result.with_labels)
        self.screen.rows(lambda out: writer(result, out if own_colours else for_whom(out)))
        for index in result.stale_indexes:
            self.screen.say(f"note: the {index} index is older than the graph; renew it with: hybridkg index KB")
        for note in (*result.limits_reached, *result.reranked):
            self.screen.say(f"note: {note}")
        self.screen.say(f"{self._summary(result)}{milliseconds:,.1f} ms")

    def show_plan(self, plan: ExplainedPlan) -> None:
        """Shows the plan of a query or an update."""
        self.screen.rows(partial(_put_plan, plan, as_json=self.fmt == "json"))

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
    if not stripped or WORD_LINE.fullmatch(stripped) or text.rpartition("\n")[2].strip() == "" != text:
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


@dataclass(frozen=True)
class WithPrefixes:
    """A query or an update with the missing prefixes of a session.

    Args:
        text: the whole text.
        at: offset of the added declarations, after a leading EXPLAIN.
        length: length of them.
        source: the text as typed.
    """

    text: str
    at: int
    length: int
    source: SourceName

    @classmethod
    def of(cls, session: Session, text: str, source: SourceName) -> WithPrefixes:
        match, header = _EXPLAIN.match(text), session.header(text)
        at = 0 if match is None else match.end()
        return cls(text[:at] + header + text[at:], at, len(header), source)

    def as_typed(self, error: HybridkgError) -> HybridkgError:
        """The error with its span in the text as typed."""
        if error.source is not None and error.source.text == self.text:
            error.source = self.source
            if error.span is not None:
                places = error.span.start, error.span.end
                start, end = (max(self.at, n - self.length) if n > self.at else n for n in places)
                error.span = Span(start, max(start, end))
        return error


def is_update(statement: str) -> bool:
    """Whether a statement of a file changes the data."""
    match = COMMAND_LINE.match(statement)
    if match is not None:
        command, *rest = statement.split(None, 1)
        if command.lower() != ".update" or not rest:
            return False
        statement = rest[0]
    keyword = update_keyword(statement)
    before = () if keyword is None else (one for one in all_tokens(statement) if one.start < keyword.start)
    return keyword is not None and all(one.type != "EXPLAIN" for one in before)


def _put_plan(plan: ExplainedPlan, out: TextIO, *, as_json: bool) -> None:
    if as_json:
        out.write(f"{printable_json(json.dumps(plan.to_json(), indent=2, ensure_ascii=False))}\n")
    else:
        out.write(f"{printable(plan.text(get_terminal_size().columns if out.isatty() else None))}\n")
