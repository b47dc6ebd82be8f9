"""A program that makes commits and dies in the middle: for tests/kb/write/test_crashed_commits.py.

It reads lines of JSON, {"folder": ..., "scenario": ..., "point": n}, and makes the commit in a process of its own,
which ends at its n-th point: before it opens a file for writing, renames, links, removes or makes an entry of the
folder, or waits for the disk. It answers with {"status": of the process, "points": the kinds of those it reached}.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import rdflib

from hybridkg import KnowledgeBase

DEAD = 9
"""The status of a process that ended at its point."""

EVENTS = ("os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.truncate")
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


def update(kb: KnowledgeBase) -> None:
    kb.update(f'INSERT DATA {{ <http://e/new> {LABEL} "a new fish" }}')


def behind(kb: KnowledgeBase) -> None:
    kb.update(f'INSERT DATA {{ <http://e/new> {LABEL} "a new fish" }}', index=False)


def several(kb: KnowledgeBase) -> None:
    with kb.transaction() as t:
        t.update(f"DELETE WHERE {{ <http://e/f1> {LABEL} ?l }}")
        t.text("http://e/f0", review="a fine fish")
        t.query('SELECT ?x { ?x MATCH "fine" }')
        t.delete_text("http://e/f2")
        t.update(f"INSERT {{ ?x {LABEL} 'found' }} WHERE {{ ?x MATCH 'fine' AS ?s }} RANK BY ?s LIMIT 1")


def load(kb: KnowledgeBase) -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("http://e/new"), rdflib.RDFS.label, rdflib.Literal("a new fish")))
    kb.load(graph, profile="acl")


SCENARIOS: dict[str, Callable[[KnowledgeBase], None]] = {
    "update": update,
    "behind": behind,
    "several": several,
    "load": load,
}


class Fuse:
    """Counts the points of this process, and ends it at one of them."""

    def __init__(self, folder: str, point: int):
        self.folder, self.point, self.points = folder, point, list[str]()
        self._fsync = os.fsync
        os.fsync = self.fsync
        sys.addaudithook(self.hook)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            self.reached("open", args[0])
        elif event in EVENTS:
            self.reached(event, args[0])

    def fsync(self, descriptor: int) -> None:
        self.reached("fsync", self.folder)
        self._fsync(descriptor)

    def reached(self, kind: str, path: object) -> None:
        if self.folder not in str(path):
            return
        if len(self.points) == self.point:
            os._exit(DEAD)
        self.points.append(kind)


def run(folder: str, scenario: str, point: int, answer: int) -> None:
    """The commit in this process, which does not return."""
    try:
        kb = KnowledgeBase.open(folder)
        fuse = Fuse(folder, point)
        SCENARIOS[scenario](kb)
        modules = [name for name in sys.modules if name.partition(".")[0] in ("hybridkg", "filelock", "rdflib")]
        os.write(answer, json.dumps({"points": fuse.points, "modules": modules}).encode())
        os._exit(0)
    except BaseException as e:
        sys.stderr.write(f"{type(e).__name__}: {e}\n")
        os._exit(1)


def main() -> None:
    """Serves until the end of the input. This process opens no knowledge base, so a fork of it has one thread."""
    for line in sys.stdin:
        wanted = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            run(wanted["folder"], wanted["scenario"], wanted["point"], writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            said = json.loads(file.read() or b"{}")
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for name in said.pop("modules", ()):
            importlib.import_module(name)
        sys.stdout.write(json.dumps({"status": status, "points": said.get("points")}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
