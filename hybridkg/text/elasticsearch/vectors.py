"""Term vectors, read by `_mtermvectors` per entity: with native analysis only the server has terms and lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import TextServerError
from hybridkg.interfaces.text_index import Ids
from hybridkg.remote.elasticsearch.server import Server
from hybridkg.text.elasticsearch.bodies import path
from hybridkg.text.elasticsearch.reading import PostingsBuilder
from hybridkg.text.index.positions.windows import windows
from hybridkg.text.match_query.items import Item, Pattern, ResolvedField

ENTITIES_AT_ONCE = 500
"""Measured: about 3,000 entities with an abstract each per second, whatever the size of the request."""


def read_vectors(
    server: Server,
    index: str,
    ids: Ids,
    items: Sequence[Item],
    fields: Sequence[ResolvedField],
    lengths: NDArray[np.uint32],
    into: PostingsBuilder,
) -> None:
    """Reads the term vectors of entities, uint32[m] ascending: the frequencies of the items into `into`, and the
    lengths of the ON fields into uint32[index fields, nodes].
    """
    positions = any(item.positional for item in items)
    names = [path(f.name) for f in fields]
    for start in range(0, len(ids), ENTITIES_AT_ONCE):
        part = [str(i) for i in ids[start : start + ENTITIES_AT_ONCE].tolist()]
        response = server.ask("reading term vectors", partial(_vectors_of, index, part, names, positions))
        for document in _in_order(response["docs"], len(part)):
            entity = int(document["_id"])
            for place, f in enumerate(fields):
                terms = document.get("term_vectors", {}).get(path(f.name), {}).get("terms", {})
                lengths[f.number, entity] = sum(int(vector["term_freq"]) for vector in terms.values())
                for item in items:
                    if tf := sum(_frequency(terms, pattern) for pattern in item.places[place]):
                        into.add((item, place), entity, tf)


def _in_order(documents: Sequence[Mapping[str, Any]], wanted: int) -> list[Mapping[str, Any]]:
    """The documents by ascending id: the server has the ids of a request in a set.

    Raises:
        TextServerError: one is missing.
    """
    complete = [document for document in documents if document.get("found")]
    if len(complete) != wanted:
        raise TextServerError(
            f"term vectors of {len(complete):,} of {wanted:,} entities came from the server",
            hint="nothing was returned; try again",
        )
    return sorted(complete, key=lambda document: int(document["_id"]))


def _vectors_of(index: str, ids: list[str], fields: list[str], positions: bool, client: Any) -> Any:
    return client.mtermvectors(
        index=index,
        ids=ids,
        fields=fields,
        positions=positions,
        offsets=False,
        payloads=False,
        field_statistics=False,
        realtime=False,
    )


def _frequency(terms: Mapping[str, Any], pattern: Pattern) -> int:
    """The occurrences of a pattern in a field of one entity, by the frequencies of its terms or, for a phrase or a
    window, their positions.
    """
    needed = Counter(term for _, term in pattern.words)
    if not needed.keys() <= terms.keys():
        return 0
    if pattern.is_word:
        return int(terms[pattern.words[0][1]]["term_freq"])
    places = {term: [int(token["position"]) for token in terms[term]["tokens"]] for term in needed}
    if pattern.window:
        events = sorted((place, term) for term, own in places.items() for place in own)
        return sum(1 for _ in windows(events, needed, pattern.window))
    return len(set.intersection(*({place - offset for place in places[term]} for offset, term in pattern.words)))
