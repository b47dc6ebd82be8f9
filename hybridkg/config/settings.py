"""`kb.toml`: the settings of one knowledge base.

config/settings_reader.py reads a file; it is written from a template with comments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from hybridkg.config.run_settings import LimitSettings, UpdateSettings
from hybridkg.config.toml import Value, toml_value
from hybridkg.interfaces.encoder import NO_ENCODER, OPENAI_URL
from hybridkg.interfaces.reranker import RerankingSettings
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.vector_index import VECTOR_INDEXES
from hybridkg.registry import Registry

CHOICES = {
    "default_graph": ("default", "union"),
    "service": ("refuse", "allow"),
    "analysis": ("hybridkg", "native"),
    "device": ("auto", "cpu", "cuda"),
    "what": ("entity", "chunks", "fields"),
    "unit": ("characters", "tokens"),
    "aggregate": ("max", "mean3", "sum"),
    "projection": ("export", "none"),
    "method": ("post", "get"),
    "load": ("refuse", "files"),
    "follow": ("commit", "index"),
}
"""Settings with a few possible values; other texts take any string that is not empty."""

ENGINES: dict[str, Registry] = {"text.engine": TEXT_ENGINES}
"""Settings that name an entry of a registry. Encoders and vector indexes are checked when an index is built: without
the package of one, text search still works."""

RANGES: dict[str, tuple[float, float]] = {
    "elasticsearch.shards": (1, 1024),
    "elasticsearch.k1": (0, 1000),
    "elasticsearch.b": (0, 1),
    "elasticsearch.timeout": (1, 3600),
    "endpoint.timeout": (1, 3600),
    "endpoint.page": (1, 1_000_000),
    "vectors.batch": (1, 65_536),
    "vectors.max_length": (0, 1_000_000),
    "vectors.chunk": (8, 1_000_000),
    "vectors.overlap": (0, 1_000_000),
    "vectors.timeout": (1, 3600),
    "vectors.per_minute": (0, 1_000_000),
    "reranking.timeout": (1, 3600),
    "reranking.per_minute": (0, 1_000_000),
    "limits.timeout": (0, 86_400),
    "limits.max_rows": (1, 1_000_000_000),
    "limits.max_megabytes": (1, 1_000_000),
}
"""Minimum and maximum of the numbers."""

SECRETS = ("api_key", "key", "password", "user", "username", "token", "secret")
"""Common names of secrets, which must not be in this file."""

EMBEDDED = "embedded"
"""`location` in the table `[graph]` for a graph in the folder of the knowledge base."""

TEMPLATE = """\
# Settings of this knowledge base; an unknown key is an error.
profile = {profile}  # name of a shipped profile, or path of a Turtle file
default_graph = {default_graph}  # "default", or "union" of all graphs
service = {service}  # "refuse", or "allow" queries to other SPARQL endpoints (SERVICE)
"""

SYNONYMS = """\
synonyms = {synonyms}  # path of a file of synonyms, from this folder; hybridkg index KB reads it
"""

COMMENTS = {
    "text.engine": "{engines} (docs/elasticsearch.md); hybridkg index KB builds it",
    "vectors.encoder": 'for NEAR: "lsa", learned from the texts, "sentence-transformers:MODEL" or "none"',
    "vectors.index": "{indexes} (docs/vectors.md); only the first is exact",
    "graph.location": "the SPARQL endpoint that has the graph (docs/endpoint.md); {embedded} is the default",
}
"""Comments of the settings that are always written, and of an endpoint's address."""


@dataclass(frozen=True, slots=True)
class ElasticSettings:
    """The table `[elasticsearch]`. Credentials are in the environment (hybridkg.remote.credentials), never here.

    Args:
        url: address of the server, `http://` or `https://`.
        alias: alias, and prefix of the names, of the indexes; empty for one made from the folder's name.
        analysis: analysis of texts: `hybridkg`, with the terms of the embedded index, or `native`, where the profile's
            analyzers are names of Elasticsearch's own.
        ca_file: certificates (PEM) of the authority; empty for the system's.
        shards: shards of a new index.
        k1: saturation of `bm25` and `combined_fields` in a new index.
        b: length normalisation of `bm25` and `combined_fields` in a new index.
        timeout: seconds of one request.
        follow: when its indexes follow a change of the graph or of documents: with the `commit`, or with the next
            `index` only.
    """

    url: str = "http://127.0.0.1:9200"
    alias: str = ""
    analysis: str = "hybridkg"
    ca_file: str = ""
    shards: int = 1
    k1: float = 1.2
    b: float = 0.75
    timeout: float = 60.0
    follow: str = "commit"


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """The table `[endpoint]`: use of the SPARQL endpoint that `graph` names; credentials as for Elasticsearch.

    Args:
        projection: what answers patterns: with `export`, columns built from the exported graph; with `none`,
            every pattern goes to the endpoint.
        method: HTTP method of queries: `post` or `get`.
        page: triples of one request of the export.
        timeout: seconds that the endpoint may be silent.
        ca_file: certificates (PEM) of the authority; empty for the system's.
    """

    projection: str = "export"
    method: str = "post"
    page: int = 50_000
    timeout: float = 60.0
    ca_file: str = ""


@dataclass(frozen=True, slots=True)
class EncodingSettings:
    """The other settings of the table `[vectors]`: the unit of encoding, and the use of the encoder's model.

    Args:
        fields: names of the fields that are encoded, with commas; empty for all.
        what: unit with a vector of its own: the `entity`, each of the `chunks` of its text, or each of its `fields`.
        chunk: maximum units of text in a chunk.
        overlap: maximum units that consecutive chunks share; below `chunk`.
        unit: unit of `chunk` and `overlap`: `characters`, or `tokens` of the encoder.
        aggregate: similarity of an entity with several vectors: the `max` of theirs, the mean of the greatest three
            (`mean3`), or their `sum`, divided by the maximum number of vectors of an entity.
        device: `cpu`, `cuda`, or `auto` for cuda where available.
        batch: texts that cuda encodes at once.
        max_length: maximum tokens of a text; 0 for the model's own limit.
        query_prompt: prefix of query texts; empty for the model's own.
        passage_prompt: prefix of indexed texts; empty for the model's own.
        url: address of the server of `openai:MODEL`, including its version.
        timeout: seconds of one request to that server.
        per_minute: maximum requests to that server; 0 for no limit.
    """

    fields: str = ""
    what: str = "entity"
    chunk: int = 256
    overlap: int = 64
    unit: str = "characters"
    aggregate: str = "max"
    device: str = "auto"
    batch: int = 32
    max_length: int = 0
    query_prompt: str = ""
    passage_prompt: str = ""
    url: str = OPENAI_URL
    timeout: float = 60.0
    per_minute: int = 0


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a knowledge base.

    Args:
        profile: name of a shipped profile or path of a Turtle file; maps predicates to fields.
        text: text engine of the index.
        encoder: encoder of the vectors for NEAR, such as `lsa` or `sentence-transformers:MODEL`; or `none`.
        vectors: vector index; only `flat` is exact.
        default_graph: default graph of queries: `default`, or the `union` of all graphs.
        service: whether SERVICE may reach the network: `refuse` or `allow`.
        synonyms: path of a file of synonyms (text/match_query/synonyms.py), relative to the knowledge base; empty for
            none. The index stores its content.
        graph: location of the graph: `embedded`, or the address of a SPARQL endpoint.
        endpoint: settings of that endpoint.
        elasticsearch: settings of Elasticsearch.
        limits: default limits of queries.
        updates: settings of updates.
        encoding: settings of encoding.
        reranking: server of the reranker `llm`.
        sections: tables of plug-ins with their settings, unchecked.
    """

    profile: str = "default"
    text: str = TEXT_ENGINES.default
    encoder: str = NO_ENCODER
    vectors: str = VECTOR_INDEXES.default
    default_graph: str = "default"
    service: str = "refuse"
    synonyms: str = ""
    graph: str = EMBEDDED
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    elasticsearch: ElasticSettings = field(default_factory=ElasticSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    updates: UpdateSettings = field(default_factory=UpdateSettings)
    encoding: EncodingSettings = field(default_factory=EncodingSettings)
    reranking: RerankingSettings = field(default_factory=RerankingSettings)
    sections: tuple[tuple[str, tuple[tuple[str, Value], ...]], ...] = ()

    def section(self, name: str) -> Mapping[str, Value]:
        """The settings in the table of a plug-in; empty if it is missing."""
        return dict(dict(self.sections).get(name, ()))


PLAIN = ("profile", "default_graph", "service", "synonyms")
"""Settings above all tables."""


def _table(name: str, kind: Any) -> dict[str, tuple[str, str]]:
    return {one.name: (name, one.name) for one in fields(kind)}


TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "text": {"engine": ("text", "")},
    "vectors": {"encoder": ("encoder", ""), "index": ("vectors", ""), **_table("encoding", EncodingSettings)},
    "graph": {"location": ("graph", "")},
    **{
        one.name: _table(one.name, one.default_factory)
        for one in fields(Config)
        if one.default_factory is not MISSING and one.name != "encoding"
    },
}
"""The tables of the file: table -> setting -> (field of Config, field of that or "")."""

OLDER: dict[str, tuple[str, str]] = {
    "text": ("text", "engine"),
    "encoder": ("vectors", "encoder"),
    "vectors": ("vectors", "index"),
    "graph": ("graph", "location"),
}
"""Settings that older files have above all tables -> their (table, name) now."""

OLDER_TABLES = {"encoding": "vectors"}
"""Tables of older files -> the tables that have their settings now."""

KEY_OF: dict[type, str] = {
    EndpointSettings: "HYBRIDKG_ENDPOINT_TOKEN",
    ElasticSettings: "HYBRIDKG_ELASTICSEARCH_API_KEY",
}
"""Environment variable with the key of a table's server."""

MODEL_KEY = "HYBRIDKG_OPENAI_API_KEY"
"""The variable of all other tables, whose servers run models."""


def write_config(config: Config) -> str:
    """The text of a kb.toml in the current form; most settings only where they differ from the defaults.

    >>> from hybridkg.config.settings_reader import parse_config
    >>> parse_config(write_config(Config(profile='a"b')), "kb.toml").profile
    'a"b'
    """
    text = TEMPLATE.format(**{key: toml_value(getattr(config, key)) for key in PLAIN})
    if config.synonyms:
        text += SYNONYMS.format(synonyms=toml_value(config.synonyms))
    plain = Config()
    tables = {
        name: {
            key: setting_at(config, at)
            for key, at in keys.items()
            if (f"{name}.{key}" in COMMENTS and name != "graph") or setting_at(config, at) != setting_at(plain, at)
        }
        for name, keys in TABLES.items()
    }
    for name, table in {**tables, **{name: dict(table) for name, table in config.sections}}.items():
        lines = [f"{key} = {toml_value(value)}{_comment(f'{name}.{key}')}" for key, value in table.items()]
        text += "\n".join(["", f"[{name}]", *lines, ""]) if lines else ""
    return text


def setting_at(config: Config, at: tuple[str, str]) -> Any:
    """The value of a setting by its place in `Config`, as TABLES has it."""
    return getattr(getattr(config, at[0]), at[1]) if at[1] else getattr(config, at[0])


def _comment(key: str) -> str:
    """The comment of a setting, with the names in this package."""
    if key not in COMMENTS:
        return ""
    engines, indexes = (", ".join(map(toml_value, names.builtin_names)) for names in (TEXT_ENGINES, VECTOR_INDEXES))
    return "  # " + COMMENTS[key].format(engines=engines, indexes=indexes, embedded=toml_value(EMBEDDED))
