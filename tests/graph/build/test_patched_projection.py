"""The projection that is patched has the bytes of one that is built from the graph after the change."""

from __future__ import annotations

import os
import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import (
    as_version_2,
    assert_equal,
    built,
    change_between,
    expected,
    kernels,
    literals,
    nodes,
    predicates,
    same_bytes,
    small_pieces,
    stored,
    table,
    text_of,
)
from sampling import examples, sampled

from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build import term_edits
from hybridkg.graph.build.adjacency_edits import PatchMismatchError
from hybridkg.graph.build.literal_pieces import DamagedPieceError
from hybridkg.graph.build.patched_projection import TripleChange, patch_projection
from hybridkg.graph.build.term_edits import LITERALS, OTHERS
from hybridkg.graph.stored_projection import open_columns
from hybridkg.interfaces.staying import Staying
from hybridkg.rdf.terms import Literal, NamedNode, Quad, Triple
from hybridkg.rdf.triple_columns import TripleColumns

_numbers = count()
triples = st.sets(st.builds(Quad, nodes, predicates, nodes | literals | literals), max_size=25)
entities = st.sets(nodes, max_size=6)
omitted = st.sets(
    st.builds(Quad, nodes, predicates, st.builds(Triple, nodes, predicates, nodes | literals)), max_size=3
)


@pytest.fixture(scope="module", autouse=True)
def several_pieces():
    with small_pieces():
        yield


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def _state(folder: Path, quads: list[Quad], own: set) -> tuple[Path, NodeTable]:
    path = folder / str(next(_numbers))
    path.mkdir()
    known = table(path, own)
    built(path / "projection", [text_of(quads)], known)
    return path, known


def _patched(
    folder: Path, old: Path, before: NodeTable, after: NodeTable, first: list[Quad], second: list[Quad]
) -> Path:
    place = folder / str(next(_numbers))
    ids = after.find_many(before.nodes(np.arange(len(before), dtype=np.uint32)))
    patch_projection(old / "projection", place, before, after, Staying.of(ids), *change_between(first, second))
    return place


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=examples(6, 100), deadline=None)
@given(first=triples, second=triples, both=triples, terms=omitted, own=entities, later=entities)
def test_a_patch_has_the_bytes_of_a_build(folder, compiled, first, second, both, terms, own, later):
    old, new = stored([*first, *both, *terms]), stored([*second, *both, *terms])
    with kernels(compiled=compiled):
        (old_folder, before), (new_folder, after) = _state(folder, old, own), _state(folder, new, later)
        patched = _patched(folder, old_folder, before, after, old, new)
    assert same_bytes(patched, new_folder / "projection")


def test_nothing_changed_gives_the_same_bytes(folder):
    quads = stored(
        [Quad(NamedNode("e:a"), NamedNode("p:p"), Literal("x")), Quad(NamedNode("e:b"), NamedNode("p:q"), Literal(7))]
    )
    old, known = _state(folder, quads, {NamedNode("e:a")})
    assert same_bytes(_patched(folder, old, known, known, quads, quads), old / "projection")


def test_terms_that_stay_the_same_are_linked_and_not_written(folder):
    a, b, c, p = (NamedNode(f"e:{x}") for x in "abcp")
    first = stored([Quad(a, p, b), Quad(a, p, c), Quad(b, p, Literal("x"))])
    old, known = _state(folder, first, {a})
    names = {*OTHERS, *LITERALS}
    for second, written in (
        ([*first, Quad(c, p, b)], set()),
        ([*first, Quad(b, p, NamedNode("e:d"))], {*OTHERS}),
        ([*first, Quad(b, p, Literal(5))], {*LITERALS}),
        ([quad for quad in first if quad.object != Literal("x")], {*LITERALS}),
    ):
        new = stored(second)
        patched = _patched(folder, old, known, known, first, new)
        assert same_bytes(patched, _state(folder, new, {a})[0] / "projection")
        shared = {name for name in names if (patched / name).samefile(old / "projection" / name)}
        assert shared == names - written


def _with_words(words: range) -> list[Quad]:
    return stored(
        [Quad(NamedNode("e:a"), NamedNode("p:p"), Literal(f"word {i:04} of the sea")) for i in words if i % 7]
    )


@pytest.mark.parametrize("number", sampled([0, 1001, 1501, 3000], 1501, 3000))
def test_a_new_literal_leaves_the_pieces_before_and_behind_it(folder, number):
    first = _with_words(range(1000, 2000))
    second = stored([*first, Quad(NamedNode("e:b"), NamedNode("p:p"), Literal(f"word {number:04}"))])
    old, known = _state(folder, first, set())
    patched, wanted = _patched(folder, old, known, known, first, second), _state(folder, second, set())[0]
    assert same_bytes(patched, wanted / "projection")
    before = {path.stat().st_ino for path in (old / "projection").glob("literals.[0-9]*")}
    after = {path.stat().st_ino for path in patched.glob("literals.[0-9]*")}
    assert len(before) > 100
    assert len(after - before) <= 4


@pytest.mark.parametrize("most", [30, 1 << 26])
def test_a_projection_of_version_2_is_read_and_followed_by_one_of_this_version(folder, monkeypatch, most):
    monkeypatch.setattr(term_edits, "MAX_COPIED", most)
    first = [*_with_words(range(20)), Quad(NamedNode("e:b"), NamedNode("p:q"), Literal(7))]
    old, known = _state(folder, first, set())
    as_version_2(old / "projection")
    assert_equal(open_columns(old / "projection", known, union_default_graph=False), expected(first, known))
    for second in (first, first[1:], [*first, Quad(NamedNode("e:b"), NamedNode("p:q"), Literal("x"))]):
        patched = _patched(folder, old, known, known, first, second)
        assert same_bytes(patched, _state(folder, second, set())[0] / "projection")


def test_a_piece_longer_than_what_is_copied_at_once_is_not_linked_twice(folder, monkeypatch):
    monkeypatch.setattr(term_edits, "MAX_COPIED", 20)
    first = _with_words(range(1000, 1100))
    second = stored([*first, Quad(NamedNode("e:b"), NamedNode("p:p"), Literal("word 1001"))])
    old, known = _state(folder, first, set())
    patched = _patched(folder, old, known, known, first, second)
    assert same_bytes(patched, _state(folder, second, set())[0] / "projection")


def test_damage_of_a_piece_is_not_copied(folder):
    first = _with_words(range(1000, 2000))
    second = stored([*first, Quad(NamedNode("e:b"), NamedNode("p:p"), Literal("word 1000"))])
    old, known = _state(folder, first, set())
    piece = old / "projection" / "literals.0"
    stat = piece.stat()
    with piece.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    os.utime(piece, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(DamagedPieceError):
        _patched(folder, old, known, known, first, second)


def test_a_node_that_gets_text_becomes_an_entity(folder):
    quads = stored([Quad(NamedNode(f"e:{x}"), NamedNode("p:p"), NamedNode(f"e:{y}")) for x in "abc" for y in "abcd"])
    (old, before), (new, after) = _state(folder, quads, {NamedNode("e:b")}), _state(folder, quads, {NamedNode("e:c")})
    assert same_bytes(_patched(folder, old, before, after, quads, quads), new / "projection")


def test_removing_what_is_not_there_is_noticed(folder):
    quads = stored([Quad(NamedNode("e:a"), NamedNode("p:p"), NamedNode("e:b"))])
    old, known = _state(folder, quads, set())
    gone = Triple(NamedNode("e:b"), NamedNode("p:p"), NamedNode("e:a"))
    with pytest.raises(PatchMismatchError):
        patch_projection(
            old / "projection",
            folder / "none",
            known,
            known,
            Staying.all(0),
            TripleChange(TripleColumns({}), TripleColumns.of([gone])),
            lambda _: True,
        )
