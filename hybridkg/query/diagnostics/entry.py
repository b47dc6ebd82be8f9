"""The entry of a common mistake."""

from __future__ import annotations

from typing import NamedTuple


class Help(NamedTuple):
    """A message, a hint, and queries with this one mistake; `{found}` in the hint is replaced by the token."""

    message: str
    hint: str
    examples: tuple[str, ...]
