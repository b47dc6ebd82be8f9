"""Rules for the text of the dumps: ontologies/dbpedia/index-a.toml, index-b.toml, or a file with the same keys.

The two are the indexes A and B of Hasibi et al., "DBpedia-Entity v2: A Test Collection for Entity Search" (SIGIR 2017).
IRIs are bytes without brackets, as in the dumps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hybridkg.config.toml import parse_toml
from hybridkg.errors import LoadError, UnknownNameError
from hybridkg.resources import resource

FIELDS = ("names", "categories", "similar", "attributes", "related")
"""The fields of the paper, in their order in `catchall`."""

CATCHALL = "catchall"

INDEXES = ("A", "B")

LABEL = b"http://www.w3.org/2000/01/rdf-schema#label"

REVERSE = b"^"
"""Mark of a predicate whose object is the entity."""

KEYS: Mapping[str, Mapping[str, type]] = {
    "": {
        "name": str,
        "profile": str,
        "resources": str,
        "files": list,
        "label_files": list,
        "entities": dict,
        "fields": dict,
        "text": dict,
        "graph": dict,
        "prefixes": dict,
    },
    "entities": {"has": list, "lacks": list},
    "fields": dict.fromkeys((*FIELDS, "nowhere"), list),
    "text": {"resource": str, "predicate": str, "predicates_of": str, "file_names": bool, "catchall": bool},
    "graph": {"text_only": list, "links_only": str},
}
"""Known keys with their types, by table."""

OPTIONAL = frozenset(("label_files", "attributes", "related", "file_names", "catchall"))

Called = Literal["iri", "label"]
"""The name of a resource or predicate: the words of its IRI, or its label."""


@dataclass(frozen=True)
class Rules:
    """A file of rules. Predicates and namespaces are IRIs without brackets.

    Args:
        name: of the index.
        profile: of the knowledge base, a name or path.
        resources: namespace of entities.
        files: dumps to read, without their endings.
        label_files: optional dumps that only name categories and predicates.
        has: predicates that every entity has.
        lacks: predicates that no entity has.
        fields: field -> predicates; `^` before one means that the object is the entity.
        nowhere: predicates that are in no field.
        resource: name of a resource.
        predicate: name of the predicates of `predicates_of`.
        predicates_of: namespace of the predicates whose words precede their values.
        file_names: whether the names of files are in `attributes` and in `related`.
        catchall: whether there is a field with the text of all others.
        text_only: predicates that are not in the graph.
        links_only: namespace of predicates whose literals are not in the graph.
        prefixes: namespaces whose IRIs are named by their local names.
        digest: SHA-256 of the file, and changes to it.
    """

    name: str
    profile: str
    resources: bytes
    files: tuple[str, ...]
    label_files: tuple[str, ...]
    has: tuple[bytes, ...]
    lacks: tuple[bytes, ...]
    fields: Mapping[str, tuple[bytes, ...]]
    nowhere: frozenset[bytes]
    resource: Called
    predicate: Called
    predicates_of: bytes
    file_names: bool
    catchall: bool
    text_only: frozenset[bytes]
    links_only: bytes
    prefixes: tuple[bytes, ...]
    digest: str


def load_rules(index: str) -> Rules:
    """The rules of an index of the paper, or of a file that ends in `.toml`.

    Raises:
        UnknownNameError: the index is neither.
        LoadError: the file cannot be read, or a key is unknown, missing or wrong; names the file.

    >>> rules = load_rules("B")
    >>> rules.fields["categories"], rules.resource
    ((b'http://purl.org/dc/terms/subject',), 'iri')
    """
    if index.upper() in INDEXES:
        path = resource("ontologies", "dbpedia", f"index-{index.lower()}.toml")
    elif index.endswith(".toml"):
        path = Path(index)
    else:
        known = ", ".join(INDEXES)
        raise UnknownNameError(f"no index {index!r}; known: {known}", hint="rules of your own: a file '*.toml'")
    try:
        text = path.read_bytes()
        data = parse_toml(text.decode())
    except OSError as e:
        raise LoadError(f"cannot read the rules {str(path)!r}: {e.strerror}") from e
    except ValueError as e:
        raise LoadError(f"not TOML: {str(e)[:200]}", place=str(path)) from e
    try:
        return _rules(data, hashlib.sha256(text).hexdigest())
    except ValueError as e:
        raise LoadError(str(e), place=str(path)) from None


def without_catchall(rules: Rules) -> Rules:
    """The rules without the field `catchall`."""
    return replace(rules, catchall=False, digest=f"{rules.digest} without catchall") if rules.catchall else rules


def _rules(data: Mapping[str, Any], digest: str) -> Rules:
    for table in KEYS:
        _check(table, data.get(table) if table else data)
    iris = _Iris(data["prefixes"])
    fields, entities, text, graph = data["fields"], data["entities"], data["text"], data["graph"]
    for key in ("resource", "predicate"):
        if text[key] not in ("iri", "label"):
            raise ValueError(f"'text.{key}' is 'iri' or 'label', not {text[key]!r}")
    return Rules(
        name=data["name"],
        profile=data["profile"],
        resources=iris.of(data["resources"]),
        files=tuple(data["files"]),
        label_files=tuple(data.get("label_files", ())),
        has=iris.all(entities["has"]),
        lacks=iris.all(entities["lacks"]),
        fields={field: iris.all(fields.get(field, ())) for field in FIELDS},
        nowhere=frozenset(iris.all(fields["nowhere"])),
        resource=text["resource"],
        predicate=text["predicate"],
        predicates_of=iris.of(text["predicates_of"]),
        file_names=text.get("file_names", False),
        catchall=text.get("catchall", False),
        text_only=frozenset(iris.all(graph["text_only"])),
        links_only=iris.of(graph["links_only"]),
        prefixes=tuple(sorted(iris.prefixes.values(), key=lambda iri: (-len(iri), iri))),
        digest=digest,
    )


def _check(table: str, data: object) -> None:
    """Checks that a table has its required keys, of the right types, and no others."""
    known, where = KEYS[table], f"{table}." if table else ""
    if not isinstance(data, dict):
        raise ValueError(f"the table {table!r} is missing")  # noqa: TRY004 - a mistake in the file
    for key in data:
        if key not in known:
            raise ValueError(f"no key {where + key!r}; known: {', '.join(known)}")
    for key, kind in known.items():
        if key not in data and key not in OPTIONAL:
            raise ValueError(f"the key {where + key!r} is missing")
        value: Any = data.get(key, kind())
        if type(value) is not kind or (isinstance(value, list) and not all(isinstance(part, str) for part in value)):
            what = {str: "a text", list: "a list of texts", bool: "true or false", dict: "a table"}[kind]
            raise ValueError(f"{where + key!r} is {what}, not {value!r}")


class _Iris:
    """Expansion of `prefix:name`."""

    def __init__(self, prefixes: Mapping[str, str]):
        self.prefixes = {name: iri.encode() for name, iri in prefixes.items() if isinstance(iri, str)}
        if len(self.prefixes) < len(prefixes):
            raise ValueError("the namespaces in 'prefixes' must be texts")

    def of(self, short: str) -> bytes:
        reverse, name = (REVERSE, short[1:]) if short.startswith("^") else (b"", short)
        prefix, colon, rest = name.partition(":")
        if not colon or prefix not in self.prefixes:
            raise ValueError(f"{short!r} does not begin with a prefix of 'prefixes' and a colon")
        return reverse + self.prefixes[prefix] + rest.encode()

    def all(self, some: Sequence[str]) -> tuple[bytes, ...]:
        return tuple(map(self.of, some))
