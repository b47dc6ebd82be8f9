"""The facade: one class over the graph, the text index and the vectors.

`KnowledgeBase.query` is the way of a query of docs/architecture.md: `query_text` reads and checks, `bind` binds,
translates and rewrites, then choose, run and return.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hybridkg.config.settings import EMBEDDED, Config
from hybridkg.errors import HybridkgError, LoadError, UserError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import care, describe
from hybridkg.kb.background_check import BackgroundCheck
from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.kb.prepared import PreparedQuery
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_run import QueryRun, source_of
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.row_stream import opened
from hybridkg.kb.shared_text import query_text
from hybridkg.kb.snapshot import Snapshot, open_snapshot
from hybridkg.kb.temporary import Removal, make_in_temporary_folder
from hybridkg.results.result import Result
from hybridkg.results.result_set import ResultSet
from hybridkg.store.generations.folder import Folder, checked_path

if TYPE_CHECKING:
    import rdflib

    from hybridkg.entities.profile.profile import Profile
    from hybridkg.graph.schema import Schema
    from hybridkg.graph.statistics.catalog import Statistics
    from hybridkg.interfaces.encoder import ConfirmUpload
    from hybridkg.kb.write.reports import IndexReport, LoadReport, MigrateReport, UnusedIndex
    from hybridkg.planner.explain import Explanation


class KnowledgeBase(care.Care):
    """A folder with a graph, its indexes, and documents that are not in the graph.

    Safe to use from many threads. An open knowledge base answers from the generation it opened, also while a writer
    makes a new one; `refresh` switches to the newest.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "f.ttl").write_text('<http://e/f> <http://www.w3.org/2000/01/rdf-schema#label> "a red fish" .')
    >>> kb = KnowledgeBase.create(folder / "f.kb")
    >>> kb.load(folder / "f.ttl").triples
    1
    >>> [str(row["f"]) for row in kb.query('SELECT ?f { ?f MATCH "fishes" AS ?s } RANK BY ?s')]
    ['http://e/f']
    """

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

    # --- opening -----------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, *, graph: str = EMBEDDED) -> Self:
        """Makes an empty knowledge base.

        Args:
            path: a folder that does not exist yet, or is empty.
            graph: `embedded`, or the address of the SPARQL endpoint that has the graph.

        Raises:
            NotAKnowledgeBaseError: the folder is not empty.
            ConfigError: the address is malformed.
        """
        config = None if graph == EMBEDDED else Config(graph=graph)
        if graph != EMBEDDED:
            from hybridkg.remote.credentials import ENDPOINT, server_url

            server_url(graph, {}, ENDPOINT)
        return cls(Folder.create(checked_path(path), config))

    @classmethod
    def open(cls, path: str | Path, *, warm_up: bool = False, progress: Progress = SILENT) -> Self:
        """Opens the live generation; `progress` is that of the check of files after an unexpected failure of a query.

        `warm_up` loads the search kernels first (up to 2 s), for a process with many queries to answer.

        Raises:
            NotAKnowledgeBaseError: there is none at this path.
        """
        kb = cls(Folder.open(checked_path(path)))
        kb._progress = progress
        if warm_up:
            kb._snapshot.warm_up()
        return kb

    @staticmethod
    def remove(path: str | Path) -> list[str]:
        """Deletes the folder of a knowledge base and its indexes on servers.

        Returns:
            Names of the indexes that stay on a server: another folder made them, because this one was copied or moved.

        Raises:
            NotAKnowledgeBaseError: the path holds something else, which is not deleted.
            TextServerError: the server of its text index does not answer; nothing has been deleted.
            LockedError: another writer has the lock.
        """
        from hybridkg.kb.write.prune import remove

        return remove(Folder.open(checked_path(path)))

    @classmethod
    def temporary(cls, *inputs: Any, profile: str | Path | None = None, progress: Progress = SILENT) -> KnowledgeBase:
        """Makes an indexed knowledge base of RDF files or rdflib graphs in a temporary folder.

        `close`, the end of `with` or of the process, or garbage collection deletes it; `load_report` is that of `load`.

        Raises:
            LoadError: there is no input, or an input is malformed.
        """

        def make(path: Path) -> KnowledgeBase:
            kb = cls.create(path)
            kb.load_report = kb.load(*inputs, index=True, profile=profile, progress=progress)
            return kb

        kb, removal = make_in_temporary_folder(make)
        kb._removal, kb._progress = removal, progress
        return kb

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
            about = f"generation {self._state.generation.name}, {self._state.quads:,} triples"
        return f"{type(self).__name__}({str(self._location.path)!r}, {about})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refresh(self) -> None:
        """Switches to the newest generation; queries that are running finish on the old one.

        Raises:
            IndexCorruptError: the text index of the newest one cannot be read; the state before stays, if there is one.
        """
        state, damage = open_snapshot(self._folder)
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
        options = QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name)
        with self._run(text, options) as run:
            return run.answer(query_text(text, name), params, run.execute)

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

        Raises:
            HybridkgError: as for `query`, also while the rows are read.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> kb = KnowledgeBase.create(folder / "f.kb")
        >>> with kb.stream("SELECT ?n { VALUES ?n { 1 2 3 } }") as result:
        ...     result.write(folder / "numbers.csv", "csv")
        >>> (folder / "numbers.csv").read_text().split()
        ['n', '1', '2', '3']
        """
        options = QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name)
        with self._run(text, options, stays_open=True) as run:
            result = run.answer(query_text(text, name), params, partial(opened, run))
        try:
            yield result
        finally:
            run.close()

    def prepare(self, text: str, *, name: str = "query") -> PreparedQuery:
        """Parses and checks a query once, to run it many times with other parameters; `name` is its name in errors.

        Raises:
            HybridkgError: the text is malformed, or breaks a rule.

        >>> import tempfile
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> prepared = kb.prepare("SELECT * { VALUES ?x { 1 2 3 } FILTER(?x > $least) }")
        >>> prepared.parameters, len(prepared.query({"least": 1})), len(prepared.query({"least": 2}))
        (('least',), 2, 1)
        """
        try:
            return PreparedQuery(self, query_text(text, name), name)
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
        options = QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name)
        with self._run(text, options) as run:
            parsed = query_text(text, name).alone
            query, plan = run.plan(parsed, params)
            return run.explain(query, plan, analyze=analyze or parsed.written.explain == "analyze")

    def _run(self, text: str | ParsedQuery, options: QueryOptions, *, stays_open: bool = False) -> QueryRun:
        self._check.before_query()
        return QueryRun(self._current_session(), text, options, self._settings, self._progress, stays_open=stays_open)

    def _current_session(self) -> QuerySession:
        """The session of the open generation, which caches the plans of earlier queries."""
        snapshot, session = self._snapshot, self._session
        if session is None or session.snapshot is not snapshot:
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

    def stats(self) -> dict[str, Any]:
        """Counts, fields and sizes in bytes."""
        return describe.stats(self._folder, self._snapshot)

    def schema(self) -> Schema:
        """Classes and predicates that a query sees outside GRAPH, with counts by IRI, most frequent first."""
        return describe.schema(self._snapshot)

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

    # --- writing: each call makes one new generation, and switches to it --------------

    def profile(self, name_or_path: str | Path | None = None) -> Profile:
        """The profile that `index` would use: the argument, else that of kb.toml; with the fields of the documents."""
        from hybridkg.entities.profile.profile_reader import load_profile

        profile = load_profile(str(name_or_path or self._folder.config.profile))
        documents = self._snapshot.documents
        return profile.with_documents(documents.fields()) if documents else profile

    def load(
        self,
        *inputs: str | Path | rdflib.Graph,
        text: str | Path | Sequence[str | Path] = (),
        index: bool | None = None,
        profile: str | Path | None = None,
        encoder: str | None = None,
        text_engine: str | None = None,
        progress: Progress = SILENT,
        confirm: ConfirmUpload | None = None,
    ) -> LoadReport:
        """Adds RDF files, rdflib graphs and text documents: all of them, or nothing.

        The first load builds the indexes. After a later load they are stale, and results carry a warning.

        Args:
            inputs: files of any supported format, or rdflib graphs.
            text: files of text documents that are not in the graph.
            index: whether to build the indexes in the same step; None: if there are none yet, or if `profile`,
                `encoder` or `text_engine` is set.
            profile: a name or a Turtle file, written to kb.toml.
            encoder: `lsa`, `sentence-transformers:MODEL` ... or `none`, written to kb.toml.
            text_engine: `embedded` or `elasticsearch`, written to kb.toml.
            progress: receives the progress.
            confirm: confirms an upload of many texts to the server of an encoder; None refuses it.

        Raises:
            LoadError: there is no input, or an input is malformed; names the file and the line.
            UnknownNameError: no such encoder or text engine.
            LockedError: another writer has the lock.
        """
        from hybridkg.kb.write.configured import configured_profile, has_text_index, with_chosen_settings
        from hybridkg.kb.write.transaction import load

        texts = [text] if isinstance(text, str | Path) else text
        if not inputs and not texts:
            raise LoadError("nothing to load", hint="give RDF files, rdflib graphs, or text=; index() builds the index")
        folder = with_chosen_settings(self._folder, profile, encoder, text_engine)
        if index is None:
            index = any((profile, encoder, text_engine)) or not has_text_index(folder)
        chosen = configured_profile(folder) if index else None
        report = load(folder, inputs, [Path(path) for path in texts], chosen, progress, confirm)
        self._after_writing(progress, indexed=index)
        return report

    def index(
        self,
        profile: str | Path | None = None,
        *,
        encoder: str | None = None,
        text_engine: str | None = None,
        progress: Progress = SILENT,
        confirm: ConfirmUpload | None = None,
    ) -> IndexReport:
        """Builds the text index, the vectors and the projection again from the graph and the documents.

        The arguments are those of `load`.

        Raises:
            ProfileError: the profile is wrong; names the file and the remedy.
            UnknownNameError: no such encoder or text engine.
            LockedError: another writer has the lock.
        """
        from hybridkg.kb.write.configured import configured_profile, with_chosen_settings
        from hybridkg.kb.write.transaction import index

        folder = with_chosen_settings(self._folder, profile, encoder, text_engine)
        report = index(folder, configured_profile(folder), progress, confirm)
        self._after_writing(progress)
        return report

    def migrate(self, to: str, *, progress: Progress = SILENT) -> MigrateReport:
        """Moves text and vectors to `elasticsearch` or `embedded`; rows and scores stay, vectors are not encoded again.

        Raises:
            IndexMissingError: there is no index, or it is older than the graph.
            TextServerError: the server does not answer; nothing has changed.
            LockedError: another writer has the lock.
        """
        from hybridkg.kb.write.migrate import migrate

        report = migrate(self._folder, to, progress)
        self._after_writing(progress)
        return report

    def prune(self, remove: bool = False, *, names: Sequence[str] | None = None) -> list[UnusedIndex]:
        """Lists, and with `remove` deletes, indexes on a server that no generation needs, of these `names` or any.

        Raises:
            LockedError: another writer has the lock.
            TextServerError: the server does not answer.
        """
        from hybridkg.kb.write.prune import prune

        return prune(self._folder, remove=remove, names=names)

    def _after_writing(self, progress: Progress, *, indexed: bool = True) -> None:
        """Opens the new generation, and does what follows an index step."""
        from hybridkg.kb.write.after_index import after_index

        self.refresh()
        if indexed:
            after_index(self._folder, self._snapshot, progress)
