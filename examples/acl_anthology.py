"""The ACL Anthology as RDF: python examples/acl_anthology.py SOURCE OUT.nt[.gz]

SOURCE is an archive (acl-anthology-*.tar.xz) or a folder with the Anthology's data: xml/*.xml and, where it
has them, yaml/venues/*.yaml and yaml/name_variants.yaml. Needs nothing but Python. Reads file by file, so
memory holds only the names seen so far; the same source gives the same bytes. No blank nodes are made.

Vocabulary, https://w3id.org/hybridkg/acl# (every node also has an rdfs:label):

Paper         IRI https://aclanthology.org/ID, label = title
  title, abstract, pages, bibkey, language (ISO 639-3, as given), award, note, retracted (the reason): strings
  year        xsd:integer
  author      -> Person;  firstAuthor -> Person, the first of them
  authorAffiliation -> Organisation, of an author, as stated on this paper
  publishedIn -> Volume;  venue -> Venue
  dataset     -> Dataset, according to Papers with Code
  code, video, document, doi   -> web pages
Person        name, skos:altLabel (other spellings in use); affiliation -> Organisation, on any paper
              one node for each id that the Anthology gives, otherwise for each name
Volume        title, year, publisher, place;  venue -> Venue;  editor -> Person
Venue         name, acronym
Organisation  name
Dataset       name
"""

from __future__ import annotations

import gzip
import lzma
import re
import sys
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote
from xml.etree.ElementTree import Element, ParseError, iterparse

ACL = "https://w3id.org/hybridkg/acl#"
SITE = "https://aclanthology.org/"
MADE = "https://w3id.org/hybridkg/acl/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALT_LABEL = "http://www.w3.org/2004/02/skos/core#altLabel"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
PAPERS_PER_REPORT = 5_000

Name = tuple[str, str]
"""(first, last)."""


class NoPapersError(Exception):
    """The source holds nothing to convert."""


class ConversionError(Exception):
    """The source cannot be read, or the output cannot be written; the message names the file."""


class Writer:
    """Writes N-Triples, and remembers which nodes it has introduced."""

    def __init__(self, out: BinaryIO):
        self.out = out
        self.triples = 0
        self.known: set[tuple[str, str]] = set()

    def link(self, subject: str, name: str, target: str) -> None:
        self._line(f"<{subject}> <{ACL}{name}> <{target}> .\n")

    def text(self, subject: str, name: str, text: str | None, datatype: str = "") -> None:
        text = " ".join((text or "").split())
        if text:
            predicate = name if ":" in name else ACL + name
            suffix = f"^^<{datatype}>" if datatype else ""
            self._line(f'<{subject}> <{predicate}> "{text.translate(ESCAPES)}"{suffix} .\n')

    def node(self, iri: str, class_: str, label: str) -> bool:
        """Type and label of a node, the first time it is met; tells whether it was the first time."""
        if (iri, class_) in self.known:
            return False
        self.known.add((iri, class_))
        self._line(f"<{iri}> <{RDF_TYPE}> <{ACL}{class_}> .\n")
        self.text(iri, LABEL, label)
        return True

    def _line(self, line: str) -> None:
        self.out.write(line.encode("utf-8", "replace"))
        self.triples += 1


class People:
    """Who a name is: the Anthology's list of people with several names, or one name for several people."""

    def __init__(self, name_variants: str = ""):
        self._entries: dict[Name, list[tuple[str, Name]]] = {}
        self._by_id: dict[str, Name] = {}
        for entry in re.split(r"(?m)^- ", name_variants):
            names = [
                (_unquoted(first), _unquoted(last))
                for first, last in re.findall(r"\{first: ((?:'[^']*'|[^,'])*), last: ('[^']*'|[^}]*)\}", entry)
            ]
            if not names:
                continue
            found = re.search(r"(?m)^  id: (\S+)", entry)
            key = found.group(1) if found else _slug(names[0])
            self._by_id[key] = names[0]
            for name in dict.fromkeys(names):
                self._entries.setdefault(name, []).append((key, names[0]))

    def identify(self, given_id: str | None, name: Name) -> tuple[str, Name]:
        """(last part of the IRI, the name to show). An id decides; then a name that one person alone has."""
        if given_id:
            return given_id, self._by_id.get(given_id, name)
        entries = self._entries.get(name, [])
        return entries[0] if len(entries) == 1 else (_slug(name), name)


class Converter:
    """Turns the XML of one collection after the other into triples."""

    def __init__(self, writer: Writer, venues: dict[str, dict[str, str]], people: People):
        self.writer, self.venues, self.people = writer, venues, people
        self.papers = 0
        self.spellings: set[tuple[str, str]] = set()

    def collection(self, file: BinaryIO, report: Callable[[int], None]) -> None:
        """One file of xml/. Papers are written and forgotten as they are read."""
        collection, volume, venues, year = "", "", [], ""
        for event, element in iterparse(file, events=("start", "end")):
            if event == "start":
                if element.tag == "collection":
                    collection = element.get("id", "")
                elif element.tag == "volume":
                    volume, venues, year = element.get("id", ""), [], ""
                continue
            if element.tag == "meta" and volume:
                venues, year = self._volume(collection, volume, element)
            elif element.tag == "paper":
                self._paper(collection, volume, venues, year, element)
                self.papers += 1
                report(self.papers)
                element.clear()
            elif element.tag == "volume":
                volume = ""
                element.clear()

    def _volume(self, collection: str, volume: str, meta: Element) -> tuple[list[str], str]:
        iri = volume_iri(collection, volume)
        title, year = flat(meta.find("booktitle")), flat(meta.find("year"))
        self.writer.node(iri, "Volume", title)
        self.writer.text(iri, "title", title)
        self._year(iri, year)
        self.writer.text(iri, "publisher", flat(meta.find("publisher")))
        self.writer.text(iri, "place", flat(meta.find("address")))
        venues = [self._venue(flat(venue)) for venue in meta.findall("venue") if flat(venue)]
        for venue in venues:
            self.writer.link(iri, "venue", venue)
        for editor in meta.findall("editor"):
            self.writer.link(iri, "editor", self._person(editor))
        return venues, year

    def _paper(self, collection: str, volume: str, venues: list[str], year: str, paper: Element) -> None:
        anthology_id = paper_id(collection, volume, paper.get("id", ""))
        iri, title, write = SITE + anthology_id, flat(paper.find("title")), self.writer
        write.node(iri, "Paper", title)
        write.text(iri, "title", title)
        self._year(iri, year)
        write.link(iri, "publishedIn", volume_iri(collection, volume))
        for venue in venues:
            write.link(iri, "venue", venue)
        for tag in ("abstract", "pages", "bibkey", "language", "note", "retracted"):
            write.text(iri, tag, flat(paper.find(tag)))
        for award in paper.findall("award"):
            write.text(iri, "award", flat(award))
        self._authors(iri, paper)
        for dataset in paper.findall("pwcdataset"):
            self._dataset(iri, dataset)
        self._pages(iri, anthology_id, paper)

    def _authors(self, iri: str, paper: Element) -> None:
        for i, author in enumerate(paper.findall("author")):
            person = self._person(author)
            if i == 0:
                self.writer.link(iri, "firstAuthor", person)
            self.writer.link(iri, "author", person)
            for affiliation in author.findall("affiliation"):
                name = flat(affiliation)
                if name:
                    organisation = self._named("organisation", "Organisation", name)
                    self.writer.link(iri, "authorAffiliation", organisation)
                    self._once(person, "affiliation", organisation)

    def _person(self, element: Element) -> str:
        name = (flat(element.find("first")), flat(element.find("last")))
        key, shown = self.people.identify(element.get("id"), name)
        iri = f"{MADE}person/{quote(key)}"
        if self.writer.node(iri, "Person", " ".join(shown)):
            self.writer.text(iri, "name", " ".join(shown))
        if name != shown and (iri, " ".join(name)) not in self.spellings:
            self.spellings.add((iri, " ".join(name)))
            self.writer.text(iri, ALT_LABEL, " ".join(name))
        return iri

    def _venue(self, key: str) -> str:
        about = self.venues.get(key, {})
        name, iri = about.get("name", key), f"{SITE}venues/{quote(key)}"
        if self.writer.node(iri, "Venue", name):
            self.writer.text(iri, "name", name)
            self.writer.text(iri, "acronym", about.get("acronym", ""))
        return iri

    def _dataset(self, paper: str, element: Element) -> None:
        name, page = flat(element), web_page(element.get("url", ""))
        if name:
            iri = page or f"{MADE}dataset/{quote('_'.join(name.split()))}"
            if self.writer.node(iri, "Dataset", name):
                self.writer.text(iri, "name", name)
            self.writer.link(paper, "dataset", iri)

    def _named(self, kind: str, class_: str, name: str) -> str:
        iri = f"{MADE}{kind}/{quote('_'.join(name.split()))}"
        if self.writer.node(iri, class_, name):
            self.writer.text(iri, "name", name)
        return iri

    def _once(self, subject: str, name: str, target: str) -> None:
        if (subject, target) not in self.spellings:
            self.spellings.add((subject, target))
            self.writer.link(subject, name, target)

    def _year(self, iri: str, year: str) -> None:
        if re.fullmatch(r"[0-9]{4}", year):
            self.writer.text(iri, "year", year, INTEGER)

    def _pages(self, iri: str, anthology_id: str, paper: Element) -> None:
        """The web pages of a paper; a bare file name lies on the Anthology's own site."""
        links = [("doi", "https://doi.org/" + flat(doi)) for doi in paper.findall("doi")]
        links += [("code", code.get("url", "")) for code in paper.findall("pwccode")]
        for video in paper.findall("video"):
            href = video.get("href", "")
            links.append(("video", href if ":" in href else f"{SITE}{href}"))
        for url in paper.findall("url"):
            text = flat(url)
            links.append(("document", text if ":" in text else f"{SITE}{anthology_id}.pdf"))
        for name, address in dict.fromkeys(links):
            page = web_page(address)
            if page:
                self.writer.link(iri, name, page)


def flat(element: Element | None) -> str:
    """The text of an element and of the markup in it, with single spaces.

    >>> from xml.etree.ElementTree import fromstring
    >>> flat(fromstring("<title>A <fixed-case>BERT</fixed-case>  for <i>all</i></title>"))
    'A BERT for all'
    """
    return "" if element is None else " ".join("".join(element.itertext()).split())


def paper_id(collection: str, volume: str, paper: str) -> str:
    """The Anthology's id: new collections have a dot in their name; old ones have four digits at the end.

    >>> paper_id("2020.acl", "main", "7"), paper_id("P18", "1", "12"), paper_id("W06", "16", "5")
    ('2020.acl-main.7', 'P18-1012', 'W06-1605')
    """
    if "." in collection or not (volume.isdigit() and paper.isdigit()):
        return quote(f"{collection}-{volume}.{paper}")
    two_digits = collection[0] == "W" or collection == "C69" or (collection == "D19" and int(volume) >= 5)
    return quote(
        f"{collection}-{int(volume):02}{int(paper):02}" if two_digits else f"{collection}-{int(volume)}{int(paper):03}"
    )


def volume_iri(collection: str, volume: str) -> str:
    """The IRI of a volume's page."""
    return f"{SITE}volumes/{quote(f'{collection}-{volume}')}"


def web_page(address: str) -> str:
    """A web address as an IRI that N-Triples can hold; empty for anything else.

    >>> web_page("https://example.org/a b")
    'https://example.org/a%20b'
    """
    address = address.strip()
    return quote(address, safe="/:?#@!$&'()*+,;=%-._~") if re.match(r"https?://[^\s/]", address) else ""


def read_venue(text: str) -> dict[str, str]:
    """The top-level strings of a venue's YAML; folded lines are joined, quotes taken off."""
    joined = re.sub(r"\n[ \t]+", " ", text)
    found = dict(re.findall(r"(?m)^(name|acronym): *(.*?) *$", joined))
    return {key: _unquoted(value) for key, value in found.items()}


def _unquoted(value: str) -> str:
    """A YAML scalar of one line. The escapes are those that occur in the Anthology."""
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) >= 2 and value[0] == value[-1] == '"':
        codes = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))")
        return codes.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else m[3], value[1:-1])
    return value


def _slug(name: Name) -> str:
    """A name in an IRI. The underscore keeps it apart from the Anthology's ids, which have none."""
    return "_".join(["_".join(name[0].split()), "_".join(name[1].split())])


def files_in(source: Path, folder: str) -> Iterator[tuple[str, BinaryIO]]:
    """(name, file) of the files in a folder of the source, such as "xml"; of an archive in its own order."""
    if source.is_dir():
        roots = [root for root in (source, source / "data") if (root / folder).is_dir()]
        for path in sorted((roots[0] / folder).iterdir()) if roots else []:
            if path.is_file():
                with path.open("rb") as file:
                    yield path.name, file
        return
    with tarfile.open(source, "r|*") as archive:
        for member in archive:
            *above, name = member.name.split("/")
            if member.isfile() and "/".join(above[-folder.count("/") - 1 :]) == folder:
                packed = archive.extractfile(member)
                if packed is not None:
                    yield name, packed  # type: ignore[misc]


@contextmanager
def opened_output(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, compressed where its name ends in .gz, without a time in its header.

    It gets its name when all has been written, so a broken run leaves no half file that looks whole. What is no
    regular file, such as /dev/stdout or a pipe, is written to as it stands: a new file must not take its place.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def reading_from(source: Path) -> Iterator[None]:
    """Names the source in what goes wrong with it."""
    try:
        yield
    except tarfile.ReadError as e:
        kind = "no tar archive, or a damaged one" if source.is_file() else str(e)
        raise ConversionError(f"{source}: {kind}") from e
    except (EOFError, ParseError, tarfile.TarError, zlib.error, lzma.LZMAError) as e:
        raise ConversionError(f"{source}: {e}") from e


@contextmanager
def writing_to(out: Path) -> Iterator[None]:
    """Names the output in the errors of the system, unless they name a file of the source."""
    try:
        yield
    except OSError as e:
        of_source = e.filename is not None and Path(e.filename).name != out.name + ".part"
        where = f"cannot read {e.filename}" if of_source else f"cannot write {out}"
        raise ConversionError(f"{where}: {e.strerror or e}") from e


def convert(source: Path, out: BinaryIO) -> tuple[int, int]:
    """Writes the whole source as N-Triples. Returns (papers, triples)."""
    started = time.monotonic()

    def report(papers: int) -> None:
        if papers % PAPERS_PER_REPORT == 0:
            rate = papers / (time.monotonic() - started)
            print(f"{papers:,} papers, {rate:,.0f} papers/s", file=sys.stderr)

    venues = {
        name.removesuffix(".yaml"): read_venue(file.read().decode("utf-8"))
        for name, file in files_in(source, "yaml/venues")
    }
    variants = [file.read().decode("utf-8") for name, file in files_in(source, "yaml") if name == "name_variants.yaml"]
    writer = Writer(out)
    converter = Converter(writer, venues, People("".join(variants)))
    for name, file in files_in(source, "xml"):
        if name.endswith(".xml"):
            try:
                converter.collection(file, report)
            except ParseError as e:
                raise ParseError(f"{name}: {e}") from e
    return converter.papers, writer.triples


def main(arguments: list[str]) -> int:
    """Reads the command line; 0 good, 1 failed, 2 the user's mistake, 130 interrupted."""
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    if len(arguments) != 2:
        print(__doc__.split("\n", 1)[0], file=sys.stderr)
        return 2
    source, out = map(Path, arguments)
    if not source.exists():
        print(f"no such file or folder: {source}", file=sys.stderr)
        return 2
    try:
        with writing_to(out), opened_output(out) as file, reading_from(source):
            papers, triples = convert(source, file)
            if not papers:
                raise NoPapersError(f"no papers in {source}: it should hold a folder named xml")
    except NoPapersError as e:
        print(e, file=sys.stderr)
        return 2
    except ConversionError as e:
        print(e, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing has been written", file=sys.stderr)
        return 130
    print(f"{papers:,} papers, {triples:,} triples in {out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
