"""Copying the graph of an endpoint by pages: whole or an error, and going on where it was interrupted."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Quad, RdfFormat, Store, parse
from scripted_endpoint import TSV, Said, ScriptedEndpoint
from small_graph import graph, pages

from hybridkg.config.settings import EndpointSettings
from hybridkg.errors import EndpointError
from hybridkg.interfaces.progress import SILENT
from hybridkg.store.endpoint import export as exporting
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.export import WORK, Export, Exported

pytestmark = pytest.mark.usefixtures("short_waits")


def export(endpoint: ScriptedEndpoint, folder: Path, page: int = 10) -> Exported:
    connection = Connection(endpoint.url, EndpointSettings(timeout=60))
    return Export(connection, folder / WORK, page, SILENT).run()


def held(found: Exported) -> Store:
    store = Store()
    for file in found.files:
        store.extend(parse(file.read_bytes(), format=RdfFormat.N_TRIPLES))
    return store


def same(one: Store, other: Store) -> bool:
    """Whether both hold the same triples, blank nodes counted only."""
    plain = [{str(q) for q in store if "_:" not in str(q)} for store in (one, other)]
    return plain[0] == plain[1] and len(one) == len(other)


@pytest.mark.parametrize("cap", [None, 3, 10, 39])
@pytest.mark.parametrize("page", [1, 7, 40, 1000])
def test_every_triple_is_copied_whatever_the_pages(tmp_path, cap, page):
    with ScriptedEndpoint(graph(), cap=cap if cap is None else max(cap, 8)) as endpoint:
        found = export(endpoint, tmp_path, page)
    assert same(held(found), graph())
    assert found.triples == 45
    assert found.is_capped == (cap is not None and max(cap, 8) < min(page, 40))
    assert found.longest == min(page if page < 1000 else 45, 99 if cap is None else max(cap, 8))


def test_the_progress_counts_to_the_number_of_triples(tmp_path):
    totals, units = [], []

    class Counting:
        def start(self, label, total):
            totals.append(total)

        def advance(self, done, items):
            units.append(done)

        def done(self, items):
            totals.append(items)

    for _ in range(2):  # the second finds the pages of the first
        with ScriptedEndpoint(graph(40, blank=4)) as endpoint:
            connection = Connection(endpoint.url, EndpointSettings(timeout=60))
            Export(connection, tmp_path / WORK, 7, Counting()).run()
        assert totals == [None, sum(units), sum(units)]
        assert sum(units) > 40
        totals.clear()
        units.clear()


def test_the_predicates_of_a_page_are_asked_for_together(tmp_path):
    with ScriptedEndpoint(graph()) as endpoint:
        export(endpoint, tmp_path, 1000)
    assert len(pages(endpoint)) == 1


def test_blank_nodes_stay_what_they_are(tmp_path):
    with ScriptedEndpoint(graph(40, blank=4)) as endpoint:
        found = export(endpoint, tmp_path)
    store = held(found)
    assert same(store, graph(40, blank=4))
    rows = list(store.query("SELECT ?s ?n { ?s <http://e/part> ?x . ?x <http://e/name> ?n }"))
    assert {(row[0].value, row[1].value) for row in rows} == {(f"http://e/{i}", f"part {i}") for i in range(4)}


def test_blank_nodes_that_do_not_fit_into_one_answer_are_an_error(tmp_path):
    with (
        ScriptedEndpoint(graph(40, blank=20), cap=30) as endpoint,
        pytest.raises(EndpointError, match="counts 40 triples with blank nodes, and gave 30 in one answer"),
    ):
        export(endpoint, tmp_path)


def test_an_endpoint_whose_pages_overlap_is_asked_in_order(tmp_path):
    def rule(asked):
        if "LIMIT" in asked.query and "ORDER BY" not in asked.query:
            return endpoint.answer(asked.query.rpartition("OFFSET")[0] + "OFFSET 0", TSV)
        return None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


def test_one_that_gives_less_than_it_counts_is_an_error(tmp_path):
    def rule(asked):
        return Said(b"?s\t?p\t?o\n", TSV) if "OFFSET 20" in asked.query else None

    with (
        ScriptedEndpoint(graph(), rule) as endpoint,
        pytest.raises(EndpointError, match=r"counts 40 triples of <http://e/p>, and gave 20"),
    ):
        export(endpoint, tmp_path)


def test_a_list_of_predicates_that_is_cut_is_asked_for_to_its_end(tmp_path):
    with ScriptedEndpoint(graph(), cap=2) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


def test_a_list_of_predicates_that_lacks_some_is_an_error(tmp_path):
    nothing = Said(b'{"head": {"vars": ["p", "n"]}, "results": {"bindings": []}}')
    rule = lambda asked: nothing if "GROUP BY" in asked.query and "OFFSET 0" not in asked.query else None
    with (
        ScriptedEndpoint(graph(), rule, cap=3) as endpoint,
        pytest.raises(EndpointError, match=r"counts 45 triples, and .* by predicate"),
    ):
        export(endpoint, tmp_path)


def test_one_that_ignores_the_limit_does_not_fill_the_disk(tmp_path):
    rule = lambda asked: endpoint.answer(asked.query.partition(" LIMIT")[0], TSV) if "LIMIT" in asked.query else None
    with (
        ScriptedEndpoint(graph(), rule) as endpoint,
        pytest.raises(EndpointError, match="sent more than the 10 rows of the query"),
    ):
        export(endpoint, tmp_path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"?s\t?p\t?o\n<http://e/0>\t<http://e/p>\n", "a row of 2 cells, not of 3"),
        (b"?s\t?p\t?o\n<http://e/0>\t<http://e/p>\tfish\n", "'fish' is not a term"),
        (b'?s\t?p\t?o\n<http://e/0>\t<http://e/p>\t"a" . <x:a> <x:b> <x:c>\n', "malformed, or ends too early"),
        (b'?s\t?p\t?o\n<http://e/0>\t<http://e/p>\t"a\n', "malformed"),
        (b"?s\t?p\t?o\n<http://e/0>\t<http://e/p>\t_:b\n", "an unexpected blank node"),
        (b"?a\t?b\n", "no names of columns"),
    ],
)
def test_rows_that_are_no_triples_are_an_error(tmp_path, body, message):
    with (
        ScriptedEndpoint(graph(), lambda asked: Said(body, TSV) if "LIMIT" in asked.query else None) as endpoint,
        pytest.raises(EndpointError, match=message),
    ):
        export(endpoint, tmp_path)


def test_an_endpoint_without_tsv_answers_in_json(tmp_path):
    def rule(asked):
        return endpoint.answer(asked.query, "") if "LIMIT" in asked.query else None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


# --- going on -----------------------------------------------------------------------------------


def test_what_was_copied_is_not_copied_again(tmp_path):
    def rule(asked):
        return Said(status=500) if "OFFSET 20" in asked.query else None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        with pytest.raises(EndpointError, match="cannot answer"):
            export(endpoint, tmp_path)
        before = len(pages(endpoint))
        endpoint.rule = lambda asked: None
        found = export(endpoint, tmp_path)
        assert same(held(found), graph())
        assert len(pages(endpoint)) - before == 2  # of five in all


def test_the_price_of_a_row_is_that_of_all_pages_whenever_they_were_read(tmp_path, monkeypatch):
    def rule(asked):
        if "LIMIT" in asked.query:
            time.sleep(0.02)

    def killed(*_):
        raise KeyboardInterrupt

    with ScriptedEndpoint(graph(), rule) as endpoint:
        with monkeypatch.context() as patched:
            patched.setattr(Export, "_round_trip_us", killed)  # all pages have been read, and nothing has been told
            with pytest.raises(KeyboardInterrupt):
                export(endpoint, tmp_path)
        before = len(pages(endpoint))
        monkeypatch.setattr(Export, "_round_trip_us", lambda self: 1_000.0)
        found = export(endpoint, tmp_path)
        assert len(pages(endpoint)) == before == 5
        assert found.row_us >= 5 * (20_000 - 1_000) / 45


def test_a_graph_that_has_changed_is_copied_anew(tmp_path):
    def rule(asked):
        return Said(status=500) if "OFFSET 20" in asked.query else None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        with pytest.raises(EndpointError):
            export(endpoint, tmp_path)
        endpoint.store, endpoint.rule = graph(41), lambda asked: None
        assert same(held(export(endpoint, tmp_path)), graph(41))


@pytest.mark.parametrize("state", ["", "{", "[]", '{"state": 1, "begun": "x"}'])
def test_a_damaged_state_begins_anew(tmp_path, state):
    (tmp_path / WORK).mkdir()
    (tmp_path / WORK / exporting.STATE).write_text(state)
    with ScriptedEndpoint(graph()) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


def test_an_old_one_begins_anew(tmp_path):
    with ScriptedEndpoint(graph()) as endpoint:
        export(endpoint, tmp_path)
        file = tmp_path / WORK / exporting.STATE
        file.write_text(json.dumps(json.loads(file.read_text()) | {"begun": time.time() - 2 * exporting.STALE_S}))
        before = len(pages(endpoint))
        export(endpoint, tmp_path)
        assert len(pages(endpoint)) - before == before


def test_a_triple_that_is_given_for_each_of_its_graphs_counts_once(tmp_path):
    store = Store()
    for quad in graph(30):
        for name in ("http://g/1", "http://g/2"):
            store.add(Quad(quad.subject, quad.predicate, quad.object, NamedNode(name)))
    with ScriptedEndpoint(store, union=True) as endpoint:
        found = export(endpoint, tmp_path)
    assert found.repeats
    assert same(held(found), graph(30))
