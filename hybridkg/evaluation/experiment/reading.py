"""The reader of experiments in TOML: an unknown key, or a value of the wrong type, is an error with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hybridkg.config.toml import line_of, parse_toml, without_capital
from hybridkg.errors import ConfigError
from hybridkg.evaluation.eval_report import ALL
from hybridkg.evaluation.experiment.comparability import PublishedData
from hybridkg.evaluation.experiment.kinds import SYSTEM_KINDS
from hybridkg.evaluation.experiment.spec import NAME, ExperimentSpec, PublishedFigure, SystemSpec
from hybridkg.evaluation.from_files import BY_PREFIX
from hybridkg.evaluation.text_lines import MAX_QUOTED_LENGTH
from hybridkg.query.parameters.bind import read_term
from hybridkg.registry import did_you_mean

MAX_FILE_BYTES = 1 << 22
"""Maximum bytes of an experiment, or of a query file that it names."""

MAX_FIGURE = 1e9
"""Maximum of a published figure or tolerance."""

PATHS = ("kb", "topics", "qrels", "folds", "candidates")
KIND_PATHS = ("gold", "weights")
"""Keys of the table of a kind whose values are paths."""

OWN_KEYS = (
    "params", "kb", "strategy", "expected", "about", "tolerance", "hidden", "optional", "published", "model", "seconds",
)  # fmt: skip
"""Keys of a system's table, apart from its kind."""

SHA256 = re.compile(r"[0-9a-f]{64}")
TEXTS = ("title", "about", "baseline", "test")
WHOLE = {"permutations": (1, 10_000_000), "seed": (0, 2**63 - 1), "depth": (1, 1_000_000)}


def read_experiment(path: Path) -> ExperimentSpec:
    """The experiment in a file; paths in it are relative to its folder.

    Raises:
        ConfigError: with file and line: not TOML, an unknown key, a wrong value, an invalid system.
    """
    path = Path(path)
    text = read_text(path, "experiment")
    try:
        values = parse_toml(text)
    except ValueError as e:
        raise ConfigError(f"not TOML: {without_capital(str(e))}", place=str(path)) from e
    return _Reader(path, text, values).experiment()


def read_text(path: Path, what: str, max_bytes: int = MAX_FILE_BYTES) -> str:
    """A handwritten file of UTF-8 text; ConfigError if it is too large, is no text, or cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
        if len(raw) > max_bytes:
            raise ConfigError(f"larger than {max_bytes >> 20} MiB: no {what}", place=str(path))
        return raw.decode("utf-8-sig")
    except OSError as e:
        raise ConfigError(f"cannot read the {what} {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"the {what} {str(path)!r} is not UTF-8 text") from e


@dataclass
class _Reader:
    """The reader of one file; `text` gives the lines of errors, `values` is the parsed TOML."""

    path: Path
    text: str
    values: dict[str, Any]

    def experiment(self) -> ExperimentSpec:
        known = [one.name for one in fields(ExperimentSpec)]
        for key in self.values:
            if key not in known or key == "name":
                raise self._wrong(
                    f"no setting {key!r}; known: {', '.join(name for name in known if name != 'name')}",
                    key,
                    hint=did_you_mean(key, known),
                )
        read: dict[str, Any] = {"name": self.path.stem}
        read |= {key: self._path(key, self.values[key]) for key in PATHS if key in self.values}
        read |= {key: self._of(str, key, self.values[key], "a text") for key in TEXTS if key in self.values}
        read |= {key: self._whole(key) for key in WHOLE if key in self.values}
        if "by" in self.values:
            by = self._of(str, "by", self.values["by"], '"prefix" or a file')
            read["by"] = by if by == BY_PREFIX else str(self._path("by", by))
        if "measures" in self.values:
            names = self._of(list, "measures", self.values["measures"], "a list of measures")
            read["measures"] = tuple(self._of(str, "measures", name, "a list of names") for name in names)
            if not names:
                raise self._wrong("an experiment needs a measure", "measures", hint="for example ndcg@10")
        if "values" in self.values:
            read["values"] = {name: self._path(name, path) for name, path in self._table("values").items()}
        if "tolerance" in self.values:
            read["tolerance"] = self._tolerance(self.values["tolerance"])
        if "published" in self.values:
            read["published"] = dict(self._published())
        for key in ("topics", "qrels", "systems"):
            if key not in self.values:
                raise ConfigError(f"an experiment needs {key!r}", hint=FORM, place=str(self.path))
        systems = self._table("systems")
        if not systems:
            raise self._wrong("an experiment needs a system", "systems", hint=FORM)
        tolerance = read.get("tolerance", ExperimentSpec.tolerance)
        read["systems"] = tuple(self._system(name, value, tolerance) for name, value in systems.items())
        data = list(read.get("published", ()))
        for system in read["systems"]:
            if system.published and system.published not in data:
                raise self._wrong(
                    f"no published data {system.published!r}; known: {', '.join(data) or 'none'}",
                    "published",
                    system.name,
                    hint=did_you_mean(system.published, data),
                )
        if read.get("baseline") and read["baseline"] not in systems:
            raise self._wrong(
                f"the baseline {read['baseline']!r} is not a system; systems: {', '.join(systems)}",
                "baseline",
                hint=did_you_mean(read["baseline"], list(systems)),
            )
        shown = [system.name for system in read["systems"] if not system.hidden]
        if (read.get("baseline") or next(iter(systems))) not in shown:
            raise self._wrong("the baseline is hidden", "baseline", hint=f'baseline = "{next(iter(shown), "NAME")}"')
        return ExperimentSpec(**read)

    def _system(self, name: str, value: Any, tolerance: float) -> SystemSpec:
        if not NAME.fullmatch(name):
            raise self._wrong(f"{name!r} cannot name a system", name, name, hint="letters, digits and . _ + ( ) = , -")
        if isinstance(value, str):
            return SystemSpec(name, "query", value, source=name)
        kinds = [*SYSTEM_KINDS.names(), "file"]
        if not isinstance(value, dict) or len(chosen := [key for key in kinds if key in value]) != 1:
            raise self._wrong(f"a system is one of: {', '.join(sorted(kinds))}", name, name, hint=FORM)
        kind = chosen[0]
        for key in value:
            if key not in (*OWN_KEYS, kind):
                raise self._wrong(
                    f"no setting {key!r} of a system; known: {', '.join((kind, *OWN_KEYS))}",
                    key,
                    name,
                    hint=did_you_mean(key, list(OWN_KEYS)),
                )
        params = self._of(dict, "params", value.get("params", {}), "a table", name)
        tolerance = self._tolerance(value.get("tolerance", tolerance), name)
        own, source = value[kind], name
        if kind == "file":
            file = self._path("file", own, name)
            kind, own, source = "query", read_text(file, "query file"), file.name
        elif kind == "run":
            own = self._path("run", own, name)
        elif isinstance(own, dict):
            own = {key: str(self._path(key, one, name)) if key in KIND_PATHS else one for key, one in own.items()}
        return SystemSpec(
            name=name,
            kind=kind,
            value=own if kind == "run" else SYSTEM_KINDS.get(kind).read(own, self._refuse(name)),
            params={key: self._param(key, own, name) for key, own in params.items()},
            kb=self._path("kb", value["kb"], name) if "kb" in value else None,
            strategy=self._of(str, "strategy", value["strategy"], "a text", name) if "strategy" in value else None,
            expected=tuple(self._expected(value.get("expected", {}), tolerance, name)),
            about=self._of(str, "about", value.get("about", ""), "a text", name),
            source=source,
            hidden=self._of(bool, "hidden", value.get("hidden", False), "true or false", name),
            optional=kind == "missing"
            or self._of(bool, "optional", value.get("optional", False), "true or false", name),
            published=self._of(str, "published", value.get("published", ""), "a text", name),
            model=self._of(str, "model", value.get("model", ""), "a text", name),
            seconds=self._number("seconds", value["seconds"], name) if "seconds" in value else None,
        )

    def _published(self) -> Iterator[tuple[str, PublishedData]]:
        known = [one.name for one in fields(PublishedData)]
        for name, value in self._table("published").items():
            table = self._of(dict, name, value, f"a table with {', '.join(known)}")
            if unknown := next((key for key in table if key not in known), ""):
                raise self._wrong(
                    f"no setting {unknown!r} of published data; known: {', '.join(known)}",
                    unknown,
                    hint=did_you_mean(unknown, known),
                )
            for key in ("topics", "qrels"):
                digest = table.get(key)
                if not isinstance(digest, str) or not SHA256.fullmatch(digest):
                    raise self._wrong(f"{key!r} of published data must be a SHA-256, as in manifest.json", name)
            candidates = table.get("candidates")
            if candidates is not None and (type(candidates) is not int or candidates < 1):
                raise self._wrong(f"'candidates' must be a number above 0, not {short(candidates)}", "candidates")
            yield name, PublishedData(table["topics"], table["qrels"], candidates)

    def _expected(self, table: Any, tolerance: float, system: str, category: str = ALL) -> Iterator[PublishedFigure]:
        for key, value in self._of(dict, "expected", table, "a table of measures", system).items():
            if isinstance(value, dict) and category == ALL:
                yield from self._expected(value, tolerance, system, key)
            else:
                yield PublishedFigure(key, self._number(key, value, system), tolerance, category)

    def _refuse(self, name: str) -> Callable[[str, str], ConfigError]:
        return lambda message, key: self._wrong(message, key, name)

    def _table(self, key: str) -> Mapping[str, Any]:
        table: Mapping[str, Any] = self._of(dict, key, self.values[key], "a table")
        return table

    def _path(self, key: str, value: Any, behind: str = "") -> Path:
        text = self._of(str, key, value, "a path", behind)
        if not text:
            raise self._wrong(f"{key!r} must be a path, not empty", key, behind)
        return self.path.parent / Path(text).expanduser()

    def _whole(self, key: str) -> int:
        low, high = WHOLE[key]
        value: int = self._of(int, key, self.values[key], "a whole number")
        if not low <= value <= high:
            raise self._wrong(f"{key!r} must be from {low:,} to {high:,}, not {short(value)}", key)
        return value

    def _number(self, key: str, value: Any, behind: str = "") -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_FIGURE:
            raise self._wrong(f"{key!r} must be a number, not {short(value)}", key, behind)
        return float(value)

    def _tolerance(self, value: Any, behind: str = "") -> float:
        tolerance = self._number("tolerance", value, behind)
        if tolerance < 0:
            raise self._wrong(f"'tolerance' must be at least 0, not {tolerance:g}", "tolerance", behind)
        return tolerance

    def _param(self, key: str, value: Any, system: str, *, inside: bool = False) -> Any:
        """A text is parsed like the value of `--param`; other values are those of TOML."""
        if isinstance(value, str):
            return read_term(value)
        if isinstance(value, list) and not inside:
            return [self._param(key, one, system, inside=True) for one in value]
        if isinstance(value, dict | list):
            raise self._wrong(f"the parameter {key!r} must be a value or a list of values", key, system)
        return value

    def _of(self, kind: type[Any], key: str, value: Any, wanted: str, behind: str = "") -> Any:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self._wrong(f"{key!r} must be {wanted}, not {short(value)}", key, behind)
        return value

    def _wrong(self, message: str, key: str, behind: str = "", *, hint: str = "") -> ConfigError:
        """An error at the line of a key, searched after the line of the system `behind`."""
        after = self._line_of_system(behind) if behind else 0
        return ConfigError(message, hint=hint, place=f"{self.path}:{max(after, line_of(key, self.text, behind=after))}")

    def _line_of_system(self, name: str) -> int:
        pattern = re.compile(rf"\s*(\[\s*systems\s*\.\s*)?[\"']?{re.escape(name)}[\"']?\s*[\]=]")
        return next((n for n, line in enumerate(self.text.splitlines(), 1) if pattern.match(line)), 0)


def short(value: Any) -> str:
    """A wrong value in an error message, truncated."""
    text = "a number of very many digits" if isinstance(value, int) and abs(value) > 1e30 else repr(value)
    return text if len(text) <= MAX_QUOTED_LENGTH else text[:MAX_QUOTED_LENGTH] + "..."


FORM = 'for example: [systems.bm25] query = "SELECT ?e { ?e MATCH $text USING bm25 AS ?s } RANK BY ?s"'
