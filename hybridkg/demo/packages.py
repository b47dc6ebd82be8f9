"""The Python packages of the running environment as RDF in the vocabulary of demo/vocabulary.py.

The source is the metadata of every installed distribution (core metadata specifications of the Python Packaging User
Guide). No path, time or mail address is written, so the same packages give the same bytes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.utils import getaddresses
from importlib.metadata import Distribution, distributions
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from hybridkg.demo.markup import clean, plain
from hybridkg.demo.vocabulary import LABEL, RDF_TYPE, package_iri, resource_iri, term, web_page
from hybridkg.errors import StorageError
from hybridkg.rdf.terms import Literal, NamedNode, Node, Triple

FILE_NAME = "packages.nt"

Headers: TypeAlias = dict[str, list[str]]
"""Values by the lower-case name of a metadata header."""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)[^;]*(?:;\s*(.*))?", re.DOTALL)
_EXTRA = re.compile(r"\bextra\s*==\s*[\"']([^\"']+)[\"']")
_MODULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class PackageFile:
    """The written file and its counts."""

    path: Path
    installed: int
    unreadable: int
    triples: int


@dataclass(frozen=True)
class Requirement:
    """A required package; `property_` is the property of the vocabulary for its kind."""

    name: str
    property_: str


def write_packages(folder: Path, found: Iterable[Distribution] | None = None) -> PackageFile:
    """Writes `packages.nt` of the distributions, by default those of the running environment, into a folder.

    Raises:
        StorageError: the file cannot be written.
    """
    packages, unreadable = installed(distributions() if found is None else found)
    lines = {f"{triple} .\n" for headers, modules in packages.values() for triple in package_triples(headers, modules)}
    for headers, _ in packages.values():
        lines.update(f"{triple} .\n" for triple in _missing(headers, set(packages)))
    path = folder / FILE_NAME
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(sorted(lines))
    except OSError as e:
        raise StorageError(f"cannot write {FILE_NAME!r}: {(e.strerror or str(e)).lower()}", place=str(path)) from e
    return PackageFile(path, len(packages), unreadable, len(lines))


def installed(found: Iterable[Distribution]) -> tuple[dict[NamedNode, tuple[Headers, set[str]]], int]:
    """The headers and modules of each package, the first one on the path, and the number of unreadable ones.

    A distribution without metadata, without a name, or with bytes that are not UTF-8 is unreadable.
    """
    first: dict[NamedNode, tuple[Headers, set[str]]] = {}
    unreadable = 0
    for one in found:
        headers = _headers(one)
        if "name" in headers:
            first.setdefault(package_iri(headers["name"][0]), (headers, _modules(one)))
        else:
            unreadable += 1
    return dict(sorted(first.items(), key=lambda item: item[0].value)), unreadable


def package_triples(headers: Headers, modules: Iterable[str] = ()) -> Iterator[Triple]:
    """The triples of one distribution, unordered, possibly repeated."""
    name = headers["name"][0]
    package = package_iri(name)
    yield from _named(package, "Package", name)
    for header, property_ in _LITERALS.items():
        for value in headers.get(header, []):
            yield from _literal(package, property_, value)
    for text in headers.get("description", []):
        yield from _literal(package, "description", plain(text))
    for text in headers.get("keywords", []):
        for keyword in text.split("," if "," in text else None):
            yield from _literal(package, "keyword", keyword)
    for module in modules:
        yield from _literal(package, "module", module)
    for requirement in _requirements(headers):
        yield Triple(package, term(requirement.property_), package_iri(requirement.name))
    yield from _people(package, headers)
    for licence in _licences(headers):
        yield from _link(package, "licence", "Licence", "licence", licence)
    for classifier in headers.get("classifier", []):
        yield from _classifier(package, classifier)
    yield from _pages(package, headers)


_LITERALS = {
    "version": "version",
    "summary": "summary",
    "requires-python": "pythonRequires",
    "provides-extra": "extra",
    "requires-dist": "requirement",
}


def _headers(one: Distribution) -> Headers:
    """The headers of the metadata by lower-case name, without empty ones and "UNKNOWN".

    importlib.metadata returns the body as the header "Description". The result is empty if the metadata is missing
    (TypeError in Python 3.11) or is not UTF-8.
    """
    try:
        metadata = one.metadata
        keys = {key.lower() for key in metadata or ()}
        texts = {key: [clean(str(value)).strip() for value in metadata.get_all(key) or ()] for key in keys}
    except (OSError, TypeError, ValueError):
        return {}
    filled = {key: [text for text in values if text and text != "UNKNOWN"] for key, values in texts.items()}
    return {key: values for key, values in filled.items() if values}


def _modules(one: Distribution) -> set[str]:
    """Public top-level modules, by the list of files."""
    modules = set()
    try:
        files = one.files or ()
    except (OSError, ValueError, csv.Error):  # a damaged list of files costs the modules only
        files = ()
    for file in files:
        parts = file.parts
        is_package = len(parts) == 2 and parts[1] == "__init__.py"
        is_module = len(parts) == 1 and parts[0].endswith((".py", ".so", ".pyd"))
        name = parts[0].split(".")[0] if is_module else parts[0] if is_package else ""
        if _MODULE.fullmatch(name):
            modules.add(name)
    return modules


def _requirements(headers: Headers) -> Iterator[Requirement]:
    for text in headers.get("requires-dist", []):
        if match := _REQUIREMENT.match(text):
            name, marker = match.groups()
            kind = "requires" if not marker else "optionalRequires" if _EXTRA.search(marker) else "conditionalRequires"
            yield Requirement(name, kind)


def _missing(headers: Headers, installed_packages: set[NamedNode]) -> Iterator[Triple]:
    """Names for the packages that are required but not installed."""
    for requirement in _requirements(headers):
        package = package_iri(requirement.name)
        if package not in installed_packages:
            yield from _named(package, "Package", re.sub(r"[-_.]+", "-", requirement.name).lower())


def _people(package: NamedNode, headers: Headers) -> Iterator[Triple]:
    """Authors and maintainers: the names of `Author`, and those before the addresses of `Author-email`."""
    for role in ("author", "maintainer"):
        names = [name for text in headers.get(role, []) for name in re.split(r",|;|\band\b", text)]
        names += [name for name, _ in getaddresses(headers.get(f"{role}-email", []))]
        for name in names:
            shown = " ".join(name.split()).strip("\"' ")
            if shown and "@" not in shown:
                yield from _link(package, role, "Person", "person", shown)


def _licences(headers: Headers) -> set[str]:
    """The SPDX expression, else the licences of the classifiers, else a short free text."""
    if headers.get("license-expression"):
        return set(headers["license-expression"])
    parts = [text.split(" :: ") for text in headers.get("classifier", []) if text.startswith("License :: ")]
    named = {text[-1] for text in parts if text[-1] != "OSI Approved"}
    return named or {text for text in headers.get("license", []) if len(text) <= 60 and "\n" not in text}


def _classifier(package: NamedNode, text: str) -> Iterator[Triple]:
    yield from _link(package, "classifier", "Classifier", "classifier", text)
    head, *parts = text.split(" :: ")
    if head != "Topic" or not parts:
        return
    topics = [(resource_iri("topic", "/".join(parts[: i + 1])), part) for i, part in enumerate(parts)]
    yield Triple(package, term("topic"), topics[-1][0])
    for topic, label in topics:
        yield from _named(topic, "Topic", label)
    for (above, _), (below, _) in pairwise(topics):
        yield Triple(below, term("broader"), above)


def _pages(package: NamedNode, headers: Headers) -> Iterator[Triple]:
    """`Home-page`, and the labelled addresses of `Project-URL`."""
    labelled = [("homepage", url) for url in headers.get("home-page", [])]
    labelled += [
        (label.strip(), url) for label, _, url in (text.partition(",") for text in headers.get("project-url", []))
    ]
    for label, url in labelled:
        page = web_page(url)
        if page is not None:
            is_home = label.lower().replace(" ", "").replace("-", "") == "homepage"
            yield Triple(package, term("homepage" if is_home else "link"), page)


def _link(package: NamedNode, property_: str, class_: str, kind: str, label: str) -> Iterator[Triple]:
    node = resource_iri(kind, label.replace(" :: ", "/"))
    yield Triple(package, term(property_), node)
    yield from _named(node, class_, " ".join(label.split()))


def _named(node: Node, class_: str, label: str) -> Iterator[Triple]:
    yield Triple(node, RDF_TYPE, term(class_))
    yield Triple(node, LABEL, Literal(label))


def _literal(node: Node, property_: str, text: str) -> Iterator[Triple]:
    if text.strip():
        yield Triple(node, term(property_), Literal(text.strip()))
