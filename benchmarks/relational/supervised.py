"""A process that tells what it measures line by line, and is ended where it tells nothing for too long.

No store can be interrupted in every question, so patience ends with the process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

POLL_S = 0.05
TIME = "time"


def supervised(
    command: Sequence[str], lines: Path, wait_s: float, environment: Mapping[str, str]
) -> tuple[list[dict[str, Any]], str]:
    """Runs a command that appends lines of JSON to a file.

    Args:
        command: with its arguments.
        lines: its file, which is deleted.
        wait_s: the longest time without a new line.
        environment: of the process.

    Returns:
        the lines, and how it ended: `time`, or `exit code N`.

    >>> import os, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "lines"
    >>> supervised(["sh", "-c", f"echo 1 >> {file}; sleep 60"], file, 0.2, os.environ)
    ([1], 'time')
    """
    child = subprocess.Popen(command, env=environment, stdout=sys.stderr)
    seen, changed, over = 0, time.monotonic(), False
    try:
        while child.poll() is None and not over:
            time.sleep(POLL_S)
            size = lines.stat().st_size if lines.exists() else 0
            if size != seen:
                seen, changed = size, time.monotonic()
            over = time.monotonic() - changed > wait_s
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
    found = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    lines.unlink(missing_ok=True)
    return found, TIME if over else f"exit code {child.returncode}"
