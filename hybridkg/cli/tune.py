"""`hybridkg tune`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from hybridkg.cli.echo import echo
from hybridkg.cli.options import PATH, WholeNumber, kb_argument, opened
from hybridkg.cli.output import write_files
from hybridkg.cli.tune_encoder import ENCODER, tune_encoder
from hybridkg.cli.tune_features import FEATURES, tune_features
from hybridkg.cli.tune_graph import GRAPH, graph_options, tune_graph
from hybridkg.errors import ParameterError, UnknownNameError
from hybridkg.registry import did_you_mean

if TYPE_CHECKING:
    from hybridkg.evaluation.tuning.graph import GraphOptions
    from hybridkg.evaluation.tuning.tune import TuneReport, TuningOutcome

BY_PREFIX = "prefix"
REPORT = "report.json"
RUN = "test.run"

OPTIONS_OF = {
    FEATURES: ("query_file", "top", "learner", "nodes", "folds", "by", "measure", "depth", "run_file"),
    GRAPH: (
        "query_file", "top", "learner", "edges", "inputs", "nodes", "loss", "held_out", "folds", "by", "measure",
        "depth", "run_file", "fixed", "seed",
    ),
    ENCODER: ("base", "method", "recipe", "held_out", "candidates", "fixed", "seed"),
}  # fmt: skip
"""The optional parameters of models that are no ranking models; a ranking model has none that is in one list only."""

RANKING_MODEL_OPTIONS = (
    "on", "measure", "folds", "by", "fixed", "choose", "restarts", "seed", "jobs", "depth", "run_file"
)  # fmt: skip


@click.command()
@kb_argument
@click.option("--topics", metavar="FILE", required=True, type=PATH, help="Lines `topic<TAB>text`.")
@click.option("--qrels", metavar="FILE", required=True, type=PATH, help="Lines `topic iteration IRI grade`.")
@click.option("--model", metavar="NAME", default="bm25f", show_default=True, help="Model to tune.")
@click.option("--on", metavar="FIELD,...", default="", help="Fields to search; default: all.")
@click.option("--measure", metavar="MEASURE", default="ndcg@10", show_default=True, help="Measure to maximise.")
@click.option(
    "--folds", metavar="FILE", type=PATH, help='A model for each fold: {"0": {"training": [...], "testing": [...]}}.'
)
@click.option("--by", metavar="prefix|FILE", help="A model for each category: ids, or lines `topic<TAB>category`.")
@click.option("--fixed", metavar="NAME=VALUE", multiple=True, help="Fixed argument of the model, such as form=galago.")
@click.option(
    "--choose", metavar="NAME=A|B", multiple=True, help="Argument that is learned, such as smoothing=dirichlet|jm."
)
@click.option(
    "--restarts", type=WholeNumber(1, 1000), default=5, show_default=True, help="Starts; the first is the defaults."
)
@click.option("--seed", type=WholeNumber(0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--jobs", type=WholeNumber(1, 256), default=lambda: os.cpu_count() or 1, help="Models at once; default: all cores."
)
@click.option("--depth", type=WholeNumber(1, 1_000_000), default=1000, show_default=True, help="Length of a ranking.")
@click.option(
    "--out", metavar="FILE|DIR", required=True, type=PATH, help="Parameters; a folder with --folds or --by; a model."
)
@click.option(
    "--query",
    "query_file",
    metavar="FILE",
    type=PATH,
    help="With --model features and graph: the query of the rows, with $text.",
)
@click.option(
    "--top",
    type=WholeNumber(2, 10_000),
    default=50,
    show_default=True,
    help="With --model features and graph: reranked rows.",
)
@click.option(
    "--learner",
    metavar="NAME",
    default=None,
    help="With --model features: linear, the default, or boosted; with --model graph: gcn, the default, or mlp.",
)
@click.option(
    "--edges", metavar="SOURCE,...", default="graph", show_default=True, help="With --model graph: graph and types."
)
@click.option(
    "--inputs", metavar="NAME", default="features", show_default=True, help="With --model graph: features or vector."
)
@click.option(
    "--nodes",
    metavar="NAME",
    default="documents",
    show_default=True,
    help="With --model graph: documents, or question to add the question and the nodes that it names. With --model "
    "features: question to add features of what it says about each row.",
)
@click.option(
    "--loss", metavar="NAME", default="ranking", show_default=True, help="With --model graph: ranking or cross-entropy."
)
@click.option(
    "--base",
    metavar="MODEL",
    default="static",
    show_default=True,
    help="With --model encoder: static, model2vec:MODEL, or the name or folder of a sentence-transformers model.",
)
@click.option("--method", metavar="NAME", default="ance", show_default=True, help="With --model encoder: dpr or ance.")
@click.option(
    "--recipe", metavar="NAME", default="small", show_default=True, help="With --model encoder: small or paper."
)
@click.option(
    "--held-out",
    metavar="FILE",
    type=PATH,
    help="The topics that choose the epoch of an encoder or a graph network; default: every tenth of --topics for the "
    "one, every fifth for the other.",
)
@click.option(
    "--candidates", metavar="FILE", type=PATH, help="With --model encoder: ids of the documents; default: all entities."
)
@click.option("--run", "run_file", metavar="FILE", type=PATH, help="Also write the ranking.")
def tune(
    kb: Path, topics: Path, qrels: Path, model: str, on: str, measure: str, folds: Path | None, by: str | None,
    fixed: tuple[str, ...], choose: tuple[str, ...], restarts: int, seed: int, jobs: int, depth: int, out: Path,
    query_file: Path | None, top: int, learner: str | None, edges: str, inputs: str, nodes: str, loss: str,
    base: str, method: str, recipe: str, held_out: Path | None,
    candidates: Path | None, run_file: Path | None,
) -> None:  # fmt: skip
    """Learn a ranking model's parameters, the reranker `features` or `graph`, or an encoder, from judged topics.

    Coordinate ascent: one parameter at a time, from several starts, with shrinking steps. The result is a file for
    USING bm25f(@params.toml). With --folds or --by, DIR gets params-CATEGORY-FOLD.toml for each model, report.json,
    and test.run, in which each topic is ranked by a model that was not learned from it. The same command continues an
    interrupted run.

    --model features --query FILE learns weights, or trees, for RERANK TOP n USING features(@weights.json) from the
    first rows of a query; then DIR gets features-CATEGORY-FOLD.json.

    --model graph --query FILE trains a network for RERANK TOP n USING graph(@model.safetensors); DIR gets
    graph-CATEGORY-FOLD.safetensors.

    --model encoder trains the model of NEAR; DIR then is a model for --encoder. The best epoch by MRR on the held-out
    topics is kept. Where none is better than the base, nothing is written, and the command exits with 1.

    \b
    Example:
      hybridkg tune kb --topics topics.tsv --qrels qrels.txt --folds folds.json --out tuned
      hybridkg tune kb --topics topics.tsv --qrels qrels.txt --model encoder --out models/mine
    """
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.evaluation.categories import categories_by_prefix, read_categories
    from hybridkg.evaluation.qrels import read_qrels
    from hybridkg.evaluation.topics import read_topics
    from hybridkg.evaluation.tuning.folds import read_folds
    from hybridkg.evaluation.tuning.kept import NAME
    from hybridkg.evaluation.tuning.training import Settings
    from hybridkg.evaluation.tuning.tune import Tuning

    _check_model(model)
    _refuse_without_meaning(model)
    if model == ENCODER:
        with opened(kb) as knowledge_base:
            tune_encoder(
                knowledge_base, kb, topics, qrels, out, held_out=held_out, candidates=candidates, base=base,
                method=method, recipe=recipe, fixed=_fixed(fixed), seed=seed,
            )  # fmt: skip
        return
    several = folds is not None or by is not None
    _check_out(out, several)
    _check_inputs(
        [out, run_file],
        [topics, qrels, folds, query_file, held_out, Path(by) if by not in (None, BY_PREFIX) else None],
    )
    if model in (FEATURES, GRAPH) and query_file is None:
        raise ParameterError(
            f"--model {model} needs the query whose rows are reranked",
            hint=f"hybridkg tune KB --model {model} --query rows.hq ...",
        )
    words, choices = _fixed(fixed), _choices(choose)
    if both := next((name for name in choices if name in words), ""):
        raise ParameterError(f"--fixed and --choose both give {both!r}")
    if model == GRAPH and query_file is not None:
        _tune_graph(
            kb, topics, qrels, query_file, folds, by, held_out,
            graph_options(learner or "gcn", inputs, nodes, edges, loss, words, seed),
            top=top, measure=measure, depth=depth, out=out, run_file=run_file,
        )  # fmt: skip
        return
    settings = Settings(model, _fields(on), words, measure, restarts, seed, depth, choices)
    texts, judged = read_topics(topics), read_qrels(qrels)
    categories = None
    if by is not None:
        categories = categories_by_prefix(texts.texts) if by == BY_PREFIX else read_categories(Path(by))
    started, cpu = time.perf_counter(), time.process_time()
    if query_file is not None:
        from hybridkg.evaluation.experiment.reading import read_text
        from hybridkg.evaluation.tuning.features import FeatureTuning
        from hybridkg.evaluation.tuning.learners import DEFAULT
        from hybridkg.ranking.rerankers.graph_model import NODES, QUESTION

        if nodes not in NODES:
            raise UnknownNameError(
                f"no nodes {nodes!r}; known: {', '.join(NODES)}", hint=did_you_mean(nodes, list(NODES))
            )

        with opened(kb) as knowledge_base:
            rows = FeatureTuning(
                knowledge_base, texts, judged, read_text(query_file, "query file"), top=top, measure=measure,
                depth=depth, learner=learner or DEFAULT, with_question=nodes == QUESTION, progress=TerminalProgress(),
            )  # fmt: skip
            split = read_folds(folds, rows.topics) if folds is not None else None
            tune_features(
                rows, split, categories, measure=measure, top=top, out=out, several=several, run_file=run_file
            )
        return
    with opened(kb) as knowledge_base:
        tuning = Tuning(knowledge_base, texts, judged, settings)
        split = read_folds(folds, tuning.topics) if folds is not None else None
        keep = out if several else None
        try:
            report = tuning.run(split, categories, jobs=jobs, keep=keep, progress=TerminalProgress())
        except KeyboardInterrupt:
            if keep is not None and (keep / NAME).exists():
                echo(f"finished models are in {out}; the same command continues from there", err=True)
            raise
        files = _write(report, out, several)
        run_file = run_file or (out / RUN if split is not None else None)
        if run_file is not None:
            from hybridkg.evaluation.run import write_run

            write_run(tuning.ranked(report, f"{model}-tuned"), run_file)
            files.append(run_file)
    _print_report(report)
    for path in files[-2:] if several else files:
        echo(f"written: {path}", err=True)
    if run_file is not None and split is None:
        echo("note: the run ranks the topics that the parameters were learned from", err=True)
    _print_notes(report, time.perf_counter() - started, time.process_time() - cpu)


def _tune_graph(
    kb: Path,
    topics: Path,
    qrels: Path,
    query_file: Path,
    folds: Path | None,
    by: str | None,
    held_out: Path | None,
    options: GraphOptions,
    *,
    top: int,
    measure: str,
    depth: int,
    out: Path,
    run_file: Path | None,
) -> None:
    from hybridkg.cli.output import TerminalProgress, print_stale_of
    from hybridkg.evaluation.categories import categories_by_prefix, read_categories
    from hybridkg.evaluation.experiment.reading import read_text
    from hybridkg.evaluation.qrels import read_qrels
    from hybridkg.evaluation.topics import read_topics
    from hybridkg.evaluation.tuning.folds import read_folds
    from hybridkg.evaluation.tuning.graph import MAX_ROWS, GraphTuning

    if top > MAX_ROWS:
        raise ParameterError(f"--model graph reranks at most {MAX_ROWS:,} rows", hint=f"--top {MAX_ROWS}")
    texts = read_topics(topics)
    categories = None
    if by is not None:
        categories = categories_by_prefix(texts.texts) if by == BY_PREFIX else read_categories(Path(by))
    with opened(kb) as base:
        print_stale_of(base)
        tuning = GraphTuning(
            base, texts, read_qrels(qrels), read_text(query_file, "query file"), options,
            held_out=None if held_out is None else read_topics(held_out), top=top, measure=measure, depth=depth,
            progress=TerminalProgress(),
        )  # fmt: skip
        split = read_folds(folds, tuning.topics) if folds is not None else None
        several = folds is not None or by is not None
        tune_graph(tuning, split, categories, measure=measure, top=top, out=out, several=several, run_file=run_file)


def _fields(on: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in on.split(",") if name.strip())
    if tagged := next((name for name in names if "@" in name), ""):
        field = tagged.partition("@")[0]
        raise ParameterError(
            f"--on takes no language: {tagged!r}",
            hint=f"a field is tuned with the texts of every language: --on {field}",
        )
    return names


def _fixed(items: tuple[str, ...]) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    for item in items:
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            raise ParameterError(f"{item!r} is not NAME=VALUE", hint="for example --fixed form=galago")
        if name in values:
            raise ParameterError(f"--fixed gives {name!r} twice")
        try:
            values[name] = float(value)
        except ValueError:
            values[name] = value
    return values


def _choices(items: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    choices: dict[str, tuple[str, ...]] = {}
    for item in items:
        name, _, words = (part.strip() for part in item.partition("="))
        several = tuple(word.strip() for word in words.split("|"))
        if not name or len(set(several)) < 2 or not all(several) or name in choices:
            raise ParameterError(f"{item!r} is not NAME=A|B", hint="for example --choose 'smoothing=dirichlet|jm'")
        choices[name] = several
    return choices


def _check_out(out: Path, several: bool) -> None:
    """Refuses an output path that could not be written after the work."""
    if several and out.exists() and not out.is_dir():
        raise ParameterError(f"{str(out)!r} is a file; --folds and --by write into a folder")
    if not several and out.is_dir():
        raise ParameterError(f"{str(out)!r} is a folder; one model is one file", hint=f"--out {out / 'params.toml'}")
    if not out.absolute().parent.is_dir():
        raise ParameterError(f"no folder {str(out.absolute().parent)!r} to write to")


def _check_model(model: str) -> None:
    from hybridkg.evaluation.tuning.ranges import SEARCH_SPACES

    if model not in OPTIONS_OF and model not in SEARCH_SPACES:
        known = [*SEARCH_SPACES.names(), *OPTIONS_OF]
        raise UnknownNameError(
            f"no model {model!r} to tune; known: {', '.join(known)}", hint=did_you_mean(model, known)
        )


def _refuse_without_meaning(model: str) -> None:
    """Refuses an option that is given, and that the model does not have."""
    context = click.get_current_context()
    own = OPTIONS_OF.get(model, RANKING_MODEL_OPTIONS)
    others = dict.fromkeys(name for names in (*OPTIONS_OF.values(), RANKING_MODEL_OPTIONS) for name in names)
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in others and name not in own and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(f"{parameter.opts[0]} has no meaning for --model {model}")


def _check_inputs(written: Sequence[Path | None], read: Sequence[Path | None]) -> None:
    """Refuses to overwrite an input."""
    for path in written:
        if path is not None and any(other is not None and path.resolve() == other.resolve() for other in read):
            raise ParameterError(f"{str(path)!r} is read by this command, and would be written over")


def _write(report: TuneReport, out: Path, several: bool) -> list[Path]:
    text = json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n"
    contents = {out: report.outcomes[0].learned.parameters.to_toml()}
    if several:
        contents = {out / f"params-{o.training.name}.toml": o.learned.parameters.to_toml() for o in report.outcomes}
        contents[out / REPORT] = text
    write_files(contents, out if several else None)
    return list(contents)


def _print_report(report: TuneReport) -> None:
    """Prints a row for each model, and the mean over the test topics; if that is too wide, a block for each row."""
    from rich.cells import cell_len

    from hybridkg.cli.output import text_table
    from hybridkg.results.formats.table import BETWEEN_COLUMNS, console_on

    tested = any(o.training.testing for o in report.outcomes)
    titles = ["model", "topics", "default", "training", *(["default", "test"] if tested else []), "points"]
    rows = [[o.training.name or report.settings.model, *_cells(o, tested)] for o in report.outcomes]
    if tested and len(rows) > 1:
        default, learned = report.tested()
        rows.append(["all", f"{len(learned):,}", "", "", f"{_mean(default):.4f}", f"{_mean(learned):.4f}", ""])
    console = console_on(sys.stdout)
    widths = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
    if sum(widths) + BETWEEN_COLUMNS * (len(widths) - 1) > console.width:
        names = ["topics", "training, default", "training", *(["test, default", "test"] if tested else []), "points"]
        for row in rows:
            echo(row[0])
            for name, cell in zip(names, row[1:], strict=True):
                if cell:
                    echo(f"    {name:<17}  {cell}")
        return
    console.print(text_table(titles, rows, range(1, len(titles))))


def _cells(o: TuningOutcome, tested: bool) -> list[str]:
    learned = o.learned
    topics = f"{len(o.training.training):,}"
    cells = [f"{learned.default:.4f}", f"{learned.value:.4f}"]
    if tested:
        topics += f" + {len(o.training.testing):,}"
        cells += [f"{_mean(o.default):.4f}", f"{_mean(o.testing):.4f}"]
    return [topics, *cells, "kept" if o.kept else f"{learned.evaluations:,}"]


def _mean(values: Mapping[str, float]) -> float:
    from hybridkg.evaluation.measures import mean

    return mean(values)


def _print_notes(report: TuneReport, seconds: float, cpu: float) -> None:
    for count, what in ((report.unjudged, "not judged"), (report.unasked, "judged, but have no text")):
        if count:
            echo(f"note: {count:,} topic{'' if count == 1 else 's'} left out: {what}", err=True)
    points = sum(o.learned.evaluations for o in report.outcomes if not o.kept)
    rate = f" ({points / seconds:,.0f}/s)" if points else ""
    echo(f"{report.settings.measure}, {points:,} points{rate}, {seconds:.1f} s, {cpu:.1f} s of CPU", err=True)
