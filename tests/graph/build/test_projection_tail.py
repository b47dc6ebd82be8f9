"""A projection with a tail says the same as one that is built from the graph after the changes."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import (
    built,
    change_between,
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
from sampling import examples

from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build import projection_tail
from hybridkg.graph.build.adjacency_edits import PatchMismatchError, edited_adjacency
from hybridkg.graph.build.patched_projection import merge_projection, patch_projection
from hybridkg.graph.build.reference_builder import adjacency
from hybridkg.graph.columns import ProjectionColumns
from hybridkg.graph.literal_order import literal_key
from hybridkg.graph.match.strings import TermStrings
from hybridkg.graph.statistics.collect import collect
from hybridkg.graph.stored_projection import TAIL_SEGMENTS, about, open_columns
from hybridkg.graph.term_order import TermOrder
from hybridkg.interfaces.staying import Staying
from hybridkg.rdf.term_texts import TermTexts
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad

_numbers = count()
NODES = [NamedNode(f"e:{x}") for x in "abcd"] + [BlankNode("x")]
ENTITIES = set(NODES[:2])
PREDICATES = [NamedNode(f"p:{x}") for x in "pqrs"]
RING = [Quad(a, PREDICATES[0], b) for a, b in zip(NODES, NODES[1:] + NODES[:1], strict=True)]
"""Keeps the nodes and the kinds of literals whatever else changes."""

KINDS = [
    Quad(NODES[0], PREDICATES[1], literal)
    for literal in (Literal(1), Literal("x", language="en"), Literal("x", language="de"), Literal(1.5), Literal(True))
]
few = st.sampled_from(
    [Literal(n) for n in (0, 1, 2, 7)]
    + [Literal(x) for x in (0.5, 1.5, 7.0)]
    + [Literal(text) for text in ("", "a", "ab", "b", "é", "x" * 20)]
    + [Literal(text, language=tag) for text in ("a", "b") for tag in ("de", "en")]
    + [Literal(True), Literal(False)]
)
quads = st.sets(
    st.builds(Quad, st.sampled_from(NODES), st.sampled_from(PREDICATES), st.sampled_from(NODES) | few), max_size=12
)


@pytest.fixture(scope="module", autouse=True)
def always_a_tail():
    with pytest.MonkeyPatch.context() as patch, small_pieces():
        patch.setattr(projection_tail, "MIN_TRIPLES", 0)
        patch.setattr(projection_tail, "MAX_SHARE", 1.0)
        yield


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def _built(folder: Path, state: list[Quad]) -> tuple[Path, NodeTable]:
    path = folder / str(next(_numbers))
    path.mkdir()
    known = table(path, ENTITIES)
    built(path / "projection", [text_of(state)], known)
    return path / "projection", known


def _patched(folder: Path, previous: Path, known: NodeTable, first: list[Quad], second: list[Quad]) -> Path:
    place = folder / str(next(_numbers))
    patch_projection(previous, place, known, known, Staying.all(len(known)), *change_between(first, second))
    return place


def _says(columns: ProjectionColumns) -> dict[str, tuple[set, set]]:
    """The triples of each predicate by both directions, whose rows ascend."""
    found = {}
    for iri, predicate in columns.predicates.items():
        directions = []
        for one in (predicate.forward, predicate.backward):
            offsets = one.offsets.astype(np.int64)
            assert (np.diff(one.keys.astype(np.int64)) > 0).all()
            assert (np.diff(offsets) > 0).all()
            assert len(offsets) == len(one.keys) + 1
            assert int(offsets[-1]) == len(one.targets)
            for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
                assert (np.diff(one.targets[begin:end].astype(np.int64)) > 0).all()
            sources = columns.terms.terms(np.repeat(one.keys, np.diff(offsets)))
            directions.append(list(zip(sources, columns.terms.terms(one.targets), strict=True)))
        forward, backward = directions
        found[iri] = set(forward), {(subject, term) for term, subject in backward}
    return found


def _assert_same(found: ProjectionColumns, wanted: ProjectionColumns) -> None:
    assert _says(found) == _says(wanted)
    a, b = found.terms, wanted.terms
    ids = np.arange(b.n_terms, dtype=np.uint32)
    terms = b.terms(ids)
    own = a.find(terms)
    assert (own >= 0).all()
    assert len(own) == a.n_terms - len(a.gone)
    assert a.terms(own.astype(np.uint32)) == terms
    assert [*map(list, a.tagged(own.astype(np.uint32)))] == [*map(list, b.tagged(ids))]
    ascending = np.sort(own).astype(np.uint32)
    texts, wanted_texts = a.texts(ascending), TermTexts.of(a.terms(ascending))
    assert wanted_texts is not None
    assert texts.strings() == wanted_texts.strings()
    assert [texts.tags[kind] for kind in texts.kinds] == [wanted_texts.tags[kind] for kind in wanted_texts.kinds]
    assert all(a.id_of(term) < 0 for term in a.terms(a.gone))
    for total in (False, True):
        _assert_order(a, total)
    assert collect(found) == collect(wanted)


def _assert_order(terms, total: bool) -> None:
    """Keys of the literals of each segment, and of all pairs, are in the order of the literals."""
    order = TermOrder(terms, TermStrings(terms))
    literals: dict[int, list] = {}
    for part in terms.parts:
        for i in range(part.first, part.end):
            term = terms.terms(np.array([i], np.uint32))[0]
            literals.setdefault(literal_key(term)[0], []).append((literal_key(term), i))
    for segment, own in literals.items():
        ids = np.array([i for _, i in sorted(own)], np.uint32)
        keys = order.keys(ids, total=total)
        if segment == 1:
            assert keys is None or len({key[2].partition(b"\0")[0] for key, _ in own}) == 1
            continue
        if keys is None:
            continue
        steps = np.diff(keys.astype(np.float64))
        assert (steps > 0).all() if total else (steps >= 0).all()


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=examples(20, 400), deadline=None)
@given(first=quads, later=st.lists(quads, min_size=1, max_size=4))
def test_changes_one_after_the_other_give_the_projection_of_the_graph(folder, compiled, first, later):
    state = stored([*first, *RING, *KINDS])
    with kernels(compiled=compiled):
        path, known = _built(folder, state)
        for own in later:
            after = stored([*own, *RING, *KINDS])
            path, state = _patched(folder, path, known, state, after), after
            assert TAIL_SEGMENTS in about(path)
            columns = open_columns(path, known, union_default_graph=False)
            wanted, _ = _built(folder, state)
            _assert_same(columns, open_columns(wanted, known, union_default_graph=False))


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=examples(10, 200), deadline=None)
@given(
    first=quads,
    later=st.lists(quads, min_size=1, max_size=3),
    last=st.sets(st.builds(Quad, nodes, predicates, nodes | literals | few), max_size=12),
)
def test_a_tail_is_merged_to_the_bytes_of_a_build(folder, compiled, first, later, last):
    state = stored([*first, *RING, *KINDS])
    with kernels(compiled=compiled):
        path, known = _built(folder, state)
        for own in later:
            after = stored([*own, *RING, *KINDS])
            path, state = _patched(folder, path, known, state, after), after
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(projection_tail, "MIN_TRIPLES", 1 << 40)
            after = stored(last)
            merged = _patched(folder, path, known, state, after)
        assert TAIL_SEGMENTS not in about(merged)
        assert same_bytes(merged, _built(folder, after)[0])
        alone = folder / str(next(_numbers))
        merge_projection(path, alone, known)
        assert same_bytes(alone, _built(folder, state)[0])


pairs = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


@settings(max_examples=examples(60, 500), deadline=None)
@given(old=pairs, new=pairs)
def test_an_edited_direction_is_that_of_its_pairs(old, new):
    def of(chosen: set) -> np.ndarray:
        return np.array(sorted(key << 32 | target for key, target in chosen), np.uint64)

    def direction(chosen: set):
        return adjacency(*(np.array([pair[i] for pair in sorted(chosen)], np.int64) for i in (0, 1)))

    found, wanted = edited_adjacency(direction(old), of(old - new), of(new - old)), direction(new)
    for name in ("keys", "offsets", "targets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    if missing := new - old:
        with pytest.raises(PatchMismatchError):
            edited_adjacency(direction(old), of(missing), of(set()))
