"""The mapping of an index: one document per entity, its fields, and the analysis of their terms.

    node       the number of the document (remote/elasticsearch/numbers.py), to filter and to page by
    iri        its name, for other tools
    text.*     the original texts, only in `_source`
    language.* their language tags, where any has one
    terms.*    the analysed terms, split at line ends and nothing else; a blank keeps the place of a dropped word
    length.*   the exact number of terms, which Lucene's own length byte rounds
    filter.*   values of the profile's filters: p0 their terms (keyword), n0 their numbers (double)

With `analysis = "native"` terms.* is the text itself under Elasticsearch's own analyzer, and there is no length.*,
because only the server has the terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridkg import __version__
from hybridkg.config.settings import ElasticSettings
from hybridkg.interfaces.text_index import IndexedField

GAP = " "
"""The term of a word that is not indexed. No term consists of a blank."""

SEPARATOR = "\n"
"""Between two terms. Not a blank, which occurs in compatibility forms of a few Arabic and Greek characters."""

TERMS, WHOLE = "hybridkg_terms", "hybridkg_whole"
"""The analyzers of an index: of terms joined by SEPARATOR, and of a single term."""

VALUE_GAP = 1_000
"""Positions between two values of a field, so that no phrase crosses them; Lucene has 2^31 positions in a document."""

MAX_TERM_LENGTH = 20_000
"""Characters. Words are cut at 255, but folding may lengthen them."""

MIN_FIELDS = 1_000
"""Elasticsearch's default limit of fields, to which those of the profile are added."""

MAX_FILTER_VALUE_LENGTH = 1_000
"""Characters of a filter value; Lucene refuses terms of more than 32,766 bytes."""


def index_body(
    fields: Sequence[IndexedField], filters: Sequence[str], settings: ElasticSettings, meta: Mapping[str, str]
) -> dict[str, Any]:
    """Settings and mapping of a new index, not yet searchable; `meta` in the mapping identifies it."""
    native = settings.analysis == "native"
    properties: dict[str, Any] = {
        "node": {"type": "long"},
        "iri": {"type": "keyword", "index": False, "doc_values": False},
        "text": {"type": "object", "enabled": False},
        "language": {"type": "object", "enabled": False},
        "terms": {"properties": {f.name: _terms(f.analyzer if native else TERMS) for f in fields}},
    }
    if not native:
        properties["length"] = {"properties": {f.name: {"type": "integer", "index": False} for f in fields}}
    if filters:
        properties["filter"] = {"properties": {}}
        for i in range(len(filters)):
            properties["filter"]["properties"] |= {
                f"p{i}": {"type": "keyword", "doc_values": False},
                f"n{i}": {"type": "double", "doc_values": False},
            }
    return {
        "settings": {
            "number_of_shards": settings.shards,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "mapping": {"total_fields": {"limit": MIN_FIELDS + 3 * len(fields) + 2 * len(filters)}},
            "similarity": {"default": {"type": "BM25", "k1": settings.k1, "b": settings.b}},
            "analysis": {
                "tokenizer": {
                    TERMS: {"type": "char_group", "tokenize_on_chars": [SEPARATOR], "max_token_length": MAX_TERM_LENGTH}
                },
                "filter": {TERMS: {"type": "stop", "stopwords": [GAP]}},
                "analyzer": {
                    TERMS: {"type": "custom", "tokenizer": TERMS, "filter": [TERMS]},
                    WHOLE: {"type": "custom", "tokenizer": "keyword"},
                },
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": {"hybridkg": __version__, **meta},
            # In native analysis terms.* is the text, which is stored once.
            "_source": {"excludes": ["text"] if native else ["terms", "length", "filter"]},
            "properties": properties,
        },
    }


def _terms(analyzer: str) -> dict[str, Any]:
    return {
        "type": "text",
        "analyzer": analyzer,
        "search_analyzer": WHOLE,
        "norms": True,
        "index_options": "positions",
        "position_increment_gap": VALUE_GAP,
    }
