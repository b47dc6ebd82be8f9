"""The registry of output formats. A new one is one file and one line here."""

from __future__ import annotations

from hybridkg.registry import Registry

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
"""Each is a function (ResultSet, TextIO) -> None."""
