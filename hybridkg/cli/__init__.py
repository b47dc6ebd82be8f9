"""The command line: one file a command; this one prints errors (errors.py renders them) and sets exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import click

from hybridkg import __version__
from hybridkg.cli.analyze import analyze
from hybridkg.cli.ask import ask
from hybridkg.cli.backup import backup
from hybridkg.cli.check import check
from hybridkg.cli.compare import compare
from hybridkg.cli.completion import completion
from hybridkg.cli.config import config
from hybridkg.cli.dataset import dataset
from hybridkg.cli.demo import demo
from hybridkg.cli.doctor import doctor
from hybridkg.cli.dump import dump
from hybridkg.cli.echo import echo, echo_error
from hybridkg.cli.eval import evaluate
from hybridkg.cli.explain import explain
from hybridkg.cli.index import index
from hybridkg.cli.load import load
from hybridkg.cli.migrate import migrate
from hybridkg.cli.node import node
from hybridkg.cli.parity import parity
from hybridkg.cli.prefixes import prefixes
from hybridkg.cli.profile import profile
from hybridkg.cli.prune import prune
from hybridkg.cli.query import query
from hybridkg.cli.remove import remove
from hybridkg.cli.repl.command import repl
from hybridkg.cli.restore import restore
from hybridkg.cli.run import run
from hybridkg.cli.schema import schema
from hybridkg.cli.search import search
from hybridkg.cli.stats import stats
from hybridkg.cli.synthesise import synthesise
from hybridkg.cli.tokens import tokens
from hybridkg.cli.tune import tune
from hybridkg.cli.update import update
from hybridkg.errors import COMMITTED, HybridkgError

INTERRUPTED = 130
"""Exit code of Ctrl-C (128 + SIGINT)."""

WRITERS = ("load", "update", "remove", "index", "prefixes", "migrate", "check")
"""Commands that may change a knowledge base."""

GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Knowledge base": (demo, load, update, remove, index, tokens, profile, prefixes, config, stats, schema, migrate),
    "Query": (search, ask, node, query, repl, explain, analyze),
    "Evaluation": (dataset, synthesise, run, evaluate, compare, tune, parity),
    "Care": (doctor, check, dump, backup, restore, prune, completion),
}
"""The commands in the order of `--help`."""


class Cli(click.Group):
    """The program: prints a HybridkgError as text on stderr, never as a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program, help and version included; exit code 1 if the output cannot be written."""
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                sys.stdout.flush()
        except OSError as e:
            # An error of a file names it; one of the output has no name.
            if e.filename is not None:
                raise
            _drop_output()
            if e.errno != errno.EPIPE:  # the reader of the output has gone (`| head`) and needs no message
                echo(f"cannot write the output: {e.strerror or e}", err=True)
            sys.exit(1)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Reads the arguments; Ctrl-C ends as it does later, where click would print `Aborted!`, exit code 1."""
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; exit code 1 for a failure, 2 for a mistake of the user."""
        try:
            return super().invoke(ctx)
        except HybridkgError as e:
            echo_error(e)
            ctx.exit(e.exit_code)
        except (KeyboardInterrupt, MemoryError) as e:
            interrupted = isinstance(e, KeyboardInterrupt)
            notes = getattr(e, "__notes__", ())
            state = "; the knowledge base is as it was before" if ctx.invoked_subcommand in WRITERS else ""
            state = "" if COMMITTED in notes else state
            echo(("interrupted" if interrupted else "out of memory") + state, err=True)
            # The text of numpy's MemoryError is the size of the array.
            for note in (*([] if interrupted else filter(None, [str(e)])), *notes):
                echo(note, err=True)
            ctx.exit(INTERRUPTED if interrupted else 1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of GROUPS, not of the alphabet."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands of `--help` by group; a command without a group comes last."""
        shown = {name: command for name, command in self.commands.items() if not command.hidden}
        grouped = {command.name for commands in GROUPS.values() for command in commands}
        rest = [command for name, command in shown.items() if name not in grouped]
        longest = max(map(len, shown))
        for title, commands in {**GROUPS, "Other": rest}.items():
            if commands:
                with formatter.section(title):
                    width = formatter.width - 6 - longest
                    formatter.write_dl([(f"{one.name:<{longest}}", one.get_short_help_str(width)) for one in commands])


@click.group(cls=Cli, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hybridkg")
def cli() -> None:
    """One declarative query over a knowledge graph and its text.

    \b
    Start here:
      hybridkg demo                                   see it work, on real input, offline
      hybridkg load my.kb data.ttl                    build a knowledge base
      hybridkg query my.kb 'SELECT ?x { ?x MATCH "words" AS ?s } RANK BY ?s LIMIT 5'
    """


for command in chain.from_iterable(GROUPS.values()):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `hybridkg`."""
    _open_streams()
    try:
        cli.main(arguments, prog_name="hybridkg")
    except SystemExit as e:
        _exit_if_orphaned(e)
        raise


def _exit_if_orphaned(end: SystemExit) -> None:
    """Exits at once if a stopped query is still in native code: it must not return into a Python that shuts down."""
    cancellation = sys.modules.get("hybridkg.kb.cancellation")  # without a query it is not imported
    if cancellation is None or not cancellation.count_orphans():
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)


def _open_streams() -> None:
    """Replaces closed standard streams, for which Python has None.

    A later file must not get the number of a closed stream. Writing to a closed stdout must fail, so it becomes a
    read-only one.
    """
    closed = (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    for name, flags, mode in closed:
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Values are Unicode in every locale; a file name that is not must not end the program.
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def _drop_output() -> None:
    """Discards the buffer of stdout, so that the end of the program does not fail on it again."""
    with suppress(OSError):  # io.UnsupportedOperation: a stream without a descriptor has no buffer
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
