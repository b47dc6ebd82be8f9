"""The report of an experiment: Markdown, HTML and JSON of the same figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from hybridkg.errors import MissingExtraError, StorageError
from hybridkg.evaluation.experiment.document import Heading, Paragraph, Part, Picture, numbered, to_html, to_markdown
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome
from hybridkg.evaluation.experiment.report_figures import by_category, comparisons, means, readings, topics, verdicts
from hybridkg.evaluation.experiment.report_method import collection, method, queries
from hybridkg.evaluation.experiment.stored import write_text

PLOTS, OF_TOPICS = "plots", "topics-"
CATEGORIES = ""
"""Key of the picture of all systems."""


def write_report(outcome: ExperimentOutcome, folder: Path) -> tuple[list[Path], str]:
    """Writes report.md, report.html, report.json and the plots.

    Returns:
        (the files, the reason for missing plots or "").

    Raises:
        StorageError: they cannot be written.
    """
    pictures: dict[str, Picture] = {}
    missing = ""
    try:
        pictures = _pictures(outcome)
    except MissingExtraError as e:
        missing = f"{e.message}: {e.hint}"
    parts = list(numbered(_parts(outcome, pictures, missing)))
    title = outcome.spec.title or outcome.spec.name
    files = {
        "report.md": to_markdown(parts),
        "report.html": to_html(title, parts),
        "report.json": json.dumps(outcome.to_json(), indent=1, ensure_ascii=False) + "\n",
        **{picture.file: picture.svg + "\n" for picture in pictures.values()},
    }
    try:
        (folder / PLOTS).mkdir(parents=True, exist_ok=True)
        for old in (folder / PLOTS).glob(f"{OF_TOPICS}*.svg"):  # of renamed systems
            if f"{PLOTS}/{old.name}" not in files:
                old.unlink()
    except OSError as e:
        raise StorageError(f"cannot write to {str(folder)!r}: {e.strerror}") from e
    for name, text in files.items():
        write_text(folder / name, text)
    return [folder / name for name in files], missing


def _pictures(outcome: ExperimentOutcome) -> dict[str, Picture]:
    from hybridkg.evaluation.experiment.plots import to_svg

    measure, pictures = outcome.main, {}
    if outcome.categories:
        svg = to_svg(outcome.plot_categories())
        about = f"{measure} by category (topics); bars: all topics; line: {outcome.baseline}"
        pictures[CATEGORIES] = Picture(f"{PLOTS}/categories.svg", svg, about)
    for name in outcome.runs:
        if name != outcome.baseline:
            svg = to_svg(outcome.plot_differences(name))
            about = f"{measure} of {name} minus that of {outcome.baseline}, topic by topic"
            pictures[name] = Picture(f"{PLOTS}/{OF_TOPICS}{name}.svg", svg, about)
    return pictures


def _parts(outcome: ExperimentOutcome, pictures: dict[str, Picture], missing: str) -> Iterator[Part]:
    spec = outcome.spec
    yield Heading(spec.title or spec.name, 1)
    if spec.about:
        yield Paragraph(spec.about)
    yield collection(outcome)
    yield Heading("Systems")
    yield means(outcome)
    yield from readings(outcome)
    yield from verdicts(outcome)
    yield from comparisons(outcome)
    if outcome.categories:
        yield Heading("By category")
        yield by_category(outcome)
        if CATEGORIES in pictures:
            yield pictures[CATEGORIES]
    yield from topics(outcome, pictures)
    if missing:
        yield Paragraph(f"There are no plots: {missing}")
    yield from queries(outcome)
    yield Heading("How it was done")
    yield from method(outcome)
