"""Unit costs: their arithmetic, what is measured, and the file that keeps them."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextServerError
from hybridkg.interfaces.graph_index import Cardinality, Join, Variable
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.text_index import TermStatistics
from hybridkg.planner import cost_model
from hybridkg.planner.calibration import calibrated_costs
from hybridkg.planner.calibration.calibrated_costs import FILE, FIXED, LOCAL, MUCH, CalibratedCosts
from hybridkg.planner.calibration.local_calibration import Measured, calibrate
from hybridkg.planner.calibration.stopwatch import Stopwatch
from hybridkg.planner.cost_model import FARTHEST, PRICES, UNITS, CostModel, default_costs
from hybridkg.rdf.terms import NamedNode

OTHER = {"architecture": "abacus", "system": "wood", "processor": "beads", "cores": 10}


@pytest.fixture(autouse=True)
def measuring(monkeypatch):
    monkeypatch.delenv(FIXED, raising=False)


# --- the model ---------------------------------------------------------------------


def test_a_prediction_is_the_sum_of_counts_times_costs():
    cost = CostModel(us_per_adjacency_entry=0.5, us_per_posting=0.25, us_per_store_question=100.0, us_per_store_row=2.0)
    counts = {"adjacency": 10, "postings": 4, "store questions": 1, "store rows": 3, "something else": 9}
    assert cost.price(counts) == 5.0 + 1.0 + 100.0 + 6.0
    assert cost.price({}) == 0.0


def test_every_unit_cost_says_what_it_is_and_every_kind_of_work_has_a_price():
    text = Path(cost_model.__file__).read_text(encoding="utf-8")
    for one in fields(CostModel):
        assert one.name.startswith("us_per_")
        assert f'{one.name}: float = {one.default}\n    """' in text
    assert set(PRICES.values()) <= set(UNITS)
    assert set(UNITS) > LOCAL


@pytest.mark.parametrize("engine", TEXT_ENGINES.builtin_names)
def test_defaults_are_above_zero_and_a_stranger_has_those_of_the_embedded_engine(engine):
    assert all(getattr(default_costs(engine), name) > 0 for name in UNITS)
    assert default_costs("of a plug-in") == default_costs("embedded")


@given(st.dictionaries(st.sampled_from(UNITS), st.floats(1e-12, 1e12)))
def test_no_measurement_takes_a_cost_far_from_its_default(measured):
    default = CostModel()
    bounded = default.bounded(**measured)
    for name in UNITS:
        own, found = getattr(default, name), getattr(bounded, name)
        assert own / FARTHEST * 0.999 <= found <= own * FARTHEST * 1.001
        if own / FARTHEST <= measured.get(name, own) <= own * FARTHEST:
            assert found == measured.get(name, own)


# --- calibration -------------------------------------------------------------------


class Clock:
    """A clock that moves when work is done on it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, us: float) -> None:
        self.now += us / 1e6


class Machine:
    """A text index, a projection and a store at once, whose every answer takes exactly what a model says."""

    is_remote = False
    n_nodes = 100_000
    names_of_rows = tuple((NamedNode(f"n:{i}"), NamedNode("n:o")) for i in range(2_000))

    def __init__(self, cost: CostModel, clock: Clock):
        self.cost, self.clock = cost, clock
        self.df = {"rare": 3, "middle": 4_000, "common": 50_000}

    # the text index
    def terms(self, query):
        return [TermStatistics(word, self.df.get(word, 0)) for word in query.text.split()]

    def prefetch_counts(self, queries):
        pass

    def match_count_bound(self, query):
        return sum(self.df[word] for word in query.text.split())

    def topk(self, query, k, among=None):
        n = self.match_count_bound(query)
        us = self.cost.us_per_text_question + n * self.cost.us_per_posting + min(k, n) * self.cost.us_per_hit
        self.clock.work(us + (0 if among is None else len(among)) * self.cost.us_per_masked_candidate)
        return np.arange(min(k, n), dtype=np.uint32), np.zeros(min(k, n))

    def score_all(self, query):
        n = self.match_count_bound(query)
        self.clock.work(self.cost.us_per_text_scoring + n * self.cost.us_per_scored_posting)
        return np.arange(n, dtype=np.uint32), np.zeros(n)

    def score(self, query, ids):
        self.clock.work(self.cost.us_per_text_scoring + len(ids) * self.cost.us_per_scored_candidate)

    # the projection
    def prepare_pattern(self, pattern):
        scans = pattern.parts if isinstance(pattern, Join) else (pattern,)
        of_predicate = {"big": 100_000, "small": 10}
        has_constant = not all(isinstance(scan.object, Variable) for scan in scans)
        entries = 2 if has_constant else sum(of_predicate[scan.path.predicate] for scan in scans)
        machine = self

        class Prepared:
            def work(self, variable):
                return float(entries)

            def size(self, variable):
                return Cardinality(entries, entries, entries)

            def candidates(self, variable, meter):
                machine.clock.work(machine.cost.us_per_graph_question + entries * machine.cost.us_per_adjacency_entry)
                return np.arange(min(entries, 100), dtype=np.uint32)

        return Prepared()

    def names(self, ids):
        self.clock.work(len(ids) * self.cost.us_per_row_of_terms)
        return [NamedNode(f"n:{i}") for i in ids.tolist()]

    # the store
    def select(self, sparql):
        values = sparql.count("<n:")
        n = values or int(sparql.rsplit(" ", 1)[1])
        each = self.cost.us_per_probe_in_store if values else self.cost.us_per_store_row
        self.clock.work(self.cost.us_per_store_question + n * each)

        class Stream:
            rows = iter(Machine.names_of_rows[:n])

        return Stream()


class Graph:
    def __init__(self, machine: Machine):
        self.compile, self.terms, self.n_nodes = machine.prepare_pattern, machine.names, machine.n_nodes


def measure(cost: CostModel, **options) -> Measured:
    clock = Clock()
    machine = Machine(cost, clock)
    given_ = {
        "text": machine,
        "words": ["common", "rare", "middle", "absent"],
        "graph": Graph(machine),
        "store": machine,
        "predicates": [("big", 50_000), ("small", 5)],
        "watch": Stopwatch(clock, clock, 100.0),
    }
    return calibrate(**(given_ | options))


factors = st.floats(0.2, 5.0)


@settings(max_examples=examples(5, 6), deadline=None)
@given(st.lists(factors, min_size=len(UNITS), max_size=len(UNITS)))
def test_calibration_finds_the_costs_of_a_machine(of_units):
    default = CostModel()
    true = default.bounded(**{name: getattr(default, name) * f for name, f in zip(UNITS, of_units, strict=True)})
    # A question has a little in it of what it asks for: one value, two entries, three hits.
    inside = {
        "us_per_store_question": true.us_per_probe_in_store,
        "us_per_probe_in_store": true.us_per_store_row,
        "us_per_graph_question": 2 * true.us_per_adjacency_entry,
        "us_per_posting": 10 * true.us_per_hit / 50_000,
        "us_per_text_question": 3 * (true.us_per_hit + true.us_per_posting),
        "us_per_text_scoring": 3 * true.us_per_scored_posting,
    }
    found = measure(true).us
    assert set(found) == set(UNITS) - {"us_per_operator", "us_per_row_passed", "us_per_look", "us_per_column_cell"}
    for name, us in found.items():
        assert getattr(true, name) * 0.95 <= us <= getattr(true, name) * 1.05 + inside.get(name, 0.0)


class Served(Machine):
    """A text index on a server: a candidate goes there, and one that matches comes back as a row."""

    is_remote = True
    max_remote_scan = 2_000
    counts = {"entities": 100_000}  # noqa: RUF012 - as an index has it

    def __init__(self, cost: CostModel, clock: Clock):
        super().__init__(cost, clock)
        self.df = {"rare": 1, "middle": 1_900, "common": 50_000}
        self.asked = 0

    def topk(self, query, k, among=None):
        self.asked += 1
        if self.asked <= 3:
            self.clock.work(50_000.0)  # cold
        return super().topk(query, k, among)

    def score(self, query, ids):
        self.clock.work(self.cost.us_per_text_scoring + len(ids) * self.cost.us_per_scored_candidate)


@settings(max_examples=examples(5, 6), deadline=None)
@given(st.lists(factors, min_size=7, max_size=7))
def test_calibration_finds_the_costs_of_a_server_that_is_slow_at_first(of_units):
    default, clock, here = default_costs("elasticsearch"), Clock(), Clock()
    names = [name for name in UNITS if name not in LOCAL and name != "us_per_masked_candidate"]
    true = default.bounded(**{name: getattr(default, name) * f for name, f in zip(names, of_units, strict=False)})
    machine = Served(true, clock)
    found = measure(true, text=machine, graph=None, store=None, watch=Stopwatch(here, clock)).us
    assert {"us_per_text_question", "us_per_text_scoring", "us_per_scored_posting"} <= set(found)
    # A question has its rare word's posting and hit in it, and the best of a common word nine more hits.
    inside = {
        "us_per_text_question": true.us_per_posting + true.us_per_hit,
        "us_per_text_scoring": true.us_per_scored_posting,
        "us_per_posting": 10 * true.us_per_hit / 50_000,
    }
    for name, us in found.items():
        own = true.us_per_scored_candidate if name == "us_per_masked_candidate" else getattr(true, name)
        assert own * 0.99 <= us <= own * 1.01 + inside.get(name, 0.0), name
    assert here.now == 0.0
    assert clock.now < 6.0


def test_about_twenty_runs_are_made():
    assert 15 <= measure(CostModel()).runs <= 25


def test_what_is_too_small_to_be_measured_is_left_out():
    clock = Clock()
    machine = Machine(CostModel(), clock)
    machine.df = {"rare": 1, "common": 20}
    found = measure(CostModel(), text=machine, predicates=[("small", 5)], watch=Stopwatch(clock, clock, 100.0)).us
    assert "us_per_text_question" in found
    assert not {"us_per_posting", "us_per_scored_posting", "us_per_adjacency_entry", "us_per_store_row"} & set(found)


def test_calibration_stops_when_its_time_is_over():
    clock = Clock()
    slow = default_costs("embedded").bounded(us_per_store_row=40.0, us_per_text_question=3_000.0)
    machine = Machine(slow, clock)
    found = measure(slow, text=machine, store=machine, graph=None, watch=Stopwatch(clock, clock, 0.05))
    assert found.runs < 10
    assert clock.now < 2.0
    assert "us_per_scored_candidate" not in found.us


def test_a_server_that_does_not_answer_leaves_the_rest_measured():
    class Dead(Machine):
        def terms(self, query):
            raise TextServerError("gone")

    found = measure(CostModel(), text=Dead(CostModel(), Clock())).us
    assert "us_per_store_row" in found
    assert "us_per_text_question" not in found


def test_an_outlier_among_the_repeats_does_not_count():
    clock, calls = Clock(), count()
    watch = Stopwatch(clock, clock, 100.0)
    assert watch.us(lambda: clock.work(10_000.0 if next(calls) in (0, 3) else 100.0)) == pytest.approx(100.0)


# --- the file ----------------------------------------------------------------------


def measured(**us: float) -> Measured:
    return Measured(us, 1, 0.1)


def test_what_was_measured_is_there_again(tmp_path):
    costs = CalibratedCosts.open(tmp_path, "embedded")
    assert costs.to_json()["state"] == "nothing has been measured here"
    costs.calibrated(measured(us_per_posting=0.007, us_per_store_row=1e9))
    again = CalibratedCosts.open(tmp_path, "embedded")
    assert again.model == costs.model
    assert again.model.us_per_store_row == CostModel().us_per_store_row * FARTHEST
    assert again.to_json() == costs.to_json()
    by_name = {unit["name"]: unit for unit in again.to_json()["unit_costs"]}
    origins = {name: by_name[name]["origin"] for name in ("us_per_posting", "us_per_hit", "us_per_operator")}
    assert origins == {"us_per_posting": "calibrated", "us_per_hit": "default", "us_per_operator": "default"}


def test_a_file_that_tells_what_use_has_taught_is_read_without_that(tmp_path):
    CalibratedCosts.open(tmp_path, "embedded").calibrated(measured(us_per_posting=0.007))
    content = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps(content | {"refined": {"us_per_posting": [2.0, 30]}}))
    assert CalibratedCosts.open(tmp_path, "embedded").model.us_per_posting == 0.007


def test_another_engine_or_machine_has_its_own_costs(tmp_path, monkeypatch):
    CalibratedCosts.open(tmp_path, "embedded").calibrated(measured(us_per_posting=0.007))
    assert CalibratedCosts.open(tmp_path, "elasticsearch").model == default_costs("elasticsearch")
    monkeypatch.setattr(calibrated_costs, "machine", lambda: OTHER)
    other = CalibratedCosts.open(tmp_path, "embedded")
    assert other.model == CostModel()
    assert "another machine" in other.to_json()["state"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 99_999, '{"format": 1}', '{"format": 2}', "\x00\xff"])
def test_a_damaged_file_means_defaults_and_is_told(tmp_path, text):
    (tmp_path / FILE).write_text(text, encoding="latin-1")
    costs = CalibratedCosts.open(tmp_path, "embedded")
    assert costs.model == CostModel()
    assert "defaults hold" in costs.to_json()["state"]
    costs.calibrated(measured(us_per_posting=0.007))
    assert CalibratedCosts.open(tmp_path, "embedded").to_json()["state"] == "measured on this machine"


@pytest.mark.parametrize("value", [0, -1, "much", None, [], 1e999, "nan"])
def test_a_cost_that_is_none_is_not_believed(tmp_path, value):
    costs = CalibratedCosts.open(tmp_path, "embedded")
    costs.calibrated(measured(us_per_posting=0.007))
    content = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps(content | {"calibrated": {"us_per_posting": value}}))
    assert CalibratedCosts.open(tmp_path, "embedded").model == CostModel()


@pytest.mark.parametrize(
    "damaged",
    [
        {"calibrated": {"us_per_posting": 1e308}},
        {"calibrated": {"us_per_posting": 1e-320}},
        {"calibrated": {"us_per_posting": 1e308, "us_per_hit": 1e308, "us_per_look": 1e308, "us_per_text_question": 1}},
    ],
)
def test_numbers_that_no_machine_has_are_bounded(tmp_path, damaged):
    CalibratedCosts.open(tmp_path, "embedded").calibrated(measured())
    content = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps(content | damaged))
    costs = CalibratedCosts.open(tmp_path, "embedded")
    assert all(0 < getattr(costs.model, name) < float("inf") for name in UNITS)


def test_a_folder_that_cannot_be_written_fails_nothing(tmp_path):
    costs = CalibratedCosts.open(tmp_path / "gone", "embedded")
    costs.calibrated(measured(us_per_posting=0.007))
    assert costs.model.us_per_posting == 0.007
    assert not (tmp_path / "gone").exists()


def test_plans_are_chosen_again_when_a_cost_has_changed_by_much_and_not_before():
    costs, default = CalibratedCosts(), CostModel().us_per_posting
    costs.calibrated(measured(us_per_posting=default * MUCH * 0.99))
    assert costs.epoch == 0
    costs.calibrated(measured(us_per_posting=default * MUCH * 1.01))
    assert costs.epoch == 1
    costs.calibrated(measured(us_per_posting=default * 1.02))
    assert costs.epoch == 1
    costs.calibrated(measured(us_per_posting=default / 1.01))
    assert costs.epoch == 2


def test_a_server_that_shows_to_be_nearer_is_taken_to_be_so_as_long_as_it_does():
    far = {"us_per_store_question": 20_000.0, "us_per_store_row": 8.0, "us_per_probe_in_store": 48.0}
    costs = CalibratedCosts(remote=far)
    costs.at_most({"us_per_store_question": 2_000.0, "us_per_probe_in_store": 12.0})
    assert (costs.model.us_per_store_question, costs.model.us_per_probe_in_store) == (2_000.0, 12.0)
    assert costs.model.us_per_store_row == 8.0
    assert costs.epoch == 1  # plans are chosen again
    costs.at_most({"us_per_store_question": 30_000.0, "us_per_probe_in_store": math.inf})
    assert costs.model.us_per_store_question == 20_000.0  # a slow moment says nothing
    costs.at_most({"us_per_store_question": 1.0})
    assert costs.model.us_per_store_question == 20_000.0 / FARTHEST
    fixed = CalibratedCosts(remote=far, fixed=True)
    fixed.at_most({"us_per_store_question": 2_000.0})
    assert fixed.model.us_per_store_question == 20_000.0


@pytest.mark.parametrize("by_argument", [True, False])
def test_fixed_costs_are_the_defaults_whatever_happens(tmp_path, monkeypatch, by_argument):
    CalibratedCosts.open(tmp_path, "embedded").calibrated(measured(us_per_posting=0.007))
    before = (tmp_path / FILE).read_bytes()
    if not by_argument:
        monkeypatch.setenv(FIXED, "default")
    costs = CalibratedCosts.open(tmp_path, "embedded", fixed=True if by_argument else None)
    costs.calibrated(measured(us_per_posting=0.009))
    assert costs.model == CostModel()
    assert (tmp_path / FILE).read_bytes() == before
    assert costs.to_json()["state"] == "fixed: HYBRIDKG_COSTS=default"


def test_what_could_not_be_measured_follows_the_pace_of_the_machine(tmp_path):
    default = CostModel()
    local = ("us_per_adjacency_entry", "us_per_store_row", "us_per_store_question", "us_per_graph_question")
    twice = measured(**{name: 2 * getattr(default, name) for name in local})
    costs = CalibratedCosts.open(tmp_path, "embedded")
    costs.calibrated(twice)
    assert costs.model == default.bounded(**{name: 2 * getattr(default, name) for name in UNITS})
    assert CalibratedCosts.open(tmp_path, "embedded").model == costs.model
    origins = {unit["name"]: unit["origin"] for unit in costs.to_json()["unit_costs"]}
    assert (origins["us_per_store_row"], origins["us_per_posting"]) == ("calibrated", "default x 2")


def test_a_server_does_not_follow_the_pace_of_this_machine(tmp_path):
    default = default_costs("elasticsearch")
    local = ("us_per_adjacency_entry", "us_per_store_row", "us_per_store_question", "us_per_graph_question")
    costs = CalibratedCosts.open(tmp_path, "elasticsearch")
    costs.calibrated(measured(us_per_hit=99.0, **{name: 2 * getattr(default, name) for name in local}))
    assert costs.model.us_per_hit == 99.0
    assert costs.model.us_per_text_question == default.us_per_text_question
    assert costs.model.us_per_operator == 2 * default.us_per_operator
