"""Sample sizes of laws: a sample in the default run, many more examples in `make test-all`."""

from __future__ import annotations

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
