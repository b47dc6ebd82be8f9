"""Reader of profiles in Turtle, which explains mistakes.

Vocabulary: ontologies/hybridkg.ttl; paths are SHACL property paths (https://www.w3.org/TR/shacl/#property-paths). A new
property of the vocabulary is added there, in PROFILE_PROPERTIES or FIELD_PROPERTIES, and in profile.py.
"""

from __future__ import annotations

import difflib
import logging
import math
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from hybridkg.entities.profile.labels import LABEL_PREDICATES
from hybridkg.entities.profile.paths import (
    DEEPEST_PATH,
    Path,
    Repeat,
    Sequence,
    ShaclAlternative,
    ShaclInverse,
    ShaclPredicate,
)
from hybridkg.entities.profile.profile import TEXT_KINDS, Field, Profile, TextKind
from hybridkg.errors import HybridkgError, ProfileError, UnknownNameError
from hybridkg.rdf.terms import RDF_TYPE
from hybridkg.registry import did_you_mean
from hybridkg.resources import resource

if TYPE_CHECKING:
    from rdflib import Graph

HK = "https://w3id.org/hybridkg/ns#"
SH = "http://www.w3.org/ns/shacl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

PROFILE_PROPERTIES = ("analyzer", "entities", "fields", "filters", "ignore", "labels", "types")
FIELD_PROPERTIES = ("analyzer", "b", "languages", "localName", "name", "path", "rest", "text", "weight")
SAID = "said"
VALUES = ("Literals", "Strings", "Labels")
NAMES = tuple(dict.fromkeys(("Profile", "Field", *PROFILE_PROPERTIES, *FIELD_PROPERTIES, SAID, *VALUES)))
PATH_PROPERTIES = ("inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath")
MARKS = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}

RELATIVE = "https://relative.invalid/"
"""Base IRI of the parser: an IRI that starts with it was written without a scheme."""

MAX_PROFILE = 1_000_000
"""Maximum bytes of a profile file; Turtle of this size parses in seconds, and a real profile has a few thousand."""

MAX_PARSED = 8
"""Profiles of a process that are parsed once, as long as their files stay the same."""

MAX_FILTERS = 32
"""Maximum length of hk:filters; each is a field of the index on the server, which allows about 1,000 in total."""

MAX_LIST_LENGTH = 10_000
"""Maximum length of an RDF list; also ends a cyclic list."""


def known_profiles() -> list[str]:
    """Names of the built-in profiles, in alphabetical order.

    >>> "default" in known_profiles()
    True
    """
    return sorted(path.stem for path in resource("ontologies", "profiles").glob("*.ttl"))


def is_path(name_or_path: str | FilePath) -> bool:
    """Whether a profile is given by a path: a text with a path separator or the extension `.ttl` is one."""
    text = str(name_or_path)
    return isinstance(name_or_path, FilePath) or "/" in text or "\\" in text or text.endswith(".ttl")


def load_profile(name_or_path: str | FilePath = "default") -> Profile:
    """Reads a built-in profile by its name, or another one by its path.

    A text with a path separator or the extension `.ttl` is a path.

    Raises:
        UnknownNameError: no profile of that name; lists the valid ones.
        ProfileError: the file cannot be read, is not Turtle, or violates a rule of the vocabulary; has the file, and
            the line if possible.

    >>> [field.name for field in load_profile("default").fields]
    ['label', 'description', 'attributes', 'related', 'types']
    """
    text = str(name_or_path)
    if is_path(name_or_path):
        path = FilePath(name_or_path)
        return _profile_of(path, path.name.removesuffix(".ttl"), _read(path))
    if text not in known_profiles():
        near = did_you_mean(text, known_profiles())
        raise UnknownNameError(
            f"no profile {text!r}; known: {', '.join(known_profiles())}",
            hint="\n".join(filter(None, [near, "write your own profile as a path that ends in '.ttl'"])),
        )
    path = resource("ontologies", "profiles", f"{text}.ttl")
    return _profile_of(path, text, _read(path))


@lru_cache(maxsize=MAX_PARSED)
def _profile_of(path: FilePath, name: str, text: str) -> Profile:
    """The profile in the text of a file; every commit asks for it, and rdflib takes 12 ms."""
    return _Reader(path, name, text).profile()


class _Reader:
    """Reader of one profile file; its errors have a place."""

    def __init__(self, path: FilePath, name: str, text: str):
        import rdflib

        self._uri, self._rdf = rdflib.URIRef, rdflib.RDF
        self.path, self.name, self.text = path, name, text
        self.graph = _parse(path, text)

    def profile(self) -> Profile:
        try:
            return self._profile()
        except ProfileError as e:
            e.place = e.place or str(self.path)
            raise

    def _profile(self) -> Profile:
        self._check_vocabulary()
        profiles = sorted(self.graph.subjects(self._rdf.type, self._uri(HK + "Profile")), key=str)
        if len(profiles) != 1:
            raise ProfileError(
                f"the file describes {len(profiles) or 'no'} profile{'s' * bool(profiles)}; it must describe one",
                hint="" if profiles else f"a profile is a node of type <{HK}Profile>",
            )
        self._check_properties(profiles[0], "profile", PROFILE_PROPERTIES)
        lists = [self._list(node, "hk:fields") for node in self._values(profiles[0], "fields")]
        if len(lists) > 1:
            raise self._error("hk:fields is given twice", "fields", hint="one list with all fields in it")
        labels = [self._list(node, "hk:labels") for node in self._values(profiles[0], "labels")]
        analyzer = str(self._one(profiles[0], "analyzer", "the profile") or "standard")
        return Profile(
            self.name,
            tuple(self._field(node, analyzer) for node in (lists[0] if lists else [])),
            entities=self._iris(self._values(profiles[0], "entities"), "hk:entities"),
            labels=self._iris(labels[0], "hk:labels") if labels else LABEL_PREDICATES,
            ignore=self._iris(self._values(profiles[0], "ignore"), "hk:ignore"),
            filters=self._filters(self._values(profiles[0], "filters")),
            types=self._predicates("hk:types", types) if (types := self._values(profiles[0], "types")) else (RDF_TYPE,),
            said=self._said(),
        )

    def _said(self) -> tuple[tuple[Path, tuple[str, ...]], ...]:
        """The phrases of each class, predicate and path."""
        name = f"hk:{SAID}"
        found = []
        for node in set(self.graph.subjects(self._uri(HK + SAID))):
            phrases = sorted(" ".join(str(phrase).split()) for phrase in self._values(node, SAID))
            if not all(phrases):
                raise self._error(f"{name} has an empty phrase", name, hint='mag:paper hk:said "publication"')
            found.append((self._path(node, name, 0), tuple(phrases)))
        return tuple(sorted(found, key=repr))

    def _predicates(self, name: str, nodes: list[Any]) -> tuple[str, ...]:
        """The distinct predicates of the only list of a property of the profile; none without a list."""
        if len(nodes) > 1:
            raise self._error(f"{name} is given twice", name, hint="one list with all predicates in it")
        predicates = self._iris(self._list(nodes[0], name), name) if nodes else ()
        for i, iri in enumerate(predicates):
            if iri in predicates[:i]:
                raise self._error(f"{name}: <{iri}> is listed twice", name)
        return predicates

    def _filters(self, nodes: list[Any]) -> tuple[str, ...]:
        filters = self._predicates("hk:filters", nodes)
        if len(filters) > MAX_FILTERS:
            raise self._error(
                f"hk:filters has {len(filters):,} predicates; at most {MAX_FILTERS}",
                "hk:filters",
                hint="list those that queries restrict to a constant or a range of numbers together with a MATCH",
            )
        return filters

    def _field(self, node: Any, analyzer: str) -> Field:
        """A field; `analyzer` is that of the profile."""
        name = self._one(node, "name", "field without hk:name")
        if name is None:
            raise ProfileError("a field has no name", hint='hk:name "title"')
        name = str(name)
        self._check_properties(node, f"field {name!r}", FIELD_PROPERTIES)
        subject = f"field {name!r}"
        paths = sorted((self._path(value, subject, 0) for value in self._values(node, "path")), key=repr)
        rest, text = self._kind(node, "rest", subject), self._kind(node, "text", subject)
        if rest == "strings":
            raise self._error(f"{subject}: hk:rest is hk:Literals or hk:Labels", name)
        if rest and text and rest != text:
            raise self._error(f"{subject}: hk:rest and hk:text disagree", name, hint="leave out hk:text")
        languages = [self._list(value, "hk:languages") for value in self._values(node, "languages")]
        try:
            return Field(
                name,
                path=None if not paths else paths[0] if len(paths) == 1 else ShaclAlternative(tuple(paths)),
                text=rest or text or "literals",
                rest=rest is not None,
                local_name=self._boolean(node, "localName", subject),
                languages=tuple(sorted(str(tag).lower() for tags in languages for tag in tags)),
                weight=self._number(node, "weight", subject, 1.0),
                b=self._number(node, "b", subject, 0.75),
                analyzer=str(self._one(node, "analyzer", subject) or analyzer),
            )
        except ProfileError as e:
            raise self._located(e, f'"{name}"') from None

    def _path(self, node: Any, subject: str, depth: int) -> Path:
        if depth > DEEPEST_PATH:
            raise self._error(f"{subject}: the path nests deeper than {DEEPEST_PATH}")
        if self._is_list(node):
            parts = tuple(self._path(part, subject, depth + 1) for part in self._list(node, f"the path of {subject}"))
            if not parts:
                raise self._error(f"{subject}: a path is an empty list")
            return parts[0] if len(parts) == 1 else Sequence(parts)
        if isinstance(node, self._uri):
            return ShaclPredicate(self._iri(node, f"the path of {subject}"))
        said = HK + SAID
        operators = sorted((str(p), o) for p, o in self.graph.predicate_objects(node) if str(p) != said)
        if len(operators) != 1 or operators[0][0].removeprefix(SH) not in PATH_PROPERTIES:
            shown = ", ".join(p for p, _ in operators) or repr(str(node))
            raise self._error(
                f"{subject}: this is not a property path: {shown}",
                hint="an IRI, a list, or [ sh:PROPERTY path ] with one of " + ", ".join(PATH_PROPERTIES),
            )
        operator, inner = operators[0][0].removeprefix(SH), operators[0][1]
        if operator == "alternativePath":
            if not self._is_list(inner):
                raise self._error(f"{subject}: sh:alternativePath takes a list", "alternativePath")
            parts = tuple(self._path(part, subject, depth + 1) for part in self._list(inner, "sh:alternativePath"))
            if not parts:
                raise self._error(f"{subject}: a path is an empty list")
            return ShaclAlternative(parts) if len(parts) > 1 else parts[0]
        path = self._path(inner, subject, depth + 1)
        return ShaclInverse(path) if operator == "inversePath" else Repeat(path, MARKS[operator])

    def _values(self, node: Any, name: str) -> list[Any]:
        return sorted(self.graph.objects(node, self._uri(HK + name)), key=str)

    def _one(self, node: Any, name: str, subject: str) -> Any:
        values = self._values(node, name)
        if len(values) > 1:
            raise self._error(f"{subject}: hk:{name} is given {len(values)} times", str(values[0]))
        return values[0] if values else None

    def _number(self, node: Any, name: str, subject: str, default: float) -> float:
        value = self._one(node, name, subject)
        if value is None:
            return default
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self._error(f"{subject}: hk:{name} {str(value)!r} is not a number", str(value))
        return number

    def _boolean(self, node: Any, name: str, subject: str) -> bool:
        value = self._one(node, name, subject)
        if value is not None and str(value) not in ("true", "false"):
            raise self._error(f"{subject}: hk:{name} {str(value)!r} is neither true nor false", str(value))
        return str(value) == "true"

    def _kind(self, node: Any, name: str, subject: str) -> TextKind | None:
        value = self._one(node, name, subject)
        if value is None:
            return None
        kind = str(value).removeprefix(HK)
        if kind not in VALUES:
            known = ", ".join(f"hk:{v}" for v in VALUES)
            hint = _did_you_mean(kind, VALUES) if str(value).startswith(HK) else ""
            raise self._error(f"{subject}: hk:{name} is {str(value)!r}; known: {known}", str(value), hint=hint)
        return TEXT_KINDS[VALUES.index(kind)]

    def _iris(self, nodes: list[Any], subject: str) -> tuple[str, ...]:
        return tuple(self._iri(node, subject) for node in nodes)

    def _iri(self, node: Any, subject: str) -> str:
        written = str(node).removeprefix(RELATIVE)
        if not isinstance(node, self._uri):
            raise self._error(f"{subject}: {written!r} is not an IRI", written)
        try:
            return ShaclPredicate(written).iri
        except ValueError:
            hint = "IRIs are written in full, or with a declared prefix"
            raise self._error(f"{subject}: <{written}> is not an absolute IRI", written, hint=hint) from None

    def _is_list(self, node: Any) -> bool:
        return bool(node == self._rdf.nil) or (node, self._rdf.first, None) in self.graph

    def _list(self, node: Any, subject: str) -> list[Any]:
        items: list[Any] = []
        while node != self._rdf.nil:
            first = list(self.graph.objects(node, self._rdf.first))
            rest = list(self.graph.objects(node, self._rdf.rest))
            if len(first) != 1 or len(rest) != 1 or len(items) == MAX_LIST_LENGTH:
                raise self._error(f"{subject} takes a list: ( ... )", subject.removeprefix("hk:"))
            items.append(first[0])
            node = rest[0]
        return items

    def _check_vocabulary(self) -> None:
        """Checks that every name in the namespace of profiles exists."""
        valid: dict[str, tuple[str, ...]] = {}
        for _, predicate, value in sorted(self.graph):
            for term, known in (
                (predicate, (*PROFILE_PROPERTIES, *FIELD_PROPERTIES, SAID)),
                (value, ("Profile", "Field") if str(predicate) == RDF + "type" else VALUES),
            ):
                if str(term).startswith(HK):
                    valid.setdefault(str(term).removeprefix(HK), known)
        for name in sorted(valid):
            if name not in NAMES:
                raise self._error(
                    f"hk:{name} is not in the vocabulary of profiles; known: {', '.join(sorted(NAMES))}",
                    name,
                    hint=_did_you_mean(name, valid[name]),
                )

    def _check_properties(self, node: Any, subject: str, known: tuple[str, ...]) -> None:
        for iri in sorted({str(p) for p in self.graph.predicates(node) if str(p).startswith(HK)}):
            name = iri.removeprefix(HK)
            if name not in known:
                raise self._error(f"{subject}: hk:{name} is not allowed here; known: {', '.join(known)}", name)

    def _error(self, message: str, needle: str = "", *, hint: str = "") -> ProfileError:
        return self._located(ProfileError(message, hint=hint), needle)

    def _located(self, error: ProfileError, needle: str) -> ProfileError:
        """Adds the line, if only one line has the text (rdflib has no positions)."""
        lines = [i for i, line in enumerate(self.text.splitlines(), 1) if needle and needle in line.split(" #")[0]]
        if not error.place:
            error.place = f"{self.path}:{lines[0]}" if len(lines) == 1 else str(self.path)
        return error


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the most similar valid name, ignoring case, or nothing."""
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean 'hk:{by_lower[near[0]]}'?" if near else ""


def _read(path: FilePath) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PROFILE + 1)
        if len(data) > MAX_PROFILE:
            raise ProfileError(f"the profile is larger than {MAX_PROFILE:,} bytes", place=str(path))
        return data.decode("utf-8-sig")
    except OSError as e:
        raise ProfileError(f"cannot read the profile: {(e.strerror or str(e)).lower()}", place=str(path)) from e
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise ProfileError("the profile is not UTF-8 text", place=f"{path}:{line}") from e


def _parse(path: FilePath, text: str) -> Graph:
    """Parses Turtle; silences rdflib's warnings about IRIs, which we check ourselves."""
    import rdflib

    log = logging.getLogger("rdflib.term")
    silent, log.disabled = log.disabled, True
    try:
        return rdflib.Graph().parse(data=text, format="turtle", publicID=RELATIVE)
    except HybridkgError:
        raise
    except RecursionError as e:
        raise ProfileError("the profile nests too deeply", place=str(path)) from e
    except IndexError as e:  # rdflib at an unexpected end of file
        end = f"{path}:{text.rstrip().count(chr(10)) + 1}"
        raise ProfileError("this is not Turtle: the file ends within a statement", place=end) from e
    except Exception as e:  # rdflib raises SyntaxError, ValueError and others on malformed Turtle
        lines, why = getattr(e, "lines", None), str(getattr(e, "_why", "") or e)
        place = f"{path}:{lines + 1}" if isinstance(lines, int) else str(path)
        raise ProfileError(f"this is not Turtle: {why[:1].lower()}{why[1:]}", place=place) from e
    finally:
        log.disabled = silent
