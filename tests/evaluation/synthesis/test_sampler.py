"""Anchors are drawn backwards from an answer, so they exist; their answers are those of walks, and have that one."""

from __future__ import annotations

import random

import pytest
from stark_graphs import KBS

from benchmarks.stark_walks import walk_of
from hybridkg.evaluation.synthesis.sampler import TemplateSampler
from hybridkg.evaluation.synthesis.template_reader import load_templates
from hybridkg.kb import KnowledgeBase


def number(iri: str) -> int:
    return int(iri.rpartition("/")[2])


@pytest.mark.parametrize("kb", KBS)
def test_drawn_anchors_have_their_type_and_the_answers_of_walks_and_gold_is_one(graphs, kb):
    layout, arrays, path = graphs[kb]
    draw = random.Random(2)
    with KnowledgeBase.open(path) as base:
        sampler = TemplateSampler(base)
        for name, template in load_templates(f"stark-{kb}").templates.items():
            walk = walk_of(name)
            for _ in range(3):
                drawn = sampler.draw(template, draw)
                assert drawn is not None, name
                anchors = {anchor: number(iri) for anchor, iri in drawn.anchors.items()}
                assert {a: layout.node_names[int(layout.node_types[n])] for a, n in anchors.items()} == walk.anchors
                assert len({*anchors.values(), number(drawn.gold)}) == len(anchors) + 1
                assert drawn.gold in drawn.candidates
                assert set(map(number, drawn.candidates)) == arrays.answers(name, anchors)
                assert all(n in arrays.anchors(name, anchor, number(drawn.gold)) for anchor, n in anchors.items())


def test_the_same_seed_gives_the_same_draws_also_after_others(graphs):
    _, _, path = graphs["mag"]
    templates = load_templates("stark-mag").templates
    with KnowledgeBase.open(path) as base:
        first = TemplateSampler(base)
        first.draw(templates["mag-1"], random.Random(9))
        samplers = (first, TemplateSampler(base))
        draws = [[one.draw(templates["mag-7"], random.Random(seed)) for seed in range(5)] for one in samplers]
    assert draws[0] == draws[1]
    assert len({draw.gold for draw in draws[0]}) > 1


def test_every_anchor_of_an_answer_can_be_drawn(graphs):
    layout, arrays, path = graphs["mag"]
    template = load_templates("stark-mag").templates["mag-4"]
    paper = next(n for n in layout.of_type(frozenset({"paper"})).tolist() if len(arrays.anchors("mag-4", "a", n)) > 2)
    draw = random.Random(0)
    with KnowledgeBase.open(path) as base:
        sampler = TemplateSampler(base)
        gold = f"https://w3id.org/hybridkg/stark/mag/{paper}"
        drawn = {number(sampler.draw_for(template, gold, draw).anchors["a"]) for _ in range(60)}
    assert drawn == arrays.anchors("mag-4", "a", paper)


def test_too_many_candidates_are_not_drawn_and_what_is_not_expressed_is_none(graphs):
    _, _, path = graphs["mag"]
    templates = load_templates("stark-mag").templates
    with KnowledgeBase.open(path) as base:
        few = TemplateSampler(base, max_candidates=2)
        sizes = {len(few.draw(templates["mag-3"], random.Random(seed)).candidates) for seed in range(20)}
        assert sizes <= {1, 2}
        many = TemplateSampler(base)
        assert max(len(many.draw(templates["mag-3"], random.Random(seed)).candidates) for seed in range(20)) > 2
        other = load_templates("stark-prime").templates["prime-6"]
        assert TemplateSampler(base).draw(other, random.Random(1)) is None


RARE = """title = "Films"
prologue = "PREFIX : <http://e/>"
[roles.fan]
train = ["Which are {request}?", "Which are {request} about {properties}?"]
test = ["Name {request}.", "Name {request} on {properties}."]
[templates.sequel]
metapath = "(film → film)"
query = "SELECT DISTINCT ?x { ?x a :Film ; :sequelOf/:writer $who . $who a :Person FILTER NOT EXISTS { ?x :lost ?y } }"
train = ["sequels of films by {who}"]
test = ["what followed a film by {who}"]
"""


def test_the_only_answer_among_many_nodes_is_drawn(tmp_path):
    films = "".join(f":f{i} a :Film . " for i in range(3000))
    (tmp_path / "f.ttl").write_text(
        f"@prefix : <http://e/> . {films} :f7 :sequelOf :f6 . :f6 :writer :w . :w a :Person ."
    )
    (tmp_path / "rare.toml").write_text(RARE)
    with KnowledgeBase.create(tmp_path / "kb") as base:
        base.load(tmp_path / "f.ttl")
        template = load_templates(tmp_path / "rare.toml").templates["sequel"]
        drawn = [TemplateSampler(base).draw(template, random.Random(seed), attempts=1) for seed in range(3)]
    assert {draw and (draw.gold, draw.anchors["who"], draw.candidates) for draw in drawn} == {
        ("http://e/f7", "http://e/w", ("http://e/f7",))
    }
