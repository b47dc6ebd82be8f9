"""Every diff of docs/contributing.md is one file and one line of a registry, and works in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
DIFFS = dict(re.findall(r"^## (A text engine|An? [a-z ]+)\n.*?^```diff\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))

OPEN = "from hybridkg import KnowledgeBase, errors\nkb = KnowledgeBase.temporary('examples/films.ttl')\n"
MATCH = "SELECT ?f ?s { ?f MATCH 'spaceship crew' %s AS ?s } RANK BY ?s LIMIT 3"
PROGRAMS = {
    "A ranking model": f"""{OPEN}
rows = kb.query("{MATCH}" % "USING coordination").to_python()
assert [row["s"] for row in rows] == [2.0, 1.0, 1.0], rows
try:
    kb.query("{MATCH}" % "USING coordinatoin")
except errors.HybridkgError as e:
    assert e.hint == "did you mean 'coordination'?", e
""",
    "A strategy": f"""{OPEN}
text = "{MATCH}" % ""
assert str(kb.explain(text, strategy="few_matches")).startswith("strategy: few_matches")
same = [kb.query(text, strategy=name).to_python() for name in ("few_matches", "reference")]
assert same[0] == same[1] and len(same[0]) == 3
""",
    "A text engine": f"""
from pathlib import Path
import tempfile
from hybridkg import KnowledgeBase, errors
from hybridkg.store.generations import manifest
path = Path(tempfile.mkdtemp()) / "kb"
kb = KnowledgeBase.create(path)
kb.load("examples/films.ttl", text_engine="verified")
assert kb._snapshot.generation.manifest.engines["text"] == "verified"
assert kb.query("{MATCH}" % "").returned == 3
label = "<http://www.w3.org/2000/01/rdf-schema#label>"
report = kb.update(f'INSERT DATA {{{{ <http://e/new> {{label}} "a spaceship" }}}}')
assert report.rebuilt == "" and not report.is_behind, report
assert kb.query("{MATCH}" % "").returned == 3
kb.close()
file = path / (path / "CURRENT").read_text().strip() / "text" / "1.packed"
file.write_bytes(file.read_bytes()[:-1] + b"?")
manifest.MAX_SMALL_FILE = 0  # as if it were one of the large files, which opening does not compare
try:
    KnowledgeBase.open(path).query("{MATCH}" % "")
except errors.IndexCorruptError as e:
    assert "have changed since it was built" in str(e) and file.name in str(e), e
else:
    raise AssertionError("damage was not noticed")
""",
    "An output format": f"""
import io
{OPEN}
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
out = io.StringIO()
OUTPUT_FORMATS.get("markdown")(kb.query("{MATCH}" % ""), out)
lines = out.getvalue().splitlines()
assert lines[:2] == ["| f | s |", "| --- | --- |"] and len(lines) == 5, lines
""",
}


def parts(diff: str) -> dict[str, list[str]]:
    """The lines of each file's part, by its path."""
    found: dict[str, list[str]] = {}
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
            found[path] = []
        elif not line.startswith(("--- ", "@@")):
            found[path].append(line)
    return found


def apply(diff: str, root: Path) -> list[int]:
    """Applies a diff; returns how many lines each file gets."""
    added = []
    for path, lines in parts(diff).items():
        file = root / path
        if file.exists():
            context = [line[1:] for line in lines if not line.startswith("+")]
            wanted = [line[1:] for line in lines]
            text = file.read_text(encoding="utf-8")
            before = "\n".join(context) + "\n"
            assert text.count(before) == 1, f"{path} has no lines\n{before}"
            file.write_text(text.replace(before, "\n".join(wanted) + "\n"), encoding="utf-8")
            added.append(len(wanted) - len(context))
        else:
            assert all(line.startswith("+") for line in lines)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(line[1:] for line in lines) + "\n", encoding="utf-8")
            if not (file.parent / "__init__.py").exists():
                (file.parent / "__init__.py").write_text("")
    return added


def test_the_page_shows_four():
    assert list(DIFFS) == list(PROGRAMS)


def run_in_a_copy(folder: Path, *kinds: str) -> None:
    """Applies diffs to a copy of the package, and runs their programs in a process of its own."""
    # With the bytecode, or each process compiles 300 modules; not what another process writes just now.
    unwanted = shutil.ignore_patterns("*.nb?*", "*.pyc.*")
    for name in ("hybridkg", "grammar", "ontologies", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    for kind in kinds:
        assert apply(DIFFS[kind], folder) == [1], kind
        assert len(parts(DIFFS[kind])) == 2, kind
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(PROGRAMS[kind] for kind in kinds)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_each_diff_is_one_file_and_one_line_and_they_work_beside_each_other(tmp_path):
    run_in_a_copy(tmp_path, *PROGRAMS)


@pytest.mark.exhaustive  # in a copy and a process of its own
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_diff_works_alone(kind, tmp_path):
    run_in_a_copy(tmp_path, kind)
