"""`hybridkg demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.echo import echo
from hybridkg.cli.options import PATH

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase

DEMO_FOLDER = Path("demo")
MAX_FACTS = 4
"""Facts shown for a row; a row of the demo has about as many."""


@click.command()
@click.argument("folder", type=PATH, default=DEMO_FOLDER)
def demo(folder: Path) -> None:
    """See it work: the metadata of the installed Python packages as a knowledge base, and queries over it.

    Needs no network and no server. Writes packages.nt, packages.kb and the queries into FOLDER (default: ./demo).
    Files of an earlier demo are replaced; any other file of these names is an error.

    \b
    Example:
      hybridkg demo
    """
    from hybridkg.cli.output import TerminalProgress, print_explanation
    from hybridkg.cli.search_kernels import tell_what_remains
    from hybridkg.compute import compilation
    from hybridkg.demo.made import Made
    from hybridkg.demo.packages import FILE_NAME, write_packages
    from hybridkg.demo.queries import PROFILE, demo_queries
    from hybridkg.errors import StorageError
    from hybridkg.kb import KnowledgeBase
    from hybridkg.kb.write.await_kernels import await_kernels

    kb_path = folder / "packages.kb"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StorageError(f"cannot write into {str(folder)!r}: {e.strerror}", hint="hybridkg demo FOLDER") from e
    queries = demo_queries()
    texts = {f"{query.name}.hq": query.text for query in queries}
    record = Made(folder)
    record.check([kb_path.name, FILE_NAME, *texts], texts)
    if kb_path.exists():
        KnowledgeBase.remove(kb_path)
    compilation.start()  # for the first large knowledge base; this one does without
    packages = write_packages(folder)
    record.note(FILE_NAME)
    echo(f"The metadata of {packages.installed} installed packages is {packages.triples:,} triples.\n")
    _show_command(f"hybridkg load {kb_path} {packages.path} --profile {PROFILE}")
    base = KnowledgeBase.create(kb_path)
    record.note(kb_path.name)  # before the load, in case it is interrupted
    report = base.load(packages.path, profile=PROFILE, progress=TerminalProgress())
    record.note(kb_path.name)
    entities = 0 if report.index is None else report.index.entities
    echo(f"{report.triples:,} triples, {entities:,} entities with text.")
    if packages.unreadable:
        echo(f"{packages.unreadable} packages have metadata that cannot be read; they are left out.")
    for query in queries:
        path = folder / f"{query.name}.hq"
        path.write_text(query.text, encoding="utf-8", newline="\n")
        record.note(path.name)
        echo(f"\n\n{query.question}\n")
        echo(_indented(query.text) + "\n")
        _show_command(f"hybridkg query {kb_path} -f {path}")
        _show_answer(base, query.text)
    echo("\n\nHow the first one is run:\n")
    _show_command(f"hybridkg explain {kb_path} -f {folder / queries[0].name}.hq --analyze")
    print_explanation(base.explain(queries[0].text, analyze=True), "text")
    compilation.ask()
    await_kernels(TerminalProgress())
    tell_what_remains()
    echo("\nAsk your own:\n")
    _show_command(f"hybridkg query {kb_path} 'SELECT ?p ?s {{ ?p MATCH \"your words\" AS ?s }} RANK BY ?s LIMIT 5'")


def _show_answer(base: KnowledgeBase, text: str) -> None:
    import sys

    from hybridkg.cli.output import summary
    from hybridkg.results.formats.table import write_table

    result = base.query(text)
    write_table(result, sys.stdout)
    echo(summary(result))
    best = next(iter(result), None)
    if best is None:
        return
    if best.scores:
        echo("scores of the first row: " + ", ".join(f"{name} {score:.4f}" for name, score in best.scores.items()))
    if facts := best.triples():
        echo("facts that made it match:")
        for triple in facts[:MAX_FACTS]:
            parts = (triple.subject, triple.predicate, triple.object)
            echo("  " + " ".join(_shortened(str(part)) for part in parts))
        if len(facts) > MAX_FACTS:
            echo(f"  and {len(facts) - MAX_FACTS} more")


def _shortened(term: str) -> str:
    if term.startswith("<"):
        return term[1:-1].rsplit("#", 1)[-1].rsplit("/", 1)[-1] or term
    return term if len(term) <= 60 else term[:57] + '..."'


def _show_command(command: str) -> None:
    echo(f"$ {command}")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines() if not line.startswith("#"))
