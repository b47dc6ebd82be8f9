"""The drift of a stored form is how much looser it can make a bound."""

import numpy as np
import pytest

from hybridkg.text.index.topk.block_max import COARSE, BlockMaxForm, default_forms
from hybridkg.text.index.topk.earlier_block_max import drift

pytestmark = pytest.mark.quick


def x_of(form, tf, lengths):
    return (form.coefficient * tf / (form.base + form.slope * lengths)).sum(axis=-1)


@pytest.mark.parametrize("seed", range(20))
def test_no_bound_is_looser_than_the_drift(seed):
    rng = np.random.default_rng(seed)
    fields = [(float(weight), b) for weight, b in zip(rng.choice([0, 1, 3], 4), (0.0, 0.3, 0.75, 1.0), strict=True)]
    fields[1] = 1.0, 0.3
    entities = rng.integers(1, 1_000, 4)
    totals = [(int(n), int(n * mean)) for n, mean in zip(entities, rng.uniform(1, 90, 4), strict=True)]
    later = [(n, int(tokens * rng.uniform(0.98, 1.02)) + 1) for n, tokens in totals]
    lengths = rng.integers(1, 300, (2_000, 4))
    tf = rng.integers(0, 9, lengths.shape)
    for stored, form in zip(default_forms(fields, totals), default_forms(fields, later), strict=True):
        used = form.coefficient > 0
        quotients = [
            (form.coefficient / (form.base + form.slope * length))[used]
            / (stored.coefficient / (stored.base + stored.slope * length))[used]
            for length in (1.0, 300.0)
        ]
        x, bound = x_of(form, tf, lengths), np.max(quotients) * x_of(stored, tf, lengths)
        assert (bound >= x * (1 - 1e-12)).all()
        assert (bound <= x * (1 + drift(stored, form)) * (1 + 1e-12)).all()
        assert drift(stored, stored) == 0
        assert drift(stored, form) < 0.05


def test_unlike_forms_are_infinitely_far():
    def form(base, slope=0.5, coefficient=1.0, *, together=False, levels=COARSE):
        parts = (np.array([1.0, value]) for value in (coefficient, base, slope))
        return BlockMaxForm(*parts, together=together, levels=levels)

    others = form(0.0), form(0.5, 0.0), form(0.5, coefficient=0.0), form(0.5, together=True), form(0.5, levels=256)
    for other in others:
        assert drift(form(0.5), other) == drift(other, form(0.5)) == np.inf
    assert drift(form(0.0), form(0.0)) == drift(form(0.5, 0.0), form(0.5, 0.0)) == 0
