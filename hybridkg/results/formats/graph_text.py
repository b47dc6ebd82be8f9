"""The RDF forms of the graph of a CONSTRUCT or DESCRIBE; raise UnsupportedQueryError for rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TextIO
from xml.parsers.expat import ExpatError, ParserCreate

from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.serialize import serialize_to
from hybridkg.rdf.terms import Literal, NamedNode, Term, Triple
from hybridkg.rdf.well_known import abbreviation
from hybridkg.results.result import Result

LOOKED_AT = 1_000
"""Triples at the beginning of a graph that decide which prefixes are declared: a stream cannot be read twice."""

EVERY_GRAPH = "turtle and nt can write every graph"


def _with_prefixes(result: Result) -> tuple[Iterator[Triple], dict[str, str]]:
    """The triples, and the prefixes to declare: those of the query, and of the known ones those that the first
    LOOKED_AT triples use.
    """
    triples = result.graph_triples()
    first = list(islice(triples, LOOKED_AT))
    names, own = result._known.under(result._prefixes), dict(result._prefixes)
    iris = dict.fromkeys(iri for triple in first for iri in _iris(triple))
    short = filter(None, (abbreviation(iri, names) for iri in iris))
    used = {name.partition(":")[0] for name in short}
    return chain(first, triples), {name: iri for name, iri in names.items() if name in own or name in used}


def _iris(term: Term | Triple) -> Iterator[str]:
    match term:
        case NamedNode():
            yield term.value
        case Literal():
            yield term.datatype.value
        case Triple():
            for part in (term.subject, term.predicate, term.object):
                yield from _iris(part)


@one_pass
def write_turtle(result: Result, out: TextIO) -> None:
    """Writes Turtle (of RDF 1.2 where it has triple terms) with prefixes (`_with_prefixes`), in the result's order."""
    triples, prefixes = _with_prefixes(result)
    serialize_to(out.write, triples, "turtle", prefixes)


@one_pass
def write_ntriples(result: Result, out: TextIO) -> None:
    """Writes N-Triples (of RDF 1.2 where it has triple terms), a line for each triple, in the result's order."""
    serialize_to(out.write, result.graph_triples(), "nt")


@one_pass
def write_json_ld(result: Result, out: TextIO) -> None:
    """Writes JSON-LD 1.1, expanded, with a line end.

    Raises:
        UnsupportedQueryError: a value is a triple term or has a base direction. Earlier triples may have been written.
    """
    last = _LineEnd(out)
    try:
        serialize_to(last.write, result.graph_triples(), "json-ld")
    except OSError as e:
        if e.errno is not None:
            raise  # of the output, not of the serializer
        raise UnsupportedQueryError(
            "JSON-LD 1.1 has no triple terms and no base directions, and this graph has", hint=EVERY_GRAPH
        ) from None
    last.end()


@one_pass
def write_rdf_xml(result: Result, out: TextIO) -> None:
    """Writes RDF/XML (RDF 1.1, or 1.2 for triple terms) with prefixes (`_with_prefixes`).

    Raises:
        UnsupportedQueryError: the format cannot write a triple: its predicate does not end in an XML name or is a word
            of RDF/XML, or a value has a character that XML 1.0 lacks. Earlier triples may have been written.
    """
    # Oxigraph writes some triples as documents that other readers of XML refuse.
    triples, prefixes = _with_prefixes(result)
    prefixes = {name: iri for name, iri in prefixes.items() if not name.lower().startswith("xml")}
    last, parser = _LineEnd(out), ParserCreate(namespace_separator=" ")

    def checked(text: str) -> None:
        parser.Parse(text, False)
        last.write(text)

    try:
        serialize_to(checked, triples, "rdf-xml", prefixes)
        parser.Parse("", True)
    except (OSError, ValueError, ExpatError) as e:
        if isinstance(e, OSError) and e.errno is not None:
            raise  # of the output, not of the serializer
        raise UnsupportedQueryError(
            "RDF/XML cannot write this graph: it needs predicates that end in an XML name and are no words of its own "
            f"syntax, and values without control characters ({e})",
            hint=EVERY_GRAPH,
        ) from None
    last.end()


class _LineEnd:
    """Passes text on, without the line ends at the end of all, which has one."""

    def __init__(self, out: TextIO):
        self._out, self._withheld = out, ""

    def write(self, text: str) -> None:
        text = self._withheld + text
        kept = text.rstrip("\n")
        self._withheld = text[len(kept) :]
        self._out.write(kept)

    def end(self) -> None:
        self._out.write("\n")
