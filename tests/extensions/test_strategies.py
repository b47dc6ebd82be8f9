"""A strategy of another package is found by its entry point, and weighed, run and explained like those of this one."""

from __future__ import annotations

import importlib
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.config.settings_reader import parse_config
from hybridkg.errors import ConfigError, UnsupportedQueryError
from hybridkg.interfaces.meter import LOOKS
from hybridkg.interfaces.strategy import STRATEGIES, by_preference, strategy_of
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.vector_index import VECTOR_INDEXES
from hybridkg.planner import choose
from hybridkg.planner.calibration.calibrated_costs import FIXED
from hybridkg.planner.ranking_costs import UNPRICED

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
DISTRIBUTION = Path(__file__).resolve().parent / "toy_strategy"
PREFIX = "PREFIX : <http://example.org/films/> "
RANKED = PREFIX + "SELECT ?film ?s { ?film MATCH $words AS ?s . ?film :year ?y FILTER(?y > $year) } RANK BY ?s LIMIT 3"
VALUES = {"words": "space", "year": 1960}
BUILT_IN = [
    "oxigraph",
    "text_topk",
    "filtered_topk",
    "filter_first",
    "rank_first",
    "threshold",
    "each_list",
    "rank_join",
    "bind_join",
    "columns",
    "reference",
]


def forget_plugins() -> None:
    for registry in (STRATEGIES, TEXT_ENGINES, VECTOR_INDEXES):
        vars(registry).pop("_plugins", None)
    by_preference.cache_clear()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, copy_films) -> Path:
    path = tmp_path_factory.mktemp("kb") / "films.kb"
    copy_films(path)
    return path


@pytest.fixture
def films(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KnowledgeBase]:
    """The films, with no plan remembered."""
    monkeypatch.setenv(FIXED, "default")
    with KnowledgeBase.open(path) as kb:
        yield kb


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(DISTRIBUTION)
    importlib.invalidate_caches()
    forget_plugins()
    yield
    monkeypatch.undo()
    sys.modules.pop("toy_strategy", None)
    forget_plugins()


def test_built_in_strategies_are_tried_in_a_fixed_order():
    assert [name for name, _ in by_preference()] == BUILT_IN
    assert [name for name, one in by_preference() if one.dominates] == ["text_topk"]


def test_one_that_only_has_the_methods_needs_no_bounds(films, monkeypatch):
    class Structural:
        preference, dominates = 45, False
        applies = staticmethod(lambda logical, planning: True)
        cost = staticmethod(lambda logical, planning: UNPRICED)
        plan = staticmethod(lambda logical, planning: None)

    known = by_preference()
    monkeypatch.setattr(choose, "by_preference", lambda: (*known, ("structural", Structural())))
    assert len(films.query(PREFIX + "SELECT ?film { ?film :year 1968 }")) > 0


@pytest.mark.usefixtures("installed")
def test_it_is_chosen_where_it_is_cheapest(films):
    found = films.query(RANKED, VALUES)
    assert found.strategy == "toy"
    assert list(found) == list(films.query(RANKED, VALUES, strategy="reference"))
    other = VALUES | {"words": "war"}  # planned from the template of the first
    assert films.query(RANKED, other).strategy == "toy"
    assert list(films.query(RANKED, other)) == list(films.query(RANKED, other, strategy="reference"))


@pytest.mark.usefixtures("installed")
def test_it_stands_in_explain_with_its_cost_and_its_operator(films):
    explained = films.explain(RANKED, VALUES)
    first, *rest = str(explained).splitlines()
    assert first.startswith("strategy: toy, est. 0.001 ms   (rejected: ")
    assert any(line.startswith("ToyRows") and line.split()[-1] == "0.00" for line in rest)
    assert explained.to_json()["operator"]["est_own_us"] == 1.0


@pytest.mark.usefixtures("installed")
def test_it_is_rejected_where_another_costs_less(films, monkeypatch):
    monkeypatch.setattr(type(strategy_of("toy")), "work", {LOOKS: 1_000})
    explained = films.explain(RANKED, VALUES)
    assert explained.plan.strategy != "toy"
    assert "toy 120.0 ms" in str(explained).splitlines()[0]


@pytest.mark.usefixtures("installed")
def test_it_can_be_asked_for_by_name(films, monkeypatch):
    monkeypatch.setattr(type(strategy_of("toy")), "work", {LOOKS: 1_000})
    assert films.query(RANKED, VALUES, strategy="toy").strategy == "toy"
    assert str(films.explain(RANKED, VALUES, strategy="toy")).splitlines()[0] == (
        "strategy: toy, est. 120.0 ms   (forced)"
    )
    with pytest.raises(UnsupportedQueryError, match="the strategy 'toy' does not apply to this query"):
        films.query(PREFIX + "SELECT ?film { ?film :year 1968 }", strategy="toy")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("params", [VALUES, {}])
def test_each_strategy_is_asked_for_its_cost_once(films, monkeypatch, params):
    asked: Counter[str] = Counter()
    for name, one in by_preference():
        cost = type(one).cost
        counted = lambda self, *given, name=name, cost=cost: (asked.update([name]), cost(self, *given))[1]
        monkeypatch.setattr(type(one), "cost", counted)
    films.query(RANKED if params else RANKED.replace("$words", "'space'").replace("$year", "1960"), params)
    assert set(asked.values()) == {1}
    assert {"toy", "filter_first"} <= asked.keys()


@pytest.mark.usefixtures("installed")
def test_one_that_cannot_be_loaded_is_left_out_and_fails_no_query(films, caplog):
    with caplog.at_level(logging.WARNING):
        assert len(films.query(RANKED, VALUES))
    assert "the strategy 'broken' cannot be loaded and is not considered" in caplog.text
    assert [name for name, _ in by_preference()] == [*BUILT_IN[:5], "toy", *BUILT_IN[5:]]


@pytest.mark.parametrize("source", ["raise RuntimeError", "thing = object()", "import no_such_package", "("])
def test_packages_that_fail_when_imported_fail_no_query(films, tmp_path, monkeypatch, source):
    (tmp_path / "hostile.py").write_text(source)
    (tmp_path / "hostile-1.0.dist-info").mkdir()
    groups = (STRATEGIES.group, TEXT_ENGINES.group, VECTOR_INDEXES.group)
    (tmp_path / "hostile-1.0.dist-info" / "entry_points.txt").write_text(
        "".join(f"[{group}]\nhostile = hostile:thing\n" for group in groups)
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    forget_plugins()
    try:
        assert "hostile" in STRATEGIES.names()
        assert len(films.query(RANKED, VALUES))
        with pytest.raises(ConfigError, match="no setting 'hostile'"):
            parse_config("[hostile]\na = 1\n", "kb.toml")
    finally:
        monkeypatch.undo()
        forget_plugins()


def test_without_the_package_nothing_is_left_of_it(films):
    assert films.query(RANKED, VALUES).strategy in BUILT_IN
    assert "toy" not in STRATEGIES.names()
