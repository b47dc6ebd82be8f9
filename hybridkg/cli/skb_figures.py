"""Tables of `hybridkg stats --skb`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hybridkg.cli.echo import echo
from hybridkg.cli.output import print_figures

if TYPE_CHECKING:
    from hybridkg.evaluation.question_figures import QuestionFigures
    from hybridkg.kb import KnowledgeBase
    from hybridkg.kb.skb.figures import SkbFigures, TextFigures

MAX_ROWS = 40
"""Rows of a table; JSON has all."""


def print_skb(found: SkbFigures, questions: QuestionFigures | None, base: KnowledgeBase) -> None:
    """Prints the figures of a knowledge base, and of questions about it."""
    from hybridkg.kb.snapshot import snapshot_of
    from hybridkg.rdf.well_known import shortened

    prefixes = snapshot_of(base).prefixes
    for name, value in (
        ("entities", f"{found.entities:,}"),
        ("entity types", f"{found.entity_types:,}"),
        ("relations", f"{found.relations:,}"),
        ("relation types", f"{found.relation_types:,}"),
        ("degree", f"{found.degree:,.1f}"),
    ):
        echo(f"{name}: {value}")
    for name, words in found.words.items():
        echo(f"words of {name}: {words.tokens:,} ({words.distinct:,} distinct, entropy {words.entropy:.2f})")
    if questions is not None:
        echo(f"questions: {questions.questions:,}")
        echo(f"  words: {questions.tokens:,}, entropy {questions.entropy:.2f}")
        echo(f"  type-token ratio: {questions.type_token_ratio:.4f}")
        if questions.mean_answers is not None:
            echo(f"  answers: {questions.mean_answers:.2f} on average, {questions.most_answers:,} at most")
            echo(f"  with several answers: {questions.several_answers:,}")
    rows = [
        [shortened(one.type, prefixes), f"{one.entities:,}", *_cells(one.words, found.words)]
        for one in found.types[:MAX_ROWS]
    ]
    print_figures(
        ["type", "entities", *(f"{name} {what}" for name in found.words for what in ("words", "entropy"))], rows
    )
    _print_more(found.entity_types - len(rows), "types")
    ends = [
        [*(shortened(iri, prefixes) for iri in (one.source, one.predicate, one.target)), f"{one.triples:,}"]
        for one in found.by_types[:MAX_ROWS]
    ]
    if ends:
        names = ["from", "relation", "to"]
        print_figures([*names, "triples"], ends, left=names)
        _print_more(len(found.by_types) - len(ends), "relations")


def _cells(own: Mapping[str, TextFigures], columns: Mapping[str, TextFigures]) -> list[str]:
    return [cell for name in columns for cell in (f"{own[name].tokens:,}", f"{own[name].entropy:.2f}")]


def _print_more(count: int, what: str) -> None:
    if count > 0:
        echo(f"and {count:,} more {what}; --format json has more of them")
