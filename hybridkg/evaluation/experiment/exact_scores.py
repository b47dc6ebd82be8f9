"""The exact scores of a stored run, in a file beside it; line n is the score of line n of the run.

The scores of the run itself fall strictly for trec_eval, which hides equal ones from the measures that read them.
"""

from __future__ import annotations

from pathlib import Path

from hybridkg.evaluation.run import Run
from hybridkg.storage.durable import storage_error


def scores_file(run: Path) -> Path:
    """The file of the scores of a run file.

    >>> str(scores_file(Path("runs/bm25.b=0.5.run")))
    'runs/bm25.b=0.5.scores'
    """
    return run.with_suffix(".scores")


def write_scores(run: Run, path: Path) -> None:
    """Writes the scores as the shortest texts that read as the same numbers; StorageError if it fails."""
    try:
        with path.open("w", encoding="ascii", newline="\n") as file:
            for ranking in run.rankings.values():
                file.writelines(f"{float(score)!r}\n" for _, score in ranking)
    except OSError as e:
        raise storage_error(e, f"writing {str(path)!r}") from e


def with_scores(run: Run, path: Path) -> Run:
    """A run that was read, with the scores of the file; ValueError if it has others than one for each document."""
    try:
        texts = iter(path.read_text(encoding="ascii").split())
    except OSError as e:
        raise storage_error(e, f"reading {str(path)!r}") from e
    rankings = {
        topic: tuple((document, float(next(texts, ""))) for document, _ in ranking)
        for topic, ranking in run.rankings.items()
    }
    if next(texts, None) is not None:
        raise ValueError(f"{path} has more scores than its run has documents")
    return Run(run.name, rankings)
