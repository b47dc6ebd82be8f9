"""A small load is counted by its own quads; the graph and the counts are those of a large load."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Store
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.store import loading
from hybridkg.store.generations.next_generation import Building

NODES = st.sampled_from(["<x:a>", "<x:b>", "_:n", "_:m"])
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
VALUES = st.sampled_from(['"t"', f'"7"^^{INTEGER}', f'"+7"^^{INTEGER}', f'"07"^^{INTEGER}'])
LINES = st.lists(st.tuples(NODES, st.sampled_from(["<x:p>", "<x:q>"]), NODES | VALUES), max_size=12)


def loaded(folder, parts: list[str]) -> tuple[list[object], int]:
    kb = KnowledgeBase.create(folder)
    reports = []
    for number, text in enumerate(parts):
        path = folder.parent / f"{number}.nt"
        path.write_text(text)
        reports.append(kb.load(path, index=False))
    rows = sorted(str(row.to_python()) for row in kb.query("SELECT * { ?s ?p ?o }"))
    return [(report.triples, rows) for report in reports], kb.stats()["triples"]


def test_forms_of_one_value_are_one_triple(tmp_path):
    """The store keeps the value of a number, also inside a triple term, and only the first form counts."""
    term = "<<( <x:a> <x:p> {} )>>"
    forms = [f'"{form}"^^{INTEGER}' for form in ("7", "+7", "07", "8")]
    lines = [f"<x:a> <x:p> {o} .\n" for form in forms for o in (form, term.format(form))]
    ((counted, rows),), triples = loaded(tmp_path / "kb", ["".join(lines)])
    assert (counted, len(rows), triples) == (4, 4, 4)


@settings(max_examples=examples(4, 100), deadline=None)
@given(st.lists(LINES, min_size=1, max_size=3))
def test_small_and_large_loads_agree(tmp_path_factory, parts):
    texts = ["".join(f"{' '.join(line)} .\n" for line in lines) for lines in parts]
    found = []
    for few in (10_000, 1, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loading, "FEW", few)
            found.append(loaded(tmp_path_factory.mktemp("few") / "kb", texts))
    assert found[0] == found[1] == found[2]


def test_a_small_load_does_not_read_the_graph(tmp_path, monkeypatch):
    kb = KnowledgeBase.create(tmp_path / "kb")
    (tmp_path / "a.nt").write_text("<x:a> <x:p> <x:b> .\n")
    kb.load(tmp_path / "a.nt", index=False)
    monkeypatch.setattr(loading, "_add_many", None)
    assert kb.load(tmp_path / "a.nt", index=False).triples == 0
    (tmp_path / "a.nt").write_text("<x:a> <x:p> <x:b> .\n<x:a> <x:p> 2 .\n<x:a> <x:p> 2 .\n".replace(" 2 ", ' "2" '))
    assert kb.load(tmp_path / "a.nt", index=False).triples == 1
    assert kb.stats()["triples"] == 2


def test_the_graph_is_compact_after_an_index_step_and_is_opened_once_where_the_load_has_compacted_it(
    tmp_path, monkeypatch
):
    opened, own_graph = [], Building._own_graph
    monkeypatch.setattr(Building, "_own_graph", lambda self: opened.append(self) or own_graph(self))

    def tables(graph) -> list[int]:
        return sorted(table.stat().st_size for table in graph.glob("*.sst"))

    kb = KnowledgeBase.create(tmp_path / "kb")
    for number, (subjects, openings) in enumerate([(9, 1), (1, 2), (40, 1)]):
        (tmp_path / "a.nt").write_text("".join(f"<x:{number}s{s}> <x:p> <x:o> .\n" for s in range(subjects)))
        opened.clear()
        kb.load(tmp_path / "a.nt", index=True)
        assert len(opened) == openings
        compact = shutil.copytree(kb._snapshot.generation.path / "graph", tmp_path / f"copy{number}")
        found = tables(compact)
        Store(str(compact)).optimize()
        assert len(found) == len(tables(compact))
