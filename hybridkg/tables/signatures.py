"""Files of another format than their name says, by their first bytes."""

from __future__ import annotations

from pathlib import Path

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import extensions, looks_compressed

TEXTS = frozenset({".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson"})
"""Extensions of the tables that are texts."""

SIGNATURES = {
    b"PK\x03\x04": (
        "a ZIP archive, perhaps an Excel workbook",
        "rename it to {stem}.xlsx, or unpack it",
    ),
    b"PAR1": ("a Parquet file", "rename it to {stem}.parquet"),
    b"SQLite format 3\0": ("a SQLite database", "rename it to {stem}.sqlite"),
    b"%PDF-": ("a PDF document", "export its table as CSV"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("an Excel workbook of an old version, perhaps", "save it as .xlsx or CSV"),
}
"""What a file is that begins with some bytes, and what to do."""

LENGTH = 16
"""Bytes that are looked at."""


def check_signature(path: Path) -> None:
    """Checks the first bytes of a file of text; of a pipe, which can be read only once, they are not read.

    Raises:
        LoadError: they are those of another format.
    """
    extension, compression = extensions(path)
    if extension not in TEXTS or compression or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            start = file.read(LENGTH)
    except OSError:
        return  # the reader has the error
    if packed := looks_compressed(start):
        raise LoadError(
            f"not a table, but a {packed} archive",
            hint=f"give it a name that ends in '{extension}{packed}'",
            place=str(path),
        )
    for signature, (what, hint) in SIGNATURES.items():
        if start.startswith(signature):
            raise LoadError(f"not a table of text, but {what}", hint=hint.format(stem=path.stem), place=str(path))
