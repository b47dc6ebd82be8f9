"""What a suggested profile does to retrieval, beside the default profile and the collection's own.

    python -m benchmarks.suggested_profiles [--work FOLDER]

On Cranfield, CACM and FB15k with DBpedia-Entity's judgements, indexes of four profiles, each ranked by `bm25f` with its
default parameters:
    default        the profile of a knowledge base that names none
    suggested      the file of `hybridkg profile KB --suggest`, unedited
    other rules    the same with a weight of 1 for long texts, and the fields that the file offers for links
    own            the profile that was made for the collection by hand

Two paired tests of `default` against each of the others, with Holm over a collection. Nothing here depends on the
machine.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.models_figures import SEED, TESTED, Values, compared, evaluated, means
from benchmarks.models_systems import COLLECTIONS, Collection, System, collections
from benchmarks.record import record
from hybridkg import KnowledgeBase
from hybridkg.entities.profile.profile_reader import load_profile

DEFAULT, SUGGESTED, OTHER_RULES, OWN = "default", "suggested", "other rules", "own"
LONG_TEXT = "hk:text hk:Strings ; hk:weight 0.5 ;"
LINK_FIELD = re.compile(r"^ {8}# \[ (hk:name )", re.MULTILINE)


def reindexed(collection: Collection, name: str, profile: str | Path) -> Collection:
    """A copy of the collection with the index of another profile."""
    folder = collection.folder.with_name(f"{collection.name}-{name.replace(' ', '-')}")
    if not folder.exists():
        shutil.copytree(collection.folder, folder)
        with KnowledgeBase.open(folder / "kb") as kb:
            kb.index(profile)
    return replace(collection, folder=folder)


def profiles(collection: Collection) -> dict[str, str | Path]:
    """The profiles to be compared with the collection's own, by their names."""
    text = collection.kb.suggest_profile().text
    other = LINK_FIELD.sub(r"        [ \1", text.replace(LONG_TEXT, LONG_TEXT.replace("0.5", "1")))
    suggested, changed = (collection.folder.with_name(f"{collection.name}-{n}.ttl") for n in ("suggested", "other"))
    suggested.write_text(text, encoding="utf-8")
    changed.write_text(other, encoding="utf-8")
    return {DEFAULT: DEFAULT, SUGGESTED: suggested, OTHER_RULES: changed}


def measured(collection: Collection) -> dict[str, Any]:
    """Means of every profile, and the tests."""
    values: dict[str, Values] = {}
    fields = {}
    for name, profile in profiles(collection).items():
        fields[name] = [field.name for field in load_profile(profile).fields]
        values[name] = evaluated(collection, reindexed(collection, name, profile).run(System("bm25f"), name))
    values[OWN] = evaluated(collection, collection.run(System("bm25f"), OWN))
    found = {name: means(own) for name, own in values.items()}
    print(collection.name, *found.items(), sep="\n  ", flush=True)
    return {
        "topics": len(collection.qrels.grades),
        "fields": fields,
        "means": found,
        f"against {DEFAULT}": compared(values),
    }


def verdicts(found: Mapping[str, Any]) -> dict[str, bool]:
    """Whether the suggestion is at least as good as the default profile, and as the collection's own."""
    return {
        f"{name}: suggested is at least {other} in {measure}": own["means"][SUGGESTED][measure]
        >= own["means"][other][measure]
        for name, own in found.items()
        for other in (DEFAULT, OTHER_RULES, OWN)
        for measure in TESTED
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, help="folder of the collections; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hybridkg-") as scratch:
        found = {own.name: measured(own) for own in collections(options.work or Path(scratch), COLLECTIONS)}
    record("suggested_profiles", {"collections": found, "verdicts": verdicts(found)}, seed=SEED)


if __name__ == "__main__":
    main()
