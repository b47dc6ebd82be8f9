"""The analysis of the commits of a process: the terms of words are kept from one commit to the next.

A commit of 10,000 keywords meets 24,000 distinct words, whose folding and stemming takes 40 ms; most of them come again
with the next commits. The result does not depend on what is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.index.build.analysis_batch import BatchAnalyzer

MAX_BYTES = 32_000_000
"""Bytes of words and terms above which they are not kept."""

_Key: TypeAlias = frozenset[tuple[str, type[Analyzer], str]]
"""Names, classes and chains of analyzers."""

_kept: list[tuple[_Key, BatchAnalyzer]] = []
_lock = threading.Lock()


@contextmanager
def kept_analysis(analyzers: Mapping[str, Analyzer]) -> Iterator[BatchAnalyzer]:
    """An analysis by these analyzers, for the block: that of the last commit, where no other thread uses it."""
    key: _Key = frozenset((name, type(analyzer), analyzer.chain) for name, analyzer in analyzers.items())
    with _lock:
        held = _kept.pop() if _kept and _kept[-1][0] == key else None
    analysis = BatchAnalyzer(analyzers) if held is None else held[1]
    yield analysis
    analysis.forget_values()
    if analysis.held <= MAX_BYTES:
        with _lock:
            _kept[:] = [(key, analysis)]
