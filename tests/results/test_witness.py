"""The chain that shows why a path holds: it exists where the path does, each link is in the graph, none is shorter."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad, Triple
from sampling import examples

from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.results import witness as module
from hybridkg.results.evidence import Evidence
from hybridkg.results.witness import witness
from hybridkg.store.oxigraph import OxigraphStore

NODES = [NamedNode(f"e:{name}") for name in "abcde"]
PREDICATES = ["e:p", "e:q"]
node = st.sampled_from(NODES)
graphs = st.frozensets(st.tuples(node, st.sampled_from(PREDICATES), node), max_size=9)
leaves = st.one_of(
    st.sampled_from(PREDICATES).map(ast.Iri),
    st.sampled_from(
        [
            ast.PathNegated((ast.Iri("e:p"),)),
            ast.PathNegated((ast.PathInverse(ast.Iri("e:q")),)),
            ast.PathNegated((ast.Iri("e:q"), ast.PathInverse(ast.Iri("e:p")))),
        ]
    ),
)
paths = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(ast.PathInverse),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ast.PathSequence(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ast.PathAlternative(tuple(parts))),
        st.tuples(inner, st.sampled_from("?*+")).map(lambda pair: ast.PathRepeat(*pair)),
    ),
    max_leaves=5,
)


def asked(graph):
    def ask(link, nodes, backward):
        for s, p, o in sorted(graph, key=str):
            fits = p == link.predicate if link.predicate else p not in link.excluded
            here = o if link.inverse != backward else s
            if fits and here in nodes:
                yield here, Triple(s, NamedNode(p), o)

    return ask


def lengths(path, graph):
    """{(begin, end): links of the shortest chain}, by the definition of each kind of path."""
    match path:
        case ast.Iri(p):
            return {(s, o): 1 for s, q, o in graph if q == p}
        case ast.PathNegated(parts):
            ahead = {part.value for part in parts if isinstance(part, ast.Iri)}
            back = {part.path.value for part in parts if isinstance(part, ast.PathInverse)}
            found = {(s, o): 1 for s, q, o in graph if q not in ahead} if ahead else {}
            return found | ({(o, s): 1 for s, q, o in graph if q not in back} if back else {})
        case ast.PathInverse(inner):
            return {(o, s): n for (s, o), n in lengths(inner, graph).items()}
        case ast.PathAlternative(parts):
            return least([pair for part in parts for pair in lengths(part, graph).items()])
        case ast.PathSequence(parts):
            found = lengths(parts[0], graph)
            for part in parts[1:]:
                found = composed(found, lengths(part, graph))
            return found
    one = lengths(path.path, graph)
    none = {(node, node): 0 for node in NODES}
    found = one
    for _ in NODES if path.mark != "?" else ():
        found = least([*found.items(), *composed(found, one).items()])
    return found if path.mark == "+" else least([*found.items(), *none.items()])


def least(pairs):
    found = {}
    for pair, n in pairs:
        found[pair] = min(n, found.get(pair, n))
    return found


def composed(first, second):
    return least([((a, d), n + m) for (a, b), n in first.items() for (c, d), m in second.items() if b == c])


@settings(max_examples=examples(39, 200), deadline=None)
@given(paths, graphs)
def test_a_chain_is_found_where_the_path_holds_and_no_other_is_shorter(path, graph):
    expected = lengths(path, graph)
    for begin in NODES:
        for end in NODES:
            chain = witness(path, begin, end, asked(graph))
            if (begin, end) not in expected:
                assert chain is None
                continue
            assert chain is not None
            assert len(chain) == expected[begin, end]
            assert {(t.subject, t.predicate.value, t.object) for t in chain} <= graph
            at = {begin}
            for t in chain:  # each link goes on, one way or the other, where the one before it has ended
                at = {there for here, there in ((t.subject, t.object), (t.object, t.subject)) if here in at}
            assert end in at


@settings(max_examples=examples(36, 60), deadline=None)
@given(paths, graphs)
def test_the_evidence_of_a_row_alone_gives_the_row_again(path, graph):
    store = OxigraphStore.memory(Quad(s, NamedNode(p), o) for s, p, o in graph)
    where = ast.Group((ast.Triples((ast.TriplePattern(ast.Var("x"), path, ast.Var("y")),)),))
    text = write(ast.SelectQuery((ast.SelectItem(ast.Var("x")), ast.SelectItem(ast.Var("y"))), where))
    for x, y in {tuple(row) for row in store.select(text).rows}:
        triples = Evidence(where, store).triples({"x": x, "y": y})
        small = OxigraphStore.memory(Quad(t.subject, t.predicate, t.object) for t in triples)
        again = {tuple(row) for row in small.select(text).rows}
        assert (x, y) in again or (x == y and not triples)


def test_a_search_that_grows_too_large_ends_without_a_chain(monkeypatch):
    graph = {(NODES[i], "e:p", NODES[i + 1]) for i in range(4)}
    path = ast.PathRepeat(ast.Iri("e:p"), "+")
    assert len(witness(path, NODES[0], NODES[4], asked(graph)) or ()) == 4
    monkeypatch.setattr(module, "MAX_STATES", 3)
    assert witness(path, NODES[0], NODES[4], asked(graph)) is None
