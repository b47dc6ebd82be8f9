"""The rows of `KnowledgeBase.stream`: its limits, its errors and its end."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from hybridkg import HybridkgError, KnowledgeBase
from hybridkg.errors import CorruptError, QueryLimitError, QueryStoppedError, StorageError, UserError
from hybridkg.kb import cancellation
from hybridkg.operators.row_cursor import ROWS_PER_BLOCK, RowCursor
from hybridkg.rdf.solutions import Row, SolutionStream
from hybridkg.results.result import Result
from hybridkg.store.oxigraph import OxigraphStore

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
MILLIONS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
"""Two million rows."""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> KnowledgeBase:
    return KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("kb") / "films.kb"))


def read(result: Result, rows: int | None = None) -> int:
    return sum(1 for _ in islice(result.rows(), rows))


def workers() -> int:
    return sum(thread.name == "hybridkg query" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name == "hybridkg query":
            thread.join(60)
    assert workers() == 0
    assert cancellation.count_orphans() == 0


def test_rows_come_while_the_store_computes_them(films):
    endless = f"{MILLIONS[:-2]} . ?j ?k ?l . ?m ?n ?o . ?p ?q ?r . ?s ?t ?u }}"
    with films.stream(endless) as result:  # all of its 7e14 rows would take years
        assert read(result, 10_000) == 10_000
        assert result.returned is None


def test_the_limit_on_rows_holds_and_has_its_source(films):
    with films.stream(MILLIONS, max_rows=5_000, name="large.hq") as result:
        assert result.returned is None
        with pytest.raises(QueryLimitError, match="more than 5,000 rows") as caught:
            read(result)
    with pytest.raises(QueryLimitError) as held:
        films.query(MILLIONS, max_rows=5_000, name="large.hq")
    assert caught.value.render() == held.value.render()
    with films.stream(f"{MILLIONS} LIMIT 5000", max_rows=5_000) as result:
        assert read(result) == 5_000


def test_the_limit_on_memory_is_that_of_a_block_until_the_rows_are_held(films):
    query = f"{MILLIONS} LIMIT 20000"
    with films.stream(query, max_megabytes=5) as result:
        assert read(result) == 20_000
    with films.stream(query, max_megabytes=5) as result, pytest.raises(QueryLimitError, match="takes more than 5 MB"):
        result.held()
    with pytest.raises(QueryLimitError, match=r"takes more than 0\.1 MB"), films.stream(query, max_megabytes=0.1):
        pass


def test_the_time_limit_holds_while_rows_are_read(films, clock, monkeypatch):
    def late(cursor: RowCursor) -> list[Row]:
        clock.ahead = lambda: 1000.0
        return next_block(cursor)

    next_block = RowCursor.next_block
    with films.stream(MILLIONS, timeout=900, strategy="oxigraph") as result:
        rows = result.rows()
        next(rows)
        monkeypatch.setattr(RowCursor, "next_block", late)
        with pytest.raises(QueryStoppedError, match="longer than 900 s") as caught:
            list(rows)
    assert caught.value.doing == "Oxigraph"


def test_the_time_limit_does_not_count_what_the_reader_does(films, clock):
    with films.stream(f"{MILLIONS} LIMIT {3 * ROWS_PER_BLOCK}", timeout=900) as result:
        rows = result.rows()
        next(rows)
        clock.ahead = lambda: 600.0
        assert sum(1 for _ in islice(rows, ROWS_PER_BLOCK)) == ROWS_PER_BLOCK
        clock.ahead = lambda: 1200.0
        assert sum(1 for _ in rows) == 2 * ROWS_PER_BLOCK - 1


def test_another_thread_ends_the_reading(films):
    cancel = threading.Event()
    with films.stream(MILLIONS, cancel=cancel) as result:
        rows = result.rows()
        assert sum(1 for _ in islice(rows, 10_000)) == 10_000
        cancel.set()
        with pytest.raises(QueryStoppedError, match="cancelled"):
            list(rows)


def test_rows_are_read_once_and_inside_the_block(films):
    with films.stream(MILLIONS) as result:
        rows = result.rows()
        next(rows)
        with pytest.raises(UserError, match="have been read"):
            result.rows()
    with pytest.raises(UserError, match="has been ended"):
        list(rows)
    assert repr(result).endswith("not read to the end)")


def test_rows_may_be_read_in_another_thread(films):
    counts: list[int] = []
    with films.stream(f"{MILLIONS} LIMIT 10000") as result:
        thread = threading.Thread(target=lambda: counts.append(read(result)))
        thread.start()
        thread.join()
    assert counts == [10_000]


def test_a_stream_that_is_dropped_ends(films):
    with films.stream(MILLIONS):
        pass
    with films.stream(MILLIONS) as result:
        rows = result.rows()
        next(rows)
    del rows, result


def fails(monkeypatch: pytest.MonkeyPatch, failure: Exception, before: Callable[[], object] = bool) -> None:
    """Lets the store fail after 5,000 rows."""
    select = OxigraphStore.select

    def interrupted(rows: Iterator[Row]) -> Iterator[Row]:
        yield from islice(rows, 5_000)
        before()
        raise failure

    def failing(self: OxigraphStore, sparql: str) -> SolutionStream:
        stream = select(self, sparql)
        return SolutionStream(stream.variables, interrupted(stream.rows))

    monkeypatch.setattr(OxigraphStore, "select", failing)


@pytest.mark.parametrize("failure", [StorageError("the disk has gone"), IndexError("a bug")])
def test_a_failure_in_the_middle_is_an_error(films, monkeypatch, failure):
    fails(monkeypatch, failure)
    with films.stream(MILLIONS, strategy="oxigraph") as result, pytest.raises(type(failure)) as caught:
        read(result)
    assert caught.value is failure
    assert result.returned is None


def test_damage_that_shows_in_the_middle_is_reported(films, tmp_path, monkeypatch):
    shutil.copytree(films._folder.path, tmp_path / "copy")
    kb = KnowledgeBase.open(tmp_path / "copy")
    table = max((tmp_path / "copy").glob("0*/graph/*.sst"), key=lambda path: path.stat().st_size)
    fails(monkeypatch, IndexError("a bug"), lambda: table.write_bytes(table.read_bytes()[:-1] + b"?"))
    with kb.stream(MILLIONS, strategy="oxigraph") as result, pytest.raises(CorruptError, match=table.name):
        read(result)


def test_an_error_of_the_writer_is_its_own(films):
    class Full:
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    for fmt, query in (("csv", MILLIONS), ("nt", "CONSTRUCT { ?a ?b ?f } WHERE { ?a ?b ?c . ?d ?e ?f }")):
        with films.stream(query) as result, pytest.raises(OSError, match="No space left"):
            result.write(Full(), fmt)  # type: ignore[arg-type]


def test_a_file_appears_when_it_is_complete(films, tmp_path):
    path = tmp_path / "rows.csv"
    with films.stream(f"{MILLIONS} LIMIT 5000") as result:
        result.write(path, "csv")
    whole = path.read_bytes()
    assert whole.count(b"\r\n") == 5_001
    for options in ({"max_rows": 5_000}, {"timeout": 0.2}):
        with pytest.raises(HybridkgError), films.stream(MILLIONS, strategy="oxigraph", **options) as result:
            result.write(path, "csv")
        with pytest.raises(HybridkgError), films.stream(MILLIONS, strategy="oxigraph", **options) as result:
            result.write(tmp_path / "new.csv", "csv")
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_a_file_keeps_its_mode_its_link_and_its_kind(films, tmp_path):
    path, link = tmp_path / "rows.tsv", tmp_path / "link.tsv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    result = films.query("SELECT ?n { VALUES ?n { 1 } }")
    result.write(str(link), "tsv")
    assert link.is_symlink()
    assert path.read_text() == '?n\n"1"^^<http://www.w3.org/2001/XMLSchema#integer>\n'
    assert path.stat().st_mode & 0o777 == 0o640
    result.write("/dev/null", "json")
    assert Path("/dev/null").is_char_device()
    for wrong in (tmp_path, tmp_path / "none" / "rows.tsv"):
        with pytest.raises(StorageError, match="cannot write"):
            result.write(wrong, "tsv")
