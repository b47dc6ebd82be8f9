"""`hybridkg stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import kb_argument


@click.command()
@kb_argument
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--verify", is_flag=True, help="Read every file and compare its checksum.")
@click.option("--statistics", is_flag=True, help="Show the planner's statistics of the graph instead.")
@click.option("--cost", is_flag=True, help="Show the planner's unit costs on this machine instead.")
def stats(kb: Path, fmt: str, verify: bool, statistics: bool, cost: bool) -> None:
    """Show the counts of a knowledge base.

    \b
    Example:
      hybridkg stats films.kb
    """
    from hybridkg.kb import KnowledgeBase
    from hybridkg.store.generations.folder import Folder

    # First: a damaged knowledge base may not open, and this names the file.
    verified = Folder.open(kb).current().verify() if verify else None
    base = KnowledgeBase.open(kb)
    figures: dict[str, Any]
    if statistics or cost:
        figures = {"statistics": _statistics(base)} if statistics else {}
        figures |= {"cost": base.cost()} if cost else {}
    else:
        figures = base.stats()
    if verified is not None:
        figures["verified_files"] = verified
    if fmt == "json":
        echo_json(figures)
    else:
        _print(figures, base)


def _statistics(base: Any) -> dict[str, Any] | None:
    counted = base.statistics()
    return None if counted is None else counted.to_json()


def _print(figures: dict[str, Any], base: Any) -> None:
    from hybridkg.cli.output import print_stats
    from hybridkg.cli.planner_figures import print_costs, print_statistics
    from hybridkg.kb.snapshot import snapshot_of

    if not {"statistics", "cost"} & figures.keys():
        print_stats(figures)
        return
    if "statistics" in figures:
        print_statistics(figures["statistics"], snapshot_of(base).prefixes)
    if "cost" in figures:
        print_costs(figures["cost"])
    if "verified_files" in figures:
        echo(f"verified files: {figures['verified_files']:,}")
