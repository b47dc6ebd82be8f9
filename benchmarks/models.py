"""Every ranking model on three judged collections, beside flat BM25 and beside another implementation of it.

    python -m benchmarks.models [PART ...] [--work FOLDER] [--keep FOLDER] [--collections NAME,...] [--anthology KB]

The parts; those not named keep the figures that are stored:
    bm25s      USING bm25 beside bm25s (`pip install bm25s`), which is fed the same tokens, k1, b and formula
    quality    each model with default parameters against flat bm25: two paired tests, Holm over a collection
    smoothing  the language models under other mu, for the question what a good default is; nothing is chosen by it
    tuned      cross-validated bm25, bm25f, mlm and fsdm against bm25 untuned and tuned (benchmarks/models_tuned.py)
    speed      milliseconds a query, as ratios to bm25f in the same run
    table      no measuring: prints what is stored as Markdown, as in docs/models.md

The collections are made by `hybridkg dataset` in --work, or found there. Quality does not depend on the machine;
times do, and stand beside the load it had.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.models_figures import SEED, TESTED, Values, by_category, compared, evaluated, means
from benchmarks.models_systems import BASELINE, COLLECTIONS, Collection, System, collections
from benchmarks.record import RESULTS, record
from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.ranking import rank
from hybridkg.interfaces.text_index import FieldChoice, TextQuery

TIMES_MEAN = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""mu as a multiple of the mean length of each text that is smoothed."""
TOKENS = (50.0, 100.0, 500.0, 1000.0, 2000.0)
"""mu in tokens, the same for every field."""


def quality(collection: Collection) -> dict[str, Any]:
    """Every system with default parameters."""
    values: dict[str, Values] = {}
    for name, system in collection.systems().items():
        values[name] = evaluated(collection, collection.run(system, name))
        print(collection.name, name, means(values[name]), flush=True)
    extended = [(name, system.base) for name, system in collection.systems().items() if system.base]
    return {
        "topics": len(collection.qrels.grades),
        "fields": {name: collection.text.field_totals(name) for name in collection.text.fields},
        "weights": _weights(collection),
        "means": {name: means(own) for name, own in values.items()},
        "by_category": by_category(collection, values),
        f"against_{BASELINE}": compared(values),
        "against_what_it_extends": {
            f"{name} - {base}": compared({base: values[base], name: values[name]}) for name, base in extended
        },
    }


def _weights(collection: Collection) -> dict[str, dict[str, float]]:
    profile = collection.kb._snapshot.profile
    assert profile is not None
    return {field.name: {"weight": field.weight, "b": field.b} for field in profile.indexed_fields()}


def smoothing(collection: Collection) -> dict[str, Any]:
    """The language models under other mu."""
    found: dict[str, Any] = {}
    totals = {name: collection.text.field_totals(name) for name in collection.text.fields}
    whole = sum(total["tokens"] for total in totals.values()) / collection.text.task(TextQuery("a")).n_entities
    for model in ("lm", "mlm", "prms", "fsdm"):
        own: dict[str, Any] = {}
        for mu in TOKENS:
            own[f"mu={mu:g}"] = _measured(collection, System(model, (("mu", mu),)))
        for times in TIMES_MEAN:
            if model == "lm":
                figures = _measured(collection, System(model, (("mu", times * whole),)))
            else:
                fields = tuple(FieldChoice(n, None, (("mu", times * t["mean_length"]),)) for n, t in totals.items())
                figures = _measured(collection, System(model), fields)
            own[f"mu={times:g} x mean length"] = figures
        found[model] = own
        print(collection.name, model, own, flush=True)
    return {"mean_length_of_all_fields": round(whole, 1), **found}


def _measured(collection: Collection, system: System, fields: tuple[FieldChoice, ...] = ()) -> dict[str, float]:
    query = TextQuery("", syntax=False, fields=fields, model=system.model, arguments=system.arguments)
    run = rank(collection.kb, collection.topics, query)
    return means(evaluate(collection.qrels, run, [parse_measure(name) for name in TESTED]))


def _bm25s(collection: Collection) -> dict[str, Any]:
    from benchmarks.models_bm25s import beside_bm25s

    return beside_bm25s(collection)


def _tuned(keep: Path, objectives: str, collection: Collection) -> dict[str, Any]:
    from benchmarks.models_tuned import tuned

    before: dict[str, Any] = stored().get("tuned", {}).get(collection.name, {})
    return before | tuned(collection, keep, tuple(objectives.split(",")))


def _speed(collection: Collection) -> dict[str, Any]:
    from benchmarks.models_speed import speed

    return speed(collection)


def stored() -> dict[str, Any]:
    """The figures of the last runs, by part and collection."""
    path = RESULTS / "models.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {part: found[part] for part in PARTS if part in found}


PARTS: Mapping[str, Callable[[Collection], dict[str, Any]]] = {
    "bm25s": _bm25s,
    "quality": quality,
    "smoothing": smoothing,
    "tuned": partial(_tuned, Path(), ""),
    "speed": _speed,
}
APART = {"tuned": ("cacm", "fb15k-dbpedia-entity"), "speed": ("fb15k-dbpedia-entity",), "bm25s": ("cranfield", "cacm")}
"""Parts that are not about every collection."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "table", []], help="default: all")
    parser.add_argument("--work", type=Path, help="folder of the collections; default: a temporary one")
    parser.add_argument("--keep", type=Path, help="folder of finished trainings, to go on with")
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--objectives", default="ndcg@10,map@100", help="what `tuned` maximises in training")
    parser.add_argument("--anthology", type=Path, help="knowledge base of the ACL Anthology, for its speed as well")
    options = parser.parse_args()
    if options.parts == ["table"]:
        from benchmarks.models_report import table

        print(table(stored()))
        return
    with tempfile.TemporaryDirectory(prefix="hybridkg-") as scratch:
        keep = options.keep or Path(scratch) / "keep"
        parts: dict[str, Callable[[Collection], dict[str, Any]]] = {
            **PARTS,
            "tuned": partial(_tuned, keep, options.objectives),
        }
        wanted = tuple(options.collections.split(","))
        for part in options.parts or PARTS:
            own = tuple(name for name in APART.get(part, COLLECTIONS) if name in wanted)
            figures = {c.name: _dated(parts[part], c) for c in collections(options.work or Path(scratch), own)}
            if part == "speed" and options.anthology:
                from benchmarks.models_speed import anthology_speed

                figures["acl-anthology"] = anthology_speed(options.anthology)
            before = stored()
            record("models", {**before, part: {**before.get(part, {}), **figures}}, seed=SEED)


def _dated(part: Callable[[Collection], dict[str, Any]], collection: Collection) -> dict[str, Any]:
    load = os.getloadavg()[0]
    return {**part(collection), "date": date.today().isoformat(), "load_average": round(load, 1)}


if __name__ == "__main__":
    main()
