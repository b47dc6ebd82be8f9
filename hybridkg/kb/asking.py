"""Questions in plain words over an open knowledge base (hybridkg.asking)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.asking.interpret import NO_ANSWER, interpret
from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.model import interpret_by_model
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights, named_weights
from hybridkg.errors import ParameterError, UnknownNameError, UserError
from hybridkg.interfaces.meter import Meter
from hybridkg.kb.question_time import QuestionTime
from hybridkg.kb.search.base import SearchedBase
from hybridkg.kb.snapshot import Snapshot, snapshot_of
from hybridkg.registry import did_you_mean
from hybridkg.remote.chat_model import ChatModel
from hybridkg.remote.model_server import ModelServer
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.kb.reading import ReadableKnowledgeBase

MAX_LIMIT = 10_000
"""Rows of one question."""


PARSERS = ("rules", "llm")
"""Ways to interpret a question: by names and schema alone, or by a language model that names the slots."""


def interpreted(
    kb: ReadableKnowledgeBase,
    question: str,
    *,
    limit: int,
    weights: QuestionWeights | str | Path | None = None,
    parser: str = "rules",
    model: str = "",
    time: QuestionTime | None = None,
) -> Interpretation:
    """The interpretation of a question within its time; see `KnowledgeBase.interpret`."""
    if not isinstance(question, str):
        raise UserError(f"a question is a text, not {type(question).__name__}")
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise UserError(f"the limit of a question is a number from 1 to {MAX_LIMIT:,}, not {limit!r}")
    if parser not in PARSERS:
        known = f"no parser {parser!r} of questions; known: {', '.join(PARSERS)}"
        raise UnknownNameError(known, hint=did_you_mean(str(parser), list(PARSERS)))
    given: object = weights
    if not isinstance(given, QuestionWeights | str | Path | None):
        kind = type(given).__name__
        raise ParameterError(f"weights are a name, a file or QuestionWeights, not {kind}", hint='weights="stark-mag"')
    if parser == "llm" and weights is not None:
        raise ParameterError("weights are for the parser 'rules', not for 'llm'", hint="leave out one of them")
    if bool(model) != (parser == "llm"):
        raise ParameterError(
            "the parser 'llm' needs a model, and no other parser has one", hint="--parser llm --model gpt-4o-mini"
        )
    snapshot = snapshot_of(kb)
    learned = weights if isinstance(weights, QuestionWeights | None) else named_weights(weights)

    def work(meter: Meter) -> Interpretation:
        asked = snapshot.asked
        prefixes = SearchedBase(kb, snapshot, {}).prefixes
        if parser == "llm":
            return interpret_by_model(question, asked, prefixes, chat_model(snapshot, model, meter.check), limit=limit)
        return interpret(question, asked, prefixes, limit=limit, weights=learned or DEFAULT_WEIGHTS)

    return work(Meter()) if time is None else time.interpretation(work)


def question_time(
    kb: ReadableKnowledgeBase, timeout: float | None = None, *, cancel: threading.Event | None = None
) -> QuestionTime:
    """The time of a question, from now on: seconds, 0 for no limit; default: that of kb.toml.

    Raises:
        UserError: the timeout is no number of seconds.
    """
    return QuestionTime(kb._settings.limits, timeout, cancel=cancel)


def chat_model(snapshot: Snapshot, model: str, check: Callable[[], None] = lambda: None) -> ChatModel:
    """A model of the server in the table [reranking] of kb.toml; `check` raises when time is up.

    Raises:
        ConfigError: the address is invalid, or the key must not go there.
    """
    server = snapshot.config.reranking
    return ChatModel(ModelServer(server.url, server.timeout, server.per_minute, check), model)


def answered(kb: ReadableKnowledgeBase, query: str, time: QuestionTime | None = None) -> ResultSet:
    """The rows of a query of an interpretation, without the warning that its scores are of different kinds (W105).

    Args:
        kb: the knowledge base.
        query: of `query_of`.
        time: of the question, of which the interpretation has used a part; None for that of kb.toml.

    Raises:
        QueryStoppedError: the time is over.
    """
    if time is None:
        result = kb.query(query, name="question")
    else:
        left = time.left()
        result = time.named(lambda: kb.query(query, timeout=left, cancel=time.cancel, name="question"))
    return replace(result, warnings=tuple(one for one in result.warnings if one.code != "W105"))


def query_of(interpretation: Interpretation, *, strict: bool) -> str:
    """The query of an interpretation.

    Raises:
        UserError: there is no strict one.
    """
    if not strict:
        return interpretation.query
    if interpretation.strict is None:
        reason = NO_ANSWER if interpretation.slots.constraints else "the question has no constraint"
        hints = dict.fromkeys(("ask without --strict", *interpretation.remarks))
        hints.pop(NO_ANSWER, None)
        raise UserError(f"there is no strict query: {reason}", hint="; ".join(hints))
    return interpretation.strict
