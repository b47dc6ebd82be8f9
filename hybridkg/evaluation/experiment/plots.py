"""Plots of an experiment by matplotlib; equal figures give equal bytes of SVG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hybridkg.errors import UnknownNameError
from hybridkg.evaluation.experiment.document import printable
from hybridkg.evaluation.measures import mean
from hybridkg.extras import needs_extra
from hybridkg.registry import did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybridkg.evaluation.experiment.outcome import ExperimentOutcome

BETTER, WORSE = "#2a7f62", "#b5483a"
COLOURS = ("#4c6a92", "#d08c3f", "#2a7f62", "#b5483a", "#7a5c99", "#5f8f8b", "#8c6d46", "#999999")
SHAPES = "os^D"
"""Markers, cycled when there are more categories than colours."""

STYLE: Any = {
    "svg.hashsalt": "hybridkg",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar in a name is text
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
WIDTH = 7.2
"""Width of a figure in inches."""


@contextmanager
def _style() -> Iterator[None]:
    with needs_extra("eval", "a plot"):
        import matplotlib as mpl
    with mpl.rc_context(STYLE):
        yield


def differences(outcome: ExperimentOutcome, system: str, measure: str) -> Figure:
    """A bar chart of the system's gain over the baseline in each judged topic, the largest gain first.

    Raises:
        UnknownNameError: no such system or measure.
        MissingExtraError: matplotlib is not installed.
    """
    base, own = _values(outcome, outcome.baseline, measure), _values(outcome, system, measure)
    gains = sorted((own[topic] - base[topic] for topic in base), reverse=True)
    with _style():
        with needs_extra("eval", "a plot"):
            from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
        axes = figure.add_subplot()
        axes.bar(range(len(gains)), gains, width=1.0, color=[BETTER if gain > 0 else WORSE for gain in gains])
        axes.axhline(0, color="black", linewidth=0.6)
        axes.set_xlim(-0.5, len(gains) - 0.5)
        axes.set_xlabel(f"{len(gains)} topics, the largest gain first")
        axes.set_ylabel(measure)
        axes.set_title(f"{system} - {outcome.baseline}", loc="left", fontsize=10)
        return figure


def categories(outcome: ExperimentOutcome, measure: str) -> Figure:
    """A dot plot with a row for each system and a dot for each category; bars mark all topics, a line the baseline.

    Raises:
        UnknownNameError: no such measure.
        MissingExtraError: matplotlib is not installed.
    """
    systems, topics = list(outcome.runs), list(outcome.judged.grades)
    values = {name: _values(outcome, name, measure) for name in systems}
    with _style():
        with needs_extra("eval", "a plot"):
            from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 1.3 + 0.24 * len(systems)), layout="constrained")
        axes = figure.add_subplot()
        lines = range(len(systems))
        axes.plot(
            [mean(values[name], topics) for name in systems], lines, "|", color="black", ms=11, mew=2, label="all"
        )
        for number, (group, own) in enumerate(outcome.report.groups().items()):
            axes.plot(
                [mean(values[name], own) for name in systems],
                lines,
                SHAPES[number // len(COLOURS) % len(SHAPES)],
                color=COLOURS[number % len(COLOURS)],
                ms=5,
                label=f"{printable(group).lstrip('_')} ({len(own)})",
            )
        axes.axvline(mean(values[outcome.baseline], topics), color="black", linewidth=0.4)
        axes.set_yticks(lines, systems)
        axes.set_ylim(len(systems) - 0.5, -0.5)
        axes.grid(axis="y", linewidth=0.3)
        axes.set_xlabel(measure)
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        return figure


def to_svg(figure: Figure) -> str:
    """The figure as SVG without a date."""
    with _style(), warnings.catch_warnings():
        out = io.StringIO()
        # The page has fonts for glyphs that matplotlib's lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _values(outcome: ExperimentOutcome, system: str, measure: str) -> dict[str, float]:
    for name, valid in ((system, list(outcome.values)), (measure, list(outcome.names))):
        if name not in valid:
            raise UnknownNameError(f"no {name!r}; known: {', '.join(valid)}", hint=did_you_mean(name, valid))
    return outcome.values[system][measure]
