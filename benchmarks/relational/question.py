"""A question, written by hand for each language, and its texts, none of which repeats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.writing import BASE
from benchmarks.relational.draw import Draw

Constants = Mapping[str, int | str]

SPARQL, SQL, CYPHER = "sparql", "sql", "cypher"
LANGUAGES = SPARQL, SQL, CYPHER
ARRAYS = "arrays"
"""The language of what is written by hand over arrays: the name of the question, then its constants."""
PREFIX = f"PREFIX : <{BASE}> "

_MARKS = {SPARQL: r"\?", SQL: r"(?<![\w$:.'])", CYPHER: r"(?<![\w$:.'])"}
"""What stands before a name: names are single lower-case letters in every language."""
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def nothing(_: Draw) -> Constants:
    """The constants of a question that has none."""
    return {}


@dataclass(frozen=True)
class Question:
    """One question.

    `$name` stands for a constant, `~` for the base of all IRIs in SQL and Cypher; SPARQL has the prefix `:`.

    Args:
        name: in the result.
        sparql: for hybridkg and Oxigraph; with MATCH for hybridkg alone.
        sql: for DuckDB; empty where it has no form.
        cypher: for Kuzu; empty where it has no form.
        constants: draws what is different in every text.
        keys: columns that the order determines, to be compared as a sequence; empty: rows are compared as a multiset.
        by_hand: its name in engine_arrays; empty where it has none.
        target_ms: what the answer should cost, by the design; None without a figure.
    """

    name: str
    sparql: str = ""
    sql: str = ""
    cypher: str = ""
    constants: Callable[[Draw], Constants] = field(default=nothing, compare=False)
    keys: tuple[int, ...] = ()
    by_hand: str = ""
    target_ms: float | None = None

    def written(self, language: str) -> str:
        """The text with `$name` in place of constants; empty where the language has none."""
        text: str = getattr(self, language)
        return (PREFIX + text if language == SPARQL else text.replace("~", BASE)) if text else ""

    def text(self, language: str, constants: Constants, number: int | None) -> str:
        """A text with its constants; with a number, in words of its own.

        >>> one = Question("a", "SELECT ?p { ?p :field :f$field }")
        >>> one.text("sparql", {"field": 7}, None)
        'PREFIX : <http://mag.example/> SELECT ?p { ?p :field :f7 }'
        >>> one.text("sparql", {"field": 7}, 1) == one.text("sparql", {"field": 7}, 2)
        False
        """
        text, fresh = self.written(language), FreshText(number or 0)
        if not text:
            return ""
        if number is not None:
            names = sorted(set(re.findall(_MARKS[language] + r"([a-z])\b", _QUOTED.sub("", text))))
            text = fresh.worded(text, names or ("a",), mark=_MARKS[language])
        return fresh.inlined(text, constants, r"\$") if constants else text


def texts(questions: Mapping[str, tuple[Question, ...]], draw: Draw, repeats: int, first: int) -> list[dict[str, Any]]:
    """What the engines are asked: plain data, so that an engine's process needs no question.

    Args:
        questions: by group.
        draw: draws the constants.
        repeats: of each question, and one more that warms.
        first: number of the first text; those of other passes have other numbers.

    Returns:
        for each question: `name`, `group`, `keys`, and by language `fresh` and `known`, repeats + 1 texts each; a known
        text has the names of all others of its question, and no `known` where there are no constants, either.
    """
    found, number = [], first
    for group, own in questions.items():
        for one in own:
            draws = [[one.constants(draw.at(one.name, 2 * at + half)) for half in (0, 1)] for at in range(repeats + 1)]
            by_language: dict[str, dict[str, list[str]]] = {}
            if one.by_hand:
                hand = [one.by_hand + "".join(f"|{value}" for value in constants.values()) for constants, _ in draws]
                by_language[ARRAYS] = {"fresh": hand, "known": []}
            for language in filter(one.written, LANGUAGES):
                fresh = [one.text(language, constants, number + at) for at, (constants, _) in enumerate(draws)]
                known = [one.text(language, constants, None) for _, constants in draws] if draws[0][0] else []
                by_language[language] = {"fresh": fresh, "known": known}
            number += repeats + 1
            found.append({"name": one.name, "group": group, "keys": one.keys, "texts": by_language})
    return found
