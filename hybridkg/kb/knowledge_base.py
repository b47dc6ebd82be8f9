"""The facade: one class over the graph, the text index and the vectors.

kb/reading.py has its queries, kb/exploring.py search and questions, kb/care.py what keeps it safe.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hybridkg.config.settings import EMBEDDED, Config
from hybridkg.errors import COMMITTED, LoadError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb.care import Care
from hybridkg.kb.parsed_query import Parameters
from hybridkg.kb.snapshot import open_snapshot
from hybridkg.kb.temporary import make_in_temporary_folder
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.place import checked_path

if TYPE_CHECKING:
    import rdflib

    from hybridkg.entities.profile.profile import Profile
    from hybridkg.interfaces.encoder import ConfirmUpload
    from hybridkg.kb.write.explaining import UpdateExplanation
    from hybridkg.kb.write.open_transaction import Transaction
    from hybridkg.kb.write.reports import IndexReport, LoadReport, MigrateReport, UnusedIndex, UpdateReport
    from hybridkg.tables.mapping import TableMapping

DEFAULT_WAIT = 10.0
"""Seconds that an update waits for another writer."""


class KnowledgeBase(Care):
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

        `warm_up` loads the search kernels first (up to 2 s), and reads a projection of up to a quarter of the machine's
        memory, for a process with many queries to answer.

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
    def temporary(
        cls,
        *inputs: Any,
        mapping: str | Path | TableMapping | None = None,
        id: str | Mapping[str, str] | None = None,
        class_: str | Mapping[str, str] | None = None,
        prefix: str | None = None,
        header_row: int | Mapping[str, int] | None = None,
        profile: str | Path | None = None,
        progress: Progress = SILENT,
    ) -> KnowledgeBase:
        """Makes an indexed knowledge base of RDF files, tables, DataFrames or rdflib graphs in a temporary folder.

        `close`, the end of `with` or of the process, or garbage collection deletes it; `load_report` is that of `load`.
        The arguments are those of `load`.

        Raises:
            LoadError: there is no input, or an input is malformed.
        """

        def make(path: Path) -> KnowledgeBase:
            kb = cls.create(path)
            kb.load_report = kb.load(
                *inputs,
                mapping=mapping,
                id=id,
                class_=class_,
                prefix=prefix,
                header_row=header_row,
                index=True,
                profile=profile,
                progress=progress,
            )
            return kb

        kb, removal = make_in_temporary_folder(make)
        kb._removal, kb._progress = removal, progress
        return kb

    # --- writing: each call makes one new generation, and switches to it --------------

    def profile(self, name_or_path: str | Path | None = None) -> Profile:
        """The profile that `index` would use: the argument, else that of kb.toml; with the fields of the documents."""
        from hybridkg.entities.profile.profile_reader import load_profile

        profile = load_profile(str(name_or_path or self._folder.config.profile))
        documents = self._snapshot.documents
        return profile.with_documents(documents.fields()) if documents else profile

    def load(
        self,
        *inputs: str | Path | rdflib.Graph | Any,
        mapping: str | Path | TableMapping | None = None,
        id: str | Mapping[str, str] | None = None,
        class_: str | Mapping[str, str] | None = None,
        prefix: str | None = None,
        header_row: int | Mapping[str, int] | None = None,
        text: str | Path | Sequence[str | Path] = (),
        replace: str | None = None,
        replace_rows: bool = False,
        index: bool | None = None,
        profile: str | Path | None = None,
        encoder: str | None = None,
        text_engine: str | None = None,
        wait: float = 0.0,
        progress: Progress = SILENT,
        confirm: ConfirmUpload | None = None,
    ) -> LoadReport:
        """Adds RDF files, tables, DataFrames, rdflib graphs and text documents: all of them, or nothing.

        The first load builds the indexes. They follow a later one of few triples, and one with `replace`, if they were
        up to date. After any other they are stale, and results carry a warning.

        Args:
            inputs: files of any supported format of RDF or of tables, DataFrames, rows as a dict or a list of dicts,
                a dict of DataFrames and lists by the names of their tables, rdflib graphs, or iterables of triples.
            mapping: how tables become triples: a file in YARRRML or RML, or the value of `guess_mapping`; else a guess.
            id: for the guess: the column that identifies the rows of the table; with several tables, a dict by their
                names.
            class_: for the guess: the class of the rows; with several tables, a dict by their names.
            prefix: for the guess: the namespace of everything that gets a name.
            header_row: the number of the row of the header in a sheet of Excel, where rows stand above it; with several
                sheets, a dict by their names.
            text: files of text documents that are not in the graph.
            replace: a graph, by its IRI or a prefixed name, or `default`, whose triples the inputs replace; at most
                2,000,000 triples.
            replace_rows: whether each row of a table replaces the earlier values of its entity, by the predicates of
                its columns; entities without a row stay as they are.
            index: whether to build the indexes in the same step; None: if there are none yet, if `profile`, `encoder`
                or `text_engine` is set, or if they can follow.
            profile: a name or a Turtle file, written to kb.toml.
            encoder: `lsa`, `sentence-transformers:MODEL` ... or `none`, written to kb.toml.
            text_engine: `embedded` or `elasticsearch`, written to kb.toml.
            wait: seconds to wait for another writer.
            progress: receives the progress.
            confirm: confirms an upload of many texts to the server of an encoder; None refuses it.

        Raises:
            LoadError: there is no input, or an input is malformed; names the file and the line.
            UnknownNameError: no such encoder or text engine.
            LockedError: another writer has the lock.
        """
        from hybridkg.kb.write.load_inputs import LoadOptions, load_inputs
        from hybridkg.kb.write.table_inputs import TableOptions

        texts = [text] if isinstance(text, str | Path) else text
        tables = TableOptions(mapping, id, class_, prefix, header_row=header_row)
        settings = profile, encoder, text_engine
        how = LoadOptions(replace, replace_rows, index, settings, wait, progress, confirm)
        # The state is None where an index is damaged, which a load may build again.
        done = load_inputs(self._folder, self._state, lambda: self._snapshot, inputs, texts, tables, how)
        if done.is_transaction:
            self._after_commit(done.report.index is not None, progress)
        else:
            self._after_writing(progress, indexed=done.report.index is not None)
        return done.report

    def guess_mapping(
        self,
        *tables: Any,
        id: str | Mapping[str, str] | None = None,
        class_: str | Mapping[str, str] | None = None,
        prefix: str | None = None,
        header_row: int | Mapping[str, int] | None = None,
        replace: str | None = None,
        replace_rows: bool = False,
        progress: Progress = SILENT,
    ) -> TableMapping:
        """The mapping that `load` of tables without a mapping uses here, with references to tables loaded earlier.

        The arguments are those of `load`.

        Raises:
            LoadError: a table is malformed, or a choice names nothing.
        """
        from hybridkg.kb.write.loaded_tables import known_to_tables, newest
        from hybridkg.tables.inputs import guess_mapping

        chosen: dict[str, Any] = {"id": id, "class_": class_, "prefix": prefix, "header_row": header_row}
        known = known_to_tables(newest(self._folder, self._state), replace, replace_rows)
        return guess_mapping(*tables, **chosen, **known, progress=progress)

    def index(
        self,
        profile: str | Path | None = None,
        *,
        encoder: str | None = None,
        text_engine: str | None = None,
        wait: float = 0.0,
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
        report = index(folder, configured_profile(folder), progress, confirm, wait)
        self._after_writing(progress)
        return report

    def update(
        self,
        text: str,
        params: Parameters | None = None,
        *,
        index: bool | None = None,
        wait: float = DEFAULT_WAIT,
        dry_run: bool = False,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
        name: str = "update",
        progress: Progress = SILENT,
        confirm: ConfirmUpload | None = None,
    ) -> UpdateReport:
        """Runs an update: every operation of a request in one commit, which the indexes follow; or nothing.

        Requests that wait for one another in a process share a commit.

        Args:
            text: operations of SPARQL 1.1 Update, whose WHERE may have MATCH, NEAR, RANK BY and LIMIT.
            params: values of its variables, as for `query`.
            index: whether the indexes follow; None: if they are up to date, or there are none yet. Those on a server
                that cannot follow stay behind then, and True builds them anew.
            wait: seconds to wait for another writer.
            dry_run: does everything and commits nothing; `change` of the report has the triples.
            timeout: seconds for the request, 0 for no limit; default: for each WHERE, that of kb.toml.
            max_rows: as for `query`.
            max_megabytes: as for `query`.
            cancel: as for `query`.
            name: name of the text in errors.
            progress: receives the progress of the index step.
            confirm: as for `load`.

        Raises:
            HybridkgError: any mistake in the request or its parameters, with the place; nothing has changed.
            LockedError: another writer has the lock.

        >>> import tempfile
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> done = kb.update('INSERT DATA { <http://e/f> <http://www.w3.org/2000/01/rdf-schema#label> "a red fish" }')
        >>> done.added, len(kb.query('SELECT ?f { ?f MATCH "fishes" }'))
        (1, 1)
        """
        from hybridkg.kb.write.commits import run_update
        from hybridkg.kb.write.open_transaction import TransactionOptions
        from hybridkg.kb.write.updating import UpdateOptions

        options = UpdateOptions(timeout, max_rows, max_megabytes, cancel, name)
        how = TransactionOptions(index, wait, dry_run, progress, confirm)
        report = run_update(self._folder, self._snapshot, text, params, options, how)
        if not dry_run and report.explanation is None:
            self._after_commit(report.index is not None, progress)
        return report

    def explain_update(
        self,
        text: str,
        params: Parameters | None = None,
        *,
        analyze: bool = False,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
        name: str = "update",
    ) -> UpdateExplanation:
        """The plan of each WHERE of an update in the open generation; nothing is changed.

        `update` with an EXPLAIN before the text has it in its report. With `analyze`, each WHERE is run within the same
        limits, and its plan has actual rows and times as well.

        Raises:
            HybridkgError: as for `update`.
        """
        from hybridkg.kb.write.commits import explain_update
        from hybridkg.kb.write.updating import UpdateOptions

        options = UpdateOptions(timeout, max_rows, max_megabytes, cancel, name)
        return explain_update(self._folder, self._snapshot, text, params, options, analyze=analyze)

    @contextmanager
    def transaction(
        self,
        *,
        index: bool | None = None,
        wait: float = DEFAULT_WAIT,
        dry_run: bool = False,
        progress: Progress = SILENT,
        confirm: ConfirmUpload | None = None,
    ) -> Iterator[Transaction]:
        """A `with` block whose changes become one commit, or none after an exception.

        The arguments and errors are those of `update`.

        >>> import tempfile
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> with kb.transaction() as t:
        ...     _ = t.update("INSERT DATA { <http://e/f> a <http://e/Animal> }")
        ...     t.text("http://e/f", title="a red fish")
        >>> t.report.added, t.report.documents, len(kb.query('SELECT ?f { ?f MATCH "fishes" }'))
        (1, 1, 1)
        """
        from hybridkg.kb.write.commits import transaction
        from hybridkg.kb.write.open_transaction import TransactionOptions

        how = TransactionOptions(index, wait, dry_run, progress, confirm)
        with transaction(self._folder, self._snapshot, how) as t:
            yield t
        if t.report is not None and not dry_run:
            self._after_commit(t.report.index is not None, progress)

    def delete(
        self, *inputs: Any, graph: str | None = None, text: str | Path | None = None, **options: Any
    ) -> UpdateReport:
        """Removes the triples of RDF files or rdflib graphs, and the documents that a file of {"id": ...} lists.

        The triples are removed from `graph`, an IRI or a prefixed name, or from the graphs that the inputs name.
        `options` are those of `transaction`. (`remove` deletes a whole knowledge base.)

        Raises:
            LoadError: there is no input, or one is malformed or has a blank node, which names nothing here.
        """
        if not inputs and text is None:
            raise LoadError("nothing to remove", hint="give RDF files, rdflib graphs, or text=")
        with self.transaction(**options) as t:
            if inputs:
                t.delete(*inputs, graph=graph)
            if text is not None:
                t.delete_texts_of(Path(text))
        assert t.report is not None
        return t.report

    def set_prefixes(self, changes: Mapping[str, str | None], *, wait: float = DEFAULT_WAIT) -> None:
        """Keeps prefixes for queries, in place of those of the same names; None removes one.

        Raises:
            ParameterError: a name or a namespace is wrong, or one to remove is not kept.
            LockedError: another writer has the lock for longer than `wait` seconds.

        >>> import tempfile
        >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
        >>> kb.set_prefixes({"films": "http://example.org/films/"})
        >>> dict(kb.prefixes), [str(row["f"]) for row in kb.query("SELECT ?f { VALUES ?f { films:alien } }")]
        ({'films': 'http://example.org/films/'}, ['http://example.org/films/alien'])
        """
        from hybridkg.kb.write.change_prefixes import change_prefixes

        change_prefixes(self._folder, changes, wait)
        self._after_writing(SILENT, indexed=False)

    def _after_commit(self, indexed: bool, progress: Progress) -> None:
        """Opens the new generation; a first index step is followed by what follows every `load`.

        The first thread of a group commit opens it for all: opening takes 10 ms, and 64 threads share a commit.
        """
        with self._opening:
            if self._state is None or self._damage is not None or not self.is_newest:
                self._open_commit(indexed, progress)

    def _open_commit(self, indexed: bool, progress: Progress) -> None:
        first = self._state is None or self._state.text is None
        earlier = "" if self._state is None else self._state.generation.manifest.engines.get("text", "")
        self._after_writing(progress, indexed=indexed and first)
        if indexed and not first:
            from hybridkg.kb.write.after_index import after_commit

            after_commit(self._folder, earlier)

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
        from hybridkg.kb.write.after_index import after_index, remove_earlier

        try:
            self._switch_to(*open_snapshot(self._folder, written=True))
            remove_earlier(self._folder)
            if indexed:
                after_index(self._folder, self._snapshot, progress)
        except (KeyboardInterrupt, MemoryError) as e:
            e.add_note(COMMITTED)
            raise
