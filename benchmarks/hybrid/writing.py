"""The graph as files: N-Triples and a profile for hybridkg and RDF stores, tables of the same data for the others.

FOLDER/graph.nt, FOLDER/profile.ttl, FOLDER/tables/*.csv (no header, commas, no
quotes: no text has any of these characters), FOLDER/df.npy (papers with each
word), FOLDER/about.json, which is written last.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid import graph as graphs
from benchmarks.hybrid.graph import FIELDS as STUDY_FIELDS
from benchmarks.hybrid.graph import FIRST_AREA, FIRST_LEAF, SEED, VERSION, Graph
from benchmarks.hybrid.texts import BLOCK, WORDS, Block, Texts, vocabulary

BASE = "http://mag.example/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
PROFILE = f"""@prefix mag: <{BASE}> .
@prefix hk:  <https://w3id.org/hybridkg/ns#> .

<> a hk:Profile ;
    hk:entities mag:Paper ;
    hk:fields (
        [ hk:name "title" ; hk:path mag:title ; hk:weight 2.0 ]
        [ hk:name "abstract" ; hk:path mag:abstract ]
        [ hk:name "keywords" ; hk:path mag:keywords ]
    ) .
"""


@dataclass(frozen=True)
class Data:
    """What has been written for one size."""

    folder: Path

    @property
    def triples(self) -> Path:
        """The graph as N-Triples."""
        return self.folder / "graph.nt"

    @property
    def profile(self) -> Path:
        """The profile for hybridkg."""
        return self.folder / "profile.ttl"

    @property
    def tables(self) -> Path:
        """The folder of tables."""
        return self.folder / "tables"

    @property
    def engines(self) -> Path:
        """The folder of the engines' own files."""
        return self.folder / "engines"

    def about(self) -> dict[str, Any]:
        """What was counted; empty for another seed or version, or where nothing is complete."""
        try:
            about: dict[str, Any] = json.loads((self.folder / "about.json").read_text())
        except (OSError, ValueError):
            return {}
        return about if (about.get("version"), about.get("seed")) == (VERSION, SEED) else {}

    def df(self) -> NDArray[np.int64]:
        """int64[WORDS]: papers with each word."""
        return np.asarray(np.load(self.folder / "df.npy"))

    @property
    def papers(self) -> int:
        """How many."""
        return int(self.about()["papers"])

    def graph(self) -> Graph:
        """The graph, made again."""
        return graphs.generate(self.papers)


def write(folder: Path, papers: int, *, tables: bool = True) -> Data:
    """Writes everything, unless it is there; prints its progress."""
    data = Data(folder)
    about = data.about()
    if about.get("papers") == papers and (about["tables"] or not tables):
        return data
    started = time.perf_counter()
    data.tables.mkdir(parents=True, exist_ok=True)
    (folder / "about.json").unlink(missing_ok=True)
    graph = graphs.generate(papers)
    print(f"graph of {papers:,} papers: {time.perf_counter() - started:.0f} s", flush=True)
    counts = np.zeros(WORDS, np.int64)
    with data.triples.open("w", encoding="ascii") as triples, _Tables(data.tables if tables else None) as rows:
        _write_others(graph, triples, rows)
        for block, texts in _texts(graph):
            counts += block.frequencies()
            triples.writelines(_paper_triples(graph, block, texts))
            if tables:
                rows.write("papers", _paper_rows(graph, block, texts))
            if block.first // BLOCK % 25 == 24:
                print(f"papers: {block.first + BLOCK:,}, {time.perf_counter() - started:.0f} s", flush=True)
    np.save(folder / "df.npy", counts)
    data.profile.write_text(PROFILE)
    by_predicate = graph.triples()
    about = {
        "version": VERSION, "seed": SEED, "papers": papers, "tables": tables,
        "triples": sum(by_predicate.values()), "by_predicate": by_predicate,
        "bytes": data.triples.stat().st_size, "distinct_words": int((counts > 0).sum()),
        "seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip
    (folder / "about.json").write_text(json.dumps(about, indent=1))
    return data


class _Tables:
    """The tables that are open; writes nothing without a folder."""

    def __init__(self, folder: Path | None):
        self._folder, self._files = folder, dict[str, TextIO]()

    def __enter__(self) -> _Tables:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def write(self, name: str, lines: Iterator[str]) -> None:
        """Adds lines to a table."""
        if self._folder is None:
            return
        if name not in self._files:
            self._files[name] = (self._folder / f"{name}.csv").open("w", encoding="ascii")
        self._files[name].writelines(lines)


def author_name(words: list[str], author: int) -> str:
    """First and last name; people of a lab share neither by rule."""
    return f"{words[author * 7 % 5_000]} {words[5_000 + author * 31 % 90_000]}"


def institution_name(words: list[str], institution: int) -> str:
    """Two words."""
    return f"{words[institution + 1_000]} university"


def field_name(words: list[str], field: int) -> str:
    """Two words."""
    return f"{words[100_000 + field]} {'studies' if field < FIRST_LEAF else 'theory'}"


def venue_name(words: list[str], venue: int) -> str:
    """Three words."""
    return f"journal of {words[110_000 + venue]}"


def _write_others(graph: Graph, triples: TextIO, rows: _Tables) -> None:
    """Everything but the papers and their links."""
    words = vocabulary()
    institutions = [institution_name(words, i) for i in range(graph.institutions)]
    names = [field_name(words, i) for i in range(STUDY_FIELDS)]
    venues = [venue_name(words, i) for i in range(graph.venues)]
    parents, affiliation = graph.parents.tolist(), graph.affiliation.tolist()

    def thing(kind: str, letter: str, number: int, name: str) -> str:
        iri = f"<{BASE}{letter}{number}>"
        return f'{iri} {TYPE} <{BASE}{kind}> .\n{iri} <{BASE}name> "{name}" .\n'

    triples.writelines(thing("Institution", "i", i, name) for i, name in enumerate(institutions))
    triples.writelines(thing("Field", "f", i, name) for i, name in enumerate(names))
    triples.writelines(
        f"<{BASE}f{i}> <{BASE}parent> <{BASE}f{p}> .\n" for i, p in enumerate(parents) if i >= FIRST_AREA
    )
    triples.writelines(thing("Venue", "v", i, name) for i, name in enumerate(venues))
    triples.writelines(
        thing("Author", "a", i, author_name(words, i)) + f"<{BASE}a{i}> <{BASE}affiliation> <{BASE}i{of}> .\n"
        for i, of in enumerate(affiliation)
    )
    rows.write("institutions", (f"{i},{name}\n" for i, name in enumerate(institutions)))
    rows.write("fields", (f"{i},{name}\n" for i, name in enumerate(names)))
    rows.write("parent", (f"{i},{p}\n" for i, p in enumerate(parents) if i >= FIRST_AREA))
    rows.write("venues", (f"{i},{name}\n" for i, name in enumerate(venues)))
    rows.write("authors", (f"{i},{author_name(words, i)}\n" for i in range(len(affiliation))))
    rows.write("affiliation", (f"{i},{of}\n" for i, of in enumerate(affiliation)))
    rows.write("venue", (f"{i},{of}\n" for i, of in enumerate(graph.venue.tolist())))
    for name, links in (("author", graph.authors), ("field", graph.fields), ("cites", graph.cites)):
        pairs = zip(links.sources().tolist(), links.targets.tolist(), strict=True)
        rows.write(name, (f"{source},{target}\n" for source, target in pairs))


def _texts(graph: Graph) -> Iterator[tuple[Block, list[tuple[str, str, str]]]]:
    """The blocks, and title, abstract and keywords of their papers."""
    words = vocabulary()
    for block in Texts(graph).blocks():
        spelled = list(map(words.__getitem__, block.tokens.tolist()))
        ends = np.cumsum(block.lengths.ravel()).tolist()
        texts, start = [], 0
        for at in range(0, len(ends), 3):
            a, b, c = ends[at : at + 3]
            texts.append((" ".join(spelled[start:a]), " ".join(spelled[a:b]), " ".join(spelled[b:c])))
            start = c
        yield block, texts


def doi(paper: int) -> str:
    """The DOI of a paper that has one."""
    return f"10.5555/{paper}"


def _paper_rows(graph: Graph, block: Block, texts: list[tuple[str, str, str]]) -> Iterator[str]:
    """id, year, doi, title, abstract, keywords."""
    for paper, (title, abstract, keywords) in enumerate(texts, block.first):
        own = doi(paper) if graph.has_doi[paper] else ""
        yield f"{paper},{graph.year[paper]},{own},{title},{abstract},{keywords}\n"


def _paper_triples(graph: Graph, block: Block, texts: list[tuple[str, str, str]]) -> Iterator[str]:
    """The triples of each paper."""
    authors, fields, cites = graph.authors, graph.fields, graph.cites
    for paper, (title, abstract, keywords) in enumerate(texts, block.first):
        iri = f"<{BASE}p{paper}>"
        lines = [
            f'{iri} {TYPE} <{BASE}Paper> .\n{iri} <{BASE}title> "{title}" .\n{iri} <{BASE}abstract> "{abstract}" .\n'
            f'{iri} <{BASE}keywords> "{keywords}" .\n{iri} <{BASE}year> "{graph.year[paper]}"^^{INTEGER} .\n'
            f"{iri} <{BASE}venue> <{BASE}v{graph.venue[paper]}> .\n"
        ]
        if graph.has_doi[paper]:
            lines.append(f'{iri} <{BASE}doi> "{doi(paper)}" .\n')
        lines += [f"{iri} <{BASE}author> <{BASE}a{a}> .\n" for a in authors.at(paper).tolist()]
        lines += [f"{iri} <{BASE}field> <{BASE}f{f}> .\n" for f in fields.at(paper).tolist()]
        lines += [f"{iri} <{BASE}cites> <{BASE}p{p}> .\n" for p in cites.at(paper).tolist()]
        yield "".join(lines)
