"""Relational templates: a graph pattern with anchors, and phrasings that name the anchors.

A template is a HybridQL query with `?x` for the answers and marked variables, such as `$a`, for the anchors; the query
states the class of each. A phrasing is a noun phrase for the answers with the name of each anchor in braces, and the
frame of a role makes a question of it. Questions of the splits train and val use other phrasings and frames than those
of test, so that a system cannot learn the wording of the test questions.

Source: Wu et al., "STaRK" (NeurIPS 2024), section 4.2 and appendix A.2 to A.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.query import ast

ANSWER = "x"
"""Variable of the answers."""

REQUEST, PROPERTIES = "request", "properties"
"""Names in the braces of a frame: the filled phrasing, and the properties of the answers."""

SPLITS = ("train", "val", "test")

DEFAULT_SHARES = (0.6, 0.2, 0.2)
"""Shares of the splits of a file that states none; those of STaRK-MAG."""

PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with each `{name}` replaced by its value, once; braces in a value stay.

    >>> fill("papers by {a} on {b}", {"a": "{b}", "b": "parsing"})
    'papers by {b} on parsing'
    """
    return PLACE.sub(lambda match: values[match[1]], text)


@dataclass(frozen=True)
class Wordings:
    """Texts with places in braces: `train` for the splits train and val, `test` for the split test."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    def of(self, split: str) -> tuple[str, ...]:
        """The texts of a split.

        >>> Wordings(("papers by {a}",), ("articles of {a}",)).of("val")
        ('papers by {a}',)
        """
        return self.test if split.startswith("test") else self.train


@dataclass(frozen=True)
class Template:
    """A relational template.

    Args:
        name: in its file, such as "mag-4".
        metapath: as its source prints it.
        about: what is special about it; may be empty.
        text: the HybridQL text with its prologue; the anchors are parameters.
        query: the same, parsed.
        answers: IRI of the class of the answers.
        anchors: IRI of the class of each anchor, by variable, in the order of the query.
        phrasings: noun phrases for the answers.
    """

    name: str
    metapath: str
    about: str
    text: str
    query: ast.Query
    answers: str
    anchors: Mapping[str, str]
    phrasings: Wordings


@dataclass(frozen=True)
class Role:
    """A person who asks, such as "researcher", and the frames of the questions."""

    name: str
    frames: Wordings

    def frames_of(self, split: str, *, with_properties: bool) -> tuple[str, ...]:
        """The frames of a split that have, or have not, a place for properties."""
        place = "{" + PROPERTIES + "}"
        return tuple(frame for frame in self.frames.of(split) if (place in frame) == with_properties)


@dataclass(frozen=True)
class TemplateSet:
    """The templates of one file.

    Args:
        name: of the file.
        title: one line.
        templates: by name, in the order of the file.
        roles: of those who ask.
        splits: shares of train, val and test; their sum is 1.
    """

    name: str
    title: str
    templates: Mapping[str, Template]
    roles: tuple[Role, ...]
    splits: tuple[float, float, float] = DEFAULT_SHARES
