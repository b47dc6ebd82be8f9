"""The figures of `stats --skb` against a slow count over lists of triples and documents."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path

import pytest
from command_line import run

from hybridkg import KnowledgeBase
from hybridkg.errors import ParameterError, UserError
from hybridkg.evaluation.question_figures import question_figures
from hybridkg.evaluation.stark import read_stark
from hybridkg.evaluation.topics import Topics
from hybridkg.kb.skb import figures as figures_module

E = "http://e/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
CLASS = "http://www.w3.org/2000/01/rdf-schema#Class"


def made(overlapping: bool) -> tuple[list[tuple[str, str, str]], dict[str, dict[str, str]]]:
    """Triples and text documents of forty nodes, some without a type, some of two."""
    draw = random.Random(7)
    nodes = [f"{E}{i}" for i in range(40)]
    triples = {(node, f"{E}{draw.choice('pqr')}", draw.choice(nodes)) for node in nodes for _ in range(5)}
    triples |= {(f"{E}{name}", TYPE, CLASS) for name in "ABC"} | {(f"{E}A", f"{E}label", '"a class"')}
    documents: dict[str, dict[str, str]] = {}
    for i, node in enumerate(nodes):
        kinds = draw.sample("ABC", 1 + (overlapping and i % 3 == 0)) if i % 5 else []
        triples |= {(node, TYPE, f"{E}{kind}") for kind in kinds}
        words = " ".join(draw.choice(["red", "Red", "fish,", "-1"]) for _ in range(i % 6 + 1))
        triples |= {(node, f"{E}note", f'"{words}"')} | ({(node, f"{E}year", f'"{i}"')} if i % 2 else set())
        documents[node] = {"document": f"- name: {words}\\n", **({"title": words[:5]} if i % 4 == 0 else {})}
    return sorted(triples), documents


def slow_text(texts: list[str]) -> dict:
    words = Counter(word for text in texts for word in text.split())
    total = sum(words.values())
    entropy = -sum(n / total * math.log2(n / total) for n in words.values()) if total else 0
    return {"tokens": total, "distinct_words": len(words), "entropy": pytest.approx(entropy)}


def slow(triples, documents, classes: list[str]) -> dict:
    types = {node: {o for s, p, o in triples if s == node and p == TYPE and o in classes} for node, _, _ in triples}
    types = {node: own for node, own in types.items() if own}
    related = [(s, p, o) for s, p, o in triples if p != TYPE and s in types and o in types]
    fields = sorted({field for texts in documents.values() for field in texts})

    def words(nodes):
        found = {"graph": slow_text([o[1:-1] for s, _, o in triples if s in nodes and o.startswith('"')])}
        for field in fields:
            found[field] = slow_text([t[field] for node, t in documents.items() if node in nodes and field in t])
        return found

    members = {kind: {node for node, own in types.items() if kind in own} for kind in classes}
    members = {kind: nodes for kind, nodes in members.items() if nodes}
    ends = Counter((c, p, d) for s, p, o in related for c in types[s] for d in types[o])
    return {
        "entities": len(types),
        "entity_types": len(members),
        "relations": len(related),
        "relation_types": len({p for _, p, _ in related}),
        "degree": pytest.approx(2 * len(related) / len(types)),
        "words": words(set(types)),
        "types": [
            {"type": kind, "entities": len(nodes), "words": words(nodes)}
            for kind, nodes in sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
        ],
        "relations_by_types": [
            {"source": c, "predicate": p, "target": d, "triples": n}
            for (c, p, d), n in sorted(ends.items(), key=lambda item: (-item[1], item[0]))
        ],
    }


def built(folder: Path, triples, documents, profile: str | None = None) -> Path:
    def term(text: str) -> str:
        return text if text.startswith('"') else f"<{text}>"

    (folder / "g.nt").write_text("".join(f"{' '.join(map(term, triple))} .\n" for triple in triples))
    (folder / "t.jsonl").write_text("".join(json.dumps({"id": i, **texts}) + "\n" for i, texts in documents.items()))
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "g.nt", text=folder / "t.jsonl", index=True, profile=profile)
    return folder / "kb"


@pytest.mark.parametrize("overlapping", [False, True])
def test_figures_are_those_of_a_slow_count(tmp_path, overlapping):
    triples, documents = made(overlapping)
    with KnowledgeBase.open(built(tmp_path, triples, documents)) as kb:
        assert kb.skb_figures().to_json() == slow(triples, documents, [f"{E}A", f"{E}B", f"{E}C"])


def test_the_classes_of_a_profile_are_those_that_count(tmp_path):
    triples, documents = made(True)
    (tmp_path / "p.ttl").write_text(
        f"@prefix hk: <https://w3id.org/hybridkg/ns#> . <> a hk:Profile ; hk:entities <{E}A>, <{E}B> ;"
        f' hk:fields ( [ hk:name "note" ; hk:path <{E}note> ] ) .'
    )
    with KnowledgeBase.open(built(tmp_path, triples, documents, str(tmp_path / "p.ttl"))) as kb:
        assert kb.skb_figures().to_json() == slow(triples, documents, [f"{E}A", f"{E}B"])


def test_more_types_than_are_counted_change_no_sum(tmp_path, monkeypatch):
    triples, documents = made(False)
    monkeypatch.setattr(figures_module, "MAX_TYPES", 1)
    with KnowledgeBase.open(built(tmp_path, triples, documents)) as kb:
        found, wanted = kb.skb_figures().to_json(), slow(triples, documents, [f"{E}A", f"{E}B", f"{E}C"])
    assert found == {**wanted, "types": wanted["types"][:1]}


def test_a_graph_without_types_has_no_figures(tmp_path):
    (tmp_path / "g.nt").write_text(f"<{E}a> <{E}p> <{E}b> .\n<{E}A> <{TYPE}> <{CLASS}> .\n")
    with KnowledgeBase.temporary(tmp_path / "g.nt") as kb, pytest.raises(UserError, match="no node has a type"):
        kb.skb_figures()


@pytest.mark.needs_shared
@pytest.mark.parametrize(("kb", "entropy"), [("amazon", "10.39"), ("mag", "10.25"), ("primekg", "9.63")])
def test_the_entropy_of_the_real_questions_is_the_published_one(shared_data, kb, entropy):
    questions = read_stark(shared_data / "stark-qa" / kb)
    found = question_figures(questions.topics(), questions.qrels())
    assert f"{found.entropy:.2f}" == entropy
    assert found.questions == len(questions)
    assert found.several_answers == sum(len(answers) > 1 for answers in questions.answers.values())


def test_no_question_has_no_figures():
    with pytest.raises(ParameterError, match="there is no question"):
        question_figures(Topics({}))


# --- the command -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skb")
    (folder / "topics.tsv").write_text("1\ta b\n2\ta c\n")
    (folder / "qrels.txt").write_text("1 0 x 1\n1 0 y 1\n2 0 x 1\n")
    return built(folder, *made(False))


def test_the_command_shows_the_figures(kb):
    options = ["--topics", kb.parent / "topics.tsv", "--qrels", kb.parent / "qrels.txt"]
    found = json.loads(run("stats", kb, "--skb", *options, "--format", "json").stdout)
    questions = found.pop("questions")
    assert found == slow(*made(False), [f"{E}A", f"{E}B", f"{E}C"])
    assert questions == {
        "questions": 2, "tokens": 4, "entropy": 1.5, "type_token_ratio": 0.75,
        "several_answers": 1, "mean_answers": 1.5, "most_answers": 2,
    }  # fmt: skip
    shown = run("stats", kb, "--skb", *options).stdout
    assert f"entities: {found['entities']}\nentity types: 3\n" in shown
    assert f"degree: {found['degree']:.1f}\n" in shown
    assert "  words: 4, entropy 1.50\n" in shown
    assert "  answers: 1.50 on average, 2 at most\n" in shown


@pytest.mark.parametrize("columns", [30, 200])
def test_no_figure_is_cut_on_a_narrow_terminal(kb, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run("stats", kb, "--skb").stdout
    for one in slow(*made(False), [f"{E}A", f"{E}B", f"{E}C"])["relations_by_types"]:
        assert f"{one['triples']:,}" in shown.split()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--topics", "t.tsv"], "--topics is for --skb"),
        (["--skb", "--qrels", "q.txt"], "--qrels for --topics"),
        (["--skb", "--cost"], "--skb stands alone"),
        (["--skb", "--topics", "none.tsv"], "none.tsv"),
    ],
)
def test_mistakes_of_the_command(kb, options, message):
    result = run("stats", kb, *options)
    assert result.exit_code in (1, 2)
    assert message in result.output
