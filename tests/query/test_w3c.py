"""The W3C test suites of SPARQL 1.0, 1.1 and 1.2, through our front end; `python -m benchmarks.w3c` prints the report.

A test passes, or a line of w3c-skips.toml says why it need not.
"""

from __future__ import annotations

from collections import Counter

import pyoxigraph as ox
import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError
from hybridkg.query.checks.check_update import check_update
from hybridkg.query.parser import parse, parse_update
from hybridkg.query.write import write, write_update

w3c = pytest.importorskip("benchmarks.w3c", reason="benchmarks/ is not part of the source package")
w3c_cases = pytest.importorskip("benchmarks.w3c_cases")
answers = pytest.importorskip("benchmarks.w3c_answers")
w3c_updates = pytest.importorskip("benchmarks.w3c_updates")

pytestmark = [pytest.mark.needs_shared, pytest.mark.quick]

OLD = ("sparql10", "sparql11")
OTHER_ANSWERS = {
    "sparql10/expr-builtin#case-insensitive-booleans": "Oxigraph 0.5.13 rejects TRUE in capitals; we write true",
    "sparql10/syntax-sparql3#syn-bad-26": "Oxigraph 0.5.13 accepts it; the suite and we do not",
}
"""Tests of 1.0 and 1.1 on which we and Oxigraph differ, each with its reason; we pass both."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What came of every test."""
    folder = tmp_path_factory.mktemp("w3c")
    return w3c.outcomes(w3c_cases.unpack(folder), KnowledgeBase.create(folder / "kb"))


def test_no_test_fails_without_a_reason_in_the_list(found):
    assert {outcome.case.name: outcome.why for outcome in found if outcome.status == "fail"} == {}
    assert len({outcome.case.name for outcome in found}) == len(found)


def test_no_line_of_the_list_is_stale(found):
    assert w3c.stale(found) == []


def test_every_syntax_test_of_sparql_10_and_11_passes(found):
    syntax = [o for o in found if o.case.suite in OLD and o.case.kind.endswith("syntax")]
    assert {outcome.status for outcome in syntax} == {"pass"}
    assert Counter((outcome.case.suite, outcome.case.kind) for outcome in syntax) == {
        ("sparql10", "positive syntax"): 149,
        ("sparql10", "negative syntax"): 50,
        ("sparql11", "positive syntax"): 66,
        ("sparql11", "negative syntax"): 48,
        ("sparql11", "positive update syntax"): 42,
        ("sparql11", "negative update syntax"): 13,
    }


def test_every_syntax_test_of_sparql_12_passes(found):
    syntax = [o for o in found if o.case.suite == "sparql12" and o.case.kind.endswith("syntax")]
    assert {outcome.status for outcome in syntax} == {"pass"}
    kinds = Counter(outcome.case.kind for outcome in syntax)
    assert kinds == {
        "positive syntax": 102,
        "negative syntax": 81,
        "positive update syntax": 18,
        "negative update syntax": 2,
    }


def test_no_test_of_sparql_12_that_oxigraph_passes_fails(found):
    new = [o for o in found if o.case.suite == "sparql12"]
    assert [o.case.name for o in new if o.oxigraph and o.status != "pass"] == []
    evaluation = [o for o in new if o.case.kind == "evaluation"]
    assert Counter(o.status for o in evaluation) == {"pass": 61, "skip": 2}
    assert {o.confirm for o in evaluation} == {True}


def test_the_evaluation_suites_are_complete_and_most_of_them_pass(found):
    evaluation = [o for o in found if o.case.suite in OLD and o.case.kind == "evaluation"]
    assert Counter(outcome.case.suite for outcome in evaluation) == {"sparql10": 284, "sparql11": 309}
    assert Counter(outcome.status for outcome in evaluation)["pass"] >= 518


def test_every_evaluation_test_of_updates_passes_and_leaves_the_graph_of_oxigraph(found):
    updates = [o for o in found if o.case.kind == w3c_cases.UPDATE]
    assert {(outcome.status, outcome.confirm) for outcome in updates} == {("pass", True)}
    assert Counter(outcome.case.suite for outcome in updates) == {"sparql11": 94, "sparql12": 3}


def test_our_answers_are_those_of_oxigraph_to_the_original_text(found):
    differ = {o.case.name for o in found if o.case.suite in OLD and o.confirm is False}
    assert differ == OTHER_ANSWERS.keys()
    assert {o.status for o in found if o.case.name in OTHER_ANSWERS} == {"pass"}


def test_only_what_oxigraph_fails_is_blamed_on_oxigraph(found):
    blamed = [outcome for outcome in found if outcome.skip is not None and outcome.skip.oxigraph]
    assert blamed
    assert {outcome.oxigraph for outcome in blamed} == {False}


def test_every_query_parses_back_from_what_we_write(found):
    count = 0
    for outcome in found:
        if outcome.case.kind in ("evaluation", "positive syntax"):
            try:
                query = parse(outcome.case.text, base=outcome.case.base)
            except HybridkgError:
                assert outcome.status == "skip"
                continue
            assert parse(write(query)) == query
            count += 1
    assert count > 800


def test_every_update_parses_back_from_what_we_write_and_has_the_effect_of_the_original(found):
    count = changing = 0
    for path in files_of_updates(found):
        text, base = path.read_text("utf-8"), path.as_uri()
        try:
            update = parse_update(text, base=base)
            check_update(update)
        except HybridkgError:
            continue
        written = write_update(update)
        assert parse_update(written) == update
        quads = data_beside(path)
        before, left = effect(quads, "", base), effect(quads, text, base)
        assert left == effect(quads, written, None), text
        count += 1
        changing += left != before
    assert count >= 149
    assert changing >= 60


def files_of_updates(found):
    """Every update of SPARQL 1.1 and 1.2, those of the evaluation tests included."""
    files = []
    for suite in ("sparql11", "sparql12"):
        query = next(o.case.query for o in found if o.case.suite == suite and o.case.query is not None)
        (root,) = (folder for folder in query.parents if folder.name == suite)
        files += sorted(root.rglob("*.ru"))
    return files


def data_beside(path):
    """The data of the folder of a test, in the default graph and in the named graphs of these suites."""
    graphs = [ox.DefaultGraph(), *(ox.NamedNode(f"http://example.org/g{number}") for number in (1, 2, 3))]
    files = [file for file in sorted(path.parent.glob("*.ttl")) if "manifest" not in file.name]
    return [
        ox.Quad(quad.subject, quad.predicate, quad.object, graph)
        for number, file in enumerate(files)
        for quad in ox.parse(path=str(file), base_iri=file.as_uri(), rename_blank_nodes=True)
        for graph in (graphs[0], graphs[number % len(graphs)])
    ]


def effect(quads, text, base):
    """What Oxigraph's update leaves of a store, or the kind of its error."""
    store = ox.Store()
    store.extend(quads)
    try:
        store.update(text, base_iri=base)
    except (RuntimeError, OSError, ValueError) as e:
        return type(e)
    left = ox.Dataset(list(store))
    left.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return left


# --- the comparison itself -------------------------------------------------------------------

A, B = ox.NamedNode("urn:a"), ox.NamedNode("urn:b")


def rows(*found, ordered=False):
    return answers.Answer(rows=tuple({"x": term} for term in found), names=frozenset("x"), ordered=ordered)


def number(text, kind="decimal"):
    return ox.Literal(text, datatype=ox.NamedNode(answers.XSD + kind))


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (rows(A, B), rows(B, A), True),
        (rows(A, B, ordered=True), rows(B, A), False),
        (rows(A, A), rows(A), False),
        (rows(A), rows(B), False),
        (rows(), rows(A), False),
        (rows(number("1.0")), rows(number("1.00")), True),
        (rows(number("1.0")), rows(number("1", "integer")), False),
        (rows(number("1")), rows(number("2")), False),
        (rows(ox.Literal("1.0")), rows(ox.Literal("1.00")), False),
        (rows(ox.Literal("x", language="EN")), rows(ox.Literal("x", language="en")), True),
        (rows(ox.Literal("x", language="en")), rows(ox.Literal("x")), False),
        (rows(ox.BlankNode("a"), ox.BlankNode("a")), rows(ox.BlankNode("c"), ox.BlankNode("c")), True),
        (rows(ox.BlankNode("a"), ox.BlankNode("a")), rows(ox.BlankNode("c"), ox.BlankNode("d")), False),
        (rows(ox.BlankNode("a"), A), rows(ox.BlankNode("c"), B), False),
        (answers.Answer(True), answers.Answer(False), False),
        (answers.Answer(True), rows(), False),
    ],
)
def test_answers_are_compared_as_sparql_means_them(left, right, equal):
    assert answers.same(left, right) is equal
    if not left.ordered:
        assert answers.same(right, left) is equal


def test_a_lax_comparison_lets_repeated_rows_be_left_out_but_no_others():
    assert answers.same(rows(A, A, B), rows(A, B), lax=True)
    assert not answers.same(rows(A, A, B), rows(A, A), lax=True)
    assert not answers.same(rows(A, B), rows(A, A, B), lax=True)


def test_graphs_after_an_update_are_compared_with_their_names():
    def quads(blank, graph=None):
        return [ox.Quad(ox.BlankNode(blank), A, B, graph or ox.DefaultGraph())]

    assert w3c_updates.same_graph(quads("a"), quads("b"))
    assert not w3c_updates.same_graph(quads("a"), [])
    assert not w3c_updates.same_graph(quads("a"), quads("a", A))
    assert w3c_updates.of_oxigraph([], "INSERT DATA { <urn:a> <urn:a> <urn:b> }") == [ox.Quad(A, A, B)]


def test_graphs_are_compared_up_to_the_names_of_blank_nodes():
    def ring(*names):
        nodes = [ox.BlankNode(name) for name in names]
        return answers.triples(ox.Triple(s, A, o) for s, o in zip(nodes, [*nodes[1:], nodes[0]], strict=True))

    assert answers.same(ring("a", "b"), ring("x", "y"))
    assert not answers.same(ring("a", "b"), ring("x"))
