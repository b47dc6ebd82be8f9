"""A knowledge base goes to a server and comes back: the same rows and scores, or nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store
from sampling import sampled
from scripted_endpoint import ScriptedEndpoint

from hybridkg.cli import cli
from hybridkg.config.settings import Config, ElasticSettings, EncodingSettings
from hybridkg.errors import ConfigError, IndexMissingError, LockedError, TextServerError, UnknownNameError
from hybridkg.interfaces.text_engine import engine_name
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.write.reports import MigrateReport
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.pending_settings import NAME, pending_settings, settle, write_pending

FILMS = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"
TEXT = 'SELECT ?f ?s { ?f MATCH "space crew" AS ?s } RANK BY ?s'
NEAR = 'SELECT ?f ?v { ?f NEAR "spaceship crew" WITHIN 0.01 AS ?v } RANK BY ?v'
JOIN = 'SELECT ?f ?s { ?f a <http://example.org/films/Film> . ?f MATCH "mars" AS ?s } RANK BY ?s'
NOWHERE = "http://127.0.0.1:1"
ROUNDED = 2e-7
"""The server computes cosines in float32, from vectors of the same bits."""


def films(path: Path, url: str = NOWHERE, alias: str = "", **settings) -> KnowledgeBase:
    KnowledgeBase.create(path).close()
    folder = Folder.open(path)
    elastic = replace(ElasticSettings(timeout=20), url=url, alias=alias)
    folder.configure(replace(folder.config, **{"encoder": "lsa", "elasticsearch": elastic, **settings}))
    kb = KnowledgeBase.open(path)
    kb.load(FILMS, index=True)
    return kb


def answers(kb, *queries):
    return [[tuple(map(str, row.values())) for row in kb.query(query)] for query in queries]


def files(kb, *parts):
    """Bytes of everything in folders of the live generation."""
    root = kb._snapshot.generation.path
    return {
        str(file.relative_to(root)): file.read_bytes()
        for part in parts
        for file in sorted((root / part).rglob("*"))
        if file.is_file()
    }


class BreakAt:
    """A progress that interrupts when a step begins."""

    def __init__(self, label):
        self.label, self.seen = label, []

    def start(self, label, total_bytes):
        self.seen.append(label)
        if label == self.label:
            raise KeyboardInterrupt

    def advance(self, bytes_read, items):
        pass

    def done(self, items):
        pass


def endpoint_of_films(*more):
    store = Store()
    store.load(path=str(FILMS), format=RdfFormat.TURTLE)
    store.extend(more)
    return ScriptedEndpoint(store)


@pytest.mark.parametrize("projection", ["export", "none"])
def test_a_graph_at_an_endpoint_stays_there(elastic, elastic_name, tmp_path, projection):
    with endpoint_of_films() as endpoint:
        KnowledgeBase.create(tmp_path / "kb", graph=endpoint.url).close()
        folder = Folder.open(tmp_path / "kb")
        settings = ElasticSettings(url=elastic.url, alias=elastic_name, timeout=20)
        far = replace(folder.config.endpoint, projection=projection)
        folder.configure(replace(folder.config, encoder="lsa", elasticsearch=settings, endpoint=far))
        kb = KnowledgeBase.open(tmp_path / "kb")
        kb.index()
        before = answers(kb, TEXT, JOIN)
        for place in ("elasticsearch", "embedded"):
            kb.migrate(place)
            assert answers(kb, TEXT, JOIN) == before
            assert engine_name(kb._snapshot.generation.path / "text") == place
            assert kb._snapshot.endpoint == endpoint.url


def test_a_graph_at_an_endpoint_that_has_changed_or_has_blank_nodes_is_refused(elastic, elastic_name, tmp_path):
    label = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
    with endpoint_of_films(Quad(BlankNode("x"), label, Literal("mars"))) as endpoint:
        KnowledgeBase.create(tmp_path / "kb", graph=endpoint.url).close()
        folder = Folder.open(tmp_path / "kb")
        settings = ElasticSettings(url=elastic.url, alias=elastic_name, timeout=20)
        folder.configure(replace(folder.config, elasticsearch=settings))
        kb = KnowledgeBase.open(tmp_path / "kb")
        kb.index()
        before = answers(kb, TEXT)
        with pytest.raises(IndexMissingError, match="has changed, or blank nodes have text") as caught:
            kb.migrate("elasticsearch")
        assert "--text-engine elasticsearch reads the graph" in str(caught.value)
        assert answers(kb, TEXT) == before
        assert elastic.indexes(elastic_name) == []
        kb.index(text_engine="elasticsearch")  # as the hint says
        assert answers(kb, TEXT) == before
        kb.close()


def test_there_and_back_gives_the_same_rows_scores_and_files(elastic, elastic_name, tmp_path, monkeypatch):
    kb = films(tmp_path / "kb", elastic.url, elastic_name)
    before, exact, near = answers(kb, TEXT, JOIN), files(kb, "text", "vectors"), answers(kb, NEAR)[0]
    state = kb._snapshot.generation.name
    with monkeypatch.context() as patched:
        patched.setattr("hybridkg.vector.encoders.lsa.LsaEncoder.passages", None)  # nothing may be encoded again
        told = kb.migrate("elasticsearch")
    assert (told.text.source, told.text.target) == ("embedded", "elasticsearch")
    assert (told.vectors.source, told.vectors.target) == ("flat", "elasticsearch")
    assert told.vectors.details["encoded"] == 0
    assert (told.text.entities, told.vectors.entities) == (31, 31)
    assert all(one.seconds > 0 < one.bytes_on_server for one in (told.text, told.vectors))
    assert answers(kb, TEXT, JOIN) == before
    there = answers(kb, NEAR)[0]
    assert [row[0] for row in there] == [row[0] for row in near]
    assert [float(row[1]) for row in there] == pytest.approx([float(row[1]) for row in near], abs=ROUNDED)
    assert int(kb._snapshot.generation.name) == int(state) + 1
    config = Folder.open(tmp_path / "kb").config
    assert (config.text, config.vectors, config.encoder) == ("elasticsearch", "elasticsearch", "lsa")
    assert kb.stats()["projection"]["state"] == "ready"
    assert kb._snapshot.generation.verify()

    back = kb.migrate("embedded")
    assert (back.text.source, back.text.target) == ("elasticsearch", "embedded")
    assert back.text.bytes_on_server is None
    assert answers(kb, TEXT, JOIN, NEAR) == [*before, near]
    assert files(kb, "text", "vectors") == exact
    assert Folder.open(tmp_path / "kb").config.text == "embedded"
    assert kb.prune() == []  # the state before is still on disk
    kb.close()
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        kb.index()
        kb.index()
        kb.prune(remove=True)
    assert elastic.indexes(elastic_name) == []


@pytest.mark.parametrize(
    "step",
    sampled(
        ["reading text from the graph", "indexing text", "moving vectors", "linking vectors on the server"],
        *("indexing text", "linking vectors on the server"),
    ),
)
def test_interrupted_it_is_where_it_was_and_the_server_is_clean(elastic, elastic_name, tmp_path, step):
    kb = films(tmp_path / "kb", elastic.url, elastic_name)
    before, settings = answers(kb, TEXT, NEAR), (tmp_path / "kb" / "kb.toml").read_bytes()
    progress = BreakAt(step)
    with pytest.raises(KeyboardInterrupt):
        kb.migrate("elasticsearch", progress=progress)
    assert progress.seen[-1] == step
    assert elastic.indexes(elastic_name) == []
    kb.refresh()
    assert answers(kb, TEXT, NEAR) == before
    assert (tmp_path / "kb" / "kb.toml").read_bytes() == settings
    kb.migrate("elasticsearch")
    assert answers(kb, TEXT) == before[:1]


@pytest.mark.parametrize("last_step", ["CURRENT", "kb.toml"])
def test_a_crash_at_the_switch_leaves_index_and_settings_both_old_or_both_new(
    elastic, elastic_name, tmp_path, monkeypatch, last_step
):
    import hybridkg.store.generations.next_generation as building
    import hybridkg.store.generations.pending_settings as pending

    class Crash(BaseException):
        pass

    def crashing(write):
        def replacement(path, text):
            if path.name == last_step:
                raise Crash
            write(path, text)

        return replacement

    kb = films(tmp_path / "kb", elastic.url, elastic_name)
    before = answers(kb, TEXT)
    for module in (building, pending):
        monkeypatch.setattr(module, "write_durably", crashing(module.write_durably))
    with pytest.raises(Crash):
        kb.migrate("elasticsearch")
    monkeypatch.undo()
    folder = Folder.open(tmp_path / "kb")
    engine = {"CURRENT": "embedded", "kb.toml": "elasticsearch"}[last_step]
    with KnowledgeBase.open(tmp_path / "kb") as opened:
        assert opened.stats()["text"]["engine"] == engine == folder.config.text
        assert answers(opened, TEXT) == before
        opened.index()  # with the engine that it has, whichever that is
        assert opened.stats()["text"]["engine"] == engine
    assert not (tmp_path / "kb" / NAME).exists()
    assert f'engine = "{engine}"' in (tmp_path / "kb" / "kb.toml").read_text()


def test_without_a_server_nothing_happens(tmp_path):
    with films(tmp_path / "kb") as kb:
        before, settings = answers(kb, TEXT), (tmp_path / "kb" / "kb.toml").read_bytes()
        with pytest.raises(TextServerError, match="cannot reach"):
            kb.migrate("elasticsearch")
        assert answers(kb, TEXT) == before
    assert (tmp_path / "kb" / "kb.toml").read_bytes() == settings


def test_text_comes_back_although_its_server_is_gone(elastic, elastic_name, tmp_path):
    kb = films(tmp_path / "kb", elastic.url, elastic_name, encoder="none")
    before = answers(kb, TEXT)
    kb.migrate("elasticsearch")
    folder = Folder.open(tmp_path / "kb")
    folder.configure(replace(folder.config, elasticsearch=replace(folder.config.elasticsearch, url=NOWHERE)))
    kb.refresh()
    kb.migrate("embedded")
    assert answers(kb, TEXT) == before
    folder.configure(replace(folder.config, elasticsearch=replace(folder.config.elasticsearch, url=elastic.url)))


def test_vectors_of_pieces_stay_and_say_so(elastic, elastic_name, tmp_path):
    kb = films(tmp_path / "kb", elastic.url, elastic_name, encoding=EncodingSettings(what="fields"))
    near = answers(kb, NEAR)
    told = kb.migrate("elasticsearch")
    assert told.vectors is None
    assert told.notes == ("the vectors stay here: entities have several, and Elasticsearch holds one of each",)
    assert answers(kb, NEAR) == near
    assert Folder.open(tmp_path / "kb").config.vectors == "flat"
    kb.migrate("embedded")
    assert answers(kb, NEAR) == near


def test_the_command_says_what_it_did_and_what_it_cost(elastic, elastic_name, tmp_path):
    films(tmp_path / "kb", elastic.url, elastic_name).close()
    result = CliRunner().invoke(cli, ["migrate", str(tmp_path / "kb"), "--to", "elasticsearch"])
    assert result.exit_code == 0, result.output
    for line in ("  engine: embedded -> elasticsearch", "  index: flat -> elasticsearch", "  encoded: 0"):
        assert line in result.output.splitlines()
    again = CliRunner().invoke(cli, ["migrate", str(tmp_path / "kb"), "--to", "elasticsearch"])
    assert (again.exit_code, again.output) == (0, "text: elasticsearch already\n")


def test_what_is_there_already_is_only_written_down(tmp_path):
    with films(tmp_path / "kb", vectors="flat") as kb:
        folder = Folder.open(tmp_path / "kb")
        folder.configure(replace(folder.config, text="elasticsearch"))  # edited, and not indexed since
        before = kb._snapshot.generation.name
        assert kb.migrate("embedded") == MigrateReport("embedded")
        assert (folder.config.text, kb._snapshot.generation.name) == ("embedded", before)


def test_it_is_refused_where_scores_would_change(tmp_path):
    with films(tmp_path / "kb") as kb:
        folder = Folder.open(tmp_path / "kb")
        with pytest.raises(UnknownNameError, match="no place 'moon' to move to; known: elasticsearch, embedded"):
            kb.migrate("moon")
        native = replace(folder.config.elasticsearch, analysis="native")
        folder.configure(replace(folder.config, elasticsearch=native))
        with pytest.raises(ConfigError, match="the terms are Elasticsearch's own"):
            kb.migrate("elasticsearch")
        (tmp_path / "more.ttl").write_text("<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> 'a' .")
        kb.load(tmp_path / "more.ttl", index=False)
        with pytest.raises(IndexMissingError, match="older than the graph"):
            kb.migrate("elasticsearch")
    with KnowledgeBase.create(tmp_path / "empty") as empty, pytest.raises(IndexMissingError, match="no text index"):
        empty.migrate("embedded")


def test_an_index_that_would_come_out_otherwise_is_not_moved(elastic, elastic_name, tmp_path):
    (tmp_path / "g.nq").write_text(
        '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "a" .\n'
        '<http://e/b> <http://www.w3.org/2000/01/rdf-schema#label> "b" <http://e/g> .\n'
    )
    KnowledgeBase.create(tmp_path / "kb").close()
    folder = Folder.open(tmp_path / "kb")
    elastic_settings = ElasticSettings(url=elastic.url, alias=elastic_name)
    folder.configure(Config(elasticsearch=elastic_settings))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        kb.load(tmp_path / "g.nq", index=True)
        folder.configure(Config(elasticsearch=elastic_settings, default_graph="union"))
        kb.refresh()
        with pytest.raises(IndexMissingError, match="the text of the entities has changed since the index was built"):
            kb.migrate("elasticsearch")
    assert elastic.indexes(elastic_name) == []


def test_two_writers_do_not_meet(tmp_path):
    with (
        films(tmp_path / "kb") as kb,
        Folder.open(tmp_path / "kb").locked(),
        pytest.raises(LockedError),
    ):
        kb.migrate("elasticsearch")


class TestPending:
    """Settings that count from the moment in which their generation does."""

    @pytest.fixture
    def folder(self, tmp_path):
        KnowledgeBase.create(tmp_path / "kb").close()
        return tmp_path / "kb"

    def test_they_count_only_with_their_generation(self, folder):
        write_pending(folder, "000009", 'text = "elasticsearch"\n')
        assert pending_settings(folder) is None
        write_pending(folder, (folder / "CURRENT").read_text().strip(), 'text = "elasticsearch"\n')
        assert Folder.open(folder).config.text == "elasticsearch"
        settle(folder)
        assert (folder / "kb.toml").read_text() == 'text = "elasticsearch"\n'
        assert not (folder / NAME).exists()

    def test_who_has_edited_kb_toml_meanwhile_is_right(self, folder):
        write_pending(folder, (folder / "CURRENT").read_text().strip(), 'text = "elasticsearch"\n')
        (folder / "kb.toml").write_text('vectors = "hnsw"\n')
        assert Folder.open(folder).config == Config(vectors="hnsw")
        settle(folder)
        assert (folder / "kb.toml").read_text() == 'vectors = "hnsw"\n'

    @pytest.mark.parametrize("damage", ["", "{", "[]", "[" * 100_000, '{"generation": 1}', "null", "\udcff"])
    def test_what_is_damaged_does_not_count(self, folder, damage):
        (folder / NAME).write_text(damage, errors="surrogateescape")
        assert pending_settings(folder) is None
        assert Folder.open(folder).config == Config()
        settle(folder)
        assert not (folder / NAME).exists()
