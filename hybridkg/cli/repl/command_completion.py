"""Completion of a whole input: dot commands and their arguments, and queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hybridkg.cli.repl.commands import COMMANDS
from hybridkg.cli.repl.completion import Suggestion, suggest
from hybridkg.cli.repl.reading import COMMAND_LINE, QUERY_COMMAND
from hybridkg.cli.repl.session import Session
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.rdf.well_known import WELL_KNOWN, shortened

COMMAND, ARGUMENT = "a command", "an argument"

MAX_FILES = 200
"""Entries of a folder that are offered."""


def suggest_in_session(session: Session, before: str, after: str) -> list[Suggestion]:
    """Suggestions at the cursor, between `before` and `after`, with the prefixes and names of the session."""
    stripped = before.lstrip()
    lead = len(before) - len(stripped)
    if stripped == "." or COMMAND_LINE.match(stripped):
        match = QUERY_COMMAND.match(stripped)
        if match is None:
            return [replace(s, start=s.start + lead) for s in _suggest_command(session, stripped)]
        lead += match.end()
    suggestions = suggest(before[lead:], after, session.prefixes, session.vocabulary)
    return [replace(s, start=s.start + lead) for s in suggestions]


def _suggest_command(session: Session, text: str) -> list[Suggestion]:
    word, blank, typed = text.partition(" ")
    if not blank:
        return [
            Suggestion(name, 0, COMMAND, command.help)
            for name, command in COMMANDS.items()
            if name.startswith(word.lower()) and name != word
        ]
    typed = typed.lstrip()
    start = len(text) - len(typed)
    return [
        Suggestion(argument, start, ARGUMENT, note)
        for argument, note in _arguments(session, word.lower(), typed)
        if argument.lower().startswith(typed.lower()) and argument != typed
    ]


def _arguments(session: Session, command: str, typed: str) -> Iterator[tuple[str, str]]:
    match command:
        case ".format":
            yield from ((name, "") for name in OUTPUT_FORMATS.names())
        case ".prefix":
            yield from ((f"{name}: <{iri}>", "") for name, iri in WELL_KNOWN.items())
        case ".limit":
            yield from ((value, "") for value in ("none", "10", "100", "1000"))
        case ".schema":
            words = session.vocabulary
            for iri, _ in (*words.classes, *words.predicates):
                yield shortened(iri, session.prefixes), ""
        case ".load":
            yield from _files(typed)


def _files(typed: str) -> Iterator[tuple[str, str]]:
    """Folders and query files; none if the folder cannot be read."""
    head, slash, _ = re.fullmatch(r"(.*?)(/?)([^/]*)", typed, re.DOTALL).groups()  # type: ignore[union-attr]
    try:
        folder = Path(head + slash or ".").expanduser()
        entries = sorted(folder.iterdir())[:MAX_FILES]
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield f"{head}{slash}{entry.name}/", "folder"
            elif entry.suffix in (".hq", ".rq", ".ru", ".sparql"):
                yield f"{head}{slash}{entry.name}", ""
    except (OSError, RuntimeError, ValueError):
        return
