"""What a stranger's SPARQL endpoint may answer: nothing that it sends ends the process or fills the memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from pyoxigraph import Store
from scripted_endpoint import JSON, N_TRIPLES, TSV, Said, ScriptedEndpoint

from hybridkg.config.settings import EndpointSettings
from hybridkg.errors import EndpointError
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.depth import JsonDepth
from hybridkg.store.endpoint.endpoint_store import EndpointStore

SELECT = "SELECT ?s ?o WHERE { ?s <http://e/p> ?o }"
CONSTRUCT = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
HEAD = b'{"head": {"vars": ["s", "o"]}, "results": {"bindings": ['
SERVERS = Path(__file__).resolve().parents[1] / "servers"

ASK = """
import sys
sys.path.insert(0, sys.argv[1])
from test_endpoint_answers import answered
for kind in sys.argv[3:]:
    print(kind, end=": ", flush=True)
    answered(kind, int(sys.argv[2]))
"""


def nested(kind: str, depth: int) -> tuple[str, Said]:
    """A query, and an answer with triple terms inside each other."""
    begin, end = b"<<( <http://e/a> <http://e/p> ", b" )>>"
    term = begin * depth + b'"x"' + end * depth
    uri = b'{"type": "uri", "value": "http://e/a"}'
    opened = b'{"type": "triple", "value": {"subject": ' + uri + b', "predicate": ' + uri + b', "object": '
    in_json = opened * depth + b'{"type": "literal", "value": "x"}' + b"}}" * depth
    brackets = b"[" * depth + b"]" * depth
    nothing = b', "head": {"vars": ["s", "o"]}, "results": {"bindings": []}}'
    return {
        "json": (SELECT, Said(HEAD + b'{"s": ' + in_json + b"}]}}")),
        "json head": (SELECT, Said(b'{"x": ' + brackets + nothing)),
        "tsv": (SELECT, Said(b"?s\t?o\n" + term + b"\t<http://e/o>\n", TSV)),
        "n-triples": (CONSTRUCT, Said(b"<http://e/a> <http://e/p> " + term + b" .\n", N_TRIPLES)),
        "turtle": (CONSTRUCT, Said(b"<http://e/a> <http://e/p> " + term + b" .\n", "text/turtle")),
        "turtle list": (CONSTRUCT, Said(b"<http://e/a> <http://e/p> " + brackets + b" .\n", "text/turtle")),
    }[kind]  # fmt: skip


KINDS = ("json", "json head", "tsv", "n-triples", "turtle", "turtle list")


def store_of(endpoint: ScriptedEndpoint) -> EndpointStore:
    return EndpointStore(Connection(endpoint.url, EndpointSettings(timeout=20)), longest=10_000)


def answered(kind: str, depth: int) -> None:
    query, said = nested(kind, depth)
    with ScriptedEndpoint(Store(), lambda asked: said) as endpoint:
        store = store_of(endpoint)
        try:
            found = list(store.triples(query)) if query == CONSTRUCT else list(store.select(query).rows)
            print("rows", len(found))  # noqa: T201 - read by who started this
        except EndpointError as e:
            print("refused", e.message)  # noqa: T201 - the same


@pytest.fixture(scope="module")
def nested_ninety_thousand_deep() -> dict[str, str]:
    """By kind, what a process of its own says of such an answer; its end is what is feared, so it may say nothing."""
    command = [sys.executable, "-c", ASK, str(Path(__file__).parent), "90000", *KINDS]
    own = subprocess.run(command, capture_output=True, text=True, check=False, cwd=SERVERS, timeout=300)
    said = dict(line.split(": ", 1) for line in own.stdout.splitlines())
    return said if own.returncode == 0 else {**said, list(said)[-1]: own.stderr[-2000:]}


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_nests_does_not_end_the_process(kind, nested_ninety_thousand_deep):
    said = nested_ninety_thousand_deep.get(kind, "nothing: an answer before it has ended the process")
    assert said.startswith(("refused", "rows")), said
    assert kind in ("turtle list",) or said.startswith("refused")


@pytest.mark.parametrize("kind", ["json", "n-triples", "turtle"])
def test_triple_terms_that_nest_little_are_read(kind, capsys):
    answered(kind, 20)
    assert capsys.readouterr().out == "rows 1\n"


def test_brackets_in_texts_are_no_depth():
    texts = ["{" * 5_000, '"' + "[{" * 3_000, "\\" * 7 + '"{', "\\\\" + "{" * 1_000]
    rows = [{"s": {"type": "uri", "value": "http://e/1"}, "o": {"type": "literal", "value": text}} for text in texts]
    from sampling import examples  # not above: a process of its own imports this module, and has no such path

    count = examples(10, 50)
    body = json.dumps({"head": {"vars": ["s", "o"]}, "results": {"bindings": rows * count}}).encode()
    with ScriptedEndpoint(
        Store(), lambda asked: Said([body[i : i + 333] for i in range(0, len(body), 333)])
    ) as endpoint:
        assert len(list(store_of(endpoint).select(SELECT).rows)) == len(rows * count)
    for size in (1, 2, 3, 7):
        depth = JsonDepth("http://e/")
        for at in range(0, len(body), size):
            depth.feed(body[at : at + size])
        assert depth._depth == 0


def test_many_statements_with_triple_terms_are_read():
    line = b"<http://e/%d> <http://e/p> <<( <http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> 7 )>> )>> .\n"
    body = b"".join(line.replace(b"7", b'"7"') % i for i in range(3_000))
    with ScriptedEndpoint(Store(), lambda asked: Said(body, N_TRIPLES)) as endpoint:
        assert len(list(store_of(endpoint).triples(CONSTRUCT))) == 3_000


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (Said(b"<html>\x1b[2J<script>alert(1)</script>", "text/html"), "a web page"),
        (Said(b"?s\n", "text/\x1b]0;x\x07csv"), "and not as a SPARQL endpoint does"),
        (Said(b"<sparql/>", "application/sparql-results+xml"), "'application/sparql-results+xml'"),
        (Said(gzip.compress(b" " * 10**7), headers={"Content-Encoding": "gzip"}), "a compressed answer"),
        (Said(b"x\x1b[31mred\x1b]0;title\x07", "text/plain", 500), "cannot answer (500): x [31mred"),
        (Said(HEAD + b'{"s": {"type": "\x1b[2J", "value": "x"}}]}}'), "malformed"),
    ],
)
def test_what_an_endpoint_says_moves_no_cursor(said, message):
    with ScriptedEndpoint(Store(), lambda asked: said) as endpoint, pytest.raises(EndpointError) as caught:
        list(store_of(endpoint).select(SELECT).rows)
    assert message in str(caught.value)
    assert all(character.isprintable() or character == "\n" for character in str(caught.value))


def test_an_endless_literal_is_refused_in_little_memory(monkeypatch):
    monkeypatch.setattr("hybridkg.store.endpoint.answers.MAX_ROW", 2**20)
    begun = HEAD + b'{"s": {"type": "literal", "value": "'
    with ScriptedEndpoint(Store(), lambda asked: Said([begun, *[b"x" * 65_536] * 400])) as endpoint:
        tracemalloc.start()
        try:
            with pytest.raises(EndpointError, match="a row, or a head, of more than"):
                list(store_of(endpoint).select(SELECT).rows)
            assert tracemalloc.get_traced_memory()[1] < 2**24
        finally:
            tracemalloc.stop()


def test_terms_of_a_stranger_are_values_on_a_terminal(capsys):
    text = "\x1b[2J<script>alert(1)</script>"
    row = {"s": {"type": "uri", "value": "http://e/1"}, "o": {"type": "literal", "value": text}}
    body = json.dumps({"head": {"vars": ["s", "o"]}, "results": {"bindings": [row]}}).encode()
    with ScriptedEndpoint(Store(), lambda asked: Said(body, JSON)) as endpoint:
        ((_, found),) = store_of(endpoint).select(SELECT).rows
    assert found.value == text  # what prints it makes it harmless: test_terminal.py, test_injection.py
