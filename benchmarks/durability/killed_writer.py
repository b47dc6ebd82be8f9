"""The program that benchmarks.durability.kills kills: it writes, and logs what it has begun and what is done.

It reads lines of JSON, {"folder", "log", "job"}, and answers each with two lines: the id of a process of its own that
does the job, and, after its end, its status. The log has a line for each event, written before the next one begins:
`ready`, `begin N SECONDS`, `done N SECONDS`, `error N MESSAGE`, and `idle` after the last step, which the process
survives until it is killed. With "threads" in the job, N is `THREAD.NUMBER`, and the threads write until the end. With
"tails", commits write tails, however small the knowledge base is.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import benchmarks.durability  # noqa: F401 - finds the modules of the tests

import toy_encoder  # isort: skip
from changed_knowledge_base import Changing  # isort: skip
from generated_changes import Step  # isort: skip
from rebuilt import PROLOGUE  # isort: skip
from tails import tails  # isort: skip

from hybridkg import KnowledgeBase  # isort: skip
from hybridkg.interfaces.encoder import ENCODERS  # isort: skip


def step_of(value: Any) -> Step:
    """A step that has been through JSON."""
    kind, what, ranked = value
    if kind in ("transaction", "failing"):
        what = [step_of(one) for one in what]
    elif kind == "documents":
        what = [tuple(one) for one in what]
    return Step(kind, what, ranked)


def values_of(step: Step) -> list[Any]:
    """A step as JSON values."""
    what = [values_of(one) for one in step.what] if step.kind in ("transaction", "failing") else step.what
    return [step.kind, what, step.ranked]


def request_of(round_: int, thread: int, number: int) -> str:
    """The update of a thread: two triples, and both or none must be found after a kill."""
    subject = f":r{round_}t{thread}n{number}"
    return f'{PROLOGUE} INSERT DATA {{ {subject} rdfs:label "red fish r{round_} n{number}" ; :round {round_} }}'


class Log:
    """Lines that are in the file, for whoever reads it, before the call returns."""

    def __init__(self, path: str):
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, line: str) -> None:
        """Writes a line by one system call, so that lines of threads do not mix."""
        os.write(self._descriptor, f"{line}\n".encode())

    def begin(self, name: str) -> None:
        """The next line for `name` is its end."""
        self.write(f"begin {name} {time.monotonic()}")

    def done(self, name: str) -> None:
        """The commit has been acknowledged."""
        self.write(f"done {name} {time.monotonic()}")

    def error(self, name: str, error: BaseException) -> None:
        """What was raised in place of an acknowledgement."""
        self.write(f"error {name} {type(error).__name__}: {' '.join(str(error).split())[:300]}")


def run(wanted: dict[str, Any]) -> None:
    """The job in this process."""
    log, job = Log(wanted["log"]), wanted["job"]
    folder = Path(wanted["folder"])
    with tails() if job.get("tails") else nullcontext(), KnowledgeBase.open(folder / "kb") as kb:
        log.write("ready")
        if threads := job.get("threads"):
            _write_together(kb, log, job["round"], threads, job["each"])
        else:
            changing = Changing(folder, kb, job["index"])
            for number, value in enumerate(job["steps"]):
                log.begin(str(number))
                try:
                    changing.run(step_of(value))
                except BaseException as e:
                    log.error(str(number), e)
                    break
                log.done(str(number))
        log.write("idle")
        while not job.get("ends"):
            signal.pause()


def _write_together(kb: KnowledgeBase, log: Log, round_: int, threads: int, each: int) -> None:
    def write(thread: int) -> None:
        for number in range(each):
            name = f"{thread}.{number}"
            log.begin(name)
            try:
                kb.update(request_of(round_, thread, number), wait=60)
            except BaseException as e:
                log.error(name, e)
                return
            log.done(name)

    workers = [threading.Thread(target=write, args=[thread]) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main() -> None:
    """Serves until the end of the input. This process opens no knowledge base, so a fork of it has one thread."""
    ENCODERS._builtin[toy_encoder.NAME] = f"{toy_encoder.__name__}:Toy"
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if not child:
            try:
                run(wanted)
                if modules := wanted.get("modules"):
                    Path(modules).write_text("\n".join(sorted(sys.modules)), encoding="utf-8")
            finally:
                os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        if modules := wanted.get("modules"):
            for name in Path(modules).read_text(encoding="utf-8").split():
                if name.partition(".")[0] in ("hybridkg", "filelock", "rdflib", "numpy"):
                    importlib.import_module(name)


if __name__ == "__main__":
    main()
