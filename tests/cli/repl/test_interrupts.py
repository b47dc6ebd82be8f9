"""Ctrl-C at every moment after Enter: it interrupts the input that Enter began, and never the session."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.key_binding.key_processor import KeyPress, KeyProcessor
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput
from sampling import examples

from hybridkg.cli.repl import terminal
from hybridkg.cli.repl.interrupts import Interrupts
from hybridkg.cli.repl.running import InterruptibleRunner
from hybridkg.cli.repl.session import Session

QUERY, NEXT = "ASK {}", "SELECT ?f { ?f a :Film } LIMIT 1"


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


@pytest.fixture
def talk(session, screen, keyboard, monkeypatch, tmp_path) -> Callable[[str], tuple[str, str]]:
    """Types into a session, which then ends; returns its rows and its messages."""
    monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path))
    session.names()

    def talk(typed: str) -> tuple[str, str]:
        session.done = False
        keyboard.send_text(typed)
        interrupts = Interrupts()
        session.runner = InterruptibleRunner(interrupts)
        terminal.converse(session, session.runner, interrupts)
        return "".join(screen.out), "\n".join(screen.said)

    return talk


class PressAt:
    """Presses Ctrl-C once, as a signal, at a call of a function in the main thread.

    Counts the calls from the first one of a method, until the next prompt begins.

    Args:
        where, name: the class and the name of the method.
        at: the number of the call, from 1; 0 never presses.
    """

    def __init__(self, patch: pytest.MonkeyPatch, where: type, name: str, at: int = 0):
        self.at, self.calls, self.pressed = at, 0, ""
        method = getattr(where, name)

        def counted(*args: object) -> object:
            if not self.calls:
                sys.setprofile(self._watch)
            return method(*args)

        patch.setattr(where, name, counted)

    def _watch(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        if frame.f_code is terminal._read.__code__:
            sys.setprofile(None)
            return
        self.calls += 1
        if self.calls == self.at:
            sys.setprofile(None)
            self.pressed = f"{frame.f_code.co_filename}:{frame.f_code.co_name}"
            signal.raise_signal(signal.SIGINT)


def test_a_press_that_a_finalizer_drops_is_kept():
    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def work() -> None:
        Finalized()
        ends.append("the work")

    ends: list[str] = []
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupts.run(work)
    assert ends == ["the work"]


def test_ctrl_c_that_is_read_together_with_enter_cancels_the_query(talk):
    out, said = talk(f"{QUERY}\r\x03{NEXT}\r.quit\r")
    assert "cancelled" in said
    assert "true" not in out
    assert out.count("http://example.org/films/") == 1


def test_ctrl_c_is_kept_as_a_key_that_the_line_editor_handles_when_its_input_has_ended(session, keyboard):
    async def press(keys: KeyProcessor) -> None:
        keys.feed(KeyPress(Keys.ControlC))
        keys.process_keys()

    with Interrupts() as interrupts:
        asyncio.run(press(terminal._prompt(session, interrupts).app.key_processor))
        assert interrupts.take()


def test_what_was_typed_before_ctrl_c_is_dropped_as_terminals_do(talk):
    out, said = talk(f"{QUERY}\r{NEXT}\r\x03.quit\r")
    assert out == ""
    assert said.count("cancelled") == 1


def test_ctrl_c_that_comes_while_the_line_editor_ends_cancels_the_query(talk, keyboard, monkeypatch):
    def typed(history, string):
        keyboard.send_text(f"\x03{NEXT}\r.quit\r" if string == QUERY else "")
        store(history, string)

    store = terminal._SafeHistory.store_string
    monkeypatch.setattr(terminal._SafeHistory, "store_string", typed)
    out, said = talk(f"{QUERY}\r")
    assert "cancelled" in said
    assert "true" not in out
    assert out.count("http://example.org/films/") == 1


@pytest.mark.parametrize(
    ("where", "name"), [(Buffer, "validate_and_handle"), (Session, "run")], ids=["after Enter", "in the query"]
)
def test_a_signal_at_any_moment_cancels_the_query_or_comes_after_its_rows(talk, screen, monkeypatch, where, name):
    typed = f"{QUERY}\r{NEXT}\r.quit\r"
    talk(typed)
    with monkeypatch.context() as patch:
        count = PressAt(patch, where, name)
        talk(typed)
    chance = Random(41)
    moments = [1, 2, 3, *(chance.randint(1, count.calls) for _ in range(examples(4, 300)))]
    pressed = 0  # the number of calls differs a little from run to run
    for moment in moments:
        screen.out.clear()
        screen.said.clear()
        with monkeypatch.context() as patch:
            press = PressAt(patch, where, name, moment)
            out, said = talk(typed)
        pressed += bool(press.pressed)
        assert "Traceback" not in said, press.pressed
        assert "cancelled" in said or out.startswith("true"), press.pressed
        assert out.count("http://example.org/films/") == 1, press.pressed
    assert pressed > len(moments) / 2
