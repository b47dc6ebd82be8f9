"""amazon from MITRE ATT&CK: techniques and software are products, groups brands, tactics categories, platforms colors.

The sentence that states a use is a review of what is used, with its sources as votes. A mitigation is a question with
its answer, and a strategy of detection is a feature. Software is bought with the techniques that it uses, and a
technique is viewed with the one that it is a kind of. Software has no tactics, so it is in no category.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stark_data.skb_files import SkbWriter
from benchmarks.stark_made import AMAZON_RELATIONS

SOURCE = "mitre-attack/enterprise-attack.tar.xz"

TYPES = ("product", "brand", "category", "color")
PRODUCTS = ("attack-pattern", "malware", "tool")

_LINK, _MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)"), re.compile(r"\(Citation: [^)]*\)|</?code>")


def write_attack(source: Path, folder: Path) -> None:
    """Writes FOLDER/skb."""
    objects = {one["id"]: one for one in _objects(source) if not (one.get("revoked") or one.get("x_mitre_deprecated"))}
    links = [one for one in objects.values() if one["type"] == "relationship"]
    links = [one for one in links if one["source_ref"] in objects and one["target_ref"] in objects]
    reviews, answers, features = _texts(objects, links)
    skb = SkbWriter(folder, "amazon", TYPES, AMAZON_RELATIONS)
    numbers: dict[str, int] = {}
    for id_, one in objects.items():
        if one["type"] in PRODUCTS:
            numbers[id_] = skb.node("product", _product(one, reviews[id_], answers[id_], features[id_]))
    for id_, one in objects.items():
        if one["type"] == "intrusion-set":
            numbers[id_] = skb.node("brand", {"brand_name": np.str_(one["name"])})
        elif one["type"] == "x-mitre-tactic":
            numbers[one["x_mitre_shortname"]] = skb.node("category", {"category_name": one["name"]})
    names = sorted({name for id_ in numbers for name in objects.get(id_, {}).get("x_mitre_platforms", [])})
    platforms = {name: skb.node("color", {"color_name": name}) for name in names}
    for one in links:
        head, tail, kind = objects[one["source_ref"]], objects[one["target_ref"]], one["relationship_type"]
        if kind == "uses" and head["type"] == "intrusion-set" and tail["type"] in PRODUCTS:
            skb.edge(numbers[tail["id"]], numbers[head["id"]], "has_brand")
        elif kind in ("uses", "subtechnique-of") and head["type"] in PRODUCTS and tail["type"] in PRODUCTS:
            relation = "also_buy" if kind == "uses" else "also_view"
            skb.edge(numbers[head["id"]], numbers[tail["id"]], relation)
    for one in objects.values():
        if one["type"] in PRODUCTS:
            for phase in one.get("kill_chain_phases", []):
                skb.edge(numbers[one["id"]], numbers[phase["phase_name"]], "has_category")
            for platform in dict.fromkeys(one.get("x_mitre_platforms", [])):
                skb.edge(numbers[one["id"]], platforms[platform], "has_color")
    skb.close()


def _objects(source: Path) -> Iterator[dict[str, Any]]:
    """The STIX objects, in the order of the archive."""
    with tarfile.open(source, "r|*") as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".json"):
                file = archive.extractfile(member)
                assert file is not None
                found = json.load(file)
                yield from found.get("objects", [found])


def _texts(objects: dict[str, Any], links: list[dict[str, Any]]) -> tuple[defaultdict[str, list[Any]], ...]:
    """Reviews, questions with answers, and features of each product."""
    reviews: defaultdict[str, list[Any]] = defaultdict(list)
    answers: defaultdict[str, list[Any]] = defaultdict(list)
    features: defaultdict[str, list[Any]] = defaultdict(list)
    for one in links:
        name, text = objects[one["source_ref"]]["name"], plain(one.get("description", ""))
        kind, target = one["relationship_type"], one["target_ref"]
        if kind == "detects":
            features[target].append(name)
        elif kind == "mitigates":
            answers[target].append({"question": f"Does {name} help against it?", "answer": text})
        elif kind == "uses" and text:
            votes = len(one.get("external_references", []))
            reviews[target].append({"summary": name, "reviewText": text, "vote": str(votes) if votes else float("nan")})
    return reviews, answers, features


def _product(one: dict[str, Any], reviews: list[Any], answers: list[Any], features: list[Any]) -> dict[str, Any]:
    paragraphs = [plain(part) for part in one.get("description", "").split("\n")]
    return {
        "asin": one["external_references"][0]["external_id"],
        "title": one["name"],
        "description": [part for part in paragraphs if part],
        "feature": features,
        "review": reviews,
        "qa": answers,
        "details": {},
    }


def plain(text: str) -> str:
    """The text without links, citations and markup.

    >>> plain("[Net](https://x/S0039) lists <code>net use</code>.(Citation: Savill 1999)")
    'Net lists net use.'
    """
    return " ".join(_MARKUP.sub("", _LINK.sub(r"\1", text)).split())
