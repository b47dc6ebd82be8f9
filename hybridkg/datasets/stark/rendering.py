"""Documents of nodes, byte for byte as STaRK's `get_doc_info` writes them.

Values print as Python's `str`, so white space stays, and a list or a dictionary has the form of Python. What the files
of STaRK always have, and others may lack, prints as nothing, in MAG as its mark of the unknown, -1. STaRK's sort of
reviews by votes is not stable; here reviews with equal votes keep their order.

Source: snap-stanford/stark, `stark_qa/skb/{amazon,mag,prime}.py`. The slow restatement is in
tests/datasets/test_stark_rendering.py, with a worked document for each rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hybridkg.datasets.stark.documents import MAX_ENTRIES, MAX_WORDS, Attributes, votes
from hybridkg.errors import LoadError

UNKNOWN = -1
"""MAG's mark of an unknown value."""

MISSING = float("nan")
"""The value of a missing part of a review or a question."""

REMOVED = ("", "nan")
"""Texts of the values that are removed from Prime's dictionaries."""

GLOSSES = {
    "name": "gene name",
    "type_of_gene": "gene types",
    "alias": "other gene names",
    "other_names": "extended other gene names",
    "genomic_pos": "genomic position",
    "generif": "PubMed text",
    "interpro": "protein family and classification information",
    "summary": "protein summary text",
}
"""Explanations of the details of a gene."""

NAMED = ("brand", "category", "color")
"""Types of Amazon whose nodes have a name only."""


def document(kb: str, type: str, attributes: Attributes) -> str:
    """The document of a node without its relations.

    Args:
        kb: "amazon", "mag" or "prime".
        type: name of its type.
        attributes: as in `node_info.pkl`.

    Raises:
        LoadError: STaRK has no document for this type.

    >>> document("amazon", "brand", {"brand_name": "Coleman"})
    'brand name: Coleman'
    """
    return _DOCUMENTS[kb](type, attributes)


def name(kb: str, type: str, attributes: Attributes) -> str:
    """The name of a node in the documents of its neighbours.

    >>> name("mag", "author", {"DisplayName": -1})
    '-1'
    """
    if kb == "prime":
        return str(_cleaned(attributes).get("name", ""))
    if kb == "mag":
        return str(attributes.get("title" if type == "paper" else "DisplayName", UNKNOWN))
    return str(attributes.get("title" if type == "product" else f"{type}_name", ""))


def _amazon(type: str, attributes: Attributes) -> str:
    if type in NAMED:
        return f"{type} name: {attributes.get(f'{type}_name', '')}"
    if type != "product":
        raise _no_document(type)
    lines = [f"- product: {attributes.get('title', '')}\n"]
    if "brand" in attributes:
        lines.append(f"- brand: {attributes['brand']}\n")
    details = attributes.get("details")
    size = details.get("product_dimensions") if isinstance(details, dict) else None
    if isinstance(size, str) and len(parts := size.split(" ; ")) == 2:
        lines.append(f"- dimensions: {parts[0]}\n- weight: {parts[1]}\n")
    if description := " ".join(map(str, _listed(attributes.get("description")))).strip(" "):
        lines.append(f"- description: {description}\n")
    if features := _listed(attributes.get("feature")):
        lines.append("- features: \n")
        lines += [
            f"#{number}: {feature}\n"
            for number, feature in enumerate(features, 1)
            if feature and "asin" not in str(feature).lower()
        ]
    if reviews := _listed(attributes.get("review")):
        lines.append("- reviews: \n")
        numbered = [(number, one) for number, one in enumerate(reviews, 1) if isinstance(one, dict)]
        for number, one in sorted(numbered, key=lambda pair: -votes(pair[1].get("vote")))[:MAX_ENTRIES]:
            summary, text = one.get("summary", MISSING), one.get("reviewText", MISSING)
            lines.append(f'#{number}:\nsummary: {summary}\ntext: "{text}"\n')
    if questions := _listed(attributes.get("qa")):
        lines.append("- Q&A: \n")
        for number, one in enumerate(questions[:MAX_ENTRIES], 1):
            if isinstance(one, dict):
                asked, answer = one.get("question", MISSING), one.get("answer", MISSING)
                lines.append(f'#{number}:\nquestion: "{asked}"\nanswer: "{answer}"\n')
    return "".join(lines)


def _listed(value: object) -> list[Any]:
    """The parts of a list, a text as the only one; nothing of anything else."""
    if isinstance(value, str):
        return [value] if value else []
    return list(value) if isinstance(value, list | tuple) else []


VENUES = (
    ("venue", "OriginalVenue"),
    ("journal", "JournalDisplayName"),
    ("conference", "ConferenceSeriesDisplayName"),
    ("conference", "ConferenceInstancesDisplayName"),
)
"""Labels and attributes of the place of publication of a paper; the first known one is printed."""

MAG_LINES = {
    "author": ("- author name", "author"),
    "field_of_study": (" - field of study", "field"),
    "institution": (" - institution", "institution"),
}
"""The line of the name, and what the counts are of, by type."""


def _mag(type: str, attributes: Attributes) -> str:
    def get(name: str) -> object:
        return attributes.get(name, UNKNOWN)

    if type == "paper":
        abstract = str(get("abstract")).replace("\r", "").rstrip("\n")
        lines = [f" - paper title: {get('title')}\n", f" - abstract: {abstract}\n"]
        if str(get("Date")) != "-1":
            lines.append(f" - publication date: {get('Date')}\n")
        lines += [f" - {label}: {get(name)}\n" for label, name in VENUES if str(get(name)) != "-1"][:1]
        return "".join(lines)
    if type not in MAG_LINES:
        raise _no_document(type)
    title, counted = MAG_LINES[type]
    lines = [f"{title}: {get('DisplayName')}\n"]
    for what, name in (("paper", "PaperCount"), ("citation", "CitationCount")):
        if get(name) != UNKNOWN:
            lines.append(f"- {counted} {what} count: {get(name)}\n")
    return "".join(lines).replace("-1", "Unknown")


def _prime(type: str, attributes: Attributes) -> str:
    cleaned = _cleaned(attributes)
    details = cleaned.get("details")
    lines = []
    for key, value in details.items() if isinstance(details, dict) else ():
        label = str(key)
        if label.startswith("_") or "_id" in label:
            continue
        if type == "gene/protein" and key in GLOSSES:
            lines.append(f"  - {label} ({GLOSSES[key]}): {_gene_detail(key, value)}\n")
        else:
            lines.append(f"  - {label}: {value}\n")
    head = f"- name: {cleaned.get('name', '')}\n- type: {type}\n- source: {cleaned.get('source', '')}\n"
    return head + "".join(["- details:\n", *lines] if lines else [])


def _cleaned(attributes: Attributes) -> dict[Any, Any]:
    """Prime's attributes without removed values, in dictionaries at any depth; a list keeps its own."""
    return {
        key: _cleaned(value) if isinstance(value, dict) else value
        for key, value in attributes.items()
        if isinstance(value, dict) or str(value) not in REMOVED
    }


def _gene_detail(key: str, value: Any) -> object:
    """The printed value of a detail of a gene."""
    if key == "genomic_pos" and isinstance(value, list):
        return value[0] if value else value
    parts = [value] if isinstance(value, dict) else value
    if key == "interpro" and isinstance(parts, list):
        return [part["desc"] for part in parts if isinstance(part, dict) and "desc" in part]
    if key == "generif" and isinstance(parts, list):
        texts = [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]
        return " ".join("; ".join(texts).split(" ")[:MAX_WORDS])
    return value


def _no_document(type: str) -> LoadError:
    return LoadError(f"STaRK has no document for a node of the type {type!r}")


_DOCUMENTS: Mapping[str, Callable[[str, Attributes], str]] = {"amazon": _amazon, "mag": _mag, "prime": _prime}
