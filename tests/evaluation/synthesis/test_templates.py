"""The templates of STaRK: their answers are those of walks over the edge arrays; errors of a file name its line."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import rdflib
from stark_graphs import KBS

from benchmarks.stark_walks import WALKS, walk_of
from hybridkg.errors import ConfigError, UnknownNameError
from hybridkg.evaluation.synthesis.template_reader import known_templates, load_templates
from hybridkg.evaluation.synthesis.templates import PLACE, fill
from hybridkg.kb import KnowledgeBase

BASE = "https://w3id.org/hybridkg/stark/"


# --- the law ---------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [*KBS, "mag-both"])
def test_the_answers_of_a_template_are_those_of_walks_over_the_edge_arrays(graphs, graph):
    layout, arrays, path = graphs[graph]
    kb = layout.kb
    draw = random.Random(1)
    with KnowledgeBase.open(path) as base:
        for name, template in load_templates(f"stark-{kb}").templates.items():
            walk, prepared = walk_of(name), base.prepare(template.text, name=name)
            kinds = {kind: layout.of_type(frozenset({kind})).tolist() for kind in walk.anchors.values()}
            drawn = [{anchor: draw.choice(kinds[kind]) for anchor, kind in walk.anchors.items()} for _ in range(40)]
            filled = 0
            for anchors in drawn:
                rows = prepared.query({name: iri(kb, number) for name, number in anchors.items()})
                found = [int(str(row["x"]).rpartition("/")[2]) for row in rows]
                assert len(found) == len(set(found))
                assert set(found) == arrays.answers(name, anchors), (name, anchors)
                filled += bool(found)
            assert filled, name


def iri(kb: str, number: int):
    return rdflib.URIRef(f"{BASE}{kb}/{number}")


def test_with_edges_in_both_directions_the_cited_papers_are_also_the_citing_ones(graphs):
    layout, arrays, _ = graphs["mag"]
    both = graphs["mag-both"][1]
    for paper in layout.of_type(frozenset({"paper"})).tolist():
        cited, citing = arrays.answers("mag-2", {"a": paper}), arrays.anchors("mag-2", "a", paper)
        assert both.answers("mag-2", {"a": paper}) == cited | citing


@pytest.mark.parametrize("kb", KBS)
def test_counts_by_matrices_are_those_of_walks_from_every_anchor(graphs, kb):
    layout, arrays, _ = graphs[kb]
    for name in load_templates(f"stark-{kb}").templates:
        walk = walk_of(name)
        first = {
            a: arrays.answers_of_path(name, "a", a) for a in layout.of_type(frozenset({walk.anchors["a"]})).tolist()
        }
        others = [
            set().union(*(arrays.answers_of_path(name, anchor, b) for b in layout.of_type(frozenset({kind})).tolist()))
            for anchor, kind in walk.anchors.items()
            if anchor != "a"
        ]
        kept = {a: found.intersection(*others) for a, found in first.items()}
        want = {"answers": len(set().union(*kept.values())), "anchors": sum(map(bool, kept.values()))}
        assert arrays.count(name) == want, name
        assert want["answers"], name


# --- the shipped files -----------------------------------------------------------------


def test_each_knowledge_base_has_its_templates_and_types():
    assert known_templates() == ("stark-amazon", "stark-mag", "stark-prime")
    names = {kb: list(load_templates(f"stark-{kb}").templates) for kb in KBS}
    assert {kb: len(found) for kb, found in names.items()} == {"amazon": 14, "mag": 7, "prime": 29}
    assert sorted(name for found in names.values() for name in found) == sorted(WALKS)
    for kb in KBS:
        for name, template in load_templates(f"stark-{kb}").templates.items():
            walk = walk_of(name)
            local = {anchor: class_.rpartition("#")[2] for anchor, class_ in template.anchors.items()}
            assert local == {anchor: kind.replace("/", "_") for anchor, kind in walk.anchors.items()}
            assert template.answers == f"{BASE}{kb}#{walk.answers.replace('/', '_')}"
            assert template.metapath.startswith(f"({walk.anchors['a']} →") or len(walk.anchors) > 1


@pytest.mark.parametrize("kb", KBS)
def test_no_wording_of_train_is_one_of_test(kb):
    loaded = load_templates(f"stark-{kb}")
    tables = [*(t.phrasings for t in loaded.templates.values()), *(role.frames for role in loaded.roles)]
    parts = [{text.lower() for table in tables for text in table.of(split)} for split in ("train", "test")]
    assert not parts[0] & parts[1]
    for template in loaded.templates.values():
        assert len(template.phrasings.train) >= 3
        assert len(template.phrasings.test) >= 2
        for split in ("train", "val", "test", "test-0.1"):
            assert all(set(PLACE.findall(text)) == set(template.anchors) for text in template.phrasings.of(split))


def test_a_value_with_braces_is_not_filled_again():
    assert fill("{a} and {b}", {"a": "{b}", "b": "{a}"}) == "{b} and {a}"


# --- a user's own file -----------------------------------------------------------------

OWN = """title = "Films"
prologue = "PREFIX : <http://e/>"

[roles.fan]
train = ["Which are {request}?", "Which are {request} about {properties}?"]
test = ["Name {request}.", "Name {request} on {properties}."]

[templates.director]
metapath = "(person → film)"
query = \"\"\"
SELECT DISTINCT ?x { ?x a :Film ; :director $who .
  $who a :Person }\"\"\"
train = ["films by {who}"]
test = ["what {who} directed"]
"""


def test_the_example_of_the_documentation_is_read(tmp_path):
    text = (Path(__file__).resolve().parents[3] / "docs" / "evaluation.md").read_text()
    (block,) = (one for one in re.findall(r"```toml\n(.*?)```", text, re.S) if "[templates." in one)
    (tmp_path / "films.toml").write_text(block)
    assert list(load_templates(tmp_path / "films.toml").templates) == ["director"]


def test_templates_of_any_knowledge_base(tmp_path):
    path = tmp_path / "films.toml"
    path.write_text(OWN)
    loaded = load_templates(path)
    assert (loaded.name, loaded.title, [role.name for role in loaded.roles]) == ("films", "Films", ["fan"])
    template = loaded.templates["director"]
    assert (template.answers, template.anchors) == ("http://e/Film", {"who": "http://e/Person"})
    films = tmp_path / "films.ttl"
    films.write_text(
        "@prefix : <http://e/> . :alien a :Film ; :director :scott . :scott a :Person . "
        ":brazil a :Film ; :director :g ."
    )
    with KnowledgeBase.create(tmp_path / "kb") as base:
        base.load(films)
        rows = base.query(template.text, {"who": rdflib.URIRef("http://e/scott")})
        assert [str(row["x"]) for row in rows] == ["http://e/alien"]


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("title = ", "titel = ", "no key 'titel'; known: title, prologue, roles, templates, splits", 1),
        ('title = "Films"\n', "", "the key 'title' is missing", 1),
        ('title = "Films"', "title = 3", "'title' must be a text", 1),
        ('title = "Films"', 'title = "Films"\nsplits = [0.5, 0.4, 0.2]', "'splits' must be the shares of", 2),
        ('title = "Films"', 'title = "Films"\nsplits = [1, 0]', "'splits' must be the shares of train, val and", 2),
        ("PREFIX : <http://e/>", "PREFIX : http", "the prologue has more than PREFIX declarations", 2),
        ('"Name {request}."', '"Name {thing}."', "a frame has {request}, and maybe {properties}: 'Name {thing}.'", 6),
        ('"Which are {request}?", ', "", "roles.fan.train has no frame without {properties}", 5),
        ("metapath =", "meta =", "no key 'meta'; known: metapath, query, train, test, about", 9),
        (":director $who .", ":director $who", "the query of 'director': ", 11),
        ("DISTINCT ?x", "?x", "must be SELECT DISTINCT ?x { ... } without modifiers", 10),
        ("$who a :Person }", "$who a :Person } LIMIT 3", "must be SELECT DISTINCT ?x { ... } without modifiers", 10),
        ("$who", "?who", "must have 1 to 8 anchors, written with '$'", 10),
        ("$who a :Person", "$who :name ?n", "must state one class of 'who', and states 0", 10),
        ("?x a :Film", "?x a :Film , :Work", "must state one class of 'x', and states 2", 10),
        ("films by {who}", "films by {whom}", "a phrasing of 'director' names its anchors, {who}: 'films by", 13),
        ("films by {who}", "films by {who} {", "a brace without a name", 13),
        ("what {who} directed", "Films  by {who}", "is in train of templates.director and in test of", 14),
        ('["films by {who}"]', "[]", "templates.director.train must be a list of texts", 13),
        ("[templates.director]", "[templates]", "'templates' must be tables: [templates.NAME]", 8),
        ("[roles.fan]", "[roles.fan", "not TOML", None),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line(tmp_path, old, new, message, line):
    path = tmp_path / "films.toml"
    assert old in OWN
    path.write_text(OWN.replace(old, new))
    with pytest.raises(ConfigError) as e:
        load_templates(path)
    assert message in e.value.message
    assert e.value.place == (str(path) if line is None else f"{path}:{line}")


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(
        UnknownNameError, match="no templates 'stark-magg'; known: stark-amazon, stark-mag, stark-prime"
    ):
        load_templates("stark-magg")
    with pytest.raises(ConfigError, match="cannot read the file of templates"):
        load_templates(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_templates(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_bytes(b"#" * (1 << 20) + b"##")
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        load_templates(tmp_path / "x.toml")
