"""Coverage-guided fuzzing of the front end: bytes -> text -> parse, check, write, and parse again.

    PYTHONPATH=... python -m benchmarks.fuzz_parser [--runs N] [--findings FOLDER]

Needs atheris (`pip install atheris`, Linux or macOS), which is no dependency of
the project. Only a HybridkgError may leave the front end, in bounded time, and
text that we wrote is text that we read. A finding is kept in its folder, one
file for each place in the code, and the run goes on; tests/query/
test_fuzz_findings.py repeats what was ever found. Seeds: the queries and updates of the W3C
suites where the shared data is there, of examples/ and of tests/cases/.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("HYBRIDKG_DATA", ROOT.parent / "shared/data"))
SEED = 20261121
MAX_INPUT_LENGTH = 2_000
"""Bytes. Longer texts find nothing but time; the limits have tests of their own."""

MAX_TIME_S = 1.0
"""Seconds of processor time for one input; some hundred times what the slowest should take."""


class SlowError(Exception):
    """An input took longer than MAX_TIME_S."""


def seeds() -> list[bytes]:
    """Every query text at hand, without repeats."""
    found = [path.read_bytes() for path in sorted([*ROOT.glob("examples/**/*.hq"), *ROOT.glob("tests/cases/*.hq")])]
    found = [text.partition(b"\n=>")[0] for text in found]
    archive = SHARED / "w3c-rdf-tests" / "sparql-tests.tar.xz"
    if archive.is_file():
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name.endswith((".rq", ".ru")) and (file := tar.extractfile(member)):
                    found.append(file.read())
    return list(dict.fromkeys(text[:MAX_INPUT_LENGTH] for text in found))


def dictionary() -> str:
    """The words and signs of the grammar, as libFuzzer reads them."""
    from hybridkg.query import tables

    loaded = tables.load()
    words = [*sorted(loaded.words), *loaded.punctuation, "label", "bm25f", "\\u0041", "_:b", "?x", "'''", "1e3", "@en"]
    return "".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for word in words)


def examine(data: bytes) -> bool:
    """Whether the text is a query or an update; anything but a HybridkgError that comes out is a finding.

    Raises:
        SlowError: it took too long.
        AssertionError: what we wrote is another text than the one we read.
    """
    from hybridkg.errors import HybridkgError, QueryLimitError
    from hybridkg.query import ast
    from hybridkg.query.checks.check import check
    from hybridkg.query.checks.check_update import check_update
    from hybridkg.query.parser import parse, parse_update
    from hybridkg.query.write import write

    text = data.decode("utf-8", "surrogateescape" if data[:1] == b"\0" else "replace")
    started = time.process_time()
    query = None
    for read in (parse, parse_update):
        try:
            query = read(text)
            break
        except HybridkgError as e:
            e.render()
    if query is not None:
        try:
            again = read(write(query))
            assert again == query, "another text comes back"
        except QueryLimitError:
            pass  # canonical text may have more brackets
        except HybridkgError as e:
            raise AssertionError(f"what we wrote cannot be read: {e.message}") from e
        try:
            if isinstance(query, ast.Update):
                check_update(query)
            else:
                check(query)
        except HybridkgError as e:
            e.render()
    if time.process_time() - started > MAX_TIME_S:
        raise SlowError(f"{len(text)} characters")
    return query is not None


def place(error: BaseException) -> str:
    """A name for what went wrong and where, the same for all inputs that lead there."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "hybridkg" in frame.filename]
    where = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "front-end"
    words = "-".join(re.findall(r"[A-Za-z]+", str(error))[:8])
    return f"{type(error).__name__}-{where}-{words}"[:120]


def fuzz(arguments: list[str], findings: Path) -> None:
    """Runs libFuzzer in this process; does not come back."""
    import atheris  # type: ignore[import-not-found, unused-ignore]

    with atheris.instrument_imports(include=["hybridkg.query"]):
        import hybridkg.query.checks.check
        import hybridkg.query.checks.check_update
        import hybridkg.query.diagnostics.syntax_help
        import hybridkg.query.parser
        import hybridkg.query.write  # noqa: F401

    def one(data: bytes) -> None:
        try:
            examine(data)
        except Exception as e:
            path = findings / place(e)
            if not path.exists() or path.stat().st_size > len(data):
                path.write_bytes(data)
                path.with_suffix(".txt").write_text(traceback.format_exc(), encoding="utf-8")

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def run(runs: int, findings: Path) -> dict[str, Any]:
    """A run in a process of its own; what libFuzzer counted."""
    findings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch, "corpus")
        corpus.mkdir()
        texts = seeds()
        for number, text in enumerate(texts):
            (corpus / f"{number:05}").write_bytes(text)
        words = Path(scratch, "words")
        words.write_text(dictionary(), encoding="utf-8")
        options = [f"-runs={runs}", f"-max_len={MAX_INPUT_LENGTH}", f"-seed={SEED}", f"-dict={words}", "-timeout=60"]
        options += ["-rss_limit_mb=4096", "-print_final_stats=1", f"-artifact_prefix={scratch}/", str(corpus)]
        child = [sys.executable, "-m", "benchmarks.fuzz_parser", "--child", str(findings), *options]
        started = time.monotonic()
        log_path = findings / "libfuzzer.log"
        with log_path.open("w", encoding="utf-8") as log:
            code = subprocess.run(child, check=False, stdout=log, stderr=log, cwd=ROOT).returncode
        text = log_path.read_text("utf-8", errors="replace")
        executed = re.findall(r"number_of_executed_units: (\d+)", text) or re.findall(r"^#(\d+)", text, re.M) or ["0"]
        return {
            "seeds": len(texts),
            "inputs": int(executed[-1]),
            "corpus": len(list(corpus.iterdir())),
            "seconds": round(time.monotonic() - started),
            "exit_code": code,
            "findings": sorted(path.stem for path in findings.glob("*.txt")),
        }


def main() -> None:
    """Runs and records."""
    if sys.argv[1:2] == ["--child"]:
        fuzz(sys.argv[3:], Path(sys.argv[2]))
        return
    from benchmarks.record import record

    options = argparse.ArgumentParser(description="fuzz the parser with atheris")
    options.add_argument("--runs", type=int, default=1_000_000)
    options.add_argument("--findings", type=Path, default=Path(tempfile.gettempdir()) / "hybridkg-fuzz")
    chosen = options.parse_args()
    record("fuzz_parser", run(chosen.runs, chosen.findings), seed=SEED)


if __name__ == "__main__":
    main()
