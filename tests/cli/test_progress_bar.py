"""The progress bar: what it shows on the way, and that it is full at the end."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.progress import Progress

from hybridkg.cli.output import TerminalProgress


@pytest.fixture
def ends(monkeypatch):
    """What each bar shows when it ends: (share in percent, items)."""
    shown: list[tuple[float, int]] = []
    stop = Progress.stop

    def recorded(self):
        (task,) = self.tasks
        shown.append((task.percentage, task.fields["items"]))
        stop(self)

    monkeypatch.setattr(Console, "is_terminal", property(lambda self: True))
    monkeypatch.setattr(Progress, "stop", recorded)
    return shown


@pytest.mark.parametrize("total", [None, 0, 8])
def test_a_bar_is_full_at_the_end_of_its_work(ends, total):
    """An unknown total, as of the rows of a graph; none; one that the work does not reach, as of a compressed file."""
    progress = TerminalProgress()
    progress.start("reading text from the graph", total)
    progress.advance(0 if total is None else 5, 3)
    progress.done(4)
    assert ends == [(100.0, 4)]


def test_what_is_interrupted_or_followed_by_other_work_is_not_full(ends):
    progress = TerminalProgress()
    progress.start("one", 8)
    progress.advance(2, 1)
    progress.start("other", 4)
    progress.done(4)
    progress.done(4)
    assert ends == [(25.0, 1), (100.0, 4)]


def test_no_share_and_no_end_are_shown_where_the_total_is_unknown(capsys, ends, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    progress = TerminalProgress()
    for total in (None, 8):
        progress.start("reading", total)
        progress.advance(2, 1_500)
        text = _text_of(progress)
        assert "1,500 items" in text
        assert ("ETA" in text) == ("%" in text) == (total == 8)
        progress.done(1)


def _text_of(progress: TerminalProgress) -> str:
    console = Console(width=120, force_terminal=False)
    with console.capture() as captured:
        console.print(progress._bar.get_renderable())
    return captured.get()
