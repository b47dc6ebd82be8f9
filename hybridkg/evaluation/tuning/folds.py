"""Folds of a cross-validation, as JSON: `{"0": {"training": [...], "testing": [...]}}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError

MAX_FILE_BYTES = 1 << 24
"""Maximum bytes; the file of DBpedia-Entity has 48,000."""

FORM = '{"0": {"training": ["topic", ...], "testing": ["topic", ...]}, ...}'


@dataclass(frozen=True)
class Fold:
    """A split of the topics into training and test topics."""

    name: str
    training: tuple[str, ...]
    testing: tuple[str, ...]


def read_folds(path: Path, topics: Iterable[str]) -> tuple[Fold, ...]:
    """The folds in a file, in its order, restricted to `topics`.

    Raises:
        LoadError: the file cannot be read or has another form, a fold trains and tests a topic, two folds test a
            topic, or no fold tests one of `topics`.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise LoadError(f"larger than {MAX_FILE_BYTES >> 20} MiB: no file of folds", place=str(path))
        data: Any = json.loads(content, object_pairs_hook=_unique_names)
    except OSError as e:
        raise LoadError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except (ValueError, RecursionError) as e:
        raise LoadError(f"not a file of folds: {e}", hint=f"it must be JSON: {FORM}", place=str(path)) from e
    return folds_of(data, topics, str(path))


def folds_of(data: Any, topics: Iterable[str], place: str) -> tuple[Fold, ...]:
    """The folds in a JSON value; `place` is the file that errors name."""
    if not isinstance(data, dict) or not data:
        raise LoadError("folds must be a table of folds", hint=FORM, place=place)
    wanted = dict.fromkeys(topics)
    tested: dict[str, str] = {}
    folds = []
    for name, parts in data.items():
        training, testing = (_part(name, parts, part, wanted, place) for part in ("training", "testing"))
        both = next((topic for topic in testing if topic in set(training)), None)
        if both is not None:
            raise LoadError(f"fold {name!r} trains and tests the topic {both!r}", place=place)
        for topic in testing:
            if topic in tested:
                raise LoadError(f"folds {tested[topic]!r} and {name!r} both test the topic {topic!r}", place=place)
            tested[topic] = name
        folds.append(Fold(name, training, testing))
    missing = [topic for topic in wanted if topic not in tested]
    if missing:
        more = f", nor {len(missing) - 1:,} others" if len(missing) > 1 else ""
        raise LoadError(
            f"no fold tests the topic {missing[0]!r}{more}", hint="every judged topic needs one", place=place
        )
    return tuple(folds)


def _part(name: str, parts: Any, part: str, wanted: Mapping[str, None], place: str) -> tuple[str, ...]:
    topics = parts.get(part) if isinstance(parts, dict) else None
    if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
        raise LoadError(f"fold {name!r} has no list of topics {part!r}", hint=FORM, place=place)
    if len(set(topics)) < len(topics):
        raise LoadError(f"fold {name!r} has a topic twice among {part!r}", place=place)
    return tuple(topic for topic in topics if topic in wanted)


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name appears twice")
    return table
