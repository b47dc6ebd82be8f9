"""`python -m hybridkg`."""

from __future__ import annotations

from hybridkg.cli import main

main()
