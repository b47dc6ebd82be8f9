"""Options that several commands share, and how a knowledge base is named on the command line."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import echo
from hybridkg.errors import LoadError, NotAKnowledgeBaseError, ParameterError, QuerySyntaxError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.registry import Registry

if TYPE_CHECKING:
    from hybridkg.interfaces.encoder import UploadEstimate
    from hybridkg.kb import KnowledgeBase

Decorator = Callable[[Any], Any]


def accessible(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """A path, or several, whose folders let us look; whether something is there, the command finds out.

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
                raise NotAKnowledgeBaseError(
                    f"{_cut(text)!r} is a query, not a knowledge base",
                    hint="the knowledge base comes first, the query second: KB 'QUERY'",
                ) from None
        except OSError as e:
            message = f"cannot look at {_cut(str(path))!r}: {e.strerror}"
            if not is_kb:
                raise LoadError(message) from None
            raise NotAKnowledgeBaseError(
                message, hint="the first argument is the knowledge base; if this is something else, it was forgotten"
            ) from None
    return value


MAX_SHOWN_LENGTH = 60
"""Characters of a refused path in a message."""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}..."


class KbPath(click.Path):
    """The path of a knowledge base, before it is known whether one is there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path.

        Raises:
            NotAKnowledgeBaseError: it is empty, which the system takes for the current folder.
        """
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
    help="Also for each category of topics: from their ids up to the last - or _, or from lines `topic<TAB>category`.",
)
figures_option: Decorator = click.option(
    "--format",
    "fmt",
    type=click.Choice(["table", "json", "csv", "tsv"]),
    default="table",
    show_default=True,
    help="How to print the figures: 4 digits, in json all.",
)
query_argument: Decorator = click.argument("text", metavar="[QUERY | -]", required=False)
file_option: Decorator = click.option(
    "-f",
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="Read the query from a file, such as topics.hq.",
)
param_option: Decorator = click.option(
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help='Value of a variable: <iri>, a number, true, "text"@en, or plain words. Repeat a name for a list.',
)


profile_option: Decorator = click.option(
    "--profile", metavar="FILE.ttl|NAME", help="Which predicates feed which field; default: the one in kb.toml."
)
encoder_option: Decorator = click.option(
    "--encoder",
    metavar="NAME[:MODEL]",
    help="Encoder of the vectors: lsa, sentence-transformers:MODEL ... or none; default: the one in kb.toml.",
)
TEXT_ENGINE_HELP = "Engine of the text index: embedded or elasticsearch; default: the one in kb.toml."
yes_option: Decorator = click.option(
    "--yes", is_flag=True, help="Send texts to the server of the encoder without asking, however many they are."
)


def agreement(yes: bool) -> Callable[[UploadEstimate], bool]:
    """Shows what is about to be sent to a server, and asks; where nobody can answer, only `yes` is one."""

    def agree(sending: UploadEstimate) -> bool:
        echo(f"to be encoded: {sending}", err=True)
        return yes or (sys.stdin.isatty() and click.confirm("send them?", err=True))

    return agree


class WholeNumber(click.IntRange):
    """A whole number in a range; click calls it an `integer range` when a word is given."""

    name = "whole number"


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Seconds, from `10`, `10s`, `500ms` or `2m`; 0 is no limit."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds."""
        if isinstance(value, int | float):
            return float(value)
        from hybridkg.kb.cancellation import read_duration

        return read_duration(value)


timeout_option: Decorator = click.option(
    "--timeout",
    metavar="DURATION",
    type=Duration(),
    help="Give up after this time: 10s, 500ms, 2m; 0 for never. Default: that of kb.toml, where it is none.",
)


class OneOf(click.Choice[str]):
    """A name of a registry. Who adds names is looked up only for one that is not built in, and for `--help`: that
    takes a tenth of a second.
    """

    def __init__(self, registry: Registry):
        self._registry, self.case_sensitive = registry, True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """Every name."""
        return tuple(self._registry.names())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name."""
        return value if self._registry.is_builtin(value) else super().convert(value, param, ctx)


strategy_option: Decorator = click.option(
    "--strategy",
    type=OneOf(STRATEGIES),
    help="Run it this way; default: the cheapest that applies.",
)
limit_option: Decorator = click.option(
    "--limit", metavar="N", type=WholeNumber(min=0), help="Rows wanted at most; default: all the query returns."
)
max_rows_option: Decorator = click.option(
    "--max-rows", metavar="N", type=WholeNumber(min=1), help="Rows that an intermediate result may have at most."
)
max_megabytes_option: Decorator = click.option(
    "--max-megabytes", metavar="N", type=float, help="Memory that an intermediate result may take, as it is estimated."
)


def query_options(command: Any) -> Any:
    """The query, its parameters, and the options of kb.query_options that a shell can give: `query` and `explain`."""
    for option in reversed(
        (
            kb_argument,
            query_argument,
            file_option,
            param_option,
            limit_option,
            strategy_option,
            timeout_option,
            max_rows_option,
            max_megabytes_option,
        )
    ):
        command = option(command)
    return command


format_option: Decorator = click.option(
    "--format",
    "fmt",
    type=OneOf(OUTPUT_FORMATS),
    default="table",
    show_default=True,
    help="How to print the rows.",
)


def read_query(text: str | None, file: Path | None) -> tuple[str, str]:
    """(query text, name to show in errors) from the argument, a file, or standard input.

    Raises:
        QuerySyntaxError: both or neither are given.
        LoadError: the file, or standard input, cannot be read.
    """
    if (text is None) == (file is None):
        raise QuerySyntaxError(
            "no query is given" if text is None else "a query and a query file are given; one is needed",
            hint="write it in quotes, give -f FILE.hq, or - to read standard input",
        )
    if file is not None:
        try:
            return file.read_text(encoding="utf-8-sig"), file.name
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
            raise LoadError(f"cannot read the query file {str(file)!r}: {reason}") from None
    if text == "-":
        try:
            return sys.stdin.buffer.read().decode("utf-8"), "stdin"
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
            raise LoadError(f"cannot read the query from standard input: {reason}") from None
    assert text is not None
    if _is_query_file(text):
        raise QuerySyntaxError(f"{text!r} is the name of a file, not a query", hint=f"give it with -f {text}")
    return text, "query"


def read_parameters(given: tuple[str, ...]) -> dict[str, Any]:
    """Terms by name; a name that is given several times has a list.

    Raises:
        ParameterError: an item without `=`, or a value that is no term.
    """
    from hybridkg.query.parameters.bind import read_term

    parameters: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ParameterError(f"{item!r} is not NAME=VALUE", hint="for example --param year=2018")
        term = read_term(value)
        name = name.lstrip("?$")
        if name not in parameters:
            parameters[name] = term
        elif isinstance(parameters[name], list):
            parameters[name].append(term)
        else:
            parameters[name] = [parameters[name], term]
    return parameters


QUERY_FILES = (".hq", ".rq", ".sparql")
"""Extensions by which a query file is known where something else should stand."""


def _is_query_file(text: str) -> bool:
    return text.lower().endswith(QUERY_FILES) and not any(c.isspace() or c == "{" for c in text)


@contextmanager
def opened(path: Path) -> Iterator[KnowledgeBase]:
    """The knowledge base in a folder; for an RDF file, a temporary one that is thrown away afterwards."""
    from hybridkg.kb import KnowledgeBase

    if _is_query_file(str(path)):
        raise NotAKnowledgeBaseError(
            f"{str(path)!r} is a query file, not a knowledge base",
            hint=f"the knowledge base comes first, and a query file is given with -f: KB -f {path}",
        )
    from hybridkg.cli.output import TerminalProgress

    if not path.is_file():
        yield KnowledgeBase.open(path, progress=TerminalProgress())
        return
    with KnowledgeBase.temporary(path, progress=TerminalProgress()) as kb:
        yield kb


def remove_unfinished(kb: Path) -> None:
    """Deletes a knowledge base that this very command began, whole or half made; nothing else."""
    from hybridkg.store.generations.folder import OURS

    if kb.is_dir() and all(OURS.fullmatch(entry.name) for entry in kb.iterdir()):
        shutil.rmtree(kb)
