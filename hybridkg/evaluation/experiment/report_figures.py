"""The figures of a report: means, published figures, comparisons, categories, topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from hybridkg.evaluation.comparison import RunComparison, TopicDifference
from hybridkg.evaluation.eval_report import ALL
from hybridkg.evaluation.experiment.document import Heading, Paragraph, Part, Picture, ReportTable
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome, Verdict
from hybridkg.evaluation.gold_queries import PARTS
from hybridkg.evaluation.measures import mean

SIGNIFICANT = 0.05
"""Holm's p below which a difference is marked."""

TOPICS_SHOWN = 5
"""Number of largest gains, and of largest losses, that are listed for each system."""

TOPICS_APART = 10
"""Number of listed topics on which the systems differ most."""

MAX_TOPIC_LENGTH = 80


def means(outcome: ExperimentOutcome) -> ReportTable:
    values, comparison = outcome.means(), outcome.comparison
    marks = {
        (row.run, row.measure): "▲" if row.difference > 0 else "▼"
        for row in (comparison.comparisons if comparison else ())
        if row.group == ALL and row.holm_p < SIGNIFICANT
    }
    rows = tuple(
        (name, *(f"{values[name][m]:.4f}{' ' + marks[name, m] if (name, m) in marks else ''}" for m in outcome.names))
        for name in values
    )
    caption = f"Means over {_topics(len(outcome.judged))}; the best of each measure of quality is bold."
    if comparison is not None:
        caption += (
            f" ▲ and ▼: above and below {outcome.baseline}, p < {SIGNIFICANT} after Holm's correction over all "
            f"{len(comparison.comparisons)} comparisons."
        )
    strong = frozenset(
        (i, j)
        for j, measure in enumerate(outcome.names, 1)
        if measure in outcome.compared and len(values) > 1
        for i, name in enumerate(values)
        if values[name][measure] == max(own[measure] for own in values.values())
    )
    return ReportTable(("system", *outcome.names), rows, caption=caption, strong=strong)


def readings(outcome: ExperimentOutcome) -> Iterator[Part]:
    """The grades of the systems that read questions."""
    graded = {name: one.parts() for name, one in outcome.runs.items() if one.parts()}
    if graded:
        yield ReportTable(
            ("system", *PARTS),
            tuple((name, *(f"{parts[part]:.4f}" for part in PARTS)) for name, parts in graded.items()),
            caption="Readings of questions, beside the queries that these were made from: class of the answers, F1 of "
            "the named nodes, paths, and whether the nodes that satisfy all constraints are those of the query.",
        )


def verdicts(outcome: ExperimentOutcome) -> Iterator[Part]:
    figures = outcome.verdicts()
    if not figures:
        return
    yield Heading("Beside published figures")
    grouped = any(one.expected.category != ALL for one in figures)
    counts = Counter(one.verdict for one in figures)
    known = [name for name in ("OK", "close", "off") if name in counts]
    tally = ", ".join(f"{counts[name]} {name}" for name in (*known, *sorted(counts.keys() - set(known))))
    about = "OK: within the tolerance; close: within three times the tolerance; else off."
    if outcome.spec.published:
        about += (
            " Only a figure of the same topics, judgements, candidates and model is comparable; else the verdict is "
            "what differs, and the difference means nothing."
        )
    category = ("topics",) if grouped else ()
    yield ReportTable(
        ("system", *category, "measure", "published", "ours", "difference", "tolerance", "verdict"),
        tuple(_against_published(one, grouped) for one in figures),
        left=(1, 2) if grouped else (1,),
        caption=f"{tally}. {about}",
    )


def _against_published(one: Verdict, grouped: bool) -> tuple[str, ...]:
    expected = one.expected
    names = (one.system, expected.category, expected.measure) if grouped else (one.system, expected.measure)
    ours = ("", "") if one.found is None else (f"{one.found:.4f}", _signed(one.found - expected.value))
    return (*names, f"{expected.value:.4f}", *ours, f"{expected.tolerance:.9f}".rstrip("0"), one.verdict)


def comparisons(outcome: ExperimentOutcome) -> Iterator[Part]:
    """A table for each measure: every other system against the baseline."""
    comparison = outcome.comparison
    if comparison is None:
        return
    yield Heading(f"Against {outcome.baseline}")
    method = comparison.method()
    yield Paragraph(
        f"{method[:1].upper()}{method[1:]}. Difference: mean of the topics' differences, also in per cent of the mean "
        f"of {outcome.baseline}; d: that over their standard deviation; p: of the test; Holm p: corrected for all rows "
        "of these tables; W/T/L: topics won, tied and lost."
    )
    for measure, rows in groupby(comparison.comparisons, key=lambda row: row.measure):
        own = list(rows)
        yield ReportTable(
            (measure, "mean", "difference", "%", "95 % interval", "d", "p", "Holm p", "W/T/L"),
            tuple(_compared(row) for row in own),
            caption=f"{measure} against {outcome.baseline} ({own[0].baseline_mean:.4f}), n = {_topics(own[0].topics)}.",
        )


def _compared(row: RunComparison) -> tuple[str, ...]:
    percent = f"{100 * row.difference / row.baseline_mean:+.1f}" if row.baseline_mean else ""
    figures = (f"{row.mean:.4f}", f"{row.difference:+.4f}", percent, f"{row.low:+.4f} {row.high:+.4f}")
    tested = (f"{row.effect:+.2f}", _p(row.p), _p(row.holm_p))
    return (row.run, *figures, *tested, f"{row.wins}/{row.ties}/{row.losses}")


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.00005 else "<0.0001"


def by_category(outcome: ExperimentOutcome) -> ReportTable:
    groups, measure = outcome.report.groups(), outcome.main
    head = (measure, *(f"{name} ({len(topics)})" for name, topics in groups.items()))
    values = [[mean(own[measure], topics) for topics in groups.values()] for own in outcome.values.values()]
    best = [max(column) for column in zip(*values, strict=True)]
    return ReportTable(
        head,
        tuple((name, *(f"{value:.4f}" for value in row)) for name, row in zip(outcome.values, values, strict=True)),
        caption=f"Means of {measure} in each category (topics); the best of each is bold. Not tested: few topics show "
        "little, and Holm's correction would count all of them.",
        strong=frozenset(
            (i, j + 1)
            for i, row in enumerate(values)
            for j, value in enumerate(row)
            if value == best[j] and len(values) > 1
        ),
    )


def topics(outcome: ExperimentOutcome, pictures: Mapping[str, Picture]) -> Iterator[Part]:
    """The topics on which the systems differ most, and the largest gains and losses of each."""
    if outcome.comparison is None:
        return
    yield Heading("Topic by topic")
    if len(outcome.runs) > 2:
        yield from _apart(outcome)
    measure = outcome.main
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
        yield ReportTable(
            ("topic", "text", outcome.baseline, name, "difference"),
            tuple((row.topic, _short(outcome.topics.texts[row.topic]), *_values(row)) for row in shown),
            left=(1,),
            caption=f"{measure}: the largest gains and losses of {name} against {outcome.baseline}, of {len(rows):,} "
            f"topics that differ.",
        )


def _values(row: TopicDifference) -> tuple[str, str, str]:
    return f"{row.baseline_value:.4f}", f"{row.value:.4f}", f"{row.difference:+.4f}"


def _apart(outcome: ExperimentOutcome) -> Iterator[Part]:
    measure = outcome.main
    spreads = []
    for topic in outcome.judged.grades:
        own = {name: values[measure][topic] for name, values in outcome.values.items()}
        best, worst = max(own, key=own.__getitem__), min(own, key=own.__getitem__)
        centre = sum(own.values()) / len(own)
        spread = (sum((value - centre) ** 2 for value in own.values()) / len(own)) ** 0.5
        if spread:
            spreads.append((spread, topic, best, worst, own))
    spreads.sort(key=lambda one: (-one[0], one[1]))
    if spreads:
        yield ReportTable(
            ("topic", "text", "lowest", "highest", "deviation"),
            tuple(
                (topic, _short(outcome.topics.texts[topic]), f"{own[worst]:.4f} {worst}", f"{own[best]:.4f} {best}",
                 f"{spread:.4f}")
                for spread, topic, best, worst, own in spreads[:TOPICS_APART]
            ),
            left=(1, 2, 3),
            caption=f"{measure}: the topics on which the systems differ most, by the standard deviation over the "
            "systems; the first system of equal ones is named.",
        )  # fmt: skip


def _signed(value: float) -> str:
    """Four decimals with a sign; a rounded zero is positive.

    >>> _signed(-0.00001), _signed(-0.0001)
    ('+0.0000', '-0.0001')
    """
    return f"{round(value, 4) + 0.0:+.4f}"


def _topics(count: int) -> str:
    return f"{count:,} judged topic{'' if count == 1 else 's'}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_TOPIC_LENGTH else f"{text[: MAX_TOPIC_LENGTH - 3]}..."
