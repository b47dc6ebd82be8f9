"""`kb.toml`: the settings of one knowledge base.

The file is read with tomllib and written from a template, so the comments in
it are ours; an unknown key or a value out of range is an error with its line.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hybridkg.bounded_toml import parse_toml, set_twice
from hybridkg.errors import ConfigError

CHOICES = {
    "text": ("embedded", "elasticsearch"),
    "default_graph": ("default", "union"),
    "service": ("refuse", "allow"),
    "analysis": ("hybridkg", "native"),
    "device": ("auto", "cpu", "cuda"),
    "what": ("entity", "chunks", "fields"),
    "unit": ("characters", "tokens"),
    "aggregate": ("max", "mean3", "sum"),
    "projection": ("export", "none"),
    "method": ("post", "get"),
}
"""Keys whose value is one of a few names; the other texts take any string that is not empty."""

RANGES: dict[str, tuple[float, float]] = {
    "elasticsearch.shards": (1, 1024),
    "elasticsearch.k1": (0, 1000),
    "elasticsearch.b": (0, 1),
    "elasticsearch.timeout": (1, 3600),
    "endpoint.timeout": (1, 3600),
    "endpoint.page": (1, 1_000_000),
    "encoding.batch": (1, 65_536),
    "encoding.max_length": (0, 1_000_000),
    "encoding.chunk": (8, 1_000_000),
    "encoding.overlap": (0, 1_000_000),
    "encoding.timeout": (1, 3600),
    "encoding.per_minute": (0, 1_000_000),
    "reranking.timeout": (1, 3600),
    "reranking.per_minute": (0, 1_000_000),
    "limits.timeout": (0, 86_400),
    "limits.max_rows": (1, 1_000_000_000),
    "limits.max_megabytes": (1, 1_000_000),
}
"""Smallest and largest value of the numbers."""

LARGEST = 1 << 20
"""Bytes of a kb.toml that are read: what a hostile one can cost is known before it is looked at."""

SECRETS = ("api_key", "key", "password", "user", "username", "token", "secret")
"""What people put into settings of servers, and must not stand here in clear."""

EMBEDDED = "embedded"
"""What `graph` says of a graph that lies in the folder of the knowledge base."""

TEMPLATE = """\
# Settings of this knowledge base; an unknown key is an error.
profile = {profile}  # name of a shipped profile, or path of a Turtle file
text = {text}  # text index: "embedded" or "elasticsearch" (docs/elasticsearch.md); hybridkg index KB builds it
encoder = {encoder}  # vectors for NEAR: "lsa", learned from the texts, "sentence-transformers:MODEL" or "none"
vectors = {vectors}  # their index: "flat" is exact; "hnsw" and "elasticsearch" overlook a few (docs/vectors.md)
# a table [encoding] says what has a vector (what = "entity", "chunks" or "fields"), and how a model is used
default_graph = {default_graph}  # "default", or "union" of all graphs
service = {service}  # "refuse", or "allow" queries to ask other SPARQL endpoints (SERVICE)
"""

GRAPH = """\
graph = {graph}  # the SPARQL endpoint that has the graph (docs/endpoint.md); "embedded" is the default
"""

SYNONYMS = """\
synonyms = {synonyms}  # path of a file of synonyms, from this folder; hybridkg index KB reads it
"""


@dataclass(frozen=True, slots=True)
class ElasticSettings:
    """The table `[elasticsearch]`. Who asks is told by the environment (hybridkg.credentials), never here.

    Args:
        url: of the server, `http://` or `https://`.
        alias: name of the alias, and beginning of the names of the indexes; empty for one made from the folder.
        analysis: `hybridkg`: the same terms as in the embedded index; `native`: the profile's analyzers are names of
            Elasticsearch's own.
        ca_file: certificates (PEM) that the server's is checked against; empty for those of the system.
        shards: of an index that is built.
        k1: saturation of `bm25` and `combined_fields` in an index that is built, at least 0.
        b: their length normalisation, 0..1.
        timeout: seconds that one request may take.
    """

    url: str = "http://127.0.0.1:9200"
    alias: str = ""
    analysis: str = "hybridkg"
    ca_file: str = ""
    shards: int = 1
    k1: float = 1.2
    b: float = 0.75
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """The table `[endpoint]`: how the SPARQL endpoint is asked that `graph` names. Who asks is told by the environment
    (hybridkg.credentials), never here.

    Args:
        projection: `export`: the columns that answer most patterns are made of the exported graph; `none`: there are
            none, and every pattern goes to the endpoint.
        method: of HTTP, by which queries are sent: `post` or `get`.
        page: triples asked for at once while the graph is exported.
        timeout: seconds that the endpoint may be silent.
        ca_file: certificates (PEM) that its own is checked against; empty for those of the system.
    """

    projection: str = "export"
    method: str = "post"
    page: int = 50_000
    timeout: float = 60.0
    ca_file: str = ""


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """The table `[limits]`: what a query may use unless it is asked with limits of its own.

    Args:
        timeout: seconds; 0 for no limit.
        max_rows: rows of an intermediate result.
        max_megabytes: memory that the rows of an intermediate result may take, as it is estimated.
    """

    timeout: float = 0.0
    max_rows: int = 10_000_000
    max_megabytes: float = 4000.0


OPENAI_URL = "https://api.openai.com/v1"
"""Where OpenAI's own interface is."""


@dataclass(frozen=True, slots=True)
class RerankingSettings:
    """The table `[reranking]`: the server that the reranker `llm` asks. Its key is in the environment
    (hybridkg.model_server), never here.

    Args:
        url: of an OpenAI-compatible interface, up to and with its version: `http://127.0.0.1:8080/v1`.
        timeout: seconds that one request may take.
        per_minute: requests at most; 0 for no limit.
    """

    url: str = OPENAI_URL
    timeout: float = 60.0
    per_minute: int = 0


@dataclass(frozen=True, slots=True)
class EncodingSettings:
    """The table `[encoding]`: what is encoded, and how the model that `encoder` names is used.

    Args:
        what: gets a vector of its own: the `entity`, each of the `chunks` of its text, or each of its `fields`.
        chunk: most units of text in a chunk.
        overlap: units, at most, that a chunk has in common with the one before; below `chunk`.
        unit: of those two: `characters`, or `tokens` of an encoder that has some.
        aggregate: the similarity of an entity of several vectors: the `max` of theirs, the mean of the greatest three
            (`mean3`), or their `sum`, divided by the most vectors that an entity has.
        device: `cpu`, `cuda`, or `auto` for cuda where there is one.
        batch: texts that cuda encodes at once.
        max_length: tokens of a text that are read; 0 for the model's own limit.
        query_prompt: written before every text that is asked; empty for the model's own.
        passage_prompt: written before every text that is searched; empty for the model's own.
        url: of the server that `openai:MODEL` asks, up to and with its version.
        timeout: seconds that one request to it may take.
        per_minute: requests to it at most; 0 for no limit.
    """

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
    """The settings.

    Args:
        profile: name of a shipped profile or path of a Turtle file; says which predicates feed which field.
        text: the text engine that `index` builds for.
        encoder: what makes the vectors that NEAR compares: a name of ENCODERS, with `:MODEL` where it takes one; or
            `none`.
        vectors: the index that `index` builds of them: a name of VECTOR_INDEXES.
        default_graph: what a query sees outside GRAPH: the `default` graph, or the `union` of all.
        service: whether SERVICE may reach the network: `refuse` or `allow`.
        synonyms: path of a file of synonyms (hybridkg.text.synonyms), from the folder of the knowledge base; empty for
            none. The index keeps what it read.
        graph: where the graph lies: `embedded`, or the address of a SPARQL endpoint.
        endpoint: how that is asked.
        elasticsearch: where Elasticsearch is, and how it is used.
        limits: what a query may use.
        encoding: what is encoded, and how the encoder's model is used.
        reranking: the server of the reranker `llm`.
    """

    profile: str = "default"
    text: str = "embedded"
    encoder: str = "none"
    vectors: str = "flat"
    default_graph: str = "default"
    service: str = "refuse"
    synonyms: str = ""
    graph: str = EMBEDDED
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    elasticsearch: ElasticSettings = field(default_factory=ElasticSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    encoding: EncodingSettings = field(default_factory=EncodingSettings)
    reranking: RerankingSettings = field(default_factory=RerankingSettings)


TABLES: dict[str, Any] = {
    "endpoint": EndpointSettings,
    "elasticsearch": ElasticSettings,
    "limits": LimitSettings,
    "encoding": EncodingSettings,
    "reranking": RerankingSettings,
}
KEYS = tuple(one.name for one in fields(Config))

KEY_OF: dict[type, str] = {
    EndpointSettings: "HYBRIDKG_ENDPOINT_TOKEN",
    ElasticSettings: "HYBRIDKG_ELASTICSEARCH_API_KEY",
}
"""The variable of the environment that has the key of a table's server."""

MODEL_KEY = "HYBRIDKG_OPENAI_API_KEY"
"""The same of all other tables, whose servers run models."""


def write_config(config: Config) -> str:
    """The text of a kb.toml; a table only where it differs from the defaults.

    >>> parse_config(write_config(Config(profile='a"b')), "kb.toml").profile
    'a"b'
    """
    text = TEMPLATE.format(**{key: _toml(getattr(config, key)) for key in KEYS if key not in TABLES})
    if config.synonyms:
        text += SYNONYMS.format(synonyms=_toml(config.synonyms))
    if config.graph != EMBEDDED:
        text += GRAPH.format(graph=_toml(config.graph))
    for name, kind in TABLES.items():
        table, plain = getattr(config, name), kind()
        keys = [one.name for one in fields(kind) if getattr(table, one.name) != getattr(plain, one.name)]
        if keys:
            text += "\n".join(["", f"[{name}]", *(f"{key} = {_toml(getattr(table, key))}" for key in keys), ""])
    return text


def _toml(value: str | float) -> str:
    """A TOML number or basic string."""
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


def read_config(path: Path) -> Config:
    """The settings in a file.

    Raises:
        ConfigError: it cannot be read, is not TOML, has an unknown key or a wrong value.
    """
    try:
        with path.open("rb") as file:
            read = file.read(LARGEST + 1)
        if len(read) > LARGEST:
            raise ConfigError(f"{str(path)!r} is larger than {LARGEST:,} bytes: these are no settings")
        text = read.decode("utf-8")
    except OSError as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{str(path)!r} is not UTF-8 text") from e
    return parse_config(text.replace("\r\n", "\n"), str(path))


def parse_config(text: str, name: str) -> Config:
    """The settings in a text; `name` is the file that an error points to.

    Raises:
        ConfigError: the text is not TOML, has an unknown key or a wrong value.
    """
    try:
        values = parse_toml(text)
    except tomllib.TOMLDecodeError as e:
        twice = set_twice(text, e)
        hint = "leave one of the two lines out" if twice else ""
        raise ConfigError(f"not TOML: {twice or without_capital(str(e))}", hint=hint, place=name) from e
    for key, value in values.items():
        place = f"{name}:{line_of(key, text)}"
        if key not in TABLES or not isinstance(value, dict):
            _check(key, value, Config, place)
            continue
        for inner, own in value.items():
            _check(inner, own, TABLES[key], f"{name}:{line_of(inner, text, behind=line_of(key, text))}", f"{key}.")
        values[key] = TABLES[key](**value)
    config = Config(**values)
    if config.graph != EMBEDDED and config.default_graph != "default":
        raise ConfigError(
            "'default_graph' is decided by the endpoint where the graph lies at one",
            hint="set up the endpoint so that its default graph is the union, and leave 'default_graph' out",
            place=f"{name}:{line_of('default_graph', text)}",
        )
    chunk, overlap = config.encoding.chunk, config.encoding.overlap
    if overlap >= chunk:
        raise ConfigError(
            f"setting 'encoding.overlap' must be below 'encoding.chunk', which is {chunk}, not {overlap}",
            place=f"{name}:{line_of('chunk', text, behind=line_of('encoding', text))}",
        )
    return config


def _check(key: str, value: object, kind: type, place: str, prefix: str = "") -> None:
    """Whether a key is known and its value of the right kind."""
    defaults = {one.name: one.default for one in fields(kind)}
    if key in SECRETS and prefix:
        variable = KEY_OF.get(kind, MODEL_KEY)
        raise ConfigError(
            f"{key!r} does not belong into a file that is copied and shared",
            hint=f"set {variable} in the environment"
            + (f", or {variable}_FILE to a file that holds it" if variable != MODEL_KEY else ""),
            place=place,
        )
    if key not in defaults:
        near = difflib.get_close_matches(key, defaults, 1)
        raise ConfigError(
            f"no setting {prefix + key!r}; known: {', '.join(prefix + known for known in defaults)}",
            hint=f"did you mean {prefix + near[0]!r}?" if near else "",
            place=place,
        )
    allowed, hint = CHOICES.get(key), ""
    if allowed:
        wanted = " or ".join(f'"{name}"' for name in allowed)
        good = value in allowed
        near = difflib.get_close_matches(str(value), allowed, 1)
        hint = f"did you mean {near[0]!r}?" if near else ""
    elif prefix + key in RANGES:
        low, high = RANGES[prefix + key]
        whole = isinstance(defaults[key], int)
        wanted = f"a {'whole ' if whole else ''}number from {low:,.10g} to {high:,.10g}"
        good = isinstance(value, int if whole else int | float) and not isinstance(value, bool) and low <= value <= high
    elif prefix + key == "graph":
        wanted = f'"{EMBEDDED}" or the address of a SPARQL endpoint'
        good = isinstance(value, str) and (value == EMBEDDED or value.startswith(("http://", "https://")))
        if good and "@" in str(value):
            raise ConfigError(
                "'graph' carries a user name or a password, or another '@'",
                hint="set HYBRIDKG_ENDPOINT_USERNAME and HYBRIDKG_ENDPOINT_PASSWORD; write %40 for an @",
                place=place,
            )
    elif key in TABLES:
        wanted, good = f"a table: [{key}]", False
    else:
        wanted, good = "a text in quotes", isinstance(value, str) and bool(value)
    if not good:
        raise ConfigError(f"setting {prefix + key!r} must be {wanted}, not {value!r}", hint=hint, place=place)


def line_of(key: str, text: str, behind: int = 0) -> int:
    """1-based line on which a key or table is written, the first one behind another; 1 where it cannot be told."""
    for number, line in enumerate(text.splitlines(), 1):
        if number > behind and line.strip().lstrip("[").lstrip().lstrip("'\"").startswith(key):
            return number
    return 1


def without_capital(message: str) -> str:
    return message[:1].lower() + message[1:]
