"""mag from CACM: articles, authors, keywords as fields of study, and citations; it has no institutions.

A citation is listed at both of its ends, so who cites whom is unknown, and the edge has both directions.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyoxigraph

from benchmarks.stark_data.skb_files import SkbWriter
from hybridkg.datasets.cacm import BASE, CACM, NS, read_cacm
from hybridkg.datasets.sources import find_sources
from hybridkg.datasets.stark.layout import MAG_EDGES, MAG_NODES

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def write_cacm(source: Path, folder: Path) -> None:
    """Writes FOLDER/skb; `source` is the data folder."""
    contents = read_cacm(find_sources(CACM.name, CACM.files, source, CACM.origin))
    about: dict[str, dict[str, Any]] = {}
    links: list[tuple[str, str, str]] = []
    keywords: list[tuple[str, str]] = []
    for quad in pyoxigraph.parse("".join(contents.triples).encode(), pyoxigraph.RdfFormat.N_TRIPLES):
        subject, name, value = quad.subject.value, quad.predicate.value.removeprefix(NS), quad.object.value
        values = about.setdefault(subject, {})
        if name == "keyword":
            keywords.append((subject, value.lower()))
        elif name in ("author", "citation"):
            links.append((subject, name, value))
        elif isinstance(quad.object, pyoxigraph.Literal):
            values["label" if name == LABEL else name] = value
        elif value == NS + "Article":
            values["is_paper"] = True
    skb = SkbWriter(folder, "mag", tuple(MAG_NODES.values()), tuple(MAG_EDGES.values()))
    papers_of = Counter(target for _, name, target in links if name == "author")
    numbers = {iri: skb.node("author", _named(about[iri]["label"], count)) for iri, count in papers_of.items()}
    for keyword, count in Counter(keyword for _, keyword in dict.fromkeys(keywords)).items():
        numbers[keyword] = skb.node("field_of_study", _named(keyword, count))
    papers = [iri for iri, values in about.items() if "is_paper" in values]
    for iri in papers:
        values = about[iri]
        numbers[iri] = skb.node(
            "paper",
            {
                "id": iri.removeprefix(BASE),
                "type": "paper",
                "title": values.get("title", -1),
                "abstract": values.get("abstract", -1),
                "Date": values.get("date", values.get("year", -1)),
                "OriginalVenue": "Communications of the ACM",
            },
        )
    for subject, name, target in links:
        if name == "author":
            skb.edge(numbers[target], numbers[subject], MAG_EDGES[3])
        else:
            skb.edge(numbers[subject], numbers[target], MAG_EDGES[1])
    for subject, keyword in dict.fromkeys(keywords):
        skb.edge(numbers[subject], numbers[keyword], MAG_EDGES[2])
    skb.close()


def _named(name: str, papers: int) -> dict[str, Any]:
    return {"DisplayName": name, "PaperCount": papers, "CitationCount": -1}
