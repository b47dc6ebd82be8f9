"""Cross-validated models against flat BM25, untuned and tuned in the same folds.

Every topic is ranked by a model that has not seen it. On FB15k-237 one is learned for each category and fold, as in
DBpedia-Entity v2 (its official folds); CACM has no categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.models_figures import Values, by_category, compared, evaluated, means
from benchmarks.models_systems import BASELINE, SYSTEMS, Collection
from hybridkg.evaluation.ranking import query_of, rank
from hybridkg.evaluation.tuning.folds import read_folds
from hybridkg.evaluation.tuning.training import Settings
from hybridkg.evaluation.tuning.tune import TuneReport, Tuning

MODELS = (BASELINE, "bm25f", "mlm", "fsdm")

SMOOTHING = {"smoothing": ("dirichlet", "jm")}
CHOOSE = {"bm25f": {"form": ("lucene", "galago")}, "mlm": SMOOTHING, "fsdm": SMOOTHING}
"""Of these words each training takes the one that does best on its own topics."""

FEWER_RESTARTS = {("fb15k-dbpedia-entity", "fsdm"): 2, ("cacm", "fsdm"): 2}
"""Than those of `hybridkg tune`, only for the time it takes: 20 trainings in four stages."""


OBJECTIVES = ("ndcg@10", "map@100")
"""What is maximised in training: the default of `hybridkg tune`, and one that looks at more of a ranking, so that it
varies less where topics are few."""


def tuned(collection: Collection, keep: Path, objectives: tuple[str, ...] = OBJECTIVES) -> dict[str, Any]:
    """Test-fold figures of every model, for each objective."""
    return {objective: tuned_for(collection, objective, keep) for objective in objectives}


def tuned_for(collection: Collection, objective: str, keep: Path) -> dict[str, Any]:
    """The same for one objective."""
    values: dict[str, Values] = {BASELINE: evaluated(collection, collection.run(SYSTEMS[BASELINE], BASELINE))}
    trained: dict[str, Any] = {}
    for model in MODELS:
        restarts = FEWER_RESTARTS.get((collection.name, model), Settings.restarts)
        settings = Settings(model, restarts=restarts, measure=objective, choose=CHOOSE.get(model, {}))
        tuning = Tuning(collection.kb, collection.topics, collection.qrels, settings)
        folds = read_folds(collection.folder / "folds.json", tuning.topics)
        report = tuning.run(folds, collection.categories, jobs=2, keep=keep / f"{collection.name}-{model}-{objective}")
        if model != BASELINE:
            run = rank(collection.kb, collection.topics, query_of(report.defaults))
            values[f"{model} default"] = evaluated(collection, run)
        values[f"{model} tuned"] = evaluated(collection, tuning.ranked(report, model))
        trained[model] = _told(report)
        print(collection.name, objective, model, means(values[f"{model} tuned"]), flush=True)
    by = collection.categories
    against = {
        "untuned": compared(_against(BASELINE, values), by=by),
        "tuned": compared(_against(f"{BASELINE} tuned", values), by=by),
    }
    own = {
        model: compared({f"{model} default": values[f"{model} default"], f"{model} tuned": values[f"{model} tuned"]})
        for model in MODELS[1:]
    }
    return {
        "topics": len(collection.qrels.grades),
        "means": {name: means(v) for name, v in values.items()},
        "by_category": by_category(collection, values),
        f"against_{BASELINE}": against,
        "against_own_defaults": own,
        "training": trained,
    }


def _against(baseline: str, values: Mapping[str, Values]) -> dict[str, Values]:
    """The baseline, then what is tuned."""
    others = {name: v for name, v in values.items() if name.endswith("tuned") and not name.startswith(f"{BASELINE} ")}
    return {baseline: values[baseline], **others}


def _told(report: TuneReport) -> dict[str, Any]:
    settings = report.settings
    outcomes = report.outcomes
    topics = sum(len(o.training.training) for o in outcomes)
    return {
        "choose": {name: list(words) for name, words in settings.choose.items()},
        "measure": settings.measure,
        "restarts": settings.restarts,
        "seed": settings.seed,
        "trainings": len(outcomes),
        "points": sum(o.learned.evaluations for o in outcomes),
        "cpu_seconds": round(sum(o.learned.cpu for o in outcomes), 1),
        "training_mean": {
            "default": round(sum(o.learned.default * len(o.training.training) for o in outcomes) / topics, 4),
            "tuned": round(sum(o.learned.value * len(o.training.training) for o in outcomes) / topics, 4),
        },
        "parameters": {
            o.training.name: {"arguments": dict(o.learned.parameters.arguments)}
            | {"fields": {name: dict(own) for name, own in o.learned.parameters.fields.items() if own}}
            for o in outcomes
        },
    }
