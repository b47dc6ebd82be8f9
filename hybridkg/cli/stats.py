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
@click.option("--statistics", is_flag=True, help="Show what was counted in the graph, for the planner, instead.")
@click.option("--cost", is_flag=True, help="Show what units of work cost on this machine, for the planner, instead.")
def stats(kb: Path, fmt: str, verify: bool, statistics: bool, cost: bool) -> None:
    """Show what a knowledge base holds.

    \b
    Example:
      hybridkg stats films.kb
    """
    from hybridkg.kb import KnowledgeBase
    from hybridkg.store.generations.folder import Folder

    # First, because what is damaged may not open, and this names it.
    verified = Folder.open(kb).current().verify() if verify else None
    base = KnowledgeBase.open(kb)
    found: dict[str, Any]
    if statistics or cost:
        found = {"statistics": _statistics(base)} if statistics else {}
        found |= {"cost": base.cost()} if cost else {}
    else:
        found = base.stats()
    if verified is not None:
        found["verified_files"] = verified
    if fmt == "json":
        echo_json(found)
    else:
        _print(found)


def _statistics(base: Any) -> dict[str, Any] | None:
    counted = base.statistics()
    return None if counted is None else counted.to_json()


def _print(found: dict[str, Any]) -> None:
    from hybridkg.cli.output import print_stats
    from hybridkg.cli.planner_figures import print_costs, print_statistics

    if not {"statistics", "cost"} & found.keys():
        print_stats(found)
        return
    if "statistics" in found:
        print_statistics(found["statistics"])
    if "cost" in found:
        print_costs(found["cost"])
    if "verified_files" in found:
        echo(f"verified files: {found['verified_files']:,}")
