"""Strategies by name: ways to order graph and text work. A new one is one file and one line here."""

from __future__ import annotations

from hybridkg.registry import Registry

STRATEGIES = Registry(
    "strategy",
    "hybridkg.strategies",
    {
        "bind_join": "hybridkg.planner.strategies.bind_join:BindJoins",
        "each_list": "hybridkg.planner.strategies.each_list:EachList",
        "filter_first": "hybridkg.planner.strategies.filter_first:FilterFirst",
        "filtered_topk": "hybridkg.planner.strategies.filtered_topk:FilteredTopK",
        "oxigraph": "hybridkg.planner.strategies.oxigraph:Oxigraph",
        "rank_first": "hybridkg.planner.strategies.rank_first:RankFirst",
        "rank_join": "hybridkg.planner.strategies.rank_join:RankJoin",
        "reference": "hybridkg.planner.strategies.reference:Reference",
        "text_topk": "hybridkg.planner.strategies.text_topk:TextTopK",
        "threshold": "hybridkg.planner.strategies.threshold:Threshold",
    },
)
