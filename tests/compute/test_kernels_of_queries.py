"""Kernels that answer queries load before the first query, where the caller asks for it."""

from __future__ import annotations

from pathlib import Path

from hybridkg import KnowledgeBase
from hybridkg.compute import kernels
from hybridkg.compute.kernels import LazyKernel, load_for_queries
from hybridkg.text.index.positions import phrases
from hybridkg.text.index.topk import topk
from hybridkg.text.models import additive

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
SMALLEST = "hybridkg.text.models.logarithm_kernel"


def test_opening_with_warm_up_loads_those_that_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_of_queries", [])
    ready, other = LazyKernel(SMALLEST, background=True), LazyKernel(SMALLEST)
    assert LazyKernel(SMALLEST).load() is not None  # compiled now, if it was not
    KnowledgeBase.create(tmp_path / "films.kb").load(FILMS)
    with KnowledgeBase.open(tmp_path / "films.kb"):
        assert ready.loaded is None
    with KnowledgeBase.open(tmp_path / "films.kb", warm_up=True):
        assert ready.loaded is not None
    assert other.loaded is None


def test_phrases_do_not_wait_for_their_kernel_either():
    assert {additive.KERNEL, topk.BOUNDS, phrases.KERNEL} <= set(kernels._of_queries)


def test_one_that_is_not_compiled_is_left_to_other_processes(monkeypatch):
    monkeypatch.setattr(kernels, "_of_queries", [])
    asked = []
    monkeypatch.setattr(kernels, "is_compiled", lambda module: False)
    monkeypatch.setattr(kernels.compilation, "ask", lambda: asked.append(1))
    waiting = LazyKernel(SMALLEST, background=True)
    load_for_queries()
    assert waiting.loaded is None
    assert asked == [1]
