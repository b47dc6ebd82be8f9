"""The reader of KILT's JSON lines: gold records and guesses.

Each line is an object with an `id` and a list `output`; each output may have an `answer` and a list `provenance` of
objects with a `wikipedia_id`. A guess has exactly one output. Other keys are ignored. In gold records an empty list of
provenance is an evidence set that no guess finds, and an output without a list is none, as in KILT's evaluation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybridkg.evaluation.kilt import UNNAMED, KiltGold, KiltGuess
from hybridkg.evaluation.text_lines import decoded, numbered_lines, quoted, refuse

MAX_SETS = 1_000
"""Maximum outputs of a record, and pages of an output; nearly all of KILT's have fewer than a hundred."""

MAX_RECORD_BYTES = 1 << 22
"""Maximum bytes of a line: a guess may have the text of a hundred pages."""

EXAMPLE = '{"id": "1", "output": [{"answer": "Dover", "provenance": [{"wikipedia_id": "43"}]}]}'


def read_kilt_gold(path: Path) -> dict[str, KiltGold]:
    """Gold records by id, in the order of the file.

    Raises:
        LoadError: with file and line: not a JSON object, a missing or repeated id, an output, answer or provenance of
            another form.
    """
    gold: dict[str, KiltGold] = {}
    for number, key, outputs in _records(Path(path), gold):
        answers = (_answer(path, number, output) for output in outputs)
        with_pages = (output for output in outputs if "provenance" in output)
        evidence = tuple(tuple(dict.fromkeys(_pages(path, number, output))) for output in with_pages)
        gold[key] = KiltGold(tuple(dict.fromkeys(answer for answer in answers if answer)), evidence)
    return gold


def read_kilt_guess(path: Path) -> dict[str, KiltGuess]:
    """Guesses by id; LoadError as `read_kilt_gold`, or if a record has no output or several."""
    guesses: dict[str, KiltGuess] = {}
    for number, key, outputs in _records(Path(path), guesses):
        if len(outputs) != 1:
            message = f"the record {quoted(key)} has {len(outputs)} outputs; a guess has one"
            refuse(Path(path), number, message, f"for example {EXAMPLE}")
        pages = tuple(page for page in _pages(path, number, outputs[0]) if page != UNNAMED)
        guesses[key] = KiltGuess(_answer(path, number, outputs[0]), pages)
    return guesses


def _records(path: Path, before: dict[str, Any]) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """(line number, id, outputs) of each line; `before` has the ids of earlier lines."""
    for number, line in numbered_lines(path, "a file of KILT records", MAX_RECORD_BYTES):
        record = _object(path, number, decoded(path, number, line))
        key = record.get("id")
        if not isinstance(key, str | int) or isinstance(key, bool) or not str(key).strip():
            refuse(path, number, "the record has no id", f"for example {EXAMPLE}")
        key = str(key).strip()
        if key in before:
            refuse(path, number, f"the record {quoted(key)} is repeated")
        outputs = record.get("output")
        if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
            refuse(path, number, f"the record {quoted(key)} has no list of outputs", f"for example {EXAMPLE}")
        if len(outputs) > MAX_SETS:
            refuse(path, number, f"the record {quoted(key)} has more than {MAX_SETS:,} outputs")
        yield number, key, outputs


def _object(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as e:
        refuse(path, number, f"not JSON: {e.msg} at column {e.colno}", f"each line is a record such as {EXAMPLE}")
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        refuse(path, number, "not JSON that can be read: nested too deep, or a number too long")
    if not isinstance(record, dict):
        refuse(path, number, "not a JSON object", f"each line is a record such as {EXAMPLE}")
    return record


def _answer(path: Path, number: int, output: dict[str, Any]) -> str:
    answer = output.get("answer")
    if answer is not None and (not isinstance(answer, str | int | float) or isinstance(answer, bool)):
        refuse(Path(path), number, "an answer is a text", f"for example {EXAMPLE}")
    return "" if answer is None else str(answer).strip()


def _pages(path: Path, number: int, output: dict[str, Any]) -> Iterator[str]:
    """The id of each page; UNNAMED for one without."""
    provenance = output.get("provenance", [])
    if not isinstance(provenance, list) or not all(isinstance(one, dict) for one in provenance):
        refuse(Path(path), number, "a provenance is a list of objects", f"for example {EXAMPLE}")
    if len(provenance) > MAX_SETS:
        refuse(Path(path), number, f"an output with more than {MAX_SETS:,} pages")
    for one in provenance:
        page = one.get("wikipedia_id")
        if page is None:
            page = UNNAMED
        if not isinstance(page, str | int) or isinstance(page, bool):
            refuse(Path(path), number, f"{quoted(str(page))} is not a wikipedia_id", f"for example {EXAMPLE}")
        yield str(page).strip()
