"""No regular expression repeats a group possessively, as `(ab?c)*+` does.

Before Python 3.11.5, a group that fails in its middle leaves the position there, so the match is too long or fails
(https://github.com/python/cpython/issues/106052). Debian 12 has Python 3.11.2. An atomic group `(?>(ab?c)*)` has the
same meaning in every version, and single characters may be repeated possessively.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from package_sources import PACKAGE, files, tree

from hybridkg.query.tables import GRAMMARS
from hybridkg.resources import resource

_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_POSSESSIVE_GROUP = re.compile(r"(?<![\\(])\)(?:[*+?]|\{+[^{}]*(?:\{[^{}]*\})?[^{}]*\}+)\+")


def possessive_groups(pattern: str) -> list[str]:
    """The possessive repeats of groups in a pattern, outside character classes.

    >>> possessive_groups("(?:ab?c)*+[()*+]x++(?>(?:a)*)"), possessive_groups("(a){2}+(a){{0,{MAX - 1}}}+")
    ([')*+'], ['){2}+', '){{0,{MAX - 1}}}+'])
    """
    return _POSSESSIVE_GROUP.findall(_CLASS.sub("x", pattern))


@pytest.mark.parametrize(
    "pattern", ["(?:ab?c)*+", "(a){2}+", "(?:a)++", "(?:a)?+", "[)](?:a|b)*+", "(a){{0,{MAX - 1}}}+"]
)
def test_they_are_found(pattern: str) -> None:
    assert possessive_groups(pattern)


@pytest.mark.parametrize("pattern", ["(?>(?:ab?c)*)", "[()*+]", "a*+", r"\)*+", "-._~!$&'()*+,;=:@/"])
def test_others_are_not(pattern: str) -> None:
    assert not possessive_groups(pattern)


def test_no_module_has_one() -> None:
    found = [
        f"{file.relative_to(PACKAGE.parent)}:{node.lineno}"
        for file in files()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and possessive_groups(node.value if isinstance(node.value, str) else node.value.decode("latin-1"))
    ]
    assert not found


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_no_grammar_has_one(grammar: str) -> None:
    text = Path(str(resource("grammar", grammar))).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    assert not [line for line in lines if possessive_groups(line)]
