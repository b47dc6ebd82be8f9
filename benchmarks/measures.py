"""How long reading and evaluating a run of 467 topics x 1,000 documents takes: `python -m benchmarks.measures`.

Ten measures, the same for all three: hybridkg, pytrec_eval (trec_eval's own C code) and ir_measures, each given the
judgements and the run in the form that it wants, in memory. The collection has the size of DBpedia-Entity v2:
105 judged documents for each topic, half of them relevant, and four fifths of them in the ranking.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ir_measures
import pytrec_eval

from benchmarks.record import record
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.run import Run, read_run, write_run

TOPICS, DEPTH, JUDGED, POOL = 467, 1000, 105, 1300
SEED = 20261121
REPEATS = 5
MEASURES = {
    "ndcg@10": "ndcg_cut_10",
    "ndcg@100": "ndcg_cut_100",
    "map@100": "map_cut_100",
    "map": "map",
    "p@10": "P_10",
    "mrr": "recip_rank",
    "hit@10": "success_10",
    "recall@100": "recall_100",
    "recall@1000": "recall_1000",
    "rprec": "Rprec",
}
"""Ours, and the same by trec_eval's name."""
IR_MEASURES = "nDCG@10 nDCG@100 AP@100 AP P@10 RR Success@10 R@100 R@1000 Rprec"
SHOWN = ("ndcg@10", "ndcg@100", "map@100", "judged@10", "condensed-ndcg@10")


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """(seconds of the fastest, what it gave)."""
    best, result = float("inf"), None
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def collection() -> tuple[Qrels, Run]:
    """Judgements and a run with falling scores, from the seed."""
    chance = random.Random(SEED)
    names = [f"<dbpedia:Entity_number_{i}>" for i in range(POOL * 20)]
    grades: dict[str, dict[str, int]] = {}
    rankings: dict[str, tuple[tuple[str, float], ...]] = {}
    for number in range(TOPICS):
        pool = chance.sample(names, POOL)
        grades[f"q{number}"] = {name: chance.choice((0, 0, 1, 2)) for name in chance.sample(pool, JUDGED)}
        rankings[f"q{number}"] = tuple((name, 1000.0 - rank) for rank, name in enumerate(chance.sample(pool, DEPTH)))
    return Qrels(grades), Run("made", rankings)


def main() -> None:
    """Measures and stores."""
    qrels, run = collection()
    qrels_dict = {topic: dict(grades) for topic, grades in qrels.grades.items()}
    run_dict = {topic: dict(ranking) for topic, ranking in run.rankings.items()}
    ten = [parse_measure(name) for name in MEASURES]
    ours_s, ours = best_of(REPEATS, lambda: evaluate(qrels, run, ten))
    shown_s, _ = best_of(REPEATS, lambda: evaluate(qrels, run, [parse_measure(name) for name in SHOWN]))
    wanted = {
        "ndcg_cut.10,100", "map_cut.100", "map", "P.10", "recip_rank", "success.10", "recall.100,1000", "Rprec",
    }  # fmt: skip
    evaluator = pytrec_eval.RelevanceEvaluator(qrels_dict, wanted)
    trec_s, trec = best_of(REPEATS, lambda: evaluator.evaluate(run_dict))
    names = [ir_measures.parse_measure(name) for name in IR_MEASURES.split()]
    ir_s, _ = best_of(REPEATS, lambda: ir_measures.calc(names, qrels_dict, run_dict))
    apart = max(
        abs(ours[name][topic] - trec[topic][column]) for name, column in MEASURES.items() for topic in qrels.grades
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.run"
        writing_s, _ = best_of(1, lambda: write_run(run, path))
        reading_s, again = best_of(REPEATS, lambda: read_run(path))
        judgements = Path(folder) / "qrels.txt"
        judgements.write_text("".join(f"{t} 0 {d} {g}\n" for t, of in qrels_dict.items() for d, g in of.items()))
        qrels_s, _ = best_of(REPEATS, lambda: read_qrels(judgements))
    assert again.documents("q0") == run.documents("q0")
    figures = {
        "topics": TOPICS,
        "documents_per_topic": DEPTH,
        "judged_per_topic": JUDGED,
        "measures": list(MEASURES),
        "evaluate_s": round(ours_s, 3),
        "evaluate_at_most_s": 2.0,
        "pytrec_eval_s": round(trec_s, 3),
        "ir_measures_s": round(ir_s, 3),
        "times_pytrec_eval": round(ours_s / trec_s, 2),
        "times_ir_measures": round(ours_s / ir_s, 2),
        "largest_difference_from_pytrec_eval": apart,
        "default_measures_of_hybridkg_eval_s": round(shown_s, 3),
        "read_run_s": round(reading_s, 3),
        "read_qrels_s": round(qrels_s, 3),
        "write_run_s": round(writing_s, 3),
        "ndcg@10": round(mean(ours["ndcg@10"]), 6),
        "compared_with": {name: version(name) for name in ("ir-measures", "pytrec-eval-terrier")},
    }
    record("measures", figures, seed=SEED)
    assert ours_s < 2.0, ours_s


if __name__ == "__main__":
    main()
