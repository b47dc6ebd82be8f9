"""Measures what queries of a knowledge base cost on this machine, when it has just been indexed."""

from __future__ import annotations

from itertools import chain

import numpy as np

from hybridkg.errors import HybridkgError
from hybridkg.kb.snapshot import Snapshot
from hybridkg.planner.calibration.local_calibration import calibrate, some_words

MIN_TRIPLES = 50_000
"""A smaller graph answers everything at once, and nothing in it takes long enough to be measured."""

MIN_POSTINGS = 1_000_000
"""An index with as many is asked with compiled kernels by any process that goes on asking, so these are measured."""

SAMPLE = 40
"""Entities whose texts give the words that are asked for."""

PREDICATES = 50
"""Most frequent predicates among which a large and a small one are chosen."""


def measure(snapshot: Snapshot) -> bool:
    """Finds the unit costs of this machine, and keeps them beside the knowledge base.

    Takes up to a second; with the text on a server up to twelve, until a server that was just started is warm; with the
    graph on one up to five more.

    Whether it did: not for a small graph, where no one wants it (HYBRIDKG_COSTS=default), nor when a server does not
    answer. Whatever goes wrong, the defaults hold.
    """
    costs = snapshot.costs
    if (
        costs.memoize_for_template
        or snapshot.text is None
        or snapshot.generation.manifest.counts["quads"] < MIN_TRIPLES
    ):
        return False
    try:
        _load_kernel(snapshot)
        known = snapshot.statistics
        listed = () if known is None else known.predicates[:PREDICATES]
        costs.calibrated(
            calibrate(
                text=snapshot.text,
                words=_words(snapshot),
                graph=snapshot.graph,
                store=None if snapshot.endpoint else snapshot.store,
                endpoint=snapshot.store if snapshot.endpoint else None,
                predicates=[(one.iri, one.triples) for one in listed],
            )
        )
    except HybridkgError:
        return False
    return True


def _load_kernel(snapshot: Snapshot) -> None:
    """What a long process uses is to be measured, not what the first queries of a process make do with."""
    from hybridkg.text.models.additive import KERNEL

    if snapshot.text is not None and snapshot.text.counts.get("postings", 0) >= MIN_POSTINGS:
        KERNEL.load()


def _words(snapshot: Snapshot) -> list[str]:
    """Words of some entities, evenly spread."""
    if snapshot.nodes is None or not len(snapshot.nodes):
        return []
    ids = np.unique(np.linspace(0, len(snapshot.nodes) - 1, SAMPLE).astype(np.uint32))
    texts = chain.from_iterable(snapshot.texts(snapshot.nodes.nodes(ids)))
    return some_words([text for _, text, _ in texts])
