from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.entities import node_table as table_module
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import CorruptError
from hybridkg.rdf.order import term_key
from hybridkg.rdf.terms import BlankNode, NamedNode

name = st.text(alphabet="azAZ09-_~é語\U0001f600", min_size=1, max_size=5)
node = st.one_of(
    st.builds(lambda n: NamedNode(f"http://e/{n}"), name),
    st.builds(lambda n: NamedNode(f"Z:{n}"), name),
    st.builds(BlankNode, st.text(alphabet="abxZ019", min_size=1, max_size=4)),
)
FILES = ("nodes.text", "nodes.offsets", "nodes.hashes")


def written(path, nodes):
    path.mkdir(exist_ok=True)
    NodeTable.write(path, nodes)
    return NodeTable.open(path)


@given(st.lists(node, max_size=30), st.lists(node, max_size=10))
@settings(deadline=None)
def test_ids_are_places_in_sparql_order_and_lead_back(tmp_path_factory, nodes, others):
    table = written(tmp_path_factory.getbasetemp() / "nodes", nodes)
    want = sorted(set(nodes), key=term_key)
    assert len(table) == len(want)
    assert [table.node(i) for i in range(len(table))] == want
    ids = np.arange(len(want), dtype=np.uint32)[::-1]
    assert table.nodes(ids) == want[::-1]
    assert [table.find(n) for n in want] == list(range(len(want)))
    asked = [*others, *nodes]
    slow = [want.index(n) if n in want else None for n in asked]
    assert [table.find(n) for n in asked] == slow
    assert [None if i < 0 else i for i in table.find_many(asked).tolist()] == slow
    assert table.rank(ids).tolist() == ids.tolist()


@given(st.lists(node, max_size=30), name | st.sampled_from(["a", "e/a", "//e/a"]), st.integers(1, 3), st.integers(1, 9))
@settings(deadline=None, max_examples=examples(60, 200))
def test_nodes_are_found_by_what_follows_their_namespace(tmp_path_factory, nodes, name, most, at_once):
    table = written(tmp_path_factory.getbasetemp() / "endings", [*nodes, NamedNode("http://e/x#a"), NamedNode("x:#")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_module, "NODES_AT_ONCE", at_once)
        found = table.ending_in(name, most)
    every = [table.node(i) for i in range(len(table))]
    wanted = [n for n in every if type(n) is NamedNode and n.value.endswith(("/" + name, "#" + name))]
    assert found == wanted[:most]


@given(st.lists(node, max_size=20), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(24, 40))
def test_the_bytes_depend_on_the_set_of_nodes_only(tmp_path_factory, nodes, random):
    base = tmp_path_factory.getbasetemp()
    written(base / "nodes1", nodes)
    shuffled = [*nodes, *nodes[:3]]
    random.shuffle(shuffled)
    written(base / "nodes2", shuffled)
    assert all((base / "nodes1" / f).read_bytes() == (base / "nodes2" / f).read_bytes() for f in FILES)


def test_nodes_with_the_same_hash_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(table_module, "_hash_bytes", lambda key: bytes([len(key) % 2]) + bytes(7))
    nodes = [NamedNode(f"a:{i}") for i in range(30)]
    table = written(tmp_path, nodes[::2])
    want = [sorted(n.value for n in nodes[::2]).index(n.value) if i % 2 == 0 else -1 for i, n in enumerate(nodes)]
    assert table.find_many(nodes).tolist() == want
    assert [-1 if table.find(n) is None else table.find(n) for n in nodes] == want


def test_a_repeated_look_up_is_answered_like_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(table_module, "MAX_REMEMBERED", 3)
    nodes = [NamedNode(f"a:{i}") for i in range(6)]
    table = written(tmp_path, nodes[:4])
    asked = [nodes[2], nodes[5], nodes[0]]
    first = table.find_many(asked)
    monkeypatch.setattr(table_module, "_key", None)  # nothing is looked up again
    assert table.find_many([NamedNode(node.value) for node in asked]).tolist() == [2, -1, 0]
    first[:] = 7
    assert table.find_many(asked).tolist() == [2, -1, 0]
    monkeypatch.undo()
    monkeypatch.setattr(table_module, "MAX_REMEMBERED", 3)
    assert table.find_many(asked[:2]).tolist() == [2, -1]
    assert table.find_many(nodes).tolist() == [0, 1, 2, 3, -1, -1]
    monkeypatch.setattr(table_module, "_key", None)
    assert table.find_many(asked[:2]).tolist() == [2, -1]
    with pytest.raises(TypeError):  # six nodes are too many to be remembered
        table.find_many(nodes)


def test_a_blank_node_is_not_the_iri_of_the_same_text(tmp_path):
    table = written(tmp_path, [BlankNode("a"), NamedNode("a:a")])
    assert table.find(BlankNode("a")) == 0
    assert table.find(NamedNode("a:a")) == 1
    assert table.find(BlankNode("aa")) is None


def test_no_such_id_is_an_index_error(tmp_path):
    table = written(tmp_path, [NamedNode("a:a")])
    for id in (1, -1):
        with pytest.raises(IndexError):
            table.node(id)


def test_an_empty_table_finds_nothing(tmp_path):
    table = written(tmp_path, [])
    assert len(table) == 0
    assert table.find(NamedNode("a:a")) is None
    assert table.find_many([NamedNode("a:a")]).tolist() == [-1]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("cut", [0, 1, 8, 30])
def test_a_truncated_or_missing_file_is_corrupt(tmp_path, file, cut):
    written(tmp_path, [NamedNode(f"http://example.org/{i}") for i in range(9)])
    path = tmp_path / file
    path.write_bytes(path.read_bytes()[: -cut or None] if cut else b"")
    with pytest.raises(CorruptError, match=file):
        NodeTable.open(tmp_path)
    path.unlink()
    with pytest.raises(CorruptError, match=file):
        NodeTable.open(tmp_path)


@pytest.mark.parametrize("collide", [False, True])
@settings(max_examples=examples(21, 150), deadline=None)
@given(old=st.sets(node, max_size=12), new=st.sets(node, max_size=12))
def test_a_changed_table_has_the_bytes_of_a_new_one(collide, old, new):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        first, second, changed = (Path(name) / part for part in ("first", "second", "changed"))
        for folder in (first, second, changed):
            folder.mkdir()
        if collide:
            patch.setattr(table_module, "_hash_bytes", lambda key: bytes([len(key) % 3]) * 8)
        NodeTable.write(first, old)
        NodeTable.write(second, new)
        table = NodeTable.open(first)
        removed = [i for i in range(len(table)) if table.node(i) not in new]
        ids = table.write_changed(changed, np.array(removed, np.int64), [node for node in new if node not in old])
        for part in ("nodes.text", "nodes.offsets", "nodes.hashes"):
            assert (changed / part).read_bytes() == (second / part).read_bytes()
        after = NodeTable.open(second)
        assert ids.tolist() == [-1 if (i := after.find(table.node(n))) is None else i for n in range(len(table))]
