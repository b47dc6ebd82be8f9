"""The explorer of a node against a slow count over a list of triples, its names, its paths, and its command."""

from __future__ import annotations

import json
import random
from collections import defaultdict

import pytest
from command_line import FILMS, run

from hybridkg import KnowledgeBase
from hybridkg.errors import UnknownNameError, UserError
from hybridkg.kb.nodes import paths as paths_module
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import BlankNode, NamedNode

E = "http://e/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def made_triples() -> list[tuple[str, str, str]]:
    """Sixty nodes, of which ten are blank, of three classes with three relations; one node has many neighbours."""
    draw = random.Random(5)
    nodes = [f"<{E}n{i}>" for i in range(50)] + [f"_:b{i}" for i in range(10)]
    triples = {(node, f"<{E}{draw.choice(['p', 'q', 'r'])}>", draw.choice(nodes)) for node in nodes for _ in range(4)}
    triples |= {(nodes[0], f"<{E}p>", node) for node in nodes[1:]}
    triples |= {(node, f"<{TYPE}>", f"<{E}{draw.choice('ABC')}>") for node in nodes for _ in range(draw.randint(0, 2))}
    triples |= {(node, f"<{E}note>", f'"{i} {j}"') for i, node in enumerate(nodes) for j in range(i % 4)}
    return sorted(triples)


def in_order(terms) -> list[str]:
    """Blank nodes before IRIs, each by text."""
    return sorted(set(terms), key=lambda term: (term.startswith("<"), term.strip("<>")))


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "g.nt").write_text("".join(" ".join(triple) + " .\n" for triple in made_triples()))
    with KnowledgeBase.temporary(folder / "g.nt") as base:
        yield base


@pytest.fixture(scope="module")
def triples(kb) -> list[tuple[str, ...]]:
    """The triples as stored, where blank nodes have other labels than in the file."""
    found = [tuple(map(str, row)) for row in snapshot_of(kb).store.select("SELECT ?s ?p ?o WHERE { ?s ?p ?o }").rows]
    assert len(found) == len(made_triples())
    return found


def nodes_in(triples) -> list[str]:
    return in_order(s for s, _, _ in triples)


def slow_relations(triples, node: str, *, incoming: bool) -> dict[str, list[str]]:
    found = defaultdict(list)
    for s, p, o in triples:
        if (o if incoming else s) == node and not o.startswith('"') and (incoming or p != f"<{TYPE}>"):
            found[p[1:-1]].append(s if incoming else o)
    return {p: in_order(ends) for p, ends in found.items()}


@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_counts_and_neighbours_are_those_of_the_triples(kb, triples, limit):
    for node in nodes_in(triples):
        view = kb.node(node, limit=limit)
        for incoming, relations in ((False, view.outgoing), (True, view.incoming)):
            wanted = slow_relations(triples, node, incoming=incoming)
            assert {one.predicate: one.count for one in relations} == {p: len(ends) for p, ends in wanted.items()}
            for one in relations:
                assert [str(end.node) for end in one.neighbours] == wanted[one.predicate][:limit]
            assert [one.count for one in relations] == sorted((one.count for one in relations), reverse=True)
        notes = sorted(o[1:-1] for s, p, o in triples if s == node and o.startswith('"'))
        assert [(one.count, list(one.texts)) for one in view.texts] == [(len(notes), notes[:limit])] * bool(notes)
        assert set(view.types) == {o[1:-1] for s, p, o in triples if s == node and p == f"<{TYPE}>"}


def slow_paths(triples, start: str, steps: str) -> list[tuple[str, ...]]:
    found = [(start,)]
    for step in steps.split(">"):
        longer = []
        for path in found:
            if step in "ABC":
                ends = [o for s, p, o in triples if s == path[-1] and p != f"<{TYPE}>"]
                ends += [s for s, p, o in triples if o == path[-1] and p != f"<{TYPE}>"]
                ends = [end for end in ends if (end, f"<{TYPE}>", f"<{E}{step}>") in triples]
            elif step.startswith("^"):
                ends = [s for s, p, o in triples if o == path[-1] and p == f"<{E}{step[1:]}>"]
            else:
                ends = [o for s, p, o in triples if s == path[-1] and p == f"<{E}{step}>"]
            longer += [(*path, end) for end in in_order(ends) if not end.startswith('"') and end not in path]
        found = longer
    return found


@pytest.mark.parametrize("steps", ["A", "p", "^q", "B>A", "r>^p", "^p>C>r", "A>B>C"])
def test_paths_are_those_of_a_search_over_the_triples(kb, triples, steps):
    for node in nodes_in(triples)[::6]:
        found = kb.node(node, limit=1000, paths=steps).paths
        wanted = slow_paths(triples, node, steps)
        assert (found.count, found.is_complete) == (len(wanted), True)
        assert [tuple(str(end) for end, _ in path) for path in found.paths] == [path[1:] for path in wanted[:1000]]


def test_many_paths_and_many_triples_are_counted_as_a_lower_bound(kb, monkeypatch):
    monkeypatch.setattr(paths_module, "MAX_PATHS", 7)
    found = kb.node(f"{E}n0", paths="p>p").paths
    assert (found.count, found.is_complete) == (7, False)
    assert "paths p>p (at least 7):" in str(kb.node(f"{E}n0", paths="p>p"))
    monkeypatch.setattr(paths_module, "MAX_EDGES", 5)
    assert kb.node(f"{E}n0", paths="p").paths.is_complete is False


def test_steps_are_names_prefixed_names_or_iris(kb, triples):
    wanted = kb.node(f"{E}n0", paths="p>A").paths.paths
    for steps in (f"<{E}p> > <{E}A>", f"<{E}p>>A", "p > A"):
        assert kb.node(f"{E}n0", paths=steps).paths.paths == wanted
    assert kb.node(f"{E}n0", paths=f"^<{E}p>").paths.count == len(slow_paths(triples, f"<{E}n0>", "^p"))


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ("A>", UserError, "'A>' is not a path of 1 to 6 steps"),
        (">".join("ABCABCA"), UserError, "not a path of 1 to 6 steps"),
        ("authors", UnknownNameError, "no class and no predicate has the name 'authors'"),
        ("^A", UnknownNameError, "no class and no predicate has the name '^A'"),
    ],
)
def test_steps_that_are_none_are_refused(kb, steps, error, message):
    with pytest.raises(error) as e:
        kb.node(f"{E}n0", paths=steps)
    assert message in e.value.message
    assert e.value.hint


def test_a_name_of_a_class_and_of_a_predicate_is_ambiguous(tmp_path):
    (tmp_path / "g.ttl").write_text("@prefix e: <http://e/> . e:a a e:genre ; <http://f/genre> e:b .")
    with KnowledgeBase.temporary(tmp_path / "g.ttl") as kb:
        with pytest.raises(UnknownNameError, match="several meanings: the class <http://e/genre>, the predicate") as e:
            kb.node("http://e/a", paths="genre")
        assert e.value.hint == "write one of the IRIs"
        assert kb.node("http://e/a", paths="<http://f/genre>").paths.count == 1


# --- names -----------------------------------------------------------------------------------------

NAMES = f"""
@prefix e: <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:1 a e:Author ; rdfs:label "Ann Lee" . e:2 a e:Paper ; rdfs:label "Ann Lee"@en . e:3 rdfs:label "ann lee" .
e:4 rdfs:label "Zoë \\"Z\\" O'Hara: a life" ; e:by e:1 . e:5 rdfs:label "Müller"@de . [] rdfs:label "Nameless" .
"""


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    (folder / "g.ttl").write_text(NAMES, encoding="utf-8")
    (folder / "t.jsonl").write_text(
        json.dumps({"id": f"{E}9", "title": "Only text", "document": "- a: \nb\n"})
        + "\n"
        + json.dumps({"id": f"{E}1", "document_rel": "- x"})
        + "\n"
    )
    kb = KnowledgeBase.create(folder / "kb")
    kb.load(folder / "g.ttl", text=folder / "t.jsonl", index=True)
    return kb


@pytest.mark.parametrize(
    ("given", "node"),
    [
        (f"{E}1", f"<{E}1>"),
        (f"<{E}1>", f"<{E}1>"),
        ("e:1", f"<{E}1>"),
        (NamedNode(f"{E}2"), f"<{E}2>"),
        ("Ann  lee", f"<{E}1>"),
        ('Zoë "Z" O\'Hara: a life', f"<{E}4>"),
        ("müller", f"<{E}5>"),
        (f"{E}9", f"<{E}9>"),
        ("4", f"<{E}4>"),
    ],
)
def test_a_node_is_found_by_iri_prefixed_name_and_label(named, given, node):
    if given == "Ann  lee":  # three nodes have it in some case, and none in this one
        with pytest.raises(UnknownNameError, match="3 nodes have the name 'Ann lee'"):
            named.node(given)
    else:
        assert str(named.node(given).node) == node


def test_a_blank_node_is_found_by_its_label(named):
    found = named.node("Nameless").node
    assert isinstance(found, BlankNode)
    assert named.node(f"_:{found.value}").label == "Nameless"


def test_nodes_of_one_name_are_listed_with_their_types(named):
    with pytest.raises(UnknownNameError, match="2 nodes have the name 'Ann Lee'") as e:
        named.node("Ann Lee")
    assert e.value.hint == f"give one of them:\n<{E}1> e:Author\n<{E}2> e:Paper"
    assert named.node("ann lee").iri == "e:3"  # the same case comes first


def test_more_nodes_of_one_name_than_are_listed(tmp_path):
    (tmp_path / "g.nt").write_text("".join(f'<{E}{i:02}> <{LABEL}> "Ann" .\n' for i in range(12)))
    with KnowledgeBase.temporary(tmp_path / "g.nt") as kb, pytest.raises(UnknownNameError) as e:
        kb.node("Ann")
    assert e.value.message == "more than 10 nodes have the name 'Ann'"
    assert e.value.hint.endswith(f"<{E}09>\nand more")


def test_what_is_not_there_is_told(named):
    with pytest.raises(UnknownNameError, match="no node has the name 'Annn'"):
        named.node("Annn")
    with pytest.raises(UnknownNameError, match=f"no triple and no text has <{E}77>"):
        named.node(f"{E}77")
    for odd in ("_:a b", "_:", "<a b>", "<", "nowhere:x y", "http://e/a b", "\x00", "\u202e", "a" * 10_000):
        with pytest.raises(UnknownNameError, match="no node has the name"):
            named.node(odd)
    with pytest.raises(UserError, match="the name of the node is empty"):
        named.node(" ")
    for odd in (None, 5, b"Ann"):
        with pytest.raises(UserError, match=f"a node is a name or an IRI, not {type(odd).__name__}"):
            named.node(odd)
    with pytest.raises(UserError, match="a number from 1 to 1,000, not 0"):
        named.node("e:1", limit=0)
    with pytest.raises(UnknownNameError) as e:
        named.node("Lee")
    assert e.value.hint.startswith("did you mean one of these?\n")


def test_texts_outside_the_graph_are_shown(named):
    assert [(one.name, one.source, one.texts) for one in named.node(f"{E}9").texts] == [
        ("document", "", ("- a: \nb\n",)),
        ("title", "", ("Only text",)),
    ]


def test_documents_are_the_stored_fields(named):
    assert named.document(f"{E}9") == "- a: \nb\n"
    assert named.document(f"{E}9", compact=True) == "a: b. "
    assert named.document("e:1", relations=True) == "- x"
    with pytest.raises(UnknownNameError, match=f"the node <{E}1> has no text 'document'"):
        named.document("e:1")


def test_without_documents_it_says_how_to_get_them(kb):
    with pytest.raises(UserError, match="no documents with relations: no text field 'document_rel'") as e:
        kb.document(f"{E}n0", relations=True)
    assert e.value.hint == "hybridkg dataset stark --documents relations writes them; text fields here: none"


# --- the command -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    path = tmp_path_factory.mktemp("films") / "films.kb"
    assert run("load", path, FILMS).exit_code == 0
    return path


def test_the_command_shows_a_node(films):
    shown = run("node", films, "Solaris", "--paths", "genre>Film", "--limit", "2")
    assert shown.stdout.split("\n")[:3] == ["Solaris", ":Film", ":Solaris"]
    assert ":director (1): Andrei Tarkovsky\n" in shown.stdout
    assert "paths genre>Film (11):\n  drama > Arrival\n  drama > Seven Samurai\n  9 more\n" in shown.stdout
    found = json.loads(run("node", films, ":Tarkovsky", "--format", "json").stdout)
    assert [(one["predicate"], one["count"]) for one in found["incoming"]] == [("http://example.org/films/director", 2)]


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_no_line_is_wider_than_the_terminal(films, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run("node", films, "Solaris", "--paths", "genre>Film", "--limit", "50").stdout
    assert max(map(len, shown.split("\n"))) <= columns
    words = "".join(shown.split())
    assert "Onaspacestationabovealivingocean" in words


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    (tmp_path / "g.nt").write_text(f'<{E}a> <{LABEL}> "A\\u001B[31m" . <{E}a> <{E}p> <{E}b> .\n')
    assert "\x1b" not in run("node", tmp_path / "g.nt", f"{E}a").output


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--relations"], 2, "add --document"),
        (["--compact"], 2, "add --document"),
        (["--document", "--paths", "a"], 2, "--paths is not for --document"),
        (["--document"], 2, "no text field 'document'"),
        (["--limit", "0"], 2, "--limit"),
        (["--paths", ""], 2, "--paths needs names of classes and predicates"),
        (["--paths", "x"], 2, "no class and no predicate has the name 'x'"),
    ],
)
def test_mistakes_of_the_command(films, options, code, message):
    result = run("node", films, "Solaris", *options)
    assert result.exit_code == code
    assert message in result.output


def test_a_local_name_is_found_in_the_namespace_of_any_entity(tmp_path):
    film = "a <http://s/Film> ; <http://www.w3.org/2000/01/rdf-schema#label>"
    (tmp_path / "g.ttl").write_text(
        f'[] {film} "z" . <http://a/x> {film} "A" . <http://e/alien> {film} "B" . <http://e/up> {film} "C" . '
        f'<http://z/#up> {film} "D" . <urn:last> {film} "E" .'
    )
    with KnowledgeBase.temporary(tmp_path / "g.ttl") as kb:
        assert kb.node("alien").node == NamedNode("http://e/alien")
        with pytest.raises(UnknownNameError, match="2 nodes have the name 'up'") as e:
            kb.node("up")
        assert "<http://e/up> " in e.value.hint
        assert "<http://z/#up> " in e.value.hint
        with pytest.raises(UnknownNameError, match="no node has the name 'lien'"):
            kb.node("lien")
