"""Limits of the front end: what is at them is answered, what is beyond them is told so."""

from __future__ import annotations

import pytest
from sampling import examples

from hybridkg.errors import HybridkgError, QueryLimitError
from hybridkg.query.checks.check import check
from hybridkg.query.parser import MAX_DEPTH, MAX_NESTING, MAX_TOKENS, parse
from hybridkg.query.source import MAX_CHARACTERS
from hybridkg.query.write import write

NESTED = {
    "brackets": lambda n: "SELECT * { FILTER" + "(" * n + "1" + ")" * n + " }",
    "groups": lambda n: "SELECT * {" + "{" * n + "}" * n + "}",
    "optional groups": lambda n: "SELECT * {" + "OPTIONAL {" * n + "}" * n + "}",
    "sub-selects": lambda n: "SELECT * {" + "{ SELECT * {" * (n // 2) + "} }" * (n // 2) + "}",
    "blank nodes": lambda n: "SELECT * { ?s ?p " + "[ ?p " * n + "1" + " ]" * n + " }",
    "collections": lambda n: "SELECT * { ?s ?p " + "(" * n + "1" + ")" * n + " }",
    "paths": lambda n: "SELECT * { ?s " + "(" * n + "<e:p>" + ")" * n + " ?o }",
    "calls": lambda n: "SELECT * { FILTER(" + "STR(" * n + "?x" + ")" * n + ") }",
}


def outcome(text: str) -> str:
    try:
        query = parse(text)
        write(query)
        check(query)
    except HybridkgError as e:
        return e.message
    return "accepted"


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_brackets_nest_up_to_the_limit_and_no_further(shape):
    # One or two more brackets stand around the nested ones.
    fits = [n for n in range(40, MAX_NESTING + 1, 2) if "nested" not in outcome(shape(n))]
    assert fits, "no depth of 40 or more fits"
    for n in (max(fits) + 2, MAX_NESTING + 1, 1_000, 50_000):
        with pytest.raises(QueryLimitError, match=rf"nested more than ({MAX_NESTING}|{MAX_DEPTH})"):
            parse(shape(n))


def test_a_chain_of_operators_is_as_deep_as_the_tree_may_be():
    def chain(n):
        return "SELECT * { FILTER(" + "||".join(["?x"] * n) + ") }"

    assert outcome(chain(MAX_DEPTH - 10)) == "accepted"
    with pytest.raises(QueryLimitError, match=rf"more than {MAX_DEPTH} levels") as caught:
        parse(chain(MAX_DEPTH + 1))
    assert "IN" in caught.value.hint


def test_the_number_of_tokens_is_limited_exactly(monkeypatch):
    limit = examples(2_000, MAX_TOKENS)
    monkeypatch.setattr("hybridkg.query.parser.MAX_TOKENS", limit)
    # Seven tokens stand around the semicolons.
    parse("SELECT * { ?s ?p ?o " + ";" * (limit - 7) + " }")
    with pytest.raises(QueryLimitError, match=f"more than {limit:,} words and signs") as caught:
        parse("SELECT * { ?s ?p ?o " + ";" * (limit - 6) + " }")
    assert "parameter" in caught.value.hint


def test_the_number_of_characters_is_limited_exactly():
    def text(n):
        return "SELECT * {}".ljust(n)

    assert outcome(text(MAX_CHARACTERS)) == "accepted"
    with pytest.raises(QueryLimitError, match=r"1,000,001 characters; at most 1,000,000"):
        parse(text(MAX_CHARACTERS + 1))
