"""Inputs that once broke the front end; benchmarks/fuzz_parser.py finds more.

A million inputs of the fuzzer have found nothing so far; what is here was found by growing texts of one shape.
"""

from __future__ import annotations

import pytest
from sampling import examples

from hybridkg.errors import QueryLimitError
from hybridkg.query.builders import terms
from hybridkg.query.parser import parse


@pytest.mark.parametrize("declaration", ["BASE <a/> ", "BASE <a/> PREFIX p: <b/> "])
def test_relative_bases_that_grow_reach_a_limit(declaration, monkeypatch):
    # Each is resolved against the one before: without the limit 600 kB of text took six minutes.
    monkeypatch.setattr(terms, "MAX_EXPANDED", examples(1_000_000, terms.MAX_EXPANDED))
    with pytest.raises(QueryLimitError, match="BASE make the text"):
        parse("BASE <http://e/> " + declaration * examples(3_000, 30_000) + "SELECT * {}")
