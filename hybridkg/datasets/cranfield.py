"""Cranfield: 1,400 abstracts on aerodynamics, 225 questions (Cleverdon, 1967), from a copy in TREC format.

The judgements name a question by its position in the file, 1 to 225, not by its <num>: BM25 has a MAP of .31 by
position, of .01 by <num>.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import unescape

from hybridkg.datasets.recipe import FOLD_RULE, Contents, Recipe, RecipeTriples, five_folds, one_line
from hybridkg.datasets.sources import SourceFile

NS = "https://w3id.org/hybridkg/cranfield#"
DOCUMENT = "https://w3id.org/hybridkg/cranfield/"

PARTS = ("title", "author", "bib", "text")
PREDICATES = {"title": "title", "author": "author", "bib": "bibliography", "text": "text"}


def read_cranfield(files: Mapping[str, SourceFile]) -> Contents:
    """The contents of the collection. Raises LoadError: a file is malformed."""
    triples = RecipeTriples()
    for number, line, record in _records(files["documents"], "doc"):
        _document(triples, files["documents"], number, line, record)
    topics = {}
    for position, line, record in _records(files["queries"], "top"):
        text = one_line(_part(record, "title") or "")
        if not text:
            raise files["queries"].wrong(f"question {position} has no text", line)
        topics[str(position)] = text
    qrels = list(_judgements(files["qrels"], len(topics), triples.counts.get("documents", 0)))
    judged = {topic for topic, _, _ in qrels}
    topics = {topic: text for topic, text in topics.items() if topic in judged}
    return Contents(triples.lines, topics, qrels, five_folds(topics), counts=triples.counts)


def _records(source: SourceFile, tag: str) -> Iterator[tuple[int, int, str]]:
    """(position from 1, line, content) of each <tag>...</tag>."""
    text, line, end = source.text(), 1, 0
    opening, closing = f"<{tag}>", f"</{tag}>"
    position = 0
    while (start := text.find(opening, end)) >= 0:
        line += text.count("\n", end, start)
        stop = text.find(closing, start)
        if stop < 0 or text.find(opening, start + 1, stop) >= 0:
            raise source.wrong(f"{opening} is not closed", line)
        position += 1
        yield position, line, text[start + len(opening) : stop]
        line += text.count("\n", start, stop)
        end = stop
    if not position:
        raise source.wrong(f"there is no {opening} in this file", 1)


def _part(record: str, tag: str) -> str | None:
    match = re.search(rf"<{tag}>([^<]*)</{tag}>", record)
    return unescape(match.group(1)) if match else None


def _document(triples: RecipeTriples, source: SourceFile, position: int, line: int, record: str) -> None:
    number = (_part(record, "docno") or "").strip()
    if number != str(position):
        raise source.wrong(f"document number {number!r}, where {position} comes next", line)
    iri = DOCUMENT + number
    title = _part(record, "title") or ""
    triples.node(iri, NS + "Document", title, "documents")
    for part in PARTS:
        text = _part(record, part)
        if text is None:
            raise source.wrong(f"document {number} has no <{part}>", line)
        triples.text(iri, NS + PREDICATES[part], text)


def _judgements(source: SourceFile, topics: int, documents: int) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(source.text().split("\n"), 1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 4 or not all(cell.isascii() and cell.isdigit() for cell in cells):
            raise source.wrong("a judgement is four numbers: question 0 document grade", number)
        topic, _, document, grade = map(int, cells)
        if not 1 <= topic <= topics or not 1 <= document <= documents:
            raise source.wrong(f"there is no question {topic} or no document {document}", number)
        yield str(topic), DOCUMENT + str(document), grade


CRANFIELD = Recipe(
    name="cranfield",
    title="Cranfield: 1,400 abstracts on aerodynamics, 225 questions",
    profile="cranfield",
    files={
        "documents": "ir-collections/cranfield/cran.all.1400.xml.xz",
        "queries": "ir-collections/cranfield/cran.qry.xml.xz",
        "qrels": "ir-collections/cranfield/cranqrel.trec.txt.xz",
    },
    origin="the repository oussbenk/cranfield-trec-dataset on GitHub, commit 1208e6ed",
    licence="none is stated",
    notes=(
        "A topic's id is the position of its question in cran.qry.xml, as in the judgements, not its <num>.",
        "A text begins with its title, as in the source, and the grades are 0 and 1 with a single 3.",
        "Documents 471 and 995 are empty and cannot be found.",
        FOLD_RULE,
    ),
    read=read_cranfield,
)
