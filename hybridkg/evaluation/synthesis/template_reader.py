"""The reader of templates in TOML: a shipped file by its name, or the user's own by its path.

Keys are `title`, `prologue` (PREFIX declarations of all queries), maybe `splits` (the shares of train, val and test),
`[roles.NAME]` with `train` and `test`, and `[templates.NAME]` with `metapath`, `query`, `train`, `test` and maybe
`about`. Errors name file and line. ontologies/templates/stark-mag.toml has an example.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hybridkg.config.toml import line_of, parse_toml, without_capital
from hybridkg.errors import ConfigError, UnknownNameError, UserError
from hybridkg.evaluation.experiment.reading import read_text
from hybridkg.evaluation.synthesis.templates import (
    ANSWER,
    DEFAULT_SHARES,
    PLACE,
    PROPERTIES,
    REQUEST,
    Role,
    Template,
    TemplateSet,
    Wordings,
)
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import walk
from hybridkg.rdf.terms import RDF_TYPE
from hybridkg.registry import did_you_mean
from hybridkg.resources import resource

MAX_FILE_BYTES = 1 << 20
"""Maximum bytes of a file; the largest shipped one has 30,000."""

MAX_ANCHORS = 8
"""Maximum anchors of a template; those of STaRK have at most three."""

TOP = ("title", "prologue", "roles", "templates", "splits")
KEYS = ("metapath", "query", "train", "test", "about")
ROLE_KEYS = ("train", "test")


def known_templates() -> tuple[str, ...]:
    """Names of the shipped files, sorted."""
    return tuple(sorted(path.stem for path in resource("ontologies", "templates").glob("*.toml")))


def load_templates(name_or_path: str | Path) -> TemplateSet:
    """Reads shipped templates by their name, or others by their path.

    A text with a path separator or the extension `.toml` is a path.

    Raises:
        UnknownNameError: no shipped file of that name; lists the valid ones.
        ConfigError: with file and line: not TOML, an unknown or missing key, a query that is no template, a phrasing
            that lacks an anchor, or a wording that occurs in both train and test.

    >>> load_templates("stark-mag").templates["mag-4"].metapath
    '(institution → author → paper)'
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or "\\" in text or text.endswith(".toml"):
        path = Path(name_or_path)
        return _Reader(path, path.stem).read()
    if text not in known_templates():
        near = did_you_mean(text, list(known_templates()))
        raise UnknownNameError(
            f"no templates {text!r}; known: {', '.join(known_templates())}",
            hint="\n".join(filter(None, [near, "write your own templates as a path that ends in '.toml'"])),
        )
    return _Reader(resource("ontologies", "templates", f"{text}.toml"), text).read()


class _Reader:
    """Reader of one file; its errors have a line."""

    def __init__(self, path: Path, name: str):
        self.path, self.name = path, name
        self.text = read_text(path, "file of templates", MAX_FILE_BYTES)
        try:
            self.values = parse_toml(self.text)
        except ValueError as e:
            raise ConfigError(f"not TOML: {without_capital(str(e))}", place=str(path)) from e
        self.wordings: dict[str, tuple[str, str]] = {}
        """Where each normalised wording occurs: table, and train or test."""

    def read(self) -> TemplateSet:
        self._check_keys(self.values, TOP, TOP[:-1], "")
        prologue = self._text(self.values["prologue"], "prologue", "")
        self._check_prologue(prologue)
        roles = tuple(self._role(name, table) for name, table in self._tables("roles").items())
        templates = {name: self._template(name, table, prologue) for name, table in self._tables("templates").items()}
        title = self._text(self.values["title"], "title", "")
        return TemplateSet(self.name, title, templates, roles, self._shares())

    def _shares(self) -> tuple[float, float, float]:
        value = self.values.get("splits", DEFAULT_SHARES)
        match value:
            case [int() | float() as train, int() | float() as val, int() | float() as test]:
                shares = float(train), float(val), float(test)
                if all(0 <= share <= 1 for share in shares) and abs(sum(shares) - 1) < 1e-6:
                    return shares
        raise self._wrong("'splits' must be the shares of train, val and test, with the sum 1", "splits")

    def _check_prologue(self, prologue: str) -> None:
        try:
            parse(f"{prologue}\nSELECT * {{}}")
        except UserError as e:
            message = f"the prologue has more than PREFIX declarations, or a wrong one: {e.message}"
            raise self._wrong(message, "prologue", hint=e.hint) from e

    def _role(self, name: str, table: Mapping[str, Any]) -> Role:
        where = f"roles.{name}"
        self._check_keys(table, ROLE_KEYS, ROLE_KEYS, where)
        role = Role(name, Wordings(*(self._wordings(table[key], key, where) for key in ROLE_KEYS)))
        for key in ROLE_KEYS:
            for frame in table[key]:
                if sorted(set(PLACE.findall(frame)) - {PROPERTIES}) != [REQUEST]:
                    raise self._wrong(f"a frame has {{{REQUEST}}}, and maybe {{{PROPERTIES}}}: {frame!r}", key, where)
            for with_properties in (True, False):
                if not role.frames_of(key, with_properties=with_properties):
                    missing = "with" if with_properties else "without"
                    raise self._wrong(f"{where}.{key} has no frame {missing} {{{PROPERTIES}}}", key, where)
        return role

    def _template(self, name: str, table: Mapping[str, Any], prologue: str) -> Template:
        where = f"templates.{name}"
        self._check_keys(table, KEYS, KEYS[:-1], where)
        text = f"{prologue.strip()}\n{self._text(table['query'], 'query', where).strip()}"
        try:
            query = parse(text)
        except UserError as e:
            behind = prologue.strip().count("\n") + 1
            line = 0 if e.span is None else max(0, text.count("\n", 0, e.span.start) - behind)
            place = f"{self.path}:{self._line('query', where) + line}"
            raise ConfigError(f"the query of {name!r}: {e.message}", hint=e.hint, place=place) from e
        anchors = self._anchors(name, query, where)
        phrasings = Wordings(*(self._wordings(table[key], key, where) for key in ROLE_KEYS))
        for key in ROLE_KEYS:
            for phrasing in table[key]:
                if sorted(set(PLACE.findall(phrasing))) != sorted(anchors):
                    listed = ", ".join("{" + anchor + "}" for anchor in anchors)
                    raise self._wrong(f"a phrasing of {name!r} names its anchors, {listed}: {phrasing!r}", key, where)
        answers = self._class(name, query, ANSWER, where)
        metapath, about = (self._text(table.get(key, ""), key, where, key == "about") for key in ("metapath", "about"))
        return Template(name, metapath, about, text, query, answers, anchors, phrasings)

    def _anchors(self, name: str, query: ast.Query, where: str) -> dict[str, str]:
        """The class of each anchor."""
        form = query.form
        if (
            not isinstance(form, ast.SelectQuery)
            or query.explain
            or form.reduction != "DISTINCT"
            or form.projection != (ast.SelectItem(ast.Var(ANSWER)),)
            or form.modifiers != ast.Modifiers()
            or form.values is not None
        ):
            raise self._wrong(
                f"the query of {name!r} must be SELECT DISTINCT ?{ANSWER} {{ ... }} without modifiers", "query", where
            )
        marked = dict.fromkeys(node.name for node in walk(query) if isinstance(node, ast.Var) and node.is_marked)
        if not marked or ANSWER in marked or len(marked) > MAX_ANCHORS:
            raise self._wrong(
                f"the query of {name!r} must have 1 to {MAX_ANCHORS} anchors, written with '$'", "query", where
            )
        return {anchor: self._class(name, query, anchor, where) for anchor in sorted(marked)}

    def _class(self, name: str, query: ast.Query, variable: str, where: str) -> str:
        """The only class that the query states for a variable in its outermost group."""
        assert isinstance(query.form, ast.SelectQuery)
        triples = [
            item
            for element in query.form.where.elements
            if isinstance(element, ast.Triples)
            for item in element.items
            if isinstance(item, ast.TriplePattern)
        ]
        classes = [
            triple.object.value
            for triple in triples
            if triple.subject == ast.Var(variable)
            and isinstance(triple.predicate, ast.Iri)
            and triple.predicate.value == RDF_TYPE
            and isinstance(triple.object, ast.Iri)
        ]
        if len(classes) != 1:
            raise self._wrong(
                f"the query of {name!r} must state one class of {variable!r}, and states {len(classes)}",
                "query",
                where,
                hint=f"for example: ?{variable} a :paper",
            )
        return classes[0]

    def _wordings(self, value: object, key: str, where: str) -> tuple[str, ...]:
        """Texts that occur nowhere in the other part of the file."""
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one.strip() for one in value):
            raise self._wrong(f"{where}.{key} must be a list of texts", key, where)
        for one in value:
            if any(brace in PLACE.sub("", one) for brace in "{}"):
                raise self._wrong(f"a brace without a name: {one!r}", key, where)
            normal = " ".join(one.lower().split())
            table, part = self.wordings.setdefault(normal, (where, key))
            if part != key:
                raise self._wrong(f"the wording {one!r} is in {part} of {table} and in {key} of {where}", key, where)
        return tuple(value)

    def _tables(self, key: str) -> dict[str, dict[str, Any]]:
        tables = self.values[key]
        if not isinstance(tables, dict) or not tables or not all(isinstance(one, dict) for one in tables.values()):
            raise self._wrong(f"{key!r} must be tables: [{key}.NAME]", key)
        return tables

    def _check_keys(self, table: Mapping[str, Any], known: Sequence[str], needed: Sequence[str], where: str) -> None:
        for key in table:
            if key not in known:
                message = f"no key {key!r}; known: {', '.join(known)}"
                raise self._wrong(message, key, where, hint=did_you_mean(key, list(known)))
        if missing := next((key for key in needed if key not in table), None):
            raise self._wrong(f"the key {missing!r} is missing" + (f" in [{where}]" if where else ""), "", where)

    def _text(self, value: object, key: str, where: str, may_be_empty: bool = False) -> str:
        if not isinstance(value, str) or not (value.strip() or may_be_empty):
            raise self._wrong(f"{key!r} must be a text", key, where)
        return value

    def _wrong(self, message: str, key: str, where: str = "", *, hint: str = "") -> ConfigError:
        return ConfigError(message, hint=hint, place=f"{self.path}:{self._line(key, where)}")

    def _line(self, key: str, where: str) -> int:
        """The line of a key in a table, or that of the table."""
        after = 0
        if where:
            parts = (rf"[\"']?{re.escape(part)}[\"']?" for part in where.split(".", 1))
            header = re.compile(r"\s*\[\s*" + r"\s*\.\s*".join(parts) + r"\s*\]")
            lines = enumerate(self.text.splitlines(), 1)
            after = next((number for number, line in lines if header.match(line)), 0)
        return max(after, line_of(key, self.text, behind=after) if key else 1)
