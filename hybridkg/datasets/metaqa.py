"""MetaQA: a graph of films, and questions about it that need one, two or three steps (Zhang et al., AAAI 2018).

A line of the graph is `film relation value`. MetaQA has one node for each name; here a name is one node for each of its
classes, so that the tag "war" and the film "War" are two. Films of one title remain one node, as published.
A question names its entity in brackets, which are removed. The class of its answers is the last part of its type:
`movie_to_director_to_movie_to_year`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from hybridkg.datasets.recipe import Contents, Recipe, RecipeTriples, local_name, one_line
from hybridkg.datasets.sources import SourceFile

NS = "https://w3id.org/hybridkg/metaqa#"
BASE = "https://w3id.org/hybridkg/metaqa/"

OBJECTS = {
    "directed_by": "person",
    "written_by": "person",
    "starred_actors": "person",
    "has_genre": "genre",
    "has_tags": "tag",
    "in_language": "language",
    "release_year": "year",
    "has_imdb_rating": "rating",
    "has_imdb_votes": "votes",
}
"""The class of the values of each relation; its subjects are films."""

RELATIONS = {
    "director": "directed_by",
    "writer": "written_by",
    "actor": "starred_actors",
    "genre": "has_genre",
    "tags": "has_tags",
    "tag": "has_tags",
    "language": "in_language",
    "year": "release_year",
    "imdbrating": "has_imdb_rating",
    "imdbvotes": "has_imdb_votes",
}
"""The relation of each part of a type other than `movie`."""

SPLITS = ("dev", "test")
HOPS = ("1", "2", "3")
INVERSE = " [inverse]"

_ENTITY = re.compile(r"\[(.+)\]")


def node_iri(class_: str, name: str) -> str:
    """The IRI of a name as an instance of a class.

    >>> node_iri("movie", "Blade Runner")
    'https://w3id.org/hybridkg/metaqa/movie/Blade_Runner'
    """
    return f"{BASE}{class_}/{local_name(name)}"


def class_of(part: str) -> str:
    """The class that a part of a type speaks of.

    >>> class_of("director"), class_of("movie")
    ('person', 'movie')
    """
    return "movie" if part == "movie" else OBJECTS[RELATIONS[part]]


def steps_of(kind: str) -> list[tuple[str, bool]]:
    """(predicate, whether against it) of each step of a type, from the entity of the question to the answers.

    >>> steps_of("actor_to_movie_to_year")[0]
    ('https://w3id.org/hybridkg/metaqa#starred_actors', True)
    """
    parts = kind.split("_to_")
    return [(NS + RELATIONS[here if there == "movie" else there], there == "movie") for here, there in pairwise(parts)]


def read_metaqa(files: Mapping[str, SourceFile]) -> Contents:
    """The contents of the collection. Raises LoadError: a file is malformed."""
    triples = RecipeTriples()
    known = _graph(triples, files["graph"])
    topics: dict[str, str] = {}
    qrels: list[tuple[str, str, int]] = []
    categories: dict[str, str] = {}
    questions: list[str] = []
    unknown = 0
    for split in SPLITS:
        for hops in HOPS:
            for number, (text, entity, kind, answers) in enumerate(_questions(files, split, hops), 1):
                topic = f"{split}-{hops}-{number:05}"
                topics[topic], categories[topic] = text, kind
                iris = [node_iri(class_of(kind.split("_to_")[-1]), answer) for answer in answers]
                unknown += sum(iri not in known for iri in iris)
                qrels += [(topic, iri, 1) for iri in dict.fromkeys(iris)]
                about = {"topic": topic, "entity": entity, "type": kind, "answers": list(dict.fromkeys(iris))}
                questions.append(json.dumps(about, ensure_ascii=False) + "\n")
    folds = {"0": {part: [topic for topic in topics if topic.startswith(split)]
                   for part, split in (("training", "dev"), ("testing", "test"))}}  # fmt: skip
    return Contents(
        triples.lines,
        topics,
        qrels,
        folds,
        categories=categories,
        more_files={"questions.jsonl": questions, "facts.tsv": _facts(files)},
        counts={**triples.counts, "unknown_answers": unknown},
    )


def _graph(triples: RecipeTriples, source: SourceFile) -> set[str]:
    """Adds the graph; returns the IRIs of its nodes."""
    known = set()
    for line, (film, relation, value) in source.rows(3):
        if relation not in OBJECTS:
            raise source.wrong(f"no relation {relation!r}; known: {', '.join(OBJECTS)}", line)
        ends = []
        for class_, name in (("movie", film), (OBJECTS[relation], value)):
            iri = node_iri(class_, name)
            triples.node(iri, NS + class_, name, class_)
            known.add(iri)
            ends.append(iri)
        triples.link(ends[0], NS + relation, ends[1])
    return known


def _questions(files: Mapping[str, SourceFile], split: str, hops: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """(question, IRI of its entity, type, answers) of a file."""
    source, kinds = files[f"{split}{hops}"], files[f"{split}{hops}-types"]
    rows = list(source.rows(2))
    types = [cells[0].strip() for _, cells in kinds.rows(1)]
    if len(types) != len(rows):
        raise kinds.wrong(f"{len(types)} types for {len(rows)} questions", len(types))
    for (line, (text, answers)), kind in zip(rows, types, strict=True):
        parts = kind.split("_to_")
        if len(parts) != int(hops) + 1 or any(part != "movie" and part not in RELATIONS for part in parts):
            raise source.wrong(f"no type {kind!r} of a question of {hops} hops", line)
        entity = _ENTITY.search(text)
        if entity is None:
            raise source.wrong("a question has its entity in brackets", line)
        plain = one_line(f"{text[: entity.start()]}{entity.group(1)}{text[entity.end() :]}")
        yield plain, node_iri(class_of(parts[0]), entity.group(1)), kind, answers.split("|")


def _facts(files: Mapping[str, SourceFile]) -> Iterator[str]:
    """Lines `topic subject predicate object` of the triples that answer the questions of one hop."""
    for split in SPLITS:
        source = files[f"{split}-triples"]
        for number, line in enumerate(source.text().rstrip("\n").split("\n"), 1):
            try:
                triples = json.loads(line)["triples"]
                for triple in triples:
                    relation, ends = triple["r"], (triple["h"], triple["t"])
                    film, value = reversed(ends) if relation.endswith(INVERSE) else ends
                    relation = relation.removesuffix(INVERSE)
                    subject, target = node_iri("movie", film), node_iri(OBJECTS[relation], value)
                    yield f"{split}-1-{number:05}\t{subject}\t{NS}{relation}\t{target}\n"
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
                raise source.wrong('a line is {"question": ..., "triples": [{"h", "r", "t"}, ...]}', number) from e


METAQA = Recipe(
    name="metaqa",
    title="MetaQA: 16,426 films with people, genres, tags, languages and years; 78,231 questions of one to three hops",
    profile="metaqa",
    files={
        "graph": "kgqa/metaqa/kb_reconstructed.tsv.xz",
        **{f"{split}{hops}": f"kgqa/metaqa/{hops}-hop_{split}.tsv.xz" for split in SPLITS for hops in HOPS},
        **{f"{split}{hops}-types": f"kgqa/metaqa/{hops}-hop_{split}_qtype.txt.xz" for split in SPLITS for hops in HOPS},
        **{f"{split}-triples": f"kgqa/metaqa/1-hop_{split}_triples.jsonl.xz" for split in SPLITS},
    },
    origin="the repository vaijsc/keallm on GitHub, commit cf68f911, from yuyuz/MetaQA",
    licence="MetaQA has CC BY 3.0, the repository BSD-3",
    notes=(
        "The graph was decoded from another repository's id files and has 97 % of the published lines.",
        "Films of one title are one node. A name is one node for each of its classes.",
        "The brackets around the entity of a question are removed; questions.jsonl has the entity, the type and the "
        "answers, facts.tsv the triples behind the answers to questions of one hop.",
        "The official questions for training are absent: fold 0 trains on dev and tests on test. categories.tsv has "
        "the type of each question.",
        "unknown_answers counts answers that the graph does not have.",
    ),
    read=read_metaqa,
)
