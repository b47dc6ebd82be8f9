"""The reading half of the facade: queries and descriptions of the open generation.

`ReadableKnowledgeBase.query` is the way of a query of docs/architecture.md: `query_text` reads and checks, `bind`
binds, translates and rewrites, then choose, run and return.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hybridkg.config.settings import Config
from hybridkg.errors import HybridkgError, IndexCorruptError, QuerySyntaxError, UserError
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb import describe
from hybridkg.kb.background_check import BackgroundCheck
from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.kb.prepared import PreparedQuery
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_run import QueryRun, source_of
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.row_stream import opened
from hybridkg.kb.shared_text import query_text
from hybridkg.kb.snapshot import Snapshot, open_snapshot
from hybridkg.kb.temporary import Removal
from hybridkg.query.text_kind import update_keyword
from hybridkg.results.result import Result
from hybridkg.results.result_set import ResultSet
from hybridkg.store.generations.folder import Folder

if TYPE_CHECKING:
    import rdflib

    from hybridkg.graph.schema import Schema
    from hybridkg.graph.statistics.catalog import Statistics
    from hybridkg.kb.profile_suggestion.suggest import SuggestedProfile
    from hybridkg.kb.settings_file import SettingsFile
    from hybridkg.kb.write.reports import LoadReport
    from hybridkg.planner.explain import Explanation


class ReadableKnowledgeBase:
    """An open generation of a knowledge base; KnowledgeBase adds opening and writing."""

    def __init__(self, folder: Folder):
        if not isinstance(folder, Folder):
            raise TypeError(
                f"KnowledgeBase({folder!r}) opens nothing: KnowledgeBase.open(path) opens an existing one, "
                "KnowledgeBase.create(path) makes a new one"
            )
        self._location = folder
        self._removal: Removal | None = None
        self.load_report: LoadReport | None = None  # of `temporary`
        self._progress = SILENT
        self._state, self._damage = open_snapshot(folder)
        self._check = BackgroundCheck(self._state.generation if self._state else None)
        self._session: QuerySession | None = None
        self._cached_settings: tuple[object, Config] | None = None
        self._opening = threading.Lock()

    @property
    def _folder(self) -> Folder:
        if self._removal is not None and not self._removal.alive:
            raise UserError(
                "this temporary knowledge base has been closed and deleted",
                hint="make it again: KnowledgeBase.temporary(...), or in a folder: KnowledgeBase.create(path)",
            )
        return self._location

    @property
    def _snapshot(self) -> Snapshot:
        """The generation that queries read.

        Raises:
            UserError: the knowledge base has been closed.
            IndexCorruptError: its text index cannot be read; `index` builds it again.
        """
        if self._damage is not None:
            raise self._damage
        if self._state is None:
            _ = self._folder  # raises the error of a temporary one, whose hint is better
            raise UserError("this knowledge base has been closed", hint="open it again: KnowledgeBase.open(path)")
        return self._state

    def close(self) -> None:
        """Releases the files, so that a writer can remove an old generation; the end of `with` calls it."""
        self._state = self._damage = self._session = None
        self._check.close()
        if self._removal is not None:
            self._removal()

    def __repr__(self) -> str:
        about = "its text index is damaged" if self._damage is not None else "closed"
        if self._state is not None:
            quads = self._state.quads
            about = f"generation {self._state.generation.name}, {quads:,} triple{'' if quads == 1 else 's'}"
        return f"{type(self).__name__}({str(self._location.path)!r}, {about})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_newest(self) -> bool:
        """Whether the generation that is open is the live one: `refresh` would change nothing. Reads one small file.

        Raises:
            StorageError: the file cannot be read.
        """
        return self._state is None or self._state.generation.name == self._folder.live_name()

    def refresh(self) -> None:
        """Switches to the newest generation; queries that are running finish on the old one.

        Raises:
            IndexCorruptError: the text index of the newest one cannot be read; the state before stays, if there is one.
        """
        self._switch_to(*open_snapshot(self._folder))

    def _switch_to(self, state: Snapshot | None, damage: IndexCorruptError | None) -> None:
        if damage is not None and self._state is not None:
            raise damage
        self._state, self._damage, self._session = state, damage, None
        self._check = self._check.after_refresh(state.generation if state else None)

    # --- reading -----------------------------------------------------------------

    def query(
        self,
        text: str | ParsedQuery,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        strategy: str | None = None,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
        name: str = "query",
    ) -> ResultSet:
        """Answers a HybridQL query.

        Args:
            text: the query; a repeated text is parsed once, also with other parameters.
            params: values of its variables: rdflib terms, strings, numbers ...; a list binds like VALUES.
            limit: maximum number of rows, in addition to the query's own LIMIT.
            strategy: a name of STRATEGIES; default: the cheapest that applies.
            timeout: seconds, 0 for no limit; default: that of kb.toml.
            max_rows: maximum number of rows of an intermediate result; default: that of kb.toml.
            max_megabytes: estimated memory of an intermediate result, above which columns of ids go to disk; default:
                that of kb.toml.
            cancel: ends the query when another thread sets it.
            name: name of the text in errors.

        Raises:
            QueryStoppedError: the query reached its time limit, or was cancelled; names the operator at work.
            QueryLimitError: an intermediate result is too large.
            HybridkgError: any mistake in the query or its parameters, with the place.
        """
        return self._answer(text, params, QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name))

    @contextmanager
    def stream(
        self,
        text: str | ParsedQuery,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        strategy: str | None = None,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
        name: str = "query",
    ) -> Iterator[Result]:
        """Answers a query as `query` does, for a `with` block that reads the rows once: to write them, for example.

        A long answer without ranks is a ResultStream: its rows are computed while they are read, and take no memory.
        `timeout` does not count the time in which the caller does something else. Any other answer is a ResultSet.
        A ResultStream has no warning W117, which is about the cells of all rows.

        Raises:
            HybridkgError: as for `query`, also while the rows are read.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from hybridkg import KnowledgeBase
        >>> folder = Path(tempfile.mkdtemp())
        >>> kb = KnowledgeBase.create(folder / "f.kb")
        >>> with kb.stream("SELECT ?n { VALUES ?n { 1 2 3 } }") as result:
        ...     result.write(folder / "numbers.csv", "csv")
        >>> (folder / "numbers.csv").read_text().split()
        ['n', '1', '2', '3']
        """
        options = QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name)
        with self._run(text, options, stays_open=True) as run:
            result = run.answer(query_text(text, name, run.prefixes), params, partial(opened, run))
        try:
            yield result
        finally:
            run.close()

    def prepare(self, text: str, *, name: str = "query") -> PreparedQuery:
        """Parses and checks a query once, to run it many times with other parameters; `name` is its name in errors.

        Prefixes that it does not declare are those of this moment, also after a `refresh`.

        Raises:
            HybridkgError: the text is malformed, or breaks a rule.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from hybridkg import KnowledgeBase
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> prepared = kb.prepare("SELECT * { VALUES ?x { 1 2 3 } FILTER(?x > $least) }")
        >>> prepared.parameters, len(prepared.query({"least": 1})), len(prepared.query({"least": 2}))
        (('least',), 2, 1)
        """
        try:
            parsed = query_text(text, name, self._snapshot.prefixes)
            parsed.repeats = True
            return PreparedQuery(self, parsed, name)
        except HybridkgError as e:
            raise e.at(source_of(name, text)) from e.__cause__

    def explain(
        self,
        text: str | ParsedQuery,
        params: Parameters | None = None,
        *,
        analyze: bool = False,
        limit: int | None = None,
        strategy: str | None = None,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
        name: str = "query",
    ) -> Explanation:
        """The plan that `query` would run with the same arguments, with estimates; `str` of it is the text for people.

        With `analyze`, the plan is run within the same limits and has actual rows and times as well.

        Raises:
            HybridkgError: as for `query`.
        """
        keyword = update_keyword(text) if isinstance(text, str) else None
        if keyword is not None:
            hint, source = "kb.explain_update(...) shows the plan of each WHERE", source_of(name, text)
            raise QuerySyntaxError("this is an update", hint=hint, span=keyword, source=source)
        options = QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name)
        with self._run(text, options) as run:
            parsed = query_text(text, name, run.prefixes).alone
            query, plan = run.plan(parsed, params)
            return run.explain(query, plan, analyze=analyze or parsed.written.explain == "analyze")

    def _answer(
        self,
        text: str | ParsedQuery,
        params: Parameters | None,
        options: QueryOptions,
        *,
        explains_blanks: bool = True,
    ) -> ResultSet:
        """The answer of `query`; without `explains_blanks` for a caller that expects aggregates without a value."""
        with self._run(text, options, explains_blanks=explains_blanks) as run:
            return run.answer(query_text(text, options.name, run.prefixes), params, run.execute)

    def _run(
        self,
        text: str | ParsedQuery,
        options: QueryOptions,
        *,
        stays_open: bool = False,
        explains_blanks: bool = True,
    ) -> QueryRun:
        self._check.before_query()
        return QueryRun(
            self._current_session(),
            text,
            options,
            self._settings,
            self._progress,
            stays_open=stays_open,
            explains_blanks=explains_blanks,
        )

    def _current_session(self) -> QuerySession:
        """The session of the open generation, which caches the plans of earlier queries."""
        session = self._session
        if session is not None and session.snapshot is self._state:
            return session
        snapshot = self._snapshot
        session = QuerySession(snapshot, self._folder.path)
        if self._state is snapshot:  # a reference to an old generation would keep its files in use
            self._session = session
        return session

    @property
    def _settings(self) -> Config:
        """The settings of kb.toml, read again when it has changed: reading it takes as long as a small query."""
        state = self._folder.config_state()
        cached = self._cached_settings
        if cached is None or cached[0] != state:
            cached = self._cached_settings = state, self._folder.config
        return cached[1]

    # --- describing the open generation ------------------------------------------

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The namespaces of the prefixes that the loaded files declare, by name; `set_prefixes` changes them.

        No query needs to declare these and the well-known ones, such as rdfs: and foaf:; its own declaration wins.
        """
        return self._snapshot.prefixes.kept

    @property
    def settings(self) -> SettingsFile:
        """The settings of kb.toml, to list, get, set and unset: `kb.settings.set("limits.timeout", 30)`."""
        from hybridkg.kb.settings_file import SettingsFile

        return SettingsFile(self._folder.path)

    def stats(self) -> dict[str, Any]:
        """Counts, fields and sizes in bytes."""
        return describe.stats(self._folder, self._snapshot)

    def schema(self) -> Schema:
        """Classes and predicates that a query sees outside GRAPH, with counts by IRI, most frequent first."""
        return describe.schema(self._snapshot)

    def suggest_profile(self) -> SuggestedProfile:
        """A profile that the content of the graph suggests, as the text of a Turtle file with comments, to be edited.

        It reads counts from the columns of the projection, and at most 400 distinct values of each predicate.

        Raises:
            LoadError: the graph has no literal.
        """
        from hybridkg.kb.profile_suggestion.suggest import suggest_profile

        return suggest_profile(self._snapshot)

    def graph(self) -> rdflib.Graph:
        """A read-only rdflib Graph over the open generation, which reads the store triple by triple."""
        return describe.graph(self._snapshot)

    def verify(self) -> int:
        """Compares every file of the open generation with its checksum; returns the number of files.

        Raises:
            CorruptError: a file differs.
        """
        return self._snapshot.generation.verify()

    def statistics(self) -> Statistics | None:
        """Statistics of the graph as of the last `index`, for work on the planner; None where the graph is newer.

        Raises:
            CorruptError: their file is damaged; queries do not need it.
        """
        return self._snapshot.read_statistics()

    def cost(self) -> dict[str, Any]:
        """Unit costs of this machine in microseconds, and their origin; for work on the planner."""
        return self._snapshot.costs.to_json()

    def at(self, snapshot: Snapshot) -> Self:
        """The same folder with another snapshot, such as one whose text index another engine has built."""
        other = copy.copy(self)
        other._state = snapshot
        return other
