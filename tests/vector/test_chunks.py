"""Several vectors of an entity, from kb.toml to the rows: chunks of its text, or its fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from tiny_models import needs_packages, tiny

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.config.settings import Config, EncodingSettings, write_config
from hybridkg.config.settings_reader import parse_config
from hybridkg.errors import ConfigError, UnsupportedQueryError
from hybridkg.kb.write.encode_entities import ENCODED_AT_ONCE

WORDS = {
    "cars": "the engine of a car drives four wheels and an automobile has an engine",
    "pets": "cats and dogs are animals and a dog chases cats in the house",
    "space": "a rocket carries the crew to a station in orbit around the planet",
}
PREFIX = "PREFIX : <http://e/> "
PROFILE = """@prefix hk: <https://w3id.org/hybridkg/ns#> .
<> a hk:Profile ; hk:fields (
  [ hk:name "title" ; hk:path <http://e/title> ] [ hk:name "text" ; hk:path <http://e/text> ] ) ."""


def turtle():
    """Entities about one or two things; some have no title, one has a blank text."""
    names = list(WORDS)
    lines = ["@prefix : <http://e/> ."]
    for i in range(40):
        own, other = names[i % 3], names[(i + 1 + i % 2) % 3]
        title = f'; :title "{other} {i}"' if i % 4 else ""
        lines.append(f':n{i} :text "{WORDS[own]} {i}. {WORDS[other] if i % 5 else ""}" {title} ; :year {i % 7} .')
    return "\n".join([*lines, ':blank :text "  " ; :title "a rocket" .'])


def made(folder, encoding, encoder="lsa", vectors="flat"):
    kb = KnowledgeBase.create(folder / "kb")
    toml = folder / "kb" / "kb.toml"
    config = Config(encoder=encoder, vectors=vectors, encoding=EncodingSettings(**encoding))
    toml.write_text(write_config(config))
    (folder / "data.ttl").write_text(turtle())
    (folder / "profile.ttl").write_text(PROFILE)
    return kb


def load(kb, folder):
    return kb.load(folder / "data.ttl", index=True, profile=folder / "profile.ttl").index.vectors


def files(kb):
    folder = kb._snapshot.generation.path / "vectors"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SETTINGS = {
    "chunks max": {"what": "chunks", "chunk": 40, "overlap": 10},
    "chunks mean3": {"what": "chunks", "chunk": 40, "overlap": 10, "aggregate": "mean3"},
    "chunks sum": {"what": "chunks", "chunk": 40, "overlap": 10, "aggregate": "sum"},
    "fields max": {"what": "fields"},
    "fields sum": {"what": "fields", "aggregate": "sum"},
}


@pytest.fixture(scope="module", params=list(SETTINGS))
def kb(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pieces")
    with made(folder, SETTINGS[request.param]) as kb:
        counts = load(kb, folder)
        assert counts.vectors > counts.entities == 41
        yield kb


@pytest.mark.parametrize("strategy", ["reference", "filter_first", "filtered_topk", "rank_first", "threshold"])
@pytest.mark.parametrize(
    "pattern",
    [
        '?x NEAR "dogs chase cats" AS ?s',
        '?x NEAR "engine" WITHIN 0.1 AS ?s . ?x :year ?y FILTER(?y > 2)',
        "?x NEAR :n3 AS ?s . ?x :year ?y FILTER(?y != 3)",
        '?x NEAR "rocket crew" AS ?s OPTIONAL { ?x MATCH "car" AS ?t }',
        '?x MATCH "dogs" AS ?t . ?x NEAR "dogs" TOP 9 AS ?s',
    ],
)
def test_strategies_agree(kb, pattern, strategy):
    ranking = "rrf(?t, ?s)" if "?t" in pattern else "?s"
    query = f"{PREFIX} SELECT ?x ?s {{ {pattern} }} RANK BY {ranking} LIMIT 6"
    true = kb.query(query, strategy="reference")
    assert len(true) > 2
    try:
        found = kb.query(query, strategy=strategy)
    except UnsupportedQueryError:
        return  # this strategy is not for this query
    assert found.exact
    assert [(row.to_python(), row.rank_score) for row in found] == [(row.to_python(), row.rank_score) for row in true]


def test_a_similarity_join_compares_with_the_mean(kb):
    joined = kb.query(f"{PREFIX} SELECT ?x ?y ?s {{ ?x :year 3 . ?y :year 4 . ?x NEAR ?y AS ?s }} RANK BY ?s")
    assert len(joined) > 20
    for row in joined[:5]:
        single = kb.query(f"{PREFIX} SELECT ?s {{ VALUES ?x {{ {row['x'].n3()} }} ?x NEAR {row['y'].n3()} AS ?s }}")
        assert [one.scores["s"] for one in single] == [row.scores["s"]]


def test_similarities_are_those_of_the_pieces(kb):
    """Of an entity whose pieces are written out here, by the encoder itself."""
    vectors, about = kb._snapshot.vectors, kb.stats()["vectors"]
    text = f"{WORDS['cars']} 0. "
    asked = vectors.encoder.queries(["engine wheels"])[0].astype(np.float64)
    (row,) = kb.query(f'{PREFIX} SELECT ?s {{ VALUES ?x {{ :n0 }} ?x NEAR "engine wheels" AS ?s }}')
    if about["what"] == "fields":
        pieces = [text]
    else:
        assert about["what"] == "chunks of 40 characters, overlap 10"
        pieces = ["the engine of a car drives four wheels", "wheels and an automobile has an engine", "an engine 0."]
    similar = sorted(vectors.encoder.passages(pieces).astype(np.float64) @ asked, reverse=True)
    most = np.diff(vectors._starts).max()
    expected = {"max": similar[0], "mean3": np.mean(similar[:3]), "sum": np.sum(similar) / most}[about["aggregate"]]
    assert row.scores["s"] == pytest.approx(expected, abs=1e-6)


def test_why_shows_the_nearest_piece(kb):
    (row,) = kb.query(f'{PREFIX} SELECT ?x {{ VALUES ?x {{ :n2 }} ?x NEAR "four wheels" AS ?s }} RANK BY ?s')
    ((passage,),) = [hit.passages for hit in row.why().hits]
    assert passage.field == "text"
    vectors = kb._snapshot.vectors
    place = vectors._places(np.array([kb._snapshot.nodes.find(row.why().hits[0].entity)], np.uint32))[1][0]
    rows = vectors._vectors[vectors._starts[place] : vectors._starts[place + 1], : vectors.dimensions]
    asked, shown = vectors.encoder.queries(["four wheels"])[0], vectors.encoder.passages([passage.shown])[0]
    assert shown @ asked == pytest.approx((rows @ asked).max(), abs=1e-6)
    assert f"  {passage.field}, characters {passage.start} to {passage.end}: {passage.shown}" in str(row.why())


def test_stats_and_explain_say_what_has_a_vector(kb):
    vectors = kb.stats()["vectors"]
    assert vectors["entities"] == 41
    assert vectors["aggregate"] in ("max", "mean3", "sum")
    result = CliRunner().invoke(
        cli,
        ["explain", str(kb._snapshot.generation.path.parent), 'SELECT ?x { ?x NEAR "engine" AS ?s } RANK BY ?s'],
        catch_exceptions=False,
    )
    assert f"{vectors['vectors']} vectors)" in result.output


def test_the_same_input_gives_the_same_bytes(kb):
    before = files(kb)
    kb.index()
    assert files(kb) == before


def test_texts_of_one_chunk_are_encoded_as_entities_are(tmp_path):
    query = f'{PREFIX} SELECT ?x ?s {{ ?x NEAR "engine" AS ?s }} RANK BY ?s'
    rows = []
    for name, encoding in (("chunks", {"what": "chunks", "chunk": 1000, "aggregate": "sum"}), ("entity", {})):
        (tmp_path / name).mkdir()
        with made(tmp_path / name, encoding) as kb:
            load(kb, tmp_path / name)
            rows.append([row.to_python() for row in kb.query(query)])
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("encoding", "message", "place"),
    [
        ('what = "chunk"', 'setting \'encoding.what\' must be "entity" or "chunks" or "fields", not \'chunk\'', "k:2"),
        ("chunk = 0", "setting 'encoding.chunk' must be a whole number from 8 to 1,000,000, not 0", "k:2"),
        ("chunk = 64", "setting 'encoding.overlap' must be below 'encoding.chunk', which is 64, not 64", "k:2"),
        (
            'what = "chunks"\nchunk = 50\noverlap = 60',
            "setting 'encoding.overlap' must be below 'encoding.chunk', which is 50, not 60",
            "k:3",
        ),
        ("overlap = -1", "setting 'encoding.overlap' must be a whole number from 0 to 1,000,000, not -1", "k:2"),
        (
            'aggregate = "mean"',
            'setting \'encoding.aggregate\' must be "max" or "mean3" or "sum", not \'mean\'',
            "k:2",
        ),
    ],
)
def test_wrong_settings_are_named_with_their_line(encoding, message, place):
    with pytest.raises(ConfigError) as caught:
        parse_config(f"[encoding]\n{encoding}", "k")
    assert (caught.value.message, caught.value.place) == (message, place)


@pytest.mark.parametrize(
    ("encoding", "vectors", "message"),
    [
        ({"what": "chunks"}, "hnsw", "'hnsw' supports one vector per entity, not one for each of its chunks"),
        ({"what": "fields"}, "hnsw", "'hnsw' supports one vector per entity, not one for each of its fields"),
        ({"what": "chunks"}, "elasticsearch", "'elasticsearch' supports one vector per entity, not one for"),
        ({"what": "chunks", "unit": "tokens"}, "flat", "the encoder 'lsa' has no tokens to measure chunks in"),
    ],
)
def test_what_cannot_be_is_told_before_any_work(tmp_path, encoding, vectors, message):
    with made(tmp_path, encoding, vectors=vectors) as kb:
        with pytest.raises(ConfigError, match=message) as caught:
            load(kb, tmp_path)
        assert caught.value.place == str(tmp_path / "kb" / "kb.toml")
        assert kb.stats()["triples"] == 0


@needs_packages
@pytest.mark.filterwarnings("ignore")
def test_only_new_chunks_are_encoded(tmp_path, monkeypatch):
    from hybridkg.vector.encoders.transformer import TransformerEncoder

    seen, real = [], TransformerEncoder.passages

    def passages(self, texts):
        seen.append(list(texts))
        return real(self, texts)

    tiny(tmp_path / "model")
    encoding = {"what": "chunks", "chunk": 8, "overlap": 2, "unit": "tokens", "aggregate": "mean3"}
    with made(tmp_path, encoding, encoder="sentence-transformers:../model") as kb:
        (tmp_path / "data.ttl").write_text(
            f'<http://e/a> <http://e/text> "{"the car has an engine and four wheels " * 500}" .\n'
            '<http://e/b> <http://e/text> "cats and dogs" ; <http://e/title> "animals" .'
        )
        monkeypatch.setattr(TransformerEncoder, "passages", passages)
        counts = load(kb, tmp_path)
        assert counts.encoded == counts.vectors > 500
        assert max(map(len, seen)) <= ENCODED_AT_ONCE
        tokens = kb._snapshot.vectors.encoder.token_starts
        pieces = [text for batch in seen for text in batch if text.startswith("the car") and len(text) < 1_000]
        assert {len(tokens(text)) for text in pieces} == {8}
        before, rows = (
            files(kb),
            [row.to_python() for row in kb.query('SELECT ?x ?s { ?x NEAR "dogs" AS ?s } RANK BY ?s')],
        )
        assert len(rows) == 2
        seen.clear()
        assert kb.index().vectors.encoded == 0
        assert seen == []
        assert files(kb) == before
        (tmp_path / "more.ttl").write_text(
            '<http://e/c> <http://e/text> "cats and dogs live in houses with people of a car" .'
        )
        again = kb.load(tmp_path / "more.ttl", index=True, profile=tmp_path / "profile.ttl").index.vectors
        assert (again.encoded, again.vectors) == (2, counts.vectors + 2)
        toml = tmp_path / "kb" / "kb.toml"
        toml.write_text(toml.read_text().replace("mean3", "sum"))
        assert kb.index().vectors.encoded == 0
        assert kb.stats()["vectors"]["aggregate"] == "sum"


FIELDS = {
    "one": {"fields": "text"},
    "in another order": {"fields": " text,title,"},
    "chunks of one": {"fields": "text", "what": "chunks", "chunk": 40, "overlap": 10},
}


@pytest.mark.parametrize("chosen", list(FIELDS))
def test_only_the_chosen_fields_are_encoded(tmp_path, chosen):
    """As if the profile had no others; `check`, a commit and `why` read the same fields."""
    own, settings = tmp_path / "own", FIELDS[chosen]
    own.mkdir()
    only_text = '[ hk:name "title" ; hk:path <http://e/title> ] '
    with (
        made(tmp_path, settings) as kb,
        made(own, {key: settings[key] for key in settings if key != "fields"}) as other,
    ):
        if "title" not in settings["fields"]:
            (own / "profile.ttl").write_text(PROFILE.replace(only_text, ""))
        load(kb, tmp_path)
        load(other, own)
        assert kb._snapshot.vectors._vectors.tobytes() == other._snapshot.vectors._vectors.tobytes()
        assert kb.stats()["vectors"].get("fields") == (None if "title" in settings["fields"] else "text")
        kb.update('INSERT DATA { <http://e/new> <http://e/title> "a car" ; <http://e/text> "a rocket in orbit" }')
        assert [part for full in (False, True) for part in kb.check(full=full).bad] == []
        (row,) = kb.query(f'{PREFIX} SELECT ?x {{ VALUES ?x {{ :new }} ?x NEAR "rocket" AS ?s }} RANK BY ?s')
        ((passage,),) = [hit.passages for hit in row.why().hits]
        assert passage.field == "title" if "title" in settings["fields"] else passage.shown == "a rocket in orbit"


def test_a_field_to_encode_that_does_not_exist_is_an_error(tmp_path):
    with made(tmp_path, {"fields": "text, titel"}) as kb, pytest.raises(ConfigError) as e:
        load(kb, tmp_path)
    assert "no text field 'titel' to encode; known: title, text" in str(e.value)
    assert "did you mean 'title'?" in str(e.value)


def test_another_choice_of_fields_needs_another_index(tmp_path):
    with made(tmp_path, {}) as kb:
        load(kb, tmp_path)
        chosen = replace(kb._snapshot.config, encoding=EncodingSettings(fields="text"))
        (tmp_path / "kb" / "kb.toml").write_text(write_config(chosen))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert "fields" not in kb.stats()["vectors"]
        kb.update('INSERT DATA { <http://e/new> <http://e/text> "a rocket in orbit" }')
        assert kb.stats()["vectors"]["fields"] == "text"
