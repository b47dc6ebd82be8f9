"""An update request leaves the graph that Oxigraph's own update leaves, up to the names of new blank nodes.

Deviations, each with its test: a named graph without a triple does not exist, so ADD, COPY and MOVE from one are
errors, and so are CLEAR and DROP of one; with SILENT they change nothing, where Oxigraph empties the target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from generated_changes import UpdateMaker, maker
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rebuilt import PROLOGUE, E
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError, UserError

w3c_updates = pytest.importorskip("benchmarks.w3c_updates", reason="benchmarks/ is not part of the source package")

A, P, B = ox.NamedNode(E + "a"), ox.NamedNode(E + "p"), ox.NamedNode(E + "b")
G = ox.NamedNode(E + "g")
FROM_GRAPH = re.compile(r"(?:ADD|COPY|MOVE) SILENT (:\w) TO (\S+)")


@pytest.fixture(scope="module")
def requests(tmp_path_factory) -> Iterator[w3c_updates.Requests]:
    with w3c_updates.requests(KnowledgeBase.create(tmp_path_factory.mktemp("requests") / "kb")) as found:
        yield found


def oxigraph_after(quads: list[ox.Quad], operations: list[str]) -> list[ox.Quad]:
    """The quads after Oxigraph's update, with our one deviation: an operation from a missing graph does nothing."""
    store = ox.Store()
    store.extend(quads)
    for operation in operations:
        copied = FROM_GRAPH.match(operation)
        if copied and not list(store.quads_for_pattern(None, None, None, ox.NamedNode(E + copied[1][1:]))):
            continue
        store.update(PROLOGUE + operation)
        for graph in list(store.named_graphs()):
            if not list(store.quads_for_pattern(None, None, None, graph)):
                store.remove_graph(graph)
    return list(store)


def data(making: UpdateMaker) -> list[ox.Quad]:
    store = ox.Store()
    store.update(f"{PROLOGUE} INSERT DATA {{ {making.data(3, 10)} GRAPH :g {{ {making.data()} }} }}")
    if making.one_in(2):
        store.update(f"{PROLOGUE} INSERT DATA {{ GRAPH :h {{ {making.data()} }} }}")
    return list(store)


@settings(max_examples=examples(15, 6000), deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_a_request_leaves_the_graph_of_oxigraph_and_reports_the_difference(requests, seed):
    making = maker(seed)
    before, operations = data(making), making.some(making.operation, 1, 4)
    wanted = oxigraph_after(before, operations)
    requests.replace(before)
    report = requests.transaction.update(PROLOGUE + " ;\n".join(operations))
    after = requests.quads()
    assert w3c_updates.same_graph(after, wanted), operations
    added, removed = set(after) - set(before), set(before) - set(after)
    assert (report.added, report.removed) == (len(added), len(removed)), operations
    assert set(report.change.added) == added
    assert set(report.change.removed) == removed
    assert report.entities == len({quad.subject for quad in added | removed})


@settings(max_examples=examples(12, 1000), deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_an_error_after_any_operations_undoes_them_all(requests, seed):
    making = maker(seed)
    before, operations = data(making), making.some(making.operation, 1, 4)
    requests.replace(before)
    whole = requests.state.graph.change()
    with pytest.raises(UserError, match="there is no graph"):
        requests.transaction.update(PROLOGUE + " ;\n".join([*operations, "CLEAR GRAPH :missing"]))
    assert set(requests.quads()) == set(before)
    assert set(requests.state.graph.store.named_graphs()) == {q.graph_name for q in before} - {ox.DefaultGraph()}
    after = requests.state.graph.change()
    assert (set(after.added), set(after.removed)) == (set(whole.added), set(whole.removed))


@settings(max_examples=examples(12, 1000), deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_the_same_request_adds_and_removes_nothing_that_is_so_already(requests, seed):
    making = maker(seed)
    before = data(making)
    insert, remove = making.quads(blank=False), making.quads(blank=False)
    requests.replace(before)
    for request in (f"INSERT DATA {{ {insert} }}", f"DELETE DATA {{ {remove} }}"):
        requests.transaction.update(PROLOGUE + request)
        again = requests.transaction.update(PROLOGUE + request)
        assert (again.added, again.removed, again.entities) == (0, 0, 0)


# --- deviations -------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["ADD", "COPY", "MOVE"])
def test_what_is_copied_from_a_missing_graph_is_an_error_and_leaves_the_target(requests, operation):
    before = [ox.Quad(A, P, B), ox.Quad(A, P, B, G)]
    with pytest.raises(UserError, match=f"there is no graph <{E}missing>"):
        requests.after(before, f"{PROLOGUE} {operation} :missing TO :g")
    assert set(requests.quads()) == set(before)
    assert set(requests.after(before, f"{PROLOGUE} {operation} SILENT :missing TO :g")) == set(before)


def test_a_named_graph_exists_while_it_has_a_triple(requests):
    def names(request: str, before: list[ox.Quad]) -> set[ox.NamedNode]:
        requests.after(before, PROLOGUE + request)
        return set(requests.state.graph.store.named_graphs())

    one = [ox.Quad(A, P, B, G)]
    assert names("CREATE GRAPH :new", []) == set()
    assert names("CLEAR GRAPH :g", one) == set()
    assert names("DELETE DATA { GRAPH :g { :a :p :b } }", one) == set()
    assert names("DELETE DATA { GRAPH :g { :a :p :b } } ; INSERT DATA { GRAPH :g { :b :p :b } }", one) == {G}
    assert names("MOVE :g TO :h", one) == {ox.NamedNode(E + "h")}
    with pytest.raises(UserError, match="exists already"):
        requests.after(one, f"{PROLOGUE} CREATE GRAPH :g")
    for operation in ("CLEAR", "DROP"):
        with pytest.raises(UserError, match="there is no graph"):
            requests.after([], f"{PROLOGUE} {operation} GRAPH :g")


def test_blank_nodes_of_an_insert_are_new_for_each_solution_and_each_request(requests):
    before = [ox.Quad(A, P, B), ox.Quad(B, P, A)]
    text = f"{PROLOGUE} INSERT {{ _:n :of ?x . ?x :has _:n }} WHERE {{ ?x :p ?y }}"
    requests.after(before, text)
    requests.transaction.update(text)
    made = [quad.subject for quad in requests.quads() if isinstance(quad.subject, ox.BlankNode)]
    assert len(set(made)) == len(made) == 4


def test_errors_of_requests_have_the_place_in_the_text(requests):
    with pytest.raises(HybridkgError) as caught:
        requests.after([], "PREFIX : <http://e/>\nINSERT DATA { :a :p :b } ;\n  DROP GRAPH :nowhere")
    assert "--> update:3:14" in caught.value.render()
    assert requests.quads() == []


def test_the_graph_of_a_with_may_be_new(requests):
    before = [ox.Quad(A, P, B), ox.Quad(A, P, A, G)]
    for where in ("{}", "{ BIND(:a AS ?x) }", "{ OPTIONAL { ?x :p ?y } }", "{ GRAPH ?g { ?x :p ?y } }", "{ ?x :p ?y }"):
        request = f"{PROLOGUE} WITH :new INSERT {{ :new :made ?x . :new :was :here }} WHERE {where}"
        assert w3c_updates.same_graph(requests.after(before, request), w3c_updates.of_oxigraph(before, request)), where
