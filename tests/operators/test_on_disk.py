"""Group, distinct, sort and join above the limit on memory: temporary files, limits, and what EXPLAIN ANALYZE shows."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hybridkg import KnowledgeBase
from hybridkg.config.run_settings import LimitSettings
from hybridkg.config.settings_reader import parse_config
from hybridkg.errors import QueryLimitError, QueryStoppedError, StorageError
from hybridkg.graph.projection import Prepared
from hybridkg.interfaces.meter import Meter
from hybridkg.operators import first_values, partitions_on_disk
from hybridkg.operators.columns import IdColumn, InColumns, NumberColumn, TermColumn, unbound
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.partitions_on_disk import Disk, RowsOnDisk
from hybridkg.planner.cost_model import CostModel
from hybridkg.rdf.terms import Literal, double

PREFIX = "PREFIX : <http://e/> "
GROUPS = f"{PREFIX} SELECT ?a ?b (COUNT(?c) AS ?n) {{ ?a :p ?c . ?b :p ?c }} GROUP BY ?a ?b"
SUMS = f"{PREFIX} SELECT ?a ?b (SUM(?v) AS ?n) (AVG(?v) AS ?m) {{ ?a :p ?c . ?b :p ?c ; :v ?v }} GROUP BY ?a ?b"
QUERIES = {
    "counts": GROUPS,
    "counts, the best": f"{GROUPS} ORDER BY DESC(?n) ?a ?b LIMIT 7",
    "counts under HAVING": f"{GROUPS} HAVING (COUNT(?c) > 1)",
    "sums and means": SUMS,
    "sums, the best": f"{SUMS} ORDER BY DESC(?n) ?a ?b LIMIT 7",
    "sums, ordered": f"{SUMS} ORDER BY DESC(?n) ?a ?b",
    "distinct values of a group": f"{PREFIX} SELECT ?a (COUNT(DISTINCT ?b) AS ?n) (MAX(?v) AS ?m) "
    "{ ?a :p ?c . ?b :p ?c ; :v ?v } GROUP BY ?a",
    "distinct rows": f"{PREFIX} SELECT DISTINCT ?a ?b {{ ?a :p ?c . ?b :p ?c }}",
    "ordered rows": f"{PREFIX} SELECT ?a ?b ?c {{ ?a :p ?c . ?b :p ?c }} ORDER BY DESC(?c) ?b ?a",
    "groups of a sub-select": f"{PREFIX} SELECT ?n (COUNT(*) AS ?m) {{ {{ {GROUPS.removeprefix(PREFIX)} }} }} "
    "GROUP BY ?n",
    "groups of a join": f"{PREFIX} SELECT ?n (SUM(?v) AS ?m) {{ {{ {GROUPS.removeprefix(PREFIX)} }} "
    f"{{ SELECT DISTINCT ?a ?v {{ ?a :p ?c ; :v ?v }} }} }} GROUP BY ?n",
    "terms that are made": f"{PREFIX} SELECT ?k (SUM(?v) AS ?n) {{ ?a :p ?c . ?b :p ?c ; :v ?v }} "
    "GROUP BY (CONCAT(STR(?a), 'x') AS ?k)",
}
LITTLE = 1.25
"""Megabytes: some thousand rows of ids, and a block of rows of terms."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("graph")
    random = np.random.default_rng(7)
    lines = [
        f"<http://e/s{s}> <http://e/p> <http://e/o{o}> ."
        for s, o in zip(*random.integers(0, (300, 60), (1500, 2)).T, strict=True)
    ]
    lines += [f"<http://e/s{s}> <http://e/v> {s % 7} ." for s in range(300)]
    (folder / "graph.ttl").write_text("\n".join(lines))
    kb = KnowledgeBase.create(folder / "graph.kb")
    kb.load(folder / "graph.ttl", index=True)
    return kb


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def files_in(folder: Path) -> list[str]:
    """Files of a folder, also those that have no name any more but are open in this process."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    opened = []
    for link in links:
        with suppress(FileNotFoundError):  # another thread has closed it since the listing
            opened.append(str(link.readlink()))
    return [*map(str, folder.iterdir()), *(name for name in opened if name.startswith(str(folder)))]


def in_order(query: str, rows: list[object]) -> list[str]:
    """Rows as they are compared: in their order, where the query has one."""
    texts = list(map(str, rows))
    return texts if "ORDER BY" in query else sorted(texts)


@pytest.mark.parametrize("name", QUERIES)
def test_the_answer_on_disk_is_that_in_memory(name, graph, temporary):
    query = QUERIES[name]
    whole = graph.query(query, strategy="columns").rows()
    few = query if "LIMIT" in query else f"{query} LIMIT 7"
    plan = str(graph.explain(few, analyze=True, strategy="columns", max_megabytes=LITTLE))
    assert "the store answered" not in plan
    assert "on disk: " in plan or "ordered rows" in name or name == "distinct rows"  # seven rows are found earlier
    with graph.stream(query, strategy="columns", max_megabytes=LITTLE) as result:
        found = list(result.rows())
    assert in_order(query, found) == in_order(query, list(whole))
    del result, found
    if files_in(temporary):  # a search for cycles takes seconds in a process of many tests
        gc.collect()
    assert files_in(temporary) == []


def test_a_sample_on_disk_is_a_value_of_its_group(graph):
    pattern = "{ ?a :p ?c . ?b :p ?c ; :v ?v }"
    query = f"{PREFIX} SELECT ?a ?b (SAMPLE(?c) AS ?one) (MAX(?v) AS ?m) {pattern} GROUP BY ?a ?b"
    with graph.stream(query, strategy="columns", max_megabytes=LITTLE) as result:
        found = list(result.rows())
    plan = str(graph.explain(f"{query} LIMIT 7", analyze=True, strategy="columns", max_megabytes=LITTLE))
    assert "on disk: " in plan
    rows = set(graph.query(f"{PREFIX} SELECT DISTINCT ?a ?b ?c ?v {pattern}", strategy="columns").rows())
    assert set(map(tuple, found)) <= set(map(tuple, rows))
    assert len(found) == len({tuple(row)[:2] for row in rows})


def test_a_pattern_that_is_no_tree_is_divided_without_listing_its_solutions(graph, monkeypatch):
    query = GROUPS.replace("} GROUP", "FILTER(?a != ?b) } GROUP") + " ORDER BY DESC(?n) ?a ?b LIMIT 7"
    want = list(graph.query(query, strategy="columns").rows())
    candidates = Prepared.candidates

    def of_one(self, variable, meter, among=None, bound=None):
        assert bound, "candidates of a cyclic pattern list all solutions"
        return candidates(self, variable, meter, among, bound)

    monkeypatch.setattr(Prepared, "candidates", of_one)
    plan = str(graph.explain(query, analyze=True, strategy="columns", max_megabytes=LITTLE))
    assert "on disk: " in plan
    assert list(graph.query(query, strategy="columns", max_megabytes=LITTLE).rows()) == want


def test_explain_analyze_shows_partitions_and_bytes(graph):
    query = f"{SUMS} LIMIT 7"
    plan = graph.explain(query, analyze=True, strategy="columns", max_megabytes=LITTLE)
    (node,) = [node for node in nodes_of(plan.to_json()["operator"]) if node["name"] == "GroupRows"]
    assert node["partitions"] > 1
    assert node["bytes_on_disk"] > 20 * 1000
    assert f"on disk: {node['bytes_on_disk'] / 1e6:,.1f} MB, partitions: {node['partitions']}" in str(plan)
    assert "on disk" not in str(graph.explain(query, analyze=True, strategy="columns"))


def nodes_of(node: dict) -> list[dict]:
    return [node, *(below for child in node["children"] for below in nodes_of(child))]


def test_files_are_gone_after_an_error(graph, temporary, monkeypatch):
    monkeypatch.setattr(partitions_on_disk.RowsOnDisk, "partitions", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        graph.query(SUMS, strategy="columns", max_megabytes=LITTLE)
    assert files_in(temporary) == []


@pytest.mark.parametrize("way", ["Ctrl-C", "cancelled", "time limit"])
def test_files_are_gone_after_a_stop_and_a_stop_is_seen_at_a_block(graph, temporary, monkeypatch, way):
    written, append, cancel = [], RowsOnDisk.append, threading.Event()

    def stop(self: RowsOnDisk, block: InColumns) -> None:
        written.extend(files_in(temporary))
        if len(written) > 3:
            if way == "Ctrl-C":
                raise KeyboardInterrupt
            cancel.set()
            self.context.meter.deadline = 0.0 if way == "time limit" else None
        append(self, block)

    monkeypatch.setattr(RowsOnDisk, "append", stop)
    error = KeyboardInterrupt if way == "Ctrl-C" else QueryStoppedError
    with pytest.raises(error):
        graph.query(
            SUMS, strategy="columns", max_megabytes=LITTLE, cancel=cancel if way == "cancelled" else None,
            timeout=60 if way == "time limit" else None,
        )  # fmt: skip
    assert written
    assert files_in(temporary) == []


def test_a_full_disk_leaves_the_query_to_the_store_and_explain_says_so(graph, monkeypatch):
    class Full:
        def seek(self, *_: int) -> int:
            return 0

        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Disk, "file", lambda _: Full())
    plan = str(graph.explain(f"{SUMS} LIMIT 7", analyze=True, strategy="columns", max_megabytes=LITTLE))
    assert "the store answered: " in plan
    assert "No space left on device" in " ".join(plan.split())


def test_rows_on_disk_are_not_limited_by_max_rows(graph):
    query = f"{GROUPS} ORDER BY DESC(?n) ?a ?b LIMIT 7"
    want = list(graph.query(query, strategy="columns").rows())
    plan = graph.explain(query, analyze=True, strategy="columns", max_megabytes=LITTLE, max_rows=10)
    assert "the store answered" not in str(plan)
    assert list(graph.query(query, strategy="columns", max_megabytes=LITTLE, max_rows=10).rows()) == want
    with pytest.raises(QueryLimitError, match="more than 10 rows"):
        graph.query(GROUPS, strategy="columns", max_rows=10)


def test_the_default_limit_is_a_quarter_of_the_memory():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 <= memory / 4 - LimitSettings().max_megabytes * 1e6 < 1e6
    assert parse_config("[limits]\nmax_megabytes = 700", "k").limits.max_megabytes == 700


class Numbers:
    """Names and order of ids, as Terms has them."""

    n_nodes = 1000


def context(max_bytes: int) -> ExecutionContext:
    return ExecutionContext(
        None, None, None, lambda *_: [], lambda _: None, price=CostModel().price, max_bytes=max_bytes
    )


def test_partitions_come_in_the_order_of_their_ids_and_keep_the_order_of_rows():
    random = np.random.default_rng(1)
    a, b = random.integers(0, 40, (2, 1000)).astype(np.uint32)
    with Disk() as disk:
        rows = RowsOnDisk(disk, context(10**6), disk.file())
        for begin in range(0, 1000, 130):
            part = slice(begin, begin + 130)
            n = NumberColumn(np.arange(1000.0)[part], double)
            columns = {"a": IdColumn(a[part], Numbers()), "b": IdColumn(b[part], Numbers()), "n": n}
            rows.append(InColumns(columns, len(a[part]), lambda *_: []))
        parts = list(rows.partitions(rows.of_cells(["a", "b"]), 12))
    assert max(part.size for part in parts) <= 12
    pairs = [np.stack([part.column("a").keys, part.column("b").keys], 1).tolist() for part in parts]
    for before, after in pairwise(pairs):
        assert max(before) < min(after)
    for part in parts:
        numbers = part.numbers("n").numbers.astype(int)
        assert sorted(numbers.tolist()) == numbers.tolist()
        assert a[numbers].tolist() == part.column("a").keys.tolist()


def test_rows_of_one_group_that_do_not_fit_are_an_error():
    with Disk() as disk:
        rows = RowsOnDisk(disk, context(10**6), disk.file())
        rows.append(InColumns({"a": IdColumn(np.zeros(20, np.uint32), Numbers())}, 20, lambda *_: []))
        with pytest.raises(QueryLimitError, match="20 rows of one group do not fit in memory"):
            list(rows.partitions(rows.of_cells(["a"]), 12))


def test_a_column_of_several_kinds_is_split_by_its_terms():
    with Disk() as disk:
        rows = RowsOnDisk(disk, context(10**6), disk.file())
        for column in (unbound(30), NumberColumn(np.arange(30.0), lambda n: Literal(int(n)))):
            rows.append(InColumns({"a": column}, 30, lambda *_: []))
        rows.append(InColumns({"a": NumberColumn(np.arange(30.0), lambda n: Literal(int(n)))}, 30, lambda *_: []))
        parts = list(rows.partitions(rows.of_cells(["a"]), 40))
    homes = {}
    for number, part in enumerate(parts):
        for cell in part.cells("a"):
            assert homes.setdefault(cell, number) == number
    assert len(homes) == 31


def test_terms_that_a_query_made_count_as_memory():
    with Disk() as disk:
        rows = RowsOnDisk(disk, context(1000), disk.file())
        made = InColumns({"a": TermColumn.of([Literal(n) for n in range(50)])}, 50, lambda *_: [])
        with pytest.raises(QueryLimitError, match=r"takes more than 0\.001 MB"):
            rows.append(made)


def test_a_meter_is_looked_at_once_a_block():
    own = context(10**6)
    own.meter = Meter(cancelled=lambda: True)
    with Disk() as disk, pytest.raises(QueryStoppedError):
        RowsOnDisk(disk, own).append(InColumns({"a": unbound(3)}, 3, lambda *_: []))


def test_a_file_that_has_become_shorter_is_an_error():
    with Disk() as disk:
        written = disk.write(disk.file(), np.arange(1000, dtype=np.uint32))
        written.file.truncate(100)
        with pytest.raises(StorageError, match="has become shorter"):
            written.read()


def test_first_values_with_more_rows_than_fit_in_memory_leave_the_order_to_the_disk(graph, monkeypatch):
    monkeypatch.setattr(first_values, "GROWTH", 2)
    query = f"{PREFIX} SELECT ?a ?b ?v {{ ?a :p ?c . ?b :p ?c ; :v ?v }} ORDER BY ?v ?a ?b LIMIT 7"
    want = list(graph.query(query, strategy="columns").rows())
    assert list(graph.query(query, strategy="columns", max_megabytes=LITTLE / 8).rows()) == want
