"""`hybridkg tune --model features`: learns the reranker `features`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.cli.echo import echo

if TYPE_CHECKING:
    from hybridkg.evaluation.tuning.features import FeatureOutcome, FeatureTuning
    from hybridkg.evaluation.tuning.folds import Fold

FEATURES = "features"
"""The `--model` that is a reranker."""


def tune_features(
    tuning: FeatureTuning,
    folds: Sequence[Fold] | None,
    categories: Mapping[str, str] | None,
    *,
    measure: str,
    top: int,
    out: Path,
    several: bool,
    run_file: Path | None,
) -> None:
    """Learns the models, writes the files, and prints the measure on the test topics."""
    from hybridkg.cli.output import TerminalProgress, write_files
    from hybridkg.evaluation.run import write_run
    from hybridkg.evaluation.tuning.features import to_json
    from hybridkg.ranking.rerankers import feature_model

    choice = tuning.learner.choice
    outcomes = tuning.run(folds, categories, TerminalProgress())
    contents = {out: feature_model.to_json(outcomes[0].model)}
    if several:
        contents = {out / f"features-{one.training.name}.json": feature_model.to_json(one.model) for one in outcomes}
        contents[out / "report.json"] = json.dumps(to_json(outcomes, choice, measure, top), indent=2) + "\n"
    write_files(contents, out if several else None)
    files = list(contents)
    run_file = run_file or (out / "test.run" if folds is not None else None)
    if run_file is not None:
        write_run(tuning.ranked(outcomes, "features-tuned"), run_file)
        files.append(run_file)
    _print(outcomes, choice, tested=folds is not None)
    for path in files[-2:] if several else files:
        echo(f"written: {path}", err=True)
    if without := ", ".join(one.training.name or FEATURES for one in outcomes if one.model.empty):
        echo(
            f"warning: {without} learned nothing and leaves every order unchanged: too few rows to learn from", err=True
        )
    if folds is None:
        echo(f"note: {measure} is that of the topics that the model was learned from", err=True)
    echo(f"{measure}; {len(tuning.names)} features of the first {top:,} rows", err=True)


def _print(outcomes: Sequence[FeatureOutcome], choice: str, *, tested: bool) -> None:
    from hybridkg.cli.output import print_figures
    from hybridkg.evaluation.measures import mean

    rows = []
    for one in outcomes:
        topics = f"{len(one.training.training):,}" + (f" + {len(one.training.testing):,}" if tested else "")
        name = one.training.name or FEATURES
        rows.append([name, topics, f"{one.choice:g}", f"{mean(one.before):.4f}", f"{mean(one.after):.4f}"])
    if len(rows) > 1:
        before = {topic: value for one in outcomes for topic, value in one.before.items()}
        after = {topic: value for one in outcomes for topic, value in one.after.items()}
        rows.append(["all", f"{len(after):,}", "", f"{mean(before):.4f}", f"{mean(after):.4f}"])
    print_figures(["model", "topics", choice, "before", "reranked"], rows)
