"""`kb.toml`: the settings of one knowledge base.

The file is read with tomllib and written from a template with comments; errors of keys and values name their line.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hybridkg.config.mistakes import not_toml, not_utf8, shown_at
from hybridkg.config.run_settings import LimitSettings, UpdateSettings
from hybridkg.config.toml import Value, line_of, parse_toml, toml_value
from hybridkg.errors import ConfigError
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

LARGEST = 1 << 20
"""Maximum bytes of a kb.toml, which bounds the cost of a hostile one."""

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

    >>> parse_config(write_config(Config(profile='a"b')), "kb.toml").profile
    'a"b'
    """
    text = TEMPLATE.format(**{key: toml_value(getattr(config, key)) for key in PLAIN})
    if config.synonyms:
        text += SYNONYMS.format(synonyms=toml_value(config.synonyms))
    plain = Config()
    tables = {
        name: {
            key: _field(config, at)
            for key, at in keys.items()
            if (f"{name}.{key}" in COMMENTS and name != "graph") or _field(config, at) != _field(plain, at)
        }
        for name, keys in TABLES.items()
    }
    for name, table in {**tables, **{name: dict(table) for name, table in config.sections}}.items():
        lines = [f"{key} = {toml_value(value)}{_comment(f'{name}.{key}')}" for key, value in table.items()]
        text += "\n".join(["", f"[{name}]", *lines, ""]) if lines else ""
    return text


def _field(config: Config, at: tuple[str, str]) -> Any:
    return getattr(getattr(config, at[0]), at[1]) if at[1] else getattr(config, at[0])


def _comment(key: str) -> str:
    """The comment of a setting, with the names in this package."""
    if key not in COMMENTS:
        return ""
    engines, indexes = (", ".join(map(toml_value, names.builtin_names)) for names in (TEXT_ENGINES, VECTOR_INDEXES))
    return "  # " + COMMENTS[key].format(engines=engines, indexes=indexes, embedded=toml_value(EMBEDDED))


def read_config(path: Path) -> Config:
    """The settings in a file. Raises ConfigError: it is unreadable, not TOML, or has a wrong key or value."""
    return parse_config(read_settings(path), str(path))


def read_settings(path: Path) -> str:
    """The text of a kb.toml with normalised line ends, without a byte order mark.

    Raises:
        ConfigError: unreadable, too large, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ConfigError(f"{str(path)!r} is larger than {LARGEST:,} bytes: not a file of settings")
        text = content.decode("utf-8-sig")
    except OSError as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise not_utf8(content, e, str(path)) from e
    return text.replace("\r\n", "\n")


def parse_config(text: str, name: str) -> Config:
    """The settings in a text of the file `name`. Raises ConfigError: not TOML, an unknown key, or a wrong value."""
    try:
        values = parse_toml(text)
    except tomllib.TOMLDecodeError as e:
        raise not_toml(text, e, name, {f"{table}.{key}" for table in TABLES for key in TABLES[table]} | {*PLAIN}) from e
    settings: dict[str, WrittenSetting] = {}
    sections: dict[str, dict[str, Value]] = {}
    for one in in_todays_form(values, text):
        place = f"{name}:{one.line}"
        if one.table and one.table not in TABLES:
            sections.setdefault(one.table, {})[one.name] = _of_plugin(one, place)
            continue
        if any(secret in one.written.lower() for secret in SECRETS):  # its line may hold a secret
            check_setting(one, place)
        else:
            is_known = one.name in (TABLES[one.table] if one.table else PLAIN)
            with shown_at(one.line, text, name, about_key=not is_known):
                check_setting(one, place)
        if one.key in settings:
            raise ConfigError(
                f"{one.written!r} and {settings[one.key].written!r} are the same setting",
                hint=f"write {one.key!r}, and leave the other out",
                place=place,
            )
        settings[one.key] = one
    config = _config(settings, sections)
    if config.graph != EMBEDDED and config.default_graph != "default":
        raise ConfigError(
            "'default_graph' has no effect: the endpoint that has the graph decides it",
            hint="set up the endpoint so that its default graph is the union, and leave 'default_graph' out",
            place=f"{name}:{line_of('default_graph', text)}",
        )
    _check_overlap(config, settings, name)
    return config


@dataclass(frozen=True, slots=True)
class WrittenSetting:
    """A setting in a file.

    Args:
        table, name: current name, such as `vectors` and `encoder`; no table for one above all tables.
        written: name in the file: `encoder` in an older one.
        value, line: value, and 1-based line.
    """

    table: str
    name: str
    written: str
    value: Any
    line: int

    @property
    def key(self) -> str:
        """Full name, such as `vectors.encoder`."""
        return f"{self.table}.{self.name}" if self.table else self.name


def in_todays_form(values: Mapping[str, Any], text: str) -> Iterator[WrittenSetting]:
    """The settings of a file, with older names replaced by current ones (OLDER, OLDER_TABLES)."""
    for name, value in values.items():
        line = line_of(name, text)
        if isinstance(value, dict) and (name in TABLES or name in OLDER_TABLES or _is_of_plugin(name)):
            table = OLDER_TABLES.get(name, name)
            for key, own in value.items():
                yield WrittenSetting(table, key, f"{name}.{key}", own, line_of(key, text, behind=line))
        else:
            yield WrittenSetting(*OLDER.get(name, ("", name)), name, value, line)


def _is_of_plugin(table: str) -> bool:
    """Whether a table belongs to a text engine or a vector index of another package."""
    return any(getattr(one, "section", "") == table for one in (*TEXT_ENGINES.plugins(), *VECTOR_INDEXES.plugins()))


def _of_plugin(setting: WrittenSetting, place: str) -> Value:
    """The value of a plug-in's setting, which the plug-in itself checks."""
    if not (setting.name.isascii() and setting.name.replace("-", "_").isidentifier()):
        raise ConfigError(f"the name of a setting cannot be {setting.name!r}", place=place)
    if not isinstance(setting.value, str | int | float):
        raise ConfigError(f"setting {setting.written!r} must be a text, a number, true or false", place=place)
    return setting.value


def _config(settings: Mapping[str, WrittenSetting], sections: Mapping[str, Mapping[str, Value]]) -> Config:
    """The given settings, and defaults for the others."""
    values: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for one in settings.values():
        outer, inner = TABLES[one.table][one.name] if one.table else (one.name, "")
        if inner:
            parts.setdefault(outer, {})[inner] = one.value
        else:
            values[outer] = one.value
    values |= {outer: replace(getattr(Config(), outer), **own) for outer, own in parts.items()}
    return Config(**values, sections=tuple((name, tuple(own.items())) for name, own in sections.items()))


def _check_overlap(config: Config, settings: Mapping[str, WrittenSetting], name: str) -> None:
    """Raises ConfigError if the overlap of chunks is not below their length."""
    chunk, overlap = config.encoding.chunk, config.encoding.overlap
    if overlap < chunk:
        return
    setting = settings.get("vectors.chunk") or settings["vectors.overlap"]  # the defaults of both are valid
    table = setting.written.partition(".")[0]
    raise ConfigError(
        f"setting '{table}.overlap' must be below '{table}.chunk', which is {chunk}, not {overlap}",
        place=f"{name}:{setting.line}",
    )


def check_setting(setting: WrittenSetting, place: str) -> None:
    """Raises ConfigError unless the key is known and its value is valid."""
    table, key = setting.table, setting.name
    prefix = setting.written.removesuffix(f".{key}") if setting.written.endswith(f".{key}") else ""
    allowed = TABLES[table] if table else {key: (key, "") for key in (*PLAIN, *TABLES)}
    if prefix in OLDER_TABLES:
        allowed = {key: at for key, at in allowed.items() if at[0] == prefix}
    prefix = f"{prefix}." if prefix else ""
    value, written = setting.value, setting.written
    if key in SECRETS and table:
        kind = next((type(getattr(Config(), outer)) for outer, inner in allowed.values() if inner), Config)
        variable = KEY_OF.get(kind, MODEL_KEY)
        raise ConfigError(
            f"{key!r} must not be in a file that is copied and shared",
            hint=f"set {variable} in the environment"
            + (f", or {variable}_FILE to a file that holds it" if variable != MODEL_KEY else ""),
            place=place,
        )
    if not table and (key in TABLES or key in OLDER_TABLES):
        raise ConfigError(f"setting {written!r} must be a table: [{written}], not {value!r}", place=place)
    if key not in allowed:
        near = difflib.get_close_matches(key, allowed, 1)
        raise ConfigError(
            f"no setting {written!r}; known: {', '.join(prefix + name for name in allowed)}",
            hint=f"did you mean {prefix + near[0]!r}?" if near else "",
            place=place,
        )
    wanted, good, hint = _wanted(setting, _field(Config(), allowed[key]), place)
    if not good:
        raise ConfigError(f"setting {written!r} must be {wanted}, not {value!r}", hint=hint, place=place)


def allowed_values(key: str) -> str:
    """A description of the valid values of a setting, by its full name.

    >>> allowed_values("vectors.batch"), allowed_values("service")
    ('a whole number from 1 to 65,536', '"refuse" or "allow"')
    """
    table, _, name = key.rpartition(".")
    at = TABLES[table][name] if table else (name, "")
    return _wanted(WrittenSetting(table, name, key, None, 0), _field(Config(), at), "")[0]


def _wanted(setting: WrittenSetting, default: object, place: str) -> tuple[str, bool, str]:
    """A description of the valid values, whether the value is one, and a hint with the nearest name."""
    key, value, hint = setting.key, setting.value, ""
    allowed = CHOICES.get(setting.name)
    if key in ENGINES:
        allowed = (str(value),) if value in ENGINES[key] else tuple(ENGINES[key].names())
    if allowed:
        near = [] if value in allowed else difflib.get_close_matches(str(value), allowed, 1)
        hint = f"did you mean {near[0]!r}?" if near else ""
        return " or ".join(f'"{name}"' for name in allowed), value in allowed, hint
    if key in RANGES:
        low, high = RANGES[key]
        whole = isinstance(default, int)
        good = isinstance(value, int if whole else int | float) and not isinstance(value, bool) and low <= value <= high
        return f"a {'whole ' if whole else ''}number from {low:,.10g} to {high:,.10g}", good, hint
    if key == "graph.location":
        good = isinstance(value, str) and (value == EMBEDDED or value.startswith(("http://", "https://")))
        if good and "@" in value:
            raise ConfigError(
                f"{setting.written!r} carries a user name or a password, or another '@'",
                hint="set HYBRIDKG_ENDPOINT_USERNAME and HYBRIDKG_ENDPOINT_PASSWORD; write %40 for an @",
                place=place,
            )
        return f'"{EMBEDDED}" or the address of a SPARQL endpoint', good, hint
    return "a text in quotes", isinstance(value, str) and bool(value), hint
