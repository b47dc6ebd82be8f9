"""The quads of one RDF document as a stream; errors name file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from pyoxigraph import RdfFormat, parse

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import CONVERT, InputFile, extensions, looks_compressed
from hybridkg.rdf.terms import Literal, Quad
from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames, StatementBatch
from hybridkg.store.rdf_io.byte_feed import ByteFeed, LineFeed
from hybridkg.store.rdf_io.formats import Format, format_of
from hybridkg.store.rdf_io.guards import guards_of
from hybridkg.store.rdf_io.other_format import other_extension
from hybridkg.store.rdf_io.plain_lines import plain_end

BATCH = 500
"""Quads; below 700, the threshold of the garbage collector, so that a batch dies before it is tracked."""

POSITION = re.compile(
    r"^Parser error (at line \d+ (column \d+|between columns \d+ and \d+)|"
    r"between line \d+ column \d+ and line \d+ column \d+): "
)
"""The place in a message of Oxigraph, counted from the line at which it began to read."""

PARSED_AT_ONCE = 64_000
"""Bytes that go to the parser from a line that needs it on: the following lines are likely to need it, too."""

MAX_REST_LENGTH = 1 << 20
"""Bytes without a line end, after which the parser reads the rest: it bounds the length of a term itself."""

NO_BASE = "x-relative:///"
"""Base of relative IRIs of JSON-LD where none is given, because the parser drops them silently."""


def quads_of(
    file: InputFile, names: BlankNodeNames, base_iri: str | None = None, declared: dict[str, str] | None = None
) -> Iterator[StatementBatch]:
    """The quads of a file in batches, blank nodes renamed.

    Args:
        file: opened at its start; its name determines the format.
        names: renames the blank nodes of this document.
        base_iri: base of relative IRIs; without it they are errors.
        declared: receives the prefixes that the file declares: the last namespace of each in Turtle and TriG, those of
            the document element in RDF/XML, those of the outermost context in JSON-LD.

    Raises:
        LoadError: the file is malformed; names the file and the line.
    """
    form = format_of(file.path)
    if form.syntax in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
        yield from _quads_of_lines(file, form, names, base_iri)
    else:
        yield from _parsed(ByteFeed(file, guards_of(form, file.path)), file, form, names, base_iri, declared=declared)


def _quads_of_lines(
    file: InputFile, form: Format, names: BlankNodeNames, base_iri: str | None
) -> Iterator[StatementBatch]:
    """Quads of a line-based format: canonical lines bypass the parser."""
    guards, rest, line = guards_of(form, file.path), b"", 0
    while block := file.block():
        for watch in guards:
            watch(block)
        text = rest + block
        whole, at = text.rfind(b"\n") + 1, 0
        while at < whole:
            end = plain_end(text, at)
            is_plain = end > at
            if not is_plain:
                end = text.find(b"\n", min(at + PARSED_AT_ONCE, whole - 1), whole) + 1
            piece = text[at:end]
            lines = piece.count(b"\n")
            if is_plain:
                yield StatementBatch(lines, piece, lines)
            else:
                yield from _parsed(ByteFeed(None, begun=piece), file, form, names, base_iri, line)
            line, at = line + lines, end
        rest = text[whole:]
        if len(rest) > MAX_REST_LENGTH:
            break
    yield from _parsed(ByteFeed(file, guards, rest), file, form, names, base_iri, line)


def _parsed(
    feed: ByteFeed,
    file: InputFile,
    form: Format,
    names: BlankNodeNames,
    base_iri: str | None,
    line: int = 0,
    declared: dict[str, str] | None = None,
) -> Iterator[StatementBatch]:
    """The parser's quads of a feed that begins after `line` lines of the file."""
    find_relative = form.syntax == RdfFormat.JSON_LD and base_iri is None
    try:
        quads = parse(feed, format=form.syntax, base_iri=NO_BASE if find_relative else base_iri)  # type: ignore[arg-type]
        batch = list(islice(quads, 1))
        if declared is not None:
            declared |= quads.prefixes  # of RDF/XML, they are gone at the end of the document element
        while batch := batch + list(islice(quads, BATCH - len(batch))):
            if find_relative:
                _refuse_relative(batch, file)
            yield names.renamed(batch)
            batch = []
        feed.drain()
        if declared is not None:
            declared |= quads.prefixes
    except SyntaxError as e:
        raise _malformed(e, form, file, base_iri, line) from e
    except MemoryError as e:
        if TOO_LONG not in str(e):
            raise
        raise LoadError(
            f"a word of more than 16 MB in {form.name}: no literal and no IRI may be longer",
            hint="split the text into several, or give it by --text",
            place=str(file.path),
        ) from e


def _refuse_relative(batch: list[Quad], file: InputFile) -> None:
    for quad in batch:
        for term in quad:
            if not isinstance(term, Literal) and str(term).startswith(f"<{NO_BASE}"):
                raise LoadError(
                    f"relative IRI {str(term)[len(NO_BASE) + 1 : -1]!r} without a base",
                    hint='write "@base" into the context, or whole IRIs',
                    place=str(file.path),
                )


def _malformed(error: SyntaxError, form: Format, file: InputFile, base_iri: str | None, before: int) -> LoadError:
    line, column = error.lineno and error.lineno + before, error.offset
    if line is None and form.syntax == RdfFormat.RDF_XML:
        line = _line_of_error(form, file, base_iri)
    reason = POSITION.sub("", error.msg)
    if reason == "Unexpected end of file" and form.syntax in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
        reason = "an IRI, a literal or a statement is not complete at the end of the line"
    place = ":".join(str(part) for part in (file.path, line, column) if part is not None)
    if compression := _hidden_compression(file):
        return LoadError(
            f"not {form.name}, but a {compression} archive",
            hint=f"give it a name that ends in '{extensions(file.path)[0]}{compression}'",
            place=str(file.path),
        )
    if "LoadDocumentCallback" in reason:
        return LoadError(
            "the JSON-LD context is another document, and hybridkg fetches nothing from the network",
            hint='write the context itself into the file, under "@context"',
            place=place,
        )
    hint = "a relative IRI needs a base: " + BASE[form.name] if "No scheme" in reason and form.name in BASE else ""
    if line == 1 and _looks_like_a_table(file):
        hint = "its first line looks like the header of a table: give it a name that ends in .csv"
    if "UTF-8" in reason:
        reason, hint = "invalid UTF-8", CONVERT
        if form.syntax == RdfFormat.RDF_XML and (encoding := _declared_encoding(file)):
            reason, hint = f"its XML declaration names {encoding}, and only UTF-8 is read", CONVERT_XML.format(encoding)
    elif not hint and (extension := other_extension(file, form, line)):
        name = format_of(Path(f"f{extension}")).name
        hint = f"its content looks like {name}: give it a name that ends in '{extension}'"
    return LoadError(f"not valid {form.name}: {reason[:1].lower()}{reason[1:]}", hint=hint, place=place)


CONVERT_XML = (
    "convert the text and change the declaration: "
    "iconv -f {} -t UTF-8 FILE | sed '1s/encoding=[^?]*/encoding=\"UTF-8\"/' > NEW"
)
"""Hint for RDF/XML that declares another encoding than UTF-8."""

XML_ENCODING = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z][\w.-]{0,40})["']""", re.ASCII)

TOO_LONG = "buffer maximal size"
"""Sign of Oxigraph's error for a term of more than 16,777,216 bytes, which is a MemoryError."""

BASE = {
    "Turtle": "write '@base <http://...> .' at the start of the file",
    "TriG": "write '@base <http://...> .' at the start of the file",
    "RDF/XML": 'write xml:base="http://..." into the first element',
    "N-Triples": "N-Triples has none; write whole IRIs",
    "N-Quads": "N-Quads has none; write whole IRIs",
}


def _declared_encoding(file: InputFile) -> str:
    """The encoding that an XML declaration names, unless it is UTF-8."""
    with InputFile(file.path) as again:
        found = XML_ENCODING.match(again.block())
    name = found[1].decode() if found else ""
    return "" if name.upper() in ("UTF-8", "UTF8") else name


def _hidden_compression(file: InputFile) -> str:
    if extensions(file.path)[1]:
        return ""
    with file.path.open("rb") as again:
        return looks_compressed(again.read(6))


def _looks_like_a_table(file: InputFile) -> bool:
    """Whether the first line is names with commas, semicolons or tabs between them, and nothing of RDF."""
    with InputFile(file.path) as again:
        line = again.block().partition(b"\n")[0].strip()
    return re.fullmatch(rb"[^<>@{}:]*[,;\t][^<>@{}:]*", line) is not None and not line.endswith((b".", b";"))


def _line_of_error(form: Format, file: InputFile, base_iri: str | None) -> int | None:
    """The line of an error without a position, found by parsing the file again line by line."""
    with InputFile(file.path) as again:
        feed = LineFeed(again)
        with suppress(SyntaxError):
            for _ in parse(feed, format=form.syntax, base_iri=base_iri):  # type: ignore[arg-type]
                pass
            return None
        return feed.line
