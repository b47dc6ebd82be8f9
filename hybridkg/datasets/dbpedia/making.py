"""Building of the dataset: conversion, loading, indexing and the collection's files; an interrupted run is resumed.

The unfinished folder is `NAME.partial`, renamed as the last step. Missing parts are made: first the knowledge base, in
one step (its columns are built while the graph is loaded, which saves reading it again), then the small files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from hybridkg.datasets.building import MadeDataset, refuse_existing, write_collection, write_folds, write_qrels
from hybridkg.datasets.dbpedia.collection import DBPEDIA_ENTITY_V2, Extras, read_collection, read_extras
from hybridkg.datasets.dbpedia.converting import DOCUMENTS, GRAPH, RANGE_BYTES, Conversion, State, find_dumps
from hybridkg.datasets.dbpedia.partition import Dump
from hybridkg.datasets.dbpedia.rules import Rules, load_rules, without_catchall
from hybridkg.datasets.recipe import Contents, Recipe
from hybridkg.datasets.sources import SourceFile, find_sources
from hybridkg.errors import LockedError, StorageError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.write.reports import IndexReport
from hybridkg.linking.link_file import write_link_file
from hybridkg.storage.durable import write_durably

WORK = ".work"
"""Folder of temporary files."""

INDEXED = "indexed.json"
"""File with the counts of the index, written once the knowledge base is complete."""


def make_dbpedia(
    dumps: Path,
    collection: Path,
    out: Path,
    *,
    index: str = "B",
    lenient: bool = False,
    catchall: bool = True,
    progress: Progress = SILENT,
    range_bytes: int = RANGE_BYTES,
) -> MadeDataset:
    """Makes a folder like `make_dataset`, from the dumps of DBpedia 2015-10 and the files of the collection.

    Args:
        dumps: folder with the dumps, anywhere below it; compressed or not.
        collection: folder with the files of DBpedia-Entity v2.
        out: the new folder, called `OUT.partial` until it is finished.
        index: "A" or "B", the paper's, or a file of rules that ends in `.toml`.
        lenient: whether to skip and count lines that are not triples, in place of an error.
        catchall: whether index B has the field of that name. It doubles the text, and `lm`, `bm25` and `sdm` give
            the other five, read as one text, the same scores.
        progress: receives the progress.
        range_bytes: unpacked bytes of the dumps that are sorted at once; it does not affect the result.

    Raises:
        LoadError: a file is missing or wrong; names file and line.
        UserError: the folder exists, or `OUT.partial` was begun with other files.
        LockedError: another process is working on it.
        StorageError: it cannot be written.
    """
    rules = load_rules(index) if catchall else without_catchall(load_rules(index))
    recipe = DBPEDIA_ENTITY_V2
    refuse_existing(recipe.name, out)
    dump_files = find_dumps(rules, dumps)
    sources = find_sources(recipe.name, recipe.files, collection, recipe.origin, "--collection")
    contents = read_collection(sources)
    extras = read_extras(collection, contents)
    partial = out.absolute().with_name(f"{out.name}.partial")
    work = partial / WORK
    try:
        work.mkdir(parents=True, exist_ok=True)
        with FileLock(work / "lock", timeout=0):
            conversion = Conversion(rules, dump_files, work, progress, lenient=lenient, range_bytes=range_bytes)
            state = conversion.run()
            built = _knowledge_base(partial, rules, progress)
            counts = _write(partial, rules, dump_files, state, contents, sources, extras)
            refuse_existing(recipe.name, out)
            partial.rename(out)
            shutil.rmtree(out / WORK, ignore_errors=True)
    except Timeout as e:
        raise LockedError(f"another process is making {str(out)!r}", hint="wait for that run, or end it") from e
    except OSError as e:
        raise StorageError(f"cannot write {str(out)!r}: {(e.strerror or str(e)).lower()}") from e
    return MadeDataset(_about(rules, dump_files, state), out, counts, built)


def _knowledge_base(folder: Path, rules: Rules, progress: Progress) -> IndexReport:
    """Loads and indexes the converted files."""
    kb, work = folder / "kb", folder / WORK
    if not (work / INDEXED).exists():
        if not (kb / "CURRENT").exists():
            KnowledgeBase.create(kb).close()
        with KnowledgeBase.open(kb) as base:  # resumes the text analysis of an interrupted run
            built = base.load(
                work / GRAPH, text=work / DOCUMENTS, index=True, profile=rules.profile, progress=progress
            ).index
        assert built is not None
        write_durably(work / INDEXED, json.dumps(built.to_json()))
    for name in (GRAPH, DOCUMENTS):
        (work / name).unlink(missing_ok=True)
    return IndexReport.from_json(json.loads((work / INDEXED).read_text(encoding="utf-8")))


def _write(
    folder: Path,
    rules: Rules,
    dumps: Sequence[Dump],
    state: State,
    contents: Contents,
    sources: Mapping[str, SourceFile],
    extras: Extras,
) -> dict[str, int]:
    """Writes the files next to the knowledge base; returns counts."""
    if extras.qrels_v1:
        write_qrels(folder / "qrels-v1.txt", extras.qrels_v1, contents.topics)
    if extras.folds_v1:
        write_folds(folder / "folds-v1.json", extras.folds_v1)
    if extras.links:
        (folder / "links").mkdir(exist_ok=True)
    for name, links in extras.links.items():
        write_link_file(folder / "links" / f"{name}.tsv", links)
    dump_sources = {f"dump {dump.name}": SourceFile(dump.path.name, dump.path) for dump in dumps}
    all_sources = {**sources, **extras.sources, **dump_sources}
    counts = {
        "dump_triples": sum(triples for triples, _ in state.dumps.values()),
        "entities": state.counts["entities"],
        "triples": state.counts["triples"],
    }
    return write_collection(folder, _about(rules, dumps, state), all_sources, contents, counts)


def _about(rules: Rules, dumps: Sequence[Dump], state: State) -> Recipe:
    """The recipe with this build's index and notes, for dataset.toml and README.md."""
    return replace(
        DBPEDIA_ENTITY_V2,
        title=f"{DBPEDIA_ENTITY_V2.title}: index {rules.name}",
        profile=rules.profile,
        notes=(*DBPEDIA_ENTITY_V2.notes, *_notes(rules, dumps, state)),
    )


def _notes(rules: Rules, dumps: Sequence[Dump], state: State) -> Iterable[str]:
    yield f"SHA-256 of the rules of the index: {rules.digest}."
    available = {dump.name for dump in dumps}
    for name in rules.label_files:
        if name not in available:
            yield f"Made without {name}: the words of IRIs replace its labels."
    for name, (_, skipped) in state.dumps.items():
        if skipped:
            yield f"{skipped:,} lines of {name} are not triples and left out, the first {state.first_skipped[name]}."
    left_out = state.counts["left_out"]
    if left_out:
        yield f"{left_out:,} triples are not in the graph because of an invalid IRI or language tag."
