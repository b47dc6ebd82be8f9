"""The interpretation of a question by a language model, which names slots and writes no query.

The model gets the schema and the question as JSON. The names in its answer are resolved as those of a question are:
nodes by the mentions of the question, classes, relations and properties by the schema. What is not there is read as the
nearest name, or left out, with a note. emit.py alone writes the query, of the resolved slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from hybridkg.asking.base import AskedBase
from hybridkg.asking.conjunction import MAX_CONSTRAINTS
from hybridkg.asking.emit import LIMIT
from hybridkg.asking.interpret import LEAST, checked_question, emitted, unconstrained
from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.mentions import NameMention, find_mentions
from hybridkg.asking.model_answer import INSTRUCTION, ModelAnswer, NamedRelation, NamedValue, read_answer, shown
from hybridkg.asking.model_schema import ModelSchema, model_schema, nearest
from hybridkg.asking.paths import MAX_HOPS
from hybridkg.asking.slots import (
    AbsenceConstraint,
    Anchor,
    Constraint,
    PathConstraint,
    Slots,
    Step,
    Target,
    ValueConstraint,
)
from hybridkg.asking.values import SURE, having, lacking
from hybridkg.asking.words import Question, QuestionWord, read_question
from hybridkg.interfaces.graph_index import Ids
from hybridkg.remote.chat_model import ChatModel

HINT = "ask again, with another model, or without --parser llm"


def interpret_by_model(
    text: str, base: AskedBase, prefixes: Mapping[str, str], model: ChatModel, *, limit: int = LIMIT
) -> Interpretation:
    """The interpretation of a question by a language model.

    Args:
        text: the question.
        base: the knowledge base.
        prefixes: to shorten the IRIs of the queries.
        model: gets the schema and the question.
        limit: rows of the queries.

    Raises:
        UserError: the question has no word.
        QueryLimitError: it is too long.
        ModelServerError: the server fails, or the answer has not the wanted form.
    """
    question, notes = checked_question(text, base)
    schema = model_schema(base)
    data = {"question": question.text, "schema": schema.data}
    answer = model.answer(INSTRUCTION, data, read_answer, hint=HINT)
    notes += answer.notes
    if schema.left_out:
        notes.append(f"the model did not see the {schema.left_out:,} rarest relations and properties")
    resolver = _Resolver(question, base, schema, notes)
    target = resolver.target(answer.target)
    if target is None and (answer.relations or answer.values or answer.without):
        notes.append("without a class of the answers, the other parts of the model's answer are left out")
    placed = resolver.constraints(answer, target.iri) if target is not None else []
    if len(placed) > MAX_CONSTRAINTS:
        notes.append(f"of {len(placed):,} constraints of the model the first {MAX_CONSTRAINTS} are used")
    chosen = sorted(placed[:MAX_CONSTRAINTS], key=lambda one: one.first)
    slots = unconstrained(question, target)
    if target is not None and any(one.constraint.confidence > LEAST for one in chosen):
        answers = reduce(np.intersect1d, [one.ids for one in chosen])
        constraints = tuple(one.constraint for one in chosen)
        slots = Slots(question.text, target, constraints, _words(answer.text, question, chosen, base), len(answers))
    return emitted(slots, question, base, prefixes, limit, (), tuple(resolver.unresolved), notes)


def _words(text: str, question: Question, chosen: Sequence[_Placed], base: AskedBase) -> str:
    """The words that rank: those of the model, or else those that no constraint covers, or else all."""
    told = read_question(text, base.names.analyzer)
    if told.words:
        return told.text
    covered = {at for one in chosen for at in range(one.first, one.behind)}
    kept = [word for at, word in enumerate(question.words) if at not in covered]
    return " ".join(word.text for word in kept) if any(not word.is_stop for word in kept) else question.text


@dataclass(frozen=True)
class _Placed:
    """A constraint of the words first..behind of the question, and the ids of its answers; none for an absence."""

    first: int
    behind: int
    constraint: Constraint
    ids: Ids


@dataclass
class _Resolver:
    """Resolves the names in an answer; adds to `notes` what is repaired or left out, and why."""

    question: Question
    base: AskedBase
    schema: ModelSchema
    notes: list[str]
    unresolved: list[str] = field(default_factory=list)

    def target(self, name: str | None) -> Target | None:
        """The class of the answers; None for none, or an unknown one."""
        if name is None:
            return None
        labels = {self.base.lexicon.name(iri): iri for iri in reversed(list(self.schema.classes.values()))}
        classes = {**labels, **self.schema.classes}
        known = self._known(name, "class", classes)
        return None if known is None else Target(classes[known], self.base.lexicon.name(classes[known]), 1.0)

    def constraints(self, answer: ModelAnswer, target: str) -> list[_Placed]:
        """The constraints of an answer: relations, values, absences."""
        found = [*self._relations(answer.relations, target)]
        found += [placed for one in answer.values if (placed := self._value(one, target))]
        found += [placed for name in answer.without if (placed := self._absence(name, target))]
        distinct = {one.constraint: one for one in reversed(found)}
        return [one for one in found if distinct[one.constraint] is one]

    def _relations(self, relations: Sequence[NamedRelation], target: str) -> Iterator[_Placed]:
        mentions = self._mentions([one.name for one in relations])
        for one in relations:
            if one.name not in mentions:
                self.notes.append(f"{shown(one.name)}, which the model names, is not in the question")
            elif (mention := mentions[one.name]) is None:
                self.unresolved.append(one.name)
            elif (placed := self._path(one, mention, target)) is not None:
                yield placed

    def _mentions(self, names: Sequence[str]) -> dict[str, NameMention | None]:
        """The mention of each name that is in the question: of the whole name, or else of its longest part."""
        spans = {name: span for name in names if (span := self._span(name)) is not None}
        quoted = replace(self.question, quoted=tuple(sorted(set(spans.values()))))
        whole = {(one.first, one.behind): one for one in find_mentions(quoted, self.base).found}
        found: dict[str, NameMention | None] = {name: whole.get(span) for name, span in spans.items()}
        if None in found.values():
            every = find_mentions(self.question, self.base).found
            for name, (first, behind) in spans.items():
                parts = [one for one in every if first <= one.first and one.behind <= behind]
                longest = max(parts, key=lambda one: (one.behind - one.first, one.confidence), default=None)
                found[name] = found[name] or longest
        return found

    def _span(self, name: str) -> tuple[int, int] | None:
        """The words first..behind of the question that are the name."""
        sought = [word.raw.casefold() for word in read_question(name, self.base.names.analyzer).words]
        words = [word.raw.casefold() for word in self.question.words]
        size = len(sought)
        places = (at for at in range(len(words) - size + 1) if size and words[at : at + size] == sought)
        first = next(places, None)
        return None if first is None else (first, first + size)

    def _path(self, one: NamedRelation, mention: NameMention, target: str) -> _Placed | None:
        """The path from the best node of a mention from which the named steps reach something."""
        problem = ""
        for node in mention.choices:
            walked = self._walked(one.path, node.kind, target)
            if isinstance(walked, str):
                problem = problem or walked
                continue
            steps, repairs = walked
            ids = self.base.reach(node.iri, steps)
            if len(ids):
                self.notes += repairs
                start, end = (self.question.words[at] for at in (mention.first, mention.behind - 1))
                text = self.question.written(mention.first, mention.behind)
                anchor = Anchor(text, start.start, end.end, node.iri, node.name, node.kind, node.confidence)
                constraint = PathConstraint(anchor, steps, node.confidence, len(ids))
                return _Placed(mention.first, mention.behind, constraint, ids)
            problem = "its path reaches nothing"
        self.notes.append(f"{shown(one.name)} is left out: {problem}")
        return None

    def _walked(self, path: Sequence[str], start: str, target: str) -> tuple[tuple[Step, ...], list[str]] | str:
        """The steps of a path from one class to another with notes about repairs; or the reason why there are none."""
        if not 1 <= len(path) <= MAX_HOPS:
            return f"its path has {len(path)} relations, and 1 to {MAX_HOPS} are allowed"
        steps: list[Step] = []
        repairs = []
        for number, name in enumerate(path, 1):
            here = steps[-1].target if steps else start
            known = {
                one: step
                for one, step in self.schema.steps.get(here, {}).items()
                if number < len(path) or step.target == target
            }
            chosen = name if name in known else nearest(name, known)
            if chosen is None:
                return f"no relation {shown(name)} leads from {shown(self.base.lexicon.name(here))} to the answers"
            if chosen != name:
                repairs.append(f"the relation {shown(name)} of the model is read as {shown(chosen)}")
            steps.append(known[chosen])
        return tuple(steps), repairs

    def _value(self, one: NamedValue, target: str) -> _Placed | None:
        at = next((n for n, word in enumerate(self.question.words) if self._is_number(word, one.number)), None)
        if at is None:
            self.notes.append(f"the number {one.number}, which the model names, is not in the question")
            return None
        name = self._known(one.name, "property", self.schema.properties)
        if name is None:
            return None
        compared = self.schema.properties[name]
        tests = ((one.operator, one.number),)
        ids = having(compared.iri, tests, target, self.base, years=compared.years)
        if not len(ids):
            self.notes.append(f"{shown(name)} {one.operator} {one.number} is left out: nothing has such a value")
            return None
        text = self.question.written(at, at + 1)
        constraint = ValueConstraint(text, compared.iri, tests, compared.years, SURE, len(ids))
        return _Placed(at, at + 1, constraint, ids)

    def _is_number(self, word: QuestionWord, number: int) -> bool:
        """Whether a word is a number, with its sign if that is below 0."""
        if word.text.replace(",", "") != str(abs(number)):
            return False
        return number >= 0 or self.question.text[: word.start].endswith(("-", "\N{MINUS SIGN}"))

    def _absence(self, name: str, target: str) -> _Placed | None:
        steps = {one: step for one, step in self.schema.steps.get(target, {}).items() if not step.others}
        known = self._known(name, "relation", steps)
        if known is None:
            return None
        ids = lacking(steps[known], target, self.base)
        if not len(ids):
            self.notes.append(f"without {shown(known)} is left out: no answer lacks it")
            return None
        end = len(self.question.words)
        return _Placed(end, end, AbsenceConstraint(name, steps[known], SURE, len(ids)), ids)

    def _known(self, name: str, kind: str, known: Collection[str]) -> str | None:
        """The known name, or the nearest one with a note; None with a note if none is near."""
        chosen = name if name in known else nearest(name, known)
        if chosen is None:
            self.notes.append(f"the {kind} {shown(name)} of the model is left out: there is none")
        elif chosen != name:
            self.notes.append(f"the {kind} {shown(name)} of the model is read as {shown(chosen)}")
        return chosen
