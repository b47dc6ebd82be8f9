"""The plots of an experiment, by matplotlib; the same figures give the same bytes of SVG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hybridkg.errors import MissingExtraError, UnknownNameError
from hybridkg.evaluation.measures import mean
from hybridkg.registry import did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybridkg.evaluation.experiment.outcome import Outcome

BETTER, WORSE = "#2a7f62", "#b5483a"
COLOURS = ("#4c6a92", "#d08c3f", "#2a7f62", "#b5483a", "#7a5c99", "#5f8f8b", "#8c6d46", "#999999")
STYLE: Any = {
    "svg.hashsalt": "hybridkg",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
WIDTH = 7.2
"""Inches, for a page."""


@contextmanager
def _style() -> Iterator[None]:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as e:
        raise MissingExtraError("plots need the package 'matplotlib'", hint='pip install "hybridkg[eval]"') from e
    with mpl.rc_context(STYLE):
        yield


def differences(outcome: Outcome, system: str, measure: str) -> Figure:
    """A bar for each judged topic: what the system gains over the baseline, the largest gain first.

    Raises:
        UnknownNameError: no such system or measure.
        MissingExtraError: there is no matplotlib.
    """
    base, own = _values(outcome, outcome.baseline, measure), _values(outcome, system, measure)
    gains = sorted((own[topic] - base[topic] for topic in base), reverse=True)
    with _style():
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


def categories(outcome: Outcome, measure: str) -> Figure:
    """A group of bars for each category, a bar for each system.

    Raises:
        UnknownNameError: no such measure.
        MissingExtraError: there is no matplotlib.
    """
    groups = {"all": list(outcome.judged.grades), **outcome.report.groups()}
    systems = list(outcome.runs)
    with _style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
        axes = figure.add_subplot()
        width = 0.8 / len(systems)
        for number, name in enumerate(systems):
            values = _values(outcome, name, measure)
            heights = [mean(values, topics) for topics in groups.values()]
            places = [group + (number - (len(systems) - 1) / 2) * width for group in range(len(groups))]
            axes.bar(places, heights, width=width * 0.92, label=name, color=COLOURS[number % len(COLOURS)])
        axes.set_xticks(range(len(groups)), [f"{name}\n({len(topics)})" for name, topics in groups.items()])
        axes.set_ylabel(measure)
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        return figure


def to_svg(figure: Figure) -> str:
    """The figure as SVG, without dates."""
    with _style():
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _values(outcome: Outcome, system: str, measure: str) -> dict[str, float]:
    for name, known in ((system, list(outcome.values)), (measure, list(outcome.names))):
        if name not in known:
            raise UnknownNameError(f"no {name!r}; known: {', '.join(known)}", hint=did_you_mean(name, known))
    return outcome.values[system][measure]
