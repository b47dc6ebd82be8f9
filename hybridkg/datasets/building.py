"""Atomic building of a dataset: a folder with a knowledge base, topics, judgements and folds.

Everything is written into a staging folder, which is renamed as the last step. The same files give the same bytes,
except in the knowledge base.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hybridkg.datasets import DATASETS
from hybridkg.datasets.recipe import Contents, Folds, Recipe
from hybridkg.datasets.sources import SourceFile, find_sources
from hybridkg.errors import StorageError, UserError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.write.reports import IndexReport

LINES_PER_REPORT = 10_000
"""Triples or documents between two progress reports."""


@dataclass(frozen=True)
class MadeDataset:
    """The result of a build: its recipe, its folder, the counts of all parts, and the report of the index."""

    recipe: Recipe
    path: Path
    counts: Mapping[str, int]
    index: IndexReport


def make_dataset(name: str, given: Path, out: Path, *, progress: Progress = SILENT) -> MadeDataset:
    """Makes a dataset in a new folder: kb/, topics.tsv, qrels.txt, folds.json, dataset.toml, README.md ...

    Args:
        name: of DATASETS.
        given: the data folder, or one with the dataset's own files.
        out: the new folder.
        progress: receives the progress.

    Raises:
        UnknownNameError: no dataset of that name.
        LoadError: a file is missing or wrong.
        UserError: the folder exists, or the dataset needs other inputs than a data folder.
        StorageError: it cannot be written.
    """
    recipe: Recipe = DATASETS.get(name)
    if recipe.needs or recipe.read is None:
        raise UserError(f"{name!r} is made of {recipe.needs}, not of a data folder")
    refuse_existing(name, out)
    sources = find_sources(recipe.name, recipe.files, given, recipe.origin)
    progress.start(f"reading {recipe.name}", None)
    contents = recipe.read(sources)
    progress.done(len(sources))
    return write_dataset(recipe, sources, contents, out, progress=progress)


def write_dataset(
    recipe: Recipe, sources: Mapping[str, SourceFile], contents: Contents, out: Path, *, progress: Progress = SILENT
) -> MadeDataset:
    """Writes a dataset atomically. Raises UserError: the folder exists; StorageError: it cannot be written."""
    staging = out.absolute().parent / f".{out.name}.{secrets.token_hex(4)}"
    try:
        staging.mkdir(parents=True)
        made = _write(recipe, sources, contents, staging, out, progress)
        refuse_existing(recipe.name, out)
        staging.rename(out)
    except OSError as e:
        raise StorageError(f"cannot write {str(out)!r}: {(e.strerror or str(e)).lower()}") from e
    finally:
        if staging.exists():
            shutil.rmtree(staging, ignore_errors=True)
    return made


def refuse_existing(name: str, out: Path) -> None:
    """Checks that the folder does not exist yet. Raises UserError: it does."""
    if os.path.lexists(out):
        raise UserError(
            f"{str(out)!r} exists already", hint=f"remove it, or choose another: hybridkg dataset {name} --out FOLDER"
        )


def _write(
    recipe: Recipe, sources: Mapping[str, SourceFile], contents: Contents, folder: Path, out: Path, progress: Progress
) -> MadeDataset:
    triples, documents = folder / f"{recipe.name}.nt", folder / f"{recipe.name}.jsonl"
    counts = {**contents.counts, "triples": _write_lines(triples, contents.triples, progress)}
    if contents.documents is not None:
        counts["documents"] = _write_lines(documents, contents.documents, progress)
    texts = [] if contents.documents is None else [documents]
    KnowledgeBase.create(folder / "kb").close()
    if contents.prepare is not None:
        contents.prepare(folder / "kb")
    with KnowledgeBase.open(folder / "kb") as kb:
        built = kb.load(triples, text=texts, index=True, profile=recipe.profile, progress=progress).index
    assert built is not None
    for path in (triples, *texts):
        path.unlink()
    counts = write_collection(folder, recipe, sources, contents, counts)
    return MadeDataset(recipe, out, counts, built)


def write_collection(
    folder: Path, recipe: Recipe, sources: Mapping[str, SourceFile], contents: Contents, counts: Mapping[str, int]
) -> dict[str, int]:
    """Writes the files next to the knowledge base: topics, judgements, folds, dataset.toml and README.md.

    Args:
        folder: has all other files already; README.md lists those without a leading dot.
        recipe: of the dataset.
        sources: its input files.
        contents: topics, judgements, folds and categories.
        counts: of the knowledge base; returned with those of the collection.
    """
    _write_topics(folder / "topics.tsv", contents.topics)
    for file, topics in contents.more_topics.items():
        _write_topics(folder / file, topics)
    write_qrels(folder / "qrels.txt", contents.qrels, contents.topics)
    write_folds(folder / "folds.json", contents.folds)
    for file, folds in contents.more_folds.items():
        write_folds(folder / file, folds)
    for file, lines in contents.more_files.items():
        with (folder / file).open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(lines)
    if contents.categories:
        _write_topics(folder / "categories.tsv", contents.categories)
    all_counts = {
        **counts,
        "topics": len(contents.topics),
        "judgements": len(contents.qrels),
        "relevant": sum(grade > 0 for _, _, grade in contents.qrels),
    }
    _write_text(folder / "dataset.toml", _description(recipe, sources, all_counts))
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    _write_text(folder / "README.md", _readme(recipe, all_counts, names))
    return all_counts


def _write_lines(path: Path, lines: Iterable[str], progress: Progress) -> int:
    progress.start(f"writing {path.name}", None)
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(line)
            written += 1
            if written % LINES_PER_REPORT == 0:
                progress.advance(0, LINES_PER_REPORT)
    progress.done(written)
    return written


def _write_topics(path: Path, topics: Mapping[str, str]) -> None:
    _write_text(path, "".join(f"{topic}\t{text}\n" for topic, text in topics.items()))


def write_qrels(path: Path, qrels: Iterable[tuple[str, str, int]], topics: Iterable[str]) -> None:
    """Writes judgements by topic in their order, then as in the source."""
    order = {topic: i for i, topic in enumerate(topics)}
    rows = sorted(qrels, key=lambda row: order[row[0]])
    _write_text(path, "".join(f"{topic} 0 {iri} {grade}\n" for topic, iri, grade in rows))


def write_folds(path: Path, folds: Folds) -> None:
    """Writes folds as JSON."""
    _write_text(path, json.dumps(folds, indent=1) + "\n")


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _description(recipe: Recipe, sources: Mapping[str, SourceFile], counts: Mapping[str, int]) -> str:
    lines = [
        f"name = {_toml(recipe.name)}",
        f"title = {_toml(recipe.title)}",
        f"profile = {_toml(recipe.profile)}",
        f"origin = {_toml(recipe.origin)}",
        f"licence = {_toml(recipe.licence)}",
        "notes = [",
        *(f"  {_toml(note)}," for note in recipe.notes),
        "]",
        "",
        "[counts]",
        *(f"{name} = {count}" for name, count in counts.items()),
    ]
    for source in sources.values():
        lines += ["", "[[sources]]", f"file = {_toml(source.name)}", f"bytes = {source.path.stat().st_size}"]
        lines += [f"sha256 = {_toml(source.sha256())}"]
    return "\n".join([*lines, ""])


def _toml(text: str) -> str:
    """A TOML basic string, which equals a JSON string for printable text."""
    return json.dumps(text, ensure_ascii=False)


ABOUT = {
    "kb": "the knowledge base, loaded and indexed",
    "topics.tsv": "id and text of the judged topics",
    "topics-unjudged.tsv": "topics without judgements",
    "topics-unstopped.tsv": "the original texts of the same topics",
    "topics-stopped.tsv": "the same topics without stop patterns",
    "qrels.txt": "judgements: topic, 0, IRI, grade",
    "candidates.txt": "the possible answers, an IRI on each line",
    "qrels-v1.txt": "judgements of version 1 about the same topics",
    "links": "published links of the topics: text, IRI, confidence",
    "folds.json": "the split for training and testing",
    "folds-v1.json": "the split of version 1",
    "categories.tsv": "the category of each topic",
    "dataset.toml": "origin, licence, notes, counts, and the SHA-256 of every source",
}
"""Descriptions of the files in README.md."""


def _readme(recipe: Recipe, counts: Mapping[str, int], names: Iterable[str]) -> str:
    """README.md: the content of dataset.toml for people, and first commands."""
    files = [f"- `{name}`: {ABOUT.get(name) or _file_of_a_part(name)}" for name in names]
    numbers = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    return "\n".join(
        [
            f"# {recipe.name}",
            "",
            f"{recipe.title}. Made by `hybridkg dataset {recipe.name}` from {recipe.origin}.",
            f"Licence: {recipe.licence}.",
            "",
            f"{numbers}.",
            "",
            *files,
            "",
            *(f"- {note}" for note in recipe.notes),
            "",
            "```",
            "hybridkg stats kb",
            "hybridkg query kb 'SELECT ?e ?s { ?e MATCH \"words\" AS ?s } RANK BY ?s LIMIT 10'",
            "```",
            "",
        ]
    )


def _file_of_a_part(name: str) -> str:
    if match := re.fullmatch(r"(topics|qrels)-(.+)\.(?:tsv|txt)", name):
        return f"{'topics' if match[1] == 'topics' else 'judgements'} of the split {match[2]}"
    match = re.fullmatch(r"folds-(.+)\.json", name)
    return f"the split of the topics of category {match[1]} alone" if match else "see dataset.toml"
