"""The builder of the projection: what it makes is what the oracle makes, in the same bytes however it gets there."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import (
    TINY,
    assert_equal,
    built,
    expected,
    kernels,
    nodes,
    quads,
    rows_of,
    same_bytes,
    small_pieces,
    stored,
    table,
    tagged,
    text_of,
    typed,
)
from sampling import examples

from hybridkg.errors import CorruptError
from hybridkg.graph.build.builder import ProjectionBuilder, ProjectionBuildLimits
from hybridkg.graph.build.term_runs import KEPT
from hybridkg.graph.stored_projection import open_columns
from hybridkg.rdf.stored import all_as_stored, as_stored
from hybridkg.rdf.terms import Literal, NamedNode, Quad

_numbers = count()
graph = st.lists(quads, max_size=30)
some = st.lists(nodes, max_size=6)


@pytest.fixture(scope="module", autouse=True)
def several_pieces():
    with small_pieces():
        yield


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def _new(folder: Path) -> Path:
    path = folder / str(next(_numbers))
    path.mkdir()
    return path


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=examples(5, 100), deadline=None)
@given(statements=graph, entities=some, union=st.booleans())
def test_the_builder_makes_the_columns_of_the_oracle(folder, compiled, statements, entities, union):
    own = _new(folder)
    known = table(own, entities)
    with kernels(compiled=compiled):
        found = built(own / "p", [text_of(stored(statements))], known, union=union)
    assert_equal(found, expected(statements, known, union=union))


@settings(max_examples=examples(5, 100), deadline=None)
@given(statements=graph, entities=some, union=st.booleans(), data=st.data())
def test_the_bytes_depend_on_the_set_of_quads_alone(folder, statements, entities, union, data):
    own = _new(folder)
    known = table(own, entities)
    as_stored = stored(statements)
    with kernels(compiled=True):
        built(own / "p", [text_of(as_stored)], known, union=union)
    for i, (compiled, sizes) in enumerate([(True, TINY), (False, TINY), (True, ProjectionBuildLimits(200, 7, 1000))]):
        shuffled = data.draw(st.permutations(as_stored + as_stored[:5]))
        cut = data.draw(st.integers(0, len(shuffled)))
        with kernels(compiled=compiled):
            built(own / f"q{i}", map(text_of, (shuffled[:cut], shuffled[cut:])), known, union=union, sizes=sizes)
        assert same_bytes(own / "p", own / f"q{i}")


@settings(max_examples=examples(5, 100), deadline=None)
@given(statements=graph, entities=some, union=st.booleans(), compiled=st.booleans())
def test_what_is_loaded_gives_the_bytes_of_what_the_store_made_of_it(folder, statements, entities, union, compiled):
    own = _new(folder)
    known = table(own, entities)
    with kernels(compiled=compiled):
        built(own / "p", [text_of(stored(statements))], known, union=union)
        built(own / "q", [text_of([quad]) for quad in statements], known, union=union, from_store=False, sizes=TINY)
    assert same_bytes(own / "p", own / "q")


@settings(max_examples=examples(8, 12), deadline=None)
@given(statements=graph, union=st.booleans(), compiled=st.booleans())
def test_rows_of_predicates_give_the_bytes_of_statements(folder, statements, union, compiled):
    own = _new(folder)
    known = table(own, [])
    with kernels(compiled=compiled):
        built(own / "p", [text_of(stored(statements))], known, union=union)
        builder = ProjectionBuilder(own / "w", union_default_graph=union, stored=True, sizes=TINY)
        for predicate, rows in rows_of(statements, union=union).items():
            for row in rows.split(b"\n"):
                builder.add_rows(predicate, row)
        builder.finish(own / "q", known)
    assert same_bytes(own / "p", own / "q")


@pytest.mark.parametrize("datatype", sorted(KEPT))
@settings(max_examples=examples(5, 100), deadline=None)
@given(data=st.data())
def test_texts_that_are_kept_are_what_the_store_makes_of_them(datatype, data):
    pattern, kept_as = KEPT[datatype]
    text = data.draw(
        st.from_regex(pattern.pattern.decode("ascii"), fullmatch=True, alphabet=st.characters(codec="ascii"))
    )
    assert as_stored(Literal(text, datatype=NamedNode(datatype))) == Literal(text, datatype=NamedNode(kept_as))


@settings(max_examples=examples(12, 20), deadline=None)
@given(st.lists(typed | tagged, max_size=8))
def test_many_literals_are_stored_as_each_of_them_is(some_literals):
    assert all_as_stored(some_literals) == [as_stored(literal) for literal in some_literals]


def test_many_runs_with_many_terms_are_merged(folder):
    own = _new(folder)
    rng = np.random.default_rng(5)
    e = [NamedNode(f"http://example.org/entity/{i}") for i in range(300)]
    statements = [
        Quad(e[a], NamedNode(f"p:{p}"), e[b] if p < 3 else Literal(int(b)))
        for a, b, p in rng.integers(0, [300, 300, 5], (4000, 3)).tolist()
    ]
    known = table(own, e[100:200])
    with kernels(compiled=True):
        found = built(
            own / "p", [text_of([q]) for q in statements], known, sizes=ProjectionBuildLimits(3000, 50, 100_000)
        )
        built(own / "q", [text_of(statements)], known)
    assert_equal(found, expected(statements, known))
    assert same_bytes(own / "p", own / "q")


def test_what_keys_and_offsets_have_in_common_is_there_once(folder):
    own = _new(folder)
    papers = [NamedNode(f"e:{i:03}") for i in range(300)]
    statements = [Quad(paper, NamedNode(f"p:{p}"), Literal(i)) for i, paper in enumerate(papers) for p in ("a", "b")]
    statements += [Quad(paper, NamedNode("p:late"), Literal(i % 7)) for i, paper in enumerate(papers[200:])]
    statements += [Quad(paper, NamedNode(f"p:odd{i}"), papers[i]) for i in range(2) for paper in papers[1::2]]
    known = table(own, papers)
    with kernels(compiled=True):
        found = built(own / "p", [text_of(statements)], known)
    assert_equal(found, expected(statements, known))
    a, b, late, odd, same = (found.predicates[f"p:{name}"] for name in ("a", "b", "late", "odd0", "odd1"))
    assert np.shares_memory(a.forward.keys, b.forward.keys)
    assert np.shares_memory(a.forward.keys, late.forward.keys)
    assert np.shares_memory(a.forward.keys, a.forward.offsets)
    assert np.shares_memory(odd.forward.keys, same.forward.keys)
    assert not np.shares_memory(odd.forward.keys, a.forward.keys)
    # The odd papers; then 0 ... 599, of which the papers, their offsets (to 300) and their years (from 300) are parts.
    assert (own / "p" / "keys").stat().st_size == 4 * (150 + 600)


@pytest.mark.parametrize("compiled", [False, True])
def test_offsets_are_as_wide_as_the_triples_of_their_predicate_need(folder, compiled):
    own = _new(folder)
    sizes = {"p:4": 65_536, "p:1": 255, "p:3": 65_535, "p:2": 256, "p:0": 3}
    lines = [f"<e:{'a' if i else 'b'}> <{p}> <o:{i:05}> ." for p, n in sizes.items() for i in range(n)]
    with kernels(compiled=compiled):
        found = built(own / "p", ["\n".join(lines).encode()], table(own, [NamedNode("e:a"), NamedNode("e:b")]))
    for iri, n in sizes.items():
        forward, backward = found.predicates[iri].forward, found.predicates[iri].backward
        assert forward.offsets.tolist() == [0, n - 1, n]
        assert forward.offsets.dtype == (np.uint8 if n < 256 else np.uint16 if n < 65_536 else np.uint32)
        assert forward.offsets.flags.aligned
        assert backward.offsets.tolist() == list(range(n + 1))
        assert backward.keys.tolist() == list(range(2, n + 2))


def test_sixty_thousand_predicates_open_at_once(folder):
    own = _new(folder)
    known = table(own, [NamedNode("e:a")])
    text = b"\n".join(b"<e:a> <p:%d> <e:%d> ." % (i, i % 7) for i in range(60_000))
    with kernels(compiled=True):
        found = built(own / "p", [text], known)
    assert len(found.predicates) == 60_000
    assert found.predicates["p:59999"].forward.keys.tolist() == [0]
    assert "p:60000" not in found.predicates


def test_a_text_that_is_not_understood_gives_a_note_and_no_projection(folder):
    own = _new(folder)
    builder = ProjectionBuilder(own / "w", union_default_graph=False, stored=True)
    builder.add(b"<e:a> <p:p> nonsense .")
    counts = builder.finish(own / "p", table(own, []))
    assert list(counts) == ["note"]
    assert "nonsense" in counts["note"]
    assert not (own / "p").exists()
    assert not (own / "w").exists()


def test_a_builder_can_be_given_up_at_any_time(folder):
    own = _new(folder)
    builder = ProjectionBuilder(own / "w", union_default_graph=False, stored=True, sizes=TINY)
    builder.add(b"<e:a> <p:p> <e:b> .")
    builder.discard()
    builder.discard()
    assert not (own / "w").exists()


def test_a_damaged_projection_says_what_is_wrong(folder):
    own = _new(folder)
    known = table(own, [])
    built(own / "p", [b'<e:a> <p:p> "x" .'], known)
    with pytest.raises(CorruptError, match="another default graph"):
        open_columns(own / "p", known, union_default_graph=True)
    with pytest.raises(CorruptError, match="does not belong"):
        open_columns(own / "p", table(own, [NamedNode("e:z")]), union_default_graph=False)
    for path in sorted((own / "p").iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[:-2] if content else b"1")
        with pytest.raises(CorruptError):
            open_columns(own / "p", known, union_default_graph=False)
        path.write_bytes(content)
    assert open_columns(own / "p", known, union_default_graph=False).terms.n_terms == 2
