"""Judged collections as ready knowledge bases, by name. A new one is one file here, one line below, and a profile.

A name stands for a `Recipe` (recipe.py): where its files are, and how they become triples, topics and judgements.
`make_dataset` (building.py) does the rest, the same for all.
"""

from __future__ import annotations

from hybridkg.registry import Registry

DATASETS = Registry(
    "dataset",
    "hybridkg.datasets",
    {
        "cacm": "hybridkg.datasets.cacm:CACM",
        "cranfield": "hybridkg.datasets.cranfield:CRANFIELD",
        "dbpedia-entity-v2": "hybridkg.datasets.dbpedia.collection:DBPEDIA_ENTITY_V2",
        "fb15k-dbpedia-entity": "hybridkg.datasets.fb15k:FB15K_DBPEDIA_ENTITY",
        "stark": "hybridkg.datasets.stark.making:STARK",
    },
)
"""Recipes."""
