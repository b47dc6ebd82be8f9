"""What a knowledge base keeps on a server is told, is removed when asked for, and never left behind in silence."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg.cli import cli
from hybridkg.cli.diagnosis import BROKEN, NOTE, OK, diagnose
from hybridkg.errors import LockedError, StorageError, TextServerError
from hybridkg.extras import EXTRAS
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.write.reports import UnusedIndex
from hybridkg.store.generations.folder import Folder
from hybridkg.text.index.engine import EmbeddedTextEngine
from hybridkg.text.index.reader import EmbeddedTextIndex

ROOT = Path(__file__).resolve().parents[3]
FILMS = ROOT / "examples" / "films.ttl"


@pytest.fixture
def server(monkeypatch):
    """A server in memory behind the name `elasticsearch`: server.indexes, server.reachable, server.about."""
    about = {"documents": 1234, "bytes": 5_000_000}
    state = types.SimpleNamespace(indexes={}, foreign=set(), reachable=True, about=about)

    def ask():
        if not state.reachable:
            raise TextServerError("cannot reach the server", hint="is it running?")

    class Index(EmbeddedTextIndex):
        def about(self):
            return {"engine": "elasticsearch", **state.about}

    class Engine(EmbeddedTextEngine):
        is_remote = True

        def build(self, folder, source, progress):
            ask()
            self._made = name = f"films-{len(state.indexes) + 1}"
            state.indexes[name] = 10
            (folder / "index").write_text(name)
            return super().build(folder, source, progress)

        def open(self, folder, rank=None, *, fresh=True):
            return Index.open(folder, rank)

        def discard(self):
            state.indexes.pop(self._made, None)

        def unused(self, live):
            ask()
            needed = {(folder / "index").read_text() for folder in live}
            needed |= state.foreign
            return [{"name": n, "documents": d, "bytes": 2048} for n, d in state.indexes.items() if n not in needed]

        def name_of(self, folder):
            return f"elasticsearch index {(folder / 'index').read_text()}"

        def remove(self, names):
            ask()
            for name in names:
                del state.indexes[name]

    module = types.ModuleType("server_of_the_test")
    module.Engine = Engine
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(TEXT_ENGINES._builtin, "elasticsearch", f"{module.__name__}:Engine")
    return state


@pytest.fixture
def path(tmp_path, server):
    """A knowledge base with an index on the server."""
    path = tmp_path / "films.kb"
    KnowledgeBase.create(path).close()
    settings = path / "kb.toml"
    settings.write_text(settings.read_text().replace('engine = "embedded"', 'engine = "elasticsearch"'))
    with KnowledgeBase.open(path) as kb:
        kb.load(FILMS, index=True)
    return path


def run(*arguments, text=None):
    result = CliRunner().invoke(cli, [str(a) for a in arguments], input=text, catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


# --- prune -----------------------------------------------------------------------------


def test_no_index_that_a_state_on_disk_names_is_ever_removed(path, server):
    for _ in range(3):
        with KnowledgeBase.open(path) as kb:
            kb.index()
    on_disk = {(folder / "text" / "index").read_text() for folder in Folder.open(path).generations()}
    assert len(on_disk) == 2 < len(server.indexes)
    with KnowledgeBase.open(path) as kb:
        removed = {one.name for one in kb.prune(remove=True)}
        assert kb.prune() == []
    assert removed
    assert set(server.indexes) == on_disk


def test_prune_only_tells_unless_it_is_asked_to_remove(path, server):
    server.indexes["left"] = 5
    with KnowledgeBase.open(path) as kb:
        assert kb.prune() == [UnusedIndex("elasticsearch", "left", documents=5, bytes=2048)]
        assert kb.prune(remove=True, names=["another"]) == []
        assert "left" in server.indexes


def test_nothing_is_pruned_while_somebody_writes(path, server):
    with KnowledgeBase.open(path) as kb, Folder.open(path).building():
        with pytest.raises(LockedError):
            kb.prune(remove=True)
        with pytest.raises(LockedError):
            KnowledgeBase.remove(path)


def test_what_a_crashed_writer_left_is_no_state(path, server):
    server.indexes["left"] = 5
    for name in (".building-1", "000999"):
        folder = path / name / "text"
        folder.mkdir(parents=True)
        (folder / "index").write_text("left")
    with KnowledgeBase.open(path) as kb:
        assert [one.name for one in kb.prune()] == ["left"]


def test_the_command_asks_before_it_removes(path, server):
    server.indexes["left"] = 1234
    result = run("prune", path, text="n\n")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "left  documents 1,234, bytes 2.0 KiB"
    assert "nothing was removed" in result.stderr
    assert "left" in server.indexes
    result = run("prune", path, text="y\n")
    assert "removed 1 index" in result.stderr
    assert "left" not in server.indexes
    assert "nothing to remove" in run("prune", path, "--yes").stderr


def test_the_command_with_yes_asks_nothing(path, server):
    server.indexes["left"] = 5
    assert run("prune", path, "--yes").exit_code == 0
    assert "left" not in server.indexes


def test_without_an_answer_nothing_is_removed(path, server):
    server.indexes["left"] = 5
    assert run("prune", path, text="").exit_code == 1
    assert "left" in server.indexes


def test_an_embedded_index_leaves_nothing(tmp_path, copy_films):
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        assert kb.prune(remove=True) == []


# --- remove ----------------------------------------------------------------------------


def test_a_removed_knowledge_base_leaves_no_index(path, server):
    server.indexes["left"] = 5
    assert KnowledgeBase.remove(path) == []
    assert server.indexes == {}
    assert not path.exists()


def test_what_a_copy_uses_and_another_folder_made_is_named_and_stays(path, server):
    (used,) = server.indexes
    server.foreign = {used}
    assert KnowledgeBase.remove(path) == [f"elasticsearch index {used}"]
    assert used in server.indexes
    assert not path.exists()


def test_nothing_is_deleted_while_the_server_does_not_answer(path, server):
    server.reachable = False
    with pytest.raises(TextServerError, match="cannot reach") as e:
        KnowledgeBase.remove(path)
    assert (
        e.value.hint.splitlines()[0]
        == "nothing was deleted, because the text index is on the server of 'elasticsearch'"
    )
    server.reachable = True
    with KnowledgeBase.open(path) as kb:
        assert kb.query('ASK { ?f MATCH "space" }').boolean


def test_without_an_index_on_it_the_server_is_not_needed(path, tmp_path, server):
    server.reachable = False
    other = tmp_path / "other.kb"
    KnowledgeBase.create(other).close()
    (other / "kb.toml").write_text((path / "kb.toml").read_text())
    KnowledgeBase.remove(other)
    assert not other.exists()


@pytest.mark.parametrize("name", ["kb.toml", "CURRENT", "000002/manifest.json"])
def test_a_damaged_knowledge_base_can_be_removed(tmp_path, name, copy_films):
    path = tmp_path / "films.kb"
    copy_films(path)
    assert (path / name).exists()
    (path / name).write_bytes(b"\xff damaged")
    KnowledgeBase.remove(path)
    assert not path.exists()


def test_a_folder_that_cannot_be_locked_is_told(tmp_path, monkeypatch):
    import filelock

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "films.kb"
    KnowledgeBase.create(path).close()
    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    with pytest.raises(StorageError, match="Permission denied"):
        KnowledgeBase.remove(path)


# --- stats and doctor ------------------------------------------------------------------


def test_stats_say_where_the_text_index_is(path, server):
    server.about |= {"index": "films-1", "url": "http://127.0.0.1:9200", "health": "green"}
    lines = run("stats", path).stdout.splitlines()
    at = lines.index("text engine: elasticsearch")
    assert lines[at + 1 : at + 6] == [
        "  documents: 1,234",
        "  bytes: 4.8 MiB",
        "  index: films-1",
        "  url: http://127.0.0.1:9200",
        "  health: green",
    ]
    assert json.loads(run("stats", path, "--format", "json").stdout)["text"]["bytes"] == 5_000_000


def test_stats_of_an_embedded_index_say_so_in_one_line(tmp_path, copy_films):
    copy_films(tmp_path / "films.kb")
    assert "\ntext engine: embedded\n\n" in run("stats", tmp_path / "films.kb").stdout


@pytest.mark.parametrize(
    ("about", "state", "said"),
    [
        ({"url": "http://127.0.0.1:9200", "health": "yellow"}, OK, "elasticsearch answers: url http://127.0.0.1:9200"),
        ({"url": "http://127.0.0.1:9200", "health": "red"}, NOTE, "health red"),
        ({"url": "http://127.0.0.1:9200", "problem": "cannot reach it"}, BROKEN, "elasticsearch: cannot reach it"),
    ],
)
def test_the_doctor_asks_the_server_of_a_knowledge_base(path, server, about, state, said):
    server.about = about
    (check,) = [check for check in diagnose(path) if check.name == "text server"]
    assert check.state == state
    assert said in check.detail


def test_the_doctor_asks_no_server_for_an_embedded_index(tmp_path, copy_films):
    copy_films(tmp_path / "films.kb")
    assert not [check for check in diagnose(tmp_path / "films.kb") if check.name == "text server"]


def test_the_doctor_knows_which_client_can_be_used():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = EXTRAS["elasticsearch"]["elasticsearch"]
    assert f"elasticsearch{bounds}" in project["optional-dependencies"]["elasticsearch"]
    (check,) = [check for check in diagnose() if check.name == "elasticsearch"]
    assert check.part == "optional"
