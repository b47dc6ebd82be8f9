"""Entry point of `hybridkg` and `python -m hybridkg`: Ctrl-C ends it with one line, also during imports."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""The shell's exit code for Ctrl-C (128 + SIGINT)."""


def main() -> None:
    """Imports the command line and runs it."""
    try:
        from hybridkg.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
