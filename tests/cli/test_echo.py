"""Everything that commands print goes through one door."""

from __future__ import annotations

from pathlib import Path

import hybridkg.cli

PRINTS_ITSELF = {"echo.py", "completion.py", "doctor.py"}
"""The door, and what prints no data: a script for the shell, the marks of the doctor."""


def test_no_command_prints_past_the_door():
    files = Path(hybridkg.cli.__file__).parent.glob("*.py")
    found = {path.name for path in files if "click.echo(" in (text := path.read_text()) or "click.secho(" in text}
    assert found == PRINTS_ITSELF
