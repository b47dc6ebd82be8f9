"""`hybridkg synthesise`."""

from __future__ import annotations

from pathlib import Path

import click

from hybridkg.cli.options import PATH, WholeNumber, kb_argument, opened


@click.command()
@kb_argument
@click.option("--templates", metavar="NAME|FILE", required=True, help="stark-amazon, -mag, -prime, or a .toml file.")
@click.option("--n", type=WholeNumber(1, 1_000_000), default=1000, show_default=True, help="Questions to make.")
@click.option("--seed", type=WholeNumber(0), default=1, show_default=True, help="Random seed.")
@click.option(
    "--max-answers", type=WholeNumber(1, 5000), default=20, show_default=True, help="Maximum answers of a question."
)
@click.option("--llm", metavar="MODEL", default="", help="Language model that writes properties and questions.")
@click.option(
    "--verifier", "verifiers", metavar="MODEL", multiple=True, help="Of --llm, at most two: verify the answers."
)
@click.option("--out", metavar="DIR", required=True, type=PATH, help="Folder to make.")
def synthesise(
    kb: Path, templates: str, n: int, seed: int, max_answers: int, llm: str, verifiers: tuple[str, ...], out: Path
) -> None:
    """Make questions with known answers about a knowledge base.

    A template is a graph pattern with phrasings. Its anchors are drawn, so that the pattern has answers; words of the
    text of one answer become properties; the answers of the question are those of the pattern whose text has the
    properties. The same seed makes the same questions. Wordings of the split test do not occur in train and val.

    With --llm, a model on the server in the table [reranking] of kb.toml writes properties and questions, and two
    requests verify each candidate, of which a pattern has at most 30. Texts of nodes are sent to this server.

    \b
    DIR gets gold.jsonl (how each question was made), topics, judgements and folds for run, eval and tune, report.json,
    and the files of STaRK if the IRIs of the answers end in numbers.

    \b
    Example:
      hybridkg synthesise stark-mag/kb --templates stark-mag --n 1000 --seed 1 --out made
    """
    from hybridkg.cli.echo import echo
    from hybridkg.cli.output import TerminalProgress, print_lines
    from hybridkg.evaluation.synthesis.output import refuse_existing, write_synthesis
    from hybridkg.evaluation.synthesis.synthesise import synthesise as make

    refuse_existing(out)
    with opened(kb) as base:
        made = make(
            base, templates, n, seed=seed, max_answers=max_answers, llm=llm, verifiers=verifiers,
            progress=TerminalProgress(),
        )  # fmt: skip
    write_synthesis(made, out)
    print_lines(made.lines())
    echo(f"{out}: {made.templates.title}", err=True)
