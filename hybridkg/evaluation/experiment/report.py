"""The report of an experiment: Markdown, HTML and JSON of the same figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from hybridkg.errors import MissingExtraError, StorageError
from hybridkg.evaluation.comparison import Comparison
from hybridkg.evaluation.eval_report import ALL
from hybridkg.evaluation.experiment.document import Code, Heading, Paragraph, Part, Picture, Table, to_html, to_markdown
from hybridkg.evaluation.experiment.outcome import Outcome
from hybridkg.evaluation.experiment.stored import MANIFEST, write_text
from hybridkg.evaluation.measures import mean

SIGNIFICANT = 0.05
"""Holm's p below which a difference is marked."""

TOPICS_SHOWN = 5
"""Largest gains and losses of each system that are listed."""

PLOTS, OF_TOPICS = "plots", "topics-"
CATEGORIES = ""
"""The picture that is of no system."""

LONGEST_TOPIC = 80


def write_report(outcome: Outcome, folder: Path) -> tuple[list[Path], str]:
    """Writes report.md, report.html, report.json and the plots.

    Returns:
        (the files, why there are no plots; empty where there are).

    Raises:
        StorageError: they cannot be written.
    """
    pictures: dict[str, Picture] = {}
    missing = ""
    try:
        pictures = _pictures(outcome)
    except MissingExtraError as e:
        missing = f"{e.message}: {e.hint}"
    parts = list(_parts(outcome, pictures, missing))
    title = outcome.spec.title or outcome.spec.name
    files = {
        "report.md": to_markdown(parts),
        "report.html": to_html(title, parts),
        "report.json": json.dumps(outcome.to_json(), indent=1, ensure_ascii=False) + "\n",
        **{picture.file: picture.svg + "\n" for picture in pictures.values()},
    }
    try:
        (folder / PLOTS).mkdir(parents=True, exist_ok=True)
        for old in (folder / PLOTS).glob(f"{OF_TOPICS}*.svg"):  # of systems that had other names
            if f"{PLOTS}/{old.name}" not in files:
                old.unlink()
    except OSError as e:
        raise StorageError(f"cannot write to {str(folder)!r}: {e.strerror}") from e
    for name, text in files.items():
        write_text(folder / name, text)
    return [folder / name for name in files], missing


def _pictures(outcome: Outcome) -> dict[str, Picture]:
    from hybridkg.evaluation.experiment.plots import to_svg

    measure, found = outcome.main, {}
    if outcome.categories:
        svg = to_svg(outcome.plot_categories())
        found[CATEGORIES] = Picture(
            f"{PLOTS}/categories.svg",
            svg,
            f"{measure} by category (topics); bars: all topics; line: {outcome.baseline}",
        )
    for name in outcome.runs:
        if name != outcome.baseline:
            svg = to_svg(outcome.plot_differences(name))
            about = f"{measure} of {name} minus that of {outcome.baseline}, topic by topic"
            found[name] = Picture(f"{PLOTS}/{OF_TOPICS}{name}.svg", svg, about)
    return found


def _parts(outcome: Outcome, pictures: dict[str, Picture], missing: str) -> Iterator[Part]:
    spec = outcome.spec
    yield Heading(spec.title or spec.name, 1)
    if spec.about:
        yield Paragraph(spec.about)
    yield Paragraph(_collection(outcome))
    yield Heading("Systems")
    yield _systems(outcome)
    if outcome.comparison is not None:
        yield Paragraph(
            f"▲ and ▼: above and below {outcome.baseline}, p < {SIGNIFICANT} after Holm's correction over all "
            "comparisons."
        )
    yield from _verdicts(outcome)
    yield from _comparisons(outcome)
    if outcome.categories:
        yield Heading("By category")
        yield _by_category(outcome)
        if CATEGORIES in pictures:
            yield pictures[CATEGORIES]
    yield from _topics(outcome, pictures)
    if missing:
        yield Paragraph(f"There are no plots: {missing}")
    yield from _queries(outcome)
    yield Heading("How it was done")
    yield from _method(outcome)


def _collection(outcome: Outcome) -> str:
    relevant = sum(len(outcome.judged.relevant(topic)) for topic in outcome.judged.grades)
    return f"{len(outcome.judged):,} judged topics with {relevant:,} relevant documents."


def _systems(outcome: Outcome) -> Table:
    means, comparison = outcome.means(), outcome.comparison
    marks = {
        (row.run, row.measure): "▲" if row.difference > 0 else "▼"
        for row in (comparison.comparisons if comparison else ())
        if row.group == ALL and row.holm_p < SIGNIFICANT
    }
    times = {name: one.latency() for name, one in outcome.runs.items()}
    measured = any(times.values())
    rows = []
    for name, latency in times.items():
        cells = [f"{means[name][m]:.4f}{' ' + marks[name, m] if (name, m) in marks else ''}" for m in outcome.names]
        if measured:
            cells += ["", ""] if latency is None else [f"{ms:,.1f}" for ms in latency]
        rows.append((name, *cells))
    return Table(("system", *outcome.names, *(("ms, median", "ms, P95") if measured else ())), tuple(rows))


def _verdicts(outcome: Outcome) -> Iterator[Part]:
    verdicts = outcome.verdicts()
    if not verdicts:
        return
    yield Heading("Beside published figures")
    yield Paragraph("OK: within the tolerance; close: within three times the tolerance; else off.")
    yield Table(
        ("system", "measure", "published", "ours", "difference", "tolerance", "verdict"),
        tuple(
            (
                one.system,
                one.expected.measure,
                f"{one.expected.value:.4f}",
                f"{one.found:.4f}",
                f"{one.found - one.expected.value:+.4f}",
                f"{one.expected.tolerance:g}",
                one.verdict,
            )
            for one in verdicts
        ),
        left=(1,),
    )


def _comparisons(outcome: Outcome) -> Iterator[Part]:
    if outcome.comparison is None:
        return
    yield Heading(f"Against {outcome.baseline}")
    yield Paragraph("W/T/L: topics won, tied and lost. Holm p: p corrected for all rows of these tables.")
    whole = [row for row in outcome.comparison.comparisons if row.group == ALL]
    for measure, rows in groupby(whole, key=lambda row: row.measure):
        yield Table(
            (measure, "mean", "difference", "95 % interval", "p", "Holm p", "W/T/L"),
            tuple(_compared(row) for row in rows),
        )


def _compared(row: Comparison) -> tuple[str, ...]:
    return (
        row.run,
        f"{row.mean:.4f}",
        f"{row.difference:+.4f}",
        f"{row.low:+.4f} {row.high:+.4f}",
        _p(row.p),
        _p(row.holm_p),
        f"{row.wins}/{row.ties}/{row.losses}",
    )


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.00005 else "<.0001"


def _by_category(outcome: Outcome) -> Table:
    groups, measure = outcome.report.groups(), outcome.main
    head = (measure, *(f"{name} ({len(topics)})" for name, topics in groups.items()))
    rows = (
        (name, *(f"{mean(values[measure], topics):.4f}" for topics in groups.values()))
        for name, values in outcome.values.items()
    )
    return Table(head, tuple(rows))


def _topics(outcome: Outcome, pictures: dict[str, Picture]) -> Iterator[Part]:
    if outcome.comparison is None:
        return
    measure = outcome.main
    yield Heading("Topic by topic")
    of_measure = [row for row in outcome.comparison.per_topic if row.measure == measure]
    for name, group in groupby(of_measure, key=lambda row: row.run):
        rows = [row for row in group if row.difference]
        yield Heading(f"{name} - {outcome.baseline}", 3)
        if name in pictures:
            yield pictures[name]
        if not rows:
            yield Paragraph(f"No topic has another {measure}.")
            continue
        first, last = rows[:TOPICS_SHOWN], rows[-TOPICS_SHOWN:]
        shown = [row for row in first if row.difference > 0] + [row for row in last if row.difference < 0]
        yield Table(
            ("topic", "text", outcome.baseline, name, "difference"),
            tuple(
                (
                    row.topic,
                    _short(outcome.topics.texts[row.topic]),
                    f"{row.baseline_value:.4f}",
                    f"{row.value:.4f}",
                    f"{row.difference:+.4f}",
                )
                for row in shown
            ),
            left=(1,),
        )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TOPIC else f"{text[: LONGEST_TOPIC - 3]}..."


def _queries(outcome: Outcome) -> Iterator[Part]:
    yield Heading("What was asked")
    for name, one in outcome.runs.items():
        yield Heading(name, 3)
        if one.spec.about:
            yield Paragraph(one.spec.about)
        if one.spec.kind == "query":
            yield Code("\n".join(str(one.spec.value).strip().splitlines()))
            if one.spec.params:
                yield Paragraph("with " + ", ".join(f"${name} = {value}" for name, value in one.spec.params.items()))
        elif one.spec.kind == "tune":
            settings = ", ".join(f"{key} = {value!r}" for key, value in one.spec.value.items())
            yield Paragraph(f"Learned in the folds: {settings}; each topic is ranked by a model that has not seen it.")
            for model, count in Counter(told.plan for told in one.told.values() if told.plan).items():
                yield Code(f"# ranked {count} topics\n{model.strip()}")
        elif one.spec.kind == "learn":
            yield Paragraph("A RankSVM over the scores of other systems, learned in the folds; its weights:")
            folds = list(one.learned)
            features = list(next(iter(one.learned.values()), {}))
            rows = tuple((name, *(f"{one.learned[fold][name]:+.3f}" for fold in folds)) for name in features)
            yield Table(("feature", *(f"fold {fold}" for fold in folds)), rows)
        else:
            yield Paragraph("A run that was made elsewhere.")


def _method(outcome: Outcome) -> Iterator[Part]:
    comparison, spec = outcome.comparison, outcome.spec
    if comparison is not None:
        method = comparison.method()
        yield Paragraph(method[:1].upper() + method[1:] + ".")
    yield Paragraph(
        f"Rankings end at {spec.depth:,} rows. Means are over all judged topics; a topic without an answer counts "
        "0. Milliseconds are of one topic from query to ranking, with tables and kernels that are warm. "
        f"{MANIFEST} has the hashes of knowledge bases, topics, judgements and runs, the versions, and plan and time "
        "of each topic."
    )
    for note in outcome.notes():
        yield Paragraph(f"{note[:1].upper()}{note[1:]}." if note[:1].isdigit() else f"{note}.")
