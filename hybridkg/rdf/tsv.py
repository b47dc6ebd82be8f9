"""Terms in SPARQL TSV, for reading millions of rows without an object for each term.

Format: https://www.w3.org/TR/sparql11-results-csv-tsv/. The token of a node equals `str(node)`, so tokens identify
nodes. Numbers and booleans may come without quotes and datatype.
"""

from __future__ import annotations

import re

from hybridkg.rdf.terms import XSD_STRING, BlankNode, NamedNode, Node

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}
_STRING = XSD_STRING.value


def is_node_token(token: str) -> bool:
    """Whether a token is an IRI or a blank node.

    >>> [is_node_token(token) for token in ("<x:a>", "_:b", '"<x:a>"', "<<( <x:a> <x:p> 1 )>>")]
    [True, True, False, False]
    """
    return token.startswith(("<", "_:")) and not token.startswith("<<")


def node_of(token: str) -> Node:
    """The node of a node's token.

    >>> node_of("_:b0")
    <BlankNode value=b0>
    """
    return NamedNode(token[1:-1]) if token.startswith("<") else BlankNode(token[2:])


def unescaped(text: str) -> str:
    r"""The text of a quoted string, with its escapes replaced.

    >>> unescaped(r"two\nlines and a \\")
    'two\nlines and a \\'
    """
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text) if "\\" in text else text


def literal_parts(token: str) -> tuple[str, str, str]:
    """The text, language tag and datatype IRI of a literal; the datatype is "" with a language tag and in short forms.

    >>> literal_parts('"rot"@de')
    ('rot', 'de', '')
    >>> literal_parts('"a"^^<x:y>'), literal_parts("1.5")
    (('a', '', 'x:y'), ('1.5', '', ''))
    """
    if not token.startswith('"'):
        return token, "", ""
    end = token.rindex('"')  # neither a language tag nor an IRI has a quotation mark
    text, mark = unescaped(token[1:end]), token[end + 1 :]
    if not mark:
        return text, "", _STRING
    if mark.startswith("@"):
        return text, mark[1:].partition("--")[0], ""
    return text, "", mark[3:-1]
