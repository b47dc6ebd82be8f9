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
        "cacm": "hybridkg.evaluation.datasets.cacm:CACM",
        "cranfield": "hybridkg.evaluation.datasets.cranfield:CRANFIELD",
        "dbpedia-entity-v2": "hybridkg.evaluation.datasets.dbpedia.collection:DBPEDIA_ENTITY_V2",
        "fb15k-dbpedia-entity": "hybridkg.evaluation.datasets.fb15k:FB15K_DBPEDIA_ENTITY",
        "stark": "hybridkg.evaluation.datasets.stark.making:STARK",
    },
)
"""Recipes."""
