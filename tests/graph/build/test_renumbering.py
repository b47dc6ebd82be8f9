"""Renumbered ids against a table of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.graph.build import renumbering
from hybridkg.graph.build.renumbering import Renumbering

moves = st.lists(st.sampled_from(["stays", "stays", "stays", "goes", "after a new one", "moves"]), max_size=30)


def next_ids(kinds):
    """The next id of each earlier one, by what happens to it."""
    ids, at = [], 0
    for kind in kinds:
        at += kind == "after a new one"
        ids.append(-1 if kind == "goes" else 1_000 + len(ids) if kind == "moves" else at)
        at += kind not in ("goes", "moves")
    return np.array(ids, np.int64)


@pytest.mark.parametrize("limit", [0, 3, 100])
@settings(max_examples=examples(40, 1000), deadline=None)
@given(moves, st.data())
def test_ids_are_renumbered_as_the_table_says(limit, kinds, data):
    of_old = next_ids(kinds)
    staying = np.flatnonzero(of_old >= 0).tolist()
    chosen = data.draw(st.lists(st.sampled_from(staying), max_size=20)) if staying else []
    ids = np.array(chosen, np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renumbering, "MAX_STEPS", limit)
        patch.setattr(renumbering, "MAX_SLICES", limit)
        own = Renumbering.of(of_old)
        before = ids.copy()
        assert own.apply(ids, max(chosen, default=0)).tolist() == of_old[ids].tolist()
        assert own.of_sorted(np.sort(ids)).tolist() == of_old[np.sort(ids)].tolist()
        assert ids.tolist() == before.tolist()
