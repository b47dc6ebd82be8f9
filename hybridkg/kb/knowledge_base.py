"""The facade: the one class over both the graph and the text.

`KnowledgeBase.query` is the way of a query through the engine, an arrow a line: parse (hybridkg.query), bind its
parameters and translate it (hybridkg.algebra), plan (hybridkg.planner), run (hybridkg.operators), result
(hybridkg.results).
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hybridkg.config.settings import EMBEDDED, Config
from hybridkg.errors import HybridkgError, IndexCorruptError, LoadError, NotAKnowledgeBaseError, SourceName, UserError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import describe
from hybridkg.kb.prepared import Parameters, ParsedQuery, PreparedQuery, query_text
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_run import QueryRun
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.temporary import Removal, made_in_a_new_folder
from hybridkg.results.build import explained
from hybridkg.results.result_set import ResultSet
from hybridkg.store.generations.folder import Folder

if TYPE_CHECKING:
    import rdflib

    from hybridkg.entities.profile.profile import Profile
    from hybridkg.graph.schema import Schema
    from hybridkg.graph.statistics.catalog import Statistics
    from hybridkg.interfaces.encoder import ConfirmUpload
    from hybridkg.kb.write.reports import IndexReport, LoadReport, MigrateReport, UnusedIndex
    from hybridkg.planner.explain import Explanation

EMPTY_PATH = "the path of the knowledge base is empty"


class KnowledgeBase:
    """A folder with a graph, its text index, and the text that is not in the graph.

    Safe to use from many threads. An open knowledge base answers from the state it opened, also while
    somebody else loads or indexes; `refresh` moves on to the newest.

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
                f"KnowledgeBase({folder!r}) is not how one is opened: KnowledgeBase.open(path) opens one that exists, "
                "KnowledgeBase.create(path) makes a new one"
            )
        self._place = folder
        self._removal: Removal | None = None
        self._progress = SILENT
        self._state, self._broken = _opened(folder)
        self._session: QuerySession | None = None
        self._configured: tuple[object, Config] | None = None

    # --- opening -----------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, *, graph: str = EMBEDDED) -> Self:
        """Makes an empty knowledge base in a folder that does not exist yet, or is empty.

        Args:
            path: the folder.
            graph: the address of a SPARQL endpoint, where the graph lies at one: `index` reads it.

        Raises:
            NotAKnowledgeBaseError: the folder holds something already.
            ConfigError: the address is none.
        """
        config = None if graph == EMBEDDED else Config(graph=graph)
        if graph != EMBEDDED:
            from hybridkg.remote.credentials import ENDPOINT, server_url

            server_url(graph, {}, ENDPOINT)
        return cls(Folder.create(_path(path), config))

    @classmethod
    def open(cls, path: str | Path, *, progress: Progress = SILENT) -> Self:
        """Opens a knowledge base: its newest complete state, whatever happened to its writers.

        Args:
            path: the folder.
            progress: advances while files are compared with their checksums, after a query that failed as none should.

        Raises:
            NotAKnowledgeBaseError: there is none at this path.
        """
        kb = cls(Folder.open(_path(path)))
        kb._progress = progress
        return kb

    @staticmethod
    def remove(path: str | Path) -> list[str]:
        """Deletes a knowledge base with everything in it, and its indexes on a server.

        Returns:
            Indexes it used that stay there, because another folder has made them: this one was copied or moved.

        Raises:
            NotAKnowledgeBaseError: the path holds something else, which is left alone.
            TextServerError: the server of its text index does not answer; nothing has been deleted.
            LockedError: somebody is writing.
        """
        from hybridkg.kb.write.prune import remove

        return remove(Folder.open(_path(path)))

    @classmethod
    def temporary(cls, *inputs: Any, profile: str | Path | None = None, progress: Progress = SILENT) -> KnowledgeBase:
        """A knowledge base over RDF files or rdflib graphs, indexed, in a folder of its own.

        The folder is deleted by `close`, at the end of `with`, when nobody has the knowledge base any more, or when
        the process ends.

        Raises:
            LoadError: nothing is given, or an input is malformed.
        """

        def make(path: Path) -> KnowledgeBase:
            kb = cls.create(path)
            kb.load(*inputs, index=True, profile=profile, progress=progress)
            return kb

        kb, removal = made_in_a_new_folder(make)
        kb._removal, kb._progress = removal, progress
        return kb

    @property
    def _folder(self) -> Folder:
        if self._removal is not None and not self._removal.alive:
            raise UserError(
                "this knowledge base has been closed, and was a temporary one",
                hint="make it again: KnowledgeBase.temporary(...), or keep one in a folder: KnowledgeBase.create(path)",
            )
        return self._place

    @property
    def _snapshot(self) -> Snapshot:
        """The state that queries read.

        Raises:
            UserError: the knowledge base has been closed.
            IndexCorruptError: its text index cannot be read; `index` builds it again.
        """
        if self._broken is not None:
            raise self._broken
        if self._state is None:
            _ = self._folder  # says more of a temporary one
            raise UserError("this knowledge base has been closed", hint="open it again: KnowledgeBase.open(path)")
        return self._state

    def close(self) -> None:
        """Lets go of the files, so that a writer can remove an old state; `with KnowledgeBase.open(path) as kb:`."""
        self._state = self._broken = self._session = None
        if self._removal is not None:
            self._removal()

    def __repr__(self) -> str:
        """Where it is, which state is open, and how much is in it."""
        about = "its text index is damaged" if self._broken is not None else "closed"
        if self._state is not None:
            about = f"generation {self._state.generation.name}, {self._state.quads:,} triples"
        return f"{type(self).__name__}({str(self._place.path)!r}, {about})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refresh(self) -> None:
        """Answers from the newest state from now on; queries that are running finish on the old one."""
        self._state, self._broken = _opened(self._folder)
        self._session = None

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
            text: the query. One that has been asked before is not read again, also with other parameters.
            params: values of its variables: rdflib terms, strings, numbers ...; a list binds like VALUES.
            limit: rows wanted at most, beside the query's own LIMIT.
            strategy: a name of STRATEGIES; default: the best that applies.
            timeout: seconds that the query may take; 0 for no limit; default: that of kb.toml, where it is none.
            max_rows: rows that an intermediate result may have; default: that of kb.toml.
            max_megabytes: memory that it may take, as it is estimated; default: that of kb.toml.
            cancel: once it is set, from another thread, the query ends.
            name: what to call the text in errors.

        Raises:
            QueryStoppedError: the query has taken too long, or has been cancelled; says what it was at.
            QueryLimitError: an intermediate result is too large.
            HybridkgError: with the place in the query, what is wrong and what to do.
        """
        options = QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name)
        with self._run(text, options) as run:
            session, context = run.session, run.context
            parsed = query_text(text, name)
            bound = run.step(session.bind, parsed, params, services=self._may_ask_services(parsed))
            plan = run.step(session.plan, bound, run.limit, run.strategy)
            if parsed.written.explain:
                analyzed = context if parsed.written.explain == "analyze" else None
                return explained(run.step(session.explanation, bound, plan, analyzed))
            solutions = run.step(session.run, bound, plan, context)
            return run.step(session.result, bound, plan, solutions, context, run.limit, run.source)

    def prepare(self, text: str, *, name: str = "query") -> PreparedQuery:
        """A query that is parsed and checked once, to be asked many times with other parameters.

        Args:
            text: the query.
            name: what to call it in errors.

        Raises:
            HybridkgError: it is no query, or breaks a rule.

        >>> import tempfile
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> prepared = kb.prepare("SELECT * { VALUES ?x { 1 2 3 } FILTER(?x > $least) }")
        >>> prepared.parameters, len(prepared.query({"least": 1})), len(prepared.query({"least": 2}))
        (('least',), 2, 1)
        """
        try:
            return PreparedQuery(self, query_text(text, name), name)
        except HybridkgError as e:
            raise e.at(_source(name, text)) from e.__cause__

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
        """The plan that `query` would run with the same arguments, with estimates. Print it to read it.

        With `analyze`, the plan is run, within the same limits, and has actual rows and times as well.

        Raises:
            HybridkgError: as for `query`.
        """
        options = QueryOptions(limit, strategy, timeout, max_rows, max_megabytes, cancel, name)
        with self._run(text, options) as run:
            parsed = query_text(text, name)
            bound = run.step(run.session.bind, parsed, params, services=self._may_ask_services(parsed))
            plan = run.step(run.session.plan, bound, run.limit, run.strategy)
            runs = analyze or parsed.written.explain == "analyze"
            return run.step(run.session.explanation, bound, plan, run.context if runs else None)

    def _run(self, text: str | ParsedQuery, options: QueryOptions) -> QueryRun:
        """A run over the open state; its errors point into the text."""
        source = _source(options.name, text)
        return QueryRun(self._open_session(), source, options, self._settings.limits, self._progress)

    def _open_session(self) -> QuerySession:
        """The open state, with the plans of earlier queries."""
        snapshot, session = self._snapshot, self._session
        if session is None or session.snapshot is not snapshot:
            session = QuerySession(snapshot, self._folder.path)
            if self._state is snapshot:  # else it is an old state, which nothing must keep in use
                self._session = session
        return session

    def _may_ask_services(self, text: ParsedQuery) -> bool:
        return text.has_service and self._settings.service == "allow"

    @property
    def _settings(self) -> Config:
        """kb.toml, read again when it has changed: reading it takes as long as a small query."""
        state = self._folder.config_state()
        kept = self._configured
        if kept is None or kept[0] != state:
            kept = self._configured = state, self._folder.config
        return kept[1]

    # --- about the open state ----------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Counts, fields and sizes in bytes of what the knowledge base holds."""
        return describe.stats(self._folder, self._snapshot)

    def schema(self) -> Schema:
        """The classes and predicates of what a query sees outside GRAPH, with counts by IRI, most frequent first."""
        return describe.schema(self._snapshot)

    def graph(self) -> rdflib.Graph:
        """The graph of the open state as a read-only rdflib Graph, which asks the store triple by triple."""
        return describe.graph(self._snapshot)

    def verify(self) -> int:
        """Reads every file of the open state and compares its checksum; returns how many there are.

        Raises:
            CorruptError: one differs.
        """
        return self._snapshot.generation.verify()

    def statistics(self) -> Statistics | None:
        """A tool for work on the planner: the graph statistics of the last `index`, None where the graph is newer.

        Raises:
            CorruptError: their file is damaged; queries do not need it.
        """
        return self._snapshot.read_statistics()

    def cost(self) -> dict[str, Any]:
        """A tool for work on the planner: microseconds of each kind of work on this machine, and how they are known."""
        return self._snapshot.costs.to_json()

    def at(self, snapshot: Snapshot) -> Self:
        """The same folder in another state, such as one whose text index another engine has built."""
        other = copy.copy(self)
        other._state = snapshot
        return other

    # --- writing: each call makes one new generation, and moves on to it --------------

    def profile(self, name_or_path: str | Path | None = None) -> Profile:
        """The profile that `index` would use: the one given, else the one in kb.toml; documents' fields included."""
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
        agree: ConfirmUpload | None = None,
    ) -> LoadReport:
        """Adds RDF files, rdflib graphs and text documents: all of them, or nothing.

        The first load builds the indexes. After a later one they are older than the graph, and results say so.

        Args:
            inputs: files of any supported format, or rdflib graphs.
            text: files of text documents that are not in the graph.
            index: whether the indexes are built in the same step; None where there are none yet, or `profile`,
                `encoder` or `text_engine` is given.
            profile: a name or a Turtle file; it becomes the profile of the knowledge base.
            encoder: `lsa`, `sentence-transformers:MODEL` ... or `none`; it becomes that of the knowledge base.
            text_engine: `embedded` or `elasticsearch`; it becomes that of the knowledge base.
            progress: told how far the work is.
            agree: whether many texts may be sent to the server of an encoder; None for no.

        Raises:
            LoadError: nothing is given, or an input is malformed; names the file and the line.
            UnknownNameError: no such encoder or text engine.
            LockedError: somebody else is writing.
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
        report = load(folder, inputs, [Path(path) for path in texts], chosen, progress, agree)
        self._after_writing(indexed=index)
        return report

    def index(
        self,
        profile: str | Path | None = None,
        *,
        encoder: str | None = None,
        text_engine: str | None = None,
        progress: Progress = SILENT,
        agree: ConfirmUpload | None = None,
    ) -> IndexReport:
        """Builds the text index, the vectors and the projection again from the graph and the documents.

        Args:
            profile: a name or a Turtle file; it becomes the profile of the knowledge base.
            encoder: of the vectors, as in `load`; it becomes that of the knowledge base.
            text_engine: `embedded` or `elasticsearch`; it becomes that of the knowledge base.
            progress: told how far the work is.
            agree: whether many texts may be sent to the server of an encoder; None for no.

        Raises:
            ProfileError: the profile is wrong; names the file and what to mend.
            UnknownNameError: no such encoder or text engine.
            LockedError: somebody else is writing.
        """
        from hybridkg.kb.write.configured import configured_profile, with_chosen_settings
        from hybridkg.kb.write.transaction import index

        folder = with_chosen_settings(self._folder, profile, encoder, text_engine)
        report = index(folder, configured_profile(folder), progress, agree)
        self._after_writing()
        return report

    def migrate(self, to: str, *, progress: Progress = SILENT) -> MigrateReport:
        """Moves text and vectors to another place, with the same rows and scores; vectors are not encoded again.

        Args:
            to: `elasticsearch`, or `embedded` for back.
            progress: told how far the work is.

        Raises:
            IndexMissingError: there is no index, or it is older than the graph.
            TextServerError: the server does not answer; nothing has changed.
            LockedError: somebody else is writing.
        """
        from hybridkg.kb.write.migrate import migrate

        report = migrate(self._folder, to, progress)
        self._after_writing()
        return report

    def prune(self, remove: bool = False, *, names: Sequence[str] | None = None) -> list[UnusedIndex]:
        """The indexes that a server holds and no state on disk needs: leftovers of builds that were broken off.

        Args:
            remove: whether to remove them, or only to list them.
            names: only those of these names.

        Raises:
            LockedError: somebody is writing.
            TextServerError: the server does not answer.
        """
        from hybridkg.kb.write.prune import prune

        return prune(self._folder, remove=remove, names=names)

    def _after_writing(self, *, indexed: bool = True) -> None:
        """Opens what has been written; of new indexes, publishes the text index and measures the costs of queries."""
        from hybridkg.kb.write.calibrate import measure
        from hybridkg.kb.write.transaction import publish

        self.refresh()
        if indexed:
            publish(self._folder)
            measure(self._snapshot)


def _path(path: str | Path) -> Path:
    """The path of a knowledge base.

    Raises:
        TypeError: it is no path.
        NotAKnowledgeBaseError: it is empty, which the system would take for the current folder.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"the path of a knowledge base is a str or a Path, not {type(path).__name__}: {path!r}")
    if path == "":
        raise NotAKnowledgeBaseError(EMPTY_PATH, hint="for the current folder write '.'")
    return Path(path)


def _opened(folder: Folder) -> tuple[Snapshot | None, IndexCorruptError | None]:
    """The state to read, or why its text index cannot be read, which must not keep a writer from building it again."""
    try:
        return Snapshot.open(folder), None
    except IndexCorruptError as e:
        return None, e


def _source(name: str, text: str | ParsedQuery) -> SourceName:
    return SourceName(name, text.text if isinstance(text, ParsedQuery) else text)
