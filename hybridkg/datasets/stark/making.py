"""Building of the dataset: knowledge base, questions, their splits, and possible answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from hybridkg.config.settings import Config, EncodingSettings, write_config
from hybridkg.datasets.building import MadeDataset, refuse_existing, write_dataset
from hybridkg.datasets.recipe import RDF, RDFS, Contents, Folds, Recipe, RecipeTriples, one_line
from hybridkg.datasets.sources import SourceFile
from hybridkg.datasets.stark.documents import BASE, KINDS, StarkNode, local, write_names
from hybridkg.datasets.stark.layout import ORIGIN, StarkLayout, find_files, read_layout
from hybridkg.datasets.stark.neighbours import Neighbours
from hybridkg.datasets.stark.node_documents import COMPACT, RELATIONS, check_forms, documents_of, needs_relations
from hybridkg.datasets.stark.published_vectors import PublishedVectors, read_published
from hybridkg.datasets.stark.tensors import Whole
from hybridkg.errors import LoadError, ParameterError, StorageError
from hybridkg.evaluation.stark import StarkQuestions, human_release, question_files, read_stark, read_stark_questions
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb.stored_documents import WITH_RELATIONS
from hybridkg.registry import did_you_mean
from hybridkg.vector.encoders.embedding_cache import HASH_BYTES, hashes

HUMAN = "human"
"""Split of the questions written by people; their ids, which others have too, get the prefix `human-`."""

NAMES_OF_FOLDERS = {"amazon": ("amazon",), "mag": ("mag",), "prime": ("prime", "primekg")}
"""Possible names of the folder of the questions."""

EDGES_AT_ONCE = 1 << 16

FILES = "files"
EDGE_SETS = (FILES, "stark")
"""Edges as in the files, or as STaRK's code has them in memory (neighbours.py)."""

_Asked: TypeAlias = tuple[Mapping[str, str], Mapping[str, Mapping[str, int]]]
"""Texts of questions, and the grades of their answers."""

Value = TypeVar("Value")
STARK = Recipe(
    name="stark",
    title="STaRK: questions over knowledge bases with text",
    profile="stark-mag",
    files={},
    origin=ORIGIN,
    licence="MIT (code and questions of snap-stanford/stark); see there for the licences of its sources",
    notes=(
        "A node N is https://w3id.org/hybridkg/stark/KB/N; types, relations and properties are below .../stark/KB#.",
        "candidates.txt has the possible answers: hybridkg eval qrels-test.txt RUN --candidates candidates.txt.",
        "folds.json: the fold `test` trains on train and val, and tests the official test questions; the folds "
        "`train` and `val` test the others, so that each topic is tested once.",
    ),
    read=None,
    needs="--skb DIR and --qa DIR",
)


EDGE_NOTES = {
    FILES: "Edges are those of the files, in their direction. STaRK's code adds the opposite ones, and replaces edges "
    "of several types between two nodes by one of the mean of their numbers, rounded down (--edges stark).",
    "stark": "Edges are those of STaRK's code: unless the files have both directions of every edge, they are added, "
    "and edges of several types between two nodes are one, of the mean of their numbers, rounded down.",
}


DOCUMENT_NOTES = {
    "plain": "The text field `document` has STaRK's document of each node without its relations, byte for byte.",
    "candidates": "The text field `document_candidate` has the same document of possible answers alone, so that the "
    "statistics of a MATCH on it are those of STaRK's BM25.",
    RELATIONS: "The text field `document_rel` has the document with its relations, which are those of STaRK's code, "
    "also where the edges of the graph are those of the files.",
    COMPACT: "The text field `document_rel_compact` has the compact form of the same, which STaRK's encoders read.",
}


def make_stark(
    skb: Path,
    qa: Path,
    out: Path,
    *,
    edges: str = FILES,
    documents: Sequence[str] = (),
    embeddings: Path | None = None,
    progress: Progress = SILENT,
) -> MadeDataset:
    """Makes a folder like `make_dataset`, from a published knowledge base of STaRK and its questions.

    Args:
        skb: the folder with node_info.pkl and the others, a folder above it, or processed.zip.
        qa: the folder with stark_qa/ and split/, or one that has it by the name of the knowledge base.
        out: the new folder.
        edges: `files` or `stark`, one of EDGE_SETS.
        documents: some of `plain`, `candidates`, `relations` and `compact`: STaRK's documents of nodes as text fields
            `document`, `document_candidate`, `document_rel` and `document_rel_compact`.
        embeddings: the folder of published vectors, emb/KB/MODEL, which are those of the documents with relations.
        progress: receives the progress.

    Raises:
        LoadError: a file is missing or wrong; a pickle has more than plain data.
        UserError: the folder exists.
        ParameterError: no such set of edges, or form of documents; vectors without documents with relations.
        StorageError: it cannot be written.
    """
    if edges not in EDGE_SETS:
        raise ParameterError(
            f"no edges {edges!r}; known: {', '.join(EDGE_SETS)}", hint=did_you_mean(edges, list(EDGE_SETS))
        )
    forms = check_forms(documents)
    if embeddings is not None and RELATIONS not in forms:
        raise ParameterError(
            "published vectors are those of documents with relations, which are not made",
            hint=f"--documents {','.join([*forms, RELATIONS])}",
        )
    refuse_existing(STARK.name, out)
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.absolute().parent) as work:
            progress.start("reading the graph", None)
            files = find_files(skb, Path(work))
            layout = read_layout(files)
            progress.done(len(files))
            kind = KINDS[layout.kb]
            merged = neighbours_in(layout) if edges != FILES or needs_relations(forms) else None
            folder = _questions_folder(qa, layout.kb)
            asked, human_note = _asked(layout.kb, folder)
            notes = (*STARK.notes, EDGE_NOTES[edges], *(DOCUMENT_NOTES[form] for form in forms), *human_note)
            recipe = replace(STARK, title=kind.title, profile=f"stark-{layout.kb}", notes=notes)
            sources = {name: SourceFile(name, path) for name, path in files.items()}
            sources |= {name: SourceFile(name, path) for name, path in question_files(folder).items()}
            contents = replace(
                _contents(layout, folder, asked, triples_of(layout, None if edges == FILES else merged)),
                documents=documents_of(layout, forms, merged, Path(work)) if forms else None,
            )
            if embeddings is not None:
                progress.start("reading vectors", None)
                vectors = read_published(embeddings, Path(work))
                progress.done(len(vectors.nodes.ids))
                contents = _with_vectors(contents, vectors, asked, len(layout.node_types))
            return write_dataset(recipe, sources, contents, out, progress=progress)
    except OSError as e:
        raise StorageError(f"cannot write {str(out)!r}: {(e.strerror or str(e)).lower()}") from e


@dataclass(frozen=True)
class _AllQuestions:
    """The questions of a folder: those with splits, and by name of a split, the human-written ones included."""

    questions: StarkQuestions
    splits: Mapping[str, _Asked]

    @property
    def everything(self) -> _Asked:
        return self.questions.topics().texts, self.questions.qrels().grades


def _asked(kb: str, folder: Path) -> tuple[_AllQuestions, tuple[str, ...]]:
    """The questions, and a note on those that people wrote, if there are any."""
    questions = read_stark(folder)
    sets: dict[str, _Asked] = {
        name: (questions.topics(name).texts, questions.qrels(name).grades) for name in questions.splits
    }
    human = question_files(folder).get(HUMAN)
    if human is None:
        return _AllQuestions(questions, sets), ()
    texts, answers = read_stark_questions(human)
    written = StarkQuestions(texts, answers, {})
    sets[HUMAN] = _prefixed(written.topics().texts), _prefixed(written.qrels().grades)
    note = (
        f"The {len(written):,} questions in topics-human.tsv, with ids human-ID, were written by people; "
        f"{human_release(kb, len(written))}."
    )
    return _AllQuestions(questions, sets), (note,)


def _contents(layout: StarkLayout, folder: Path, asked: _AllQuestions, triples: Iterator[str]) -> Contents:
    """The contents, with triples that are made as they are written."""
    kb, kind = layout.kb, KINDS[layout.kb]
    candidates = layout.of_type(kind.candidates or frozenset(layout.node_names.values()))
    sets, everything = asked.splits, asked.everything
    counts = {"nodes": len(layout.node_types), "edges": len(layout.edge_types), "candidates": len(candidates)}
    counts["answers_beside_candidates"] = _check_answers(layout, candidates, folder, [everything, *sets.values()])
    if HUMAN in sets:
        counts["human_questions"] = len(sets[HUMAN][0])
    lists = {
        f"qrels-{name}.txt": [f"{topic} 0 {iri} 1\n" for topic, iri in _judged(kb, grades)]
        for name, (_, grades) in sets.items()
    }
    return Contents(
        triples,
        {topic: one_line(text) for topic, text in everything[0].items()},
        [(topic, iri, 1) for topic, iri in _judged(kb, everything[1])],
        _folds(asked.questions),
        more_topics={
            f"topics-{name}.tsv": {topic: one_line(text) for topic, text in texts.items()}
            for name, (texts, _) in sets.items()
        },
        more_files={**lists, "candidates.txt": (f"{BASE}{kb}/{number}\n" for number in candidates.tolist())},
        counts=counts,
    )


def _with_vectors(contents: Contents, vectors: PublishedVectors, asked: _AllQuestions, nodes: int) -> Contents:
    """The contents with published vectors of documents with relations, and of questions."""
    seen = np.zeros((nodes, HASH_BYTES), np.uint8)
    name = local(vectors.model)
    written = asked.splits.get(HUMAN, ({}, {}))[0]

    def hashed(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            found = json.loads(line)
            seen[int(found["id"].rpartition("/")[2])] = hashes([found[WITH_RELATIONS]])[0]
            yield line

    def prepare(kb: Path) -> None:
        texts = {topic: one_line(text) for topic, text in asked.questions.topics().texts.items()}
        people = {topic.removeprefix(f"{HUMAN}-"): one_line(text) for topic, text in written.items()}
        vectors.write(kb / "models" / name, seen, texts, people)
        config = Config(encoder=f"published:models/{name}", encoding=EncodingSettings(fields=WITH_RELATIONS))
        (kb / "kb.toml").write_text(write_config(config), encoding="utf-8")

    assert contents.documents is not None
    counts = {"vectors_of_nodes": len(vectors.nodes.ids), "vectors_of_questions": len(vectors.questions.ids)}
    return replace(
        contents, documents=hashed(contents.documents), prepare=prepare, counts={**contents.counts, **counts}
    )


def _prefixed(table: Mapping[str, Value]) -> dict[str, Value]:
    return {f"{HUMAN}-{topic}": value for topic, value in table.items()}


def _judged(kb: str, grades: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str]]:
    """(topic, IRI) of each answer."""
    for topic, answers in grades.items():
        for number in answers:
            yield topic, f"{BASE}{kb}/{int(number)}"


def _folds(questions: StarkQuestions) -> Folds:
    """Folds that test each of the three splits with training on the other two."""
    parts = {name: list(questions.splits[name]) for name in ("test", "val", "train")}
    return {
        name: {
            "training": [topic for other in ("train", "val", "test") if other != name for topic in parts[other]],
            "testing": testing,
        }
        for name, testing in parts.items()
    }


def neighbours_in(layout: StarkLayout) -> Neighbours:
    """The edges as STaRK's code has them. Raises LoadError: the numbers of the relations do not permit it."""
    return Neighbours.of_edges(layout.edges, layout.edge_types, nodes=len(layout.node_types), names=layout.edge_names)


def triples_of(layout: StarkLayout, merged: Neighbours | None = None) -> Iterator[str]:
    """Lines of N-Triples: names of types and relations, nodes, edges; these as in the files, or `merged`."""
    kb, made, write = layout.kb, RecipeTriples(), KINDS[layout.kb].write
    write_names(made, kb, layout.node_names, RDFS + "Class")
    relations = write_names(made, kb, layout.edge_names, RDF + "Property")
    yield from made.lines
    types = layout.node_types
    for number, attributes in layout.nodes():
        made.lines.clear()
        write(StarkNode(made, kb, number, layout.node_names[int(types[number])], attributes))
        yield from made.lines
    middle = {number: f"> <{iri}> <{BASE}{kb}/" for number, iri in relations.items()}
    start = f"<{BASE}{kb}/"
    for part in _edges_of_files(layout) if merged is None else merged.blocks(EDGES_AT_ONCE):
        for head, tail, relation in zip(*(column.tolist() for column in part), strict=True):
            yield f"{start}{head}{middle[relation]}{tail}> .\n"


def _edges_of_files(layout: StarkLayout) -> Iterator[tuple[Whole, Whole, Whole]]:
    """(sources, targets, relations) in the order of the files."""
    for first in range(0, len(layout.edge_types), EDGES_AT_ONCE):
        part = slice(first, first + EDGES_AT_ONCE)
        yield layout.edges[0, part], layout.edges[1, part], layout.edge_types[part]


def _check_answers(layout: StarkLayout, candidates: Whole, folder: Path, sets: Sequence[_Asked]) -> int:
    """Number of answers that are no candidates; STaRK's evaluator ignores them. Raises LoadError: not a node."""
    allowed = np.zeros(len(layout.node_types), bool)
    allowed[candidates] = True
    others = 0
    for position, (_, grades) in enumerate(sets):
        for topic, answers in grades.items():
            for number in map(int, answers):
                if number >= len(allowed):
                    raise LoadError(
                        f"the question {topic!r} has the answer {number}, and the nodes are 0 to {len(allowed) - 1:,}",
                        hint=f"--qa must have the questions of the knowledge base of --skb, which is {layout.kb}",
                        place=str(folder),
                    )
                others += position == 0 and not allowed[number]
    return others


def _questions_folder(given: Path, kb: str) -> Path:
    """The folder with stark_qa/: the given one, or that of the knowledge base in it."""
    for folder in (given, *(given / name for name in NAMES_OF_FOLDERS[kb])):
        if (folder / "stark_qa").is_dir():
            return folder
    raise LoadError(
        f"{str(given)!r} has no questions of {kb}",
        hint=f"--qa is the folder with stark_qa/ and split/\nit comes from {ORIGIN}",
    )
