"""Facts as documents, so that rankings of triples are evaluated by the usual measures.

A fact is a triple in N-Triples form. Files are tab-separated: judgements have lines `topic subject predicate object`,
each a correct fact, and runs have the score as fifth column. `Qrels` and `Run` have an identifier without blanks for a
fact (`fact_id`), so measures, `compare`, `write_run` and TREC files work on it. Parts of a fact get no credit.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from hybridkg.errors import ParameterError
from hybridkg.evaluation import trec_eval
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.text_lines import decoded, numbered_lines, quoted, refuse

FACT_MEASURES = ("hit@1", "hit@10", "mrr@1000")
"""The measures of DiFaR (evaluation.md, trap 10)."""

_UNSAFE = re.compile(r"[%|\s\x00-\x20\x7f-\xa0]")


class Fact(NamedTuple):
    """A triple of terms in N-Triples form, such as `<http://x/a>` or `"red fish"@en`."""

    subject: str
    predicate: str
    object: str


def fact_id(fact: Fact) -> str:
    """The identifier of a fact: its terms joined by "|", with blanks, "|" and "%" escaped as %XX.

    >>> fact_id(Fact("<http://x/a>", "<http://x/name>", '"red fish"@en'))
    '<http://x/a>|<http://x/name>|"red%20fish"@en'
    """
    return "|".join(_UNSAFE.sub(_escaped, term) for term in fact)


def fact_of(identifier: str) -> Fact:
    """The fact of an identifier, the inverse of `fact_id`; ParameterError if it is invalid.

    >>> fact_of('<a>|<p>|"red%20fish"').object
    '"red fish"'
    """
    terms = [unquote(term, errors="replace") for term in identifier.split("|")]
    if len(terms) != 3 or not all(terms):
        raise ParameterError(
            f"{quoted(identifier)} is not a fact", hint="a fact is subject|predicate|object, with %20 for a blank"
        )
    return Fact(*terms)


def read_fact_qrels(path: Path) -> Qrels:
    """Facts, with grade 1, of tab-separated lines `topic subject predicate object`; LoadError for an invalid line."""
    path = Path(path)
    grades: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(path, "a file of facts"):
        topic, fact = _topic_and_fact(path, number, decoded(path, number, line).split("\t"), 4)
        of_topic = grades.setdefault(topic, {})
        if fact in of_topic:
            refuse(path, number, f"the fact appears twice for the topic {quoted(topic)}", "keep one of the two lines")
        of_topic[fact] = 1
    return Qrels(grades)


def read_fact_run(path: Path) -> Run:
    """Facts of lines `topic subject predicate object score`, in trec_eval's order; LoadError as `read_fact_qrels`."""
    path = Path(path)
    scored: dict[str, dict[str, float]] = {}
    for number, line in numbered_lines(path, "a run of facts"):
        columns = decoded(path, number, line).split("\t")
        topic, fact = _topic_and_fact(path, number, columns, 5)
        try:
            score = float(columns[4])
        except ValueError:
            score = math.nan
        if not math.isfinite(score) or "_" in columns[4]:
            refuse(path, number, f"{quoted(columns[4])} is not a score", "a score is a finite number")
        of_topic = scored.setdefault(topic, {})
        if fact in of_topic:
            message = f"the fact appears twice for the topic {quoted(topic)}"
            refuse(path, number, message, "a ranking has a fact once; keep its best line")
        of_topic[fact] = score
    name = path.name.split(".")[0] or path.name
    return Run(name, {topic: trec_eval.ranked(list(of_topic.items())) for topic, of_topic in scored.items()})


def _topic_and_fact(path: Path, number: int, columns: list[str], wanted: int) -> tuple[str, str]:
    names = ("topic", "subject", "predicate", "object", "score")[:wanted]
    if len(columns) != wanted:
        some = f"{len(columns)} column{'' if len(columns) == 1 else 's'}"
        refuse(path, number, f"{some} instead of {wanted}", f"each line is, separated by tabs: {' '.join(names)}")
    columns = [column.strip(" ") for column in columns]
    if empty := next((name for name, column in zip(names, columns, strict=True) if not column), ""):
        refuse(path, number, f"the {empty} is empty")
    if any(c.isspace() for c in columns[0]):
        refuse(path, number, f"the topic id {quoted(columns[0])} contains blanks", "no run or judgement could name it")
    return columns[0], fact_id(Fact(*columns[1:4]))


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())
