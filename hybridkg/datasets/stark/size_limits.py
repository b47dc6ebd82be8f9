"""Limits of the attributes of a node, which are untrusted: a pickled value may contain itself."""

from __future__ import annotations

from hybridkg.errors import LoadError

MAX_TEXT = 1 << 26
"""Characters of a node, which bound a list that contains itself."""

MAX_PARTS = 1 << 21
"""Texts, numbers, lists and dictionaries in the attributes of a node."""

DEEPEST = 50
"""Nested lists."""


def too_large(iri: str) -> LoadError:
    """The error of a node beyond the limits."""
    return LoadError(f"the attributes of the node {iri} are too large, or contain themselves")


def check_size(iri: str, attributes: object) -> None:
    """Refuses attributes whose text would be too long. A value that occurs twice counts twice.

    Raises:
        LoadError: more than MAX_TEXT, MAX_PARTS or DEEPEST.
    """
    left, parts = MAX_TEXT, MAX_PARTS
    waiting: list[tuple[object, int]] = [(attributes, 0)]
    while waiting:
        value, depth = waiting.pop()
        parts -= 1
        if isinstance(value, str | bytes):
            left -= len(value)
        elif isinstance(value, dict):
            parts -= len(value)
            waiting += ((part, depth + 1) for part in value.values())
            left -= sum(len(key) for key in value if isinstance(key, str))
        elif isinstance(value, list | tuple):
            waiting += ((part, depth + 1) for part in value)
        if depth > DEEPEST or left < 0 or parts < len(waiting):
            raise too_large(iri)
