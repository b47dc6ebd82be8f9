"""An experiment: systems that rank the same topics.

`read` checks the TOML file, `run` collects the rankings that are missing, `ExperimentOutcome` evaluates and compares
them, `report` writes them up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybridkg import __version__
from hybridkg.errors import (
    ConfigError,
    EncoderError,
    IndexMissingError,
    LoadError,
    MissingExtraError,
    ModelServerError,
    NotAKnowledgeBaseError,
    ParameterError,
    StorageError,
)
from hybridkg.evaluation.categories import categories_by_prefix, read_categories
from hybridkg.evaluation.eval_report import ALL
from hybridkg.evaluation.experiment.asked import AGAIN, CHANGED
from hybridkg.evaluation.experiment.collection import Collection, check_jobs, key_of
from hybridkg.evaluation.experiment.frames import qrels_from, topics_from
from hybridkg.evaluation.experiment.kinds import SYSTEM_KINDS, SystemKind
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome, SkippedSystem, SystemRun
from hybridkg.evaluation.experiment.reading import WHOLE, read_experiment
from hybridkg.evaluation.experiment.spec import NAME, TEXT, ExperimentSpec, SystemSpec
from hybridkg.evaluation.experiment.stored import Stored
from hybridkg.evaluation.experiment.surroundings import surroundings
from hybridkg.evaluation.experiment.topic_values import read_values
from hybridkg.evaluation.from_files import BY_PREFIX
from hybridkg.evaluation.measures import DEFAULT_MEASURES
from hybridkg.evaluation.measures.stark import STARK_TABLE, AnswerCandidates, measure_over, read_candidates
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.significance import paired_test
from hybridkg.evaluation.topics import Topics, read_topics
from hybridkg.interfaces.progress import SILENT, Progress

UNAVAILABLE = (
    ConfigError,
    EncoderError,
    IndexMissingError,
    LoadError,
    MissingExtraError,
    ModelServerError,
    NotAKnowledgeBaseError,
)
"""The errors for which an optional system is left out; a mistake in its query is an error as in any other."""


class Experiment:
    """Systems over a collection.

    Args:
        kb: path of the knowledge base.
        systems: by name, the text of a query with `$text`, a run, or a SystemSpec.
        topics: a file, texts by id, or a DataFrame with the columns `qid` and `query`.
        qrels: a file, grades by topic and document, or a DataFrame with `qid`, `docno` and `label`.
        options: other fields of ExperimentSpec: measures, baseline, by, folds, test, permutations, seed, depth;
            values: by parameter, a file, or values by topic; candidates: a file, or ids.

    Raises:
        HybridkgError: a file cannot be read, or the arguments contradict each other.

    >>> import tempfile
    >>> from hybridkg import KnowledgeBase
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "f.ttl").write_text('<http://e/f> <http://www.w3.org/2000/01/rdf-schema#label> "a red fish" .')
    >>> _ = KnowledgeBase.create(folder / "f.kb").load(folder / "f.ttl", index=True)
    >>> outcome = Experiment(
    ...     folder / "f.kb",
    ...     {"words": "SELECT ?e { ?e MATCH $text AS ?s } RANK BY ?s"},
    ...     topics={"q1": "fishes", "q2": "birds"},
    ...     qrels={"q1": {"http://e/f": 1}, "q2": {"http://e/f": 1}},
    ...     measures=["mrr"],
    ... ).run()
    >>> outcome.means()["words"]["mrr"]
    0.5
    """

    def __init__(
        self,
        kb: Path | str | None,
        systems: Mapping[str, str | Run | SystemSpec],
        topics: Any,
        qrels: Any,
        **options: Any,
    ):
        read = {
            name: replace(value, name=name)
            if isinstance(value, SystemSpec)
            else SystemSpec(name, "query", value, source=name)
            for name, value in systems.items()
            if not isinstance(value, Run)
        }
        self._runs = {name: value for name, value in systems.items() if isinstance(value, Run)}
        if (measures := options.pop("measures", None)) is not None:
            options["measures"] = (measures,) if isinstance(measures, str) else tuple(measures)
            if not options["measures"]:
                raise ParameterError("an experiment needs a measure", hint="for example ndcg@10")
        options |= {name: kind(options[name]) for name, kind in (("folds", Path), ("by", str)) if options.get(name)}
        values, candidates = options.pop("values", {}), options.pop("candidates", None)
        spec = ExperimentSpec(
            name=options.pop("name", "experiment"),
            systems=tuple(read.values()),
            topics=Path(),
            qrels=Path(),
            kb=None if kb is None else Path(kb),
            **options,
        )
        self._order = list(systems)
        self._set(spec, topics_from(topics), qrels_from(qrels), values, candidates)

    @classmethod
    def read(cls, path: Path | str) -> Experiment:
        """The experiment in a TOML file.

        Raises:
            ConfigError: the file is wrong; with its line.
            LoadError: a file that it names cannot be read.
        """
        spec = read_experiment(Path(path))
        experiment = cls.__new__(cls)
        experiment._runs, experiment._order = {}, [system.name for system in spec.systems]
        experiment._set(spec, read_topics(spec.topics), read_qrels(spec.qrels), spec.values, spec.candidates)
        return experiment

    def _set(
        self,
        spec: ExperimentSpec,
        topics: Topics,
        qrels: Qrels,
        values: Mapping[str, Path | str | Mapping[str, str]],
        candidates: Path | str | Iterable[str] | None,
    ) -> None:
        if not self._order:
            raise ParameterError("an experiment needs a system")
        if spec.baseline and spec.baseline not in self._order:
            raise ParameterError(f"the baseline {spec.baseline!r} is not a system; systems: {', '.join(self._order)}")
        if bad := next((name for name in self._order if not NAME.fullmatch(name)), None):
            raise ParameterError(f"{bad!r} cannot name a system", hint="letters, digits and . _ + ( ) = , -")
        if len({name.casefold() for name in self._order}) < len(self._order):
            raise ParameterError("two systems have names that differ in capitals only, and so would their files")
        for key, (low, high) in WHOLE.items():
            if not low <= getattr(spec, key) <= high:
                raise ParameterError(f"{key!r} must be from {low:,} to {high:,}, not {getattr(spec, key)}")
        if TEXT in values:
            raise ParameterError(f"the values of ${TEXT} are the texts of the topics", hint="choose another name")
        paired_test(spec.test)
        self._topics, self._qrels = topics, qrels
        self._candidates = None if candidates is None else _candidates(candidates)
        self.spec = replace(spec, measures=spec.measures or (DEFAULT_MEASURES if candidates is None else STARK_TABLE))
        self._measures = [measure_over(name, self._candidates) for name in self.spec.measures]
        self._categories: Mapping[str, str] = {}
        if spec.by:
            by_prefix = spec.by == BY_PREFIX
            self._categories = categories_by_prefix(topics.texts) if by_prefix else read_categories(Path(spec.by))
        judged = dict.fromkeys(self._categories[t] for t in topics.texts if t in qrels.grades and t in self._categories)
        for system in spec.systems:
            for expected in system.expected:
                measure_over(expected.measure, self._candidates)
                if expected.category not in (ALL, *judged):
                    raise ParameterError(
                        f"{system.name!r} has expected figures for the category {expected.category!r}, which no judged "
                        f"topic has; categories: {', '.join(judged) or 'none'}",
                        hint='by = "prefix", or a file of categories',
                    )
        self._values = {
            name: {str(topic): str(value) for topic, value in own.items()}
            if isinstance(own, Mapping)
            else read_values(Path(own))
            for name, own in values.items()
        }
        if not set(topics.texts) & set(qrels.grades):
            raise ParameterError(
                "no topic is judged",
                hint=f"topics such as {next(iter(topics.texts), '')!r}, judgements such as "
                f"{next(iter(qrels.grades), '')!r}",
            )

    @property
    def categories(self) -> Mapping[str, str]:
        """Category of each topic; empty for none."""
        return self._categories

    @property
    def topics(self) -> Topics:
        return self._topics

    def run(self, out: Path | str | None = None, *, jobs: int = 1, progress: Progress = SILENT) -> ExperimentOutcome:
        """Collects the rankings of all systems; stored ones are reused.

        Args:
            out: folder that stores finished systems, and the finished topics of an interrupted one; None: no storage.
            jobs: topics that run in parallel, each in its own process.
            progress: receives the count of topics.

        Raises:
            HybridkgError: a system fails; the results of those before it are stored.
            KeyboardInterrupt: finished topics are stored.
        """
        check_jobs(jobs)
        stored = Stored(None if out is None else Path(out))
        with stored.locked(), self._collection() as collection:
            skipped: dict[str, SkippedSystem] = {}
            systems = self._systems(collection, skipped)
            runs: dict[str, SystemRun] = {}
            for name in self._order:
                if name in skipped:
                    continue
                if name in self._runs:
                    runs[name] = SystemRun(SystemSpec(name, "run", None), self._runs[name], "", {}, kept=False)
                else:
                    spec, system = systems[name]
                    try:
                        key = self._key(spec, system)
                        result = stored.run(spec, key) or self._answer(spec, system, key, stored, jobs, progress)
                    except UNAVAILABLE as e:
                        if not spec.optional:
                            raise
                        skipped[name] = SkippedSystem(spec, e.message)
                        continue
                    runs[name] = replace(result, run=collection.packed(result.run))
                collection.runs[name] = runs[name].run
            shown = {name: run for name, run in runs.items() if not run.spec.hidden}
            self._check_shown(shown, skipped)
            outcome = ExperimentOutcome(
                self.spec,
                self._topics,
                self._qrels,
                self._measures,
                self._categories,
                shown,
                self._candidates,
                surroundings(self._topics, self._qrels, collection.opened, self._candidates),
                {name: skipped[name] for name in self._order if name in skipped and not skipped[name].spec.hidden},
            )
            stored.write_manifest(outcome, runs)
        return outcome

    def _key(self, spec: SystemSpec, system: SystemKind) -> str:
        return key_of([__version__, spec.kind, system.depends_on(), dict(self._topics.texts), self.spec.depth])

    def _answer(
        self, spec: SystemSpec, system: SystemKind, key: str, stored: Stored, jobs: int, progress: Progress
    ) -> SystemRun:
        with stored.answers(spec.name, key) as answers:
            system.answer(jobs, answers, _Named(progress, spec.name))
        if self._key(spec, system) != key:
            raise StorageError(f"a file that {spec.name!r} reads {CHANGED}", hint=AGAIN)
        topics = self._topics.texts
        run, told = answers.run(spec.name, topics), answers.told(topics)
        return stored.keep(SystemRun(spec, run, key, told, kept=False, learned=answers.learned, took=answers.took))

    def _systems(
        self, collection: Collection, skipped: dict[str, SkippedSystem]
    ) -> dict[str, tuple[SystemSpec, SystemKind]]:
        """All systems, made before the first one runs, so that mistakes show at once; those left out are added to
        `skipped`.
        """
        made: dict[str, tuple[SystemSpec, SystemKind]] = {}
        for spec in self.spec.systems:
            try:
                made[spec.name] = spec, SYSTEM_KINDS.get(spec.kind)(spec, collection)
            except UNAVAILABLE as e:
                if not spec.optional:
                    raise
                skipped[spec.name] = SkippedSystem(spec, e.message)
                collection.systems = tuple(name for name in collection.systems if name != spec.name)
        self._check_shown(made, skipped)
        return made

    def _check_shown(self, there: Mapping[str, object], skipped: Mapping[str, SkippedSystem]) -> None:
        """Raises ConfigError if the baseline, or every system, has been left out."""
        if baseline := skipped.get(self.spec.baseline):
            raise ConfigError(f"the baseline {self.spec.baseline!r} cannot be run: {baseline.reason}")
        if not there and not self._runs:
            first = next(iter(skipped))
            raise ConfigError(f"no system can be run; {first}: {skipped[first].reason}")

    def _collection(self) -> Collection:
        spec = self.spec
        return Collection(
            topics=self._topics,
            qrels=self._qrels,
            kb=spec.kb,
            values=self._values,
            folds=spec.folds,
            categories=self._categories,
            depth=spec.depth,
            seed=spec.seed,
            systems=tuple(self._order),
        )


def _candidates(source: Path | str | Iterable[str]) -> AnswerCandidates:
    return AnswerCandidates(
        read_candidates(Path(source)) if isinstance(source, str | Path) else [str(one) for one in source]
    )


class _Named:
    """A Progress that puts the name of the system before its labels."""

    def __init__(self, progress: Progress, name: str):
        self._progress, self._name = progress, name

    def start(self, label: str, total_bytes: int | None) -> None:
        self._progress.start(f"{self._name}: {label}", total_bytes)

    def advance(self, bytes_read: int, items: int) -> None:
        self._progress.advance(bytes_read, items)

    def done(self, items: int) -> None:
        self._progress.done(items)
