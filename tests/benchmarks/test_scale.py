"""docs/scale.md says what the stored results say."""

from __future__ import annotations

import pytest

from benchmarks.scale import PAGE, curves, filled, results, stale
from hybridkg.entities.node_table import MAX_NODES
from hybridkg.vector.index.similarity import padded


def test_tables_and_curves_are_those_of_the_stored_results():
    assert list(stale()) == []


def test_a_table_that_says_something_else_is_noticed():
    page = PAGE.read_text()
    assert filled(page.replace("24 min", "2 min")) == page
    assert filled(page) == page
    assert "<svg" in curves()


def figures():
    """(words of the page, the figure in them)."""
    elastic, vectors, mag = results("elastic"), results("vectors")["exact"], results("projection")["mag"]["projection"]
    common = elastic["latency"]["matching_ms"]["common"]
    rate = elastic["bulk"]["per_second"]["hybridkg"]
    each = vectors["ms"]["all"]["p50"] * 1e6 / vectors["entities"]
    nodes = 1000 * mag["nodes"] / mag["triples"]
    hybrid = results("hybrid")
    return [
        (f"{common['elasticsearch']:.0f} ms for {common['entities']:,} matches, {common['embedded']:.1f} ms embedded",),
        (f"{rate:,} entities/s", f"{100e6 / rate / 3600:.1f} hours"),
        (f"best ten of {vectors['entities']:,} take {vectors['ms']['all']['p50']:.1f} ms", f"{each:.0f} ns"),
        (f"{1e9 / each / 1e6:.0f} million of them",),
        (f"{padded(384) * 5 + 12:,}",),
        (f"{MAX_NODES:,} nodes", f"At {nodes:.0f} nodes", f"has {nodes:.0f} million"),
        (f"{mag['nodes']:,} for {mag['triples']:,}",),
        (f"best ten of {elastic['bulk']['documents']:,} entities",),
        (f"and {hybrid['sizes']['500000']['systems']['hybridkg']['answers']['questions']} hybrid questions",),
    ]


@pytest.mark.parametrize("words", figures())
def test_every_figure_in_the_text_is_one_of_a_stored_result(words):
    page = " ".join(PAGE.read_text().split())
    for word in words:
        assert word in page
