"""A request with triple terms, reifiers and annotations leaves the graph that Oxigraph's own update leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from generated_triple_terms import E, Reified
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.errors import UnsupportedQueryError
from hybridkg.query.parser import parse_update
from hybridkg.query.write import write_update

w3c_updates = pytest.importorskip("benchmarks.w3c_updates", reason="benchmarks/ is not part of the source package")

PROLOGUE = f"PREFIX : <{E}> "


class Named(Reified):
    """As Reified, without blank nodes: those of a template of DELETE name nothing."""

    def term(self) -> str:
        return super().term().replace("_:n", "?n")

    def reifier(self) -> str:
        return self.choose("~ ?r", "~ ?z")

    def annotations(self, depth: int) -> str:
        if self.random.random() < 0.5 or not depth:
            return ""
        return f"{self.reifier()} {{| {self.verb()} {self.target(0)} {self.annotations(depth - 1)} |}}"


def ground(text: str, making: Reified) -> str:
    """The text with IRIs in place of variables."""
    for name in "xyzwrpqn":
        text = text.replace(f"?{name} ", f":{making.choose('a', 'b')} ")
    return text


def operation(making: Reified, named: Named) -> str:
    where = making.pattern()
    kind = making.choose("insert", "delete", "both", "short", "insert data", "delete data")
    match kind:
        case "insert":
            return f"INSERT {{ {making.pattern()} GRAPH :g {{ {making.pattern()} }} }} WHERE {{ {where} }}"
        case "delete":
            return f"DELETE {{ {named.pattern()} }} WHERE {{ {where} }}"
        case "both":
            return f"DELETE {{ {named.pattern()} }} INSERT {{ {making.pattern()} }} WHERE {{ {where} }}"
        case "short":
            return f"DELETE WHERE {{ {named.pattern()} }}"
        case "insert data":
            return f"INSERT DATA {{ {ground(making.pattern(), making)} }}"
    return f"DELETE DATA {{ {ground(named.pattern(), making)} }}"


@pytest.fixture(scope="module")
def requests(tmp_path_factory) -> Iterator[w3c_updates.Requests]:
    with w3c_updates.requests(KnowledgeBase.create(tmp_path_factory.mktemp("requests") / "kb")) as found:
        yield found


def outcome(requests: w3c_updates.Requests, seed: int) -> str:
    """Compares the graph after a request with that of Oxigraph."""
    making, named = Reified(seed), Named(seed + 1)
    before, text = making.data(), PROLOGUE + operation(making, named)
    wanted = w3c_updates.of_oxigraph(before, text)
    if wanted is None:
        return "Oxigraph fails"
    update = parse_update(text)
    assert parse_update(write_update(update)) == update
    try:
        after = requests.after(before, text)
    except UnsupportedQueryError:  # a blank node of the WHERE that is bound to a literal, and subject of a triple term
        return "the WHERE fails"
    assert w3c_updates.same_graph(after, wanted), text
    written = w3c_updates.of_oxigraph(before, write_update(update))
    assert written is None or w3c_updates.same_graph(written, wanted), text
    return "same" if set(after) == set(before) else "changed"


def test_a_request_leaves_the_graph_of_oxigraph(requests):
    count = examples(150, 6000)
    outcomes = Counter(outcome(requests, seed) for seed in range(count))
    assert outcomes["changed"] > count / 4
    assert outcomes["Oxigraph fails"] + outcomes["the WHERE fails"] < count / 10


@settings(max_examples=examples(12, 1000), deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_what_a_request_adds_is_removed_by_the_same_data(requests, seed):
    making, named = Reified(seed), Named(seed + 1)
    before, data = making.data(), ground(named.pattern(), making)
    requests.replace(before)
    added = requests.transaction.update(f"{PROLOGUE} INSERT DATA {{ {data} }}")
    again = requests.transaction.update(f"{PROLOGUE} INSERT DATA {{ {data} }}")
    assert (again.added, again.removed) == (0, 0)
    removed = requests.transaction.update(f"{PROLOGUE} DELETE DATA {{ {data} }}")
    assert set(added.change.added) <= set(removed.change.removed)
    assert not set(removed.change.removed) & set(requests.quads())


def test_a_literal_inside_a_triple_term_is_compared_in_the_form_of_the_store(requests):
    first = f"{PROLOGUE} INSERT DATA {{ :a :p <<( :a :q <<( :b :q +01 )>> )>> }}"
    requests.after([], first)
    (quad,) = requests.quads()
    assert quad.object.object.object.value == "1"
    again = requests.transaction.update(first)
    assert (again.added, again.removed) == (0, 0)
    removed = requests.transaction.update(f"{PROLOGUE} DELETE DATA {{ :a :p <<( :a :q <<( :b :q 1 )>> )>> }}")
    assert (removed.added, removed.removed) == (0, 1)


def test_a_blank_node_inside_triple_terms_is_one_node_of_a_solution(requests):
    a, p = ox.NamedNode(E + "a"), ox.NamedNode(E + "p")
    before = [ox.Quad(a, p, a), ox.Quad(a, p, ox.NamedNode(E + "b"))]
    text = f"{PROLOGUE} INSERT {{ _:n :of ?y . ?y :has <<( _:n :p <<( _:n :p ?y )>> )>> }} WHERE {{ ?x :p ?y }}"
    after = set(requests.after(before, text)) - set(before)
    nodes = {quad.object: quad.subject for quad in after if isinstance(quad.subject, ox.BlankNode)}
    terms = {quad.subject: quad.object for quad in after if isinstance(quad.object, ox.Triple)}
    assert len(set(nodes.values())) == len(terms) == 2
    assert all(terms[node].subject == terms[node].object.subject == nodes[node] for node in nodes)


def test_a_triple_of_a_template_is_left_out_where_its_triple_term_is_none_of_rdf(requests):
    a, p = ox.NamedNode(E + "a"), ox.NamedNode(E + "p")
    text = f"{PROLOGUE} INSERT {{ :a :q <<( ?y :p 1 )>>, <<( ?no :p 1 )>>, <<( :a ?y 1 )>>, <<( :a :p ?y )>> }}"
    after = requests.after([ox.Quad(a, p, ox.Literal("x"))], f"{text} WHERE {{ ?x :p ?y }}")
    assert {str(quad.object) for quad in after} == {'"x"', f'<{E}a> <{E}p> "x"'}
