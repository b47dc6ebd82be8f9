"""`hybridkg analyze`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import echo, echo_json
from hybridkg.cli.options import kb_argument, opened

if TYPE_CHECKING:
    from hybridkg.interfaces.text_index import TermStatistics
    from hybridkg.text.match_query.analyzed import TextAnalysis


@click.command()
@kb_argument
@click.argument("text")
@click.option("--field", default="", metavar="NAME", help="Only this field; default: all.")
@click.option("--language", default="", metavar="TAG", help="Language of the text, such as de; default: English.")
@click.option("--format", "fmt", type=click.Choice(["table", "json"]), default="table", show_default=True)
def analyze(kb: Path, text: str, field: str, language: str, fmt: str) -> None:
    """Show the terms of a text, as index and query see them.

    Prints each word of TEXT, the folded and stemmed term that is indexed and looked up, and its df, the number of
    entities that have it in each field; then the synonyms that a query also looks up.

    \b
    Example:
      hybridkg analyze films.kb "The crews of spaceships" --field description
    """
    from hybridkg.errors import TextQueryError
    from hybridkg.kb.snapshot import snapshot_of
    from hybridkg.text.match_query.analyzed import analyzed, as_query
    from hybridkg.text.match_query.synonyms import stored_synonyms

    operators: list[TermStatistics] = []
    mistake: TextQueryError | None = None
    with opened(kb) as base:
        snapshot = snapshot_of(base)
        # The profile of the index; before the first index step, the configured one.
        fields = (snapshot.profile or base.profile()).fields
        synonyms = stored_synonyms(snapshot.generation.path / "text")
        analyses = analyzed(text, fields, language=language, only=field, index=snapshot.text, synonyms=synonyms)
        if snapshot.text is not None:
            try:
                operators = as_query(text, snapshot.text, language=language, only=field)
            except TextQueryError as e:
                mistake = e
    if fmt == "json":
        echo_json(_as_json(analyses, operators, mistake))
    else:
        for number, analysis in enumerate(analyses):
            echo("" if number else None, nl=bool(number))
            _print_analysis(analysis)
        _print_operators(operators)
        if mistake is not None:
            echo(f"\nnote: in quotes behind MATCH this text is an error: {mistake.message}", err=True)
            echo("      as a $parameter it is plain words, as above", err=True)
    if snapshot.text is None:
        echo("note: there is no text index to count in; build it with: hybridkg index KB", err=True)


def _as_json(
    analyses: list[TextAnalysis], operators: list[TermStatistics], mistake: Exception | None
) -> dict[str, Any]:
    return {
        "analyses": [analysis.to_json() for analysis in analyses],
        "query_string": [
            {"role": t.role, "term": t.term, "df": t.df}
            | ({"alternatives": t.alternatives, "total": t.total} if t.total else {})
            for t in operators
        ],
        "query_string_error": None if mistake is None else getattr(mistake, "message", str(mistake)),
    }


def _print_analysis(analysis: TextAnalysis) -> None:
    from hybridkg.results.formats.table import CONTROL

    stemmer = f", {analysis.stemmer} stemmer" if analysis.stemmer else ", no stemmer for this language"
    echo(f"analyzer: {analysis.chain}{stemmer if 'snowball' in analysis.chain else ''}")
    echo(f"fields: {', '.join(analysis.fields)}\n")
    if not analysis.words:
        echo("no word in this text: it matches nothing")
        return
    _print_words(analysis)
    if not any(word.term for word in analysis.words):
        echo("no term of this text is indexed: it matches nothing")
    elif all(word.is_stop or not word.term for word in analysis.words):
        echo("the text has nothing but stop words: a query searches them")
    for alternatives in analysis.synonyms:
        echo(f"synonyms: {alternatives.translate(CONTROL)}")


def _print_words(analysis: TextAnalysis) -> None:
    """Prints a row for each word, with a column for each field if they fit, else one column that names the fields."""
    from rich.cells import cell_len

    from hybridkg.cli.output import text_table
    from hybridkg.results.formats.table import BETWEEN_COLUMNS, CONTROL, console_on

    console = console_on(sys.stdout)
    heads = ["word", "term"]
    rows = [[w.word, f"{w.term} (stop word)" if w.is_stop else w.term or "(dropped)"] for w in analysis.words]
    if any(word.df for word in analysis.words):
        counts = [[f"{w.df[f]:,}" if w.df else "-" for f in analysis.fields] for w in analysis.words]
        columns = zip([*heads, *analysis.fields], *([*a, *b] for a, b in zip(rows, counts, strict=True)), strict=True)
        needed = sum(max(map(cell_len, column)) + BETWEEN_COLUMNS for column in columns) - BETWEEN_COLUMNS
        if needed <= console.width:
            heads += analysis.fields
        else:
            heads.append("entities by field")
            counts = [
                [", ".join(f"{f} {n:,}" for f, n in w.df.items() if n) or ("none" if w.df else "-")]
                for w in analysis.words
            ]
        rows = [[*row, *more] for row, more in zip(rows, counts, strict=True)]
    cells = ([cell.translate(CONTROL) for cell in row] for row in rows)
    console.print(text_table(heads, cells, range(2, len(heads)) if len(heads) > 3 else ()))


def _print_operators(operators: list[TermStatistics]) -> None:
    from hybridkg.interfaces.text_index import alternatives_of

    if operators:
        echo("\nin quotes behind MATCH it has operators; entities with each part in any of the fields:")
    for term in operators:
        echo(f"  {term.role:<6}  {term.term}  {term.df:,}{alternatives_of(term, '  ({})')}")
