"""Sample sizes of laws: a sample in the default run, many more examples in `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

EXHAUSTIVE = "exhaustive"
"""The name of the profile that `--exhaustive` loads."""


def examples(sample: int, many: int) -> int:
    """Examples of a law in this run.

    Args:
        sample: of the default run.
        many: of `make test-all`.

    >>> examples(50, 300) in (50, 300)
    True
    """
    return many if settings.get_current_profile_name() == EXHAUSTIVE else sample


def sampled(values: Iterable[object], *default: object) -> list[Any]:
    """Parameters of a test: a sample in the default run, all of them in `make test-all`.

    Args:
        values: all of them, a tuple for several arguments; of a mapping its keys.
        default: those of the default run; each is one of the values.

    >>> [len(one.marks) for one in sampled("abc", "b")]
    [1, 0, 1]
    """
    found = list(values)
    assert all(one in found for one in default), "a value of the default run is none of the parameters"
    return [
        pytest.param(
            *(one if isinstance(one, tuple) else (one,)), marks=() if one in default else pytest.mark.exhaustive
        )
        for one in found
    ]
