"""Strategies by name: ways to order graph and text work. A new one is one file and one line here."""

from __future__ import annotations

from hybridkg.registry import Registry

STRATEGIES = Registry(
    "strategy",
    "hybridkg.strategies",
    {
        "bind_join": "hybridkg.planner.strategies.bind_join:BindJoins",
        "oxigraph": "hybridkg.planner.strategies.oxigraph:Oxigraph",
        "reference": "hybridkg.planner.strategies.reference:Reference",
        "text_topk": "hybridkg.planner.strategies.text_topk:TextTopK",
    },
)
