"""A load: its options, and the way that its inputs take into the next generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import LoadError
from hybridkg.interfaces.encoder import ConfirmUpload
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.configured import configured_profile, has_text_index, with_chosen_settings
from hybridkg.kb.write.open_transaction import TransactionOptions
from hybridkg.kb.write.replacing import replace_graph
from hybridkg.kb.write.reports import LoadReport
from hybridkg.kb.write.small_load import can_follow, load_small
from hybridkg.kb.write.transaction import load
from hybridkg.store.generations.folder import Folder
from hybridkg.store.loading import Source

QUICKLY_INDEXED = 50_000
"""Triples up to which the indexes are built from scratch where they cannot follow a small load: about a second."""


@dataclass(frozen=True)
class LoadOptions:
    """The arguments of `KnowledgeBase.load` that are not about tables; `texts` are files of text documents."""

    texts: tuple[Path, ...] = ()
    replace: str | None = None
    index: bool | None = None
    profile: str | Path | None = None
    encoder: str | None = None
    text_engine: str | None = None
    wait: float = 0.0
    progress: Progress = SILENT
    confirm: ConfirmUpload | None = None


@dataclass(frozen=True)
class Loaded:
    """A load that has been written.

    Args:
        report: what it did.
        is_indexed: whether the indexes are up to date by it.
        is_commit: whether it is a commit that the indexes followed, not a build of all of them.
    """

    report: LoadReport
    is_indexed: bool
    is_commit: bool


def load_inputs(
    folder: Folder, snapshot: Callable[[], Snapshot], inputs: Sequence[Source], options: LoadOptions
) -> Loaded:
    """Writes the inputs into the next generation.

    Args:
        folder: of the knowledge base.
        snapshot: opens the state before, which a load of many triples does not need.
        inputs: RDF files, rdflib graphs and the triples of tables.
        options: of the load.

    Raises:
        LoadError: an input is malformed, or text documents are to replace a graph.
        UnknownNameError: no such encoder or text engine.
        LockedError: another writer has the lock.
    """
    folder = with_chosen_settings(folder, options.profile, options.encoder, options.text_engine)
    paths, index = list(options.texts), options.index
    if options.replace is not None:
        if paths:
            raise LoadError("text documents belong to no graph, so they replace none", hint="load them in another call")
        how = _transaction(options, True if folder.has_changes else index)
        report = replace_graph(folder, snapshot(), inputs, options.replace, how)
        return Loaded(report, report.index is not None, is_commit=True)
    if index is None and not folder.has_changes and can_follow(folder, inputs, paths):
        before = snapshot()
        how = _transaction(options, None, rebuilds=before.quads <= QUICKLY_INDEXED)
        report = load_small(folder, before, inputs, paths, how)
        return Loaded(report, report.index is not None, is_commit=True)
    if index is None:
        index = any((options.profile, options.encoder, options.text_engine)) or not has_text_index(folder)
    chosen = configured_profile(folder) if index else None
    report = load(folder, inputs, paths, chosen, options.progress, options.confirm, options.wait)
    return Loaded(report, index, is_commit=False)


def _transaction(options: LoadOptions, index: bool | None, *, rebuilds: bool = True) -> TransactionOptions:
    return TransactionOptions(index, options.wait, False, options.progress, options.confirm, rebuilds=rebuilds)
