"""The registry of output formats. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hybridkg.registry import Registry

Writer = TypeVar("Writer", bound=Callable[..., None])

OUTPUT_FORMATS = Registry(
    "output format",
    "hybridkg.output_formats",
    {
        "csv": "hybridkg.results.formats.separated:write_csv",
        "json": "hybridkg.results.formats.sparql_json:write_json",
        "json-ld": "hybridkg.results.formats.graph_text:write_json_ld",
        "nt": "hybridkg.results.formats.graph_text:write_ntriples",
        "ndjson": "hybridkg.results.formats.ndjson:write_ndjson",
        "rdf-xml": "hybridkg.results.formats.graph_text:write_rdf_xml",
        "table": "hybridkg.results.formats.table:write_table",
        "trec": "hybridkg.results.formats.trec:write_trec",
        "tsv": "hybridkg.results.formats.separated:write_tsv",
        "turtle": "hybridkg.results.formats.graph_text:write_turtle",
        "xml": "hybridkg.results.formats.sparql_xml:write_xml",
    },
)
"""Each is a function (ResultSet, TextIO) -> None; one marked by `one_pass` takes any Result."""

EXTENSIONS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "ndjson",
    ".jsonld": "json-ld",
    ".ndjson": "ndjson",
    ".nt": "nt",
    ".rdf": "rdf-xml",
    ".run": "trec",
    ".srj": "json",
    ".srx": "xml",
    ".trec": "trec",
    ".tsv": "tsv",
    ".ttl": "turtle",
    ".xml": "xml",
}
"""Extension of a file -> the output format that it names."""

_MARK = "reads_rows_once"


def format_of(path: Path, otherwise: str) -> str:
    """The output format that the extension of a file names; `otherwise` for an unknown extension.

    >>> format_of(Path("films.CSV"), "json"), format_of(Path("films"), "json")
    ('csv', 'json')
    """
    return EXTENSIONS.get(path.suffix.lower(), otherwise)


def one_pass(writer: Writer) -> Writer:
    """Marks a writer that reads `result.rows()` once, and `result.returned` only if it may be None.

    It gets a ResultStream where there is one, so its rows need no memory; any other writer gets a ResultSet.

    >>> @one_pass
    ... def write_count(result, out):
    ...     out.write(f"{sum(1 for _ in result.rows())}\\n")
    >>> is_one_pass(write_count), is_one_pass(print)
    (True, False)
    """
    vars(writer)[_MARK] = True
    return writer


def is_one_pass(writer: Any) -> bool:
    """Whether a writer of OUTPUT_FORMATS has the mark of `one_pass`."""
    return bool(getattr(writer, _MARK, False))
