"""Tuning: the fast scores against the model, the fast measures against `evaluate`, and what may influence what."""

from __future__ import annotations

from concurrent.futures import wait
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg.config.model_parameters import parse_model_parameters
from hybridkg.errors import ParameterError, TextQueryError, UnknownNameError
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.ranking import query_of, rank
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning import cached, tune
from hybridkg.evaluation.tuning.cached import AnyModel, FastBm25f, FastMixture
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.evaluation.tuning.ranges import SEARCH_SPACES
from hybridkg.evaluation.tuning.space import StageMoves
from hybridkg.evaluation.tuning.training import Settings, Trainer
from hybridkg.evaluation.tuning.tune import Tuning
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.kb import KnowledgeBase
from hybridkg.text.models.additive import KERNEL

WORDS = ["red", "fish", "sea", "old", "ship", "salt"]
PROFILE = """
@prefix hk: <https://w3id.org/hybridkg/ns#> .
@prefix : <http://e/> .
<> a hk:Profile ; hk:entities :Thing ; hk:fields (
    [ hk:name "title" ; hk:path :title ; hk:weight 2 ; hk:b 0.5 ]
    [ hk:name "body" ; hk:path :body ; hk:weight 1 ; hk:b 0.75 ]
    [ hk:name "notes" ; hk:path :notes ; hk:weight 0.3 ; hk:b 0.4 ] ) .
"""
TOPICS = Topics({f"t{i}": text for i, text in enumerate(
    ["red fish", "old ship sea", "salt", "fish fish red", "sea salt ship", "nothing here", "the old", "red sea"]
)})  # fmt: skip
FOLDS = (
    Fold("0", ("t0", "t1", "t2", "t3"), ("t4", "t5", "t6", "t7")),
    Fold("1", ("t4", "t5", "t6", "t7"), ("t0", "t1", "t2", "t3")),
)
MODELS = sorted(SEARCH_SPACES.names())


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuning")
    generator = np.random.default_rng(7)
    lines = ["@prefix : <http://e/> ."]
    for i in range(60):
        lines.append(f":e{i:02} a :Thing .")
        for name, longest in (("title", 3), ("body", 12), ("notes", 6)):
            words = generator.choice([*WORDS, "x", "y"], generator.integers(0, longest + 1))
            if len(words):
                lines.append(f':e{i:02} :{name} "{" ".join(words)}" .')
    (folder / "data.ttl").write_text("\n".join(lines))
    (folder / "profile.ttl").write_text(PROFILE)
    base = KnowledgeBase.create(folder / "kb")
    base.load(folder / "data.ttl", index=True, profile=folder / "profile.ttl")
    return base


def judgements(seed=0):
    generator = np.random.default_rng(seed)
    return Qrels({
        topic: {f"http://e/e{i:02}": int(generator.integers(-1, 3)) for i in generator.permutation(70)[:9]}
        for topic in TOPICS.texts
    })  # fmt: skip


QRELS = judgements()


def random_parameters(trainer, generator):
    point = trainer.space.start
    for _, moves in trainer._stages:
        point = replace(moves, base=point).random(generator)
    return trainer.space.parameters(point, {})


def test_the_kernels_are_used_where_they_are_known(kb):
    kinds = {model: type(Trainer(kb._snapshot, TOPICS, QRELS, Settings(model))._scorer) for model in MODELS}
    assert kinds["bm25f"] is FastBm25f
    assert kinds["bm25"] is AnyModel
    assert {kinds[name] for name in ("lm", "mlm", "prms", "sdm", "fsdm")} == {FastMixture}


MEASURES = ["ndcg@10", "map", "condensed-ndcg@5", "mrr@3", "judged@10"]


@pytest.mark.parametrize(
    ("measure", "model"),
    sampled(product(MEASURES, MODELS), *((MEASURES[n % len(MEASURES)], model) for n, model in enumerate(MODELS))),
)
def test_a_cached_measure_is_that_of_the_ranked_run(kb, model, measure):
    trainer = Trainer(kb._snapshot, TOPICS, QRELS, Settings(model, measure=measure, depth=40))
    generator = np.random.default_rng(3)
    for _ in range(4):
        parameters = random_parameters(trainer, generator)
        again = parse_model_parameters(parameters.to_toml(), "params.toml")
        run = rank(kb, TOPICS, query_of(again), k=40)
        wanted = evaluate(QRELS, run, [parse_measure(measure)])[measure]
        assert trainer.measure(parameters, list(TOPICS.texts)) == wanted


FIXED = [
    ("bm25f", {}), ("bm25f", {"form": "galago"}), ("bm25f", {"k1": 0.7, "b": 0.2}), ("mlm", {}), ("fsdm", {}),
    ("mlm", {"smoothing": "jm"}), ("prms", {}), ("sdm", {"window": 3.0}), ("lm", {"smoothing": "jm"}),
]  # fmt: skip


@pytest.mark.parametrize(("model", "fixed"), FIXED)
def test_ranks_of_the_kernel_are_those_of_the_model(kb, model, fixed):
    """All of them, ties included; a mixture's last digits differ, but by less than entities do."""
    every = Qrels({topic: {f"http://e/e{i:02}": 1 for i in range(60)} for topic in TOPICS.texts})
    trainer = Trainer(kb._snapshot, TOPICS, every, Settings(model, fixed=fixed, depth=1000, measure="map"))
    slow = AnyModel(RANKING_MODELS.get(model)(), trainer._topics, kb._snapshot.nodes.rank, 1000)
    generator = np.random.default_rng(5)
    for _ in range(10):
        parameters = random_parameters(trainer, generator)
        places = generator.permutation(len(trainer.topics)).tolist()[:5]
        for fast, wanted in zip(trainer._scorer.ranks(parameters, places), slow.ranks(parameters, places), strict=True):
            assert fast.tolist() == wanted.tolist()


@pytest.mark.parametrize("model", ["bm25f", "fsdm"])
def test_without_compiled_kernels_the_same_is_learned(kb, model, monkeypatch):
    fast = Trainer(kb._snapshot, TOPICS, QRELS, Settings(model, restarts=1)).train(["t0", "t1", "t3"])
    monkeypatch.setattr(cached.KERNELS, "load", lambda: None)
    slow = Trainer(kb._snapshot, TOPICS, QRELS, Settings(model, restarts=1)).train(["t0", "t1", "t3"])
    assert slow.parameters == fast.parameters


@pytest.mark.parametrize("model", MODELS)
def test_training_is_at_least_as_good_as_the_defaults(kb, model):
    trainer = Trainer(kb._snapshot, TOPICS, QRELS, Settings(model, restarts=1))
    learned = trainer.train(trainer.topics)
    untuned = evaluate(QRELS, rank(kb, TOPICS, query_of(trainer.default)), [parse_measure("ndcg@10")])["ndcg@10"]
    assert learned.default == pytest.approx(mean(untuned), abs=1e-12)
    tuned = evaluate(QRELS, rank(kb, TOPICS, query_of(learned.parameters)), [parse_measure("ndcg@10")])["ndcg@10"]
    assert learned.value == pytest.approx(mean(tuned), abs=1e-12)
    assert learned.value >= learned.default


@settings(max_examples=examples(5, 8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 1000))
def test_test_topics_cannot_influence_training(kb, seed):
    other = judgements(seed)
    changed = Qrels({**other.grades, **{t: QRELS.grades[t] for t in FOLDS[0].training}})
    texts = Topics({t: text if t in FOLDS[0].training else "salt red" for t, text in TOPICS.texts.items()})
    want = Trainer(kb._snapshot, TOPICS, QRELS, Settings(restarts=2)).train(FOLDS[0].training)
    for topics, qrels in ((TOPICS, changed), (texts, changed), (Topics(dict(list(texts.texts.items())[:4])), QRELS)):
        learned = Trainer(kb._snapshot, topics, qrels, Settings(restarts=2)).train(FOLDS[0].training)
        assert learned.parameters.to_toml() == want.parameters.to_toml()


def test_the_number_of_jobs_and_what_was_learned_before_change_nothing(kb, tmp_path):
    one, two, again = (
        Tuning(kb, TOPICS, QRELS, Settings(restarts=2)).run(FOLDS, jobs=jobs, keep=keep)
        for jobs, keep in ((1, None), (2, tmp_path / "kept"), (2, tmp_path / "kept"))
    )
    parameters = [[o.learned.parameters.to_toml() for o in report.outcomes] for report in (one, two, again)]
    assert parameters[0] == parameters[1] == parameters[2]
    assert [o.kept for o in two.outcomes + again.outcomes] == [False, False, True, True]
    alone = Trainer(kb._snapshot, TOPICS, QRELS, Settings(restarts=2)).train(FOLDS[1].training)
    assert alone.parameters == one.outcomes[1].learned.parameters


def test_each_topic_of_the_cross_validated_run_is_ranked_by_the_model_that_has_not_seen_it(kb):
    tuning = Tuning(kb, TOPICS, QRELS, Settings(restarts=1))
    report = tuning.run(FOLDS)
    run = tuning.ranked(report, "tuned")
    for outcome in report.outcomes:
        alone = rank(kb, TOPICS, query_of(outcome.learned.parameters))
        assert all(run.rankings[t] == alone.rankings[t] for t in outcome.training.testing)
    _, tested = report.tested()
    assert tested == evaluate(QRELS, run, [parse_measure("ndcg@10")])["ndcg@10"]


@pytest.mark.parametrize("failed_first", [False, True])
def test_a_stopped_tuning_keeps_what_is_finished_and_goes_on(kb, tmp_path, monkeypatch, failed_first):
    if failed_first:  # both are over before anybody looks, and the one that failed is looked at first

        def all_of(futures, **options):
            done, _ = wait(futures)
            return sorted(done, key=lambda future: future.exception() is None), set()

        monkeypatch.setattr(tune, "wait", all_of)

    class Stops:
        """Ctrl-C as soon as the second model climbs."""

        climbs = 0

        def start(self, label, total):
            pass

        def advance(self, climbs, items):
            self.climbs += climbs
            if self.climbs > 2:
                raise KeyboardInterrupt

        def done(self, items):
            pass

    with pytest.raises(KeyboardInterrupt):
        Tuning(kb, TOPICS, QRELS, Settings(restarts=2)).run(FOLDS, keep=tmp_path, progress=Stops())
    report = Tuning(kb, TOPICS, QRELS, Settings(restarts=2)).run(FOLDS, keep=tmp_path)
    assert [o.kept for o in report.outcomes] == [True, False]
    # Another seed, or another grade of a training topic, is another training.
    other = Tuning(kb, TOPICS, QRELS, Settings(restarts=2, seed=1)).run(FOLDS, keep=tmp_path)
    assert not any(o.kept for o in other.outcomes)


def test_what_is_fixed_is_not_learned(kb):
    trainer = Trainer(kb._snapshot, TOPICS, QRELS, Settings(fixed={"b": 0.3, "form": "galago"}, restarts=1))
    learned = trainer.train(trainer.topics).parameters
    assert learned.arguments == {"b": 0.3, "form": "galago"}
    assert all(set(own) == {"weight"} for own in learned.fields.values())
    smoothed = Trainer(kb._snapshot, TOPICS, QRELS, Settings("mlm", fixed={"smoothing": "jm"}, restarts=1))
    assert set(smoothed.train(smoothed.topics).parameters.arguments) == {"smoothing", "lambda"}


@pytest.mark.parametrize("model", ["mlm", "fsdm", "elr"])
def test_a_whole_number_that_is_fixed_is_one_like_any_other(kb, model):
    """TOML has mu = 7; the compiled kernels take 7.0 only."""
    assert KERNEL.load() is not None
    found = [Trainer(kb._snapshot, TOPICS, QRELS, Settings(model, fixed={"mu": mu})) for mu in (7, 7.0)]
    values = [one.measure(one.default, one.topics) for one in found]
    assert values[0] == values[1]


def test_only_the_fields_that_are_asked_for_are_tuned(kb):
    learned = Trainer(kb._snapshot, TOPICS, QRELS, Settings(fields=("body", "title"), restarts=1)).train(["t0"])
    assert list(learned.parameters.fields) == ["body", "title"]


def test_stages_leave_the_numbers_of_others_alone(kb):
    trainer = Trainer(kb._snapshot, TOPICS, QRELS, Settings("fsdm"))
    names = [[trainer.space.coordinates[i].range.name for i in moves.places] for _, moves in trainer._stages]
    assert names == [["weight"] * 3 + ["mu"], ["ordered"] * 3, ["unordered"] * 3, ["terms", "ordered", "unordered"]]
    assert all(isinstance(moves, StageMoves) for _, moves in trainer._stages)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (Settings("bm52f"), UnknownNameError, "no search space for the model 'bm52f'; known: bm25, bm25f"),
        (Settings(fields=("titel",)), UnknownNameError, "no text field 'titel'"),
        (Settings(fixed={"k9": 1.0}), UnknownNameError, "no argument 'k9'"),
        (Settings(fixed={"k1": -1.0}), TextQueryError, "'k1' of model 'bm25f' is -1"),
        (Settings("bm25", fixed={"k1": 1.0, "b": 0.5}), ParameterError, "nothing is left to learn of 'bm25'"),
        (Settings(measure="tmhits@3"), ParameterError, "cannot be tuned for"),
        (Settings(measure="ndgc@10"), UnknownNameError, "no measure 'ndgc@10'"),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_any_work(kb, wrong, error, message):
    with pytest.raises(error, match=message):
        Trainer(kb._snapshot, TOPICS, QRELS, wrong)


def test_judgements_that_do_not_fit_are_refused(kb):
    with pytest.raises(ParameterError, match="no topic is judged"):
        Trainer(kb._snapshot, TOPICS, Qrels({"q9": {"http://e/e01": 1}}), Settings())
    with pytest.raises(ParameterError, match="no judged document is in the knowledge base"):
        Trainer(kb._snapshot, TOPICS, Qrels({"t0": {"doc 7": 1, "http://e/none": 1}}), Settings())


def test_a_topic_without_a_match_and_one_without_relevant_entities_count_nought(kb):
    qrels = Qrels({**QRELS.grades, "t0": {"http://e/e01": 0}})
    values = Trainer(kb._snapshot, TOPICS, qrels, Settings()).measure(
        Trainer(kb._snapshot, TOPICS, qrels, Settings()).default, ["t0", "t5"]
    )
    assert values == {"t0": 0.0, "t5": 0.0}
