"""Runs of plain triples in INSERT DATA, which become quads at once: `<s> <p> <o> .` with IRIs in brackets or a literal.

Programs write thousands of them into one request. The rules and their syntax nodes take 36 us for each, one regular
expression for the nodes of one triple 9 us (plain_triples.py), this 2 us.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybridkg.rdf.terms import Quad
from hybridkg.rdf.turtle import quads_of_turtle

_SPACES = " \t\r\n"


def _triple(group: str) -> str:
    """The expression of a plain triple, with the opening bracket of its groups."""
    space, iri = rf"[{_SPACES}]*+", rf"{group}<[^<>\"{{}}|^`\\\x00-\x20]*+>)"
    tag = rf"{group}@[a-zA-Z]++(?>(?:-[a-zA-Z0-9]++)*))"
    literal = rf"{group}\"[^\"\\\r\n]*+\")(?>(?:{tag}|{group}\^\^){iri})?)"
    # The white space behind the dot tells it from the beginning of a number, and from a part of a language tag.
    return rf"{space}{iri}{space}{iri}{space}(?:{iri}|{literal}){space}{group}\.)(?=[{_SPACES}])"


PLAIN = re.compile(_triple("("))
"""A plain triple."""

_RUN = re.compile(f"(?>(?:{_triple('(?:')})+)")
"""As many plain triples as follow one another."""

_MARKS = re.compile(r"\"[^\"]*+\"(@|\^\^|)")
"""What follows the strings of plain triples, whose IRIs have no quotation marks."""

MIN_GROUND = 100
"""Adjacent triples of INSERT DATA from which they are read without syntax nodes."""

_SHORTEST = len("<a:><a:><a:>.")
"""Characters of a plain triple, at least."""


@dataclass(frozen=True)
class GroundTriples:
    """Adjacent plain triples of INSERT DATA.

    Args:
        quads: in the order of the text, in the default graph.
        tokens: their number in the text.
        last: behind the last term.
        end: behind the last dot.
    """

    quads: tuple[Quad, ...]
    tokens: int
    last: int
    end: int


def read_ground_triples(text: str, position: int, most: int) -> GroundTriples | None:
    """Reads plain triples from a position on, by the parser of Turtle, of which they are a part; None for fewer than
    MIN_GROUND, and where one is in doubt, so that the rules tell what is wrong with it.

    Args:
        text: as the lexer reads it; relative IRIs have no base.
        position: behind the dot of another triple.
        most: tokens, which no triple may exceed.
    """
    found = _RUN.match(text, position)
    if found is None or found.end() - position < MIN_GROUND * _SHORTEST:
        return None
    run = found[0]
    quads = quads_of_turtle(run)
    if quads is None or len(quads) < MIN_GROUND:
        return None
    marks = _MARKS.findall(run)
    tokens = 4 * len(quads) + marks.count("@") + 2 * marks.count("^^")
    if tokens > most:
        return None
    return GroundTriples(tuple(quads), tokens, position + len(run[:-1].rstrip(_SPACES)), found.end())
