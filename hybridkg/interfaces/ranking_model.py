"""Ranking models by name. A new model is one file and one line here."""

from __future__ import annotations

from hybridkg.registry import Registry

RANKING_MODELS = Registry(
    "ranking model",
    "hybridkg.ranking_models",
    {
        "bm25f": "hybridkg.text.models.bm25f:BM25F",
    },
)
