"""The ACL Anthology as a graph for the cliff hunter: real texts, no citations, heavy tails of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.acl_anthology import ROOT, SOURCE
from benchmarks.cliffs.schema import NUMBER, TEXT, Edge, Schema

PREFIX = "PREFIX : <https://w3id.org/hybridkg/acl#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
SAMPLED = 2_000
EDGES = (
    Edge("paper", ":author", "person", both_ways=True),
    Edge("paper", ":authorAffiliation", "organisation"),
    Edge("paper", ":publishedIn", "volume"),
    Edge("paper", ":venue", "venue"),
    Edge("paper", ":dataset", "dataset", both_ways=True),
    Edge("paper", ":year", NUMBER),
    Edge("paper", ":title", TEXT),
    Edge("paper", ":award", TEXT),
    Edge("volume", ":editor", "person", both_ways=True),
    Edge("volume", ":venue", "venue"),
    Edge("person", "rdfs:label", TEXT),
    Edge("person", ":affiliation", "organisation"),
    Edge("organisation", "rdfs:label", TEXT),
    Edge("venue", "rdfs:label", TEXT),
)
WORDS = (
    ("language model data results paper", "task approach model language based", "method system word text results"),
    (
        "language model translation",
        "machine translation",
        "neural network",
        "semantic representation",
        "word embeddings",
    ),
    ("low-resource dialogue", "sentiment", "summarization", "question answering", "parsing", "coreference", "speech"),
    ("zeugma", "sign language gloss", "metaphor sarcasm irony", "decipherment", "limerick", "yiddish"),
)
LETTERS = ("neu", "Ne", "Lea", "Sem", "the", "ing", "Tra", "Pa")


def made(folder: Path) -> Path:
    """The knowledge base, which is made in the folder unless it is there."""
    kb, triples = folder / "acl.kb", folder / "acl.nt.gz"
    if (folder / "acl.made").exists():
        return kb
    command = [sys.executable, str(ROOT / "examples" / "acl_anthology.py"), str(SOURCE), str(triples)]
    subprocess.run(command, check=True, stdout=sys.stderr)
    for task in (["load", str(kb), str(triples), "--no-index"], ["index", str(kb), "--profile", "acl"]):
        subprocess.run([sys.executable, "-m", "hybridkg", *task], check=True, stdout=sys.stderr)
    (folder / "acl.made").touch()
    return kb


def of_anthology(kb: Any) -> Schema:
    """The Anthology in an open knowledge base; constants are drawn from it."""

    def drawn(pattern: str) -> Callable[[Random], str]:
        found = kb.query(f"{PREFIX}SELECT DISTINCT ?x {{ {pattern} }} LIMIT {20 * SAMPLED}")
        terms = sorted(str(row.term("x")) for row in found)
        chosen = Random(0).sample(terms, min(SAMPLED, len(terms)))
        return lambda rng: rng.choice(chosen)

    constants = {
        "paper": drawn("?x :publishedIn ?v"), "person": drawn("?p :author ?x"), "volume": drawn("?p :publishedIn ?x"),
        "venue": drawn("?p :venue ?x"), "organisation": drawn("?p :affiliation ?x"), "dataset": drawn("?p :dataset ?x"),
        NUMBER: lambda rng: str(1980 + rng.randrange(44)),
    }  # fmt: skip
    return Schema(PREFIX, "paper", EDGES, constants, WORDS, LETTERS)
