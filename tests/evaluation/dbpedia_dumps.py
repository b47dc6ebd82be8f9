"""Small dumps in the form of the real ones, and what a conversion makes of them."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

from dbpedia_reference import ANCHOR, COMMENT, LABEL, SUBJECT, O, P, R

from hybridkg.datasets.dbpedia.converting import DOCUMENTS, GRAPH, Conversion, find_dumps
from hybridkg.datasets.dbpedia.rules import load_rules
from hybridkg.interfaces.progress import SILENT

ALL = load_rules("A").files

DUMPS = {
    "labels_en": [
        f'<{R}Rome> <{LABEL}> "Rome"@en .',
        f'<{R}Ada> <{LABEL}> "Ada"@en .',
        f'<{R}List_of_cities> <{LABEL}> "List of cities"@en .',
        f'<{R}Roma> <{LABEL}> "Roma"@en .',
        f'<{R}Rome_(disambiguation)> <{LABEL}> "Rome (disambiguation)"@en .',
        f'<{R}Nowhere> <{LABEL}> "Nowhere"@en .',
    ],
    "short_abstracts_en": [
        f'<{R}Rome> <{COMMENT}> "Rome is \\"eternal\\"."@en .',
        f'<{R}Ada> <{COMMENT}> "Ada lived."@en .',
        f'<{R}List_of_cities> <{COMMENT}> "All cities."@en .',
        f'<{R}Rome_(disambiguation)> <{COMMENT}> "Rome may be"@en .',
        f'<{R}Nameless> <{COMMENT}> "has no label"@en .',
    ],
    "long_abstracts_en": [f'<{R}Rome> <{O}abstract> "Rome is \\"eternal\\" and caf\\u00E9."@en .'],
    "article_categories_en": [
        f"<{R}Rome> <{SUBJECT}> <{R}Category:Capitals_in_Europe> .",
        f"<{R}Rome> <{SUBJECT}> <{R}Category:Star_Trek:_places> .",
    ],
    "instance_types_transitive_en": [f"<{R}Rome> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{O}City> ."],
    "infobox_properties_en": [
        f'<{R}Rome> <{P}officialName> "Roma Capitale"@en .',
        f"<{R}Rome> <{P}twinTown> <{R}Paris> .",
        f"<{R}Rome> <{P}isPartOf> <{R}List_of_cities> .",
        f"<{R}Rome> <{P}website> <http://www.comune.roma.it/> .",
        f'<{R}Rome> <{P}logoURL> "x.png"@en .',
        f'<{R}Rome> <{P}empty> ""@en .',
        f"<{R}Rome> <{P}image> <{R}File:Old_Rome.v2.jpg> .",
    ],
    "mappingbased_objects_en": [
        f"<{R}Ada> <{O}birthPlace> <{R}Rome> .",
        f"<{R}Ada> <{O}location> <{R}Rome> .",
    ],
    "mappingbased_literals_en": [
        f'<{R}Rome> <{O}elevation> "21.0"^^<http://www.w3.org/2001/XMLSchema#double>.',
        f'<{R}Ada> <http://xmlns.com/foaf/0.1/name> "Ada L."@en .',
    ],
    "persondata_en": [f'<{R}Ada> <http://xmlns.com/foaf/0.1/surname> "L."@en .'],
    "transitive_redirects_en": [f"<{R}Roma> <{O}wikiPageRedirects> <{R}Rome> ."],
    "disambiguations_en": [f"<{R}Rome_(disambiguation)> <{O}wikiPageDisambiguates> <{R}Rome> ."],
    "page_links_en": [f"<{R}Rome> <{O}wikiPageWikiLink> <{R}Ada> .", f"<{R}Rome> <{O}wikiPageWikiLink> <{R}Roma> ."],
    "anchor_text_en": [f'<{R}Rome> <{ANCHOR}> "the city"@en .'] * 3,
}
"""Small enough to work out by hand; Roma is a redirect, the disambiguation page has an abstract, Paris has nothing."""

A_LABELS = {
    "category_labels_en": [f'<{R}Category:Capitals_in_Europe> <{LABEL}> "Capitals in Europe!"@en .'],
    "infobox_property_definitions_en": [
        f"<{P}twinTown> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <x:Property> .",
        f'<{P}twinTown> <{LABEL}> "twin town"@en .',
        f'<{P}isPartOf> <{LABEL}> "part of"@en .',
    ],
}


def lay_out(folder: Path, dumps: dict[str, list[str]], ending: str = "") -> Path:
    """The dumps as files, with the comments that the real ones have."""
    packed = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress}[ending]
    (folder / "core-i18n/en").mkdir(parents=True, exist_ok=True)
    for name in {**dict.fromkeys(ALL, ()), **dumps}:
        lines = ["# started 2016", *dumps.get(name, ()), "", "# completed 2016"]
        (folder / f"core-i18n/en/{name}.ttl{ending}").write_bytes(packed("\n".join(lines).encode() + b"\n"))
    return folder


def read(folder: Path) -> tuple[dict[str, dict], list[str]]:
    """Fields by entity, and the lines of the graph, of a conversion."""
    lines = gzip.decompress((folder / DOCUMENTS).read_bytes()).decode().splitlines()
    documents = [json.loads(line) for line in lines]
    graph = (
        gzip.decompress((folder / GRAPH).read_bytes()).decode().splitlines() if (folder / GRAPH).stat().st_size else []
    )
    return {document.pop("id"): document for document in documents}, graph


def convert(dumps: Path, work: Path, index: str = "B", progress=SILENT, **options) -> tuple[dict[str, dict], list[str]]:
    work.mkdir(exist_ok=True)
    rules = load_rules(index)
    Conversion(rules, find_dumps(rules, dumps), work, progress, **options).run()
    return read(work)
