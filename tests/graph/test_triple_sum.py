"""Sums of hashes of triples: the same for the store's rows, the projection, and the terms themselves."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import built, quads, stored, table, text_of
from sampling import examples

from hybridkg.graph.triple_sum import RowHashes, TripleSum, mixed, predicate_hash, sums_of_projection, term_hash
from hybridkg.rdf.term_texts import tag_of
from hybridkg.rdf.terms import Literal, Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore


def is_left_out(quad: Quad) -> bool:
    return isinstance(quad.object, Triple) or getattr(quad.object, "direction", None) is not None


def sum_of_terms(triples: set[Triple]) -> TripleSum:
    """The oracle: no text is read."""

    def own(term):
        return np.array([term_hash(tag_of(term).encode(), term.value.encode())], np.uint64)

    total = TripleSum()
    for triple in triples:
        middle = predicate_hash(triple.predicate.value)
        total += TripleSum.of(mixed(own(triple.subject), middle, own(triple.object)))
    return total


def sum_of_rows(store: OxigraphStore) -> tuple[TripleSum, set[str]]:
    predicates = [str(row[0]) for row in store.select("SELECT DISTINCT ?p { ?s ?p ?o }").rows]
    rows, total, omitted = RowHashes(), TripleSum(), set()
    with closing(store.select_text([(f"SELECT ?s ?o {{ ?s {p} ?o }}", 1) for p in predicates])) as answers:
        for i, text in answers:
            hashes, left_out = rows.of(predicates[i][1:-1], text)
            total += TripleSum.of(hashes)
            omitted |= {predicates[i][1:-1]} if left_out else set()
    return total, omitted


@given(st.lists(quads, max_size=30))
@settings(max_examples=examples(18, 100))
def test_rows_of_the_store_have_the_sum_of_their_terms(statements):
    here = [quad for quad in stored(statements) if quad.graph_name.__class__.__name__ == "DefaultGraph"]
    kept = {Triple(q.subject, q.predicate, q.object) for q in here if not is_left_out(q)}
    total, omitted = sum_of_rows(OxigraphStore.memory(here))
    assert total == sum_of_terms(kept)
    assert omitted == {q.predicate.value for q in here if is_left_out(q)}


@given(st.lists(quads, min_size=1, max_size=30), st.data())
@settings(max_examples=examples(6, 100))
def test_a_projection_has_the_sum_of_its_store_in_both_directions_and_no_other(statements, data):
    here = [quad for quad in stored(statements) if quad.graph_name.__class__.__name__ == "DefaultGraph"]
    expected, _ = sum_of_rows(OxigraphStore.memory(here))
    with TemporaryDirectory() as folder:
        entities = table(Path(folder), [quad.subject for quad in here[::2]])
        columns = built(Path(folder) / "projection", [text_of(here)], entities)
        assert sums_of_projection(columns) == (expected, expected)
    if kept := [quad for quad in here if not is_left_out(quad)]:
        lost = data.draw(st.sampled_from(kept))
        assert sum_of_rows(OxigraphStore.memory([quad for quad in here if quad != lost]))[0] != expected
        changed = Quad(lost.subject, lost.predicate, Literal("not there before"))
        other = [changed if quad == lost else quad for quad in here]
        assert sum_of_rows(OxigraphStore.memory(other))[0].triples == expected.triples
        assert sum_of_rows(OxigraphStore.memory(other))[0] != expected
