"""Evaluates files, whichever they are: TREC runs under judgements, or guesses under KILT's gold records."""

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
"""What asks for the categories that are in the topic ids, where a file of categories may stand."""


def evaluate_files(
    judgements: Path,
    runs: Sequence[Path],
    measures: Sequence[str] = (),
    *,
    by: str | None = None,
    candidates: Path | None = None,
) -> EvalReport:
    """Evaluates runs, or guesses where the judgements are KILT's (`.jsonl`, packed or not).

    Args:
        judgements: qrels in TREC's form, or gold records of KILT.
        runs: runs in TREC's form, or guesses of KILT.
        measures: by name; without any DEFAULT_MEASURES, for KILT KILT_MEASURES.
        by: BY_PREFIX, a file of categories, or None for none.
        candidates: a file of what may be an answer; then the measures are STaRK's, over all of them.

    Raises:
        LoadError: a file that cannot be read, with its line, or a run without a judged topic.
        UnknownNameError, ParameterError: a measure that is none.
    """
    if is_kilt(judgements):
        if candidates is not None:
            raise ParameterError("candidates are for the measures of STaRK, not for those of KILT")
        names = [_kilt_measure(name) for name in measures] or list(KILT_MEASURES)
        gold = read_kilt_gold(judgements)
        guesses = [(path, read_kilt_guess(path)) for path in runs]
        return kilt_report(gold, guesses, names, _categories(by, gold))
    wanted: Sequence[Measure]
    if candidates is None:
        wanted = [parse_measure(name) for name in measures or DEFAULT_MEASURES]
    else:
        wanted = stark_measures(read_candidates(candidates), [name.strip().lower() for name in measures] or STARK_TABLE)
    qrels = read_qrels(judgements)
    categories = _categories(by, qrels.grades)
    return eval_report(qrels, [(path, read_run(path)) for path in runs], wanted, categories)


def is_kilt(path: Path) -> bool:
    """Whether a file of judgements is one of KILT, by its name.

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
    """KILT's measures of several systems, each with the file it was read from, which names it.

    Raises:
        LoadError: no record of a system is in the gold.
    """
    short = [path.name.split(".jsonl")[0] for path, _ in guesses]
    often = Counter(short)
    scores = []
    for name, (path, guess) in zip(short, guesses, strict=True):
        found = evaluate_kilt(gold, guess)
        if len(found.without_guess) == len(gold):
            some = f"the guesses have ids such as {next(iter(guess), '')!r}, the gold {next(iter(gold), '')!r}"
            raise LoadError("no record of the guesses is in the gold", hint=some, place=str(path))
        shown = name if often[name] == 1 else str(path)
        values = {measure: found.values[measure] for measure in measures}
        scores.append(RunScores(shown, values, found.without_guess, found.not_judged))
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
