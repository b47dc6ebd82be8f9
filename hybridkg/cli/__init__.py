"""The command line: one file for each command, and this one, which turns errors into text and exit codes."""

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
from hybridkg.cli.compare import compare
from hybridkg.cli.completion import completion
from hybridkg.cli.dataset import dataset
from hybridkg.cli.demo import demo
from hybridkg.cli.doctor import doctor
from hybridkg.cli.echo import echo
from hybridkg.cli.eval import evaluate
from hybridkg.cli.explain import explain
from hybridkg.cli.index import index
from hybridkg.cli.load import load
from hybridkg.cli.migrate import migrate
from hybridkg.cli.parity import parity
from hybridkg.cli.prune import prune
from hybridkg.cli.query import query
from hybridkg.cli.repl.command import repl
from hybridkg.cli.run import run
from hybridkg.cli.schema import schema
from hybridkg.cli.stats import stats
from hybridkg.cli.tune import tune
from hybridkg.errors import HybridkgError

INTERRUPTED = 130
"""The shell's exit code for Ctrl-C (128 + SIGINT)."""


WRITERS = ("load", "index", "migrate")
"""The commands that change a knowledge base."""


GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Knowledge base": (demo, load, index, stats, schema, migrate),
    "Query": (query, repl, explain, analyze),
    "Evaluation": (dataset, run, evaluate, compare, tune, parity),
    "Care": (doctor, prune, completion),
}
"""The commands as `--help` lists them."""


class Cli(click.Group):
    """Shows every error of the family as text on stderr, never as a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program, help and version included; exit 1 where its output cannot be written."""
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                sys.stdout.flush()
        except OSError as e:
            # What reads or writes files names them and tells its errors itself; the output has no name.
            if e.filename is not None:
                raise
            _drop_output()
            if e.errno != errno.EPIPE:  # the reader of our output has gone (`| head`): nobody is left to tell
                echo(f"cannot write the output: {e.strerror or e}", err=True)
            sys.exit(1)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Reads the arguments; Ctrl-C meanwhile ends as it does later (click would say `Aborted!`, exit code 1)."""
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; exit 1 where the work failed, 2 where the user can mend it."""
        try:
            return super().invoke(ctx)
        except HybridkgError as e:
            echo(e.render(), err=True)
            ctx.exit(e.exit_code)
        except (KeyboardInterrupt, MemoryError) as e:
            interrupted = isinstance(e, KeyboardInterrupt)
            state = "; the knowledge base is as it was before" if ctx.invoked_subcommand in WRITERS else ""
            echo(("interrupted" if interrupted else "out of memory") + state, err=True)
            # What numpy says of itself is how much it asked for.
            for note in (*([] if interrupted else filter(None, [str(e)])), *getattr(e, "__notes__", ())):
                echo(note, err=True)
            ctx.exit(INTERRUPTED if interrupted else 1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are first needed."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands of `--help`, group by group; a command that is in no group comes last."""
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
        _leave_what_is_at_work(e)
        raise


def _leave_what_is_at_work(end: SystemExit) -> None:
    """Ends the program at once where a query that was stopped is still in native code.

    It must not come back into a Python that is shutting down.
    """
    stopping = sys.modules.get("hybridkg.kb.cancellation")  # not imported, no query
    if stopping is None or not stopping.busy():
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)


def _open_streams() -> None:
    """Makes the standard streams safe to use, whatever the shell did to them.

    Python has None for a closed one. Its number must not go to a file that is opened later, and nothing must
    seem printed that is not, so a closed stdout becomes a stream that refuses what is written to it.
    """
    closed = (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    for name, flags, mode in closed:
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The values are Unicode, wherever they go; what is not (a file name, say) must not end the program.
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def _drop_output() -> None:
    """Sends what stdout still holds nowhere, so that the end of the program does not fail on it again."""
    with suppress(OSError):  # io.UnsupportedOperation: a stream without a descriptor holds nothing back
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
