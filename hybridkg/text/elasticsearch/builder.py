"""Builds an index on the server: entity by entity, into a new index that nothing names before it is complete."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
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
from hybridkg.text.elasticsearch.header import IDENTITY, LAYOUT, IndexIdentity
from hybridkg.text.elasticsearch.mapping import index_body
from hybridkg.text.elasticsearch.statistics import field_statistics
from hybridkg.text.elasticsearch.terms import TermCollector
from hybridkg.text.index.field_presence import MAX_FIELDS, describe_fields, write_presence
from hybridkg.text.index.layout import ArrayWriter

ENTITIES_PER_REPORT = 1_000


class ElasticTextBuilder:
    """One new index.

    Args:
        server: where.
        folder: gets the header and, with hybridkg's analysis, the field lengths and the terms.
        fields: what the index stores, in the profile's order; at most 64.
        n_nodes: ids are below this.
        alias: the beginning of its name.
        owner: whose it is; kept in the index.
        filters: IRIs of the predicates whose values are stored.
        union_default_graph: whether those are of all graphs.

    Raises:
        TextServerError: the server does not answer, or does not let us make an index.
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
        """One entity, once.

        Args:
            entity: its id.
            node: its name.
            texts: (position of a field, values) of each field that it has.
            filters: for each filter, the objects as N-Triples writes them; or nothing at all.
        """
        self._new.put(self._documents.document(entity, node, texts, filters))

    def finish(self, n_entities: int) -> dict[str, int]:
        """Waits for the last document, counts them on the server, and writes the header.

        Args:
            n_entities: how many were added.

        Returns:
            Counts: entities, terms (not with native analysis), tokens, text_bytes.
        """
        self._new.finish(n_entities)
        described = self._described()
        with_words = n_entities if self._lengths is None else write_presence(self._out, self._lengths)
        own = self._server.settings
        identity = IndexIdentity(
            LAYOUT, self.index, self._alias, self._new.build, own.analysis, n_entities, own.shards,
            float(own.k1), float(own.b), self._filters, self._union,
        )  # fmt: skip
        terms = {} if self._lengths is None else {"terms": self._terms.write(self._out)}
        counts = {
            "entities": with_words,
            **terms,
            "tokens": sum(int(field["tokens"]) for field in described),
            "text_bytes": self._documents.text_bytes,
        }
        self._out.finish(
            {
                "n_nodes": self._n_nodes,
                "fields": described,
                "analyzers": {name: analyzer.chain for name, analyzer in self._analyzers.items()},
                "counts": counts,
                IDENTITY: identity.to_data(),
            }
        )
        return counts

    def _described(self) -> list[dict[str, Any]]:
        fields = [(f.name, f.weight, f.b, f.analyzer) for f in self._fields]
        if self._lengths is not None:
            return describe_fields(fields, self._lengths)
        found = field_statistics(self._server, self.index, self._server.settings.shards, [f.name for f in self._fields])
        return [
            {"name": name, "weight": weight, "b": b, "analyzer": analyzer, **found[name]}
            for name, weight, b, analyzer in fields
        ]

    def abandon(self) -> None:
        """Stops, and removes the index if the server can be reached; else it stays, and `prune` will list it."""
        self._terms.discard()
        self._new.abandon()


def analyzers_of(server: Server, names: set[str], *, native: bool) -> dict[str, Analyzer]:
    """The analyzers of an index by name: hybridkg's, or the server's own."""
    if native:
        return native_analyzers(server, sorted(names))
    return {name: ANALYZERS.get(name)() for name in sorted(names)}


def add_all(
    builder: ElasticTextBuilder, extracted: ExtractedText, n_fields: int, filters: Sequence[str], progress: Progress
) -> None:
    """Gives a builder every entity of a knowledge base, in ascending order."""
    nodes, waiting = extracted.nodes, 0
    texts: Iterator[tuple[int, int, Any]] = heapq.merge(
        *(_marked(extracted.stream(position), position) for position in range(n_fields)),
        *(_marked(extracted.filter_values(iri), n_fields + i) for i, iri in enumerate(filters)),
    )
    entity = -1
    own: list[tuple[int, Values]] = []
    held: list[list[str]] = [[] for _ in filters]
    for following, place, values in texts:
        if following != entity:
            if own:
                builder.add(entity, nodes[entity], own, held)
                waiting += 1
            if waiting == ENTITIES_PER_REPORT:
                progress.advance(waiting, waiting)
                waiting = 0
            entity, own, held = following, [], [[] for _ in filters]
        if place < n_fields:
            own.append((place, values))
        else:
            held[place - n_fields] = values
    if own:
        builder.add(entity, nodes[entity], own, held)
    progress.advance(waiting + bool(own), waiting + bool(own))


def _marked(stream: Iterator[tuple[int, Any]], place: int) -> Iterator[tuple[int, int, Any]]:
    return ((entity, place, values) for entity, values in stream)
