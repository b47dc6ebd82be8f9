"""The reranker `graph`: its edges, its layers and its file, each against a slow restatement or a law."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg import KnowledgeBase
from hybridkg.errors import ConfigError, RerankerError
from hybridkg.evaluation.tuning.judged_rows import found_rows, rows_query
from hybridkg.interfaces.reranker import RerankCandidates
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.ranking.rerankers.document_graph import common, document_graph, normalised
from hybridkg.ranking.rerankers.edges import EDGE_SOURCES, Items
from hybridkg.ranking.rerankers.graph_inputs import check_inputs, graph_input
from hybridkg.ranking.rerankers.graph_layers import GraphInput, scores
from hybridkg.ranking.rerankers.graph_model import GraphModel, GraphSettings, read_graph_model

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
QUERY = "SELECT ?f ?s { ?f MATCH $text AS ?s } RANK BY ?s"
RERANKED = (
    'SELECT ?f ?s ?r { ?f MATCH "space crew mars" AS ?s } RANK BY ?s RERANK TOP 5 USING graph(@g.safetensors) AS ?r'
)
COLUMNS = ("earlier", "score s", "linked", "covered label")


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    folder = tmp_path_factory.mktemp("graph") / "films.kb"
    copy_films(folder)
    (folder / "models").mkdir()
    with KnowledgeBase.open(folder) as kb:
        kb.folder = folder
        yield kb


def network(seed=1, **settings) -> GraphModel:
    chosen = GraphSettings(**{"columns": COLUMNS, "base": "s", "hidden": 5} | settings)
    rng = np.random.default_rng(seed)
    return GraphModel(chosen, {n: rng.standard_normal(s).astype(np.float32) for n, s in chosen.shapes.items()})


def rows_of(kb, text="space crew mars", top=5):
    return found_rows(kb, rows_query(kb, QUERY), text, {}, top, 100)


def slow_scores(model, given, *, edges=True):
    """One node, one neighbour and one number at a time."""
    x = given.nodes.tolist()
    tensors = {name: values.tolist() for name, values in model.tensors.items()}
    for layer in range(2):
        new = []
        for v in range(len(x)):
            row = []
            for out, bias in enumerate(tensors[f"{layer}.bias"]):
                total = bias + sum(w * value for w, value in zip(tensors[f"{layer}.weight"][out], x[v], strict=True))
                if edges and model.settings.learner == "gcn":
                    for u in range(len(x)):
                        weight = given.messages[v][u]
                        pairs = zip(tensors[f"{layer}.message"][out], x[u], strict=True)
                        total += weight * sum(a * value for a, value in pairs)
                row.append(max(0.0, total) if layer == 0 else total)
            new.append(row)
        x = new
    return [x[v][0] + base for v, base in enumerate(given.base.tolist())]


def made_input(seed, n, width, extra=0):
    rng = np.random.default_rng(seed)
    weights = rng.random((n + extra, n + extra)) * (rng.random((n + extra, n + extra)) < 0.5)
    weights = np.triu(weights, 1)
    return GraphInput(rng.random((n + extra, width)), normalised(weights + weights.T), rng.random(n))


@given(st.integers(1, 6), st.integers(0, 2), st.integers(0, 10_000), st.sampled_from(["gcn", "mlp"]))
def test_scores_are_those_of_a_slow_restatement(n, extra, seed, learner):
    model, given_ = network(seed, learner=learner), made_input(seed, n, len(COLUMNS), extra)
    assert scores(model, given_).tolist() == pytest.approx(slow_scores(model, given_), abs=1e-9)
    own = slow_scores(model, given_, edges=False)
    assert scores(model, given_, edges=False).tolist() == pytest.approx(own, abs=1e-9)


@given(st.integers(2, 8), st.integers(0, 10_000))
def test_permuted_rows_have_permuted_scores_and_without_edges_a_gcn_is_its_own(n, seed):
    model, given_ = network(seed), made_input(seed, n, len(COLUMNS))
    order = np.random.default_rng(seed).permutation(n)
    moved = GraphInput(given_.nodes[order], given_.messages[order][:, order], given_.base[order])
    assert scores(model, moved).tolist() == pytest.approx(scores(model, given_)[order].tolist(), abs=1e-9)
    alone = replace(given_, messages=np.zeros((n, n)))
    assert scores(model, alone).tolist() == scores(model, given_, edges=False).tolist()


@pytest.mark.skipif(find_spec("torch") is None, reason="no model packages: torch")
@pytest.mark.parametrize("learner", ["gcn", "mlp"])
@pytest.mark.parametrize("residual", ["s", ""])
def test_torch_and_numpy_give_the_same_scores(learner, residual):
    import torch

    from hybridkg.evaluation.tuning.learners.graph_torch import GraphExample, GraphTraining

    for seed in range(5):
        given_ = made_input(seed, 9, len(COLUMNS), 2)
        example = GraphExample(given_, np.arange(9) % 2)
        model = network(seed, learner=learner, base=residual)
        task = GraphTraining(model.settings, [example], lambda _: 0.0, loss="ranking", dropout=0.0, seed=seed)
        with torch.no_grad():
            for name, value in task.parameters().items():
                value.copy_(torch.from_numpy(model.tensors[name]))
            found = task.scores(0, dropout=False).numpy()
        assert np.abs(found - scores(task.model(), given_)).max() < 1e-5 * max(1, np.abs(found).max())


@given(st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=6), st.sampled_from(["rare", "count"]))
def test_common_items_are_those_of_the_sets(sets, weight):
    pairs = [(row, item) for row, items in enumerate(sets) for item in sorted(items)]
    df = {item: sum(item in items for items in sets) + item for item in range(6)}
    columns = [np.array(c, np.int64) for c in zip(*pairs, strict=True)] if pairs else [np.zeros(0, np.int64)] * 2
    items = Items(columns[0], columns[1], np.array([df[i] for i in columns[1].tolist()], np.int64))
    found = common(items, len(sets), weight)
    for i, one in enumerate(sets):
        for j, other in enumerate(sets):
            own = [1.0 if weight == "count" else 1 / math.log(2 + df[item]) for item in one & other]
            assert found[i, j] == pytest.approx(0.0 if i == j else sum(own))


def slow_items(kb, nodes):
    """Sets of items of both channels, by SPARQL."""
    found = [], []
    store = snapshot_of(kb).store
    for node in nodes:
        by_node, by_edge = {str(node)}, set()
        for pattern, way in (("?x ?p ?o", ">"), ("?o ?p ?x", "<")):
            for _, p, o in store.select(f"SELECT ?x ?p ?o {{ {pattern} FILTER(!isLiteral(?o)) }}", {"x": node}).rows:
                if not p.value.endswith("#type"):
                    by_node.add(str(o))
                    by_edge.add((way, p.value, str(o)))
                    if o in nodes and o != node:
                        ends = (node, o) if way == ">" else (o, node)
                        by_edge.add((str(ends[0]), p.value, str(ends[1])))
        found[0].append(by_node)
        found[1].append(by_edge)
    return found


def test_edges_of_the_graph_are_those_of_the_triples(films):
    rows = rows_of(films, "space film director kubrick mars crew", 8)
    nodes = rows.candidates.nodes
    assert len(nodes) > 3
    channels = EDGE_SOURCES.get("graph").items(nodes, rows.around)
    for items, sets in zip(channels, slow_items(films, nodes), strict=True):
        found = common(items, len(nodes), "count")
        for i, one in enumerate(sets):
            for j, other in enumerate(sets):
                assert found[i, j] == (0 if i == j else len(one & other)), (nodes[i], nodes[j])
        assert found.any()
    (types,) = EDGE_SOURCES.get("types").items(nodes, rows.around)
    assert common(types, len(nodes), "count").max() >= 1


def test_the_order_of_candidates_does_not_matter(films):
    rows, model = rows_of(films), network(3)
    own = rows.candidates
    given_ = graph_input(replace(model.settings, columns=COLUMNS[1:]), own, rows.around)
    order = [3, 0, 4, 1, 2]
    moved = RerankCandidates(
        tuple(own.nodes[i] for i in order), own.queries, {n: s[order] for n, s in own.scores.items()}, own.ids[order]
    )
    other = graph_input(replace(model.settings, columns=COLUMNS[1:]), moved, rows.around)
    assert np.allclose(other.messages, given_.messages[order][:, order])
    assert np.allclose(other.nodes, given_.nodes[order])


@pytest.mark.parametrize("nodes", ["documents", "question"])
def test_rerank_orders_by_the_network_and_parts_are_with_and_without_edges(films, nodes):
    model = network(7, nodes=nodes, edges=("graph", "types"))
    model.write(films.folder / "models" / "g.safetensors")
    rows = rows_of(films)
    given_ = graph_input(model.settings, rows.candidates, rows.around)
    wanted = dict(zip(rows.candidates.nodes, scores(model, given_).tolist(), strict=True))
    found = films.query(RERANKED)
    assert [row.scores["r"] for row in found[:5]] == pytest.approx(sorted(wanted.values(), reverse=True))
    for row in found[:5]:
        assert row.scores["r"] == pytest.approx(wanted[row.term("f")])
        assert set(row.why().parts) == {"own", "neighbours"}
        assert sum(row.why().parts.values()) == pytest.approx(row.scores["r"])
    assert found.exact


def test_a_question_and_its_anchors_are_nodes(films):
    settings = network(nodes="question").settings
    question = "films by Stanley Kubrick"
    rows = rows_of(films)
    anchors = rows.around.anchors(question)
    assert [str(one.value).rpartition("/")[2] for one in anchors] == ["Kubrick"]
    n = len(rows.candidates)
    asked = replace(rows.candidates, queries=(question,) * n)
    given_ = graph_input(settings, asked, rows.around)
    assert given_.nodes.shape == (n + 2, len(COLUMNS) + 3)
    assert given_.nodes[-2:, -3:].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert not given_.nodes[-2:, :-3].any()
    assert given_.messages[-1, -2] == pytest.approx(1.0), "question and only anchor"
    assert given_.messages[-1, :n].tolist() == pytest.approx([1 / math.sqrt(n)] * n)
    (directed,) = (i for i, node in enumerate(rows.candidates.nodes) if str(node).endswith("Odyssey>"))
    assert given_.messages[-2, directed] > 0


def test_a_file_is_the_same_model_and_the_same_bytes(tmp_path):
    model = network()
    model.write(tmp_path / "a.safetensors")
    model.write(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    again = read_graph_model(tmp_path / "a.safetensors")
    assert again.settings == model.settings
    assert all(np.array_equal(again.tensors[name], own) for name, own in model.tensors.items())


def test_a_broken_file_is_a_config_error_or_the_same_model(tmp_path):
    path = tmp_path / "m.safetensors"
    model = network()
    model.write(path)
    content = path.read_bytes()
    header = int.from_bytes(content[:8], "little") + 8
    rng = np.random.default_rng(4)
    for _ in range(300):
        broken = bytearray(content)
        for at in rng.integers(0, header, rng.integers(1, 4)).tolist():
            broken[at] = int(rng.integers(0, 256))
        if rng.random() < 0.3:
            broken = broken[: int(rng.integers(0, len(broken)))]
        path.write_bytes(bytes(broken))
        try:
            found = read_graph_model(path)
        except ConfigError:
            continue
        assert found.settings.shapes == model.settings.shapes


@pytest.mark.parametrize(
    "change",
    [
        {"hidden": 4}, {"hidden": True}, {"learner": "lstm"}, {"edges": ["amr"]}, {"columns": ["a", "a"]},
        {"columns": []}, {"dimensions": 3}, {"version": 2}, {"format": "other"}, {"extra": 1}, {"inputs": "vector"},
        {"hidden": 10**9}, {"edges": ["graph", "graph"]},
    ],
)  # fmt: skip
def test_settings_that_are_not_those_of_the_tensors_are_refused(tmp_path, change):
    from hybridkg.storage.tensor_file import TensorFile, write_tensors

    path, model = tmp_path / "m.safetensors", network()
    model.write(path)
    settings = json.loads(TensorFile.open(path, max_bytes=1 << 20).metadata["hybridkg"])
    write_tensors(path, model.tensors, {"hybridkg": json.dumps(settings | change)})
    with pytest.raises(ConfigError, match=r"m\.safetensors"):
        read_graph_model(path)


def test_mistakes_are_errors_that_say_what_would_be_right(films):
    with pytest.raises(ConfigError, match="no graph network 'none"):
        films.query(RERANKED.replace("@g", "@none"))
    network(columns=("field nothing",)).write(films.folder / "models" / "g.safetensors")
    with pytest.raises(RerankerError, match="field nothing"):
        films.query(RERANKED)
    network(base="t").write(films.folder / "models" / "g.safetensors")
    with pytest.raises(RerankerError, match="score t"):
        films.query(RERANKED)
    settings = {"inputs": "vector", "columns": (), "encoder": "lsa/1 8", "dimensions": 8}
    network(**settings).write(films.folder / "models" / "g.safetensors")
    with pytest.raises(RerankerError, match="has none"):
        films.query(RERANKED)


def test_documents_without_anything_in_common_have_no_edges():
    graph = document_graph([Items(np.array([0, 1]), np.array([3, 4]), np.array([1, 1]))], 2, "rare")
    assert not graph.messages().any()
    assert not graph.messages(mean=True).any()


def test_with_vectors_a_score_is_the_product_of_the_question_and_the_output(tmp_path, copy_films):
    with KnowledgeBase.open(copy_films(tmp_path / "kb")) as kb:
        kb.index(encoder="lsa")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        rows, index = rows_of(kb), snapshot_of(kb).vectors
        wide = index.dimensions
        about = {"inputs": "vector", "columns": (), "encoder": index.made_by, "dimensions": wide, "nodes": "question"}
        model = network(2, **about)
        given_ = graph_input(model.settings, rows.candidates, rows.around)
        n = len(rows.candidates)
        (question,) = index.encoder.queries(["space crew mars"])
        assert np.array_equal(given_.nodes[-1, :wide], question)
        vectors = index.vectors_of(rows.candidates.ids)
        assert np.abs(given_.nodes[:n, :wide] - vectors).max() == 0
        assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1.0] * n, abs=1e-5)
        assert not index.vectors_of(np.array([-1])).any()
        outputs = [slow_scores(replace_last(model, row), given_) for row in range(wide)]
        wanted = (np.array(outputs) - given_.base).T @ question + given_.base
        assert scores(model, given_).tolist() == pytest.approx(wanted.tolist(), abs=1e-6)
        with pytest.raises(RerankerError, match="lsa/1 nothing"):
            check_inputs(replace(model.settings, encoder="lsa/1 nothing"), rows.candidates, rows.around)


def replace_last(model, row):
    """The same network with one row of its last layer alone."""
    last = {name: own[row : row + 1] for name, own in model.tensors.items() if name.startswith("1.")}
    return GraphModel(model.settings, {**model.tensors, **last})
