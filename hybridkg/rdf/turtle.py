"""Quads of a text in Turtle that is in memory already."""

from __future__ import annotations

from pyoxigraph import Quad, RdfFormat, parse


def quads_of_turtle(text: str) -> list[Quad] | None:
    """The triples of a Turtle document without relative IRIs, in its order; None for another text.

    >>> [str(quad) for quad in quads_of_turtle('<e:a> <e:b> "c"@en .')]
    ['<e:a> <e:b> "c"@en']
    >>> quads_of_turtle("<a> <b> <c> .") is None
    True
    """
    try:
        return list(parse(text, format=RdfFormat.TURTLE))
    except SyntaxError:
        return None
