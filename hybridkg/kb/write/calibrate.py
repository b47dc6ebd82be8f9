"""Calibration of the unit costs of a knowledge base on this machine, after an index step."""

from __future__ import annotations

from itertools import chain

import numpy as np

from hybridkg.errors import HybridkgError
from hybridkg.kb.snapshot import Snapshot
from hybridkg.planner.calibration.local_calibration import calibrate, some_words
from hybridkg.storage.distinct import sorted_distinct

MIN_TRIPLES = 50_000
"""Triples of the smallest graph in which work takes long enough to be measured."""

MIN_POSTINGS = 1_000_000
"""Postings of the smallest index for which any long process uses compiled kernels, so these are measured."""

SAMPLE = 40
"""Entities whose texts give the words of the measured queries."""

PREDICATES = 50
"""Most frequent predicates, of which a large and a small one are measured."""


def measure(snapshot: Snapshot) -> bool:
    """Measures the unit costs and writes them to `cost.json`; returns whether it did.

    It does not for a small graph, with HYBRIDKG_COSTS=default, for a large index whose kernel is not compiled yet, or
    when a server fails; the defaults hold then. Takes up to 1 s; with a remote text index up to 12 s, until a server
    that was just started is warm; with a remote graph up to 5 s more.
    """
    costs = snapshot.costs
    if costs.fixed or snapshot.text is None or snapshot.generation.manifest.counts["quads"] < MIN_TRIPLES:
        return False
    try:
        if not _kernel_is_loaded(snapshot):
            return False
        statistics = snapshot.statistics
        listed = () if statistics is None else statistics.predicates[:PREDICATES]
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


def _kernel_is_loaded(snapshot: Snapshot) -> bool:
    """Loads the compiled kernel of a large index: it, not the numpy reference of a cold process, is measured.

    Returns:
        Whether an index of this size can be measured: the kernel of a large one may not be compiled yet.
    """
    from hybridkg.text.models.additive import KERNEL

    if snapshot.text is None or snapshot.text.counts.get("postings", 0) < MIN_POSTINGS:
        return True
    if KERNEL.is_pending:
        return False
    KERNEL.load()
    return True


def _words(snapshot: Snapshot) -> list[str]:
    if snapshot.nodes is None or not len(snapshot.nodes):
        return []
    ids = sorted_distinct(np.linspace(0, len(snapshot.nodes) - 1, SAMPLE).astype(np.uint32))
    texts = chain.from_iterable(snapshot.texts(snapshot.nodes.nodes(ids)))
    return some_words([text for _, text, _ in texts])
