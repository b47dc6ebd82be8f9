"""The command line: one file for each command, and this one, which turns errors into text and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from hybridkg import __version__
from hybridkg.cli.demo import demo
from hybridkg.cli.explain import explain
from hybridkg.cli.index import index
from hybridkg.cli.load import load
from hybridkg.cli.query import query
from hybridkg.cli.stats import stats
from hybridkg.errors import HybridkgError

INTERRUPTED = 130
"""The shell's exit code for Ctrl-C (128 + SIGINT)."""


class Cli(click.Group):
    """Shows every error of the family as text on stderr, never as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; exit 1 where the work failed, 2 where the user can mend it."""
        try:
            return super().invoke(ctx)
        except HybridkgError as e:
            click.echo(e.render(), err=True)
            ctx.exit(e.exit_code)
        except KeyboardInterrupt:
            click.echo("interrupted; the knowledge base is as it was before", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            # The reader of our output has gone (`| head`): nobody is left to tell.
            sys.stderr.close()
            ctx.exit(1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are first needed."""
        return list(self.commands)


@click.group(cls=Cli, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hybridkg")
def cli() -> None:
    """One declarative query over a knowledge graph and its text.

    \b
    Start here:
      hybridkg demo                                   see it work, on real input, offline
      hybridkg load my.kb data.ttl --index            build a knowledge base
      hybridkg query my.kb 'SELECT ?x { ?x MATCH "words" AS ?s } RANK BY ?s LIMIT 5'
    """


for command in (demo, load, index, query, explain, stats):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `hybridkg`."""
    cli.main(arguments, prog_name="hybridkg")
