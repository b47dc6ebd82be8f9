"""Statistics of fields and terms of an index, summed over its shards.

`_termvectors` of a document that is not in the index returns them for one shard, the one that `preference` names,
whatever the document's routing. They are exact because an index has no text of deleted documents: a build deletes none,
and a commit has them merged away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybridkg.remote.elasticsearch.server import Server
from hybridkg.text.elasticsearch.mapping import WHOLE


@dataclass(frozen=True)
class TermCounts:
    """df and cf of a term in a field."""

    df: int = 0
    cf: int = 0


def field_statistics(server: Server, index: str, shards: int, fields: Sequence[str]) -> dict[str, dict[str, int]]:
    """The entities and the tokens of each field."""
    totals = {name: {"entities": 0, "tokens": 0} for name in fields}
    for shard in range(shards):
        vectors = _vectors(server, index, shard, {name: ["a"] for name in fields})
        for name in fields:
            statistics = vectors.get(f"terms.{name}", {}).get("field_statistics", {})
            totals[name]["entities"] += max(0, int(statistics.get("doc_count", 0)))
            totals[name]["tokens"] += max(0, int(statistics.get("sum_ttf", 0)))
    return totals


def term_counts(
    server: Server, index: str, shards: int, wanted: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], TermCounts]:
    """The counts of the terms wanted of each field, by one request per shard."""
    totals: dict[tuple[str, str], TermCounts] = {}
    texts = {name: list(dict.fromkeys(terms)) for name, terms in wanted.items() if terms}
    for shard in range(shards) if texts else ():
        vectors = _vectors(server, index, shard, texts, terms=True)
        for name in texts:
            for term, counts in vectors.get(f"terms.{name}", {}).get("terms", {}).items():
                total = totals.get((name, term), TermCounts())
                totals[name, term] = TermCounts(
                    total.df + int(counts.get("doc_freq", 0)), total.cf + int(counts.get("ttf", 0))
                )
    return totals


def _vectors(
    server: Server, index: str, shard: int, texts: Mapping[str, Sequence[str]], *, terms: bool = False
) -> Mapping[str, Any]:
    response = server.ask(
        "reading statistics",
        lambda client: client.termvectors(
            index=index,
            preference=f"_shards:{shard}",
            doc={"terms": dict(texts)},
            per_field_analyzer={f"terms.{name}": WHOLE for name in texts},
            field_statistics=True,
            term_statistics=terms,
            offsets=False,
            payloads=False,
            positions=False,
        ),
    )
    vectors: Mapping[str, Any] = response["term_vectors"]
    return vectors
