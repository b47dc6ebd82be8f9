"""The published figures of every real run file of DBpedia-Entity, to the digits in which they were published.

DBpedia-Entity v2: the collection's own tables of these runs. ELR: SOURCE.txt gives the MAP of four of its twelve runs.
Of the other eight and of the eleven DynES runs no printed figure is at hand here: their values are held to those of
trec_eval, topic by topic, and pinned as computed.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import pytrec_eval
from sampling import sampled

from hybridkg.evaluation.categories import categories_by_prefix
from hybridkg.evaluation.comparison import compare, compare_values
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.run import Run, read_run
from hybridkg.evaluation.significance import TESTS

pytestmark = pytest.mark.needs_shared

GROUPS = ("SemSearch_ES", "INEX_LD", "ListSearch", "QALD2")

BM25F = "kewer/bm25f_v2_5fold.run.xz"
PUBLISHED_V2 = {
    "GEEER_embert": ".6643/.7442 .4793/.5611 .5441/.5793 .4831/.5427 .5412/.6043 .757 .610",
    "GEEER_embert_1st": ".6502/.7428 .4831/.5614 .5040/.5625 .4443/.5224 .5171/.5939 .779 .578",
    "GEEER_monobert": ".6331/.7252 .4811/.5628 .4919/.5532 .4388/.5187 .5078/.5865 .769 .569",
    "GEEER_monobert_1st": ".6429/.7331 .4862/.5637 .4926/.5542 .4490/.5247 .5146/.5907 .783 .573",
    BM25F: ".6606/.7391 .4456/.5127 .4287/.4989 .3442/.4375 .4631/.5416 .962 .467",
    "fused": ".7195/.7763 .5241/.5845 .5478/.5873 .4553/.5265 .5566/.6142 .930 .571",
}
"""NDCG@10/@100 of each group and in total, judged@10, condensed NDCG@10."""

PUBLISHED_ELR = {"lm": ".1588", "lm_elr": ".1693", "fsdm": ".2030", "fsdm_elr": ".2159"}
"""MAP."""

COMPUTED_ELR = {
    "lm": ".1588 .1664",
    "lm_elr": ".1693 .1757",
    "mlm-tc": ".1821 .1786",
    "mlm-tc_elr": ".1937 .1895",
    "mlm-all": ".1940 .1965",
    "mlm-all_elr": ".2082 .2054",
    "prms": ".1936 .1977",
    "prms_elr": ".2078 .2085",
    "sdm": ".1719 .1707",
    "sdm_elr": ".1794 .1812",
    "fsdm": ".2030 .1973",
    "fsdm_elr": ".2159 .2078",
}
"""MAP and P@10."""

COMPUTED_DYNES = {
    "dynes_imp-uri_only": {"imp-uri": ".8354 .8604", "utility-uri": ".7645 .8117"},
    "dynes_utility-uri_only": {"imp-uri": ".8291 .8652", "utility-uri": ".8164 .8569"},
    "relin-uri_only": {"imp-uri": ".6368 .7130", "utility-uri": ".6300 .7066"},
    "linksum-uri_only": {"imp-uri": ".7018 .7031", "utility-uri": ".6504 .6648"},
    "summarum-uri_only": {"imp-uri": ".7181 .7412", "utility-uri": ".6719 .7111"},
    "relin": {"imp": ".4733 .5261", "rel": ".3514 .4255", "utility": ".4680 .5322"},
    "linksum": {"imp": ".5657 .4991", "rel": ".2890 .2915", "utility": ".4953 .4549"},
    "summarum": {"imp": ".5813 .5283", "rel": ".3040 .3210", "utility": ".5134 .4883"},
    "dynes_imp": {"imp": ".7851 .7959", "rel": ".4671 .5305", "utility": ".7146 .7506"},
    "dynes_rel": {"imp": ".5756 .6151", "rel": ".5269 .5775", "utility": ".6138 .6536"},
    "dynes_utility": {"imp": ".7672 .7792", "rel": ".5771 .6423", "utility": ".7547 .7873"},
}
"""NDCG@5 and NDCG@10 under each of the judgements (linksum and summarum have the same file for both tables)."""


@pytest.fixture(scope="module")
def collection(shared_data: Path) -> Path:
    return shared_data / "dbpedia-entity-v2"


@pytest.fixture(scope="module")
def unpacked(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """unpacked(archive) -> the folder that its files are in."""
    folders: dict[str, Path] = {}

    def unpack(archive: str) -> Path:
        if archive not in folders:
            folders[archive] = tmp_path_factory.mktemp("runs")
            with tarfile.open(collection / archive) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # absent before Python 3.11.4
                tar.extractall(folders[archive])
        return folders[archive]

    return unpack


@pytest.fixture(scope="module")
def judged(collection: Path) -> Qrels:
    return read_qrels(collection / "v2" / "qrels-v2.txt.gz")


@pytest.fixture(scope="module")
def v2_run(collection: Path, unpacked: Callable[[str], Path]) -> Callable[[str], Run]:
    runs: dict[str, Run] = {}

    def read(name: str) -> Run:
        if name not in runs:
            if name == "fused":
                runs[name] = fused(read(BM25F), read("GEEER_embert"))
            elif name == BM25F:
                runs[name] = read_run(collection / name)
            else:
                runs[name] = read_run(unpacked("geeer-embert-runs.tar.xz") / f"{name}.run")
        return runs[name]

    return read


@pytest.fixture(scope="module")
def elr_judged(collection: Path) -> Qrels:
    return read_qrels(collection / "elr-v1" / "qrels" / "qrels-v3.9.txt")


@pytest.fixture(scope="module")
def elr_run(unpacked: Callable[[str], Path]) -> Callable[[str], Run]:
    return cache(lambda name: read_run(unpacked("elr-v1/runs.tar.xz") / "runs" / f"{name}.treceval"))


def fused(*runs: Run) -> Run:
    """Reciprocal rank fusion with k = 60 over whole rankings; ties by document, upwards."""
    rankings: dict[str, tuple[tuple[str, float], ...]] = {}
    for topic in runs[0].rankings:
        scores: dict[str, float] = {}
        for run in runs:
            for rank, document in enumerate(run.documents(topic), 1):
                scores[document] = scores.get(document, 0.0) + 1 / (60 + rank)
        rankings[topic] = tuple(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
    return Run("rrf", rankings)


def shown(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}".removeprefix("0")


@pytest.mark.parametrize("name", sampled(PUBLISHED_V2, BM25F, "fused"))
def test_the_runs_on_dbpedia_entity_v2_have_their_published_figures(name, v2_run, judged):
    values = evaluate(
        judged, v2_run(name), map(parse_measure, ("ndcg@10", "ndcg@100", "judged@10", "condensed-ndcg@10"))
    )
    category = categories_by_prefix(judged.grades)
    groups = [[topic for topic in judged.grades if category[topic] == group] for group in GROUPS]
    assert [len(group) for group in groups] == [113, 99, 115, 140]
    cells = [
        f"{shown(mean(values['ndcg@10'], topics))}/{shown(mean(values['ndcg@100'], topics))}"
        for topics in [*groups, list(judged.grades)]
    ]
    cells += [shown(mean(values["judged@10"]), 3), shown(mean(values["condensed-ndcg@10"]), 3)]
    assert " ".join(cells) == PUBLISHED_V2[name]


def test_the_recall_of_the_bm25f_run_is_the_published_one(v2_run, judged):
    values = evaluate(judged, v2_run(BM25F), map(parse_measure, ("recall@50", "recall@100", "recall@1000")))
    assert [shown(mean(of_topic), 3) for of_topic in values.values()] == [".566", ".667", ".850"]
    [first_stage] = evaluate(judged, v2_run("GEEER_embert"), [parse_measure("recall@100")]).values()
    assert shown(mean(first_stage), 3) == ".704"


def of_trec_eval(qrels: Qrels, run: Run, measure: str) -> dict[str, float]:
    evaluator = pytrec_eval.RelevanceEvaluator(dict(qrels.grades), {measure})
    values = evaluator.evaluate({topic: dict(ranking) for topic, ranking in run.rankings.items()})
    column = measure.replace(".", "_")
    return {topic: values[topic][column] if topic in values else 0.0 for topic in qrels.grades}


# Of all twelve test_published_experiments.py measures the same figures by default.
@pytest.mark.parametrize("name", sampled(COMPUTED_ELR, "lm", "fsdm_elr"))
def test_the_elr_runs_have_their_published_map(name, elr_run, elr_judged):
    qrels, run = elr_judged, elr_run(name)
    assert run.name == name
    values = evaluate(qrels, run, map(parse_measure, ("map", "p@10")))
    assert " ".join(shown(mean(of_topic)) for of_topic in values.values()) == COMPUTED_ELR[name]
    assert shown(mean(values["map"])) == PUBLISHED_ELR.get(name, shown(mean(values["map"])))
    # trec_eval gets the true scores: it finds our order in them by itself.
    assert values["map"] == pytest.approx(of_trec_eval(qrels, run, "map"), abs=1e-12)
    assert values["p@10"] == pytest.approx(of_trec_eval(qrels, run, "P.10"), abs=1e-12)


@pytest.mark.parametrize("name", COMPUTED_DYNES)
def test_the_dynes_runs_have_the_figures_of_trec_eval(name, collection, unpacked):
    run = read_run(unpacked("dynes/runs.tar.xz") / f"{name}.run")
    for criterion, want in COMPUTED_DYNES[name].items():
        qrels = read_qrels(collection / "dynes" / f"qrels-{criterion}.txt")
        assert len(qrels) == (95 if criterion.endswith("-uri") else 100)
        values = evaluate(qrels, run, map(parse_measure, ("ndcg@5", "ndcg@10")))
        assert " ".join(shown(mean(of_topic)) for of_topic in values.values()) == want, criterion
        assert values["ndcg@5"] == pytest.approx(of_trec_eval(qrels, run, "ndcg_cut.5"), abs=1e-12)
        assert values["ndcg@10"] == pytest.approx(of_trec_eval(qrels, run, "ndcg_cut.10"), abs=1e-12)


ELR = tuple(name for name in COMPUTED_ELR if not name.endswith("_elr"))


@pytest.mark.parametrize("model", sampled(ELR, "lm", "fsdm"))
def test_elr_gains_significantly_over_each_of_six_models(model, elr_run, elr_judged):
    values = {name: evaluate(elr_judged, elr_run(name), [parse_measure("map")]) for name in (model, f"{model}_elr")}
    for test in TESTS:
        (found,) = compare_values(values, test=test).comparisons
        assert found.topics == 485
        for name, value in ((model, found.baseline_mean), (f"{model}_elr", found.mean)):
            assert shown(value) == COMPUTED_ELR[name].split()[0]
        assert found.p < 0.001
        assert 0 < found.low < found.difference < found.high
        assert found.wins > found.losses


def test_fusion_gains_by_one_measure_and_loses_by_the_other(v2_run, judged):
    measures = [parse_measure(name) for name in ("ndcg@10", "condensed-ndcg@10")]
    runs = {"embert": v2_run("GEEER_embert"), "bm25f": v2_run(BM25F), "rrf": v2_run("fused")}
    lexical, rrf, _, condensed = compare(judged, runs, measures).comparisons
    assert (lexical.topics, round(lexical.baseline_mean, 4), round(lexical.mean, 4)) == (467, 0.5412, 0.4631)
    assert (round(rrf.mean, 4), round(rrf.difference, 4)) == (0.5566, 0.0154)
    assert rrf.p == pytest.approx(0.046, abs=0.003)
    assert rrf.low < 0.001  # the whole interval is hardly above 0
    assert (round(condensed.baseline_mean, 3), round(condensed.mean, 3)) == (0.610, 0.571)
    assert condensed.p < 1e-4
    assert condensed.high < 0
