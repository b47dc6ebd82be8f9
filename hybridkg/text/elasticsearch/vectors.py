"""With native analysis only the server knows terms and lengths: `_mtermvectors` of the entities in question."""

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
from hybridkg.text.elasticsearch.reading import Gathered
from hybridkg.text.index.positions.windows import windows
from hybridkg.text.match_query.items import Item, Pattern, ResolvedField

ENTITIES_AT_ONCE = 500
"""Measured: about 3,000 entities with an abstract each in a second, whatever the size of the request."""


def read_vectors(
    server: Server,
    index: str,
    ids: Ids,
    items: Sequence[Item],
    fields: Sequence[ResolvedField],
    lengths: NDArray[np.uint32],
    into: Gathered,
) -> None:
    """Reads the term vectors of some entities.

    Args:
        server: has the index.
        index: its name.
        ids: uint32[m], ascending.
        items: whose frequencies are wanted.
        fields: the ON fields.
        lengths: uint32[index fields, nodes]; filled for these entities.
        into: gets the frequencies.
    """
    positions = any(item.positional for item in items)
    names = [path(f.name) for f in fields]
    for start in range(0, len(ids), ENTITIES_AT_ONCE):
        part = [str(i) for i in ids[start : start + ENTITIES_AT_ONCE].tolist()]
        answer = server.ask("reading term vectors", partial(_vectors_of, index, part, names, positions))
        for document in _in_order(answer["docs"], len(part)):
            entity = int(document["_id"])
            for place, f in enumerate(fields):
                terms = document.get("term_vectors", {}).get(path(f.name), {}).get("terms", {})
                lengths[f.number, entity] = sum(int(own["term_freq"]) for own in terms.values())
                for item in items:
                    if tf := sum(_frequency(terms, pattern) for pattern in item.places[place]):
                        into.add((item, place), entity, tf)


def _in_order(documents: Sequence[Mapping[str, Any]], wanted: int) -> list[Mapping[str, Any]]:
    """The documents by ascending id: the server keeps the ids of a request in a set.

    Raises:
        TextServerError: one is missing.
    """
    found = [document for document in documents if document.get("found")]
    if len(found) != wanted:
        raise TextServerError(
            f"term vectors of {len(found):,} of {wanted:,} entities came from the server",
            hint="nothing was returned; try again",
        )
    return sorted(found, key=lambda document: int(document["_id"]))


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
    """How often a pattern occurs in a field of one entity.

    Args:
        terms: of the field, each with its frequency and, where they were asked for, its positions.
        pattern: what is looked for.
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
