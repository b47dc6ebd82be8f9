"""The next index on the server from the earlier one: a clone, from which changed entities leave, and which they enter.

The server links the files of the clone, and the earlier index stays as it is for its readers. Deleted documents are
merged away, so the statistics of the server are those of an index from scratch; those of the fields are compared with
the local ones before anything names the clone. The local arrays have the bytes of a build, except for the numbers of
the documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybridkg.errors import TextServerError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import CannotFollowError, TextChange, Values
from hybridkg.rdf.terms import Node
from hybridkg.remote.elasticsearch.new_index import ClonedIndex
from hybridkg.remote.elasticsearch.numbers import DocumentNumbers, NumberEdit
from hybridkg.remote.elasticsearch.orphans import check_left
from hybridkg.remote.elasticsearch.server import Server
from hybridkg.text.elasticsearch.builder import add_all, analyzers_of
from hybridkg.text.elasticsearch.documents import DocumentMaker
from hybridkg.text.elasticsearch.header import IDENTITY, IndexIdentity, finish_header
from hybridkg.text.elasticsearch.statistics import field_statistics
from hybridkg.text.elasticsearch.terms import TermChanges, TermSink
from hybridkg.text.index.field_presence import FieldTotals, describe_fields
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter


class ElasticTextFollower:
    """Makes one index from an earlier one.

    Args:
        server: connection.
        previous: folder of the earlier index.
        folder: for the header and the arrays.
        change: the changed texts.
        alias: of the indexes.
        owner: the owning knowledge base.

    Raises:
        CannotFollowError: the settings, fields or analyzers are not those of the earlier index.
        TextServerError: the server does not answer, or no longer has the earlier index.
    """

    def __init__(self, server: Server, previous: Path, folder: Path, change: TextChange, *, alias: str, owner: str):
        self._server, self._change, self._out = server, change, ArrayWriter(folder)
        self._fields, self._earlier = change.after.fields, ArrayReader(previous)
        self._identity = IndexIdentity.from_data(self._earlier.about(IDENTITY), str(previous))
        self._analyzers: Mapping[str, Analyzer] = analyzers_of(server, {f.analyzer for f in self._fields}, native=False)
        self._chains = {name: analyzer.chain for name, analyzer in self._analyzers.items()}
        self._check(alias)
        old = self._identity
        check_left(server, old.index, old.build, old.documents)
        numbers, stays = DocumentNumbers.read(self._earlier), change.staying.array
        self._numbers = NumberEdit(numbers, np.arange(len(stays), dtype=np.uint32), stays, change.ids)
        self._new = ClonedIndex(server, old.index, alias, owner)
        self.index = self._new.name

    def _check(self, alias: str) -> None:
        old, settings = self._identity, self._server.settings
        wanted = (settings.analysis, settings.shards, float(settings.k1), float(settings.b), alias)
        if (old.analysis, old.shards, old.k1, old.b, old.alias) != wanted:
            raise CannotFollowError("the settings of the index on the server have changed")
        fields = [(one["name"], one["analyzer"]) for one in self._earlier.about("fields")]
        if fields != [(one.name, one.analyzer) for one in self._fields]:
            raise CannotFollowError("the fields have changed")
        if self._earlier.about("analyzers") != self._chains:
            raise CannotFollowError("the analyzers have changed")
        source = self._change.after
        if (old.filters, old.union_default_graph) != (source.filters, source.union_default_graph):
            raise CannotFollowError("the stored values of predicates have changed")

    def run(self, progress: Progress) -> dict[str, int]:
        """Sends the changes, checks the index, and writes the header; returns the counts of the whole index.

        Raises:
            TextServerError: the server does not answer or refuses, or its statistics are not those of the texts.
        """
        change, out = self._change, self._out
        lengths = self._renumbered_lengths()
        terms = TermChanges(len(self._fields))
        for number in self._numbers.removed.tolist():
            self._new.delete(number)
        self._send(lengths, terms, progress)
        self._read_earlier(terms.of_removed())
        progress.start("merging on the server", None)
        self._new.finish(change.n_nodes)
        progress.done(change.n_nodes)
        totals = FieldTotals.of(lengths)
        described = describe_fields([(f.name, f.weight, f.b, f.analyzer) for f in self._fields], totals)
        self._check_statistics(described)
        self._numbers.write(out)
        with_words, n_terms, tokens = totals.write_sets(out), terms.write(self._earlier, out), sum(totals.tokens)
        counts = {"entities": with_words, "terms": n_terms, "tokens": tokens, "text_bytes": change.text_bytes}
        identity = replace(self._identity, index=self.index, build=self._new.build, documents=change.n_nodes)
        finish_header(out, change.n_nodes, described, self._chains, counts, identity)
        return counts

    def abandon(self) -> None:
        """Removes the clone if the server can be reached; else `prune` will list it."""
        self._new.abandon()

    def _renumbered_lengths(self) -> Array:
        """uint32[fields, nodes] of the entities that stay, at their next ids."""
        earlier, after = self._earlier.array("lengths"), self._change.staying.array
        lengths = self._out.create("lengths", "<u4", (len(self._fields), self._change.n_nodes))
        stays = np.flatnonzero(after >= 0)
        for row, own in zip(lengths, earlier, strict=True):
            row[after[stays]] = own[stays]
        return lengths

    def _send(self, lengths: Array, terms: TermSink, progress: Progress) -> None:
        """Sends the documents of the changed entities."""
        maker = DocumentMaker(self._fields, self._analyzers, lengths, terms)
        ids, numbers = self._change.ids.tolist(), self._numbers.added.tolist()

        def put(place: int, node: Node, texts: Sequence[tuple[int, Values]], filters: Sequence[list[str]]) -> None:
            self._new.put(maker.document(ids[place], node, texts, filters) | {"node": numbers[place]})

        progress.start("sending changed text", len(ids))
        after = self._change.after
        add_all(put, after.extract(), len(self._fields), after.filters, progress)
        progress.done(len(ids))

    def _read_earlier(self, terms: TermSink) -> None:
        """Takes the terms of the earlier texts off."""
        extracted = self._change.before.extract()
        maker = DocumentMaker(
            self._fields, self._analyzers, np.zeros((len(self._fields), len(extracted.nodes)), np.uint32), terms
        )
        for position in range(len(self._fields)):
            for place, values in extracted.stream(position):
                maker.document(place, extracted.nodes[place], [(position, values)], [])

    def _check_statistics(self, described: Sequence[Mapping[str, object]]) -> None:
        """Checks that the server counts the entities and tokens of the texts, and of no deleted one."""
        names = [field.name for field in self._fields]
        counted = field_statistics(self._server, self.index, self._identity.shards, names)
        for field in described:
            expected = {key: field[key] for key in ("entities", "tokens")}
            if counted[str(field["name"])] != expected:
                raise TextServerError(
                    f"the server counts {counted[str(field['name'])]} in the field {field['name']!r}, and the texts "
                    f"have {expected}",
                    hint="it has not removed the texts of before; build the index again: hybridkg index KB",
                )
