"""An unexpected failure over rotten files is reported as damage, and reads no more than it may."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import CorruptError
from hybridkg.kb import damage
from hybridkg.store.generations.generation import Generation

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"


class Watched:
    """Progress that remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, object]] = []

    def start(self, label: str, total_bytes: int | None) -> None:
        self.events.append((label, total_bytes))

    def advance(self, bytes_read: int, items: int) -> None:
        self.events.append(("read", bytes_read))

    def done(self, items: int) -> None:
        self.events.append(("done", items))

    @property
    def read(self) -> int:
        return sum(int(str(value)) for what, value in self.events if what == "read")


@pytest.fixture
def generation(tmp_path, copy_films) -> Generation:
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        return kb._snapshot.generation


def rot(generation: Generation, name: str) -> None:
    """Flips a bit of a file, which keeps its size."""
    file = generation.path / name
    data = file.read_bytes()
    file.unlink()  # another generation may have the same file
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def failure(module: str, inner: Exception | None = None) -> Exception:
    """An error that a function of a module has raised, or passed on."""
    space = {"__name__": module, "inner": inner or IndexError("an array is not what it was")}
    exec("def work(): raise inner", space)
    with pytest.raises(IndexError) as caught:
        space["work"]()
    return caught.value


@pytest.mark.parametrize(
    "name", ["text/1.lists.postings", "projection/forward.targets", "nodes.text", "text/text.json"]
)
def test_every_damaged_file_is_found_whatever_failed(generation, name):
    rot(generation, name)
    error = failure("hybridkg.results.build")
    with pytest.raises(CorruptError, match=name) as caught:
        damage.raise_if_damaged(generation, error)
    assert caught.value.__cause__ is error


def test_files_that_are_whole_leave_the_error_alone(generation):
    error = failure("hybridkg.text.index.topk.topk")
    progress = Watched()
    damage.raise_if_damaged(generation, error, progress)
    files = generation.manifest.files
    assert not hasattr(error, "__notes__")
    assert progress.events[0] == ("the query failed: comparing the files with their checksums", generation.bytes())
    assert progress.events[-1] == ("done", len(files))
    assert progress.read == generation.bytes()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("hybridkg.text.index.topk.topk", "text/1.lists.postings"),
        ("hybridkg.graph.walk", "projection/forward.targets"),
        ("hybridkg.entities.node_table", "nodes.text"),
    ],
)
def test_the_files_of_the_part_that_failed_are_read_first(generation, monkeypatch, module, name):
    rot(generation, name)
    files = generation.manifest.files
    part = damage.parts_of(failure(module).__traceback__)
    limit = sum(entry.size for file, entry in files.items() if file.startswith(part))
    monkeypatch.setattr(damage, "MAX_BYTES_READ", limit)
    with pytest.raises(CorruptError, match=name):
        damage.raise_if_damaged(generation, failure(module))


@pytest.mark.parametrize("limit", [0, 100, 5_000])
def test_no_more_is_read_than_the_limit_and_the_error_says_so(generation, monkeypatch, limit):
    monkeypatch.setattr(damage, "MAX_BYTES_READ", limit)
    error, progress = failure("hybridkg.text.index.topk.topk"), Watched()
    damage.raise_if_damaged(generation, error, progress)
    assert progress.read <= limit
    assert [note for note in error.__notes__ if "were not read: KnowledgeBase.verify()" in note]


def test_the_innermost_call_says_which_part_failed():
    error = failure("hybridkg.text.match", inner=failure("hybridkg.vector.index.flat"))
    assert damage.parts_of(error.__traceback__) == ("vectors/", "text/", "nodes.")
    assert damage.parts_of(failure("text.match").__traceback__) == ()


def test_a_query_tells_the_progress_of_its_knowledge_base(tmp_path, monkeypatch, copy_films):
    copy_films(tmp_path / "films.kb")
    progress = Watched()

    def broken(*_: object) -> None:
        raise IndexError("an array is not what it was")

    monkeypatch.setattr("hybridkg.kb.query_session.QuerySession.run", broken)
    with KnowledgeBase.open(tmp_path / "films.kb", progress=progress) as kb:
        with pytest.raises(IndexError):
            kb.query("SELECT * { ?s ?p ?o }")
        assert progress.read == kb._snapshot.generation.bytes()


@pytest.mark.parametrize("name", ["terms.offsets", "terms.prefixes", "terms.text"])
def test_damaged_terms_are_an_error_and_not_an_answer_without_rows(generation, name):
    file = generation.path / f"text/1.{name}"
    content = file.read_bytes()
    file.unlink()
    # The last offset is the size of the text, which opening compares.
    file.write_bytes(bytes(byte ^ 1 for byte in content[:-8]) + content[-8:])
    with KnowledgeBase.open(generation.path.parent) as kb:
        for text in ("mars", "mar*", '"from mars"', "mars rescue", "+mars"):
            with pytest.raises(CorruptError, match=f"the terms of the text index are damaged|{name}"):
                kb.query(f"SELECT ?f {{ ?f MATCH {text!r} AS ?s }} RANK BY ?s LIMIT 3")
