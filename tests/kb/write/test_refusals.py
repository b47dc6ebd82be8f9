"""What an update may not do is refused in these words, and nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError

ROOT = Path(__file__).resolve().parents[3]
INSERT = "INSERT DATA { <http://e/a> a <http://e/C> }"


@pytest.fixture(scope="module")
def kb(tmp_path_factory, copy_films) -> Iterator[KnowledgeBase]:
    """A knowledge base that no test here changes."""
    with KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("refusals") / "films.kb")) as kb:
        before = repr(kb)
        yield kb
        kb.refresh()
        assert repr(kb) == before


def refusal(work, *arguments, **options) -> str:
    with pytest.raises(HybridkgError) as caught:
        work(*arguments, **options)
    return caught.value.render()


REFUSED = {
    "INSERT { ?f <a:b> 1 } WHERE { ?f a ?c } LIMIT 3": """\
error[Q201]: LIMIT without RANK BY or ORDER BY would change some solutions and not others, at random
 --> update:1:41
  |
1 | INSERT { ?f <a:b> 1 } WHERE { ?f a ?c } LIMIT 3
  |                                         ^^^^^^^
  hint: write RANK BY ?score or ORDER BY ?x before LIMIT""",
    "DELETE { ?f <a:b> _:x } WHERE { ?f a ?c }": """\
error[Q201]: a blank node here names nothing in the knowledge base
 --> update:1:19
  |
1 | DELETE { ?f <a:b> _:x } WHERE { ?f a ?c }
  |                   ^^^
  hint: find it by DELETE ... WHERE""",
    "DELETE DATA { <a:b> <a:b> [] }": """\
error[Q201]: a blank node here names nothing in the knowledge base
 --> update:1:27
  |
1 | DELETE DATA { <a:b> <a:b> [] }
  |                           ^^
  hint: find it by DELETE ... WHERE""",
    'INSERT { ?f <a:b> ?s } WHERE { ?f MATCH "space" AS ?s } RANK BY ?s RERANK TOP 5 USING mmr': """\
error[Q101]: RERANK cannot stand in an update
 --> update:1:68
  |
1 | INSERT { ?f <a:b> ?s } WHERE { ?f MATCH "space" AS ?s } RANK BY ?s RERANK TOP 5 USING mmr
  |                                                                    ^^^^^^
  hint: rank by the scores of MATCH and NEAR; or ask a query with RERANK, and give its entities as a parameter""",
    "SELECT * { ?s ?p ?o }": """\
error[Q101]: this is a query
 --> update:1:1
  |
1 | SELECT * { ?s ?p ?o }
  | ^^^^^^
  hint: hybridkg query KB ...; in Python: kb.query(...)""",
}


@pytest.mark.parametrize("text", REFUSED)
def test_an_update_is_refused_in_these_words(kb, text):
    assert refusal(kb.update, text) == REFUSED[text]


def test_load_is_refused_unless_kb_toml_allows_it(kb):
    assert refusal(kb.update, "LOAD <http://e/f.ttl>") == (
        """\
error[H001]: LOAD reads 'http://e/f.ttl', and kb.toml says load = "refuse"
 --> update:1:6
  |
1 | LOAD <http://e/f.ttl>
  |      ^^^^^^^^^^^^^^^^
"""
        f"  hint: hybridkg load {kb._folder.path} FILE\n"
        '        or in kb.toml, below [updates]: load = "files"'
    )


@pytest.mark.parametrize("method", ["query", "prepare", "stream", "explain"])
def test_an_update_is_no_query(kb, method):
    def run() -> None:
        result = getattr(kb, method)(INSERT)
        if method == "stream":
            with result:
                pass

    hint = "hybridkg update KB ...; in Python: kb.update(...)"
    if method == "explain":
        hint = "kb.explain_update(...) shows the plan of each WHERE"
    assert refusal(run) == (
        f"error[Q101]: this is an update\n --> query:1:1\n  |\n1 | {INSERT}\n  | ^^^^^^\n  hint: {hint}"
    )


@pytest.mark.parametrize(
    "target", ["[]", "<<( <http://e/a> <http://e/p> <<( [] <http://e/p> 1 )>> )>>", "1 {| <e:q> 1 |}"]
)
def test_a_blank_node_in_a_file_to_remove_is_refused_and_nothing_of_any_file_goes(kb, tmp_path, target):
    file = tmp_path / "old.ttl"
    file.write_text(f"<http://e/a> <http://e/p> {target} .")
    assert refusal(kb.delete, ROOT / "examples" / "films.ttl", file) == (
        "error[L301]: a blank node here names nothing in the knowledge base\n"
        f" --> {file}\n"
        "  hint: find it by DELETE ... WHERE"
    )


def test_a_refused_file_leaves_the_rest_of_its_transaction_alone(kb, tmp_path):
    file = tmp_path / "old.ttl"
    file.write_text("<http://e/a> <http://e/p> [] .")
    with kb.transaction(dry_run=True) as t:
        t.update(INSERT)
        with suppress(HybridkgError):
            t.delete(ROOT / "examples" / "films.ttl", file)
    assert (t.report.added, t.report.removed) == (1, 0)


@pytest.mark.parametrize("method", ["update", "transaction", "load", "delete", "index"])
def test_a_transaction_inside_a_transaction_of_the_same_thread_is_refused_at_once(kb, method):
    def nested() -> None:
        if method == "transaction":
            with kb.transaction(wait=600):
                pass
        else:
            given = {"update": [INSERT], "index": []}.get(method, [ROOT / "examples" / "films.ttl"])
            getattr(kb, method)(*given, wait=600)

    with kb.transaction(dry_run=True):
        assert refusal(nested) == (
            f"error[S403]: this thread has been writing to {str(kb._folder.path)!r} in a transaction that has not ended"
            "\n  hint: inside `with kb.transaction() as t:` write t.update(...), t.load(...), t.delete(...)"
        )


def test_a_graph_at_an_endpoint_is_only_read(tmp_path):
    path = tmp_path / "a.kb"
    with KnowledgeBase.create(path, graph="http://127.0.0.1:9/sparql") as kb:
        assert refusal(kb.update, INSERT) == (
            f"error[H001]: the graph of {str(path)!r} lies at http://127.0.0.1:9/sparql, and hybridkg only reads there"
            f"\n  hint: change it there, then: hybridkg index {path}; or use another knowledge base"
        )


def test_a_match_is_refused_while_the_text_index_is_behind_and_anything_else_is_not(tmp_path, copy_films):
    path = copy_films(tmp_path / "films.kb")
    chosen = 'INSERT { ?f <a:b> 1 } WHERE { ?f MATCH "xylophone" }'
    with KnowledgeBase.open(path) as kb:
        label = "http://www.w3.org/2000/01/rdf-schema#label"
        assert kb.update(f'INSERT DATA {{ <http://e/a> <{label}> "xylophone" }}', index=False).is_behind
        assert refusal(kb.update, chosen) == (
            """\
error[T702]: the text index is behind the graph, and this update would choose by old text
 --> update:1:31
  |
1 | INSERT { ?f <a:b> 1 } WHERE { ?f MATCH "xylophone" }
  |                               ^^^^^^^^^^^^^^^^^^^^
"""
            f"  hint: hybridkg index {path}"
        )
        other = kb.update("INSERT { ?f <a:b> 2 } WHERE { ?f a <http://example.org/films/Film> }")
        assert (other.is_behind, other.added > 0) == (True, True)
        done = kb.update(chosen, index=True)  # the indexes follow first
        assert (done.added, done.is_behind) == (1, False)
