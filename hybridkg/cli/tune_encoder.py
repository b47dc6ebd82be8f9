"""`hybridkg tune --model encoder`: trains the model of the vectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.cli.echo import echo
from hybridkg.errors import ParameterError

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase

ENCODER = "encoder"
"""The `--model` that encodes."""


def tune_encoder(
    kb: KnowledgeBase,
    path: Path,
    topics: Path,
    qrels: Path,
    out: Path,
    *,
    held_out: Path | None,
    candidates: Path | None,
    base: str,
    method: str,
    recipe: str,
    fixed: Mapping[str, float | str],
    seed: int,
) -> None:
    """Trains, and prints the measure of each epoch."""
    from hybridkg.cli.output import TerminalProgress, print_figures, print_stale_of
    from hybridkg.evaluation.measures.stark import read_candidates
    from hybridkg.evaluation.qrels import read_qrels
    from hybridkg.evaluation.topics import read_topics
    from hybridkg.evaluation.tuning.encoder import EncoderTuning, checkpoint_folder

    if not out.absolute().parent.is_dir():
        raise ParameterError(f"no folder {str(out.absolute().parent)!r} to write to")
    print_stale_of(kb)
    progress = TerminalProgress()
    tuning = EncoderTuning(
        kb,
        read_topics(topics),
        read_qrels(qrels),
        held_out=None if held_out is None else read_topics(held_out),
        candidates=None if candidates is None else read_candidates(candidates),
        progress=progress,
    )
    try:
        trained = tuning.train(out, base=base, method=method, recipe=recipe, fixed=dict(fixed), seed=seed)
    except KeyboardInterrupt:
        if (work := checkpoint_folder(out)).is_dir():
            echo(f"the same command continues from {work}", err=True)
        raise
    rows = [["base", "", f"{trained.values[0]:.4f}", "kept" if trained.best == 0 else ""]]
    for epoch, (value, loss) in enumerate(zip(trained.values[1:], trained.losses, strict=True), 1):
        rows.append([str(epoch), f"{loss:.4f}", f"{value:.4f}", "kept" if epoch == trained.best else ""])
    print_figures(["epoch", "loss", "mrr", ""], rows)
    echo(f"written: {out}", err=True)
    if count := trained.left_out:
        echo(f"note: {count:,} topic{'' if count == 1 else 's'} left out: no right document", err=True)
    if count := trained.unknown:
        echo(f"note: {count:,} candidate{'' if count == 1 else 's'} left out: no entity with text", err=True)
    learned, chosen = trained.topics
    echo(
        f"{learned:,} topics + {chosen:,} held out, {trained.documents:,} documents, {trained.steps:,} steps, "
        f"{trained.seconds:.1f} s",
        err=True,
    )
    echo(f"to use it: hybridkg index {path} --encoder {trained.encoder}", err=True)
