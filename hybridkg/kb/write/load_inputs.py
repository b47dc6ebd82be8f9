"""A load of any inputs, by the way that fits them: bulk, looked up one by one, or in place of what is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError, LoadWarning
from hybridkg.interfaces.encoder import ConfirmUpload
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.configured import configured_profile, has_text_index, with_chosen_settings
from hybridkg.kb.write.described_already import described_already
from hybridkg.kb.write.drifts import drifts
from hybridkg.kb.write.loaded_tables import known_to_tables, newest
from hybridkg.kb.write.open_transaction import TransactionOptions
from hybridkg.kb.write.replacing import replace_triples
from hybridkg.kb.write.reports import LoadReport
from hybridkg.kb.write.small_load import can_follow, load_small, why_not_followed
from hybridkg.kb.write.table_inputs import TableOptions, check_replacing, is_table, with_tables
from hybridkg.kb.write.transaction import load
from hybridkg.store.generations.folder import AnotherGenerationError, Folder
from hybridkg.store.loading import Source

QUICKLY_INDEXED = 50_000
"""Triples up to which the indexes are built from scratch where they cannot follow a small load: about a second."""


@dataclass(frozen=True)
class LoadOptions:
    """How inputs are loaded; the attributes are arguments of `KnowledgeBase.load`, `settings` the last three of them.

    Args:
        replace: a graph whose triples the inputs replace.
        replace_rows: whether the rows of tables replace earlier ones.
        index: whether the indexes are built; None for whether they can follow.
        settings: profile, encoder and text engine.
        wait: seconds to wait for another writer.
        progress: receives the progress.
        confirm: confirms an upload.
    """

    replace: str | None
    replace_rows: bool
    index: bool | None
    settings: tuple[str | Path | None, str | None, str | None]
    wait: float
    progress: Progress
    confirm: ConfirmUpload | None

    @property
    def replaces(self) -> bool:
        """Whether the inputs replace anything."""
        return self.replace is not None or self.replace_rows


@dataclass(frozen=True)
class Loaded:
    """A load that is done; `is_transaction` where the indexes have followed it, or stayed behind, as with an update."""

    report: LoadReport
    is_transaction: bool


def load_inputs(
    folder: Folder,
    state: Snapshot | None,
    live: Callable[[], Snapshot],
    inputs: Sequence[Any],
    texts: Sequence[str | Path],
    tables: TableOptions,
    how: LoadOptions,
) -> Loaded:
    """Loads inputs and text documents: all of them, or nothing.

    Args:
        folder: of the knowledge base.
        state: its open state; None where an index is damaged.
        live: gives the open state, or raises the error of the damage.
        inputs: RDF and tables.
        texts: files of text documents.
        tables: how the tables become triples, without what the knowledge base knows.
        how: options of the load.

    Raises:
        LoadError: there is no input, or an input is malformed.
        LockedError: another writer has the lock.

    What a table refers to is decided before the lock of the writer is held, because that may take long. So it is
    decided anew if another writer has committed in between.
    """
    if not inputs and not texts and tables.mapping is None:
        raise LoadError(
            "nothing to load", hint="give RDF files, tables, rdflib graphs, or text=; index() builds the index"
        )
    check_replacing(how.replace, how.replace_rows)
    while True:
        state = newest(folder, state)
        known = replace(tables, **known_to_tables(state, how.replace, how.replace_rows))
        writer = with_chosen_settings(folder, *how.settings)
        if state is not None and tables.mapping is None and any(map(is_table, inputs)):
            writer = writer.expecting(state.generation.name)
        try:
            with with_tables(inputs, known, how.progress) as sources:
                warnings: list[LoadWarning] = [*drifts(sources)]
                if not how.replaces and state is not None and state.quads:
                    warnings += described_already(sources, state.store)
                done = _load(writer, live, sources, texts, how)
        except AnotherGenerationError:
            continue  # its rows may be those that a column refers to
        report = done.report
        return replace(done, report=replace(report, warnings=(*report.warnings, *warnings))) if report.triples else done


def _load(
    folder: Folder,
    live: Callable[[], Snapshot],
    sources: Sequence[Source],
    texts: Sequence[str | Path],
    how: LoadOptions,
) -> Loaded:
    """Adds the sources, or puts them in the place of what is there."""
    paths, index = [Path(path) for path in texts], how.index
    if how.replaces:
        if paths:
            raise LoadError("text documents belong to no graph, so they replace none", hint="load them in another call")
        index = True if folder.has_changes else index
        options = TransactionOptions(index, how.wait, False, how.progress, how.confirm)
        return Loaded(replace_triples(folder, live(), sources, how.replace, options), True)
    if index is None and not folder.has_changes and can_follow(folder, sources, paths):
        is_quick = live().quads <= QUICKLY_INDEXED
        options = TransactionOptions(None, how.wait, False, how.progress, how.confirm, rebuilds=is_quick)
        return Loaded(load_small(folder, live(), sources, paths, options), True)
    why = "" if index is not None else why_not_followed(folder, sources, paths)
    if index is None:
        index = any(how.settings) or not has_text_index(folder)
    chosen = configured_profile(folder) if index else None
    report = load(folder, sources, paths, chosen, how.progress, how.confirm, how.wait)
    return Loaded(replace(report, not_followed=why) if report.is_behind else report, False)
