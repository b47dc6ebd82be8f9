"""Output of the commands that change a knowledge base, and texts that were given to the wrong command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.cli.echo import echo, echo_error, echo_json
from hybridkg.cli.output import print_explanation
from hybridkg.errors import QuerySyntaxError, SourceName
from hybridkg.query.text_kind import query_keyword, update_keyword
from hybridkg.terminal_text import for_whom

if TYPE_CHECKING:
    from hybridkg.kb.write.reports import UpdateReport


def show_change(report: UpdateReport, kb: Path, *, dry_run: bool = False, fmt: str = "text") -> None:
    """Prints what has changed on stdout: counts, or after a dry run the triples, with the counts on stderr."""
    for warning in report.warnings:
        echo_error(warning)
    if report.explanation is not None:
        print_explanation(report.explanation, fmt)
        return
    lines = list(report.change.lines()) if dry_run and report.change is not None else []
    if fmt == "json":
        echo_json({**report.to_json(), "dry_run": True, "change": lines} if dry_run else report.to_json())
    elif dry_run:
        _print_change(lines)
    else:
        for line in report.lines():
            echo(line)
    if dry_run:
        for line in report.lines():
            echo(line, err=True)
    elif report.is_behind and (report.added or report.removed or report.documents):
        why = f" ({report.not_followed})" if report.not_followed else ""
        echo(f"the change is not searchable yet{why}; run: hybridkg index {kb}", err=True)


def _print_change(lines: list[str]) -> None:
    out = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(encoding="utf-8", newline="")  # as N-Quads
    stream = for_whom(out)
    for line in lines:
        stream.write(f"{line}\n")
    out.flush()


def refuse_rdf(file: Path, kb: Path) -> None:
    """Refuses a file of RDF that was given in place of an update.

    Raises:
        QuerySyntaxError: the name of the file says that it is one; names the commands for it.
    """
    from hybridkg.rdf.input_file import extensions
    from hybridkg.store.rdf_io.formats import FORMATS

    if extensions(file)[0] in FORMATS:
        raise QuerySyntaxError(
            f"{str(file)!r} is a file of triples, not an update",
            hint=f"hybridkg load {kb} {file} adds them, and hybridkg remove {kb} {file} removes them",
        )


def refuse_query(text: str, name: str, kb: Path, file: Path | None) -> None:
    """Refuses a query that was given to a command for updates, and a text without a character.

    Raises:
        QuerySyntaxError: it is one; names the command for it.
    """
    if not text.strip():
        raise QuerySyntaxError(
            "the update is empty", hint="is a variable of the shell not set?" if file is None else ""
        )
    keyword = query_keyword(text)
    if keyword is not None:
        raise QuerySyntaxError(
            "this is a query", hint=_command("query", name, kb, file), span=keyword, source=SourceName(name, text)
        )


def refuse_update(text: str, name: str, kb: Path, file: Path | None) -> None:
    """Refuses an update that was given to a command for queries.

    Raises:
        QuerySyntaxError: it is one; names the command for it.
    """
    keyword = update_keyword(text)
    if keyword is not None:
        raise QuerySyntaxError(
            "this is an update", hint=_command("update", name, kb, file), span=keyword, source=SourceName(name, text)
        )


def _command(command: str, name: str, kb: Path, file: Path | None) -> str:
    rest = f"-f {file}" if file is not None else "-" if name == "stdin" else "..."
    return f"hybridkg {command} {kb} {rest}"
