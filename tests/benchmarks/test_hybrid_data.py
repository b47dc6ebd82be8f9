"""The data and questions of benchmarks/hybrid: the same for the same seed, and what they say they are."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import Stemmer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.hybrid import checks, graph, ours, texts, truth, workload, writing  # noqa: E402

PAPERS = 600


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> writing.Data:
    return writing.write(tmp_path_factory.mktemp("hybrid"), PAPERS)


@pytest.fixture(scope="module")
def questions(data: writing.Data) -> list[workload.Question]:
    return workload.make(data.graph(), data.df())


def test_the_same_seed_gives_the_same_bytes(data: writing.Data, tmp_path: Path) -> None:
    again = writing.write(tmp_path, PAPERS)
    assert again.triples.read_bytes() == data.triples.read_bytes()
    for table in data.tables.iterdir():
        assert (again.tables / table.name).read_bytes() == table.read_bytes(), table.name


def test_another_seed_gives_another_graph() -> None:
    a, b = graph.generate(PAPERS), graph.generate(PAPERS, seed=1)
    assert not np.array_equal(a.venue, b.venue)


def test_the_counts_are_those_of_the_file_and_no_triple_comes_twice(data: writing.Data) -> None:
    lines = data.triples.read_text().splitlines()
    assert len(set(lines)) == len(lines) == data.about()["triples"]
    found = Counter(line.split(" ", 2)[1].strip("<>").removeprefix(writing.BASE) for line in lines)
    found["type"] = found.pop(writing.TYPE.strip("<>"))
    assert found == Counter(data.about()["by_predicate"])


def test_papers_cite_others_that_are_not_newer() -> None:
    made = graph.generate(PAPERS)
    sources, targets = made.cites.sources(), made.cites.targets
    assert (made.year[targets] <= made.year[sources]).all()
    assert (sources != targets).all()


def test_no_word_is_stemmed_or_a_stop_word() -> None:
    words = texts.vocabulary()
    assert Stemmer.Stemmer("english").stemWords(words) == words
    assert not set(words) & {"into", "also", "such", "than", "then", "that", "this", "were", "with", "very"}


def test_frequencies_are_those_of_the_texts(data: writing.Data) -> None:
    found: Counter[str] = Counter()
    for row in (data.tables / "papers.csv").read_text().splitlines():
        found.update({word for text in row.split(",")[3:] for word in text.split()})
    df = data.df()
    assert {word: n for word, n in zip(texts.vocabulary(), df.tolist(), strict=True) if n} == found


def test_the_workload_has_each_cell_once_in_each_half(questions: list[workload.Question]) -> None:
    assert tuple(dict.fromkeys(one.shape for one in questions)) == workload.SHAPES
    for half in workload.HALVES:
        cells = Counter(one.cell for one in questions if one.half == half)
        assert len(cells) == 3 * 2 + 9 * 3 * 2 * 3 * 2
        assert {n for cell, n in cells.items() if not cell.startswith("type")} == {1}
    assert [one.number for one in questions] == list(range(len(questions)))


def test_the_workload_is_the_same_again_and_survives_its_file(
    data: writing.Data, questions: list[workload.Question], tmp_path: Path
) -> None:
    assert workload.make(data.graph(), data.df()) == questions
    workload.write(tmp_path / "w.json", questions)
    assert workload.read(tmp_path / "w.json") == questions
    assert {one.half for one in workload.read(tmp_path / "w.json", "tuning")} == {"tuning"}


def test_the_truth_is_what_a_sparql_engine_and_the_texts_say(
    data: writing.Data, questions: list[workload.Question]
) -> None:
    import pyoxigraph

    from benchmarks.hybrid.sparql import MANY_ROWS, PREFIX, paper_of, pattern

    store = pyoxigraph.Store()
    store.load(path=str(data.triples), format=pyoxigraph.RdfFormat.N_TRIPLES)
    found = truth.find(data.graph(), questions)
    rows = [row.split(",") for row in (data.tables / "papers.csv").read_text().splitlines()]
    words = [set(" ".join(row[3:]).split()) for row in rows]
    for one in questions[::7]:
        papers = [paper_of(row[0].value) for row in store.query(f"{PREFIX}SELECT ?p {{ {pattern(one)} }}")]
        satisfying, wanted = set(papers), set(one.words.split())
        assert one.shape in MANY_ROWS or len(satisfying) == len(papers), one
        assert len(satisfying) == found.pattern[one.number], one
        matching = {paper for paper in range(PAPERS) if words[paper] & wanted}
        assert found.both(one.number).tolist() == sorted(satisfying & matching), one


def test_hybridkg_answers_questions_rightly(data: writing.Data, questions: list[workload.Question]) -> None:
    from hybridkg import KnowledgeBase

    found, made = truth.find(data.graph(), questions), data.graph()
    with KnowledgeBase.temporary(data.triples, profile=data.profile) as kb:
        engine = ours.Ours(kb, (ours.PLANNED,))
        for one in questions[::11]:
            answer, own = engine.asker(one, ours.PLANNED)(), engine.scores(one.words)
            assert checks.faults(one, answer, found.both(one.number), made, own) == [], one


def test_what_is_wrong_with_an_answer_is_told(data: writing.Data, questions: list[workload.Question]) -> None:
    one, made = next(one for one in questions if one.shape == "optional"), data.graph()
    true = np.array([1, 2, 3], np.int32)
    own = {1: 3.0, 2: 2.0, 3: 1.0, 4: 9.0}

    def told(*papers: int) -> list[str]:
        answer = [(p, own[p], writing.doi(p) if made.has_doi[p] else "") for p in papers]
        return checks.faults(one, answer, true, made, own)

    assert told(1, 2, 3) == []
    assert told(1, 2) == [checks.SHORT, checks.NOT_BEST]
    assert told(1, 2, 4) == [checks.WRONG, checks.NOT_BEST]
    assert told(1, 1, 2) == [checks.TWICE, checks.NOT_BEST]
    assert checks.faults(one, [(1, 3.0, "?"), (2, 2.0, "?"), (3, 1.0, "?")], true, made, None) == [checks.DOI]
