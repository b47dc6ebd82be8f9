"""CACM: 3,204 articles of the Communications of the ACM, 1958 to 1979, and 64 questions, 52 of them judged (Fox, 1983).

A record begins with `.I number`; `.T .W .B .A .K .C .N .X` begin its parts. A line of .X is `other type this`: 4
bibliographic coupling, 5 citation, 6 co-citation. Every link is listed at both ends, so its direction is unknown; links
of a document to itself are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hybridkg.datasets.recipe import FOLD_RULE, XSD, Contents, Recipe, RecipeTriples, five_folds, local_name, one_line
from hybridkg.datasets.sources import SourceFile

NS = "https://w3id.org/hybridkg/cacm#"
BASE = "https://w3id.org/hybridkg/cacm/"
BROADER = "http://www.w3.org/2004/02/skos/core#broader"

LINKS = {"4": "coupled", "5": "citation", "6": "cocited"}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_PART = re.compile(r"\.([A-Z])\s*")
_RECORD = re.compile(r"\.I\s+([0-9]{1,9})\s*")
_DATE = re.compile(r"([A-Za-z]+),?\s*([0-9]{4})\s*$")
_CATEGORY = re.compile(r"[0-9](?:\.[0-9]{1,2})?")


def read_cacm(files: Mapping[str, SourceFile]) -> Contents:
    """The contents of the collection. Raises LoadError: a file is malformed."""
    triples = RecipeTriples()
    source = files["documents"]
    documents = {number: (line, parts) for number, line, parts in _records(source)}
    for number, (line, parts) in documents.items():
        _document(triples, source, number, line, parts)
        for predicate, other in _links(source, number, line, parts):
            if other not in documents:
                raise source.wrong(f"document {number} has a link to {other}, which does not exist", line)
            triples.link(BASE + number, NS + predicate, BASE + other)
            triples.counts[predicate] = triples.counts.get(predicate, 0) + 1
    texts = {}
    for number, line, parts in _records(files["queries"]):
        if number == "0":  # marks the end of the file
            continue
        texts[number] = one_line(parts.get("W", ""))
        if not texts[number]:
            raise files["queries"].wrong(f"question {number} has no .W", line)
    qrels = list(_judgements(files["qrels"], texts, documents))
    judged = {topic for topic, _, _ in qrels}
    topics = {topic: text for topic, text in texts.items() if topic in judged}
    unjudged = {topic: text for topic, text in texts.items() if topic not in judged}
    more = {"topics-unjudged.tsv": unjudged} if unjudged else {}
    return Contents(triples.lines, topics, qrels, five_folds(topics), more_topics=more, counts=triples.counts)


def _records(source: SourceFile) -> Iterator[tuple[str, int, dict[str, str]]]:
    """(number, line, text of each part by letter) of each record."""
    number, start, part = "", 0, ""
    parts: dict[str, list[str]] = {}
    seen = set()
    for line_number, line in enumerate(source.text().split("\n"), 1):
        if match := _RECORD.fullmatch(line):
            if number:
                yield number, start, {name: "\n".join(lines) for name, lines in parts.items()}
            number, start, part, parts = match.group(1), line_number, "", {}
            if number in seen:
                raise source.wrong(f"record {number} occurs twice", line_number)
            seen.add(number)
        elif (match := _PART.fullmatch(line)) and number:
            part = match.group(1)
            if part in parts:
                raise source.wrong(f"record {number} has .{part} twice", line_number)
            parts[part] = []
        elif part and line != ".":  # a lone point ends the file
            parts[part].append(line)
        elif line.strip(" ."):
            raise source.wrong("a record begins with '.I' and its number, a part with a dot and a letter", line_number)
    if not number:
        raise source.wrong("there is no record in this file", 1)
    yield number, start, {name: "\n".join(lines) for name, lines in parts.items()}


def _document(triples: RecipeTriples, source: SourceFile, number: str, line: int, parts: Mapping[str, str]) -> None:
    iri = BASE + number
    title = parts.get("T", "")  # empty in one record
    if "T" not in parts:
        raise source.wrong(f"document {number} has no title", line)
    triples.node(iri, NS + "Article", title, "documents")
    triples.text(iri, NS + "title", title)
    triples.text(iri, NS + "abstract", parts.get("W", ""))
    _date(triples, iri, parts.get("B", ""))
    for name in dict.fromkeys(one_line(name) for name in parts.get("A", "").split("\n") if name.strip()):
        person = BASE + "person/" + local_name(name)
        triples.node(person, NS + "Person", name, "authors")
        triples.link(iri, NS + "author", person)
    keywords = one_line(parts.get("K", "")).split(",")
    for keyword in dict.fromkeys(keyword.strip() for keyword in keywords):
        triples.text(iri, NS + "keyword", keyword)
    for code in dict.fromkeys(code.strip(",.") for code in parts.get("C", "").split()):
        if _CATEGORY.fullmatch(code):  # one record says "None", and one has a misprint
            triples.link(iri, NS + "category", _category(triples, code))


def _date(triples: RecipeTriples, iri: str, text: str) -> None:
    match = _DATE.search(text)
    if match is None:
        return
    month, year = match.group(1)[:3].lower(), match.group(2)
    triples.text(iri, NS + "year", year, XSD + "integer")
    if month in MONTHS:
        triples.text(iri, NS + "date", f"{year}-{MONTHS.index(month) + 1:02}", XSD + "gYearMonth")


def _category(triples: RecipeTriples, code: str) -> str:
    """The node of a category of Computing Reviews; 4.22 is within 4.2, which is within 4."""
    iri = f"{BASE}category/{code}"
    if triples.node(iri, NS + "Category", code, "categories"):
        broader = code[:-1].rstrip(".")
        if broader:
            triples.link(iri, BROADER, _category(triples, broader))
    return iri


def _links(source: SourceFile, number: str, line: int, parts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Distinct (predicate, other document), in the order of the file."""
    links: dict[tuple[str, str], None] = {}
    for text in parts.get("X", "").split("\n"):
        cells = text.split()
        if not cells:
            continue
        if len(cells) != 3 or cells[1] not in LINKS or cells[2] != number:
            raise source.wrong(f"document {number} has a link {' '.join(cells)!r}, not 'other 4|5|6 this'", line)
        if cells[0] != number:
            links[LINKS[cells[1]], cells[0]] = None
    return list(links)


def _judgements(
    source: SourceFile, topics: Mapping[str, str], documents: Mapping[str, object]
) -> Iterator[tuple[str, str, int]]:
    """Judgements from lines `question document 0 0`, all relevant."""
    for number, line in enumerate(source.text().split("\n"), 1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 4:
            raise source.wrong("a judgement is four numbers: question document 0 0", number)
        topic, document = cells[0].lstrip("0"), cells[1].lstrip("0")
        if topic not in topics or document not in documents:
            raise source.wrong(f"there is no question {cells[0]!r} or no document {cells[1]!r}", number)
        yield topic, BASE + document, 1


CACM = Recipe(
    name="cacm",
    title="CACM: 3,204 articles of the Communications of the ACM with authors, categories and links, 52 questions",
    profile="cacm",
    files={
        "documents": "ir-collections/cacm/cacm.all.xz",
        "queries": "ir-collections/cacm/query.text.xz",
        "qrels": "ir-collections/cacm/qrels.text.xz",
    },
    origin="the repository kavinsan/Information-Retrieval-Project on GitHub, commit feda4806",
    licence="none is stated",
    notes=(
        "topics.tsv has the 52 questions with judgements, topics-unjudged.tsv the 12 others; the text is the part .W.",
        "The links cacm:coupled, cacm:citation and cacm:cocited (types 4, 5, 6) are listed in both directions, each "
        "once; who cites whom is unknown. Links of a document to itself are left out.",
        "A person is one spelling of a name; homonyms and variants are not resolved.",
        "skos:broader between categories follows their numbers: 4.22 is within 4.2, which is within 4.",
        FOLD_RULE,
    ),
    read=read_cacm,
)
