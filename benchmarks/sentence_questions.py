"""Questions about papers of which one knows something and remembers one sentence, made of the ACL Anthology.

A question is a constraint (an author; a venue and a year; a year) and a sentence of the abstract of one paper, which is
the answer. The sentence is cut out of the abstract that is indexed, or else every text system would find it by its own
words; and the names in it are removed, or else one rare name would do. The same Anthology and seed give the same
questions.
"""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

ACL = "https://w3id.org/hybridkg/acl#"

WORDS = range(10, 51)
"""Words that a sentence has without its names."""

MIN_SENTENCES = 3
"""Of an abstract that one is taken from."""

MIN_PAPERS = 5
"""That satisfy a constraint: with one, the graph alone would know the answer."""

ORDINARY = 5
"""Abstracts with a word in small letters, for its capital at the beginning of a sentence to be no sign of a name."""

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(\[])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|al|cf|vs|etc|approx|resp|Fig|Sec|Eq|No|Dr|Prof|St)|\b[A-Z]|^\s*\d+)\.$")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Paper:
    """What is known of a paper; nodes by their IRIs."""

    iri: str
    title: str = ""
    abstract: str = ""
    language: str = ""
    year: str = ""
    venues: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its answer.

    Args:
        topic: its id.
        kind: of KINDS.
        constraint: the values of the parameters of its pattern: IRIs, and the year.
        text: the sentence without names.
        sentence: as it stood in the abstract.
        paper: the answer.
        abstract: of the answer, without the sentence.
        candidates: how many papers satisfy the constraint.
    """

    topic: str
    kind: str
    constraint: Mapping[str, str]
    text: str
    sentence: str
    paper: str
    abstract: str
    candidates: int


KINDS: Mapping[str, str] = {
    "author": "?p acl:author $author .",
    "venue and year": "?p acl:venue $venue ; acl:year $year .",
    "year": "?p acl:year $year .",
}
"""What the graph is asked, by the kind of a constraint."""


def sentences(text: str) -> list[str]:
    """The sentences of a text; with what stands between them they are the text.

    >>> sentences("We parse, e.g. French. It works (cf. Fig. 2). Code is out.")
    ['We parse, e.g. French.', 'It works (cf. Fig. 2).', 'Code is out.']
    """
    found, start = [], 0
    for gap in _END.finditer(text):
        if not _ABBREVIATION.search(text[start : gap.start()]):
            found.append(text[start : gap.end()].strip())
            start = gap.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def cut(text: str, sentence: str) -> str:
    """The text without a sentence, which it has once.

    >>> cut("One here. Two there. Three.", "Two there.")
    'One here. Three.'
    """
    before, between, after = text.partition(sentence)
    if not between or sentence in after:
        raise ValueError(f"the text must have the sentence once: {sentence!r}")
    return f"{before.rstrip()} {after.lstrip()}".strip()


def without_names(sentence: str, is_ordinary: Callable[[str], bool]) -> str:
    """The sentence without words that have a capital letter; the first may have one, where it is an ordinary word.

    >>> without_names("We train SciBERT on GLUE-like data of Smith (2019).", {"we"}.__contains__)
    'We train on data of (2019).'
    """
    first, *others = sentence.split()
    letters = "".join(_WORD.findall(first))
    kept = [] if letters != letters.lower() and not (letters[1:].islower() or len(letters) == 1) else [first]
    if kept and letters != letters.lower() and not is_ordinary(letters.lower()):
        kept = []
    return " ".join([*kept, *(word for word in others if word == word.lower())])


def read_papers(path: Path) -> dict[str, Paper]:
    """The papers of examples/acl_anthology.py's N-Triples, gzipped."""
    one: dict[str, dict[str, str]] = defaultdict(dict)
    many: dict[str, dict[str, list[str]]] = defaultdict(lambda: {"venue": [], "author": []})
    papers = set()
    for subject, name, value in _triples(path):
        if name in ("title", "abstract", "language", "year"):
            one[subject][name] = value
        elif name in ("venue", "author"):
            many[subject][name].append(value)
        elif name == "publishedIn":
            papers.add(subject)
    return {
        iri: Paper(iri, **one[iri], venues=tuple(many[iri]["venue"]), authors=tuple(many[iri]["author"]))
        for iri in sorted(papers)
    }


def _triples(path: Path) -> Iterator[tuple[str, str, str]]:
    with gzip.open(path) as file:
        for quad in parse(file, RdfFormat.N_TRIPLES):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode | Literal):
                yield quad.subject.value, quad.predicate.value.removeprefix(ACL), quad.object.value


@dataclass
class Maker:
    """Makes questions of papers.

    Args:
        papers: all of them, by IRI.
    """

    papers: Mapping[str, Paper]
    _constrained: dict[tuple[str, ...], int] = field(init=False)
    _ordinary: Counter[str] = field(init=False)
    _sentences: Counter[str] = field(init=False)
    _titles: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        self._constrained, self._ordinary, self._sentences = Counter(), Counter(), Counter()
        self._titles = Counter(" ".join(_WORD.findall(paper.title.lower())) for paper in self.papers.values())
        for paper in self.papers.values():
            self._constrained.update({tuple(found.values()) for kind in KINDS for found in constraints(paper, kind)})
            self._ordinary.update({word for word in _WORD.findall(paper.abstract) if word.islower()})
            self._sentences.update({_folded(sentence) for sentence in sentences(paper.abstract)})

    def make(self, of_each: int, seed: int) -> list[Question]:
        """So many questions of each kind, each about another paper.

        Raises:
            ValueError: there are not so many.
        """
        draw = random.Random(seed)
        order = sorted(self.papers)
        draw.shuffle(order)
        found: dict[str, list[Question]] = {kind: [] for kind in KINDS}
        for iri in order:
            kind = min(found, key=lambda kind: len(found[kind]))
            if len(found[kind]) == of_each:
                break
            question = self._question(self.papers[iri], kind, len(found[kind]), draw)
            if question is not None:
                found[kind].append(question)
        if any(len(own) < of_each for own in found.values()):
            raise ValueError(f"there are no {of_each} questions of each kind")
        return [question for own in found.values() for question in own]

    def _question(self, paper: Paper, kind: str, number: int, draw: random.Random) -> Question | None:
        possible = [
            (own, size)
            for own in constraints(paper, kind)
            if (size := self._constrained[tuple(own.values())]) >= MIN_PAPERS
        ]
        parts = self._usable(paper)
        if not possible or not parts or self._titles[" ".join(_WORD.findall(paper.title.lower()))] > 1:
            return None
        (constraint, size), (sentence, text) = draw.choice(possible), draw.choice(parts)
        topic = f"{kind.replace(' ', '_')}-{number}"
        left = cut(paper.abstract, sentence)
        return Question(topic, kind, constraint, text, sentence, paper.iri, left, size)

    def _usable(self, paper: Paper) -> list[tuple[str, str]]:
        """Sentences of an abstract, and what they are without names."""
        parts = sentences(paper.abstract)
        if paper.language or len(parts) < MIN_SENTENCES:
            return []
        told = [(part, without_names(part, lambda word: self._ordinary[word] >= ORDINARY)) for part in parts]
        return [
            (part, text)
            for part, text in told
            if len(text.split()) in WORDS and self._sentences[_folded(part)] == 1 and paper.abstract.count(part) == 1
        ]


def constraints(paper: Paper, kind: str) -> list[dict[str, str]]:
    """The values with which a constraint of a kind is true of a paper.

    >>> constraints(Paper("p", year="2020", venues=("v", "w")), "venue and year")
    [{'venue': 'v', 'year': '2020'}, {'venue': 'w', 'year': '2020'}]
    """
    if kind == "author":
        return [{"author": author} for author in dict.fromkeys(paper.authors)]
    if not paper.year:
        return []
    return [{"year": paper.year}] if kind == "year" else [{"venue": v, "year": paper.year} for v in paper.venues]


def write_without(path: Path, out: Path, questions: Sequence[Question], left_out: frozenset[str] = frozenset()) -> None:
    """The N-Triples with the sentences cut, gzipped, without what is said of the papers that are left out."""
    abstracts = {f"<{question.paper}>": question.abstract for question in questions}
    others = {f"<{iri}>" for iri in left_out}
    with gzip.open(path, "rt", encoding="utf-8") as file, gzip.open(out, "wt", 1, encoding="utf-8") as to:
        for line in file:
            subject, predicate, _ = line.split(" ", 2)
            if predicate == f"<{ACL}abstract>" and subject in abstracts:
                to.write(f"{subject} {predicate} {Literal(abstracts[subject])} .\n")
            elif subject not in others:
                to.write(line)


def _folded(sentence: str) -> str:
    return " ".join(_WORD.findall(sentence.lower()))
