"""Reports of the writing calls: typed values with a text for people and a JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from hybridkg.errors import HybridkgError
from hybridkg.results.result import ExplainedPlan
from hybridkg.store.changes import GraphChange
from hybridkg.terminal_text import count_lines

KB = "KB"
"""A knowledge base in a command, where its folder is not known."""

NO_TEXT = "warning: no entity has any text, so a search finds nothing"


def named_graphs_note(triples: int | None, folder: str = KB) -> list[str]:
    """The note about new triples in named graphs of a knowledge base; None for an uncounted number, no line for 0.

    >>> named_graphs_note(0), named_graphs_note(2)[0][:39]
    ([], 'note: 2 new triples are in named graphs')
    """
    if triples == 0:
        return []
    many = (
        "new triples are" if triples is None else "1 new triple is" if triples == 1 else f"{triples:,} new triples are"
    )
    where = "a named graph" if triples == 1 else "named graphs"
    return [
        f"note: {many} in {where}, which queries outside GRAPH and text search do not see; to make them see all "
        f"graphs: hybridkg config {folder} default_graph union, then hybridkg index {folder}"
    ]


@dataclass(frozen=True)
class VectorReport:
    """Vectors that an index step has made.

    Args:
        kind: a name of ENCODERS.
        encoder: name of the encoder with its version and settings, such as `lsa/1 256`.
        dimensions: numbers in a vector.
        entities: entities that have a vector.
        encoded: texts that had no vector before; None where every text is encoded each time.
        details: further figures of the kind of index, such as `recall@10`, a share from 0 to 1.
    """

    kind: str
    encoder: str
    dimensions: int
    entities: int
    encoded: int | None = None
    details: Mapping[str, str | int | float] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> Self:
        """The report of the counts of VectorIndexKind.build."""
        own = ("kind", "encoder", "dimensions", "entities", "encoded")
        values = {name: counts[name] for name in own if name in counts}
        return cls(**values, details={name: value for name, value in counts.items() if name not in own})

    @property
    def vectors(self) -> int:
        """Vectors in the index: one an entity, or more where chunks or fields have vectors."""
        return int(self.details.get("vectors", self.entities))

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the values that are None."""
        counts = {"kind": self.kind, "encoder": self.encoder, "dimensions": self.dimensions, "entities": self.entities}
        return counts | dict(self.details) | _present(encoded=self.encoded)

    def __str__(self) -> str:
        return "\n".join(count_lines(self.to_json()))


@dataclass(frozen=True)
class IndexReport:
    """Indexes that have been built. A count that the engine does not report is None.

    Args:
        fields: fields of the profile and of the documents.
        entities: entities that have text.
        terms: distinct terms.
        postings: (term, field, entity) triples that occur.
        tokens: occurrences of terms.
        text_bytes: bytes of the text in UTF-8.
        vectors: the vectors; None where kb.toml names no encoder.
        exported: triples copied from the SPARQL endpoint; None for a local graph.
        notes: sentences about parts of the profile without text, and about indexes that could not be built.
    """

    fields: int
    entities: int
    terms: int | None = None
    postings: int | None = None
    tokens: int | None = None
    text_bytes: int | None = None
    vectors: VectorReport | None = None
    exported: int | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        vectors = VectorReport.of(value["vectors"]) if "vectors" in value else None
        return cls(**{**value, "vectors": vectors, "notes": tuple(value["notes"])})

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the values that are None."""
        return {
            "fields": self.fields,
            "entities": self.entities,
            **_present(terms=self.terms, postings=self.postings, tokens=self.tokens, text_bytes=self.text_bytes),
            **_present(vectors=self.vectors.to_json() if self.vectors else None, exported=self.exported),
            "notes": list(self.notes),
        }

    def lines(self, indent: str = "") -> list[str]:
        """The text for people: counts after `indent`, a warning where no entity has text, the notes."""
        counts = {name: value for name, value in self.to_json().items() if name != "notes"}
        warnings = [] if self.entities else [NO_TEXT]
        return [*count_lines(counts, indent), *warnings, *(f"note: {note}" for note in self.notes)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class LoadReport:
    """Data that has been loaded.

    Args:
        statements: statements of the inputs, duplicates included.
        triples: statements that are new in the graph.
        documents: text documents; None where no file of documents was loaded.
        index: indexes built in the same step; None where none were.
        warnings: W301 for each file without a statement, W302 for prefixes that another input has declared otherwise,
            W303 for each table whose rows are in a named graph and replace nothing there, W304 for each table with rows
            about entities that are there already, W305 for each column of a table with other types than in earlier
            loads, W306 for each table whose rows were to replace earlier ones, of which there are none.
        removed: triples of a replaced graph, or of replaced rows, that were not in the inputs; None where nothing was
            replaced.
        is_behind: whether the indexes are older than the graph now.
        has_followed: whether the indexes have followed the change, instead of being built from scratch.
        not_followed: why they could not follow it; empty where they were not to.
        in_named_graphs: new triples in named graphs that queries see by GRAPH only; None if not counted.
        folder: the knowledge base in the commands that a note names.
    """

    statements: int
    triples: int
    documents: int | None = None
    index: IndexReport | None = None
    warnings: tuple[HybridkgError, ...] = ()
    removed: int | None = field(default=None, kw_only=True)
    is_behind: bool = field(default=False, kw_only=True, repr=False)
    has_followed: bool = field(default=False, kw_only=True, repr=False)
    not_followed: str = field(default="", kw_only=True, repr=False)
    in_named_graphs: int | None = field(default=0, kw_only=True, repr=False)
    folder: str = field(default=KB, kw_only=True, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the values that are None."""
        return {
            "statements": self.statements,
            "triples": self.triples,
            **_present(removed=self.removed),
            **_present(documents=self.documents, index=self.index.to_json() if self.index else None),
            "warnings": [{"code": w.code, "message": w.message, "hint": w.hint} for w in self.warnings],
        }

    def lines(self) -> list[str]:
        """The text for people: `triples: 128 new`, with the index indented, and the warnings."""
        removed = "" if self.removed is None else f", {self.removed:,} removed"
        counts = {"statements": self.statements, "triples": f"{self.triples:,} new{removed}"} | _present(
            documents=self.documents
        )
        index = ["index:", *self.index.lines("  ")] if self.index else []
        if self.index is None and not self.is_behind:
            index = ["index: up to date"]
        elif self.has_followed and self.index:
            index = ["index: up to date", *(f"note: {note}" for note in self.index.notes)]
        notes = named_graphs_note(self.in_named_graphs, self.folder)
        return [*count_lines(counts), *index, *notes, *(warning.render() for warning in self.warnings)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class UpdateReport:
    """An effective change: what is so already does not count, nor what was added and removed again.

    Args:
        added: triples that the graph has more.
        removed: triples that it has no more.
        entities: nodes whose own triples, as their subject, or whose documents have changed.
        documents: documents added, replaced or removed.
        exact: whether the solutions of WHERE are certainly those that it means (an approximate NEAR may miss one).
        warnings: about the request.
        index: the indexes of the same commit; None where none were written.
        is_behind: whether the indexes are older than the graph now.
        not_followed: why they could not follow the change, and were built from scratch or stay behind; empty where they
            have followed, or were not to.
        change: the triples themselves.
        explanation: the plans of an EXPLAIN, which changes nothing.
        is_dry_run: whether nothing has been written.
        solutions: those of all WHEREs together; None without a WHERE.
        in_named_graphs: added triples in named graphs that queries see by GRAPH only; None if not counted.
        folder: the knowledge base in the commands that a note names.
        reason: why nothing has changed, if so, in words; empty for the usual, None where a warning has said it.
    """

    added: int
    removed: int
    entities: int
    documents: int = 0
    exact: bool = True
    warnings: tuple[HybridkgError, ...] = ()
    index: IndexReport | None = None
    is_behind: bool = False
    change: GraphChange | None = field(default=None, repr=False)
    explanation: ExplainedPlan | None = field(default=None, repr=False)
    is_dry_run: bool = field(default=False, kw_only=True)
    not_followed: str = field(default="", kw_only=True)
    solutions: int | None = field(default=None, kw_only=True)
    in_named_graphs: int | None = field(default=0, kw_only=True, repr=False)
    folder: str = field(default=KB, kw_only=True, repr=False, compare=False)
    reason: str | None = field(default="", kw_only=True, repr=False)

    @property
    def rebuilt(self) -> str:
        """Why the indexes were built from scratch; empty where they were not."""
        return "" if self.index is None else self.not_followed

    @property
    def why_nothing(self) -> str:
        """Why nothing has changed, in words; empty where something has, or nothing was asked for."""
        if self.added or self.removed or self.documents or self.explanation is not None:
            return ""
        if self.solutions == 0:
            return "nothing has changed: the WHERE has no solution"
        if self.reason is None:
            return "nothing has changed"
        return f"nothing has changed: {self.reason or 'the graph was in this state already'}"

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the triples; of an EXPLAIN, that of the plans."""
        if self.explanation is not None:
            return self.explanation.to_json()
        counts = {"added": self.added, "removed": self.removed, "entities": self.entities, "documents": self.documents}
        index = "unchanged" if self.is_dry_run else "behind" if self.is_behind else "up to date"
        warnings = [{"code": w.code, "message": w.message, "hint": w.hint} for w in self.warnings]
        reasons = {
            "rebuilt": self.rebuilt,
            **({"not_followed": self.not_followed} if self.is_behind and self.not_followed else {}),
        }
        counts |= {} if self.solutions is None else {"solutions": self.solutions}
        return {**counts, "exact": self.exact, "index": index, **reasons, "warnings": warnings}

    def lines(self) -> list[str]:
        """The text for people."""
        if self.explanation is not None:
            return self.explanation.text().splitlines()
        counts: dict[str, Any] = {"triples": f"{self.added:,} added, {self.removed:,} removed"}
        if self.documents:
            counts["documents"] = f"{self.documents:,} changed"
        counts["entities"] = f"{self.entities:,} changed"
        anew = f", built anew: {self.rebuilt}" if self.rebuilt else ""
        if not self.is_dry_run:
            counts["index"] = "behind the graph" if self.is_behind else f"up to date{anew}"
        inexact = [] if self.exact else ["the solutions are not exact: an approximate index of vectors found them"]
        notes = [f"note: {self.why_nothing}"] if self.why_nothing else []
        if self.index is not None and not self.rebuilt:
            notes += [f"note: {note}" for note in self.index.notes]
        notes += named_graphs_note(self.in_named_graphs, self.folder)
        end = ["nothing has been written"] if self.is_dry_run else []
        return [*count_lines(counts), *inexact, *notes, *end]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class MovedIndex:
    """A text or vector index that `migrate` has moved.

    Args:
        source: earlier engine, a name of TEXT_ENGINES or VECTOR_INDEXES.
        target: new engine.
        entities: entities in it.
        seconds: wall-clock time of the move.
        bytes_here: bytes of its files in the folder of the knowledge base.
        bytes_on_server: bytes on the server; None for a local target.
        details: `encoder`, `dimensions` and `encoded` (0) of vectors.
    """

    source: str
    target: str
    entities: int
    seconds: float
    bytes_here: int
    bytes_on_server: int | None = None
    details: Mapping[str, str | int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the values that are None."""
        return {
            "source": self.source,
            "target": self.target,
            "entities": self.entities,
            **self.details,
            "seconds": self.seconds,
            "bytes_here": self.bytes_here,
            **_present(bytes_on_server=self.bytes_on_server),
        }

    def counts(self, name: str) -> dict[str, Any]:
        """The figures for people; the first is `name: source -> target`."""
        rest = {key: value for key, value in self.to_json().items() if key not in ("source", "target")}
        return {name: f"{self.source} -> {self.target}", **rest}


@dataclass(frozen=True)
class MigrateReport:
    """Indexes that have been moved.

    Args:
        place: the target engine: `elasticsearch` or `embedded`.
        text: the text index; None if it was there already.
        vectors: the vector index; None if it stays, or there is none.
        notes: sentences that name what stays, and why.
    """

    place: str
    text: MovedIndex | None = None
    vectors: MovedIndex | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the values that are None."""
        moved = {name: one.to_json() for name, one in (("text", self.text), ("vectors", self.vectors)) if one}
        return {"place": self.place, **moved, "notes": list(self.notes)}

    def lines(self) -> list[str]:
        """The text for people."""
        counts: dict[str, Any] = {}
        if self.text is not None:
            counts["text"] = self.text.counts("engine")
        if self.vectors is not None:
            counts["vectors"] = self.vectors.counts("index")
        counts = counts or {"text": f"{self.place} already"}
        return [*count_lines(counts), *(f"note: {note}" for note in self.notes)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class UnusedIndex:
    """An index on a server that no generation on disk names.

    Args:
        engine: name of the text engine.
        name: name on the server.
        created: time of the server; empty if unknown.
        documents: documents in it; None if unknown.
        bytes: its size; None if unknown.
    """

    engine: str
    name: str
    created: str = ""
    documents: int | None = None
    bytes: int | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the values that are unknown."""
        about = _present(created=self.created or None, documents=self.documents, bytes=self.bytes)
        return {"engine": self.engine, "name": self.name, **about}


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
