"""Texts that never repeat: constants inside the text, and names of variables and white space of its own.

An application or a chat that writes its queries sends such texts. No engine can have prepared one, and none finds it
in a cache of texts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_QUOTED = re.compile(r"(\"[^\"]*\"|'[^']*')")
_SPACES = (" ", "  ", "\n", " \n  ", "\t")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class FreshText:
    """The wording of one text; of the same number, the same.

    >>> one = FreshText(7)
    >>> one.inlined("id = :paper AND $words", {"paper": 3, "words": "red fish"}, "[:$]")
    "id = 3 AND 'red fish'"
    >>> one.worded("SELECT ?p", ["p"], mark=r"\\\\?") == FreshText(7).worded("SELECT ?p", ["p"], mark=r"\\\\?")
    True
    """

    number: int

    def name(self, name: str) -> str:
        """The name of a variable in this text: eight letters."""
        rng = random.Random(f"{self.number} {name}")
        return "".join(rng.choices(_LETTERS, k=8))

    def worded(self, text: str, names: Iterable[str], *, mark: str = r"(?<![\w$:.'])") -> str:
        """A text with names and white space of its own; `mark` is a pattern of what stands before a name."""
        rng = random.Random(self.number)
        pattern = re.compile(rf"({mark})({'|'.join(names)})\b")
        parts = _QUOTED.split(text)
        for at in range(0, len(parts), 2):
            renamed = pattern.sub(lambda found: found[1] + self.name(found[2]), parts[at])
            parts[at] = re.sub(" ", lambda _: rng.choice(_SPACES), renamed)
        return "".join(parts)

    @staticmethod
    def inlined(text: str, values: Mapping[str, object], mark: str) -> str:
        """A text with constants in place of parameters, which `mark` introduces."""

        def constant(found: re.Match[str]) -> str:
            value = values[found[1]]
            return f"'{value}'" if isinstance(value, str) else str(value)

        return re.sub(rf"{mark}({'|'.join(values)})\b", constant, text)
