"""Transactions: any number of changes that become one commit, or after an exception none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hybridkg.compute.garbage_collector import collector_paused
from hybridkg.entities.documents.document_lines import check_texts, read_removals
from hybridkg.errors import HybridkgError, LoadError, ParameterError, UserError
from hybridkg.interfaces.encoder import NO_ENCODER, ConfirmUpload
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.vector_index import VECTOR_INDEXES
from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_run import QueryRun, source_of
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.configured import configured_profile, has_remote_index, has_text_index
from hybridkg.kb.write.drifts import drifts
from hybridkg.kb.write.explaining import explained_update
from hybridkg.kb.write.hidden_graphs import in_hidden_graphs
from hybridkg.kb.write.index_step import UNUSABLE_SERVER, IndexStep
from hybridkg.kb.write.load_into import (
    graph_named,
    is_small,
    load_in_place_of,
    load_in_place_of_rows,
    load_into,
    remove_statements,
)
from hybridkg.kb.write.loaded_tables import loaded_tables
from hybridkg.kb.write.reports import IndexReport, UpdateReport
from hybridkg.kb.write.table_inputs import TableOptions, check_replacing, with_tables
from hybridkg.kb.write.transaction import prefix_warnings, refuse_at_endpoint
from hybridkg.kb.write.transaction_state import TransactionState
from hybridkg.kb.write.updating import UpdateOptions, UpdateRun, checked_update
from hybridkg.query.scope import ranked_items
from hybridkg.rdf.terms import NamedNode, from_rdflib
from hybridkg.results.result_set import ResultSet
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.next_generation import Building
from hybridkg.store.loading import Source, check_sources, name_of_source
from hybridkg.tables.earlier_tables import NO_TABLES
from hybridkg.tables.mapping import TableMapping


class Transaction:
    """Changes that become one commit: made by `KnowledgeBase.transaction`, used inside its `with` block.

    One thread uses it at a time. `query` sees what has been done here; `kb.query` does not before the end of the block.

    Attributes:
        report: what the commit has changed, after the block.
    """

    def __init__(self, state: TransactionState):
        self._state: TransactionState | None = state
        self._exact = True
        self._solutions: int | None = None
        self._warnings: list[HybridkgError] = []
        self._reasons: list[str | None] = []
        self.report: UpdateReport | None = None

    def update(self, text: str, params: Parameters | None = None, **limits: Any) -> UpdateReport:
        """Runs an update request; the arguments are those of `KnowledgeBase.update`, and its limits.

        Raises:
            HybridkgError: as there; nothing of this request is done, and what was done before stays.
        """
        state = self._open
        options = UpdateOptions(**limits)
        update = checked_update(text, params, options.name, state.prefixes)
        if update.explain:
            plans = explained_update(
                update,
                text,
                options,
                state.folder,
                lambda ranked: state.snapshot(ranked=ranked),
                analyze=update.explain == "analyze",
            )
            return UpdateReport(0, 0, 0, is_behind=state.step is None, explanation=plans)
        run = UpdateRun(state, update, text, options)
        run.run()
        self._exact = self._exact and run.exact
        if run.solution_count is not None:
            self._solutions = (self._solutions or 0) + run.solution_count
        self._warnings += run.warnings
        self._reasons.append(run.why_nothing)
        return report_of(run, state)

    def load(
        self,
        *inputs: Any,
        mapping: str | Path | TableMapping | None = None,
        id: str | Mapping[str, str] | None = None,
        class_: str | Mapping[str, str] | None = None,
        prefix: str | None = None,
        header_row: int | Mapping[str, int] | None = None,
        replace: str | None = None,
        replace_rows: bool = False,
    ) -> UpdateReport:
        """Adds RDF files, tables, rdflib graphs or iterables of triples; in place of a graph, or of rows of tables.

        The arguments are those of `KnowledgeBase.load`. Large inputs go through the bulk loader, which does not tell
        their subjects: `entities` of the report is 0.

        Raises:
            LoadError: an input is malformed. After that of a large one nothing else can be done in the transaction.
        """
        state = self._open
        self._reasons.append("")
        if not inputs and mapping is None:
            raise LoadError("nothing to load", hint="give RDF files, tables or rdflib graphs")
        rows = state.building.tables.kept if replace is None else ()
        earlier = NO_TABLES
        if rows:
            earlier = loaded_tables(rows, state.snapshot(ranked=False).store, replaces_rows=replace_rows)
        check_replacing(replace, replace_rows)
        options = TableOptions(mapping, id, class_, prefix, state.building.prefixes.kept, earlier, header_row)
        with with_tables(inputs, options, state.progress) as sources:
            check_sources(sources)
            self._warnings += drifts(sources)
            elsewhere: list[HybridkgError] = []
            with _undone_on_failure(state):
                if replace_rows:
                    elsewhere = load_in_place_of_rows(state, sources)[1]
                elif replace is not None:
                    load_in_place_of(state, sources, graph_named(replace, state.live.prefixes))
                elif all(map(is_small, sources)):
                    load_into(state, sources, None)
                else:
                    added = sum(count.new for count in state.load(sources))
                    self._warnings += prefix_warnings(state.building.prefixes.new_clashes)
                    return UpdateReport(added, 0, 0, is_behind=state.step is None)
        self._warnings += [*prefix_warnings(state.building.prefixes.new_clashes), *elsewhere]
        return report_of(None, state, elsewhere)

    def delete(self, *inputs: Source, graph: str | None = None) -> UpdateReport:
        """Removes the triples of RDF files, rdflib graphs or iterables of triples.

        With `graph`, an IRI or a prefixed name, they are removed from this graph; otherwise from the graphs that the
        inputs name, which is the default graph for a format without graphs.

        Raises:
            LoadError: an input is malformed, or has a blank node, which names nothing here.
        """
        state = self._open
        if not inputs:
            raise LoadError("nothing to remove", hint="give RDF files or rdflib graphs")
        check_sources(inputs)
        with _undone_on_failure(state):
            count, warnings = remove_statements(
                state, inputs, None if graph is None else graph_named(graph, state.live.prefixes)
            )
        self._warnings += warnings
        names = ", ".join(name_of_source(one) for one in inputs)
        which = "the triple" if count == 1 else f"none of the {count:,} triples"
        reason = f"{which} of {names} is {'not ' * (count == 1)}in {state.folder.path.name}"
        self._reasons.append(None if warnings else reason if count else "")
        return replace(report_of(None, state, warnings), reason=self._reasons[-1])

    def text(self, entity: Any, /, **fields: str | Sequence[str]) -> None:
        """Replaces fields of the text of an entity that is not in the graph; an empty list removes a field.

        Raises:
            ParameterError: the entity is no IRI.
            LoadError: the name of a field or a text is not allowed.
        """
        iri = _entity(entity)
        self._open.change_text(iri, {name: check_texts(name, value, f"<{iri}>") for name, value in fields.items()})

    def delete_text(self, entity: Any, *fields: str) -> None:
        """Removes fields of the text of an entity that is not in the graph; all of them where none is named."""
        self._open.change_text(_entity(entity), {name: [] for name in fields} if fields else None)

    def delete_texts_of(self, file: Any) -> None:
        """Removes the documents whose ids a file lists, lines of {"id": ...}. Raises LoadError: it is malformed."""
        for entity in read_removals(file):
            self._open.change_text(entity, None)

    def query(self, text: str, params: Parameters | None = None, **options: Any) -> ResultSet:
        """Answers a query on the state of this moment, MATCH and NEAR included; the options are those of `kb.query`."""
        state, wanted = self._open, QueryOptions(**options)
        try:
            parsed = ParsedQuery(text, wanted.name, state.prefixes)
        except HybridkgError as e:
            raise e.at(source_of(wanted.name, text)) from e.__cause__
        snapshot = state.snapshot(ranked=any(True for _ in ranked_items(parsed.written.form)))
        session = QuerySession(snapshot, state.folder.path)
        with QueryRun(session, text, wanted, state.folder.config, state.progress) as run:
            return run.answer(parsed, params, run.execute)

    @property
    def _open(self) -> TransactionState:
        if self._state is None:
            raise UserError("this transaction has ended", hint="use it inside: with kb.transaction() as t: ...")
        self._state.check_whole()
        return self._state

    def end(self) -> None:
        """Ends the transaction for its user; called by the block."""
        self._state = None

    def report_of_all(self, state: TransactionState) -> UpdateReport:
        """The report of everything that has been done here, before the commit; called by the block."""
        change = state.graph.change()
        subjects = {str(quad.subject) for quad in (*change.added, *change.removed)}
        return UpdateReport(
            len(change.added) + sum(count.new for count in state.loaded),
            len(change.removed),
            len(subjects | {f"<{iri}>" for iri in state.write_documents().entities}),
            exact=self._exact,
            warnings=tuple(self._warnings),
            change=change,
            solutions=self._solutions,
            reason=self._reasons[0] if len(self._reasons) == 1 else "",
            in_named_graphs=in_hidden_graphs(state.folder.config, change.added, state.loaded),
            folder=str(state.folder.path),
        )


@contextmanager
def _undone_on_failure(state: TransactionState) -> Iterator[None]:
    state.begin_request()
    try:
        yield
    except BaseException:
        state.undo_request()
        raise


def report_of(run: UpdateRun | None, state: TransactionState, warnings: Sequence[HybridkgError] = ()) -> UpdateReport:
    """The report of the request that has just run, before its commit."""
    change = state.graph.request_change()
    return UpdateReport(
        len(change.added),
        len(change.removed),
        len({quad.subject for quad in (*change.added, *change.removed)}),
        exact=True if run is None else run.exact,
        warnings=tuple(warnings if run is None else run.warnings),
        is_behind=state.step is None,
        change=change,
        solutions=None if run is None else run.solution_count,
        reason="" if run is None else run.why_nothing,
        in_named_graphs=in_hidden_graphs(state.folder.config, change.added),
        folder=str(state.folder.path),
    )


@dataclass(frozen=True)
class TransactionOptions:
    """How a transaction commits.

    Args:
        index: whether the indexes follow; None: if they are up to date and may follow, or there are none yet. Those on
            a server stay behind then where they cannot follow, while True builds them anew or fails.
        wait: seconds to wait for another writer.
        dry_run: whether everything is done and nothing committed.
        progress: receives the progress of the index step.
        confirm: confirms an upload of many texts to the server of an encoder; None refuses it.
        rebuilds: whether indexes that cannot follow are built from scratch; otherwise they stay behind.
    """

    index: bool | None
    wait: float
    dry_run: bool
    progress: Progress
    confirm: ConfirmUpload | None
    rebuilds: bool = True


@dataclass
class Committed:
    """The outcome of a transaction, after its block.

    Attributes:
        index: the indexes; None where they did not follow.
        not_followed: why they could not follow the change, and were built from scratch or stay behind.
        documents: documents that have changed.
        is_live: whether the new generation is the live one, also where an exception has followed.
        is_behind: whether the indexes are older than the graph now.
    """

    index: IndexReport | None = None
    not_followed: str = ""
    documents: int = 0
    is_live: Callable[[], bool] = lambda: False
    is_behind: bool = False


@contextmanager
def begun(folder: Folder, live: Snapshot, options: TransactionOptions) -> Iterator[tuple[TransactionState, Committed]]:
    """A transaction; at the end of the block it is committed if anything has changed.

    Args:
        folder: of the knowledge base.
        live: a snapshot, used if it is that of the live generation.
        options: how it commits.

    Raises:
        LockedError: another writer has the lock.
    """
    refuse_at_endpoint(folder, ("update",))
    while True:
        rebuilds = options.rebuilds and not _stays_behind_on_failure(folder, options)
        step, failure = _step(folder, options, rebuilds)
        outcome = Committed()
        with ExitStack() as stack:
            if step is not None:
                stack.enter_context(step.guarded())
            building = stack.enter_context(folder.building(options.progress, options.wait))
            if _has_step(folder, options) != (step is not None or bool(failure)):  # another writer was faster
                building.abandon()
                continue
            if live.generation.name != building.previous.name:
                live = Snapshot.open(folder)
            state = TransactionState(folder, building, live, step, options.progress, rebuilds=rebuilds)
            state.not_followed = failure
            stack.callback(state.close)
            outcome.is_live = partial(_is_live, folder, building)
            yield state, outcome
            _commit(state, outcome, options)
        return


@collector_paused()
def _commit(state: TransactionState, outcome: Committed, options: TransactionOptions) -> None:
    """Completes the next generation, or abandons it."""
    state.check_whole()
    outcome.documents = len(state.write_documents().entities)
    outcome.is_behind = state.step is None if state.is_changed else bool(state.building.previous.behind())
    if options.dry_run or not state.is_changed:
        state.building.abandon()
        return
    outcome.index = state.finish()
    outcome.not_followed = state.not_followed
    outcome.is_behind = state.step is None


def _is_live(folder: Folder, building: Building) -> bool:
    return folder.live_name() == f"{building.number:06d}"


def _has_step(folder: Folder, options: TransactionOptions) -> bool:
    """Whether the indexes follow."""
    if options.index is not None:
        return options.index
    return not has_text_index(folder) or _can_follow(folder)


def _step(folder: Folder, options: TransactionOptions, rebuilds: bool) -> tuple[IndexStep | None, str]:
    """The index step of a commit; None where the indexes stay behind, and why, if a server cannot be used."""
    if not _has_step(folder, options):
        return None, ""
    try:
        return IndexStep.of(folder, configured_profile(folder), options.confirm), ""
    except UNUSABLE_SERVER as e:
        if rebuilds:
            raise
        return None, e.message


def _can_follow(folder: Folder) -> bool:
    """Whether the indexes are up to date, and those on a server may follow."""
    config = folder.config
    engine, may_follow = TEXT_ENGINES.get(config.text), True
    if engine.is_remote:
        may_follow = engine.follows(config)
    if config.encoder != NO_ENCODER and VECTOR_INDEXES.get(config.vectors).is_remote:
        may_follow = may_follow and VECTOR_INDEXES.get(config.vectors).follows(config)
    return may_follow and not folder.manifest().behind()


def _stays_behind_on_failure(folder: Folder, options: TransactionOptions) -> bool:
    """Whether indexes that cannot follow stay behind: a server would have to get everything again, unasked."""
    return options.index is None and has_text_index(folder) and has_remote_index(folder)


def _entity(entity: Any) -> str:
    """The IRI of an entity, given as a str or a term."""
    if isinstance(entity, str) and type(entity) is str:
        try:
            return NamedNode(entity).value
        except ValueError as e:
            raise ParameterError(f"{entity!r} is not an IRI: {e}", hint="an absolute IRI, such as http://...") from None
    term = from_rdflib(entity)
    if not isinstance(term, NamedNode):
        raise ParameterError(f"only an IRI names an entity with a text of its own, not {entity!r}")
    return term.value
