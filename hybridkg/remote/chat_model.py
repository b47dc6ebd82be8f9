"""Chats in which a language model answers with JSON: an instruction, and data that is sent as JSON beside it.

Texts of questions and nodes are values of the data, never parts of the instruction. An answer that is not of the wanted
form is requested once more, and then it is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hybridkg.errors import ModelServerError
from hybridkg.remote.model_server import ModelServer

T = TypeVar("T")

MAX_ATTEMPTS = 2
"""Requests of an answer, until it has the wanted form."""

MAX_MESSAGE = 1 << 18
"""Characters of an answer that are read as JSON."""

MAX_SHOWN = 200
"""Characters of an answer without the wanted form that an error shows."""

_FENCE = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)


class UnusableAnswerError(Exception):
    """An answer of a model without the wanted form; the message continues `the model 'm' ...`.

    `answer` is the beginning of what the model said, on one line, once it is known.
    """

    answer: str = ""


@dataclass
class ChatModel:
    """One model of a server.

    Args:
        server: with OpenAI's chat interface.
        name: of the model, as the server calls it.
        characters: sent so far, without retries of the server.
    """

    server: ModelServer
    name: str
    characters: int = field(default=0, init=False)

    def answer(self, instruction: str, data: Mapping[str, Any], read: Callable[[Any], T], *, hint: str) -> T:
        """The same as `attempt`, for callers that have no use for a question without an answer.

        Args:
            instruction: as there.
            data: as there.
            read: as there.
            hint: of the error.

        Raises:
            ModelServerError: the server fails, or no answer of MAX_ATTEMPTS has the form.
        """
        try:
            return self.attempt(instruction, data, read)
        except UnusableAnswerError as e:
            raise ModelServerError(f"the model {self.name!r} {e}", hint=hint) from None

    def attempt(self, instruction: str, data: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        """The JSON of an answer, as `read` understands it.

        Args:
            instruction: prose, without any text of a user or a knowledge base.
            data: the user's message, sent as JSON.
            read: raises UnusableAnswerError for JSON of another form.

        Raises:
            ModelServerError: the server fails.
            UnusableAnswerError: no answer of MAX_ATTEMPTS has the form.
        """
        content = json.dumps(data, ensure_ascii=False)
        self.characters += len(content) + len(instruction)
        body = {
            "model": self.name,
            "messages": [{"role": "system", "content": instruction}, {"role": "user", "content": content}],
            "temperature": 0,
        }
        problem = UnusableAnswerError()
        for _ in range(MAX_ATTEMPTS):
            message = _message_of(self.server.post("/chat/completions", body))
            try:
                return read(read_json(message))
            except UnusableAnswerError as e:
                problem = e
                problem.answer = self.server.clean(message[:MAX_SHOWN])
        raise problem


def _message_of(answer: Any) -> str:
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    if not isinstance(text, str):
        raise ModelServerError(
            "the model server returned no message", hint="does it implement OpenAI's chat interface?"
        )
    return text


def read_json(message: str) -> Any:
    """The JSON of a message, which may be in a fence of Markdown.

    Raises:
        UnusableAnswerError: it is no JSON, or has more than MAX_MESSAGE characters.

    >>> read_json('```json\\n{"scores": [1]}\\n```')
    {'scores': [1]}
    """
    if len(message) > MAX_MESSAGE:
        raise UnusableAnswerError(f"answers with more than {MAX_MESSAGE:,} characters")
    fenced = _FENCE.match(message)
    try:
        return json.loads(fenced[1] if fenced else message)
    except (ValueError, RecursionError):
        raise UnusableAnswerError("does not answer with JSON") from None
