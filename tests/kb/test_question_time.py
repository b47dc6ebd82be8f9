"""One time limit for the interpretation of a question and its query."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from model_server_at_hand import model_server, status

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.config.run_settings import LimitSettings
from hybridkg.errors import QueryStoppedError, UserError
from hybridkg.kb import asking
from hybridkg.kb.question_time import QuestionTime

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    folder = tmp_path_factory.mktemp("time") / "films.kb"
    copy_films(folder)
    return folder


@pytest.fixture
def endless(monkeypatch):
    """An interpretation that ends with the test."""
    over = threading.Event()

    def interpret(*_, **__):
        assert over.wait(30)
        raise UserError("the test is over")

    monkeypatch.setattr(asking, "interpret", interpret)
    yield
    over.set()


def test_the_interpretation_has_the_time_of_the_question(films, endless):
    with KnowledgeBase.open(films) as kb:
        for work in (kb.interpret, kb.ask):
            with pytest.raises(QueryStoppedError, match=r"the question has taken longer than 0\.05 s") as stopped:
                work("films by Ridley Scott", timeout=0.05)
            assert stopped.value.doing == "interpretation of the question"


def test_the_command_stops_in_the_interpretation(films, endless):
    result = CliRunner().invoke(cli, ["ask", str(films), "films by Ridley Scott", "--timeout", "50ms"])
    assert result.exit_code == 2
    assert "the question has taken longer than 0.05 s" in result.stderr
    assert "at work: interpretation of the question" in result.stderr
    assert "hint: give it more time: --timeout 30s" in result.stderr


def test_the_limit_of_kb_toml_counts_too(films, endless):
    with KnowledgeBase.open(films) as kb:
        kb.settings.set("limits.timeout", 0.05)
        try:
            with pytest.raises(QueryStoppedError, match=r"longer than 0\.05 s"):
                kb.ask("films by Ridley Scott")
        finally:
            kb.settings.unset("limits.timeout")


def test_a_model_server_that_asks_to_wait_does_not_prolong_the_question(films, tmp_path):
    with model_server() as served:
        shutil.copytree(films, tmp_path / "films.kb")
        with (tmp_path / "films.kb" / "kb.toml").open("a") as file:
            file.write(f'\n[reranking]\nurl = "{served.url}"\n')
        served.faults = [status(503, Retry_After="20")] * 5
        with KnowledgeBase.open(tmp_path / "films.kb") as kb:
            kb.interpret("films")  # reads the schema
            with pytest.raises(QueryStoppedError, match="longer than 1 s"):
                kb.ask("films by Ridley Scott", parser="llm", model="m", timeout=1)
        assert len(served.asked) == 1


def test_the_query_has_the_time_that_the_interpretation_left():
    now = iter([10.0, 12.0, 16.0])
    time = QuestionTime(LimitSettings(), 5, clock=lambda: next(now))
    assert time.left() == 3.0
    with pytest.raises(QueryStoppedError, match="longer than 5 s"):
        time.left()


def test_without_a_limit_there_is_always_time():
    assert QuestionTime(LimitSettings()).left() == 0.0
    assert QuestionTime(LimitSettings(timeout=5.0), 0).left() == 0.0


def test_an_error_of_a_query_that_was_cancelled_in_time_stays_as_it_is():
    time = QuestionTime(LimitSettings(), 5, clock=lambda: 1.0)

    def cancelled():
        raise QueryStoppedError("the query was cancelled")

    with pytest.raises(QueryStoppedError, match="the query was cancelled"):
        time.named(cancelled)
