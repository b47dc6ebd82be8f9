"""Made-up dumps in the exact forms of DBpedia 2015-10, of any size, and what their conversion costs.

    python -m benchmarks.dbpedia_made write DIR --entities 20000 [--packed bz2] [--collection DIR]
    python -m benchmarks.dbpedia_made convert DIR --collection DIR --out DIR [--index A] [--no-catchall] [--record]

The same arguments give the same triples, and the names and texts of entities 0 to n are the same in every size. A
collection lends its judged entities, which are then the first ones, and their words, so that its queries find
something. By default an entity has 33 triples, 4,600,000 entities have 150 million; `--density 3.5` gives as many as
the real dumps have.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.record import record

R, P, O = "http://dbpedia.org/resource/", "http://dbpedia.org/property/", "http://dbpedia.org/ontology/"  # noqa: E741
RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
XSD, FOAF = "http://www.w3.org/2001/XMLSchema#", "http://xmlns.com/foaf/0.1/"
SUBJECT = "http://purl.org/dc/terms/subject"

FILES = (
    "labels", "short_abstracts", "long_abstracts", "article_categories", "instance_types_transitive",
    "infobox_properties", "mappingbased_objects", "mappingbased_literals", "persondata", "transitive_redirects",
    "disambiguations", "page_links", "anchor_text", "category_labels", "infobox_property_definitions",
)  # fmt: skip

CHUNK = 5_000
SYLLABLES = [c + v for c in "bcdfghklmnprstvz" for v in ("a", "e", "i", "o", "u")]
WORDS, CATEGORIES, PROPERTIES, RELATIONS = 60_000, 50_000, 2_000, 400
SEED = 20151

MEANS = {"categories": 4.0, "types": 5.0, "infobox": 7.0, "objects": 3.0, "literals": 2.0, "links": 4.0, "anchors": 3.5}
"""Triples of an entity."""

DENSE = ("infobox", "links", "anchors")
"""What `--density` multiplies."""

REDIRECTS, DISAMBIGUATION, PERSONS = 0.8, 0.05, 0.2
"""For each entity."""


def code(i: int) -> str:
    """A word for a number, another for each."""
    text = ""
    while True:
        i, rest = divmod(i, len(SYLLABLES))
        text += SYLLABLES[rest]
        if not i:
            return text


class Made:
    """Names and triples.

    Args:
        entities: how many.
        judged: names of the first of them.
        density: see DENSE.
    """

    def __init__(self, entities: int, judged: list[str], density: float):
        self.entities, self.judged = entities, judged[:entities]
        found = {word: None for name in judged for word in name.replace("(", "").replace(")", "").split("_") if word}
        made = [code(i * 7 + 3) for i in range(WORDS)]
        own = list(found)
        # Words of the collection are spread over common and rare ones.
        self.words = [own[i // 2] if i % 2 and i // 2 < len(own) else word for i, word in enumerate(made)]
        self.means = {kind: mean * (density if kind in DENSE else 1) for kind, mean in MEANS.items()}

    def name(self, i: int) -> str:
        """The local name of an entity."""
        if i < len(self.judged):
            return self.judged[i]
        n = len(self.words)
        return f"{self.words[i * 31 % n].capitalize()}_{self.words[i * 17 % 997]}_{code(i)}"

    def chunk(self, number: int) -> dict[str, list[str]]:
        """The lines of some entities, by file."""
        random = np.random.default_rng([SEED, number])
        lines: dict[str, list[str]] = {file: [] for file in FILES}
        first, last = number * CHUNK, min((number + 1) * CHUNK, self.entities)
        for i in range(first, last):
            self._entity(i, random, lines)
        return lines

    def _entity(self, i: int, random: np.random.Generator, lines: dict[str, list[str]]) -> None:
        name = self.name(i)
        me, title = f"<{R}{name}>", name.replace("_", " ")
        lines["labels"].append(f'{me} <{RDFS}label> "{title}"@en .\n')
        n = int(random.lognormal(4.3, 0.5))
        words = self._words(random, n)
        text = f"{title} is {' '.join(words)}."
        lines["long_abstracts"].append(f'{me} <{O}abstract> "{text}"@en .\n')
        lines["short_abstracts"].append(f'{me} <{RDFS}comment> "{" ".join(text.split(" ")[:45])}"@en .\n')
        counts = {kind: int(n) for kind, n in zip(self.means, random.poisson(list(self.means.values())), strict=True)}
        for c in self._skewed(random, counts["categories"], CATEGORIES):
            lines["article_categories"].append(f"{me} <{SUBJECT}> <{R}Category:{self._category(c)}> .\n")
        for t in self._skewed(random, counts["types"], 700):
            lines["instance_types_transitive"].append(f"{me} <{RDF}type> <{O}{code(t).capitalize()}> .\n")
        values = self._words(random, 3 * counts["infobox"])
        for k, p in enumerate(self._skewed(random, counts["infobox"], PROPERTIES)):
            lines["infobox_properties"].append(f"{me} <{P}{self._property(p)}> {self._value(random, k, p, values)} .\n")
        for p in self._skewed(random, counts["objects"], RELATIONS):
            lines["mappingbased_objects"].append(f"{me} <{O}{self._property(p)}> {self._other(random)} .\n")
        for p in self._skewed(random, counts["literals"], RELATIONS):
            number = f'"{int(random.integers(0, 10**6))}"^^<{XSD}nonNegativeInteger>'
            lines["mappingbased_literals"].append(f"{me} <{O}{self._property(p + RELATIONS)}> {number} .\n")
        if random.random() < PERSONS:
            given, _, family = title.partition(" ")
            lines["persondata"] += [
                f"{me} <{RDF}type> <{FOAF}Person> .\n", f'{me} <{FOAF}name> "{title}"@en .\n',
                f'{me} <{FOAF}givenName> "{given}"@en .\n', f'{me} <{FOAF}surname> "{family}"@en .\n',
            ]  # fmt: skip
        for k in range(int(random.poisson(REDIRECTS))):
            other = f"{name}_{self.words[(i + k) % 5000]}"
            lines["transitive_redirects"].append(f"<{R}{other}> <{O}wikiPageRedirects> {me} .\n")
            lines["labels"].append(f'<{R}{other}> <{RDFS}label> "{other.replace("_", " ")}"@en .\n')
        if random.random() < DISAMBIGUATION:
            page = f"{self.words[i % 5000].capitalize()}_(disambiguation)"
            lines["disambiguations"].append(f"<{R}{page}> <{O}wikiPageDisambiguates> {me} .\n")
        for _ in range(counts["links"]):
            lines["page_links"].append(f"{me} <{O}wikiPageWikiLink> {self._other(random)} .\n")
        short = title.split(" ")
        for k in range(counts["anchors"]):
            # Most links to a page say its name; such lines come many times over, as in the real file.
            anchor = title if k % 2 else short[k % len(short)]
            lines["anchor_text"].append(f'{me} <{O}wikiPageWikiLinkText> "{anchor}"@en .\n')

    def labels(self) -> Iterator[tuple[str, str]]:
        """(file, line) of what is no entity's."""
        for c in range(CATEGORIES):
            name = self._category(c)
            text = name.replace("_", " ")
            yield "category_labels", f'<{R}Category:{name}> <{RDFS}label> "{text}"@en .\n'
        for p in range(PROPERTIES):
            name = self._property(p)
            yield "infobox_property_definitions", f'<{P}{name}> <{RDFS}label> "{name}"@en .\n'
            yield "infobox_property_definitions", f"<{P}{name}> <{RDF}type> <{RDF}Property> .\n"

    def _category(self, c: int) -> str:
        return f"{self.words[c % 20_000].capitalize()}_{self.words[c * 13 % 3000]}_{code(c)}"

    def _property(self, p: int) -> str:
        return "name" if p == 0 else f"{code(p)}{code(p * 3 + 1).capitalize()}" if p % 3 else code(p)

    def _value(self, random: np.random.Generator, k: int, p: int, words: list[str]) -> str:
        kind = (p + k) % 4
        if kind == 0:
            return self._other(random)
        if kind == 1:
            return f'"{p * 31 + k}"^^<{XSD}integer>'
        return f'"{" ".join(words[3 * k : 3 * k + 3])}"@en'

    def _other(self, random: np.random.Generator) -> str:
        return f"<{R}{self.name(int(self.entities * random.random() ** 3))}>"

    def _words(self, random: np.random.Generator, n: int) -> list[str]:
        return [self.words[i] for i in (WORDS * random.random(n) ** 5).astype(int).tolist()]

    def _skewed(self, random: np.random.Generator, n: int, most: int) -> list[int]:
        return cast("list[int]", (most * random.random(n) ** 3).astype(int).tolist())


def write(folder: Path, made: Made, packed: str) -> int:
    """Writes the dumps, in a process to a core; returns how many triples."""
    folder.mkdir(parents=True)
    ending = "" if packed == "none" else f".{packed}"
    begin, end = ["# started 2015-10-01T00:00:00Z\n"], ["# completed 2015-10-01T00:00:00Z\n"]
    labels: dict[str, list[str]] = {}
    for name, line in made.labels():
        labels.setdefault(name, []).append(line)
    triples = sum(map(len, labels.values()))
    pack = PACK[packed]
    with ExitStack() as stack:
        files = {file: stack.enter_context((folder / f"{file}_en.ttl{ending}").open("wb")) for file in FILES}
        for name, file in files.items():
            file.write(pack("".join(begin + labels.get(name, [])).encode()))
        context = get_context("fork")
        pool = stack.enter_context(context.Pool(None, _begin, (made, packed)))
        for lines, members in pool.imap(_packed_chunk, range(-(-made.entities // CHUNK))):
            triples += lines
            for name, member in members.items():
                files[name].write(member)
        for file in files.values():
            file.write(pack("".join(end).encode()))
    return triples


PACK: dict[str, Callable[[bytes], bytes]] = {
    "bz2": lambda data: bz2.compress(data, 1),
    "gz": lambda data: gzip.compress(data, 1, mtime=0),
    "none": lambda data: data,
}

_made_here: list[tuple[Made, str]] = []
"""In a child: what it makes, and how it packs."""


def _begin(made: Made, packed: str) -> None:
    _made_here.append((made, packed))


def _packed_chunk(number: int) -> tuple[int, dict[str, bytes]]:
    """How many triples, and a member of each file."""
    made, packed = _made_here[0]
    lines = made.chunk(number)
    return sum(map(len, lines.values())), {name: PACK[packed]("".join(own).encode()) for name, own in lines.items()}


def judged_entities(collection: Path) -> list[str]:
    """Local names of the judged entities, in the order of the file."""
    from hybridkg.datasets.dbpedia.collection import DBPEDIA_ENTITY_V2, read_collection
    from hybridkg.datasets.sources import find_sources

    recipe = DBPEDIA_ENTITY_V2
    contents = read_collection(find_sources(recipe.name, recipe.files, collection, recipe.origin))
    return list(dict.fromkeys(iri.removeprefix(R) for _, iri, _ in contents.qrels))


class Steps:
    """Progress that notes how long each step took, and the most memory that all processes had."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.most = 0
        self._label, self._since, self._cpu = "", 0.0, 0.0
        self._most, self._looked = 0, 0.0

    def start(self, label: str, total_bytes: int | None) -> None:
        """Begins a step."""
        del total_bytes
        self._label, self._since, self._cpu = label, time.perf_counter(), _cpu()

    def advance(self, bytes_read: int, items: int) -> None:
        """Looks at the memory, now and then."""
        del bytes_read, items
        if time.perf_counter() - self._looked > LOOKED_EVERY:
            self._most = max(self._most, _resident())
            self._looked = time.perf_counter()

    def done(self, items: int) -> None:
        """Ends it."""
        seconds, cpu = time.perf_counter() - self._since, _cpu() - self._cpu
        most, self._most = max(self._most, _resident()), 0
        self.most = max(self.most, most)
        rate = items / seconds if seconds else 0.0
        print(f"{self._label:<44} {items:>12,} {seconds:>8.1f} s {cpu:>8.1f} s CPU {rate:>12,.0f}/s {most:>7,} MB")
        step = {"step": Path(self._label).name, "items": items, "seconds": round(seconds, 1), "megabytes": most}
        self.steps.append(step)


LOOKED_EVERY = 0.5
"""Seconds."""


def _cpu() -> float:
    """Seconds of this process, and of those that it started and that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _resident() -> int:
    """Megabytes of this process and of all that it started; what they share is counted for each."""
    parents, sizes = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                parents[int(folder.name)], sizes[int(folder.name)] = int(fields[1]), int(fields[21])
    own, total = os.getpid(), 0
    for process, size in sizes.items():
        above = process
        while above not in (own, 0):
            above = parents.get(above, 0)
        total += size if above == own else 0
    return total * os.sysconf("SC_PAGE_SIZE") >> 20


def convert(dumps: Path, collection: Path, out: Path, index: str, *, catchall: bool) -> dict[str, Any]:
    """Converts, printing each step; what was measured."""
    from hybridkg.datasets.dbpedia.making import make_dbpedia

    began, steps = time.perf_counter(), Steps()
    made = make_dbpedia(dumps, collection, out, index=index, catchall=catchall, progress=steps)
    seconds = time.perf_counter() - began
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"all: {seconds:,.1f} s, most memory {steps.most:,} MB, {size >> 20:,} MB on disk")
    print(made.counts, made.index)
    return {
        "index": index,
        "catchall": catchall,
        "dumps_megabytes": sum(path.stat().st_size for path in dumps.iterdir()) >> 20,
        "dump_triples": made.counts["dump_triples"],
        "entities": made.counts["entities"],
        "triples": made.counts["triples"],
        "minutes": round(seconds / 60, 1),
        "most_megabytes": steps.most,
        "disk_megabytes": size >> 20,
        "text": {name: made.index.to_json()[name] for name in ("terms", "postings", "tokens", "text_bytes")},
        "steps": steps.steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--entities", type=int, default=20_000)
    writing.add_argument("--density", type=float, default=1.0)
    writing.add_argument("--packed", choices=("bz2", "gz", "none"), default="bz2")
    writing.add_argument("--collection", type=Path)
    converting = commands.add_parser("convert")
    converting.add_argument("folder", type=Path)
    converting.add_argument("--collection", type=Path, required=True)
    converting.add_argument("--out", type=Path, required=True)
    converting.add_argument("--index", default="B")
    converting.add_argument("--no-catchall", action="store_true")
    converting.add_argument("--record", action="store_true", help="stores what was measured")
    chosen = parser.parse_args()
    if chosen.command == "convert":
        catchall = not chosen.no_catchall
        figures = convert(chosen.folder, chosen.collection, chosen.out, chosen.index, catchall=catchall)
        if chosen.record:
            record("dbpedia_made", {"bounds": {"minutes": 90, "most_megabytes": 12_000}, **figures}, seed=SEED)
        return
    judged = judged_entities(chosen.collection) if chosen.collection else []
    began = time.perf_counter()
    triples = write(chosen.folder, Made(chosen.entities, judged, chosen.density), chosen.packed)
    seconds = time.perf_counter() - began
    size = sum(path.stat().st_size for path in chosen.folder.iterdir())
    print(f"{triples:,} triples of {chosen.entities:,} entities in {seconds:,.1f} s, {size >> 20:,} MB")


if __name__ == "__main__":
    main()
