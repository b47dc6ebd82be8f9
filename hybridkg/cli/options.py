"""Options that several commands share, and the argument that names a knowledge base."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import KB_IN_USE, echo, echo_error
from hybridkg.errors import LoadError, NotAKnowledgeBaseError, ParameterError, QuerySyntaxError, UndeclaredPrefixError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.query.text_kind import update_keyword
from hybridkg.registry import Registry

if TYPE_CHECKING:
    from hybridkg.interfaces.encoder import UploadEstimate
    from hybridkg.kb import KnowledgeBase

Decorator = Callable[[Any], Any]
PATH = click.Path(path_type=Path)


def accessible(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Checks that the system permits access to one or several paths, which need not exist.

    Raises:
        NotAKnowledgeBaseError, LoadError: the system refuses the path itself.
    """
    is_kb = parameter.name == "kb"
    for path in (value,) if is_kb else value:
        try:
            (path / "CURRENT" if is_kb else path).stat()
        except (FileNotFoundError, NotADirectoryError):
            text = str(path)
            if is_kb and "{" in text and any(c.isspace() for c in text) and not os.path.lexists(text):
                is_update = update_keyword(text) is not None
                what, place = ("an update", "UPDATE") if is_update else ("a query", "QUERY")
                raise NotAKnowledgeBaseError(
                    f"{_cut(text)!r} is {what}, not a knowledge base",
                    hint=f"the knowledge base comes first, {what.replace('an ', 'the ').replace('a ', 'the ')} second: "
                    f"KB '{place}'",
                ) from None
        except OSError as e:
            message = f"cannot look at {_cut(str(path))!r}: {e.strerror}"
            if not is_kb:
                raise LoadError(message) from None
            raise NotAKnowledgeBaseError(
                message, hint="the first argument is the knowledge base; if this is something else, it is missing"
            ) from None
    if is_kb and not value.is_file():  # a file of RDF is no place for indexes
        context.meta[KB_IN_USE] = value
    return value


MAX_SHOWN_LENGTH = 60
"""Characters shown of a refused path."""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}..."


class KbPath(click.Path):
    """The path of a knowledge base, which need not exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses an empty path, which the system takes for the current folder."""
        text = os.fspath(value)
        if text == "":
            raise NotAKnowledgeBaseError(
                "the path of the knowledge base is empty",
                hint="is a variable of the shell not set? for the current folder write .",
            )
        return super().convert(value, param, ctx)


kb_argument: Decorator = click.argument("kb", metavar="KB", type=KbPath(path_type=Path), callback=accessible)
measures_option: Decorator = click.option(
    "-m",
    "--measure",
    "measures",
    metavar="MEASURE",
    multiple=True,
    help="Such as ndcg@10, map@100, 'map@100(rel=2)', p@10, mrr, recall@1000, condensed-ndcg@10; can be repeated. "
    "An unknown name lists them all. Default: ndcg@10, ndcg@100, map@100, judged@10, condensed-ndcg@10.",
)
by_option: Decorator = click.option(
    "--by",
    metavar="prefix|FILE",
    help="Also show each category of topics: their ids up to the last - or _, or by lines `topic<TAB>category`.",
)
FIGURE_FORMATS = click.Choice(["table", "json", "csv", "tsv"])
figures_option: Decorator = click.option(
    "--format", "fmt", type=FIGURE_FORMATS, default="table", show_default=True, help="All digits in json, else 4."
)
query_argument: Decorator = click.argument("text", metavar="[QUERY | -]", required=False)
file_option: Decorator = click.option(
    "-f", "--file", "file", type=PATH, help="Read the query from a file, such as topics.hq."
)
param_option: Decorator = click.option(
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help='Value of a variable: <iri>, a number, true, "text"@en, "2025-06-01"^^xsd:date, or plain words. '
    "Repeat a name for a list.",
)
profile_option: Decorator = click.option(
    "--profile", metavar="FILE.ttl|NAME", help="Fields of the text and their predicates; default: that of kb.toml."
)
encoder_option: Decorator = click.option(
    "--encoder",
    metavar="NAME[:MODEL]",
    help="Encoder of the vectors: lsa, sentence-transformers:MODEL ... or none; default: that of kb.toml.",
)
TEXT_ENGINE_HELP = "Engine of the text index: embedded or elasticsearch; default: that of kb.toml."
yes_option: Decorator = click.option(
    "--yes", is_flag=True, help="Send any number of texts to the server of the encoder without asking."
)


def agreement(yes: bool) -> Callable[[UploadEstimate], bool]:
    """Confirmation of an upload: prints the estimate and asks, unless `yes`; without a terminal, the answer is no."""

    def confirm(upload: UploadEstimate) -> bool:
        echo(f"to be encoded: {upload}", err=True)
        return yes or (sys.stdin.isatty() and click.confirm("send them?", err=True))

    return confirm


class WholeNumber(click.IntRange):
    """A whole number in a range, under a better name than click's `integer range`."""

    name = "whole number"


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A duration such as `10`, `10s`, `500ms` or `2m`, in seconds; `zero` says for errors what 0 means."""

    name = "duration"

    def __init__(self, zero: str = "0 for no limit"):
        self._zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parses the value."""
        if isinstance(value, int | float):
            return float(value)
        from hybridkg.kb.cancellation import read_duration

        return read_duration(value, self._zero)


timeout_option: Decorator = click.option(
    "--timeout", metavar="DURATION", type=Duration(), help="10s, 500ms, 2m; 0 for none. Default: that of kb.toml."
)


class OneOf(click.Choice[str]):
    """A name of a registry. Entry points, which take 0.1 s, are read only for other names than built-in ones."""

    def __init__(self, registry: Registry):
        self._registry, self.case_sensitive = registry, True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """All names."""
        return tuple(self._registry.names())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Checks the name."""
        return value if self._registry.is_builtin(value) else super().convert(value, param, ctx)


strategy_option: Decorator = click.option(
    "--strategy", type=OneOf(STRATEGIES), help="Strategy of the plan; default: the cheapest that applies."
)
limit_option: Decorator = click.option(
    "--limit", metavar="N", type=WholeNumber(min=0), help="Maximum number of rows; default: all of the query."
)
max_rows_option: Decorator = click.option(
    "--max-rows", metavar="N", type=WholeNumber(min=1), help="Maximum number of rows of terms; ids do not count."
)
max_megabytes_option: Decorator = click.option(
    "--max-megabytes",
    metavar="N",
    type=float,
    help="Maximum estimated memory of an intermediate result; columns above it go to disk.",
)


def query_options(command: Any) -> Any:
    """The query, its parameters and the QueryOptions, for `query` and `explain`."""
    inputs = (kb_argument, query_argument, file_option, param_option)
    options = (limit_option, strategy_option, timeout_option, max_rows_option, max_megabytes_option)
    for option in reversed(inputs + options):
        command = option(command)
    return command


format_option: Decorator = click.option(
    "--format", "fmt", type=OneOf(OUTPUT_FORMATS), default="table", show_default=True, help="Output format."
)


wait_option: Decorator = click.option(
    "--wait",
    metavar="SECONDS",
    type=Duration("0 does not wait"),
    default="10",
    show_default=True,
    help="Time to wait for another writer, such as 60 or 2m.",
)
update_index_option: Decorator = click.option(
    "--no-index",
    is_flag=True,
    help="Leave the indexes behind the graph; default: they follow, if they are up to date.",
)
dry_run_option: Decorator = click.option(
    "--dry-run", is_flag=True, help="Print the triples that would change, A for added and D for removed, and stop."
)


def read_query(text: str | None, file: Path | None, *, what: str = "query") -> tuple[str, str]:
    """(text, name in errors) of a query or an update, from the argument, a file, or standard input.

    Raises:
        QuerySyntaxError: both or neither are there.
        LoadError: the file, or standard input, cannot be read.
    """
    article = "an" if what == "update" else "a"
    if (text is None) == (file is None):
        raise QuerySyntaxError(
            f"no {what} is given"
            if text is None
            else f"{article} {what} and {article} {what} file are given; one is needed",
            hint=f"write it in quotes, give -f FILE{'.hq' if what == 'query' else ''}, or - to read standard input",
        )
    try:
        if file is not None:
            return file.read_text(encoding="utf-8-sig"), file.name
        if text == "-":
            return sys.stdin.buffer.read().decode("utf-8"), "stdin"
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        source = "from standard input" if file is None else f"file {str(file)!r}"
        raise LoadError(f"cannot read the {what} {source}: {reason}") from None
    assert text is not None
    if _is_query_file(text):
        raise QuerySyntaxError(f"{text!r} is the name of a file, not {article} {what}", hint=f"give it with -f {text}")
    return text, what


def read_parameters(items: tuple[str, ...], prefixes: Mapping[str, str]) -> dict[str, Any]:
    """Terms by name, a list for a repeated name.

    Args:
        items: as typed, `NAME=VALUE`.
        prefixes: those that the knowledge base keeps, beside the well-known ones.

    Raises:
        ParameterError: an item without `=`, or a value that is no term.
    """
    from hybridkg.query.parameters.bind import read_term
    from hybridkg.rdf.well_known import WELL_KNOWN

    parameters: dict[str, Any] = {}
    known = {**WELL_KNOWN, **prefixes}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ParameterError(f"{item!r} is not NAME=VALUE", hint="for example --param year=2018")
        term = read_term(value, known)
        name = name.lstrip("?$")
        if name not in parameters:
            parameters[name] = term
        elif isinstance(parameters[name], list):
            parameters[name].append(term)
        else:
            parameters[name] = [parameters[name], term]
    return parameters


QUERY_FILES = (".hq", ".rq", ".ru", ".sparql")
"""Extensions that identify a query file in place of another argument."""


def _is_query_file(text: str) -> bool:
    return text.lower().endswith(QUERY_FILES) and not any(c.isspace() or c == "{" for c in text)


def opened_for_update(path: Path) -> KnowledgeBase:
    """The knowledge base in a folder, for a command that changes it: an RDF file is none, as its change would be lost.

    Raises:
        NotAKnowledgeBaseError: there is none at this path.
    """
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.kb import KnowledgeBase

    _refuse_query_file(path)
    return KnowledgeBase.open(path, progress=TerminalProgress())


def _refuse_query_file(path: Path) -> None:
    if _is_query_file(str(path)):
        raise NotAKnowledgeBaseError(
            f"{str(path)!r} is a query file, not a knowledge base",
            hint=f"the knowledge base comes first, and a query file is given with -f: KB -f {path}",
        )


@contextmanager
def opened(path: Path) -> Iterator[KnowledgeBase]:
    """The knowledge base in a folder; for an RDF file, a temporary one, deleted afterwards."""
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.kb import KnowledgeBase

    _refuse_query_file(path)
    if not path.is_file():
        base = KnowledgeBase.open(path, progress=TerminalProgress())
        with naming_prefixes(base, path):
            yield base
        return
    with KnowledgeBase.temporary(path, progress=TerminalProgress()) as base, naming_prefixes(base, None):
        for warning in base.load_report.warnings if base.load_report else ():
            echo_error(warning)
        yield base


@contextmanager
def naming_prefixes(base: KnowledgeBase, path: Path | None) -> Iterator[None]:
    """Explains in the error of an undeclared prefix how to declare one that `node` and `search` show.

    These commands give names to the namespaces of the data that no kept prefix covers. `path` is None for a temporary
    knowledge base, which keeps none.
    """
    try:
        yield
    except UndeclaredPrefixError as e:
        from hybridkg.kb.search.base import shown_prefixes

        namespace = shown_prefixes(base).get(e.prefix)
        if namespace is not None:
            e.hint = f"put this line first:\nPREFIX {e.prefix}: <{namespace}>"
            if path is not None:
                e.hint += f"\nto keep it for all queries: hybridkg prefixes {path} --add {e.prefix}={namespace}"
        raise


def opened_or_created(kb: Path, wait: float) -> KnowledgeBase:
    """The knowledge base at a path, created where there is none yet; another process may create it at the same time."""
    from hybridkg.errors import StorageError
    from hybridkg.kb import KnowledgeBase
    from hybridkg.store.generations.folder import Folder

    while True:
        folder = Folder.open_or_create(kb, wait)
        try:
            return KnowledgeBase(folder)
        except StorageError:
            if (kb / "CURRENT").exists():
                raise
            # The process that has created it has failed, and removed it in this moment.


def remove_unused(kb: Path, base: KnowledgeBase | None, error: BaseException) -> None:
    """Deletes a knowledge base that this command has created and not filled, unless another process uses it."""
    from hybridkg.store.generations.folder import Folder

    if base is not None:
        base.close()
    if Folder(kb).remove_unused():
        error.__notes__ = []  # they name files of the removed folder
