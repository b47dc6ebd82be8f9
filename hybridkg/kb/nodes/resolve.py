"""The node that a person means: by its IRI, a prefixed name, the label of a blank node, its name, or its local name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.errors import HybridkgError, UnknownNameError, UserError
from hybridkg.kb.labels import ENGLISH
from hybridkg.rdf.namespaces import namespace_of
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase
from hybridkg.kb.search.run import SearchOptions, search

MAX_CANDIDATES = 10
"""Nodes of one name that an error lists."""

MAX_SUGGESTED = 3
"""Found entities that the error of an unknown name suggests."""

_BLANK = "_:"


def resolve_node(given: str | Node, base: SearchedBase) -> Node:
    """The node of an IRI (also in angle brackets), a prefixed name, `_:LABEL`, or a name.

    A name is a whole label by the label predicates of the profile, in the same case; then what follows the namespace of
    an entity of the index, such as the number of a node of STaRK; then another node in the namespace of the first or
    last entity; then a label in any case.

    Raises:
        UserError: it is empty, or no text and no node.
        UnknownNameError: no node of the graph, or several of this name; lists them, or what a search finds.
    """
    what: object = given
    if not isinstance(what, str | NamedNode | BlankNode):
        raise UserError(f"a node is a name or an IRI, not {type(what).__name__}")
    if not isinstance(given, str):
        return _existing(given, base)
    text = " ".join(given.split())
    if not text:
        raise UserError("the name of the node is empty", hint="give an IRI or a label")
    term = _as_term(text, base)
    if term is not None:
        return _existing(term, base)
    found = (
        _labelled(base, before=f"VALUES ?name {{ {Literal(text)} {Literal(text, language=ENGLISH)} }}")
        or _local_entities(text, base)
        or _local(text, base)
        or _labelled(base, after=f"FILTER(LCASE(STR(?name)) = LCASE({Literal(text)}))")
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous(text, found, base)
    raise UnknownNameError(f"no node has the name {text!r}", hint=_suggestions(text, base))


def _as_term(text: str, base: SearchedBase) -> Node | None:
    """The IRI or blank node that a text is; None for a name, such as one with a colon behind no known prefix."""
    try:
        return BlankNode(text.removeprefix(_BLANK)) if text.startswith(_BLANK) else _as_iri(text, base)
    except ValueError:
        return None


def _as_iri(text: str, base: SearchedBase) -> NamedNode | None:
    """The IRI that a text is; None for a name. Raises ValueError: it has a character that no IRI has."""
    inner = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    prefix, colon, rest = inner.partition(":")
    if not colon or " " in inner:
        return None
    if inner is text and prefix in base.prefixes and not rest.startswith("//"):
        inner = base.prefixes[prefix] + rest
    elif inner is text and not rest.startswith("//") and prefix.lower() != "urn":
        return None
    return NamedNode(inner)


def _existing(node: Node, base: SearchedBase) -> Node:
    """The node itself. Raises UnknownNameError: neither a triple nor a text has it."""
    documents = base.snapshot.documents
    if TripleLookups(base.snapshot.store).in_graph([node]) or (documents is not None and documents.document(node)):
        return node
    raise UnknownNameError(f"no triple and no text has {node}", hint="hybridkg search KB WORDS finds nodes by words")


def _labelled(base: SearchedBase, *, before: str = "", after: str = "") -> list[Node]:
    """The nodes whose label ?name fulfils a pattern, by IRI, at most one more than an error lists."""
    path = "|".join(str(NamedNode(iri)) for iri in base.label_predicates)
    pattern = f"{before} ?node {path} ?name {after}"
    query = f"SELECT DISTINCT ?node WHERE {{ {pattern} }} ORDER BY ?node LIMIT {MAX_CANDIDATES + 1}"
    found = [row[0] for row in base.snapshot.store.select(query).rows]
    return [node for node in found if isinstance(node, NamedNode | BlankNode)]


def _local_entities(text: str, base: SearchedBase) -> list[Node]:
    """The entities of a local name in any namespace, at most one more than an error lists."""
    nodes = base.snapshot.nodes
    return [] if nodes is None else _in_graph(nodes.ending_in(text, MAX_CANDIDATES + 1), base)


def _local(text: str, base: SearchedBase) -> list[Node]:
    """The nodes of a local name in the namespaces of the first and the last entity."""
    nodes = base.snapshot.nodes
    ends = [] if nodes is None or not len(nodes) else [nodes.node(0), nodes.node(len(nodes) - 1)]
    namespaces = {namespace_of(node.value) for node in ends if isinstance(node, NamedNode)} - {""}
    try:
        return _in_graph([NamedNode(namespace + text) for namespace in sorted(namespaces)], base)
    except ValueError:  # not the characters of an IRI
        return []


def _in_graph(nodes: Iterable[Node], base: SearchedBase) -> list[Node]:
    """Those of the nodes that a triple or a text has."""
    found: list[Node] = []
    for node in nodes:
        with suppress(UnknownNameError):
            found.append(_existing(node, base))
    return found


def _ambiguous(text: str, found: Sequence[Node], base: SearchedBase) -> UnknownNameError:
    shown = found[:MAX_CANDIDATES]
    types = base.types_of(shown)
    lines = [f"{node} {_types(types.get(node, ()), base)}".rstrip() for node in shown]
    more = ["and more"] if len(found) > len(shown) else []
    count = f"{len(shown)} nodes" if not more else f"more than {len(shown)} nodes"
    return UnknownNameError(f"{count} have the name {text!r}", hint="\n".join(["give one of them:", *lines, *more]))


def _types(iris: Iterable[str], base: SearchedBase) -> str:
    return ", ".join(base.shortened(NamedNode(iri)) for iri in iris)


def _suggestions(text: str, base: SearchedBase) -> str:
    """A hint with the entities that a search for the words finds."""
    if base.snapshot.text is None:
        return "give its IRI; hybridkg index KB makes names searchable by their words"
    try:
        hits = search(base.kb, text, SearchOptions(limit=MAX_SUGGESTED)).hits
    except HybridkgError:  # words of which none is searched for
        hits = ()
    if not hits:
        return "give its IRI, as <IRI>, or its whole label"
    return "\n".join(["did you mean one of these?", *(f"{hit.label}: {hit.entity}" for hit in hits)])
