"""Small random knowledge bases in STaRK's form that express every template."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.stark_made import AMAZON_RELATIONS, PRIME_RELATIONS, PRIME_TYPES, Graph, write_graph
from benchmarks.stark_walks import Arrays
from hybridkg.datasets.stark.layout import MAG_EDGES, MAG_NODES, StarkLayout, find_files, read_layout
from hybridkg.datasets.stark.making import triples_of
from hybridkg.kb import KnowledgeBase

KBS = ("amazon", "mag", "prime")

AMAZON_TYPES = ("product", "brand", "category", "color")

ENDS = {
    "amazon": [
        ("product", "also_buy", "product"), ("product", "also_view", "product"), ("product", "has_brand", "brand"),
        ("product", "has_category", "category"), ("product", "has_color", "color"),
    ],
    "mag": [
        ("author", "author___affiliated_with___institution", "institution"),
        ("paper", "paper___cites___paper", "paper"),
        ("paper", "paper___has_topic___field_of_study", "field_of_study"),
        ("author", "author___writes___paper", "paper"),
    ],
    "prime": [
        ("gene/protein", "ppi", "gene/protein"), ("drug", "carrier", "gene/protein"),
        ("drug", "enzyme", "gene/protein"),
        ("drug", "target", "gene/protein"), ("drug", "transporter", "gene/protein"),
        ("drug", "contraindication", "disease"), ("drug", "indication", "disease"),
        ("drug", "synergistic interaction", "drug"), ("gene/protein", "associated with", "disease"),
        ("gene/protein", "associated with", "effect/phenotype"), ("disease", "parent-child", "disease"),
        ("pathway", "parent-child", "pathway"), ("effect/phenotype", "phenotype absent", "disease"),
        ("effect/phenotype", "phenotype present", "disease"), ("drug", "side effect", "effect/phenotype"),
        ("gene/protein", "interacts with", "pathway"), ("gene/protein", "interacts with", "biological_process"),
        ("gene/protein", "interacts with", "cellular_component"), ("gene/protein", "interacts with", "exposure"),
        ("gene/protein", "interacts with", "molecular_function"), ("anatomy", "expression present", "gene/protein"),
        ("anatomy", "expression absent", "gene/protein"),
    ],
}  # fmt: skip
"""Types at the ends of each relation."""


def random_graph(kb: str, nodes: int, edges: int, seed: int) -> Graph:
    """Nodes of each type in turn, and for each relation some edges between random nodes, also from one to itself."""
    types = {"amazon": AMAZON_TYPES, "mag": tuple(MAG_NODES.values()), "prime": PRIME_TYPES}[kb]
    relations = {"amazon": AMAZON_RELATIONS, "mag": tuple(MAG_EDGES.values()), "prime": PRIME_RELATIONS}[kb]
    draw = np.random.default_rng(seed)
    kinds = [i % len(types) for i in range(nodes)]
    made = []
    for head, relation, tail in ENDS[kb]:
        number = relations.index(relation)
        for _ in range(edges):
            a, b = (types.index(kind) + len(types) * int(draw.integers(nodes // len(types))) for kind in (head, tail))
            made.append((a, b, number))
            if kb == "prime":
                made.append((b, a, number))
    info = {i: attributes(kb, types[kind], i) for i, kind in enumerate(kinds)}
    return Graph(info, kinds, made, dict(enumerate(types)), dict(enumerate(relations)), [])


NO_TEXT = ("anatomy", "exposure")
"""Types of prime whose nodes have a name only."""


def attributes(kb: str, kind: str, number: int) -> dict:
    """A node with a name, and with words that some others have too where it has text."""
    few, some = number % 2, number % 3
    words = f"beta{few} gamma{some} and delta{some}. Then epsilon{some} of the zeta{few} eta{few}, theta{few}"
    if kb == "prime":
        details = {} if kind in NO_TEXT else {"details": {"summary": words}}
        return {"id": str(number), "type": kind, "name": f"Node {number}", "source": "S", **details}
    if kind == "paper":
        return {"title": f"Node {number}", "abstract": words, "Date": "2010-01-01", "OriginalVenue": -1}
    if kind == "product":
        return {"title": f"Node {number}", "description": [words], "details": {}, "feature": [], "review": [], "qa": []}
    return {"DisplayName" if kb == "mag" else f"{kind}_name": f"Node {number}"}


def made_kb(folder: Path, kb: str, nodes: int, edges: int, seed: int) -> tuple[StarkLayout, Arrays, Path]:
    """The files of a random graph, its arrays, and the knowledge base made of it."""
    write_graph(kb, random_graph(kb, nodes, edges, seed), folder)
    layout = read_layout(find_files(folder / "skb", folder))
    triples = folder / "graph.nt"
    triples.write_text("".join(triples_of(layout)))
    with KnowledgeBase.create(folder / "kb") as base:
        base.load(triples, index=True, profile=f"stark-{kb}")
    return layout, Arrays(layout), folder / "kb"
