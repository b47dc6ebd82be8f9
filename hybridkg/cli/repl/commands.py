"""The dot commands: one table for look-up, help and completion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import TextIO

from hybridkg.cli.repl.listing import facts, listing
from hybridkg.cli.repl.session import Session
from hybridkg.cli.repl.updates import run_update
from hybridkg.cli.repl.vocabulary import MAX_TRIPLES
from hybridkg.errors import IndexMissingError, LoadError, ParameterError, QuerySyntaxError, UnknownNameError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.query.iris import is_absolute, why_invalid
from hybridkg.query.source import MAX_CHARACTERS
from hybridkg.rdf.well_known import WELL_KNOWN, prefix_lines, shortened
from hybridkg.registry import did_you_mean
from hybridkg.terminal_text import printable

Run = Callable[[Session, str], None]


@dataclass(frozen=True)
class Command:
    """A dot command, with the metavariable of its argument, empty without one; `run` gets the stripped argument."""

    argument: str
    help: str
    run: Run


MAX_FILE_BYTES = 16 * MAX_CHARACTERS
"""Maximum bytes of a file for `.load`."""


def run_command(session: Session, text: str, name: str, whole: str) -> None:
    """Runs the dot command `text`; errors point into `whole`, which ends with it, by the `name` of the file.

    Raises:
        UnknownNameError: no such command.
        HybridkgError: the command failed.
    """
    word, argument = [*text.split(None, 1), ""][:2]
    word = ALIASES.get(word.lower(), word.lower())
    command = COMMANDS.get(word)
    if command is None:
        raise UnknownNameError(
            f"no command {word!r}; known: {', '.join(COMMANDS)}",
            hint=did_you_mean(word, list(COMMANDS)) or "queries start with SELECT, ASK, PREFIX ...; .help shows more",
        )
    argument = argument.strip()
    if argument and not command.argument:
        raise QuerySyntaxError(f"{word} takes no argument, not {argument!r}")
    if word in (".explain", ".analyze", ".update") and argument:
        # Blanks replace the command, so that the caret of an error is at the right column.
        at = whole.rindex(argument)
        before = "".join("\n" if character == "\n" else " " for character in whole[:at])
        if word == ".update":
            run_update(session, before + argument, name, typed=whole.rstrip())
        else:
            session.query(before + argument, name, typed=whole.rstrip(), explain=word[1:])
        return
    command.run(session, argument)


def _print(session: Session, text: str) -> None:
    def write(out: TextIO) -> None:
        out.write(f"{printable(text)}\n")

    session.screen.rows(write)


def _help(session: Session, _: str) -> None:
    lines = [(f"{name} {command.argument}".rstrip(), command.help) for name, command in COMMANDS.items()]
    width = max(len(usage) for usage, _ in lines)
    _print(session, "\n".join(f"{usage:<{width}}  {text}" for usage, text in lines) + "\n\n" + KEYS)


KEYS = """\
Anything else is a query or an update. Enter runs it when it is complete (or wrong), else starts a
new line; Alt-Enter or Ctrl-J always starts one; Enter on an empty line runs the input as it is.
Tab completes. Up and Down, and Ctrl-R, find earlier input. Ctrl-C clears the input, or cancels
the running query; Ctrl-D on an empty line ends the session.
A prefix that .prefix lists, or that an earlier query has declared, needs no PREFIX line."""


def _schema(session: Session, pattern: str) -> None:
    words, prefixes = session.names(), session.prefixes
    parts = []
    for head, what, names in (("class", "instances", words.classes), ("predicate", "triples", words.predicates)):
        rows = [(shortened(iri, prefixes), n) for iri, n in names]
        rows = [row for row in rows if pattern.lower() in row[0].lower()]
        if rows:
            parts.append(listing((head, what), rows))
    if words.cut:
        parts.append(f"Counted in the first {MAX_TRIPLES:,} triples only.")
    _print(session, "\n\n".join(parts) or (f"no name with {pattern!r}" if pattern else "the graph is empty"))


def _fields(session: Session, _: str) -> None:
    fields = session.kb.stats()["fields"]
    if not fields:
        raise IndexMissingError("there is no text index", hint="build it: hybridkg index KB")
    heads = [name.replace("_", " ") for name in fields[0]]
    _print(session, listing(heads, [list(field.values()) for field in fields]))


def _stats(session: Session, _: str) -> None:
    _print(session, facts({name: value for name, value in session.kb.stats().items() if name != "fields"}))


def _explain(kind: str) -> Run:
    def run(session: Session, _: str) -> None:
        if not session.last_query:
            raise QuerySyntaxError(f".{kind} needs a query", hint=f".{kind} SELECT ...; alone, it takes the last query")
        session.query(session.last_query, explain=kind)

    return run


def _update(_: Session, __: str) -> None:
    raise QuerySyntaxError(
        ".update needs an update", hint=".update DELETE WHERE { <http://...> rdfs:label ?label }; or type it alone"
    )


def _why(session: Session, argument: str) -> None:
    if session.last_result is None or not len(session.last_result):
        raise QuerySyntaxError(
            ".why needs an answer with rows", hint="run a query first; .why 2 explains its second row"
        )
    rows = len(session.last_result)
    if argument and not (argument.isascii() and argument.isdigit() and 1 <= int(argument[:18]) <= rows):
        raise ParameterError(f"the last answer has rows 1 to {rows:,}, not {argument!r}", hint=".why 1")
    row = session.last_result[int(argument or 1) - 1]
    _print(session, str(session.runner(row.why)))


def _search(session: Session, words: str) -> None:
    from hybridkg.kb.search.text import write_search

    if not words:
        raise QuerySyntaxError(".search needs words", hint=".search machine translation")
    found = session.runner(partial(session.kb.search, words, timeout=session.timeout, cancel=Event()))
    session.last_query, session.last_result = found.query, found.result
    for warning in found.result.warnings:
        session.screen.say(warning.render())
    session.screen.rows(partial(write_search, found))
    for line in found.advice:
        session.screen.say(f"note: {line}")
    session.screen.say(f"{found.summary}; .why N explains hit N, .explain shows the query")


def _ask(session: Session, question: str) -> None:
    if not question:
        raise QuerySyntaxError(".ask needs a question", hint=".ask papers on parsing by people at Edinburgh")
    from hybridkg.asking.emit import LIMIT
    from hybridkg.kb.asking import interpreted, question_time

    time = question_time(session.kb, session.timeout)
    found = session.runner(partial(interpreted, session.kb, question, limit=LIMIT, time=time))
    session.screen.say(found.query)
    for remark in found.remarks:
        session.screen.say(f"note: {remark}")
    session.query(found.query, "question", left=time)


def _format(session: Session, name: str) -> None:
    if name:
        OUTPUT_FORMATS.get(name)
        session.fmt = name
    session.screen.say(f"format: {session.fmt}" + ("" if name else f"; known: {', '.join(OUTPUT_FORMATS.names())}"))


def _prefix(session: Session, argument: str) -> None:
    if not argument:
        session.names()
        lines = prefix_lines(session.kb.prefixes)
        if own := session.own_prefixes:
            lines += ["in this session only:", *prefix_lines(own)]
        well_known = ", ".join(name for name in WELL_KNOWN if name not in {**session.kb.prefixes, **own})
        _print(session, "\n".join([*lines, f"well known: {well_known}"]))
        return
    name, colon, iri = argument.partition(":")
    iri = iri.strip()
    if not colon or not iri:
        raise ParameterError(f"{argument!r} is not a prefix", hint=".prefix films: <http://example.org/films/>")
    inside = iri[1:-1] if iri.startswith("<") and iri.endswith(">") else iri
    from hybridkg.cli.repl.reading import read

    if not read(f"PREFIX {name.strip()}: <{inside}> ASK {{}}").complete:
        raise ParameterError(f"{argument!r} is not a prefix", hint=".prefix films: <http://example.org/films/>")
    if not is_absolute(inside) or why_invalid(inside):
        why = why_invalid(inside) or "it has no scheme, such as http:"
        raise ParameterError(f"'<{inside}>' is not an absolute IRI: {why}")
    session.declared[name.strip()] = inside
    session.screen.say(f"PREFIX {name.strip()}: <{inside}>")


def _load(session: Session, argument: str) -> None:
    if not argument:
        raise LoadError(".load needs a file", hint=".load questions.hq")
    path = Path(argument).expanduser()
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        raise LoadError(f"cannot read {argument!r}: {reason}") from None
    if len(data) > MAX_FILE_BYTES:
        raise LoadError(f"{argument!r} has more than {MAX_FILE_BYTES:,} bytes", hint="load it in parts")
    session.load(text, path.name)


def _timeout(session: Session, argument: str) -> None:
    if argument:
        from hybridkg.kb.cancellation import read_duration

        session.timeout = 0.0 if argument == "none" else read_duration(argument)
    shown = "that of kb.toml" if session.timeout is None else f"{session.timeout:g} s" if session.timeout else "none"
    session.screen.say(f"timeout: {shown}")


def _limit(session: Session, argument: str) -> None:
    if argument.lower() in ("none", "off", "all"):
        session.limit = None
    elif argument:
        if not (argument.isascii() and argument.isdigit()) or len(argument) > 18:
            raise ParameterError(f"the limit is a whole number of rows or none, not {argument!r}", hint=".limit 100")
        session.limit = int(argument)
    session.screen.say(f"limit: {'none' if session.limit is None else f'{session.limit:,}'}")


def _labels(session: Session, argument: str) -> None:
    if argument.lower() not in ("", "on", "off"):
        raise ParameterError(f"labels are on or off, not {argument!r}", hint=".labels on")
    if argument:
        session.labels = argument.lower() == "on"
    session.screen.say(f"labels: {'on' if session.labels else 'off'}")


def _quit(session: Session, _: str) -> None:
    session.done = True


COMMANDS = {
    ".help": Command("", "this list", _help),
    ".search": Command("WORDS", "search for entities by plain words; .why and .explain then show more", _search),
    ".ask": Command("QUESTION", "make a query of a question in plain words, show it and run it", _ask),
    ".schema": Command(
        "[WORD]", "classes and predicates with their counts; with a word, those that contain it", _schema
    ),
    ".fields": Command("", "the fields of the text index, for MATCH ... ON (field)", _fields),
    ".explain": Command("[QUERY]", "the plan of a query, or of the last one", _explain("explain")),
    ".analyze": Command("[QUERY]", "the same, run, with actual rows and times", _explain("analyze")),
    ".why": Command("[N]", "explain the score of row N of the last answer; alone, of its first row", _why),
    ".update": Command("UPDATE", "change the data by SPARQL Update; asks first if it is many entities", _update),
    ".format": Command("[NAME]", f"output format of rows: {', '.join(OUTPUT_FORMATS.names())}", _format),
    ".labels": Command("[on|off]", "show the labels of IRIs in tables, in their place", _labels),
    ".prefix": Command("[name: <iri>]", "declare a prefix for all queries; alone, show them", _prefix),
    ".load": Command("FILE.hq", "run the queries, updates and commands of a file", _load),
    ".timeout": Command("[DURATION]", "time limit of a query: 10s, 500ms, none", _timeout),
    ".limit": Command("[N]", "maximum number of rows of an answer, or none", _limit),
    ".stats": Command("", "counts of the knowledge base", _stats),
    ".quit": Command("", "end the session", _quit),
}
ALIASES = {".exit": ".quit", ".q": ".quit", ".?": ".help", ".h": ".help"}
