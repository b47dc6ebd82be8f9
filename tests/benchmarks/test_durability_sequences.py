"""The run of generated sequences: its chunks, and where it goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmarks.durability.sequences import CHUNK, Counts, run_in_chunks


def test_counts_of_chunks_are_one_result_and_finished_chunks_are_not_run_again(tmp_path: Path) -> None:
    end = 2 * CHUNK + 1
    parts = [(0, CHUNK), (CHUNK, 2 * CHUNK), (2 * CHUNK, end)]
    for first, last in parts:
        counts = Counts(
            sequences=last - first,
            compared=2,
            queries=5,
            seconds=1.5,
            cpu_seconds=1.0,
            steps=Counter(update=3, file=last % 2),
            commits=Counter(followed=2),
            failed={str(first): "AssertionError: "} if first else {},
        )
        counts.save(tmp_path / f"sequences-{first}-{last}.json")
    assert run_in_chunks(0, end, tmp_path, workers=2) == Counts(
        sequences=end,
        compared=6,
        queries=15,
        seconds=4.5,
        cpu_seconds=3.0,
        steps=Counter(update=9, file=1),
        commits=Counter(followed=6),
        failed={str(CHUNK): "AssertionError: ", str(2 * CHUNK): "AssertionError: "},
    )
