"""What use teaches of unit costs: laws of the rule, and who is measured, on which runs."""

from __future__ import annotations

import math
import random
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridkg import KnowledgeBase
from hybridkg.errors import QueryStoppedError
from hybridkg.interfaces.meter import (
    ADJACENCY,
    GRAPH_QUESTIONS,
    HITS,
    MASKED,
    MOST_LESSONS,
    POSTINGS,
    PROBES,
    ROWS,
    SCORED_POSTINGS,
    SCORINGS,
    STORE_ROWS,
    TEXT_QUESTIONS,
    Lesson,
    Meter,
)
from hybridkg.kernels import LazyKernel
from hybridkg.planner import unit_costs
from hybridkg.planner.cost_model import FARTHEST, UNITS, CostModel
from hybridkg.planner.refinement import FIRST_WEIGHT, SURPRISE, Refinement, refine
from hybridkg.planner.unit_costs import FILE, FIXED, LEAST_RUNS, MUCH, ONE_IN, UnitCosts

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
SPACE = "SELECT ?f { ?f MATCH 'space' AS ?s . ?f a ?class } RANK BY ?s LIMIT 3"
MEASURED = (
    "us_per_adjacency_entry",
    "us_per_graph_question",
    "us_per_text_question",
    "us_per_posting",
    "us_per_hit",
    "us_per_text_scoring",
    "us_per_scored_posting",
    "us_per_scored_candidate",
    "us_per_row_of_terms",
)
"""Unit costs of work that runs measure, where it comes in sizes that tell them apart."""


@pytest.fixture(autouse=True)
def learning(monkeypatch):
    monkeypatch.delenv(FIXED, raising=False)


@pytest.fixture
def path(tmp_path) -> Path:
    KnowledgeBase.create(tmp_path / "f.kb").load(FILMS, index=True)
    return tmp_path / "f.kb"


@pytest.fixture
def ready(monkeypatch):
    """Kernels that are where they will ever be."""
    monkeypatch.setattr(LazyKernel, "settled", True)


def pieces(seed: int, n: int) -> list[dict[str, int]]:
    """Work as queries do it: questions of every kind, small and large."""
    chance = random.Random(seed)

    def some(most: float) -> int:
        return int(10 ** chance.uniform(0, math.log10(most)))

    kinds = (
        lambda: {GRAPH_QUESTIONS: 1, ADJACENCY: some(1e6)},
        lambda: {TEXT_QUESTIONS: 1, POSTINGS: some(1e6), HITS: some(1e4)},
        lambda: {TEXT_QUESTIONS: 1, POSTINGS: some(1e6), HITS: some(1e2), MASKED: some(1e5)},
        lambda: {SCORINGS: 1, SCORED_POSTINGS: some(1e5)},
        lambda: {SCORINGS: 1, PROBES: some(1e5)},
        lambda: {ROWS: some(1e4)},
    )
    return [chance.choice(kinds)() for _ in range(n)]


def used(costs: UnitCosts, true: CostModel, n: int, noise: float = 0.0, seed: int = 1) -> UnitCosts:
    """The costs after n pieces of work on a machine that needs what a model says, give or take a factor."""
    chance = random.Random(seed)
    for work in pieces(seed, n):
        costs.learn([Lesson(work, true.predicted_us(work) * math.exp(chance.gauss(0.0, noise)))])
    return costs


def slower(times: float) -> CostModel:
    return CostModel(**{name: getattr(CostModel(), name) * times for name in UNITS})


# --- the rule ------------------------------------------------------------------------


def test_work_of_one_kind_moves_its_cost_by_a_tenth_of_the_error_at_first():
    known: dict[str, Refinement] = {}
    assert refine(known, Lesson({POSTINGS: 10_000}, 240.0), CostModel())
    assert known == {"us_per_posting": Refinement(pytest.approx(2**FIRST_WEIGHT), 1)}


@given(st.floats(1.05 / FARTHEST, FARTHEST / 1.05))
@settings(max_examples=20, deadline=None)
def test_a_machine_that_is_steadily_faster_or_slower_is_learned(truth):
    costs = UnitCosts()
    default = costs.model.us_per_adjacency_entry
    for _ in range(100):
        costs.learn([Lesson({ADJACENCY: 1_000_000}, default * truth * 1e6)])
    assert costs.model.us_per_adjacency_entry == pytest.approx(default * truth, rel=0.01)
    assert costs.model.us_per_posting == CostModel().us_per_posting


@pytest.mark.parametrize("times", [3.0, 1 / 3])
def test_what_is_measured_converges_to_a_machine_that_is_three_times_as_slow(times):
    found = used(UnitCosts(), slower(times), 2_000, noise=0.7).model
    for name in MEASURED:
        assert getattr(found, name) == pytest.approx(getattr(slower(times), name), rel=0.25), name


def test_what_is_never_measured_follows_what_is():
    costs = used(UnitCosts(), slower(3.0), 2_000)
    for name in ("us_per_store_row", "us_per_look", "us_per_operator"):
        assert getattr(costs.model, name) == pytest.approx(3 * getattr(CostModel(), name), rel=0.15)
    early = used(UnitCosts(), slower(3.0), LEAST_RUNS)
    assert early.model.us_per_look == CostModel().us_per_look


@given(st.lists(st.sampled_from([1 / 4, 1 / 2, 1.0, 2.0, 4.0]), min_size=len(MEASURED), max_size=len(MEASURED)))
@settings(max_examples=15, deadline=None)
def test_each_cost_is_told_apart_from_those_that_it_comes_with(factors):
    changed = {name: getattr(CostModel(), name) * f for name, f in zip(MEASURED, factors, strict=True)}
    true = CostModel().bounded(**changed)
    found = used(UnitCosts(), true, 4_000).model
    work = pieces(99, 200)
    for model, most in ((found, 0.12), (CostModel(), math.inf)):
        errors = sorted(abs(math.log(model.predicted_us(one) / true.predicted_us(one))) for one in work)
        assert errors[len(errors) // 2] < most


@given(st.lists(st.tuples(st.integers(0, 199), st.floats(1e-9, 1e12)), max_size=200))
@settings(max_examples=30, deadline=None)
def test_no_use_takes_a_cost_far_from_its_default(lessons):
    costs, work, default = UnitCosts(), pieces(5, 200), CostModel()
    for which, us in lessons:
        costs.learn([Lesson(work[which], us)])
    for name in UNITS:
        us = getattr(default, name)
        assert us / FARTHEST * 0.999 <= getattr(costs.model, name) <= us * FARTHEST * 1.001


@given(st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_the_same_lessons_give_the_same_costs(seed):
    one, other = (used(UnitCosts(), slower(2.0), 300, noise=1.0, seed=seed) for _ in range(2))
    assert (one.model, one.epoch, one.to_json()) == (other.model, other.epoch, other.to_json())


@pytest.mark.parametrize("us", [1e-9, 1e12])
def test_one_monstrous_piece_of_work_moves_a_cost_a_little(us):
    costs = UnitCosts()
    costs.learn([Lesson({POSTINGS: 10_000}, us)])
    moved = costs.model.us_per_posting / CostModel().us_per_posting
    assert max(moved, 1 / moved) == pytest.approx(SURPRISE**FIRST_WEIGHT)
    learned = used(UnitCosts(), CostModel(), 2_000)
    before = learned.model.us_per_posting
    learned.learn([Lesson({POSTINGS: 10_000_000}, us)])
    assert 0.96 < learned.model.us_per_posting / before < 1.04


@pytest.mark.parametrize(
    "lesson",
    [
        Lesson({"stars": 1_000}, 1e3),
        Lesson({}, 1e3),
        Lesson({ADJACENCY: 100_000}, 0.0),
        Lesson({ADJACENCY: 100_000}, -1.0),
        Lesson({ADJACENCY: 100_000}, math.nan),
        Lesson({ADJACENCY: 100_000}, math.inf),
        Lesson({ADJACENCY: 100}, 20.0),
        Lesson({ROWS: 20}, 200.0),
    ],
)
def test_what_teaches_nothing_is_not_learned(lesson):
    costs = UnitCosts()
    costs.learn([lesson])
    assert costs.model == CostModel()
    assert all(not unit["observations"] for unit in costs.to_json()["unit_costs"])


def test_threads_may_learn_at_once(tmp_path):
    costs = UnitCosts("embedded", tmp_path / FILE)

    def learn():
        for _ in range(50):
            costs.learn([Lesson({STORE_ROWS: 1_000}, 3e3)])
            costs.save()

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = {one["name"]: one["observations"] for one in costs.to_json()["unit_costs"]}
    assert runs == {name: 200 * (name == "us_per_store_row") for name in UNITS}
    assert costs.model.us_per_store_row == pytest.approx(3.0, rel=0.2)
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_plans_are_chosen_anew_when_a_cost_has_changed_by_much_and_not_before():
    costs, changed = UnitCosts(), []
    for _ in range(400):
        before, epoch = costs.model.us_per_posting, costs.epoch
        costs.learn([Lesson({POSTINGS: 100_000}, 3 * 1_200.0)])
        if costs.epoch != epoch:
            changed.append(costs.model.us_per_posting / CostModel().us_per_posting)
        assert costs.model.us_per_posting >= before
    assert len(changed) == 3  # 1.4 ** 3 < 3 < 1.4 ** 4
    assert all(one > MUCH**i for i, one in enumerate(changed, 1))


# --- what is measured ------------------------------------------------------------------


def test_a_meter_measures_the_work_of_a_block_and_nothing_else():
    meter = Meter(lessons=[])
    meter.add(POSTINGS, 7)
    with meter.timed():
        meter.add(POSTINGS, 3)
        meter.add(HITS, 1)
    meter.add(POSTINGS, 90)
    assert meter.lessons is not None
    (lesson,) = meter.lessons
    assert lesson.work == {POSTINGS: 3, HITS: 1}
    assert lesson.us > 0


def test_work_that_fails_and_work_beyond_the_limit_are_not_measured():
    meter = Meter(lessons=[])
    with pytest.raises(ZeroDivisionError), meter.timed():
        meter.add(POSTINGS, 3 // 0)
    assert meter.lessons == []
    for _ in range(2 * MOST_LESSONS):
        with meter.timed():
            meter.add(POSTINGS, 3)
    assert len(meter.lessons) == MOST_LESSONS


def taught(kb: KnowledgeBase, monkeypatch) -> list[list[Lesson]]:
    """What its runs teach, as they teach it."""
    found: list[list[Lesson]] = []
    monkeypatch.setattr(kb.snapshot.costs, "learn", lambda lessons: found.append(list(lessons)))
    return found


@pytest.mark.usefixtures("ready")
def test_one_run_in_sixteen_teaches_each_piece_of_its_work(path, monkeypatch):
    kb = KnowledgeBase.open(path)
    lessons = taught(kb, monkeypatch)
    for turn in range(1, 3 * ONE_IN + 1):
        kb.query(SPACE)
        assert len(lessons) == turn // ONE_IN
    kinds = [set(one.work) for one in lessons[0]]
    assert {TEXT_QUESTIONS, POSTINGS, HITS} in [kind - {MASKED} for kind in kinds] or any(SCORINGS in k for k in kinds)
    assert any(GRAPH_QUESTIONS in kind for kind in kinds)
    assert [one.work for one in lessons[0]] == [one.work for one in lessons[2]]
    assert all(len({TEXT_QUESTIONS, SCORINGS, GRAPH_QUESTIONS, ROWS} & kind) == 1 for kind in kinds)


@pytest.mark.usefixtures("ready")
def test_what_does_not_run_or_is_stopped_teaches_nothing(path, monkeypatch):
    monkeypatch.setattr(unit_costs, "ONE_IN", 1)
    kb = KnowledgeBase.open(path)
    lessons = taught(kb, monkeypatch)
    kb.explain(SPACE)
    kb.query("EXPLAIN " + SPACE)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(QueryStoppedError):
        kb.query(SPACE, cancel=cancel)
    assert lessons == []
    kb.explain(SPACE, analyze=True)
    assert len(lessons) == 1


def test_nothing_is_measured_while_a_kernel_is_still_to_come(path, monkeypatch):
    monkeypatch.setattr(unit_costs, "ONE_IN", 1)
    monkeypatch.setattr(LazyKernel, "settled", False)
    kb = KnowledgeBase.open(path)
    lessons = taught(kb, monkeypatch)
    kb.query(SPACE)
    monkeypatch.setattr(LazyKernel, "settled", True)
    assert lessons == []
    kb.query(SPACE)
    assert len(lessons) == 1


@pytest.mark.usefixtures("ready")
def test_who_wants_fixed_costs_is_not_measured(path, monkeypatch):
    monkeypatch.setattr(unit_costs, "ONE_IN", 1)
    monkeypatch.setenv(FIXED, "default")
    kb = KnowledgeBase.open(path)
    lessons = taught(kb, monkeypatch)
    for _ in range(3):
        kb.query(SPACE)
    assert lessons == []
    assert kb.snapshot.costs.model == CostModel()


@pytest.mark.usefixtures("ready")
def test_rows_are_the_same_whatever_has_been_learned(path, monkeypatch):
    kb = KnowledgeBase.open(path)
    costs, want, strategies = kb.snapshot.costs, kb.query(SPACE), set()
    for name in ("us_per_graph_question", "us_per_text_question", "us_per_text_scoring"):
        for factor in (1 / FARTHEST, FARTHEST):
            costs._refined = {name: Refinement(factor, 9)}
            costs._refine()
            found = kb.query(SPACE)
            strategies.add(found.strategy)
            assert list(found) == list(want)
    assert len(strategies) > 1  # the same query for the same values, planned anew


def test_a_server_that_shows_to_be_nearer_is_taken_to_be_so_as_long_as_it_does():
    far = {"us_per_store_question": 20_000.0, "us_per_store_row": 8.0, "us_per_probe_in_store": 48.0}
    costs = UnitCosts(far=far)
    costs.at_most({"us_per_store_question": 2_000.0, "us_per_probe_in_store": 12.0})
    assert (costs.model.us_per_store_question, costs.model.us_per_probe_in_store) == (2_000.0, 12.0)
    assert costs.model.us_per_store_row == 8.0
    assert costs.epoch == 1  # plans are chosen anew
    costs.at_most({"us_per_store_question": 30_000.0, "us_per_probe_in_store": math.inf})
    assert costs.model.us_per_store_question == 20_000.0  # a slow moment says nothing
    costs.at_most({"us_per_store_question": 1.0})
    assert costs.model.us_per_store_question == 20_000.0 / FARTHEST
    fixed = UnitCosts(far=far, fixed=True)
    fixed.at_most({"us_per_store_question": 2_000.0})
    assert fixed.model.us_per_store_question == 20_000.0
