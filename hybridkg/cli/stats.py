"""`hybridkg stats`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import PATH, kb_argument

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase


@click.command()
@kb_argument
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--verify", is_flag=True, help="Read every file and compare its checksum.")
@click.option("--statistics", is_flag=True, help="Show the planner's statistics of the graph instead.")
@click.option("--cost", is_flag=True, help="Show the planner's unit costs on this machine instead.")
@click.option("--skb", is_flag=True, help="Show entities, relations and words by type instead, as in STaRK's tables.")
@click.option("--topics", metavar="FILE", type=PATH, help="--skb: also show the figures of these questions.")
@click.option("--qrels", metavar="FILE", type=PATH, help="--skb: and of their answers.")
def stats(
    kb: Path,
    fmt: str,
    verify: bool,
    statistics: bool,
    cost: bool,
    skb: bool,
    topics: Path | None,
    qrels: Path | None,
) -> None:
    """Show the counts of a knowledge base.

    \b
    Example:
      hybridkg stats films.kb
    """
    from hybridkg.kb import KnowledgeBase
    from hybridkg.store.generations.folder import Folder

    if (topics and not skb) or (qrels and not topics):
        raise click.UsageError("--topics is for --skb, and --qrels for --topics")
    if skb and (statistics or cost or verify):
        raise click.UsageError("--skb stands alone: --statistics, --cost and --verify show something else")
    # First: a damaged knowledge base may not open, and this names the file.
    verified = Folder.open(kb).current().verify() if verify else None
    base = KnowledgeBase.open(kb)
    if skb:
        _print_skb(base, topics, qrels, fmt)
        return
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


def _print_skb(base: KnowledgeBase, topics: Path | None, qrels: Path | None, fmt: str) -> None:
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.cli.skb_figures import print_skb
    from hybridkg.evaluation.qrels import read_qrels
    from hybridkg.evaluation.question_figures import question_figures
    from hybridkg.evaluation.topics import read_topics

    questions = None
    if topics is not None:  # first, as a mistake in a small file should not cost a pass over the graph
        questions = question_figures(read_topics(topics), None if qrels is None else read_qrels(qrels))
    found = base.skb_figures(progress=TerminalProgress())
    if fmt == "json":
        echo_json(found.to_json() | ({} if questions is None else {"questions": questions.to_json()}))
    else:
        print_skb(found, questions, base)


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
