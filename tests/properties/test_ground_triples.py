"""Runs of plain triples in INSERT DATA, which become quads at once, are those that the rules read."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.meter import Meter
from hybridkg.kb.write.updating import checked_update
from hybridkg.query import ast, ground_triples, parser
from hybridkg.query.constants import term_of_constant
from hybridkg.query.write import write_update
from hybridkg.rdf.terms import DefaultGraph, NamedNode, Quad

IRIS = ["<e:a>", "<e:b>", "<http://e/%C3%A9>", "<e:\u00e9>", "<e:\u2028>", "<e:a#b?c=d>", "<urn:x:(y)>", "<e:>"]
STRANGE = ["<a>", "<>", "<e:%zz>", "<e:a b>", "<:a>", "<e:[>", "<e:\ue000>", "<http://[::1>", "<E:A/../b>", "<1:a>"]
LITERALS = [
    '""', '"x"', '"x y . <e:a> <e:b>"', '"\u00e9\u2028\u0001"', "\"it's # no comment\"", '"@en"', '"^^<e:d>"',
    '"x"@en', '"x"@EN-gb', '"x"@zh-Hant-CN', '"x"^^<e:d>', '"01"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"x"^^<http://www.w3.org/2001/XMLSchema#string>', '"\t"', '"\u007f"',
]  # fmt: skip
STRANGE_LITERALS = [
    '"x"@toolonglanguagetag', '"x"@a-', '"x"@ar--rtl', '"x"@a--b', '"x"^^<d>', "1", "true", "'x'", '"""x"""', '"\\n"',
    '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>', '"x"@en^^<e:d>', '"x"^^e:d',
    '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>', '"\U0010ffff"', '"\ufffe"',
]  # fmt: skip
SPACES = [" ", "", "\n", "\t \r\n"]
DOTS = [" . ", ".\n", "\t.\t", ".", " .\r", ";", " , ", " . # x\n"]


def triples(iris: list[str], literals: list[str]) -> st.SearchStrategy[str]:
    parts = (iris, SPACES, iris, SPACES, [*iris, *literals], SPACES, DOTS[:3])
    return st.tuples(*map(st.sampled_from, parts)).map("".join)


plain = triples(IRIS, LITERALS)
strange = triples([*IRIS, *STRANGE, "_:b", "p:x", "?v"], [*LITERALS, *STRANGE_LITERALS, "[]", "<e:a> {| <e:q> 1 |}"])
odd_end = st.tuples(plain, st.sampled_from(DOTS)).map(lambda pair: pair[0].rstrip(" .\n\t") + pair[1])
data = st.lists(plain, min_size=1, max_size=10).map("".join) | st.lists(
    plain | plain | plain | plain | strange | odd_end, max_size=10
).map("".join)
FORMS = [
    "INSERT DATA {%s}", "PREFIX p: <e:p/> INSERT DATA { %s }", "BASE <e:/x/> INSERT DATA { %s }",
    "INSERT DATA { <e:x> <e:y> 1 . %s GRAPH <e:g> { %s } %s }", "DELETE DATA { %s } ; INSERT DATA { %s } ; CLEAR ALL",
    "DELETE { %s } INSERT { %s } WHERE { ?v ?w 1 }", "INSERT DATA { GRAPH <e:g> { <e:x> <e:y> 1 . %s } . %s }",
]  # fmt: skip


def insertions(update: ast.Update) -> list[list[Quad]]:
    """The quads of each INSERT DATA without variables and blank nodes, and the syntax of everything else."""
    found: list[list[Quad]] = []
    for operation in update.operations:
        quads = []
        for block in operation.quads if isinstance(operation, ast.InsertData) else ():
            graph = DefaultGraph() if block.graph is None else NamedNode(block.graph.value)
            ground = {id(quad): quad for quad in block.ground}
            own = [Quad(quad.subject, quad.predicate, quad.object, graph) for quad in ground.values()]
            rest = []
            for triple in block.triples:
                terms = triple.subject, triple.predicate, triple.object
                if all(isinstance(term, ast.Iri | ast.Lit) for term in terms) and isinstance(triple.subject, ast.Iri):
                    own.append(Quad(*map(term_of_constant, terms), graph))
                else:
                    rest.append(triple)
            quads += [sorted(map(str, own)), rest]
        found.append(quads if isinstance(operation, ast.InsertData) else [operation])
    return found


def outcome(text: str, least: int) -> object:
    with patch.object(ground_triples, "MIN_GROUND", least), patch.object(ground_triples, "_SHORTEST", 0):
        try:
            return insertions(checked_update(text, None, "update"))
        except HybridkgError as e:
            return e.render()


@settings(max_examples=examples(200, 5_000), deadline=None)
@given(st.sampled_from(FORMS), data)
def test_ground_triples_are_those_that_the_rules_read(form, triples):
    text = form.replace("%s", triples)
    assert outcome(text, 1) == outcome(text, 1_000_000)


def request(n: int, form: str = "INSERT DATA {{ {} }}") -> str:
    return form.format("".join(f'<e:s{i}> <e:p> "x {i}"@en .\n' for i in range(n)))


def test_a_long_run_has_no_syntax_nodes():
    (block,) = parser.parse_update(request(1_000)).operations[0].quads
    assert (len(block.triples), len(block.ground)) == (1, 999)
    assert str(block.ground[-1]) == '<e:s999> <e:p> "x 999"@en'


@pytest.mark.parametrize("form", ["DELETE DATA {{ {} }}", "INSERT {{ {} }} WHERE {{}}", "DELETE {{ {} }} WHERE {{}}"])
def test_other_operations_have_nodes(form):
    operation = parser.parse_update(request(500, form)).operations[0]
    blocks = operation.quads if isinstance(operation, ast.DeleteData) else (*operation.insert, *operation.delete)
    assert [(len(block.triples), block.ground) for block in blocks] == [(500, ())]


def test_an_update_is_written_with_its_ground_triples():
    text = "INSERT DATA { <e:x> <e:y> 1 . %s GRAPH <e:g> { <e:x> <e:y> 2 . %s } }".replace("%s", request(300, "{}"))
    update = parser.parse_update(text)
    assert [len(block.ground) for block in update.operations[0].quads] == [300, 300]
    assert parser.parse_update(write_update(update)) == update


@pytest.mark.parametrize("most", range(595, 612))
@pytest.mark.parametrize(("literal", "extra"), [('"@x"', 0), ('"^^"', 0), ('"x"@en', 100), ('"@"^^<e:d>', 200)])
def test_the_limit_of_tokens_counts_them(monkeypatch, most, literal, extra):
    monkeypatch.setattr(parser, "MAX_TOKENS", most + extra)
    text = "INSERT DATA { " + f"<e:a> <e:b> {literal} . " * 100 + "<e:a> <e:b> 1 . " * 50 + "}"
    read = outcome(text, 10)
    assert read == outcome(text, 1_000_000)
    assert ("words and signs" in str(read)) == (most < 604)


def test_the_time_limit_is_checked_among_them(monkeypatch, tmp_path):
    checks, check = [], Meter.check
    monkeypatch.setattr(Meter, "check", lambda self: (checks.append(None), check(self))[1])
    with KnowledgeBase.create(tmp_path / "g.kb") as kb:
        assert kb.update(request(5_000), index=False).added == 5_000
    assert len(checks) >= 5
