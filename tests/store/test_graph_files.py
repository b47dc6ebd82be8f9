"""A linked graph has every quad, and what is written to it leaves the first one as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyoxigraph import Store

from hybridkg.rdf.terms import Literal, NamedNode, Quad
from hybridkg.store.graph_files import SCRATCH, link_graph

P = NamedNode("http://e/p")


def quads(first: int, end: int) -> list[Quad]:
    return [Quad(NamedNode(f"http://e/{n}"), P, Literal(f"text {n}")) for n in range(first, end)]


def content(folder: Path) -> set[Quad]:
    return set(Store.read_only(str(folder)))


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.startswith(SCRATCH)}


@pytest.mark.parametrize("flushed", [True, False])
def test_a_linked_graph_has_what_only_the_log_holds(tmp_path: Path, flushed: bool) -> None:
    store = Store(str(tmp_path / "a"))
    store.bulk_extend(quads(0, 50))
    store.flush()
    store.extend(quads(50, 60))
    if flushed:
        store.flush()
    del store
    link_graph(tmp_path / "a", tmp_path / "b")
    assert content(tmp_path / "b") == set(quads(0, 60))


def test_the_first_graph_stays_as_it_is(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "a"))
    store.extend(quads(0, 60))
    del store
    before = files(tmp_path / "a")
    for number in range(6):  # more tables than are merged at once
        link_graph(tmp_path / f"{number or 'a'}", tmp_path / f"{number + 1}")
        store = Store(str(tmp_path / f"{number + 1}"))
        store.extend(quads(60 + number, 61 + number))
        store.remove(quads(number, number + 1)[0])
        store.flush()
        del store
    store = Store(str(tmp_path / "6"))
    store.optimize()
    del store
    assert content(tmp_path / "6") == set(quads(6, 66))
    assert files(tmp_path / "a") == before
    assert content(tmp_path / "a") == set(quads(0, 60))


def test_a_linked_graph_outlives_the_first_one(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "a"))
    store.bulk_extend(quads(0, 60))
    del store
    link_graph(tmp_path / "a", tmp_path / "b")
    shutil.rmtree(tmp_path / "a")
    assert content(tmp_path / "b") == set(quads(0, 60))


def test_a_graph_that_is_being_read_can_be_linked(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "a"))
    store.extend(quads(0, 60))
    del store
    reader = Store.read_only(str(tmp_path / "a"))
    link_graph(tmp_path / "a", tmp_path / "b")
    assert content(tmp_path / "b") == set(reader)
    assert not any(file.name.startswith(SCRATCH) for file in (tmp_path / "b").iterdir() if file.name != "LOG")
