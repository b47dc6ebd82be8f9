"""Evaluation of files: TREC runs under qrels, or guesses under KILT's gold records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hybridkg.errors import LoadError, ParameterError, UnknownNameError
from hybridkg.evaluation.categories import categories_by_prefix, read_categories
from hybridkg.evaluation.eval_report import EvalReport, RunScores, eval_report
from hybridkg.evaluation.kilt import KILT_MEASURES, KiltGold, KiltGuess, evaluate_kilt
from hybridkg.evaluation.kilt_lines import read_kilt_gold, read_kilt_guess
from hybridkg.evaluation.measures import DEFAULT_MEASURES, Measure, parse_measure
from hybridkg.evaluation.measures.stark import STARK_TABLE, read_candidates, stark_measures
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.run import read_run
from hybridkg.rdf.input_file import extensions
from hybridkg.registry import did_you_mean

BY_PREFIX = "prefix"
"""The value in place of a file of categories that selects categories by topic id."""


def evaluate_files(
    judgements: Path,
    runs: Sequence[Path],
    measures: Sequence[str] = (),
    *,
    by: str | None = None,
    candidates: Path | None = None,
) -> EvalReport:
    """Evaluates runs, or guesses if the judgements are KILT's (`.jsonl`, packed or not).

    Args:
        judgements: qrels of TREC, or gold records of KILT.
        runs: runs of TREC, or guesses of KILT.
        measures: names; default: DEFAULT_MEASURES, or KILT_MEASURES.
        by: BY_PREFIX, a file of categories, or None.
        candidates: a file of possible answers; then the measures are STaRK's.

    Raises:
        LoadError: a file cannot be read, or a run has no judged topic.
        UnknownNameError, ParameterError: an invalid measure.
    """
    if is_kilt(judgements):
        if candidates is not None:
            raise ParameterError("candidates are for the measures of STaRK, not for those of KILT")
        names = [_kilt_measure(name) for name in measures] or list(KILT_MEASURES)
        gold = read_kilt_gold(judgements)
        guesses = [(path, read_kilt_guess(path)) for path in runs]
        return kilt_report(gold, guesses, names, _categories(by, gold))
    parsed: Sequence[Measure]
    if candidates is None:
        parsed = [parse_measure(name) for name in measures or DEFAULT_MEASURES]
    else:
        parsed = stark_measures(read_candidates(candidates), [name.strip().lower() for name in measures] or STARK_TABLE)
    qrels = read_qrels(judgements)
    categories = _categories(by, qrels.grades)
    return eval_report(qrels, [(path, read_run(path)) for path in runs], parsed, categories)


def is_kilt(path: Path) -> bool:
    """Whether a file name is that of KILT's gold records.

    >>> is_kilt(Path("trex-dev-kilt.jsonl.gz")), is_kilt(Path("qrels.txt"))
    (True, False)
    """
    return extensions(Path(path))[0] == ".jsonl"


def kilt_report(
    gold: Mapping[str, KiltGold],
    guesses: Sequence[tuple[Path, Mapping[str, KiltGuess]]],
    measures: Sequence[str] = KILT_MEASURES,
    categories: Mapping[str, str] | None = None,
) -> EvalReport:
    """KILT's measures of systems, named by their files; LoadError if none of a system's records is in the gold."""
    short = [path.name.split(".jsonl")[0] for path, _ in guesses]
    uses = Counter(short)
    scores = []
    for name, (path, guess) in zip(short, guesses, strict=True):
        report = evaluate_kilt(gold, guess)
        if len(report.without_guess) == len(gold):
            some = f"the guesses have ids such as {next(iter(guess), '')!r}, the gold {next(iter(gold), '')!r}"
            raise LoadError("no record of the guesses is in the gold", hint=some, place=str(path))
        shown = name if uses[name] == 1 else str(path)
        values = {measure: report.values[measure] for measure in measures}
        scores.append(RunScores(shown, values, report.without_guess, report.not_judged))
    return EvalReport(tuple(dict.fromkeys(measures)), tuple(gold), tuple(scores), categories or {})


def _kilt_measure(text: str) -> str:
    name = text.strip().lower()
    if name not in KILT_MEASURES:
        raise UnknownNameError(
            f"no measure {text!r} for KILT; known: {', '.join(KILT_MEASURES)}",
            hint=did_you_mean(name, list(KILT_MEASURES)),
        )
    return name


def _categories(by: str | None, topics: Iterable[str]) -> dict[str, str] | None:
    if by is None:
        return None
    return categories_by_prefix(topics) if by == BY_PREFIX else read_categories(Path(by))
