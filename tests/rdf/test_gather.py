"""Gathered texts are those of slices, with the compiled loop and without."""

from __future__ import annotations

import numpy as np
import pytest
from sampling import examples

from hybridkg.rdf.gather import KERNEL, gathered

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("seed", range(examples(5, 100)))
@pytest.mark.parametrize("compiled", [True, False])
def test_texts_in_any_order_are_those_of_slices(seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = KERNEL.load()
    assert module is not None
    monkeypatch.setattr(KERNEL, "for_work", lambda work: module if compiled else None)
    draw = np.random.default_rng(seed)
    text = draw.integers(0, 256, 200).astype(np.uint8)
    starts = draw.integers(0, 200, int(draw.integers(0, 50)))
    ends = np.minimum(starts + draw.integers(0, 9, len(starts)), 200)
    found, offsets = gathered(text, starts, ends)
    parts = [found[a:b].tobytes() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    assert parts == [text[a:b].tobytes() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
