"""The format that a malformed file has in truth: `dump.ttl` may hold N-Quads."""

from __future__ import annotations

import math

from pyoxigraph import parse

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import InputFile, extensions
from hybridkg.store.rdf_io.formats import FORMATS, Format
from hybridkg.store.rdf_io.guards import guards_of


def other_extension(file: InputFile, form: Format, line: int | None) -> str:
    """The extension of a format in which the beginning of a file is valid; empty where there is none.

    Formats are tried on the first megabyte. One fits when its parser gets beyond the line of the error.

    Args:
        file: read again from its start; of a pipe nothing can be told.
        form: the format of its name, in which it is malformed.
        line: of the error; without it a format fits that reads all.
    """
    if not file.path.is_file():
        return ""
    with InputFile(file.path) as again:
        begun = again.block()
    tried = {form.syntax}
    for extension, other in FORMATS.items():
        if other.syntax not in tried and _fits(begun, other, file, math.inf if line is None else line):
            return extension + extensions(file.path)[1]
        tried.add(other.syntax)
    return ""


def _fits(begun: bytes, form: Format, file: InputFile, line: float) -> bool:
    statements = 0
    try:
        for watch in guards_of(form, file.path):
            watch(begun)
        for _ in parse(begun, format=form.syntax):
            statements += 1
    except SyntaxError as e:
        return statements > 0 and (e.lineno or 0) > line
    except (LoadError, MemoryError):
        return False
    return statements > 0
