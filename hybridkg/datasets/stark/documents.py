"""Properties of a node from its attributes, after STaRK's `get_doc_info`.

White space is normalised, and unknown values (-1, NaN, empty; in Prime 'nan' at any depth) are left out. Relations are
edges, not text: a profile makes fields of the names at their ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hybridkg.datasets.recipe import RDF, RDFS, XSD, RecipeTriples
from hybridkg.datasets.stark.size_limits import DEEPEST, MAX_PARTS, MAX_TEXT, too_large
from hybridkg.errors import LoadError

BASE = "https://w3id.org/hybridkg/stark/"

MAX_ENTRIES = 27
"""Reviews and questions of a product in its document; STaRK stops after index `max_entries` + 1."""

MAX_WORDS = 50_000
"""Words of the PubMed texts about a gene."""

UNKNOWN = {"prime": "nan"}
"""The text of an unknown value at any depth, by knowledge base; STaRK removes it from Prime's (`clean_dict`)."""

Attributes = Mapping[Any, Any]

_LOCAL = re.compile(r"[^A-Za-z0-9_-]+")
_YEAR = re.compile(r"([12][0-9]{3})(?:-|$)")
_COUNT = re.compile(r"[0-9]{1,9}")


def local(name: str) -> str:
    """The last part of the IRI of a type, a relation or a detail.

    >>> local("gene/protein"), local("off-label use")
    ('gene_protein', 'off-label_use')
    """
    return _LOCAL.sub("_", name).strip("_") or "_"


def node_iri(kb: str, number: int) -> str:
    """The IRI of a node.

    >>> node_iri("mag", 7)
    'https://w3id.org/hybridkg/stark/mag/7'
    """
    return f"{BASE}{kb}/{number}"


class StarkNode:
    """A node of a knowledge base, with its id, type name and attributes; its properties are added to `made`."""

    def __init__(self, made: RecipeTriples, kb: str, number: int, type: str, attributes: Attributes):
        self.made, self.iri, self.ns = made, node_iri(kb, number), f"{BASE}{kb}#"
        self.type, self.attributes = type, attributes
        self._text, self._parts, self._unknown = MAX_TEXT, MAX_PARTS, UNKNOWN.get(kb, "")
        made.link(self.iri, RDF + "type", self.ns + local(type))

    def put(self, name: str, value: object) -> None:
        """Adds a literal, unless the value is unknown."""
        self.made.text(self.iri, self.ns + name, self.flat(value))

    def number(self, name: str, value: object) -> None:
        """Adds a whole number of at least 0, if the value is one."""
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is int and value >= 0:
            self.made.text(self.iri, self.ns + name, str(value), XSD + "integer")

    def texts(self, name: str) -> list[str]:
        """The texts in an attribute that is a list or a single text."""
        value = self.attributes.get(name)
        return [self.flat(part) for part in value] if isinstance(value, list | tuple) else [self.flat(value)]

    def dicts(self, name: str) -> list[Attributes]:
        """The dictionaries in an attribute that is a list."""
        value = self.attributes.get(name)
        return [part for part in value if type(part) is dict] if type(value) is list else []

    def flat(self, value: object, between: str = "; ") -> str:
        """A value as text: the parts of a list in sequence, those of a dictionary with their keys."""
        parts: list[str] = []
        self._flatten(value, 0, parts)
        return between.join(filter(None, parts))

    def _flatten(self, value: object, depth: int, texts: list[str]) -> None:
        self._parts -= 1
        if depth > DEEPEST or self._parts < 0 or self._text < 0:
            raise too_large(self.iri)
        if isinstance(value, str):
            self._text -= len(value)
            if value != self._unknown:
                texts.append(value)
        elif type(value) in (int, bool) or (type(value) is float and math.isfinite(value)):
            texts.append(str(value))
        elif isinstance(value, list | tuple):
            for part in value:
                self._flatten(part, depth + 1, texts)
        elif isinstance(value, dict):
            for key, part in value.items():
                inner: list[str] = []
                self._flatten(part, depth + 1, inner)
                if text := "; ".join(filter(None, inner)):
                    texts.append(f"{self.flat(key) or key}: {text}")


def mag(node: StarkNode) -> None:
    """Papers by title, abstract, date and venue; authors, institutions and fields of study by name; -1 is unknown."""
    get = {name: value for name, value in node.attributes.items() if value not in (-1, "-1")}.get
    if node.type != "paper":
        node.put("name", get("DisplayName"))
        node.number("paper_count", get("PaperCount"))
        node.number("citation_count", get("CitationCount"))
        return
    node.put("title", get("title"))
    node.put("abstract", get("abstract"))
    date = node.flat(get("Date"))
    node.put("date", date)
    if year := _YEAR.match(date):
        node.number("year", int(year[1]))
    venues = ("OriginalVenue", "JournalDisplayName", "ConferenceSeriesDisplayName", "ConferenceInstancesDisplayName")
    node.put("venue", next(filter(None, (node.flat(get(name)) for name in venues)), ""))


def amazon(node: StarkNode) -> None:
    """Products by title, dimensions, weight, description, features, reviews, questions; other nodes by name."""
    get = node.attributes.get
    if node.type != "product":
        node.put("name", get(f"{node.type}_name"))
        return
    node.put("title", get("title"))
    details = get("details")
    size = details.get("product_dimensions") if type(details) is dict else None
    if type(size) is str and size.count(" ; ") == 1:
        dimensions, _, weight = size.partition(" ; ")
        node.put("dimensions", dimensions)
        node.put("weight", weight)
    node.put("description", " ".join(node.texts("description")))
    for feature in node.texts("feature"):
        if "asin" not in feature.lower():
            node.put("feature", feature)
    reviews = sorted(node.dicts("review"), key=lambda review: -votes(review.get("vote")))
    for review in reviews[:MAX_ENTRIES]:
        node.put("review", node.flat([review.get("summary"), review.get("reviewText")], ". "))
    for question in node.dicts("qa")[:MAX_ENTRIES]:
        node.put("qa", node.flat([question.get("question"), question.get("answer")], " "))


def votes(value: object) -> int:
    """The number of helpful votes of a review, such as "1,204"."""
    text = value.replace(",", "") if type(value) is str else ""
    return int(text) if _COUNT.fullmatch(text) else 0


def prime(node: StarkNode) -> None:
    """Name, source, and details by key, as `detail_KEY`."""
    node.put("name", node.attributes.get("name"))
    node.put("source", node.attributes.get("source"))
    details = node.attributes.get("details")
    for key, value in details.items() if type(details) is dict else ():
        if type(key) is not str or key.startswith("_") or "_id" in key:
            continue
        node.put(f"detail_{local(key)[:80]}", _detail(node, key, value))


def _detail(node: StarkNode, key: str, value: Any) -> object:
    """The text of a detail; of a gene, those on its protein families, position and PubMed have more than text."""
    if node.type != "gene/protein" or key not in ("interpro", "generif", "genomic_pos"):
        return value
    parts = [value] if type(value) is dict else value
    if type(parts) is not list:
        return value
    if key == "genomic_pos":
        return parts[0] if parts else None
    part = "desc" if key == "interpro" else "text"
    texts = [one.get(part) if type(one) is dict else one for one in parts]
    return " ".join(node.flat(texts).split(" ")[:MAX_WORDS])


@dataclass(frozen=True)
class Kind:
    """A knowledge base: title, writer of a node's properties, types of possible answers (empty: all)."""

    title: str
    write: Callable[[StarkNode], None]
    candidates: frozenset[str] = frozenset()


KINDS = {
    "amazon": Kind("STaRK-Amazon: products of sports and outdoors with reviews", amazon, frozenset({"product"})),
    "mag": Kind("STaRK-MAG: papers with authors, institutions and fields of study", mag, frozenset({"paper"})),
    "prime": Kind("STaRK-Prime: diseases, drugs, genes and what links them", prime),
}


def write_names(made: RecipeTriples, kb: str, names: Mapping[int, str], class_: str) -> dict[int, str]:
    """Writes types or relations with labels; returns number -> IRI. Raises LoadError: two names have one IRI."""
    iris = {number: f"{BASE}{kb}#{local(name)}" for number, name in names.items()}
    if len(set(iris.values())) < len(iris):
        raise LoadError(f"two names have the same IRI: {', '.join(names.values())}")
    for number, iri in iris.items():
        made.link(iri, RDF + "type", class_)
        made.text(iri, RDFS + "label", names[number])
    return iris
