"""Commits that write tails, however small the base is, and however large they get."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hybridkg.graph.build import projection_tail
from hybridkg.kb.write import transaction_state
from hybridkg.text.index.build import incremental

WITH_TAILS = ("projection/*", "text/1.*")
"""Files that have another form where a commit writes tails."""


@contextmanager
def tails() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection_tail, "MIN_TRIPLES", 0)
        patch.setattr(projection_tail, "MAX_SHARE", 1.0)
        patch.setattr(transaction_state, "MIN_QUADS", 0)
        patch.setattr(incremental, "MIN_EXTENDED", 0)
        patch.setattr(incremental, "MAX_TAIL", 1.0)
        patch.setattr(incremental, "MAX_SPLICED", 1.0)
        yield
