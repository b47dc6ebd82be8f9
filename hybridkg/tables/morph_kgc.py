"""Mappings in RML and YARRRML by morph-kgc, in a process and an environment of its own.

morph-kgc 2.10 needs pyoxigraph below 0.4 and rdflib below 7.3, so no environment can have it and hybridkg. It keeps
tables in memory, and its result is a file that is loaded as any other.
Source: Arenas-Guerrero et al., "Morph-KGC: Scalable knowledge graph materialization with mapping partitions" (2022).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from hybridkg.errors import LoadError, MissingExtraError

INTERPRETER = "HYBRIDKG_MORPH_KGC"
"""Environment variable with the Python of the environment in which morph-kgc is installed."""

SETTINGS = """\
[CONFIGURATION]
output_file = {output}
output_format = N-QUADS
na_values =
logging_level = WARNING
number_of_processes = 1

[DataSource1]
mappings = {mapping}
"""


def interpreter() -> str | None:
    """The Python that can import morph-kgc, as far as it is known; None if there is none."""
    chosen = os.environ.get(INTERPRETER)
    return chosen or (sys.executable if find_spec("morph_kgc") is not None else None)


def materialized(mapping: Path, files: Sequence[Path], folder: Path, why: str) -> Path:
    """The quads of a mapping, as a file of N-Quads.

    Args:
        mapping: RML in Turtle, or YARRRML.
        files: tables that it names by their file names; none for those beside the mapping.
        folder: a temporary folder, empty.
        why: what morph-kgc is needed for, for the error.

    Raises:
        MissingExtraError: morph-kgc is not installed.
        LoadError: it fails; has the last line of its report.
    """
    python = interpreter()
    if python is None:
        raise MissingExtraError(
            f"{why} needs morph-kgc",
            hint="it needs an environment of its own, because it depends on an older pyoxigraph:\n"
            "python -m venv ~/.morph-kgc && ~/.morph-kgc/bin/pip install morph-kgc\n"
            f"export {INTERPRETER}=~/.morph-kgc/bin/python",
        )
    output = folder / "output.nq"
    linked = folder / f"mapping.{re.sub(r'[^A-Za-z]', '', mapping.suffix)}"  # it becomes a line of the settings
    linked.symlink_to(mapping.absolute())
    settings = folder / "settings.ini"
    settings.write_text(SETTINGS.format(output=output, mapping=linked), encoding="utf-8")
    data = mapping.parent
    if files:
        data = folder / "data"
        data.mkdir()
        for file in files:
            if (data / file.name).is_symlink():
                raise LoadError(
                    f"a mapping finds files by their names, and two are called {file.name!r}",
                    hint="load them one after the other, or rename one",
                )
            (data / file.name).symlink_to(file.absolute())
    command = [str(Path(python).expanduser()), "-m", "morph_kgc", str(settings)]
    try:
        done = subprocess.run(command, cwd=data, capture_output=True, check=False, env=_environment())
    except OSError as e:
        raise LoadError(
            f"cannot run {python!r}: {e.strerror}", hint=f"{INTERPRETER} must be the Python that has morph-kgc"
        ) from e
    if done.returncode or not output.exists():
        report = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        raise LoadError(f"morph-kgc failed: {report[-1] if report else 'without a word'}", place=str(mapping))
    return output


def _environment() -> dict[str, str]:
    """The environment without the paths of this process's packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
