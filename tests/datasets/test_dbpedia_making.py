"""DBpedia-Entity v2 as a dataset: interrupted and gone on, out of hostile dumps, by the command."""

from __future__ import annotations

import bz2
import gc
import json
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from dbpedia_dumps import A_LABELS, DUMPS, convert, lay_out, read
from dbpedia_reference import O, R
from sampling import sampled

from hybridkg.cli import cli
from hybridkg.datasets.building import make_dataset
from hybridkg.datasets.dbpedia import converting, making, spill, triples
from hybridkg.datasets.dbpedia.converting import DOCUMENTS, GRAPH, Conversion, find_dumps
from hybridkg.datasets.dbpedia.making import make_dbpedia
from hybridkg.datasets.dbpedia.partition import partition
from hybridkg.datasets.dbpedia.rules import load_rules
from hybridkg.datasets.dbpedia.spill import EntitySpill, Sample, lines_of
from hybridkg.errors import CorruptError, LoadError, LockedError, UserError
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import read_topics
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb import KnowledgeBase
from hybridkg.linking.link_file import read_link_file


class Interrupt:
    """Progress that interrupts the work at its n-th word."""

    def __init__(self, after: int):
        self.left = after

    def _word(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def start(self, label, total_bytes):
        self._word()

    def advance(self, bytes_read, items):
        self._word()

    def done(self, items):
        self._word()


@pytest.mark.parametrize("index", ["A", "B"])
def test_an_interrupted_conversion_goes_on_to_the_same_files(tmp_path, index, monkeypatch):
    monkeypatch.setattr(converting, "ANSWERED_AT_ONCE", 2)
    dumps = lay_out(tmp_path / "d", {**DUMPS, **A_LABELS}, ".bz2")
    want = convert(dumps, tmp_path / "w", index, range_bytes=200)
    again, runs, read = tmp_path / "again", 0, []

    def recorded(dump, *args, **kwargs):
        lines = partition(dump, *args, **kwargs)
        read.append(dump.name)
        return lines

    monkeypatch.setattr(converting, "partition", recorded)
    while True:
        progress = Interrupt({"A": 7, "B": 4}[index])
        try:
            found = convert(dumps, again, index, progress, range_bytes=200)
            break
        except KeyboardInterrupt:
            runs += 1
            assert runs < 60
    assert found == want
    assert runs > 4
    assert len(read) == len(set(read))  # none that was done is read again


@pytest.mark.parametrize("index", sampled(["A", "B"], "A"))
def test_processes_make_the_same_files(tmp_path, index, monkeypatch):
    dumps = lay_out(tmp_path / "d", {**DUMPS, **A_LABELS})
    want = convert(dumps, tmp_path / "w", index, range_bytes=200)
    monkeypatch.setattr(converting, "PROCESSES_FROM", 0)
    assert convert(dumps, tmp_path / "again", index, range_bytes=200) == want
    for name in (DOCUMENTS, GRAPH):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "w" / name).read_bytes()


def test_what_goes_wrong_in_a_process_is_told_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(converting, "PROCESSES_FROM", 0)
    dumps = lay_out(tmp_path / "d", {**DUMPS, "page_links_en": ["<relative> <x:p> <x:o> ."]})
    with pytest.raises(LoadError, match="not a triple of N-Triples") as e:
        convert(dumps, tmp_path / "w")
    assert "page_links_en" in str(e.value.place)


@pytest.mark.parametrize("after", [6, 12])
def test_progress_that_fails_ends_the_processes(tmp_path, monkeypatch, after):
    monkeypatch.setattr(converting, "PROCESSES_FROM", 0)
    with pytest.raises(KeyboardInterrupt):
        convert(lay_out(tmp_path / "d", DUMPS), tmp_path / "w", "B", Interrupt(after), range_bytes=200)


def test_what_an_interruption_left_behind_the_noted_sizes_is_cut_off(tmp_path):
    dumps = lay_out(tmp_path / "d", DUMPS)
    want = convert(dumps, tmp_path / "w", range_bytes=200)
    everything = json.loads((tmp_path / "w/state.json").read_text())["ranges"]
    for after in range(10, 100):
        work = tmp_path / f"again{after}"
        with pytest.raises(KeyboardInterrupt):
            convert(dumps, work, "B", Interrupt(after), range_bytes=200)
        if (work / "state.json").exists() and json.loads((work / "state.json").read_text())["ranges"]:
            break
    assert 0 < json.loads((work / "state.json").read_text())["ranges"] < everything
    for name in (DOCUMENTS, GRAPH):
        with (work / name).open("ab") as file:
            file.write(b"half of a range")
    assert convert(dumps, work, range_bytes=200) == want


def test_a_conversion_goes_on_only_with_the_same_dumps_and_rules(tmp_path):
    dumps = lay_out(tmp_path / "d", DUMPS)
    convert(dumps, tmp_path / "w")
    with pytest.raises(UserError, match="was begun with other rules"):
        convert(dumps, tmp_path / "w", "A")
    lay_out(tmp_path / "d", {**DUMPS, "page_links_en": []})
    with pytest.raises(UserError, match="was begun with other dumps"):
        convert(dumps, tmp_path / "w")


def test_ranges_are_of_about_one_size_and_memory_holds_one(tmp_path, monkeypatch):
    sample = Sample()
    monkeypatch.setattr(spill, "MAX_SAMPLED", 500)
    keys = [f"{i * 7919 % 10007:05d}".encode() for i in range(10_007)]
    for key in keys:
        sample.add(key)
    splits = sample.splits(16)
    made = EntitySpill(tmp_path / "s", splits, flushed_at=4_000)
    most = 0
    for key in keys:
        made.add(key, b"x" * 20)
        made.add(key, b"x" * 20)
        most = max(most, made._bytes, sum(len(row) for rows in made._waiting for row in rows))
    made.close()
    assert most < 4_100
    sizes = [len(lines_of([tmp_path / "s"], number)) for number in range(16)]
    assert sum(sizes) == 10_007  # the second of each is gone
    assert max(sizes) < 2 * 10_007 / 16


class _Restless:
    """Only the collector takes it away, and that lets other threads run: at any allocation."""

    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(1e-5)


@pytest.fixture
def collecting_often():
    threshold = gc.get_threshold()
    gc.set_threshold(70)
    yield
    gc.set_threshold(*threshold)


def test_ranges_are_read_side_by_side_while_the_collector_runs(tmp_path, collecting_often):
    made = EntitySpill(tmp_path / "s", [b"m"])
    made.add(b"a", b"1")
    made.add(b"z", b"2")
    made.close()

    def read(number):
        return [(_Restless(), lines_of([tmp_path / "s"], number))[1] for _ in range(300)]

    with ThreadPoolExecutor(4) as threads:
        for number, found in zip((0, 1, 0, 1), threads.map(read, (0, 1, 0, 1)), strict=True):
            assert found == [[(b"a\t1\n", b"z\t2\n")[number]]] * 300


@pytest.mark.parametrize("places", [0, 7, 8, 16, 24, 40, 64, "zeros", "ones", "huge"])
def test_damaged_starts_of_frames_are_said(tmp_path, places):
    spill = EntitySpill(tmp_path / "s", [b"m"], flushed_at=1)
    for key in (b"a", b"z"):
        spill.add(key, b"1")
    spill.close()
    starts = tmp_path / "s.starts"
    whole = starts.read_bytes()
    assert len(whole) == 8 * (2 + 3 * 3)
    damaged = {
        "zeros": whole[:16] + b"\0" * (len(whole) - 16), "ones": b"\xff" * len(whole),
        "huge": whole[:24] + b"\xff" * 8 + whole[32:],
    }  # fmt: skip
    starts.write_bytes(damaged[places] if isinstance(places, str) else whole[:places])
    with pytest.raises(CorruptError, match="is damaged"):
        lines_of([tmp_path / "s"], 0)


# --- hostile dumps ------------------------------------------------------------------------------------------------

WRONG = {
    b'<http://dbpedia.org/resource/X> <x:p> "open .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\\q" .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\\uD800" .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\\U00110000" .\n': "not a triple of N-Triples",
    b'<http://dbpedia.org/resource/X> <x:p> "\xff" .\n': "not UTF-8",
    b"<relative> <x:p> <x:o> .\n": "not a triple of N-Triples",
    b"<x:s> <x:p> <x:o o> .\n": "not a triple of N-Triples",
    b"@prefix a: <x:a> .\n": "not a triple of N-Triples",
    b"<x:s> <x:p>\n": "not a triple of N-Triples",
    b"\x00\n": "not a triple of N-Triples",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_line_is_an_error_with_its_place_or_counted(tmp_path, wrong):
    dumps = lay_out(tmp_path / "d", DUMPS)
    path = dumps / "core-i18n/en/page_links_en.ttl"
    path.write_bytes(path.read_bytes() + wrong + b"<x:s> <x:p> <x:o> .\n")
    number = path.read_bytes().count(b"\n") - 1
    with pytest.raises(LoadError, match=WRONG[wrong]) as caught:
        convert(dumps, tmp_path / "w")
    assert caught.value.place == f"{path}:{number}"
    rules = load_rules("B")
    conversion = Conversion(rules, find_dumps(rules, dumps), tmp_path / "w", SILENT, lenient=True)
    state = conversion.run()
    assert state.dumps["page_links_en"] == [3, 1]
    assert state.first_skipped == {"page_links_en": f"{path}:{number}"}
    assert R + "Rome" in read(tmp_path / "w")[0]


def test_a_line_without_end_and_a_cut_archive_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(triples, "MAX_LINE_LENGTH", 1000)
    dumps = lay_out(tmp_path / "d", DUMPS)
    path = dumps / "core-i18n/en/page_links_en.ttl"
    path.write_bytes(b'#\n<x:s> <x:p> "' + b"a" * 3_000_000)
    for lenient in (False, True):
        with pytest.raises(LoadError, match="a line of more than") as caught:
            convert(dumps, tmp_path / "w", lenient=lenient)
        assert caught.value.place == f"{path}:2"
    path.unlink()
    whole = bz2.compress(b"<x:s> <x:p> <x:o> .\n" * 10_000)
    (dumps / "core-i18n/en/page_links_en.ttl.bz2").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LoadError, match="the bzip2 archive ends too early"):
        convert(dumps, tmp_path / "w2")
    assert not list((tmp_path / "w2").glob("page_links*"))


def test_what_the_graph_cannot_have_is_text_only(tmp_path):
    lines = [f"<{R}Rome> <{O}odd> <{R}100%> .", f'<{R}Rome> <{O}odd> "x"@abcdefgh-1 .', f"_:b <{O}odd> <{R}Rome> .",
             f"<{R}Rome>\t<{O}tabs>\t<{R}Ada> .", f"<{R}Rome> <{O}escaped> <{R}Caf\\u00E9> ."]  # fmt: skip
    dumps = lay_out(tmp_path / "d", {**DUMPS, "mappingbased_objects_en": lines})
    rules = load_rules("B")
    (tmp_path / "w").mkdir()
    state = Conversion(rules, find_dumps(rules, dumps), tmp_path / "w", SILENT, lenient=True).run()
    fields, graph = read(tmp_path / "w")
    assert state.counts["left_out"] + state.dumps["mappingbased_objects_en"][1] >= 1
    assert {"100%", "Ada", "Café"} <= set(fields[R + "Rome"]["related"])
    assert [row for row in graph if "odd" in row] == []
    assert f"<{R}Rome> <{O}escaped> <{R}Café> ." in graph


# --- the dataset --------------------------------------------------------------------------------------------------

COLLECTION = {
    "queries-v2.txt": "QALD2_te-1\tWhich city is eternal?\nINEX_LD-2\tAda\n",
    "queries-v2_stopped.txt": "QALD2_te-1\tcity is eternal\nINEX_LD-2\tAda\n",
    "qrels-v2.txt": "QALD2_te-1\tQ0\t<dbpedia:Rome>\t2\nINEX_LD-2\tQ0\t<dbpedia:Ada>\t1\n",
    **{f"folds/{name}.json": '{"0": {"training": ["INEX_LD-2"], "testing": ["QALD2_te-1"]}}'
       for name in ("all_queries", "SemSearch-ES", "INEX-LD", "ListSearch", "QALD2")},
}  # fmt: skip
EXTRAS = {
    "v1/qrels-v1_2015_10.txt": "QALD2_te-1\tQ0\t<dbpedia:Rome>\t3\nold-1\tQ0\t<dbpedia:Ada>\t1\n",
    "v1/folds/all_queries.json": '{"0": {"training": ["old-1"], "testing": ["QALD2_te-1"]}}',
    "kewer/entity-extraction/query-entities.json": json.dumps({"QALD2_te-1": {"entities": [[R + "Rome", 0.9]]}}),
}


@pytest.fixture
def collection(tmp_path) -> Path:
    for name, text in {**{f"v2/{name}": text for name, text in COLLECTION.items()}, **EXTRAS}.items():
        path = tmp_path / "dbpedia-entity-v2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "dbpedia-entity-v2"


def test_the_command_makes_the_whole_folder(tmp_path, collection):
    dumps = lay_out(tmp_path / "d", DUMPS, ".bz2")
    given = ["--dumps", str(dumps), "--collection", str(collection), "--out", str(tmp_path / "o")]
    arguments = ["dataset", "dbpedia-entity-v2", *given]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "entities: 3\n" in result.stderr
    out = tmp_path / "o"
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "categories.tsv", "dataset.toml", "folds-INEX_LD.json", "folds-ListSearch.json",
        "folds-QALD2.json",
        "folds-SemSearch_ES.json", "folds-v1.json", "folds.json", "kb", "links", "qrels-v1.txt", "qrels.txt",
        "topics-stopped.tsv", "topics.tsv",
    ]  # fmt: skip
    assert not (tmp_path / "o.partial").exists()
    assert read_topics(out / "topics-stopped.tsv").texts["QALD2_te-1"] == "city is eternal"
    assert read_qrels(out / "qrels.txt").grades["QALD2_te-1"] == {R + "Rome": 2}
    assert read_qrels(out / "qrels-v1.txt").grades["QALD2_te-1"] == {R + "Rome": 3}
    links = read_link_file(out / "links/spotlight.tsv")
    assert links.of("city is eternal") == links.of("Which city is eternal?") != ()
    about = tomllib.loads((out / "dataset.toml").read_text())
    assert about["counts"]["entities"] == 3
    assert {"labels_en.ttl.bz2"} <= {source["file"] for source in about["sources"]}
    with KnowledgeBase.open(out / "kb") as kb:
        query = "SELECT ?e { ?e MATCH $text ON (catchall) USING lm(mu=2000) AS ?s } RANK BY ?s LIMIT 1"
        assert str(next(iter(kb.query(query, {"text": "city is eternal"})))["e"]) == R + "Rome"
        assert len(list(kb.query(f"SELECT ?p {{ <{R}Ada> ?p <{R}Rome> }}"))) == 2
    again = CliRunner().invoke(cli, arguments)
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_catchall_can_be_left_out(tmp_path, collection):
    made = make_dbpedia(lay_out(tmp_path / "d", DUMPS), collection, tmp_path / "o", catchall=False)
    with KnowledgeBase.open(tmp_path / "o/kb") as kb:
        entities = {field["field"]: field["entities"] for field in kb.stats()["fields"]}
    assert (entities["names"], entities["catchall"]) == (3, 0)
    assert "without catchall" in (made.path / "README.md").read_text()


@pytest.mark.parametrize(("part", "again"), [("load", True), ("small files", False)])
def test_an_interrupted_dataset_goes_on_behind_what_is_done(tmp_path, collection, monkeypatch, part, again):
    dumps = lay_out(tmp_path / "d", DUMPS)

    def fails(*args, **kwargs):
        raise KeyboardInterrupt

    def once(*args, **kwargs):
        loads.append(1)
        return load(*args, **kwargs)

    load, loads = KnowledgeBase.load, []
    with monkeypatch.context() as patched:
        patched.setattr(*((KnowledgeBase, "load") if part == "load" else (making, "_write")), fails)
        with pytest.raises(KeyboardInterrupt):
            make_dbpedia(dumps, collection, tmp_path / "o")
    assert (tmp_path / "o.partial/.work/indexed.json").exists() != again
    monkeypatch.setattr(KnowledgeBase, "load", once)
    monkeypatch.setattr(converting, "partition", fails)
    made = make_dbpedia(dumps, collection, tmp_path / "o")
    assert bool(loads) == again
    assert made.counts["entities"] == made.index.entities == 3
    assert not (tmp_path / "o/.work").exists()


def test_two_at_once_and_missing_files_are_errors(tmp_path, collection):
    from filelock import FileLock

    dumps = lay_out(tmp_path / "d", DUMPS)
    work = tmp_path / "o.partial/.work"
    work.mkdir(parents=True)
    with FileLock(work / "lock"), pytest.raises(LockedError, match="another process is making"):
        make_dbpedia(dumps, collection, tmp_path / "o")
    (dumps / "core-i18n/en/labels_en.ttl.gz").write_bytes(b"")
    with pytest.raises(LoadError, match="'labels_en' occurs twice"):
        make_dbpedia(dumps, collection, tmp_path / "o")
    (dumps / "core-i18n/en/page_links_en.ttl").unlink()
    with pytest.raises(LoadError, match=r"'page_links_en\.ttl\.bz2' is not in"):
        make_dbpedia(dumps, collection, tmp_path / "o")
    with pytest.raises(LoadError, match=r"the folder .* does not exist"):
        make_dbpedia(tmp_path / "none", collection, tmp_path / "o")
    with pytest.raises(UserError, match="is made of --dumps and --collection"):
        make_dataset("dbpedia-entity-v2", tmp_path, tmp_path / "o")


@pytest.mark.parametrize(
    "arguments",
    [
        ["dbpedia-entity-v2", "--from", "data"],
        ["dbpedia-entity-v2", "--dumps", "data"],
        ["cacm"],
        ["cacm", "--from", "data", "--index", "A"],
    ],
)
def test_options_of_another_dataset_are_refused(arguments):
    result = CliRunner().invoke(cli, ["dataset", *arguments])
    assert result.exit_code == 2
    assert "--dumps" in result.stderr or "--from" in result.stderr
