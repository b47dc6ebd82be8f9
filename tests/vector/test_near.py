"""NEAR from kb.toml to the rows: what is built, found, refused, and what goes on working without vectors."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from resealed import reseal

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import (
    ConfigError,
    IndexMissingError,
    ParameterError,
    UnknownNameError,
    UnsupportedQueryError,
    VectorQueryError,
)

TEXTS = (
    "the car has an engine and four wheels",
    "an automobile has an engine and wheels",
    "the engine of the automobile drives its wheels",
    "a car with a strong engine",
    "cats and dogs are animals that live with people",
    "a dog is an animal and so is a cat",
    "animals such as cats live in houses",
    "the dog chases cats",
)
PROFILE = """@prefix hk: <https://w3id.org/hybridkg/ns#> .
<> a hk:Profile ; hk:fields ( [ hk:name "text" ; hk:path <http://e/text> ] ) ."""
PREFIX = "PREFIX : <http://e/> "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("near")
    lines = [f':t{i} :text "{text}" ; :year {2000 + i} ; :next :t{(i + 1) % 8} .' for i, text in enumerate(TEXTS)]
    (folder / "data.ttl").write_text("@prefix : <http://e/> .\n" + "\n".join([*lines, ":bare :year 2001 ."]))
    (folder / "profile.ttl").write_text(PROFILE)
    kb = KnowledgeBase.create(folder / "kb")
    toml = folder / "kb" / "kb.toml"
    toml.write_text(toml.read_text().replace('encoder = "none"', 'encoder = "lsa"'))
    counts = kb.load(folder / "data.ttl", index=True, profile=folder / "profile.ttl")
    assert counts.index.vectors.entities == len(TEXTS)
    kb.close()
    return folder


@pytest.fixture
def kb(folder):
    with KnowledgeBase.open(folder / "kb") as kb:
        yield kb


def files(kb):
    folder = kb._snapshot.generation.path / "vectors"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(kb, query, **more):
    return [str(row["x"]).removeprefix("http://e/") for row in kb.query(PREFIX + query, **more)]


def test_what_keeps_the_same_company_is_near(kb):
    found = names(kb, 'SELECT ?x ?s { ?x NEAR "engine" AS ?s } RANK BY ?s')
    assert set(found[:4]) == {"t0", "t1", "t2", "t3"}
    assert len(found) == len(TEXTS)
    assert names(kb, 'SELECT ?x { ?x NEAR "engine" WITHIN 0.3 AS ?s } RANK BY ?s') == found[:4]
    assert names(kb, 'SELECT ?x { ?x NEAR "engine" TOP 2 AS ?s . ?x :year ?y } RANK BY ?y') == sorted(found[:2])[::-1]


def test_an_entity_is_compared_with_the_others(kb):
    found = names(kb, "SELECT ?x { ?x NEAR :t3 AS ?s } RANK BY ?s")
    assert "t3" not in found
    assert len(found) == len(TEXTS) - 1
    assert names(kb, "SELECT ?x { ?x NEAR :bare AS ?s } RANK BY ?s") == []
    assert names(kb, "SELECT ?x { ?x NEAR :nowhere AS ?s } RANK BY ?s") == []


def test_similarities_are_those_of_the_vectors(kb):
    vectors = kb._snapshot.vectors
    dimensions = vectors.dimensions
    written = ", ".join(["1"] + ["0"] * (dimensions - 1))
    rows = kb.query(f"{PREFIX} SELECT ?x ?s {{ ?x NEAR [{written}] AS ?s }} RANK BY ?s LIMIT 3")
    encoded = vectors.encoder.passages([TEXTS[int(str(row["x"])[-1])] for row in rows])
    assert [row.scores["s"] for row in rows] == pytest.approx(encoded[:, 0].tolist(), abs=1e-6)
    assert all(row.rank_score == row.scores["s"] for row in rows)


def test_a_target_of_the_row_is_a_similarity_join(kb):
    joined = kb.query(f"{PREFIX} SELECT ?x ?y ?s {{ ?x :next ?y . ?x NEAR ?y AS ?s }} RANK BY ?s")
    assert len(joined) == len(TEXTS)
    for row in joined:
        single = kb.query(f"{PREFIX} SELECT ?s {{ VALUES ?x {{ {row['x'].n3()} }} ?x NEAR {row['y'].n3()} AS ?s }}")
        assert [one.scores["s"] for one in single] == [row.scores["s"]]
    with pytest.raises(UnsupportedQueryError, match="\\?y, the target of the NEAR, has no value here"):
        kb.query("SELECT ?x { ?x NEAR ?y AS ?s } RANK BY ?s")


@pytest.mark.parametrize("value", ["automobile", "<http://e/t1>"])
def test_a_parameter_is_a_target(kb, value):
    from rdflib import URIRef

    given = URIRef(value[1:-1]) if value.startswith("<") else value
    written = value if value.startswith("<") else f'"{value}"'
    prepared = kb.prepare(f"{PREFIX} SELECT ?x ?s {{ ?x :year ?y . ?x NEAR $what AS ?s FILTER(?y > 2000) }} RANK BY ?s")
    assert prepared.parameters == ("what",)
    query = f"{PREFIX} SELECT ?x ?s {{ ?x :year ?y . ?x NEAR {written} AS ?s FILTER(?y > 2000) }} RANK BY ?s"
    for _ in range(2):
        assert [row.to_python() for row in prepared.query({"what": given})] == [
            row.to_python() for row in kb.query(query)
        ]


def test_words_and_similarity_are_fused(kb):
    rows = kb.query(
        f'{PREFIX} SELECT ?x {{ ?x NEAR "automobile" AS ?v . OPTIONAL {{ ?x MATCH "car" AS ?t }} }} RANK BY rrf(?t, ?v)'
    )
    assert not rows.warnings
    assert rows.exact
    assert {hit.label for hit in rows[0].why().hits} <= {"t", "v"}
    (warning,) = kb.query(
        f'{PREFIX} SELECT ?x {{ ?x NEAR "car" AS ?v . ?x MATCH "car" AS ?t }} RANK BY ?t + ?v'
    ).warnings
    assert warning.code == "W105"
    assert warning.hint.startswith("to begin with, tmm(?t) + STRLEN($text) * tmm(?v) / 35")
    better = "RANK BY tmm(?t) + STRLEN($text) * tmm(?v) / 35"
    rows = kb.query(
        f"{PREFIX} SELECT ?x {{ ?x NEAR $text AS ?v . ?x MATCH $text AS ?t }} {better}", params={"text": "car"}
    )
    assert len(rows) == 2
    assert not rows.warnings


def test_what_limits_the_rows_is_told_of_a_near(kb):
    (cap,) = kb.query('SELECT ?x { ?x NEAR "engine" TOP 2 AS ?s } RANK BY ?s').limits_reached
    assert cap == "TOP 2 keeps the best 2 of the entities that match the NEAR of ?x"
    result = kb.query('SELECT ?x { ?x NEAR "engine" WITHIN 0.999 AS ?s } RANK BY ?s LIMIT 3')
    assert result.shortfall == "no entity matches the NEAR of ?x"


def test_why_says_what_was_compared(kb):
    (row,) = kb.query(f'{PREFIX} SELECT ?x {{ ?x NEAR "automobile" AS ?s }} RANK BY ?s LIMIT 1')
    (hit,) = row.why().hits
    assert hit.explanation.score == row.scores["s"]
    assert str(row.why()).splitlines()[1].endswith('similarity (lsa/1 8) of "automobile"')


@pytest.mark.parametrize(
    ("target", "error", "message", "marked"),
    [
        ('"x" USING minilm', UnknownNameError, "made by 'lsa', not by 'minilm'", "minilm"),
        ('"x" USING lsa(k=3)', UnknownNameError, "no argument 'k': an encoder takes none", "k=3"),
        ("[1, 2]", VectorQueryError, "a vector of 2 numbers; those of this knowledge base have 8", "[1, 2]"),
        ("[0, 0, 0, 0, 0, 0, 0, 0]", VectorQueryError, "must have a direction", "[0, 0, 0, 0, 0, 0, 0, 0]"),
    ],
)
def test_what_cannot_be_compared_is_told_at_its_place(kb, target, error, message, marked):
    with pytest.raises(error, match=message) as raised:
        kb.query(query := f"SELECT ?x {{ ?x NEAR {target} AS ?s }} RANK BY ?s")
    span = raised.value.span
    assert query[span.start : span.end] == marked


def test_a_list_is_no_target(kb):
    with pytest.raises(ParameterError, match="takes one value, not a list"):
        kb.query("SELECT ?x { ?x NEAR $what AS ?s } RANK BY ?s", {"what": ["a", "b"]})


def test_without_vectors_near_says_how_to_get_them():
    with KnowledgeBase.temporary(Path(__file__).parents[2] / "examples" / "films.ttl") as kb:
        with pytest.raises(IndexMissingError, match="NEAR needs vectors") as raised:
            kb.query('SELECT ?x { ?x NEAR "space" AS ?s } RANK BY ?s')
        assert "--encoder lsa" in raised.value.hint


@pytest.mark.parametrize("target", ['"zebra"', ":bare", "$what"])
def test_a_target_without_a_vector_is_warned_about(kb, target):
    given = {"what": "zebra"} if target == "$what" else None
    (warning,) = kb.query(f"{PREFIX} SELECT ?x {{ ?x NEAR {target} AS ?s }} RANK BY ?s", given).warnings
    assert warning.code == "W109"
    assert not kb.query(f'{PREFIX} SELECT ?x {{ ?x NEAR "car zebra" AS ?s }} RANK BY ?s').warnings


def test_a_vector_of_another_length_is_an_error_also_where_nothing_is_compared(kb):
    query = f"{PREFIX} SELECT ?x {{ ?x :year :nothing . ?x NEAR [0.1, 0.2] AS ?s }} RANK BY ?s"
    with pytest.raises(VectorQueryError, match="a vector of 2 numbers") as raised:
        kb.query(query)
    span = raised.value.span
    assert query[span.start : span.end] == "[0.1, 0.2]"


def test_an_unknown_encoder_is_told_before_any_work(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "kb")
    toml = tmp_path / "kb" / "kb.toml"
    toml.write_text(toml.read_text().replace('encoder = "none"', 'encoder = "lsi"'))
    with pytest.raises(ConfigError, match="no encoder 'lsi'; known: none, lsa") as raised:
        kb.index()
    assert raised.value.hint == "did you mean 'lsa'?"
    assert raised.value.place == str(toml)


def test_damaged_vectors_leave_text_and_graph_at_work(folder, tmp_path, caplog):
    shutil.copytree(folder / "kb", tmp_path / "kb")
    (header,) = tmp_path.glob("kb/*/vectors/vectors.json")
    header.write_text(header.read_text().replace('"dimensions"', '"extent"'))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert names(kb, 'SELECT ?x { ?x MATCH "automobile" AS ?s } RANK BY ?s') == ["t1", "t2"]
        with pytest.raises(IndexMissingError, match="NEAR needs vectors"):
            names(kb, 'SELECT ?x { ?x NEAR "automobile" AS ?s } RANK BY ?s')
        assert "not used" in kb.stats()["vectors"]["state"]
        assert "vectors cannot be used" in caplog.text
        kb.index()
        assert len(names(kb, 'SELECT ?x { ?x NEAR "automobile" AS ?s } RANK BY ?s')) == len(TEXTS)


def test_vectors_stay_through_a_load_and_are_said_to_be_behind(folder, tmp_path):
    shutil.copytree(folder / "kb", tmp_path / "kb")
    (tmp_path / "more.ttl").write_text('<http://e/new> <http://e/text> "an engine" .')
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        before = files(kb)
        kb.load(tmp_path / "more.ttl", index=False)
        result = kb.query('SELECT ?x { ?x NEAR "engine" AS ?s } RANK BY ?s')
        assert len(result) == len(TEXTS)
        assert "vectors" in result.stale_indexes
        assert files(kb) == before
        kb.index()
        assert len(kb.query('SELECT ?x { ?x NEAR "engine" AS ?s } RANK BY ?s')) == len(TEXTS) + 1


def test_the_same_input_gives_the_same_bytes(folder, tmp_path):
    shutil.copytree(folder / "kb", tmp_path / "kb")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        before = files(kb)
        kb.index()
        assert files(kb) == before


def test_the_command_line_shows_the_plan(folder):
    query = PREFIX + 'SELECT ?x { ?x :year 2001 . ?x NEAR "engine" AS ?s } RANK BY ?s LIMIT 3'
    result = CliRunner().invoke(cli, ["explain", str(folder / "kb"), query], catch_exceptions=False)
    assert 'similarity to "engine" (lsa/1 8, 8 vectors)' in result.output
    assert 'Match ?x NEAR "engine" AS ?s' in result.output


def test_no_such_index_of_vectors(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "kb")
    toml = tmp_path / "kb" / "kb.toml"
    toml.write_text(
        toml.read_text().replace('encoder = "none"', 'encoder = "lsa"').replace('index = "flat"', 'index = "flot"')
    )
    with pytest.raises(ConfigError, match="no vector index 'flot'; known: elasticsearch, flat, hnsw") as raised:
        kb.index()
    assert "did you mean 'flat'?" in str(raised.value.hint)


@pytest.mark.parametrize(("content", "state"), [("flat\n", "ready"), (None, "ready"), ("tree\n", "of kind 'tree'")])
def test_the_index_that_was_built_is_the_one_that_is_opened(folder, tmp_path, content, state):
    shutil.copytree(folder / "kb", tmp_path / "kb")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        file = kb._snapshot.generation.path / "vectors" / "index"
        assert file.read_text() == "flat\n"
    file.unlink()
    if content is not None:
        file.write_text(content)
    reseal(file.parents[1], "vectors/index")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert state in kb.stats()["vectors"]["state"]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """A knowledge base of 400 short texts whose vectors have a graph."""
    pytest.importorskip("faiss")
    folder = tmp_path_factory.mktemp("graphs")
    words = sorted({word for text in TEXTS for word in text.split()})
    lines = [
        f':n{i} :text "{words[i % 23]} {words[i * i % 29]} {words[i * 7 % 31]} {words[i * 5 % 11]}" ; :year {i % 10} .'
        for i in range(400)
    ]
    (folder / "data.ttl").write_text("@prefix : <http://e/> .\n" + "\n".join(lines))
    (folder / "profile.ttl").write_text(PROFILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybridkg.vector.index.hnsw.VISIT_COST", 0)
        kb = KnowledgeBase.create(folder / "kb")
        toml = folder / "kb" / "kb.toml"
        written = toml.read_text().replace('encoder = "none"', 'encoder = "lsa"')
        toml.write_text(written.replace('index = "flat"', 'index = "hnsw"'))
        counts = kb.load(folder / "data.ttl", index=True, profile=folder / "profile.ttl")
        assert counts.index.vectors.details["recall@10"] >= 0.95
        yield kb
        kb.close()


@pytest.mark.parametrize(
    ("pattern", "exact"),
    [
        ('?x NEAR "engine" AS ?s', False),
        ('?x NEAR EXACT "engine" AS ?s', True),
        ('?x NEAR "engine" WITHIN 0.1 AS ?s', True),
        ('?x NEAR "engine" TOP 20 AS ?s . ?x :year 3', False),
        ('?x NEAR EXACT "engine" TOP 20 AS ?s . ?x :year 3', True),
        ("VALUES ?x { :n1 :n5 } ?x NEAR :n3 AS ?s", True),
        ('?x :year 3 . ?x MATCH "wheels" AS ?t', True),
    ],
)
def test_an_answer_says_whether_it_is_exact(graphs, pattern, exact):
    scored = "?t" if "?t" in pattern else "?s"
    result = graphs.query(f"{PREFIX} SELECT ?x {{ {pattern} }} RANK BY {scored} LIMIT 10")
    assert result.exact is exact
    scores = [row.rank_score for row in result]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("strategy", ["reference", "filter_first", "filtered_topk", "rank_first"])
def test_strategies_agree_on_scores_and_the_exact_ones_on_rows(graphs, strategy):
    query = (
        f'{PREFIX} SELECT ?x ?s {{ ?x :year ?y . ?x NEAR %s"engine wheels" AS ?s FILTER(?y < 8) }} RANK BY ?s LIMIT 30'
    )
    true = graphs.query(query % "EXACT ", strategy="reference")
    assert [tuple(row) for row in graphs.query(query % "EXACT ", strategy=strategy)] == [tuple(row) for row in true]
    of = {str(row["x"]): row.scores["s"] for row in graphs.query((query % "").replace("LIMIT 30", ""))}
    found = graphs.query(query % "", strategy=strategy)
    assert len(found) == len({str(row["x"]) for row in found}) == 30
    assert all(of[str(row["x"])] == row.scores["s"] for row in found)
    assert len({str(row["x"]) for row in found} & {str(row["x"]) for row in true}) >= 27


def test_stats_and_doctor_tell_the_recall(graphs, monkeypatch):
    vectors = graphs.stats()["vectors"]
    assert vectors["index"] == "hnsw"
    assert vectors["recall@10"] >= 0.95
    path = str(graphs._snapshot.generation.path.parent)
    shown = CliRunner().invoke(cli, ["doctor", path]).output
    assert f"hnsw, recall@10 {vectors['recall@10']:g}" in shown
    monkeypatch.setitem(sys.modules, "faiss", None)
    shown = CliRunner().invoke(cli, ["doctor", path]).output
    assert "the graph is not used: vector index 'hnsw' needs the package 'faiss'" in " ".join(shown.split())


@pytest.mark.parametrize("encoder", ["none", "sentence-transformers:x"])
def test_vectors_of_another_encoder_than_kb_toml_names_are_said_so(folder, tmp_path, encoder):
    shutil.copytree(folder / "kb", tmp_path / "kb")
    near = 'SELECT ?x { ?x NEAR "automobile" AS ?s } RANK BY ?s'
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert [warning.code for warning in kb.query(near).warnings] == []
        assert "note" not in kb.stats()["vectors"]
    toml = tmp_path / "kb" / "kb.toml"
    toml.write_text(toml.read_text().replace('encoder = "lsa"', f'encoder = "{encoder}"'))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        result = kb.query(near)
        assert [warning.code for warning in result.warnings] == ["W111"]
        assert f'made by "lsa", and kb.toml now has encoder = "{encoder}"' in result.warnings[0].message
        assert f'encoder = "{encoder}"; hybridkg index encodes them again' in kb.stats()["vectors"]["note"]
