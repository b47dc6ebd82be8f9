"""The method of a report: collection, queries, learning, measures, versions."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hybridkg.evaluation.experiment.document import Code, Heading, Paragraph, Part, ReportTable
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome, SystemRun
from hybridkg.evaluation.experiment.stored import MANIFEST
from hybridkg.evaluation.measures import describe

HASH_SHOWN = 16
"""Digits of a SHA-256 in the report; the manifest has all."""


def collection(outcome: ExperimentOutcome) -> Paragraph:
    judged = outcome.judged
    grades = Counter(grade for own in judged.grades.values() for grade in own.values())
    relevant = [len(judged.relevant(topic)) for topic in judged.grades]
    counted = ", ".join(f"{count:,} of grade {grade}" for grade, count in sorted(grades.items()))
    some = f"; {relevant.count(0):,} have none" if relevant.count(0) else ""
    groups = outcome.report.groups()
    parts = f" Categories: {', '.join(f'{name} ({len(own):,})' for name, own in groups.items())}." if groups else ""
    return Paragraph(
        f"{len(judged):,} judged topics with {sum(relevant):,} relevant documents, {statistics.mean(relevant):.1f} for "
        f"a topic (median {statistics.median(relevant):g}{some}). Judgements: {counted}.{parts}"
    )


def queries(outcome: ExperimentOutcome) -> Iterator[Part]:
    """The definition of each system."""
    yield Heading("Queries")
    for name, one in outcome.runs.items():
        yield Heading(name, 3)
        if one.spec.about:
            yield Paragraph(one.spec.about)
        match one.spec.kind:
            case "query":
                yield Code("\n".join(str(one.spec.value).strip().splitlines()))
                if one.spec.params:
                    yield Paragraph("with " + ", ".join(f"${key} = {value}" for key, value in one.spec.params.items()))
            case "within":
                own = one.spec.value
                yield Code("\n".join(str(own["query"]).strip().splitlines()))
                yield Paragraph(f"among the first {own['top']:,} of {own['of']}")
            case "tune":
                yield from _tuned(name, one)
            case "learn":
                yield from _learned(name, one)
            case "ask":
                settings = ", ".join(f"{key} = {value}" for key, value in one.spec.value.items())
                yield Paragraph(f"The query that hybridkg ask makes of each topic ({settings}).")
            case _:
                yield Paragraph("An existing run.")


def _tuned(name: str, one: SystemRun) -> Iterator[Part]:
    settings = ", ".join(f"{key} = {value!r}" for key, value in one.spec.value.items())
    yield Paragraph(
        f"Learned in the folds by coordinate ascent ({settings}); each topic is ranked by a model that has not seen it."
    )
    by_category: dict[str, list[Mapping[str, Any]]] = {}
    for model in one.learned.values():
        by_category.setdefault(model["category"], []).append(model)
    for category, models in by_category.items():
        lines: dict[str, list[str]] = {"topics, training + test": [], "training, default": [], "training, learned": [],
                                       "test, default": [], "test, learned": [], "points measured": []}  # fmt: skip
        for place, model in enumerate(models):
            test = model["test"] or {"topics": 0, "default": float("nan"), "tuned": float("nan")}
            column = [
                f"{model['training']['topics']} + {test['topics']}",
                *(f"{part[key]:.4f}" for part in (model["training"], test) for key in ("default", "tuned")),
                f"{model['evaluations']:,}",
            ]
            for line, text in zip(lines, column, strict=False):
                lines[line].append(text)
            for parameter, value in parameters(model):
                row = lines.setdefault(parameter, [])
                row += [""] * (place - len(row))  # a model may leave it at its default
                row.append(value)
        yield ReportTable(
            ("", *(f"fold {model['fold']}" for model in models)),
            tuple((line, *own, *[""] * (len(models) - len(own))) for line, own in lines.items()),
            caption=f"What {name} has learned{f' for {category}' if category else ''} in each fold; its measure on the "
            "topics of training and of test, before and after. A parameter that is not there is the model's default.",
        )


def parameters(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, value) of the parameters of a learned model, those of fields last.

    >>> list(parameters({"arguments": {"k1": 1.2}, "fields": {"names": {"weight": 0.25, "b": 1.0}}}))
    [('k1', '1.2'), ('names: weight', '0.25'), ('names: b', '1')]
    """
    for name, value in model["arguments"].items():
        yield name, _value(value)
    for field, own in model["fields"].items():
        for name, value in own.items():
            yield f"{field}: {name}", _value(value)


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _learned(name: str, one: SystemRun) -> Iterator[Part]:
    yield Paragraph("A RankSVM over the scores of other systems, each brought to 0..1 in each topic.")
    folds = list(one.learned)
    features = list(next(iter(one.learned.values()), {}))
    yield ReportTable(
        ("feature", *(f"fold {fold}" for fold in folds)),
        tuple((feature, *(f"{one.learned[fold][feature]:+.3f}" for fold in folds)) for feature in features),
        caption=f"Weights that {name} has learned in each fold; each topic is ranked by those that have not seen it.",
    )


def method(outcome: ExperimentOutcome) -> Iterator[Part]:
    """Measures, caveats, times, versions."""
    yield ReportTable(
        ("measure", "definition"),
        tuple((measure.name, describe(measure)) for measure in outcome.measures),
        left=(1,),
        caption="Measures. Each has a value from 0 to 1 for a topic, unless it says otherwise; means are over all "
        "judged topics, and a topic without an answer counts 0. A document without a judgement is not relevant.",
    )
    for note in (*outcome.notes(), *(warning.message for warning in outcome.warnings())):
        yield Paragraph(f"{note[:1].upper()}{note[1:]}." if note[:1].isdigit() else f"{note}.")
    yield from _times(outcome)
    yield from _made_with(outcome)


def _times(outcome: ExperimentOutcome) -> Iterator[Part]:
    rows = []
    left = {name: one.spec.seconds for name, one in outcome.skipped.items() if one.spec.seconds is not None}
    compared = bool(left) or any(one.spec.seconds is not None for one in outcome.runs.values())
    for name, one in outcome.runs.items():
        latency, took = one.latency(), one.took
        if latency is not None or took is not None:
            ms = ("", "", "") if latency is None else tuple(f"{value:,.1f}" for value in latency)
            seconds = ("", "") if took is None else (f"{took.seconds:,.1f}", f"{took.cpu_seconds:,.1f}")
            published = one.spec.seconds
            rows.append((name, *ms, *seconds, *(["" if published is None else f"{1e3 * published:,.0f}"] * compared)))
    rows += [(name, "", "", "", "", "", f"{1e3 * seconds:,.0f}") for name, seconds in left.items()]
    if rows:
        machine = f" Machine: {', '.join(map(str, outcome.machine()))}." if outcome.surroundings else ""
        theirs = " Published: milliseconds of one topic, on another machine." if compared else ""
        yield ReportTable(
            ("system", "ms, median", "ms, P90", "ms, P95", "seconds", "CPU seconds", *["published ms"] * compared),
            tuple(rows),
            caption="Time. Milliseconds are of one topic, from query to ranking, with tables and kernels that are "
            "warm; seconds are of all topics, with learning and what is read first; CPU seconds are of all processes."
            f"{machine}{theirs}",
        )


def _made_with(outcome: ExperimentOutcome) -> Iterator[Part]:
    context, spec = outcome.surroundings, outcome.spec
    if context:
        packages = ", ".join(f"{name} {number}" for name, number in context["packages"].items())
        rows = [("hybridkg", context["hybridkg"]), ("Python", context["python"]), ("packages", packages)]
        rows += [("machine", ", ".join(outcome.machine()))]
        for path, kb in context["knowledge_bases"].items():
            about = [f"{count:,} {name}" for name, count in kb["counts"].items()]
            vectors = [f"vectors by {kb['vectors']}"] if kb["vectors"] else []
            rows.append((f"knowledge base {path}", ", ".join([*about, *vectors, _hash(kb["sha256"])])))
        for part in ("topics", "qrels", "candidates"):
            if context[part] is not None:
                rows.append((part, f"{next(iter(context[part].values())):,}, {_hash(context[part]['sha256'])}"))
        yield ReportTable(("", ""), tuple(rows), left=(1,), caption="Versions and data of the last run.")
    yield Paragraph(
        f"Rankings end at {spec.depth:,} rows; random draws come from seed {spec.seed}. {MANIFEST} has the hashes of "
        "knowledge bases, topics, judgements and runs in full, and strategy, plan and time of each topic."
    )


def _hash(sha256: str) -> str:
    return f"SHA-256 {sha256[:HASH_SHOWN]}"
