"""Profile: the parts of a graph that are the text of an entity, by field.

A profile is written in Turtle (profile_reader) and stored as JSON in the generation that was indexed with it, so
queries never parse Turtle. Vocabulary: ontologies/hybridkg.ttl.
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
from hybridkg.rdf.terms import RDF_TYPE, NamedNode

FORMAT = 1
"""Version of the JSON form."""

FIELD_NAME = re.compile(r"[a-z][a-z0-9_-]*")
"""Names that ON and the colon of a query string can refer to."""

TextKind = Literal["literals", "strings", "labels"]
"""The ends of the path that are text: literals; strings only; labels of nodes, and strings as such."""

TEXT_KINDS: tuple[TextKind, ...] = ("literals", "strings", "labels")


@dataclass(frozen=True)
class Field:
    """A named part of an entity's text.

    A field without path, rest and local_name has only the texts of documents under its name; every other field has
    these as well.

    Args:
        name: follows FIELD_NAME.
        path: from the entity to the field's literals or nodes; None for a rest field.
        text: the ends of the path that are text.
        rest: takes the ends of single steps that are the path of no other field.
        local_name: adds the words of the entity's IRI, unless a value has the same words.
        languages: tags of accepted literals, with sub-tags ("en" accepts "en-GB"), in addition to untagged ones;
            empty accepts every language.
        weight: default weight in fielded models, at least 0.
        b: default strength of BM25F's length normalisation, 0..1.
        analyzer: a name of ANALYZERS.

    Raises:
        ProfileError: a value is out of range.
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
            raise ProfileError(f"field {self.name!r} has both a path and a rest", hint="define two fields")

    def accepts(self, language: str) -> bool:
        """Whether a literal with this language tag ("" for none) belongs to the field."""
        if not self.languages or not language:
            return True
        tag = language.lower()
        return any(tag == accepted or tag.startswith(accepted + "-") for accepted in self.languages)


@dataclass(frozen=True)
class Profile:
    """Fields of a knowledge base, in display order.

    Args:
        name: chosen by the user.
        fields: at least one, names distinct.
        entities: classes whose instances are entities; empty means every node that has text.
        types: predicates that lead from a node to its classes, at least one.
        said: phrases of questions, for a class, a predicate, or a path from the answers to what is named.
        labels: predicates that name a node, in order of preference.
        ignore: predicates that no rest field reads.
        filters: predicates whose values a text server stores next to the text, to filter by them.

    Raises:
        ProfileError: no field, no predicate of classes, a repeated name, or a malformed IRI.

    0.75
    """

    name: str
    fields: tuple[Field, ...]
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = LABEL_PREDICATES
    ignore: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    types: tuple[str, ...] = (RDF_TYPE,)
    said: tuple[tuple[Path, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not self.fields:
            raise ProfileError(f"profile {self.name!r} has no field", hint="list them in hk:fields ( [ ... ] )")
        if not self.types:
            raise ProfileError(f"profile {self.name!r} has an empty hk:types", hint="hk:types ( rdf:type )")
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise ProfileError(f"field {name!r} is defined {names.count(name)} times")
        for iri in (*self.entities, *self.labels, *self.ignore, *self.filters, *self.types):
            try:
                NamedNode(iri)
            except ValueError as e:
                reason = str(e)
                raise ProfileError(f"{iri!r} is not an absolute IRI: {reason[:1].lower()}{reason[1:]}") from e

    def indexed_fields(self) -> tuple[IndexedField, ...]:
        """Fields as the text index stores them, in the profile's order."""
        return tuple(IndexedField(f.name, f.weight, f.b, f.analyzer) for f in self.fields)

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def with_documents(self, names: Iterable[str]) -> Profile:
        """Appends a field for each of the documents' names that the profile lacks, alphabetically.

        >>> [f.name for f in Profile("p", (Field("title"),)).with_documents(["title", "body"]).fields]
        ['title', 'body']
        """
        own = {field.name for field in self.fields}
        return replace(self, fields=self.fields + tuple(Field(name) for name in sorted(set(names) - own)))

    def to_json(self) -> str:
        """The profile as JSON; equal profiles have equal text."""
        data = {
            "format": FORMAT,
            "name": self.name,
            "entities": list(self.entities),
            "labels": list(self.labels),
            "ignore": list(self.ignore),
            "filters": list(self.filters),
            "types": list(self.types),
            **({"said": [[path_to_data(path), list(phrases)] for path, phrases in self.said]} if self.said else {}),
            "fields": [{**vars(f), "path": None if f.path is None else path_to_data(f.path)} for f in self.fields],
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
            said = tuple((path_from_data(path), tuple(phrases)) for path, phrases in data.pop("said", ()))
            return cls(data.pop("name"), fields, said=said, **{key: tuple(value) for key, value in data.items()})
        except ProfileError as e:
            raise CorruptError(f"the stored profile: {e.message}", hint="index again with --profile") from e
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise CorruptError("the stored profile is damaged", hint="index again") from e


def _field_from_data(data: dict[str, Any]) -> Field:
    path = data.pop("path")
    languages = tuple(data.pop("languages"))
    return Field(**data, path=None if path is None else path_from_data(path), languages=languages)
