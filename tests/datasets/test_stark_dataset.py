"""STaRK's knowledge bases in the layout as published, made here: converted, indexed, asked and measured."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import tomllib
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sampling import sampled

from benchmarks.stark import FIELDS, ask
from benchmarks.stark_made import MADE, SKB, save_tensor, write_skb
from hybridkg.cli import cli
from hybridkg.datasets.building import make_dataset
from hybridkg.datasets.recipe import RecipeTriples
from hybridkg.datasets.stark.documents import KINDS, StarkNode
from hybridkg.datasets.stark.layout import MAG_EDGES, MAG_NODES, StarkLayout, find_files, read_layout
from hybridkg.datasets.stark.making import make_stark, neighbours_in, triples_of
from hybridkg.datasets.stark.node_documents import documents_of
from hybridkg.entities.compact_text import compacted
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.errors import LoadError, ParameterError, UserError
from hybridkg.evaluation.measures.stark import AnswerCandidates, read_candidates
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.topics import read_topics
from hybridkg.evaluation.tuning.folds import read_folds
from hybridkg.kb import KnowledgeBase

NODES = 300
BASE = "https://w3id.org/hybridkg/stark/"
KBS = sorted(MADE)
DOCUMENTS = ("plain", "candidates", "relations", "compact")


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """KB/skb and KB/qa for the three, written without torch."""
    folder = tmp_path_factory.mktemp("stark")
    for kb in KBS:
        questions = write_skb(kb, NODES, folder / kb)
        assert len(questions) >= 20
    return folder


@pytest.fixture(scope="module")
def made(sources) -> Path:
    """KB/made for the three."""
    for kb in KBS:
        make_stark(sources / kb / "skb", sources / kb / "qa", sources / kb / "made", documents=DOCUMENTS)
    return sources


def rows(folder: Path, query: str) -> list[list[str]]:
    with KnowledgeBase.open(folder / "kb") as kb:
        return [[str(row["a"])] for row in kb.query(query)]


# --- end to end ---------------------------------------------------------------------


@pytest.mark.parametrize("kb", sampled(KBS, "mag"))
def test_relations_and_words_find_what_words_alone_do_not(made, kb):
    figures = ask(made / kb / "made", kb, MADE[kb](NODES, 1).questions)
    assert figures["hybrid"] == {"hit@1": 1, "hit@5": 1, "recall@20": 1, "mrr": 1}
    assert figures["text"]["mrr"] < 0.9
    assert figures["text"]["mrr"] > 0


@pytest.mark.parametrize("kb", KBS)
def test_topics_judgements_splits_and_candidates(made, kb):
    folder = made / kb / "made"
    whole, judged = read_topics(folder / "topics.tsv"), read_qrels(folder / "qrels.txt")
    assert list(whole.texts) == list(judged.grades)
    parts = {}
    for split in ("train", "val", "test"):
        topics, qrels = read_topics(folder / f"topics-{split}.tsv"), read_qrels(folder / f"qrels-{split}.txt")
        assert list(topics.texts) == list(qrels.grades)
        assert all(whole.texts[topic] == text for topic, text in topics.texts.items())
        assert all(judged.grades[topic] == grades for topic, grades in qrels.grades.items())
        parts[split] = list(topics.texts)
    assert sorted([*parts["train"], *parts["val"], *parts["test"]]) == sorted(whole.texts)
    folds = {fold.name: fold for fold in read_folds(folder / "folds.json", whole.texts)}
    assert list(folds["test"].training) == [*parts["train"], *parts["val"]]
    assert {name: list(fold.testing) for name, fold in folds.items()} == parts
    candidates = set(read_candidates(folder / "candidates.txt"))
    assert {answer for grades in judged.grades.values() for answer in grades} <= candidates
    class_ = {"amazon": "product", "mag": "paper"}.get(kb)
    query = f"SELECT ?a {{ ?a a <{BASE}{kb}#{class_}> }}" if class_ else f"SELECT ?a {{ ?a <{BASE}{kb}#name> ?n }}"
    assert {row[0] for row in rows(folder, query)} == candidates


@pytest.mark.parametrize("kb", KBS)
def test_every_edge_is_a_triple_and_every_node_has_its_type(made, kb):
    layout = read_layout(find_files(made / kb / "skb", made))
    with KnowledgeBase.open(made / kb / "made" / "kb") as base:
        counted = base.query("SELECT (COUNT(*) AS ?n) { ?a ?p ?b FILTER(isIRI(?b)) }")
        total = int(str(next(iter(counted))["n"]))
    distinct = np.unique(np.vstack([layout.edges, layout.edge_types]), axis=1).shape[1]
    names = len(layout.node_names) + len(layout.edge_names)
    assert total == distinct + NODES + names
    relation = layout.edge_names[int(layout.edge_types[7])]
    head, tail = layout.edges[:, 7].tolist()
    ask_it = f"ASK {{ <{BASE}{kb}/{head}> <{BASE}{kb}#{relation}> <{BASE}{kb}/{tail}> }}"
    with KnowledgeBase.open(made / kb / "made" / "kb") as base:
        assert base.query(ask_it).boolean


@pytest.mark.parametrize("kb", KBS)
def test_edges_of_starks_code_are_in_both_directions_and_one_a_pair(sources, kb):
    layout = read_layout(find_files(sources / kb / "skb", sources))
    merged = neighbours_in(layout)
    lines = set(triples_of(layout, merged)) ^ set(triples_of(layout))
    pairs = [
        re.findall(r"/([0-9]+)>", line) for line in set(triples_of(layout, merged)) if re.search(r"/[0-9]+> \.", line)
    ]
    if kb == "prime":  # both directions are in the files
        assert not lines
    else:
        assert len({tuple(pair) for pair in pairs}) == len(pairs) == len(merged)
        assert {(b, a) for a, b in pairs} == {(a, b) for a, b in pairs}


def test_the_edges_and_the_release_are_in_the_notes(sources, tmp_path):
    shutil.copytree(sources / "mag" / "qa", tmp_path / "qa")
    human = tmp_path / "qa" / "stark_qa" / "stark_qa_human_generated_eval.csv"
    human.write_text("id,query,answer_ids,answer_ids_source\n" + "".join(f"{i},q {i},[{i}],[]\n" for i in range(84)))
    made = make_stark(sources / "mag" / "skb", tmp_path / "qa", tmp_path / "out", edges="stark")
    assert made.counts["human_questions"] == 84
    notes = tomllib.loads((tmp_path / "out" / "dataset.toml").read_text())["notes"]
    assert any("Edges are those of STaRK's code" in note for note in notes)
    assert any("The 84 questions in topics-human.tsv" in note and "both releases" in note for note in notes)
    with KnowledgeBase.open(tmp_path / "out" / "kb") as kb:
        back = f"ASK {{ ?paper <{BASE}mag#author___writes___paper> ?author . ?author a <{BASE}mag#author> }}"
        assert kb.query(back).boolean
    with pytest.raises(ParameterError, match="no edges 'start'; known: files, stark"):
        make_stark(sources / "mag" / "skb", tmp_path / "qa", tmp_path / "other", edges="start")


@pytest.mark.parametrize("kb", KBS)
def test_documents_are_stored_as_text_fields_byte_for_byte(made, tmp_path, kb):
    layout = read_layout(find_files(made / kb / "skb", tmp_path))
    lines = list(documents_of(layout, DOCUMENTS, neighbours_in(layout), tmp_path))
    candidates = set(read_candidates(made / kb / "made" / "candidates.txt"))
    assert {one["id"] for one in map(json.loads, lines) if "document_candidate" in one} == candidates
    assert all(one.get("document_candidate", one["document"]) == one["document"] for one in map(json.loads, lines))
    with KnowledgeBase.open(made / kb / "made" / "kb") as base:
        for line in map(json.loads, lines[:: NODES // 20]):
            plain, related = base.document(line["id"]), base.document(line["id"], relations=True)
            assert (plain, related) == (line["document"], line["document_rel"])
            assert related.startswith(plain)
            assert base.document(line["id"], compact=True) == compacted(line["document"])
            assert line["document_rel_compact"] == compacted(related)
        assert len(base.query('SELECT ?e { ?e MATCH "relations" ON (document_rel) USING bm25 }'))
        assert not len(base.query('SELECT ?e { ?e MATCH "relations" ON (document) USING bm25 }'))
    shown = run("node", made / kb / "made" / "kb", line["id"], "--document", "--relations")
    assert shown.stdout == line["document_rel"] + "\n" * (not line["document_rel"].endswith("\n"))
    about = tomllib.loads((made / kb / "made" / "dataset.toml").read_text())
    assert about["counts"]["documents"] == NODES
    assert sum("The text field `document" in note for note in about["notes"]) == 4
    assert not [path.name for path in (made / kb / "made").iterdir() if path.suffix in (".nt", ".jsonl")]


def test_one_form_of_documents_has_one_field(sources, tmp_path):
    layout = read_layout(find_files(sources / "amazon" / "skb", tmp_path))
    plain = [json.loads(line) for line in documents_of(layout, ("plain",), None, tmp_path)]
    related = [json.loads(line) for line in documents_of(layout, ("relations",), neighbours_in(layout), tmp_path)]
    candidates = [json.loads(line) for line in documents_of(layout, ("candidates",), None, tmp_path)]
    assert {tuple(line) for line in plain} == {("id", "document")}
    assert {tuple(line) for line in candidates} == {("id", "document_candidate")}
    assert 0 < len(candidates) < len(plain)
    assert {tuple(line) for line in related} == {("id", "document_rel")}
    compact = [json.loads(line) for line in documents_of(layout, ("compact",), neighbours_in(layout), tmp_path)]
    assert {tuple(line) for line in compact} == {("id", "document_rel_compact")}


def test_documents_take_little_memory(tmp_path):
    """Beside the batch of a thousand nodes that pickle makes: the names are on disk, and no document is kept."""
    nodes, text = 1600, "word " * 2000
    path = tmp_path / "node_info.pkl"
    path.write_bytes(pickle.dumps({i: {"title": f"{i} {text}", "abstract": text, "Date": -1} for i in range(nodes)}))
    edges = np.array([range(nodes - 1), range(1, nodes)], np.int64)  # each paper cites the next
    kinds = np.full(nodes, 3), edges, np.ones(nodes - 1, np.int64)
    layout = StarkLayout("mag", {path.name: path}, MAG_NODES, MAG_EDGES, *kinds)
    merged = neighbours_in(layout)
    tracemalloc.start()
    try:
        characters = sum(map(len, documents_of(layout, ("plain", "relations"), merged, tmp_path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert characters > 90_000_000
    assert peak < 50_000_000


@pytest.mark.parametrize(("kb", "as_folder"), [("amazon", True), ("mag", False)])
def test_the_same_files_give_the_same_bytes_also_out_of_an_archive(made, tmp_path, kb, as_folder):
    with zipfile.ZipFile(tmp_path / "processed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (made / kb / "skb").rglob("*"):
            archive.write(path, path.relative_to(made / kb / "skb"))
        archive.writestr("processed/mag_cache/author_data.csv", "not read")
        archive.writestr("../../outside", "not read either")
    skb = tmp_path if as_folder else tmp_path / "processed.zip"
    make_stark(skb, made / kb / "qa", tmp_path / "out", documents=DOCUMENTS)
    for path in sorted((made / kb / "made").glob("*.*")):
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes(), path.name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "processed.zip"]


def test_torch_writes_the_same(sources, tmp_path):
    pytest.importorskip("torch")
    write_skb("amazon", NODES, tmp_path, with_torch=True)
    by_torch, by_hand = (read_layout(find_files(folder / "skb", tmp_path)) for folder in (tmp_path, sources / "amazon"))
    assert list(triples_of(by_torch)) == list(triples_of(by_hand))


# --- what a node says ------------------------------------------------------------------


def said(kb: str, type_: str, attributes: dict) -> dict[str, list[str]]:
    """The literals of a node, by the names of the properties."""
    made = RecipeTriples()
    KINDS[kb].write(StarkNode(made, kb, 5, type_, attributes))
    found: dict[str, list[str]] = {}
    for line in made.lines[1:]:
        _, predicate, value = line.removesuffix(" .\n").split(" ", 2)
        found.setdefault(predicate.partition("#")[2][:-1], []).append(value.split("^^")[0][1:-1])
    return found


def test_a_paper():
    paper = {"title": " A  Paper\n", "abstract": "On\r things. ", "Date": "2010-05-01", "OriginalVenue": -1, "Year": -1}
    found = said("mag", "paper", {**paper, "JournalDisplayName": "J", "ConferenceSeriesDisplayName": "C", "Rank": 3})
    wanted = {
        "title": ["A Paper"],
        "abstract": ["On things."],
        "date": ["2010-05-01"],
        "year": ["2010"],
        "venue": ["J"],
    }
    assert found == wanted
    assert said("mag", "paper", {"title": float("nan"), "abstract": None, "Date": "-1"}) == {}


def test_an_author():
    assert said("mag", "author", {"DisplayName": "A B", "PaperCount": 3.0, "CitationCount": -1, "id": 9}) == {
        "name": ["A B"], "paper_count": ["3"],
    }  # fmt: skip
    assert said("mag", "institution", {"DisplayName": -1, "PaperCount": float("nan")}) == {}


def test_a_product():
    reviews = [
        {"summary": f"s{i}", "reviewText": f"t{i}", "vote": vote} for i, vote in enumerate(["2", float("nan"), "1,5"])
    ]
    reviews += [{"summary": float("nan"), "reviewText": "late", "vote": "x"}] * 40
    found = said("amazon", "product", {
        "title": "Tent", "details": {"product_dimensions": "2 x 3 inches ; 4 ounces"}, "brand": "B", "price": "$3",
        "description": ["For", "two."], "review": reviews, "qa": [{"question": "Wet?", "answer": "No."}] * 2,
        "feature": ["Dry", "", "ASIN: B0"], "rank": [],
    })  # fmt: skip
    assert found.pop("review") == ["s2. t2", "s0. t0", "s1. t1", *["late"] * 24]
    assert found == {
        "title": ["Tent"], "dimensions": ["2 x 3 inches"], "weight": ["4 ounces"], "description": ["For two."],
        "feature": ["Dry"], "qa": ["Wet? No.", "Wet? No."],
    }  # fmt: skip
    assert said("amazon", "brand", {"brand_name": "Coleman"}) == {"name": ["Coleman"]}
    assert said("amazon", "product", {"title": "T", "details": "", "feature": "F", "description": None, "qa": 3}) == {
        "title": ["T"], "feature": ["F"],
    }  # fmt: skip


def test_a_gene_and_a_drug():
    gene = {
        "_id": "1", "entrez_id": 2, "alias": ["A", "B"], "summary": "nan", "other_names": "", "x": float("nan"),
        "interpro": {"id": "I", "desc": "Kinase"}, "genomic_pos": [{"chr": "7", "start": 5}, {"chr": "8"}],
        "generif": [{"pubmed": 1, "text": "One."}, {"pubmed": 2, "text": "Two."}], "type of/gene": "protein-coding",
    }  # fmt: skip
    assert said("prime", "gene/protein", {"name": "G", "type": "gene/protein", "source": "NCBI", "details": gene}) == {
        "name": ["G"], "source": ["NCBI"], "detail_alias": ["A; B"], "detail_interpro": ["Kinase"],
        "detail_genomic_pos": ["chr: 7; start: 5"], "detail_generif": ["One.; Two."],
        "detail_type_of_gene": ["protein-coding"],
    }  # fmt: skip
    drug = {"name": "D", "source": "DrugBank", "details": {"interpro": [{"id": "I"}], "generif": "x", "mass": 1.5}}
    assert said("prime", "drug", drug) == {
        "name": ["D"], "source": ["DrugBank"], "detail_interpro": ["id: I"], "detail_generif": ["x"],
        "detail_mass": ["1.5"],
    }  # fmt: skip


def test_an_unknown_value_of_prime_goes_at_every_depth():
    details = {
        "alias": ["A", "nan", ["nan", "B"]], "genomic_pos": {"chr": "nan", "start": 5, "more": {"a": "nan", "b": ""}},
        "interpro": [{"id": "I", "desc": "nan"}, {"id": "J", "desc": "Kinase"}], "generif": [{"text": "nan"}],
        "reporter": {"x": {"y": "nan"}, "nan": "kept"}, "summary": "of nan tubes",
    }  # fmt: skip
    found = said("prime", "gene/protein", {"name": "nan", "source": "NCBI", "details": details})
    assert found == {
        "source": ["NCBI"], "detail_alias": ["A; B"], "detail_genomic_pos": ["start: 5"],
        "detail_interpro": ["Kinase"], "detail_reporter": ["nan: kept"], "detail_summary": ["of nan tubes"],
    }  # fmt: skip
    # Elsewhere STaRK leaves the word: a field of study, or a brand, may have this name.
    assert said("mag", "field_of_study", {"DisplayName": "nan"}) == {"name": ["nan"]}


@pytest.mark.parametrize("kb", KBS)
def test_the_fields_of_the_profiles_hold_text(made, kb):
    names = [field.name for field in load_profile(f"stark-{kb}").fields]
    assert set(FIELDS[kb].split(", ")) <= set(names)
    with KnowledgeBase.open(made / kb / "made" / "kb") as base:
        index = base._snapshot.text
        assert index is not None
        filled = {name for name in names if index.field_totals(name)["entities"]}
    documents = {"document", "document_candidate", "document_rel", "document_rel_compact"}
    made_here = {"name", "type", "source", "details", "target", "indication", "ppi", "associated_with", *documents}
    assert filled == (made_here if kb == "prime" else set(names))


# --- the command ---------------------------------------------------------------------------


def run(*arguments: object) -> object:
    return CliRunner().invoke(cli, [str(x) for x in arguments])


def test_the_commands_make_and_measure(sources, tmp_path):
    human = sources / "prime" / "qa" / "stark_qa" / "stark_qa_human_generated_eval.csv"
    human.write_text('id,query,answer_ids,answer_ids_source\n0,"of people","[3, 4]",[3]\n')
    (sources / "prime" / "qa" / "split" / "test-0.1.index").write_text("2\n")
    nested = tmp_path / "qa"
    shutil.copytree(sources / "prime" / "qa", nested / "primekg")
    options = ["--documents", "relations, plain", "--edges", "stark", "--out", tmp_path / "out"]
    result = run("dataset", "stark", "--skb", sources / "prime" / "skb", "--qa", nested, *options)
    human.unlink()
    assert result.exit_code == 0, result.output
    assert f"nodes: {NODES}\n" in result.stderr
    assert f"documents: {NODES}\n" in result.stderr
    assert "human questions: 1\n" in result.stderr
    assert "answers beside candidates: 0\n" in result.stderr
    out = tmp_path / "out"
    assert (out / "topics-human.tsv").read_text() == "human-0\tof people\n"
    assert (out / "qrels-human.txt").read_text() == f"human-0 0 {BASE}prime/3 1\nhuman-0 0 {BASE}prime/4 1\n"
    assert list(read_topics(out / "topics-test-0.1.tsv").texts) == ["2"]
    about = tomllib.loads((out / "dataset.toml").read_text())
    assert about["profile"] == "stark-prime"
    assert len(about["sources"]) == 6 + 6
    assert "judgements of the split test-0.1" in (out / "README.md").read_text()
    (tmp_path / "run").write_text(f"human-0 Q0 {BASE}prime/9 1 2.5 r\n")
    measured = run(
        "eval", out / "qrels-human.txt", tmp_path / "run", "--candidates", out / "candidates.txt", "--format", "json"
    )
    assert measured.exit_code == 0, measured.output
    figures = json.loads(measured.stdout)
    # 9 is first; then 0, 1, 2, 3: the order of the numbers, not of the texts, in which 10 comes before 3
    assert '"mrr": 0.2' in json.dumps(figures)
    plain = run(
        "eval", out / "qrels-human.txt", tmp_path / "run", "-m", "judged@10", "--candidates", out / "candidates.txt"
    )
    assert "no measure 'judged@10' of STaRK" in plain.output


def test_iris_that_end_in_numbers_are_in_the_order_of_the_numbers():
    assert list(AnswerCandidates([f"http://e/x/{i}" for i in (10, 9, 100)]).place) == [
        f"http://e/x/{i}" for i in (9, 10, 100)
    ]
    assert list(AnswerCandidates(["http://e/x/9", "http://e/y/10"]).place) == ["http://e/x/9", "http://e/y/10"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stark", "--from", "x"], "stark is made of --skb DIR and --qa DIR"),
        (["stark", "--skb", "x"], "stark is made of --skb DIR and --qa DIR"),
        (
            ["cranfield", "--from", "x", "--qa", "y"],
            "--documents and --embeddings are for stark only",
        ),
        (
            ["stark", "--skb", "x", "--qa", "y", "--documents", "plane"],
            "no form of documents 'plane'; known: plain, cand",
        ),
        (
            ["cranfield", "--from", "x", "--edges", "files"],
            "--documents and --embeddings are for stark only",
        ),
        (["cranfield"], "Missing option '--from'"),
        (["stark", "--skb", "nowhere", "--qa", "y"], "no folder or archive 'nowhere'"),
    ],
)
def test_options_of_another_dataset_are_refused(arguments, message):
    result = run("dataset", *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_it_is_not_made_of_a_data_folder(tmp_path):
    with pytest.raises(UserError, match="'stark' is made of --skb DIR and --qa DIR, not of a data folder"):
        make_dataset("stark", tmp_path, tmp_path / "out")


# --- files that are not what they should be ---------------------------------------------------


class Call:
    def __init__(self, *what: object):
        self.what = what

    def __reduce__(self):
        return self.what[0], self.what[1:]


def copied(sources: Path, tmp_path: Path, kb: str) -> Path:
    """A copy of the files that may be spoiled; returns their folder."""
    shutil.copytree(sources / kb, tmp_path / "src", ignore=shutil.ignore_patterns("made"))
    return tmp_path / "src" / "skb" / SKB[kb]


def refused(tmp_path: Path) -> LoadError:
    with pytest.raises(LoadError) as e:
        make_stark(tmp_path / "src" / "skb", tmp_path / "src" / "qa", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["src"]
    return e.value


@pytest.mark.parametrize("name", ["node_info.pkl", "node_type_dict.pkl", "edge_index.pt", "node_types.pt"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_a_hostile_file_is_told_and_nothing_runs_or_is_left(sources, tmp_path, name, protocol):
    folder = copied(sources, tmp_path, "prime")
    call = Call(os.system, f"touch {tmp_path / 'ran'}")
    (folder / name).write_bytes(pickle.dumps({0: {"name": [call]}}, protocol=protocol))
    error = refused(tmp_path)
    assert error.message == f"the pickle asks for '{os.system.__module__}.system', which is not plain data"
    assert error.place.startswith(f"{folder / name}, byte ")
    result = run("dataset", "stark", "--skb", folder, "--qa", tmp_path / "src/qa", "--out", tmp_path / "o")
    assert result.exit_code == 2
    assert "system', which is not plain data" in result.output


def spoil_nodes(change):
    def spoil(folder: Path) -> None:
        info = pickle.loads((folder / "node_info.pkl").read_bytes())  # noqa: S301 - made above
        (folder / "node_info.pkl").write_bytes(pickle.dumps(change(info)))

    return spoil


def pickled(name: str, value: object):
    return lambda folder: (folder / f"{name}.pkl").write_bytes(pickle.dumps(value))


def tensor(name: str, values: object):
    return lambda folder: save_tensor(folder / name, np.atleast_2d(np.array(values, np.int64)), slice(0, 9))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_nodes(lambda info: {**info, NODES: {}}), f"the node '{NODES}' has no type"),
        (spoil_nodes(lambda info: {**info, -1: {}}), "the node '-1' has no type"),
        (spoil_nodes(lambda info: {**info, "x": {}}), "the node 'x' has no type"),
        (spoil_nodes(lambda info: {i: info[i] for i in range(NODES - 1)}), "has a type, but no attributes"),
        (spoil_nodes(lambda info: {**info, 7: None}), "the node 7 has no dictionary of attributes"),
        (spoil_nodes(list), "this is not a dictionary"),
        (tensor("node_types.pt", [[1, 2, 3]]), "one type for each node is expected"),
        (tensor("edge_index.pt", [[1, 2, 3]]), "two rows, as long as"),
        (tensor("edge_types.pt", [[1, 2, 3]]), "one type for each edge is expected"),
        (lambda f: (f / "edge_index.pt").unlink(), "has no node_info.pkl, edge_index.pt, edge_types.pt, node_types.pt"),
        (lambda f: (f / "node_info.pkl").write_bytes(b""), "cannot read 'node_info.pkl'"),
        (pickled("node_type_dict", {0: "x"}), "the types of nodes are not those of one"),
        (pickled("node_type_dict", {0: "paper", 1: "product"}), "not those of one"),
        (pickled("node_type_dict", {0: "gene/protein"}), "a type without a name"),
        (pickled("node_type_dict", {"0": "x"}), "texts by numbers"),
        (pickled("edge_type_dict", {0: "a", 1: "a"}), "occurs twice, or too many"),
        (pickled("edge_type_dict", {0: "a"}), "a type without a name"),
        (pickled("edge_type_dict", {i: f"a{'/' * i}b" for i in range(20)}), "two names have the same IRI"),
        (lambda f: shutil.rmtree(f.parents[1] / "qa/stark_qa"), "has no questions of prime"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_are_told_and_nothing_is_left(sources, tmp_path, spoil, message):
    folder = copied(sources, tmp_path, "prime")
    spoil(folder)
    error = refused(tmp_path)
    assert re.search(message, error.message), error.message


def test_an_answer_that_is_no_node_tells_of_the_other_questions(sources, tmp_path):
    copied(sources, tmp_path, "prime")
    questions = tmp_path / "src/qa/stark_qa/stark_qa.csv"
    questions.write_text(questions.read_text() + '9999,"x","[1, 5000]"\n')
    error = refused(tmp_path)
    assert error.message == f"the question '9999' has the answer 5000, and the nodes are 0 to {NODES - 1}"
    assert "which is prime" in error.hint


def test_an_archive_that_is_damaged_is_told(sources, tmp_path):
    copied(sources, tmp_path, "prime")
    (tmp_path / "src/skb").rename(tmp_path / "src/other")
    for content in (b"PK\3\4", b"", b"hello"):
        (tmp_path / "src/skb").write_bytes(content)
        assert "is not a complete zip archive" in refused(tmp_path).message
