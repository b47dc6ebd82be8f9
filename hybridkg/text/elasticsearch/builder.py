"""The builder of an index on the server: entity by entity, into a new index without an alias until it is complete."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hybridkg.errors import ProfileError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import ExtractedText, Values
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import Node
from hybridkg.remote.elasticsearch.new_index import NewIndex
from hybridkg.remote.elasticsearch.server import Server
from hybridkg.text.elasticsearch.analysis import native_analyzers
from hybridkg.text.elasticsearch.documents import DocumentMaker
from hybridkg.text.elasticsearch.header import LAYOUT, IndexIdentity, finish_header
from hybridkg.text.elasticsearch.mapping import index_body
from hybridkg.text.elasticsearch.statistics import field_statistics
from hybridkg.text.elasticsearch.terms import TermCollector
from hybridkg.text.index.field_presence import MAX_FIELDS, FieldTotals, describe_fields
from hybridkg.text.index.layout import ArrayWriter

ENTITIES_PER_REPORT = 1_000


class ElasticTextBuilder:
    """Builds one new index.

    Args:
        folder: for the header and, with hybridkg's analysis, the field lengths and the terms.
        fields: the stored fields, in the profile's order; at most 64.
        n_nodes: ids are below this.
        alias: the beginning of its name.
        owner: the owning knowledge base, stored in the index.
        filters: IRIs of the predicates whose values are stored.
        union_default_graph: whether those are of all graphs.

    Raises:
        TextServerError: the server does not answer, or refuses to create an index.
        UnknownNameError: a field names an unknown analyzer.
        ProfileError: too many fields.
    """

    def __init__(
        self,
        server: Server,
        folder: Path,
        fields: Sequence[IndexedField],
        n_nodes: int,
        *,
        alias: str,
        owner: str = "",
        filters: Sequence[str] = (),
        union_default_graph: bool = False,
    ):
        if len(fields) > MAX_FIELDS:
            raise ProfileError(f"{len(fields)} text fields; an index holds at most {MAX_FIELDS}")
        self._server, self._fields, self._filters, settings = server, tuple(fields), tuple(filters), server.settings
        self._union, self._alias, self._out, self._n_nodes = union_default_graph, alias, ArrayWriter(folder), n_nodes
        _ = server.version
        self._analyzers = analyzers_of(server, {field.analyzer for field in fields}, native=self._native)
        self._lengths = None if self._native else self._out.create("lengths", "<u4", (len(fields), n_nodes))
        self._terms = TermCollector(folder, len(fields))
        self._documents = DocumentMaker(fields, self._analyzers, self._lengths, self._terms)
        try:
            self._new = NewIndex(server, alias, owner, lambda meta: index_body(fields, filters, settings, meta))
        except BaseException:
            self._terms.discard()
            raise
        self.index = self._new.name

    @property
    def _native(self) -> bool:
        return self._server.settings.analysis == "native"

    def add(self, entity: int, node: Node, texts: Sequence[tuple[int, Values]], filters: Sequence[list[str]]) -> None:
        """Adds an entity, once.

        Args:
            entity: its id.
            node: its name.
            texts: (position of a field, values) of each field that it has.
            filters: for each filter, the objects in N-Triples; or empty.
        """
        self._new.put(self._documents.document(entity, node, texts, filters))

    def finish(self, n_entities: int) -> dict[str, int]:
        """Waits for the last document, checks the server's count, and writes the header.

        Returns the counts entities, terms (not with native analysis), tokens and text_bytes.
        """
        self._new.finish(n_entities)
        totals = None if self._lengths is None else FieldTotals.of(self._lengths)
        described = self._described(totals)
        with_words = n_entities if totals is None else totals.write_sets(self._out)
        settings = self._server.settings
        identity = IndexIdentity(
            LAYOUT, self.index, self._alias, self._new.build, settings.analysis, n_entities, settings.shards,
            float(settings.k1), float(settings.b), self._filters, self._union,
        )  # fmt: skip
        terms = {} if self._lengths is None else {"terms": self._terms.write(self._out)}
        counts = {
            "entities": with_words,
            **terms,
            "tokens": sum(int(field["tokens"]) for field in described),
            "text_bytes": self._documents.text_bytes,
        }
        chains = {name: analyzer.chain for name, analyzer in self._analyzers.items()}
        finish_header(self._out, self._n_nodes, described, chains, counts, identity)
        return counts

    def _described(self, totals: FieldTotals | None) -> list[dict[str, Any]]:
        fields = [(f.name, f.weight, f.b, f.analyzer) for f in self._fields]
        if totals is not None:
            return describe_fields(fields, totals)
        stats = field_statistics(self._server, self.index, self._server.settings.shards, [f.name for f in self._fields])
        return [
            {"name": name, "weight": weight, "b": b, "analyzer": analyzer, **stats[name]}
            for name, weight, b, analyzer in fields
        ]

    def abandon(self) -> None:
        """Stops, and removes the index if the server can be reached; else `prune` will list it."""
        self._terms.discard()
        self._new.abandon()


def analyzers_of(server: Server, names: set[str], *, native: bool) -> dict[str, Analyzer]:
    if native:
        return native_analyzers(server, sorted(names))
    return {name: ANALYZERS.get(name)() for name in sorted(names)}


AddEntity = Callable[[int, Node, Sequence[tuple[int, Values]], Sequence[list[str]]], None]
"""Receives an entity; the arguments are those of `ElasticTextBuilder.add`."""


def add_all(
    add: AddEntity, extracted: ExtractedText, n_fields: int, filters: Sequence[str], progress: Progress
) -> None:
    """Passes on every entity of a text, in ascending order."""
    nodes, waiting = extracted.nodes, 0
    texts: Iterator[tuple[int, int, Any]] = heapq.merge(
        *(_marked(extracted.stream(position), position) for position in range(n_fields)),
        *(_marked(extracted.filter_values(iri), n_fields + i) for i, iri in enumerate(filters)),
    )
    entity = -1
    field_values: list[tuple[int, Values]] = []
    filter_values: list[list[str]] = [[] for _ in filters]
    for next_entity, place, values in texts:
        if next_entity != entity:
            if field_values:
                add(entity, nodes[entity], field_values, filter_values)
                waiting += 1
            if waiting == ENTITIES_PER_REPORT:
                progress.advance(waiting, waiting)
                waiting = 0
            entity, field_values, filter_values = next_entity, [], [[] for _ in filters]
        if place < n_fields:
            field_values.append((place, values))
        else:
            filter_values[place - n_fields] = values
    if field_values:
        add(entity, nodes[entity], field_values, filter_values)
    progress.advance(waiting + bool(field_values), waiting + bool(field_values))


def _marked(stream: Iterator[tuple[int, Any]], place: int) -> Iterator[tuple[int, int, Any]]:
    return ((entity, place, values) for entity, values in stream)
