"""Generated graphs for the tests of the projection's builder, and ways to build it."""

from __future__ import annotations

import filecmp
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, Store, serialize

from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build import adjacency, literal_pieces, nquads_reader, numbering
from hybridkg.graph.build.builder import ProjectionBuilder, ProjectionBuildLimits
from hybridkg.graph.build.literal_pieces import PieceLimits
from hybridkg.graph.build.patched_projection import TripleChange, is_projected
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.columns import ProjectionColumns, TermTable
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS
from hybridkg.graph.stored_projection import open_columns
from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.rdf.terms import XSD, BlankNode, DefaultGraph, Literal, NamedNode, Node, Quad, Term, Triple
from hybridkg.rdf.triple_columns import TripleColumns
from hybridkg.storage.arrays import smallest_unsigned

USUAL = ProjectionBuildLimits()
TINY = ProjectionBuildLimits(chunk_bytes=1, run_terms=1, run_bytes=1)

names = st.text("ab_é\U0001f600-", min_size=0, max_size=12)
iris = st.builds(lambda name: NamedNode("e:" + name), names)
blanks = st.sampled_from(["b", "b1", "a", "d1x10", "d1x2"]).map(BlankNode)
nodes = iris | blanks
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        "",
        "\0",
        "a",
        "a\0",
        "a\0\0",
        "a" * 8,
        "a" * 16,
        "a" * 8 + "b",
        '"',
        "\\",
        "\n\r\t\b\f",
        "<>",
        "--",
        " .\n",
        "é" * 5,
    ]
)
typed = st.builds(
    lambda text, name: Literal(text, datatype=NamedNode(name)),
    st.sampled_from(
        ["7", "07", "+7", "-0", "1.0", "1.50", "1e0", "-0.0", "NaN", "INF", "+INF", "true", "1", "0", "x", "2020-01-01",
         "2020-01-01Z", "2020-02-30", "2020-01-01T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01T00:00:00.10",
         "2020-01-01T00:00:00-00:00", "P1Y", "12:00:00"]
    ),
    st.sampled_from(
        [XSD + name for name in ("integer", "int", "decimal", "double", "float", "boolean", "dateTime", "date",
                                 "dateTimeStamp", "time", "duration", "string", "anyURI")] + ["e:type", "e:a>b"[:3]]
    ),
)  # fmt: skip
tagged = st.builds(lambda text, tag: Literal(text, language=tag), texts, st.sampled_from(["en", "de", "en-us"]))
literals = texts.map(Literal) | typed | tagged
left_out = st.builds(Triple, nodes, iris, nodes | literals) | st.builds(
    lambda inner, outer: Triple(outer, NamedNode("e:p"), inner),
    st.builds(Triple, nodes, iris, texts.map(Literal)),
    nodes,
)
predicates = st.sampled_from("pqrs").map(lambda name: NamedNode("p:" + name))
graphs = st.sampled_from([DefaultGraph(), DefaultGraph(), NamedNode("g:g"), BlankNode("g")])
quads = st.builds(Quad, nodes, predicates, nodes | literals | literals | left_out, graphs)


def text_of(statements: Iterable[Quad]) -> bytes:
    """N-Quads as Oxigraph writes them."""
    return serialize(statements, format=RdfFormat.N_QUADS) or b""


def stored(statements: Iterable[Quad]) -> list[Quad]:
    """What a store makes of them."""
    store = Store()
    store.extend(statements)
    return list(store)


def table(folder: Path, entities: Iterable[Node]) -> NodeTable:
    NodeTable.write(folder, entities)
    return NodeTable.open(folder)


@contextmanager
def kernels(*, compiled: bool):
    """Everything is done by the kernels, or by their twins."""
    modules = [module.KERNEL for module in (nquads_reader, numbering, adjacency)]
    with patch.object(type(modules[0]), "for_work", lambda self, work: self.load() if compiled else None):
        yield


SMALL = PieceLimits(least=8, mean=24, most=64)


@contextmanager
def small_pieces():
    """Pieces of literals are so small that a few literals make several."""
    with patch.object(literal_pieces, "LIMITS", SMALL):
        yield


def built(
    folder: Path,
    parts: Iterable[bytes],
    entities: NodeTable,
    *,
    union: bool = False,
    from_store: bool = True,
    sizes: ProjectionBuildLimits = USUAL,
) -> ProjectionColumns:
    """The projection of some pieces of N-Quads."""
    builder = ProjectionBuilder(folder.with_suffix(".tmp"), union_default_graph=union, stored=from_store, sizes=sizes)
    for part in parts:
        builder.add(part)
    counts = builder.finish(folder, entities)
    assert "note" not in counts
    assert not folder.with_suffix(".tmp").exists()
    return open_columns(folder, entities, union_default_graph=union)


def expected(statements: Iterable[Quad], entities: NodeTable, *, union: bool = False) -> ProjectionColumns:
    """The same by the oracle."""
    triples = [
        Triple(q.subject, q.predicate, q.object)
        for q in stored(statements)
        if union or isinstance(q.graph_name, DefaultGraph)
    ]
    return columns_of(triples, entities.nodes(np.arange(len(entities), dtype=np.uint32)))


def assert_equal(found: ProjectionColumns, wanted: ProjectionColumns) -> None:
    """Whether two projections say the same."""
    a, b = found.terms, wanted.terms
    (own,), (part,) = a.parts, b.parts
    assert (a.n_entities, a.n_nodes, a.n_terms, dict(own.segments)) == (
        b.n_entities,
        b.n_nodes,
        b.n_terms,
        dict(part.segments),
    )
    ids = np.arange(b.n_terms, dtype=np.uint32)
    terms = b.terms(ids)
    assert a.terms(ids) == terms
    assert a.find(terms).tolist() == ids.tolist()
    for some in (ids[: b.n_entities], ids[b.n_nodes :], np.append(ids[::-1], UNBOUND)):
        assert a.terms(some) == b.terms(some)
        assert [*map(list, a.tagged(some))] == [*map(list, b.tagged(some))]
    for name in SEGMENTS[FIRST_VALUED:]:
        assert own.values(name).tolist() == part.values(name).tolist()
    for first, end in [*part.segments.values(), (b.n_nodes, b.n_terms)]:
        assert forms(a, first, end) == forms(b, first, end)
        assert a.lengths(first, end).tolist() == b.lengths(first, end).tolist()
    assert found.omitted == wanted.omitted
    assert list(found.predicates) == sorted(wanted.predicates)
    for iri, predicate in wanted.predicates.items():
        for direction in ("forward", "backward"):
            for part in ("keys", "offsets", "targets"):
                one, other = (getattr(getattr(p, direction), part) for p in (found.predicates[iri], predicate))
                assert one.tolist() == other.tolist(), (iri, direction, part)


def forms(table: TermTable, first: int, end: int) -> list[bytes]:
    """The lexical forms of literals, by as many calls as their pieces need."""
    found: list[bytes] = []
    while first < end:
        data, offsets = table.lexical(first, end)
        found += [data[low:high].tobytes() for low, high in pairwise(offsets.tolist())]
        first += len(offsets) - 1
    return found


def as_version_2(folder: Path) -> None:
    """Rewrites a projection as version 2 had it: forms and their offsets in an array each, values of strings, too."""
    about = json.loads((folder / "projection.json").read_text())
    forms, arrays = [], about["arrays"]
    for number, (count, size) in enumerate(about.pop("literal_pieces")):
        del arrays[f"literals.{number}"]
        path = folder / f"literals.{number}"
        data, dtype = path.read_bytes(), smallest_unsigned(size)
        offsets = np.frombuffer(data[: (count + 1) * dtype.itemsize], dtype).tolist()
        text = data[(count + 1) * dtype.itemsize :]
        forms += [text[low:high] for low, high in pairwise(offsets)]
        path.unlink()
    values = np.frombuffer((folder / "literals.values").read_bytes(), "<f8")
    own = {
        "literals.text": np.frombuffer(b"".join(forms), "u1"),
        "literals.offsets": np.cumsum([0, *map(len, forms)]).astype("<u8"),
        "literals.values": np.concatenate([np.zeros(len(forms) - len(values)), values]),
    }
    for name, array in own.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_bytes(array.tobytes())
        arrays[name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    (folder / "projection.json").write_text(json.dumps({**about, "version": 2}))


def same_bytes(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files."""
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return filecmp.cmpfiles(one, other, names, shallow=False) == (names, [], [])


def rows_of(statements: Sequence[Quad], *, union: bool = False) -> dict[str, bytes]:
    """For each predicate, its subjects and objects in SPARQL's table format."""
    from pyoxigraph import QueryResultsFormat

    store = Store()
    store.extend(statements)
    found = {}
    for (predicate,) in store.query("SELECT DISTINCT ?p { ?s ?p ?o }", use_default_graph_as_union=union):
        rows = store.query(f"SELECT ?s ?o {{ ?s {predicate} ?o }}", use_default_graph_as_union=union)
        found[predicate.value] = rows.serialize(format=QueryResultsFormat.TSV).partition(b"\n")[2].rstrip(b"\n")
    return found


def change_between(first: list[Quad], second: list[Quad]) -> tuple[TripleChange, Callable[[Term], bool]]:
    """The triples that differ between two states, and whether a term is in a triple of the second one."""
    before, after = set(first), set(second)
    change = TripleChange(
        *(
            TripleColumns.of(quad for quad in own if quad not in other)
            for own, other in ((second, before), (first, after))
        )
    )
    occurring = {term for quad in second if is_projected(quad.object) for term in (quad.subject, quad.object)}
    return change, occurring.__contains__
