"""Data, loading, asking, cold files, a million rows, 50 million groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.hybrid import writing
from benchmarks.relational import groups_on_disk as coupling
from benchmarks.relational import rows as million
from benchmarks.relational import tasks
from benchmarks.relational.draw import Draw
from benchmarks.relational.engines import CONTENDERS, DUCKDB, IN_MEMORY, ON_DISK, OURS
from benchmarks.relational.groups import GROUPS, WITH_TEXT
from benchmarks.relational.matches import Matches
from benchmarks.relational.question import texts
from benchmarks.relational.session import GRACE_S, LOADING_S, Session, say
from benchmarks.relational.supervised import TIME
from benchmarks.text.memory import forget

WITHOUT_TEXT = ON_DISK, IN_MEMORY
"""Engines that read SPARQL and know no MATCH."""


def make_data(session: Session) -> None:
    """Graph and tables, unless they are there, and the texts of every pass."""
    for papers in session.sizes:
        data = writing.write(session.papers_from / str(papers), papers)
        draw = Draw(data.graph(), Matches.of(data.df(), papers))
        questions = {name: GROUPS[name] for name in session.groups}
        for number in range(session.passes):
            first = number * (session.repeats + 1) * sum(map(len, GROUPS.values()))
            found = texts(questions, draw, session.repeats, first)
            texts_of(session, papers, number).write_text(json.dumps(found))
        session.keep(f"data-{papers}", {name: data.about()[name] for name in ("papers", "triples", "by_predicate")})


def texts_of(session: Session, papers: int, number: int) -> Path:
    """File of the texts of a pass."""
    return session.places(papers).own / f"texts-{session.name}-{number}.json"


def questions_of(session: Session, papers: int, engine: str) -> list[dict[str, Any]]:
    """The questions of the first pass that an engine is asked."""
    language = CONTENDERS[engine].language
    return [
        one
        for one in json.loads(texts_of(session, papers, 0).read_text())
        if one["group"] in session.groups
        and language in one["texts"]
        and not (engine in WITHOUT_TEXT and one["group"] in WITH_TEXT)
    ]


def present(session: Session) -> list[str]:
    """The engines that can take part; says which cannot."""
    found = {name: CONTENDERS[name].version(session.peers) for name in session.engines}
    earlier = session.part("engines") or {}
    session.keep("engines", {**earlier, **{name: version or why for name, (version, why) in found.items()}})
    for name, (_, why) in found.items():
        if why:
            say(f"{name} is left out: {why}")
    return [name for name, (_, why) in found.items() if not why]


def load_all(session: Session) -> None:
    """Every engine, unless it has been loaded."""
    for papers in session.sizes:
        for engine in present(session):
            lines, ended = session.run("load", engine, papers, LOADING_S)
            say(f"load {engine} {papers}: {lines} {ended or ''}")
            if ended or lines[0]["stages"]:
                session.keep(f"load-{engine}-{papers}", ended or lines[0])
        _, ended = session.run("matches", OURS, papers, LOADING_S, texts=str(texts_of(session, papers, 0)))
        if ended:
            say(f"no matches for {DUCKDB} at {papers}: {ended}")


def ask_all(session: Session) -> None:
    """Passes over the engines in turns, each a process; one that overruns goes on without the question it was in."""
    engines = present(session)
    for papers in session.sizes:
        for number in range(session.passes):
            for engine in engines:
                session.keep(f"ask-{engine}-{papers}-{number}", ask_one(session, engine, papers, number))


def ask_one(session: Session, engine: str, papers: int, number: int) -> dict[str, Any]:
    """One pass of one engine: its lines, and why questions were left out."""
    asked = {one["name"] for one in questions_of(session, papers, engine)}
    everything = json.loads(texts_of(session, papers, number).read_text())
    skip = [one["name"] for one in everything if one["name"] not in asked]
    left_out, lines, start = dict[str, str](), list[dict[str, Any]](), 0
    while True:
        found, ended = session.run(
            "ask", engine, papers, session.patience_s + GRACE_S, texts=str(texts_of(session, papers, number)),
            patience_s=session.patience_s, repeats=session.repeats, start=start, skip=[*skip, *left_out],
        )  # fmt: skip
        lines += [line for line in found if "begins" not in line]
        say(f"asked {engine} {papers} pass {number}: {len(found)} lines {ended or ''}")
        if ended is None or "name" not in ended:
            left_out |= {line["name"]: line["failed"] for line in lines if "failed" in line}
            return {"lines": lines, "left_out": left_out, "ended": ended}
        left_out[ended["name"]] = f"over {session.patience_s:g} s" if ended["ended"] == TIME else ended["ended"]
        start = ended["repetition"]


def cold(session: Session) -> None:
    """Each question in a process of its own, after the engine's files have left the file cache."""
    for papers in session.sizes:
        for engine in present(session):
            stored = CONTENDERS[engine].stored(session.places(papers))
            lines: list[dict[str, Any]] = []
            for one in questions_of(session, papers, engine) if stored and engine != "arrays" else ():
                for path in stored:
                    forget(path if path.is_dir() else path.parent)
                found, ended = session.run(
                    "cold", engine, papers, session.patience_s + GRACE_S, texts=str(texts_of(session, papers, 0)),
                    patience_s=session.patience_s, name=one["name"],
                )  # fmt: skip
                lines += [line for line in found if line.get("mode") == tasks.COLD and "begins" not in line]
                if ended:
                    say(f"cold {engine} {papers}: {ended}")
            if lines:
                session.keep(f"cold-{engine}-{papers}", {"lines": lines})
                say(f"cold {engine} {papers}: {len(lines)} questions")


def rows(session: Session) -> None:
    """A million rows out of the engines that have tables."""
    able = present(session)
    for papers in session.sizes:
        for engine, forms in million.FORMS.items():
            for form, limit in forms if engine in able else ():
                found, ended = session.run(
                    "rows", engine, papers, 2 * session.patience_s + GRACE_S, form=form, limit=limit,
                    repeats=session.repeats,
                )  # fmt: skip
                joined = {name: value for line in found for name, value in line.items()}
                session.keep(f"rows-{engine}-{form}-{limit}-{papers}", {**joined, "ended": ended})
                say(f"rows {engine} {papers} {form} {limit}: {joined} {ended or ''}")


def groups_on_disk(session: Session) -> None:
    """GROUP BY of many groups of the largest graph, beside the answer of numpy over its tables."""
    papers = session.sizes[-1]
    found, ended = session.run("groups_on_disk", OURS, papers, 10 * session.patience_s + GRACE_S)
    joined = {name: value for line in found for name, value in line.items()}
    want = coupling.expected(session.places(papers))
    right = {name: joined.get(name) == answer for name, answer in want.items()}
    groups = sum(count for _, count in joined.pop("sizes", []))
    session.keep(f"groups-on-disk-{papers}", {**joined, "groups": groups, "right": right, "ended": ended})
    say(f"groups on disk {papers}: {joined} groups {groups} right {right} {ended or ''}")
