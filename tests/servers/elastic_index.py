"""Small indexes in a real Elasticsearch, without a knowledge base around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybridkg.config.settings import ElasticSettings
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import NamedNode
from hybridkg.remote.elasticsearch.server import Server
from hybridkg.text.elasticsearch.builder import ElasticTextBuilder
from hybridkg.text.elasticsearch.index import ElasticTextIndex
from hybridkg.text.match_query.synonyms import FILE, parse_synonyms

Documents = Mapping[int, Mapping[str, Sequence[str]]]


def build_elastic(
    url: str,
    alias: str,
    folder: Path,
    documents: Documents,
    fields: Sequence[IndexedField],
    n_nodes: int,
    rank: Callable[[Any], Any] | None = None,
    *,
    filters: Mapping[str, Mapping[int, list[str]]] | None = None,
    synonyms: str = "",
    **settings: Any,
) -> ElasticTextIndex:
    """The index of {entity: {field: [text, ...]}}; texts may be (text, language tag) pairs, synonyms are rules."""
    server = Server(replace(ElasticSettings(), url=url, **settings))
    filters = filters or {}
    builder = ElasticTextBuilder(server, folder, fields, n_nodes, alias=alias, owner="tests", filters=list(filters))
    for entity, texts in sorted(documents.items()):
        values = [
            (position, [text if isinstance(text, tuple) else (text, "") for text in texts[field.name]])
            for position, field in enumerate(fields)
            if field.name in texts
        ]
        held = [filters[iri].get(entity, []) for iri in filters]
        builder.add(entity, NamedNode(f"http://e/{entity}"), values, held)
    builder.finish(len(documents))
    keep_synonyms(folder, synonyms)
    return ElasticTextIndex(server, folder, rank, fresh=True)


def keep_synonyms(folder: Path, rules: str) -> None:
    """Leaves rules in the folder of a text index, as `hybridkg index` does."""
    if rules:
        (folder / FILE).write_text(parse_synonyms(rules, "synonyms.txt").text())
