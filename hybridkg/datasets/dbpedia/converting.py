"""Conversion of dumps into text documents and N-Triples, in resumable steps.

1. The file of labels determines ranges of names with about the same number of resources.
2. Each dump becomes a spill (partition.py); where rules name resources by labels, these are looked up (naming.py).
3. Range by range, entities are appended to both files, in the byte order of their IRIs. `state.json` records each
   range; a longer file of an interrupted run is truncated.

Dumps and ranges are processed in one process per core. Memory of a process: the lines of a range (RANGE_BYTES of dump
as objects, about 300 MB) or the buffers of a spill (about 150 MB), however large the dumps are. Disk: about a tenth of
the unpacked dumps for the spills, and as much for the two files.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from hybridkg.datasets.dbpedia.entities import entities_of
from hybridkg.datasets.dbpedia.naming import answer, labels_of_predicates
from hybridkg.datasets.dbpedia.partition import Dump, choose_splits, partition
from hybridkg.datasets.dbpedia.routing import DBpediaRouting
from hybridkg.datasets.dbpedia.rules import Rules
from hybridkg.datasets.dbpedia.side_by_side import Item, ParallelWorkers, Result, Work, workers
from hybridkg.datasets.dbpedia.spill import lines_of, remove, starts_of
from hybridkg.datasets.dbpedia.triples import Lines
from hybridkg.errors import CorruptError, LoadError, UserError
from hybridkg.interfaces.progress import Progress
from hybridkg.storage.durable import write_durably

RANGE_BYTES = 64 << 20
"""Bytes of unpacked dump per range."""

MAX_BLOCKS = 4_096

WORKERS = min(8, os.cpu_count() or 1)
"""Processes of up to 300 MB each."""

RANGES_AHEAD = 2 * WORKERS
"""Ranges in work, or waiting to be written."""

PROCESSES_FROM = 64 << 20
"""Bytes of unpacked dumps from which workers are processes, which take half a second to start."""

UNPACKED = {".bz2": 14, ".xz": 14, ".gz": 9}
"""Growth of a dump when unpacked; measured on the sample: 9.4 MB from 0.65 MB of .bz2."""

ANSWERED_AT_ONCE = 64
"""Ranges whose names are looked up in one step."""

ENDINGS = (".ttl.bz2", ".ttl", ".ttl.gz", ".ttl.xz", ".nt.bz2", ".nt", ".nt.gz", ".nt.xz")

CATEGORY_LABELS, PREDICATE_LABELS = "category_labels_en", "infobox_property_definitions_en"

VERSION = 1
"""Version of the folder of an unfinished conversion."""

DOCUMENTS, GRAPH = "documents.jsonl.gz", "graph.nt.gz"


@dataclass
class State:
    """The progress of a conversion.

    Args:
        inputs: description of the inputs; a conversion resumes only with the same.
        dumps: finished spill -> triples, and skipped lines.
        first_skipped: dump -> place of the first skipped line.
        ranges: ranges in the files.
        sizes: bytes of the files at that point.
        counts: of the written entities.
    """

    inputs: dict[str, Any]
    dumps: dict[str, list[int]] = field(default_factory=dict)
    first_skipped: dict[str, str] = field(default_factory=dict)
    ranges: int = 0
    sizes: dict[str, int] = field(default_factory=lambda: {DOCUMENTS: 0, GRAPH: 0})
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("entities", "triples", "left_out"), 0))


def find_dumps(rules: Rules, given: Path) -> list[Dump]:
    """The dumps of the rules, anywhere below a folder. Raises LoadError: one is missing, or occurs twice."""
    if not given.is_dir():
        raise LoadError(f"the folder {str(given)!r} {'is a file' if given.exists() else 'does not exist'}")
    paths: dict[str, list[Path]] = {}
    for path in sorted(given.rglob("*")):
        ending = next((ending for ending in ENDINGS if path.name.endswith(ending)), None)
        if ending is not None and path.is_file():
            paths.setdefault(path.name.removesuffix(ending), []).append(path)
    missing = [name for name in rules.files if name not in paths]
    if missing:
        more = f" (and {len(missing) - 1} more of {len(rules.files)} dumps)" if len(missing) > 1 else ""
        raise LoadError(
            f"{missing[0] + '.ttl.bz2'!r}{more} is not in {str(given)!r}",
            hint="the dumps are those of DBpedia 2015-10, core-i18n/en, packed or not:\n" + ", ".join(rules.files),
        )
    names = [name for name in (*rules.files, *rules.label_files) if name in paths]
    for name in names:
        if len(paths[name]) > 1:
            raise LoadError(
                f"{name!r} occurs twice: {str(paths[name][0])!r} and {str(paths[name][1])!r}", hint="remove one"
            )
    return [Dump(name, paths[name][0]) for name in names]


class Conversion:
    """A conversion in a folder, which resumes an interrupted one.

    Args:
        rules: of the index.
        dumps: from `find_dumps`.
        folder: an existing folder of its own.
        progress: receives bytes and lines, then ranges and entities.
        lenient: whether to skip wrong lines.
        range_bytes: bytes of unpacked dump per range; it does not affect the files.

    Raises:
        UserError: the folder has a conversion of other files or rules.
    """

    def __init__(
        self,
        rules: Rules,
        dumps: Sequence[Dump],
        folder: Path,
        progress: Progress,
        *,
        lenient: bool = False,
        range_bytes: int = RANGE_BYTES,
    ):
        self.rules, self.dumps, self.folder = rules, dumps, folder
        self._progress, self._lenient = progress, lenient
        self._unpacked = sum(dump.path.stat().st_size * UNPACKED.get(dump.path.suffix, 1) for dump in dumps)
        self._ranges = max(1, min(MAX_BLOCKS, self._unpacked // range_bytes))
        self.state = self._saved_state()

    def run(self) -> State:
        """Runs the remaining steps. Raises LoadError: a line of a dump is wrong; names file and line."""
        by_name = {dump.name: dump for dump in self.dumps}
        splits = self._splits(by_name["labels_en"])
        names = None
        if self.rules.predicate == "label" and PREDICATE_LABELS in by_name:
            names = labels_of_predicates(by_name[PREDICATE_LABELS].path, self._progress, lenient=self._lenient)
        routing = DBpediaRouting(self.rules, category_labels=CATEGORY_LABELS in by_name, predicate_names=names)
        spills = self._spills([dump for dump in self.dumps if dump.name != PREDICATE_LABELS], routing, splits)
        if self.rules.resource == "label":
            spills += self._answers(spills, routing, splits)
        self._write(spills, routing, len(splits) + 1)
        for spill in spills:
            remove(spill)
        return self.state

    # --- steps ------------------------------------------------------------------

    def _splits(self, labels: Dump) -> list[bytes]:
        path = self.folder / "splits"
        if not path.exists():
            splits = []
            if self._ranges > 1:
                resources = self.rules.resources
                splits = choose_splits(labels, resources, self._ranges, self._progress, lenient=self._lenient)
            write_durably(path, "".join(f"{split.decode()}\n" for split in splits))
        return [line.encode() for line in path.read_text(encoding="utf-8").split("\n") if line]

    def _spills(self, dumps: Sequence[Dump], routing: DBpediaRouting, splits: Sequence[bytes]) -> list[Path]:
        paths = {dump.name: _spill_of(self.folder, dump) for dump in dumps}
        remaining = [dump for dump in dumps if dump.name not in self.state.dumps]
        for dump in remaining:
            remove(paths[dump.name])
        if remaining:
            sizes = {dump.name: dump.path.stat().st_size for dump in remaining}
            read = _Partition(routing, splits, self.folder, self._lenient)
            largest_first = sorted(remaining, key=lambda dump: (-sizes[dump.name], dump.name))
            triples = 0
            self._progress.start(f"reading {len(remaining)} dumps", sum(sizes.values()))
            with self._workers(read) as crew:
                for dump, lines in crew.as_done(largest_first):
                    triples += lines.triples
                    self.state.dumps[dump.name] = [lines.triples, lines.skipped]
                    if lines.skipped:
                        self.state.first_skipped[dump.name] = lines.first
                    self._note()
            self._progress.done(triples)
        return list(paths.values())

    def _answers(self, spills: Sequence[Path], routing: DBpediaRouting, splits: Sequence[bytes]) -> list[Path]:
        ranges = len(splits) + 1
        parts = [range(first, min(first + ANSWERED_AT_ONCE, ranges)) for first in range(0, ranges, ANSWERED_AT_ONCE)]
        answer_spills = [self.folder / f"answers-{part.start}.spill" for part in parts]
        if self.state.ranges < ranges:
            self._progress.start("looking up names", ranges)
            answers = 0
            for part, path in zip(parts, answer_spills, strict=True):
                if not starts_of(path).exists():
                    answers += answer(spills, part, routing, splits, path, self._progress)
            self._progress.done(answers)
        return answer_spills

    def _write(self, spills: Sequence[Path], routing: DBpediaRouting, ranges: int) -> None:
        """Appends the ranges in their order, while the next ones are computed."""
        if self.state.ranges == ranges:
            return
        first, before = self.state.ranges, self.state.counts["entities"]
        self._progress.start("writing entities", ranges - first)
        packing = _Packing(spills, routing)
        with self._opened(DOCUMENTS) as documents, self._opened(GRAPH) as graph, self._workers(packing) as crew:
            files = {DOCUMENTS: documents, GRAPH: graph}
            for packed in crew.in_order(range(first, ranges), RANGES_AHEAD):
                self._append(packed, files)
        self._progress.done(self.state.counts["entities"] - before)

    def _append(self, packed: PackedEntities, files: Mapping[str, IO[bytes]]) -> None:
        """Appends a range to the files, and records it."""
        state = self.state
        for name, member in packed.members.items():
            file = files[name]
            file.write(member)
            file.flush()
            os.fsync(file.fileno())
            state.sizes[name] = file.tell()
        for what, count in packed.counts.items():
            state.counts[what] += count
        state.ranges += 1
        self._note()
        self._progress.advance(1, packed.counts["entities"])

    def _workers(self, work: Work[Item, Result]) -> AbstractContextManager[ParallelWorkers[Item, Result]]:
        return workers(work, WORKERS, self._progress, processes=self._unpacked >= PROCESSES_FROM)

    # --- state ------------------------------------------------------------------

    def _opened(self, name: str) -> IO[bytes]:
        """A file truncated to its recorded size, at its end."""
        path = self.folder / name
        path.touch()
        file = path.open("r+b")
        file.truncate(self.state.sizes[name])
        file.seek(self.state.sizes[name])
        return file

    def _note(self) -> None:
        write_durably(self.folder / "state.json", json.dumps(asdict(self.state)) + "\n")

    def _saved_state(self) -> State:
        inputs = {
            "version": VERSION,
            "rules": self.rules.digest,
            "ranges": self._ranges,
            "dumps": {dump.name: _signature(dump.path) for dump in self.dumps},
        }
        path = self.folder / "state.json"
        if not path.exists():
            return State(inputs)
        try:
            saved = State(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as e:
            raise CorruptError(f"{str(path)!r} is damaged", hint=f"remove {str(self.folder)!r}, and start again") from e
        if saved.inputs != inputs:
            raise UserError(
                f"{str(self.folder)!r} was begun with other {_difference(saved.inputs, inputs)}",
                hint="remove it to start again",
            )
        return saved


def _spill_of(folder: Path, dump: Dump) -> Path:
    return folder / f"{dump.name}.spill"


@dataclass(frozen=True)
class _Partition:
    """Work on one dump: writes its spill."""

    routing: DBpediaRouting
    splits: Sequence[bytes]
    folder: Path
    lenient: bool

    def __call__(self, dump: Dump, progress: Progress) -> Lines:
        return partition(dump, self.routing, self.splits, _spill_of(self.folder, dump), progress, lenient=self.lenient)


@dataclass(frozen=True)
class PackedEntities:
    """The entities of a range as a compressed member of each file, with counts."""

    members: Mapping[str, bytes]
    counts: Mapping[str, int]


@dataclass(frozen=True)
class _Packing:
    """Work on one range: makes its entities."""

    spills: Sequence[Path]
    routing: DBpediaRouting

    def __call__(self, number: int, progress: Progress) -> PackedEntities:
        texts: list[bytes] = []
        triples: list[bytes] = []
        left_out = 0
        for entity in entities_of(lines_of(self.spills, number), self.routing):
            texts.append(json.dumps({"id": entity.iri, **entity.fields}, ensure_ascii=False).encode() + b"\n")
            triples += entity.triples
            left_out += entity.left_out
        members = {DOCUMENTS: _packed(texts), GRAPH: _packed(triples)}
        progress.advance(0, 0)  # stops here if another range has failed
        return PackedEntities(members, {"entities": len(texts), "triples": len(triples), "left_out": left_out})


def _packed(lines: list[bytes]) -> bytes:
    return gzip.compress(b"".join(lines), 1, mtime=0)


def _signature(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


def _difference(known: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    for what in ("version", "rules"):
        if known.get(what) != now[what]:
            return {"version": "versions of hybridkg", "rules": "rules"}[what]
    return "dumps"
