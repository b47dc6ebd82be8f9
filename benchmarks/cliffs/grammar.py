"""Random queries over the grammar, made together with their parts: ranked relations and graph patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from benchmarks.cliffs.schema import NUMBER, TEXT, Edge, Schema

MAX_DEPTH = 2
"""Groups inside groups."""
WORDS_ODDS = (1, 3, 3, 1)
"""How often each of Schema.words is taken."""


@dataclass(frozen=True)
class Made:
    """A query and its parts.

    Args:
        number: seed of this query.
        text: the query.
        shape: its features, in the order in which they were made.
        matches: the texts of its ranked patterns.
        patterns: graph patterns without prefix and braces, each the triples and simple filters of one group.
    """

    number: int
    text: str
    shape: tuple[str, ...]
    matches: tuple[str, ...]
    patterns: tuple[str, ...]


@dataclass
class _Group:
    """A group under construction: its text, and the variables that every solution binds, by name."""

    parts: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    scores: list[str] = field(default_factory=list)

    def of(self, *kinds: str) -> list[str]:
        """Variables of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]


Feature = Callable[[_Group, int], None]
"""Adds to a group at a depth, or leaves it as it is where nothing fits."""


class Generator:
    """Makes one query from a seed."""

    def __init__(self, schema: Schema, number: int, *, ranked: bool, wording: int = 0):
        self._schema, self._number, self._ranked = schema, number, ranked
        self._rng = Random(number)
        self._suffix, self._names = f"_{number}_{wording}", 0
        self._shape, self._matches, self._patterns = list[str](), list[str](), list[str]()

    def made(self) -> Made:
        """The query.

        Every draw comes from the seed, so that another wording is the same query with other names.
        """
        group = self._group(0, None)
        if self._ranked and not self._matches:
            group = self._with_match(group)
        text = self._schema.prefix + self._query(group)
        return Made(self._number, text, tuple(dict.fromkeys(self._shape)), tuple(self._matches), tuple(self._patterns))

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"?{kind}{self._names}{self._suffix}"

    def _chance(self, odds: float) -> bool:
        return self._rng.random() < odds

    def _with_match(self, group: _Group) -> _Group:
        subjects = group.of(self._schema.ranked)
        subject = subjects[0] if subjects else self._bind(group, self._schema.ranked)
        self._match(group, subject)
        return group

    def _bind(self, group: _Group, kind: str) -> str:
        name = self._name(kind)
        group.kinds[name] = kind
        return name

    def _match(self, group: _Group, subject: str) -> None:
        words = self._rng.choice(self._rng.choices(self._schema.words, WORDS_ODDS)[0])
        score = self._name("s")
        group.parts.append(f'{subject} MATCH "{words}" AS {score} .')
        group.scores.append(score)
        self._matches.append(words)
        self._shape.append("MATCH" if len(self._matches) == 1 else "several MATCH")

    def _group(self, depth: int, anchor: tuple[str, str] | None) -> _Group:
        """A group whose solutions bind the anchor, a variable and its kind."""
        group = _Group()
        if anchor:
            group.kinds[anchor[0]] = anchor[1]
        else:
            self._bind(group, self._schema.ranked)
        first = next(iter(group.kinds))
        match = self._ranked and group.kinds[first] == self._schema.ranked and self._chance(0.75 if depth == 0 else 0.4)
        triples = self._triples(group, self._rng.choice((0, 1, 1, 2, 3)) if match else self._rng.choice((1, 1, 2, 3)))
        if match:
            self._match(group, first)
        if triples:
            group.parts[:0] = [" ".join(triples)]
            self._patterns.append(" ".join(triples))
        for feature in self._features(depth):
            feature(group, depth)
        return group

    def _triples(self, group: _Group, wanted: int) -> list[str]:
        """So many connected triples; all of their variables are bound by the group."""
        found: list[str] = []
        for _ in range(wanted):
            steps = [
                (name, edge, forward)
                for name, kind in group.kinds.items()
                for edge in self._schema.edges
                for forward in (True, False)
                if (edge.subject == kind if forward else edge.both_ways and edge.target == kind)
            ]
            if not steps:
                break
            name, edge, forward = self._rng.choice(steps)
            found.append(self._triple(group, name, edge, forward))
        return found

    def _triple(self, group: _Group, name: str, edge: Edge, forward: bool) -> str:
        kind = edge.target if forward else edge.subject
        constant = self._schema.constants.get(kind)
        if constant and self._chance(0.25):
            other = constant(self._rng)
            self._shape.append("constant")
        else:
            other = self._bind(group, kind)
        return f"{name} {edge.predicate} {other} ." if forward else f"{other} {edge.predicate} {name} ."

    def _features(self, depth: int) -> list[Feature]:
        """Up to three of those that this depth allows."""
        simple: list[Feature] = [
            self._filter_number,
            self._filter_text,
            self._filter_score,
            self._values,
            self._bind_value,
        ]
        nested: list[Feature] = [
            self._optional, self._union, self._minus, self._exists, self._sub_select, self._aggregate_below,
        ]  # fmt: skip
        wanted = self._rng.choice((0, 1, 1, 2, 3)) if depth == 0 else self._rng.choice((0, 0, 1))
        able = simple + (nested * 2 if depth < MAX_DEPTH else [])
        return [self._rng.choice(able) for _ in range(wanted)]

    def _anchor(self, group: _Group) -> tuple[str, str] | None:
        """A node of the group, mostly one that has text."""
        nodes = [name for name, kind in group.kinds.items() if kind not in (NUMBER, TEXT, "value")]
        ranked = group.of(self._schema.ranked)
        if not nodes:
            return None
        name = self._rng.choice(ranked if ranked and self._chance(0.6) else nodes)
        return name, group.kinds[name]

    def _below(self, group: _Group, depth: int) -> str | None:
        """The text of a group inside, and nothing where none can be joined; it binds only the anchor outside."""
        anchor = self._anchor(group)
        return None if anchor is None else " ".join(self._group(depth + 1, anchor).parts)

    def _optional(self, group: _Group, depth: int) -> None:
        if inner := self._below(group, depth):
            group.parts.append(f"OPTIONAL {{ {inner} }}")
            self._shape.append("OPTIONAL")

    def _minus(self, group: _Group, depth: int) -> None:
        if inner := self._below(group, depth):
            group.parts.append(f"MINUS {{ {inner} }}")
            self._shape.append("MINUS")

    def _exists(self, group: _Group, depth: int) -> None:
        if inner := self._below(group, depth):
            word = "NOT EXISTS" if self._chance(0.5) else "EXISTS"
            group.parts.append(f"FILTER {word} {{ {inner} }}")
            self._shape.append(word)

    def _union(self, group: _Group, depth: int) -> None:
        anchor = self._anchor(group)
        if anchor is not None:
            sides = [" ".join(self._group(depth + 1, anchor).parts) for _ in range(2)]
            if all(sides):
                group.parts.append(f"{{ {sides[0]} }} UNION {{ {sides[1]} }}")
                self._shape.append("UNION")

    def _sub_select(self, group: _Group, depth: int) -> None:
        """The best or the first of a group inside, joined by its anchor."""
        anchor = self._anchor(group)
        if anchor is None:
            return
        inner = self._group(depth + 1, anchor)
        if not inner.parts:
            return
        order = f" ORDER BY DESC({inner.scores[0]})" if inner.scores and self._chance(0.7) else ""
        limit = f" LIMIT {self._rng.choice((10, 50, 1000))}" if order else ""
        score = f" {inner.scores[0]}" if order else ""
        distinct = "" if order else "DISTINCT "
        group.parts.append(f"{{ SELECT {distinct}{anchor[0]}{score} {{ {' '.join(inner.parts)} }}{order}{limit} }}")
        self._shape.append("sub-select with LIMIT" if limit else "sub-select")

    def _aggregate_below(self, group: _Group, depth: int) -> None:
        """A count by the anchor in a sub-select, with HAVING sometimes."""
        able = [
            (name, edge)
            for name, kind in group.kinds.items()
            for edge in self._schema.edges
            if edge.both_ways and edge.target == kind
        ]
        if not able:
            return
        anchor, edge = self._rng.choice(able)
        other, count = self._name("q"), self._name("n")
        pattern = f"{other} {edge.predicate} {anchor} ."
        having = f" HAVING(COUNT({other}) > {self._rng.choice((1, 5, 20))})" if self._chance(0.5) else ""
        group.parts.append(
            f"{{ SELECT {anchor} (COUNT({other}) AS {count}) {{ {pattern} }} GROUP BY {anchor}{having} }}"
        )
        self._patterns.append(pattern)
        self._shape.append("aggregate in a sub-select")

    def _filter_number(self, group: _Group, depth: int) -> None:
        numbers = group.of(NUMBER)
        if numbers:
            constant = self._schema.constants[NUMBER](self._rng)
            group.parts.append(f"FILTER({self._rng.choice(numbers)} {self._rng.choice(('>=', '<', '='))} {constant})")
            self._shape.append("FILTER by number")

    def _filter_text(self, group: _Group, depth: int) -> None:
        texts = group.of(TEXT)
        if texts:
            name, letters = self._rng.choice(texts), self._rng.choice(self._schema.letters)
            form = self._rng.choice(
                (
                    "CONTAINS({0}, '{1}')",
                    "STRSTARTS({0}, '{1}')",
                    "REGEX({0}, '^{1}')",
                    "STRLEN({0}) > 40",
                    "UCASE({0}) < 'M'",
                )
            )
            group.parts.append(f"FILTER({form.format(name, letters)})")
            self._shape.append("FILTER by string")

    def _filter_score(self, group: _Group, depth: int) -> None:
        if group.scores:
            group.parts.append(f"FILTER({self._rng.choice(group.scores)} > {self._rng.choice((0.5, 2, 5, 30))})")
            self._shape.append("FILTER by score")

    def _values(self, group: _Group, depth: int) -> None:
        anchor = self._anchor(group)
        if anchor is not None:
            rows = [self._schema.constants[anchor[1]](self._rng) for _ in range(self._rng.choice((1, 3, 30)))]
            group.parts.append(f"VALUES {anchor[0]} {{ {' '.join(rows)} }}")
            self._shape.append("VALUES")

    def _bind_value(self, group: _Group, depth: int) -> None:
        numbers, texts = group.of(NUMBER) + group.scores, group.of(TEXT)
        name = self._name("b")
        if numbers and (not texts or self._chance(0.5)):
            group.parts.append(f"BIND({self._rng.choice(numbers)} * 2 + 1 AS {name})")
        elif texts:
            group.parts.append(f"BIND(STRLEN({self._rng.choice(texts)}) AS {name})")
        else:
            return
        group.kinds[name] = "value"
        self._shape.append("BIND")

    def _query(self, group: _Group) -> str:
        """Head, group, and what stands behind it."""
        where = f"{{ {' '.join(group.parts)} }}"
        limit = self._rng.choice(("", "", " LIMIT 10", " LIMIT 10", " LIMIT 100", " LIMIT 10 OFFSET 50"))
        form = self._rng.choice(("rows", "rows", "rows", "distinct", "group", "group", "count"))
        names = list(group.kinds)
        if form == "count":
            self._shape.append("COUNT of all")
            return f"SELECT (COUNT(*) AS {self._name('n')}) {where}"
        self._shape.append("LIMIT" if limit else "no LIMIT")
        if form == "group":
            return self._grouped(group, where, limit)
        shown = self._rng.sample(names, self._rng.randint(1, min(3, len(names))))
        if form == "distinct":
            self._shape.append("DISTINCT")
            return f"SELECT DISTINCT {' '.join(shown)} {where}{limit}"
        columns = " ".join([*shown, *(score for score in group.scores if self._chance(0.7))])
        return f"SELECT {columns} {where}{self._order(group)}{limit}"

    def _order(self, group: _Group) -> str:
        sortable = [name for name, kind in group.kinds.items() if kind in (NUMBER, TEXT, "value")]
        if group.scores and self._chance(0.6):
            self._shape.append("RANK BY")
            expression = " + ".join(group.scores)
            numbers = group.of(NUMBER)
            if numbers and self._chance(0.25):
                self._shape.append("RANK BY score and value")
                expression += f" + 0.01 * ({numbers[0]} - 1975)"
            return f" RANK BY {expression}"
        if sortable and self._chance(0.6):
            self._shape.append("ORDER BY value")
            return f" ORDER BY {self._rng.choice(('DESC', 'ASC'))}({self._rng.choice(sortable)})"
        return ""

    def _grouped(self, group: _Group, where: str, limit: str) -> str:
        self._shape.append("GROUP BY")
        key, value = self._rng.choice(list(group.kinds)), self._name("n")
        aggregates = [f"COUNT(DISTINCT {self._rng.choice(list(group.kinds))})", "COUNT(*)"]
        aggregates += [f"{name}({score})" for score in group.scores for name in ("SUM", "MAX")]
        aggregates += [f"{name}({number})" for number in group.of(NUMBER) for name in ("AVG", "MIN")]
        aggregate = self._rng.choice(aggregates)
        having = " HAVING(COUNT(*) > 2)" if self._chance(0.3) else ""
        order = f" ORDER BY DESC({value})" if self._chance(0.6) else ""
        self._shape += ["HAVING"] * bool(having) + ["ORDER BY aggregate"] * bool(order)
        return f"SELECT {key} ({aggregate} AS {value}) {where} GROUP BY {key}{having}{order}{limit}"


def generated(schema: Schema, number: int, *, ranked: bool, wording: int = 0) -> Made:
    """The query of a seed; another wording is the same query with other names."""
    return Generator(schema, number, ranked=ranked, wording=wording).made()
