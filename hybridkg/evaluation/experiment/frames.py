"""Topics, judgements and runs as the field's Python tools hold them: files, dictionaries, or DataFrames.

The names of the columns are those of PyTerrier and ir_datasets: qid, query, docno, label, score, rank.
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


def topics_from(given: Any) -> Topics:
    """Topics, however they are given.

    Args:
        given: Topics, a file, texts by id, or a DataFrame with the columns `qid` and `query`.

    Raises:
        ParameterError: a column is missing, or a topic is there twice.
        LoadError: the file cannot be read.

    >>> topics_from({"q1": "red fish"}).texts
    {'q1': 'red fish'}
    """
    if isinstance(given, Topics):
        return given
    if isinstance(given, str | Path):
        return read_topics(Path(given))
    if isinstance(given, Mapping):
        return Topics({str(topic): str(text) for topic, text in given.items()})
    texts: dict[str, str] = {}
    for topic, text in rows_of(given, "topics", "qid", "query"):
        if texts.setdefault(str(topic), str(text)) != str(text):
            raise ParameterError(f"the topic {topic!r} is there with two texts")
    return Topics(texts)


def qrels_from(given: Any) -> Qrels:
    """Judgements, however they are given.

    Args:
        given: Qrels, a file, grades by topic and document, or a DataFrame with `qid`, `docno` and `label`.

    Raises:
        ParameterError: a column is missing.
        LoadError: the file cannot be read.
    """
    if isinstance(given, Qrels):
        return given
    if isinstance(given, str | Path):
        return read_qrels(Path(given))
    if isinstance(given, Mapping):
        return Qrels({str(t): {str(d): int(grade) for d, grade in own.items()} for t, own in given.items()})
    grades: dict[str, dict[str, int]] = {}
    for topic, document, grade in rows_of(given, "qrels", "qid", "docno", "label"):
        grades.setdefault(str(topic), {})[str(document)] = int(grade)
    return Qrels(grades)


def run_from(frame: pd.DataFrame, name: str = "run") -> Run:
    """A run from a DataFrame with `qid`, `docno` and `score`, and `rank` if it has one, which then counts.

    Raises:
        ParameterError: a column is missing, or a document is twice in a topic.
    """
    ordered = frame.sort_values("rank", kind="stable") if "rank" in frame.columns else frame
    rankings: dict[str, list[tuple[str, float]]] = {}
    for topic, document, score in rows_of(ordered, "a run", "qid", "docno", "score"):
        rankings.setdefault(str(topic), []).append((str(document), float(score)))
    if "rank" not in frame.columns:
        rankings = {topic: sorted(own, key=lambda pair: -pair[1]) for topic, own in rankings.items()}
    return Run(name, {topic: tuple(own) for topic, own in rankings.items()})


def run_to_frame(run: Run) -> pd.DataFrame:
    """`qid`, `docno`, `score` and `rank`, from 0, in the order of the run."""
    with needs_extra("eval", "a DataFrame"):
        import pandas as pd

    rows = [
        (topic, document, score, rank)
        for topic, ranking in run.rankings.items()
        for rank, (document, score) in enumerate(ranking)
    ]
    return pd.DataFrame(rows, columns=["qid", "docno", "score", "rank"])


def rows_of(frame: Any, what: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """The columns of a DataFrame, row by row.

    Raises:
        ParameterError: it is none, or has no such column.
    """
    found = getattr(frame, "columns", None)
    if found is None:
        raise ParameterError(
            f"{what} are a file, a dictionary or a DataFrame, not {type(frame).__name__!r}",
            hint=f"a DataFrame has the columns {', '.join(columns)}",
        )
    missing = [name for name in columns if name not in found]
    if missing:
        raise ParameterError(
            f"{what} have no column {missing[0]!r}; theirs: {', '.join(map(str, found))}",
            hint=f"needed: {', '.join(columns)}",
        )
    yield from zip(*(frame[name].tolist() for name in columns), strict=True)
