"""Makes the weights of the package from questions about real data in STaRK's form, split train only.

    hybridkg synthesise OUT/acl/made/kb --templates stark-mag --n 1500 --out QUESTIONS/acl
    (the same with stark-prime for hetionet, 2000, and stark-amazon for attack, 3000)
    python -m benchmarks.ask.ship --out OUT --questions QUESTIONS

They are named after the profiles for whose knowledge bases they are: stark-mag is learned from the ACL Anthology,
stark-prime from Hetionet's sources, and stark-amazon from ATT&CK.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.ask.grading import learned
from benchmarks.ask.questions import read_gold
from hybridkg import KnowledgeBase
from hybridkg.resources import resource

SOURCES = {"stark-mag": "acl", "stark-prime": "hetionet", "stark-amazon": "attack"}


def main() -> None:
    """Learns and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=list(SOURCES))
    given = parser.parse_args()
    for name in given.only or list(SOURCES):
        source = SOURCES[name]
        questions = [one for one in read_gold(given.questions / source / "gold.jsonl") if one.split == "train"]
        with KnowledgeBase.open(given.out / source / "made" / "kb") as kb:
            text = learned(kb, questions).to_json()
        path = resource("ontologies", "weights") / f"{name}.json"
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(questions):,} questions, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main()
