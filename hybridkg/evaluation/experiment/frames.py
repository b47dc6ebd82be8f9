"""Topics, judgements and runs from files, dictionaries or DataFrames.

The columns have the names of PyTerrier and ir_datasets: qid, query, docno, label, score, rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg.errors import ParameterError
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics, read_topics
from hybridkg.extras import needs_extra

if TYPE_CHECKING:
    import pandas as pd


def topics_from(source: Any) -> Topics:
    """Topics from Topics, a file, texts by id, or a DataFrame with the columns `qid` and `query`.

    Raises:
        ParameterError: a column is missing, or a topic has two texts.
        LoadError: the file cannot be read.

    >>> topics_from({"q1": "red fish"}).texts
    {'q1': 'red fish'}
    """
    if isinstance(source, Topics):
        return source
    if isinstance(source, str | Path):
        return read_topics(Path(source))
    if isinstance(source, Mapping):
        return Topics({str(topic): str(text) for topic, text in source.items()})
    texts: dict[str, str] = {}
    for topic, text in rows_of(source, "topics", "qid", "query"):
        if texts.setdefault(str(topic), str(text)) != str(text):
            raise ParameterError(f"the topic {topic!r} has two texts")
    return Topics(texts)


def qrels_from(source: Any) -> Qrels:
    """Judgements from Qrels, a file, grades by topic and document, or a DataFrame with `qid`, `docno` and `label`.

    Raises:
        ParameterError: a column is missing.
        LoadError: the file cannot be read.
    """
    if isinstance(source, Qrels):
        return source
    if isinstance(source, str | Path):
        return read_qrels(Path(source))
    if isinstance(source, Mapping):
        return Qrels({str(t): {str(d): int(grade) for d, grade in own.items()} for t, own in source.items()})
    grades: dict[str, dict[str, int]] = {}
    for topic, document, grade in rows_of(source, "qrels", "qid", "docno", "label"):
        grades.setdefault(str(topic), {})[str(document)] = int(grade)
    return Qrels(grades)


def run_from(frame: pd.DataFrame, name: str = "run") -> Run:
    """A run from the columns `qid`, `docno`, `score`, ordered by `rank` or else score; ParameterError if invalid."""
    ordered = frame.sort_values("rank", kind="stable") if "rank" in frame.columns else frame
    rankings: dict[str, list[tuple[str, float]]] = {}
    for topic, document, score in rows_of(ordered, "a run", "qid", "docno", "score"):
        rankings.setdefault(str(topic), []).append((str(document), float(score)))
    if "rank" not in frame.columns:
        rankings = {topic: sorted(own, key=lambda pair: -pair[1]) for topic, own in rankings.items()}
    return Run(name, {topic: tuple(own) for topic, own in rankings.items()})


def run_to_frame(run: Run) -> pd.DataFrame:
    """A DataFrame with `qid`, `docno`, `score` and `rank` (from 0), in the order of the run."""
    with needs_extra("eval", "a DataFrame"):
        import pandas as pd

    rows = [(topic, *pair, rank) for topic, ranking in run.rankings.items() for rank, pair in enumerate(ranking)]
    return pd.DataFrame(rows, columns=["qid", "docno", "score", "rank"])


def rows_of(frame: Any, what: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The columns of a DataFrame, row by row; ParameterError if it is no DataFrame or lacks a column."""
    present = getattr(frame, "columns", None)
    if present is None:
        raise ParameterError(
            f"{what} are a file, a dictionary or a DataFrame, not {type(frame).__name__!r}",
            hint=f"a DataFrame has the columns {', '.join(columns)}",
        )
    missing = [name for name in columns if name not in present]
    if missing:
        raise ParameterError(
            f"{what} have no column {missing[0]!r}; theirs: {', '.join(map(str, present))}",
            hint=f"needed: {', '.join(columns)}",
        )
    yield from zip(*(frame[name].tolist() for name in columns), strict=True)
