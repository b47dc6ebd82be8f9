"""A profile: which parts of a graph are the text of an entity, in which fields.

A profile is written as Turtle (profile_reader) and kept as JSON inside the
generation that was indexed with it, so that answering a query never parses
Turtle. Vocabulary: ontologies/hybridkg.ttl.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from hybridkg.entities.profile.labels import LABEL_PREDICATES
from hybridkg.entities.profile.paths import Path, path_from_data, path_to_data
from hybridkg.errors import CorruptError, ProfileError
from hybridkg.interfaces.text_index import MAX_WEIGHT, IndexedField
from hybridkg.rdf.terms import NamedNode

FORMAT = 1
"""Version of the JSON form."""

FIELD_NAME = re.compile(r"[a-z][a-z0-9_-]*")
"""Names that can be written in ON and before the colon in a query string."""

TextKind = Literal["literals", "strings", "labels"]
"""What a field takes at the end of its path: literals; strings only; labels of nodes, and strings as such."""

TEXT_KINDS: tuple[TextKind, ...] = ("literals", "strings", "labels")


@dataclass(frozen=True)
class Field:
    """A named part of an entity's text.

    A field without path, rest and local_name holds only what text documents bring under its name; every other
    field holds that too.

    Args:
        name: follows FIELD_NAME.
        path: from the entity to the field's literals or nodes; None for a rest field.
        text: what is taken at the end of the path.
        rest: takes what is one step away and no other field takes by a path of that one step.
        local_name: adds the words of the entity's IRI, unless a value already says the same.
        languages: tags whose literals are taken, with sub-tags ("en" takes "en-GB"), beside untagged ones;
            empty takes every language.
        weight: default weight in fielded models, at least 0.
        b: default strength of BM25F's length normalisation, 0..1.
        analyzer: a name of ANALYZERS.

    Raises:
        ProfileError: a value is outside what is said here.
    """

    name: str
    path: Path | None = None
    text: TextKind = "literals"
    rest: bool = False
    local_name: bool = False
    languages: tuple[str, ...] = ()
    weight: float = 1.0
    b: float = 0.75
    analyzer: str = "standard"

    def __post_init__(self) -> None:
        if not FIELD_NAME.fullmatch(self.name):
            raise ProfileError(
                f"{self.name!r} cannot be a field name",
                hint="a lower-case letter, then lower-case letters, digits, '_' or '-'",
            )
        if not 0 <= self.weight <= MAX_WEIGHT:
            raise ProfileError(
                f"field {self.name!r}: weight {self.weight:,.10g} is not a number between 0 and {MAX_WEIGHT:,}"
            )
        if not 0 <= self.b <= 1:
            raise ProfileError(f"field {self.name!r}: b {self.b:g} is not between 0 and 1")
        if self.text not in TEXT_KINDS:
            raise ProfileError(f"field {self.name!r}: text is {self.text!r}; known: {', '.join(TEXT_KINDS)}")
        if self.rest and self.path is not None:
            raise ProfileError(f"field {self.name!r} has both a path and a rest", hint="make two fields of it")

    def accepts(self, language: str) -> bool:
        """Whether a literal with this language tag ("" for none) belongs to the field."""
        if not self.languages or not language:
            return True
        tag = language.lower()
        return any(tag == wanted or tag.startswith(wanted + "-") for wanted in self.languages)


@dataclass(frozen=True)
class Profile:
    """The fields of a knowledge base, in the order in which they are shown.

    Args:
        name: what the user called it.
        fields: at least one, names distinct.
        entities: classes whose instances are entities; empty means every node that has text.
        labels: predicates that name a node, tried in this order.
        ignore: predicates that no rest field reads.
        filters: predicates whose values a text engine on a server stores beside the text, to filter by them.

    Raises:
        ProfileError: no field, a name twice, or an IRI that is none.

    >>> Profile("p", (Field("title"),)).indexed_fields()[0].b
    0.75
    """

    name: str
    fields: tuple[Field, ...]
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = LABEL_PREDICATES
    ignore: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.fields:
            raise ProfileError(f"profile {self.name!r} has no field", hint="list them in hk:fields ( [ ... ] )")
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise ProfileError(f"field {name!r} is defined {names.count(name)} times")
        for iri in (*self.entities, *self.labels, *self.ignore, *self.filters):
            try:
                NamedNode(iri)
            except ValueError as e:
                raise ProfileError(f"{iri!r} is not an absolute IRI: {_lower_first(str(e))}") from e

    def indexed_fields(self) -> tuple[IndexedField, ...]:
        """The fields as the text index stores them, in the profile's order."""
        return tuple(IndexedField(f.name, f.weight, f.b, f.analyzer) for f in self.fields)

    def field(self, name: str) -> Field | None:
        """The field of that name."""
        return next((field for field in self.fields if field.name == name), None)

    def with_documents(self, names: Iterable[str]) -> Profile:
        """The same profile with a field for each of the documents' names that it lacks, alphabetically.

        >>> [f.name for f in Profile("p", (Field("title"),)).with_documents(["title", "body"]).fields]
        ['title', 'body']
        """
        known = {field.name for field in self.fields}
        return replace(self, fields=self.fields + tuple(Field(name) for name in sorted(set(names) - known)))

    def to_json(self) -> str:
        """The profile as JSON; equal profiles give equal text."""
        data = {
            "format": FORMAT,
            "name": self.name,
            "entities": list(self.entities),
            "labels": list(self.labels),
            "ignore": list(self.ignore),
            "filters": list(self.filters),
            "fields": [
                {
                    "name": f.name,
                    "path": None if f.path is None else path_to_data(f.path),
                    "text": f.text,
                    "rest": f.rest,
                    "local_name": f.local_name,
                    "languages": list(f.languages),
                    "weight": f.weight,
                    "b": f.b,
                    "analyzer": f.analyzer,
                }
                for f in self.fields
            ],
        }
        return json.dumps(data, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Profile:
        """The inverse of `to_json`.

        Raises:
            CorruptError: the text is not a profile of this format.
        """
        try:
            data = json.loads(text)
            if data.pop("format") != FORMAT:
                raise CorruptError(
                    "the stored profile has another format", hint="index again with this version of hybridkg"
                )
            fields = tuple(_field_from_data(field) for field in data.pop("fields"))
            return cls(data.pop("name"), fields, **{key: tuple(value) for key, value in data.items()})
        except ProfileError as e:
            raise CorruptError(f"the stored profile: {e.message}", hint="index again with --profile") from e
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise CorruptError("the stored profile is damaged", hint="index again") from e


def _field_from_data(data: dict[str, Any]) -> Field:
    path = data.pop("path")
    languages = tuple(data.pop("languages"))
    return Field(**data, path=None if path is None else path_from_data(path), languages=languages)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
