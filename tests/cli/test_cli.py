"""The command line as a user meets it: what is printed where, exit codes, and mistakes."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
from pathlib import Path

import pytest
from command_line import FILMS, SPACE, run

from hybridkg.cli import cli
from hybridkg.kb import KnowledgeBase


def test_rows_are_the_only_thing_on_stdout(films):
    result = run("query", films, SPACE, "--format", "ndjson", "--limit", 2)
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 2
    assert rows[0]["s"] >= rows[1]["s"] > 0
    assert result.stderr == ""


def test_a_query_comes_from_an_argument_a_file_or_standard_input(films, tmp_path):
    file = tmp_path / "q.hq"
    file.write_text(SPACE)
    want = run("query", films, SPACE, "--format", "tsv").stdout
    assert run("query", films, "-f", file, "--format", "tsv").stdout == want
    assert run("query", films, "-", "--format", "tsv", text=SPACE).stdout == want


def test_an_rdf_file_is_a_knowledge_base_for_one_query(films):
    want = run("query", films, SPACE, "--format", "tsv").stdout
    assert run("query", FILMS, SPACE, "--format", "tsv").stdout == want


def test_json_is_the_w3c_format_with_one_member_more(films):
    document = json.loads(run("query", films, SPACE, "--format", "json", "--limit", "3").stdout)
    assert document["head"]["vars"] == ["film", "s"]
    assert document["x-hybridkg"]["requested"] == 3
    assert document["x-hybridkg"]["exact"] is True
    assert document["x-hybridkg"]["generation"] == "000002"
    assert len(document["x-hybridkg"]["scores"]) == len(document["results"]["bindings"])


def test_fewer_rows_than_asked_for_are_said_so(films):
    result = run("query", films, SPACE, "--limit", "1000")
    assert "4 rows (of 1,000 requested: only 4 entities match the text of ?film), exact" in result.stderr


def test_parameters_are_terms_and_never_text_of_the_query(films):
    query = "SELECT ?film { ?film MATCH $words AS ?s } RANK BY ?s"
    plain = run("query", films, query, "--param", "words=space", "--format", "tsv")
    assert plain.stdout.count("\n") > 1
    hostile = run("query", films, query, "--param", 'words=space" } DROP ALL #', "--format", "tsv")
    assert hostile.exit_code == 0
    assert hostile.stdout == plain.stdout


def test_a_list_parameter_binds_like_values(films):
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    query = f"SELECT ?name {{ ?film <{label}> ?name }}"
    all_names = run("query", films, query, "--format", "tsv").stdout.splitlines()[1:3]
    names = [line.split("@")[0].strip('"') for line in all_names]
    tagged = ["--param", f"name={all_names[0]}", "--param", f"name={all_names[1]}"]
    assert len(set(names)) == 2
    assert sorted(run("query", films, query, *tagged, "--format", "tsv").stdout.splitlines()[1:]) == sorted(all_names)


def test_the_datatype_of_a_parameter_has_a_prefix_of_the_knowledge_base(tmp_path):
    lengths = tmp_path / "lengths.ttl"
    lengths.write_text('@prefix u: <http://u/> . u:a u:long "5"^^u:cm . u:b u:long "5"^^u:inch .')
    for command in ("query", "explain"):
        given = [command, lengths, "SELECT ?s { ?s <http://u/long> $n }", "--param"]
        found, unknown = run(*given, 'n="5"^^u:cm'), run(*given, 'n="5"^^v:cm')
        assert found.exit_code == 0
        assert "u:b" not in found.output
        assert "no prefix 'v:' is known" in unknown.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "{kb}"], "no query is given"),
        (["query", "{kb}", "SELECT ?x", "-f", "x.hq"], "a query and a query file are given"),
        (["query", "{kb}", "-f", "missing.hq"], "cannot read the query file 'missing.hq'"),
        (["query", "{kb}", "SELECT ?x { ?x a ?y", "--format", "json"], "error[Q"),
        (["query", "{kb}", SPACE, "--param", "nope=1"], "the query has no variable for the parameter 'nope'"),
        (["query", "{kb}", SPACE, "--param", "nope"], "'nope' is not NAME=VALUE"),
        (["query", "missing.kb", SPACE], "no knowledge base at 'missing.kb'"),
        (["query", "{kb}", 'SELECT ?x { ?x MATCH "a" ON (nope) }'], "no field 'nope'"),
        (["query", "{kb}", 'SELECT ?x { ?x MATCH "a" USING nope }'], "nope"),
        (["query", "{kb}", 'SELECT ?x { ?x MATCH "a" USING bm25f(k2=1) }'], "k2"),
        (["query", "{kb}", SPACE, "--limit", "many"], "'many' is not a valid whole number"),
        (["query", "{kb}", "q.hq"], "'q.hq' is the name of a file, not a query\n  hint: give it with -f q.hq"),
        (["query", "q.hq", SPACE], "'q.hq' is a query file, not a knowledge base\n  hint: the knowledge base comes"),
        (
            ["load", "{films}", "new.kb"],
            "is a file, not a knowledge base folder\n  hint: the knowledge base comes first",
        ),
        (
            ["load", "new.kb", "{kb}"],
            "is a knowledge base, and one cannot be loaded into another\n  hint: give the RDF",
        ),
        (
            ["load", "new.kb", "http://example.org/a.ttl"],
            "'http://example.org/a.ttl' is an address, and hybridkg fetches",
        ),
        (["load", "new.kb", "http://example.org/a.ttl"], "curl -OL http://example.org/a.ttl"),
        (["load", "{kb}"], "no file to load"),
        (["load", "{kb}", "missing.ttl"], "missing.ttl"),
        (["load", "{kb}", "{films}", "--profile", "default", "--no-index"], "--profile is for the index"),
        (["load", "{kb}", "{films}", "--no-index", "--encoder", "lsa"], "--encoder is for the index"),
        (["load", "{kb}", "{films}", "--encoder", "lsd"], "error[R201]: no encoder 'lsd'; known: none, lsa, model2vec"),
        (["load", "{kb}", "{films}", "--encoder", "lsa:x"], "error[Q203]: the encoder 'lsa' takes no model"),
        (["index", "{kb}", "--encoder", "openai"], "error[Q203]: the encoder 'openai' takes a model"),
        (["index", "{kb}", "--text-engine", "elastic"], "error[R201]: no text engine 'elastic'; known: elasticsearch"),
        (["index", "{kb}", "--text", "elastic"], "did you mean 'elasticsearch'"),
        (["index", "{kb}", "--profile", "nope"], "nope"),
        (["index", "missing.kb"], "no knowledge base at 'missing.kb'"),
        (["stats", "missing.kb"], "no knowledge base at 'missing.kb'"),
        (["explain", "{kb}", "SELECT"], "error[Q"),
    ],
)
def test_a_mistake_is_named_and_ends_with_exit_code_2(films, arguments, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = run(*(a.replace("{kb}", str(films)).replace("{films}", str(FILMS)) for a in arguments))
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stdout == ""


def test_text_documents_given_as_a_table_are_told_their_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text('{"id": "http://e/a", "note": "text"}\n')
    result = run("load", "new.kb", "docs.jsonl")
    assert result.exit_code == 0
    assert "note: to search in these as texts without adding them to the graph: --text docs.jsonl" in result.stderr


def test_a_failed_first_load_leaves_nothing_behind(tmp_path):
    bad = tmp_path / "bad.ttl"
    bad.write_text("<http://e/a> <http://e/p> .")
    result = run("load", tmp_path / "new.kb", bad)
    assert result.exit_code == 2
    assert "bad.ttl:1" in result.stderr
    assert not (tmp_path / "new.kb").exists()


def test_a_failed_later_load_keeps_what_was_there(films, tmp_path):
    bad = tmp_path / "bad.nt"
    bad.write_text('<http://e/a> <http://e/p> "x" .\n<http://e/a> oops .\n')
    before = run("query", films, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "tsv").stdout
    result = run("load", films, bad)
    assert result.exit_code == 2
    assert "bad.nt:2" in result.stderr
    assert run("query", films, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "tsv").stdout == before


def test_an_index_that_is_behind_is_said_so(tmp_path):
    kb = tmp_path / "f.kb"
    run("load", kb, FILMS, "--index")
    more = tmp_path / "more.ttl"
    more.write_text('<http://e/new> <http://www.w3.org/2000/01/rdf-schema#label> "a new space film" .')
    run("load", kb, more, "--no-index")
    stale = run("query", kb, SPACE, "--format", "tsv")
    assert "the text index is older than the graph" in stale.stderr
    assert "http://e/new" not in stale.stdout
    assert run("index", kb).exit_code == 0
    fresh = run("query", kb, SPACE, "--format", "tsv")
    assert fresh.stderr == ""
    assert "http://e/new" in fresh.stdout


def test_text_documents_become_fields(tmp_path):
    kb, documents = tmp_path / "f.kb", tmp_path / "docs.jsonl"
    documents.write_text(json.dumps({"id": "http://e/1", "review": ["slow and grey", "a masterpiece of fog"]}) + "\n")
    assert run("load", kb, FILMS, "--text", documents, "--index").exit_code == 0
    result = run(
        "query", kb, 'SELECT ?f ?t { ?f MATCH "fogs" ON (review) AS ?s SNIPPET ?t } RANK BY ?s', "--format", "csv"
    )
    assert "http://e/1,a masterpiece of **fog**" in result.stdout


def test_a_document_whose_text_is_removed_is_gone_with_its_field(tmp_path):
    kb, documents = tmp_path / "f.kb", tmp_path / "docs.jsonl"
    counts = []
    for review in (["slow"], None):
        documents.write_text(json.dumps({"id": "http://e/1", "review": review}) + "\n")
        assert run("load", kb, *[FILMS] * bool(review), "--text", documents, "--index").exit_code == 0
        found = json.loads(run("stats", kb, "--format", "json").stdout)
        counts.append((found["documents"], "review" in [field["field"] for field in found["fields"]]))
    assert counts == [(1, True), (0, False)]


def test_stats_show_counts_and_fields(films):
    found = json.loads(run("stats", films, "--format", "json", "--verify").stdout)
    assert found["triples"] > 50
    assert found["entities"] > 10
    assert found["verified_files"] > 5
    assert found["fields"][0]["field"] == "label"
    assert "mean length" in run("stats", films).stdout


def test_a_plan_is_as_wide_as_the_variable_says_where_there_is_no_terminal(films, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    narrow = run("explain", films, SPACE + " LIMIT 3").stdout
    monkeypatch.delenv("COLUMNS")
    wide = run("explain", films, SPACE + " LIMIT 3").stdout
    assert max(map(len, narrow.splitlines())) < max(map(len, wide.splitlines()))


def test_explain_names_the_strategy_and_the_operators(films):
    text = run("explain", films, SPACE + " LIMIT 3").stdout
    assert text.startswith("strategy: text_topk, est. ")
    assert "TextTopK ?film k=3 ?s" in text
    tree = json.loads(run("explain", films, SPACE, "--format", "json", "--analyze").stdout)
    assert tree["operator"]["rows"] >= 1
    assert "own_us" in tree["operator"]


def test_help_lists_every_command_once_in_its_group():
    text = run("--help").stdout
    listed = [line.split()[0] for line in text[text.index("Knowledge base:") :].splitlines() if line.startswith("  ")]
    assert listed == list(cli.commands)
    groups = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert groups == ["Options:", "Knowledge base:", "Query:", "Evaluation:", "Care:"]


def test_help_has_an_example_for_every_command():
    for name, command in cli.commands.items():
        text = run(name, "--help").stdout
        assert "Example:" in text, name
        assert f"hybridkg {name}" in text, name
        assert command.help


LONG = "SELECT ?x { " + "?x ?p ?o . " * 40 + "}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", LONG, "x"],
        ["query", LONG],
        ["load", LONG, "x.ttl"],
        ["index", LONG],
        ["stats", LONG],
        ["explain", LONG],
    ],
)
def test_a_query_in_place_of_the_knowledge_base_is_told_so(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "cannot look at 'SELECT ?x" in result.stderr
    assert "the first argument is the knowledge base; if this is something else, it is missing" in result.stderr
    assert len(result.stderr) < 400


def test_a_file_name_that_no_system_takes_is_an_error(films):
    for arguments in (["load", films, LONG], ["load", films, "--text", LONG], ["query", films, "-f", LONG]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "File name too long" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_that_lets_nobody_look_is_an_error(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    try:
        for name in (closed, closed / "a.kb"):
            for arguments in (["query", name, SPACE], ["load", name, FILMS], ["stats", name]):
                result = run(*arguments)
                assert result.exit_code == 2
                assert "Permission denied" in result.stderr
    finally:
        closed.chmod(0o700)


def test_a_refusal_of_the_system_is_told_whatever_it_is(films, monkeypatch):
    """As the test before, for those who run as root."""
    real = Path.stat

    def stat(self: Path, **options: bool) -> os.stat_result:
        if "forbidden" in str(self):
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return real(self, **options)

    monkeypatch.setattr(Path, "stat", stat)
    for arguments in (["query", "forbidden", SPACE], ["load", "forbidden", FILMS], ["load", films, "forbidden.ttl"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "cannot look at 'forbidden" in result.stderr


@pytest.mark.parametrize("way", ["word", "option"])
def test_a_plan_has_the_format_that_was_asked_for(films, way, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # of which plans in a pipe take their width
    query = ("EXPLAIN " if way == "word" else "") + SPACE
    option = [] if way == "word" else ["--explain"]
    text = run("query", films, query, *option).stdout
    for fmt, lines in (
        (
            "csv",
            [
                row["plan"]
                for row in csv.DictReader(run("query", films, query, *option, "--format", "csv").stdout.splitlines())
            ],
        ),
        (
            "ndjson",
            [
                json.loads(line)["plan"]
                for line in run("query", films, query, *option, "--format", "ndjson").stdout.splitlines()
            ],
        ),
    ):
        assert lines == text.splitlines(), fmt
    assert run("query", films, query, *option, "--format", "tsv").stdout.startswith("?plan\n")
    assert json.loads(run("query", films, query, *option, "--format", "json").stdout)["strategy"]
    refused = run("query", films, query, *option, "--format", "trec")
    assert refused.exit_code == 2
    assert "a TREC run needs" in refused.stderr


def test_an_ask_is_no_trec_run(films):
    result = run("query", films, "ASK { ?s ?p ?o }", "--format", "trec")
    assert result.exit_code == 2
    assert "a TREC run needs an entity and a score in every row" in result.stderr


def test_verify_names_a_damaged_file_even_where_the_graph_does_not_open(tmp_path):
    kb = tmp_path / "f.kb"
    run("load", kb, FILMS)
    current = kb / "000002" / "graph" / "CURRENT"
    damaged = bytes([current.read_bytes()[0] ^ 255]) + current.read_bytes()[1:]
    current.unlink()
    current.write_bytes(damaged)
    refused = run("query", kb, "ASK {}")
    assert refused.exit_code == 1
    assert "CURRENT' is damaged: its checksum differs" in refused.stderr
    told = run("stats", kb, "--verify")
    assert told.exit_code == 1
    assert "graph/CURRENT" in told.stderr


PROFILE = """
@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix c: <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<> a hk:Profile ; %s hk:fields (
  [ hk:name "name" ; hk:path rdfs:label ] [ hk:name "label" ; hk:path rdfs:labl ]
  [ hk:name "origin" ; hk:path c:from ] [ hk:name "review" ] ) .
"""


@pytest.fixture
def cheese(tmp_path: Path) -> Path:
    """Two cheeses, and a node whose label has no word."""
    (tmp_path / "cheese.ttl").write_text(
        "@prefix c: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'c:brie a c:Cheese ; rdfs:label "Brie" ; c:from c:fr . c:fr rdfs:label "France" . _:n rdfs:label "!!!" .'
    )
    assert run("load", tmp_path / "c.kb", tmp_path / "cheese.ttl").exit_code == 0
    return tmp_path / "c.kb"


def test_a_field_without_text_is_told_with_its_reason(cheese, tmp_path):
    (tmp_path / "p.ttl").write_text(PROFILE % "")
    result = run("index", cheese, "--profile", tmp_path / "p.ttl")
    assert result.exit_code == 0
    rdfs = "http://www.w3.org/2000/01/rdf-schema#"
    notes = KnowledgeBase.open(cheese).index().notes
    shown = [line for line in result.stderr.splitlines() if line.startswith(("note", "warning"))]
    assert shown == [f"note: {note}" for note in notes]
    assert shown == [
        f"note: the field 'label' is empty: no statement has the predicate <{rdfs}labl>; did you mean <{rdfs}label>?",
        "note: the field 'origin' is empty: its path leads to nodes; to take their labels write hk:text hk:Labels",
        "note: the field 'review' is empty: no text document has it",
    ]


def test_an_index_without_an_entity_is_a_warning(cheese, tmp_path):
    (tmp_path / "p.ttl").write_text(PROFILE % "hk:entities c:Chees ;")
    for command in (["index", cheese], ["load", cheese, FILMS, "--index"]):
        stderr = run(*command, "--profile", tmp_path / "p.ttl").stderr
        assert "entities: 0\n" in stderr
        assert stderr.endswith(
            "warning: no entity has any text, so a search finds nothing\n"
            "note: the class <http://e/Chees> of hk:entities has no instance; did you mean <http://e/Cheese>?\n"
        )


def test_the_fields_of_the_default_profile_that_find_nothing_share_one_note(cheese):
    stderr = run("index", cheese).stderr
    assert stderr.endswith("note: nothing in this graph feeds the fields 'description', 'attributes'\n")
    assert stderr.count("note:") == 1


def test_a_graph_that_is_only_in_named_graphs_says_how_to_index_it(tmp_path):
    (tmp_path / "g.nq").write_text('<http://e/a> <http://e/p> "words" <http://e/g> .\n')
    stderr = run("load", tmp_path / "g.kb", tmp_path / "g.nq", "--index").stderr
    assert 'set default_graph = "union" in kb.toml' in stderr


def test_an_entity_without_a_word_counts_nowhere(cheese):
    assert "entities: 3\n" in run("index", cheese).stderr  # brie, fr and Cheese; not the node named "!!!"
    assert json.loads(run("stats", cheese, "--format", "json").stdout)["entities"] == 3


@pytest.mark.parametrize("command", [["stats"], ["query", SPACE], ["schema"], ["analyze", "space"]])
def test_a_width_of_nothing_is_an_unknown_width(films, command, monkeypatch):
    shown = {}
    for columns in ("0", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        shown[columns] = run(command[0], films, *command[1:]).stdout
    assert shown["0"] == shown["80"]


@pytest.mark.parametrize("columns", [1, 20, 40, 60, 80, 200])
def test_stats_never_cut_a_figure(films, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    fields = json.loads(run("stats", films, "--format", "json").stdout)["fields"]
    words = run("stats", films).stdout.replace("\n", " ").split()
    for field in fields:
        assert field["field"] in words
        assert f"{field['tokens']:,}" in words
        assert f"{field['mean_length']:,.2f}" in words
    assert not any("\u2026" in word for word in words)


def test_a_query_file_may_begin_with_a_byte_order_mark(films, tmp_path):
    (tmp_path / "q.hq").write_text("\ufeff" + SPACE, encoding="utf-8")
    assert run("query", films, "-f", tmp_path / "q.hq", "--format", "tsv").exit_code == 0


@pytest.mark.parametrize(
    ("behind", "marked"),
    [
        ("USING bm25f(b=3)", "b=3"),
        ("USING bm25f(k1=1, b=3)", "b=3"),
        ("USING bm25f(k2=1)", "k2=1"),
        ("ON (label^2, description b=7)", "b=7"),
    ],
)
def test_the_caret_points_at_the_argument_that_is_wrong(films, behind, marked):
    query = f'SELECT ?f {{ ?f MATCH "space" {behind} AS ?s }}'
    result = run("query", films, query)
    assert result.exit_code == 2
    *_, line, carets = [line for line in result.stderr.splitlines() if " | " in line]
    assert "".join(c for c, mark in zip(line, carets, strict=False) if mark == "^") == marked


def test_an_empty_text_is_warned_about(films):
    result = run("query", films, 'SELECT ?f { ?f MATCH "" AS ?s }')
    assert result.exit_code == 0
    assert "warning[W106]: no word of this text is searched for, so nothing matches" in result.stderr


def test_the_numbers_of_a_plan_stay_in_their_columns(films):
    query = (
        'SELECT ?film { ?film MATCH "space" AS ?s . ?film a ?type '
        "FILTER(?s > 0.1 && ?s < 100.5 && ?film != ?type && ?type != <http://example.org/a/long/iri/of/no/film>) }"
    )
    lines = run("explain", films, query).stdout.splitlines()
    head = next(line for line in lines if line.startswith("operator"))
    numbers = [line for line in lines[lines.index(head) :] if re.search(r"  (-|<?[0-9,]+)  +(-|[0-9.,]+)$", line)]
    assert len(numbers) >= 3
    assert {len(line) for line in numbers} == {len(head)}
    assert "/iri/of/no/film>" in "".join(line.strip(" \u2502\u2514\u251c\u2500-") for line in lines)


def test_a_generation_that_may_not_be_read_is_told_so(films, monkeypatch):
    real = Path.read_text

    def read_text(self: Path, *arguments: str, **options: str) -> str:
        if self.name == "manifest.json":
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", read_text)
    result = run("query", films, SPACE)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error[S401]: permission denied: '{films}/000002/manifest.json' cannot be read")
    assert f"chmod -R u+rX {films}" in result.stderr
