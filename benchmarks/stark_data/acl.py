"""mag from the ACL Anthology: papers, authors, their affiliations, and fields of study. It has no citations.

Fields are the datasets that a paper uses (Papers with Code), and phrases of two or three words in titles, with a
document frequency of 20 to 2,000. A year is known of a date. examples/acl_anthology.py reads the source.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.stark_data.skb_files import SkbWriter
from hybridkg.datasets.stark.layout import MAG_EDGES, MAG_NODES
from hybridkg.text.analysis.stop_word_lists import stop_words

SOURCE = "acl-anthology/acl-anthology-2024-08-15.tar.xz"

MIN_DF, MAX_DF = 20, 2000
"""Titles with a phrase that is a field of study."""

SHARE = 0.8
"""A phrase is left out where a longer one has at least this share of its titles."""

UNKNOWN = {"PaperCount": -1, "CitationCount": -1}

_WORD = re.compile(r"[a-z][a-z-]*[a-z]")


def write_acl(source: Path, folder: Path) -> None:
    """Writes FOLDER/skb."""
    reader = _reader()
    titles = _Titles()
    _convert(reader, source, titles)
    graph = _Graph(SkbWriter(folder, "mag", tuple(MAG_NODES.values()), tuple(MAG_EDGES.values())), fields(titles.all))
    _convert(reader, source, graph)
    graph.close()


def _reader() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "examples" / "acl_anthology.py"
    spec = importlib.util.spec_from_file_location("acl_anthology", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _convert(reader: ModuleType, source: Path, writer: Any) -> None:
    """Feeds all papers to a writer with the methods of the reader's own."""
    variants = [file.read().decode() for name, file in reader.files_in(source, "yaml") if name == "name_variants.yaml"]
    venues = {
        name.removesuffix(".yaml"): reader.read_venue(file.read().decode())
        for name, file in reader.files_in(source, "yaml/venues")
    }
    converter = reader.Converter(writer, venues, reader.People("".join(variants)))
    for name, file in reader.files_in(source, "xml"):
        if name.endswith(".xml"):
            converter.collection(file, lambda _: None)


def phrases(title: str) -> Iterator[str]:
    """Phrases of two or three words that neither begin nor end with a stop word."""
    stops = stop_words("english")
    for part in re.split(r"[^A-Za-z\s-]+", title.lower()):
        words = _WORD.findall(part)
        for size in (2, 3):
            for at in range(len(words) - size + 1):
                found = words[at : at + size]
                if found[0] not in stops and found[-1] not in stops:
                    yield " ".join(found)


def fields(titles: list[str]) -> dict[str, int]:
    """The phrases that are fields of study, with the number of titles."""
    counts = Counter(phrase for title in titles for phrase in set(phrases(title)))
    kept = {phrase: count for phrase, count in counts.items() if MIN_DF <= count <= MAX_DF}
    for phrase, count in list(kept.items()):
        words = phrase.split(" ")
        if len(words) == 3:
            for shorter in (" ".join(words[:2]), " ".join(words[1:])):
                if count >= SHARE * kept.get(shorter, MAX_DF / SHARE):
                    del kept[shorter]
    return kept


class _Titles:
    """A writer that keeps the titles."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._seen: set[str] = set()

    def node(self, iri: str, class_: str, label: str) -> bool:
        """Takes the label of a paper."""
        if iri in self._seen:
            return False
        self._seen.add(iri)
        if class_ == "Paper":
            self.all.append(label)
        return True

    def link(self, subject: str, name: str, target: str) -> None:
        """Nothing."""

    def text(self, subject: str, name: str, text: str, datatype: str = "") -> None:
        """Nothing."""


class _Graph:
    """A writer that makes nodes and edges of mag."""

    def __init__(self, skb: SkbWriter, known: dict[str, int]):
        self.skb, self.fields = skb, known
        self.numbers: dict[str, int] = {}
        """Ids of authors, institutions and fields, by IRI or phrase."""
        self.labels: dict[str, str] = {}
        self.papers: Counter[int] = Counter()
        self.known: set[tuple[str, str]] = set()
        self.paper, self.iri = -1, ""
        self.values: dict[str, Any] = {}
        self.linked: set[tuple[int, int, str]] = set()

    def node(self, iri: str, class_: str, label: str) -> bool:
        """Begins a paper, or takes the name of another node."""
        if class_ == "Paper":
            self._finish()
        if (iri, class_) in self.known:
            return False
        self.known.add((iri, class_))
        if class_ != "Paper":
            self.labels[iri] = label
            return True
        self.iri, self.paper = iri, self.skb.number("paper")
        self.values = {"id": self.paper, "type": "paper", "title": label, "abstract": -1, "Date": -1}
        self.values |= {"OriginalVenue": -1, "JournalDisplayName": -1, "ConferenceSeriesDisplayName": -1}
        for phrase in dict.fromkeys(phrases(label)):
            if phrase in self.fields:
                self._topic(phrase, phrase)
        return True

    def text(self, subject: str, name: str, text: str | None, datatype: str = "") -> None:
        """Takes abstract and year of the paper."""
        if subject == self.iri and text and name in ("abstract", "year"):
            self.values["abstract" if name == "abstract" else "Date"] = " ".join(text.split())

    def link(self, subject: str, name: str, target: str) -> None:
        """Makes edges of authors, affiliations and datasets, and an attribute of the venue."""
        if name == "affiliation":
            self._edge(self._number("author", subject), self._number("institution", target), MAG_EDGES[0])
        elif subject != self.iri:
            return
        elif name == "author":
            author = self._number("author", target)
            self.papers[author] += self._edge(author, self.paper, MAG_EDGES[3])
        elif name == "dataset":
            self._topic(target, self.labels[target])
        elif name == "venue" and self.values["OriginalVenue"] == -1:
            self.values["OriginalVenue"] = self.labels[target]

    def close(self) -> None:
        """Writes the nodes that are no papers, whose counts are known only now."""
        self._finish()
        kinds = list(MAG_NODES.values())
        for key, number in self.numbers.items():
            kind = kinds[self.skb.types[number]]
            about = {"id": number, "type": kind, "DisplayName": self.labels.get(key, key), **UNKNOWN}
            self.skb.attributes(number, about | ({"PaperCount": self.papers[number]} if self.papers[number] else {}))
        self.skb.close()

    def _finish(self) -> None:
        if self.paper >= 0:
            self.skb.attributes(self.paper, self.values)
            self.paper, self.iri = -1, ""
            self.linked.clear()

    def _number(self, kind: str, key: str) -> int:
        if key not in self.numbers:
            self.numbers[key] = self.skb.number(kind)
        return self.numbers[key]

    def _topic(self, key: str, label: str) -> None:
        self.labels[key] = label
        field = self._number("field_of_study", key)
        self.papers[field] += self._edge(self.paper, field, MAG_EDGES[2])

    def _edge(self, head: int, tail: int, relation: str) -> bool:
        """Whether the edge is new; a paper may name an author or a dataset twice."""
        if (head, tail, relation) in self.linked:
            return False
        self.linked.add((head, tail, relation))
        self.skb.edge(head, tail, relation)
        return True
