"""Random profiles in Turtle over the predicates of generated_changes.py: paths, rest fields, classes, languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

HEADER = """@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <http://e/> .
<> a hk:Profile ; """

PREDICATES = (":next", ":by", ":next", ":by", "rdfs:label", ":plot", ":note", ":year")
NAMES = ("title", "review", "plot", "others")
"""Three of them are also fields of documents."""

KINDS = ("hk:Labels", "hk:Literals", "hk:Strings")
LANGUAGES = ('"en"', '"de"', '"en" "de"')
ANALYZERS = ("all_words", "identifier", "stopped", "unstemmed", "plain")
MAX_DEPTH = 3
MARKS = ("zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath", "inversePath")


def profile_text(choose: Callable[[Sequence[Any]], Any]) -> str:
    """A profile; `choose` takes one of a sequence."""
    names = list(NAMES)
    fields = []
    for _ in range(choose((1, 2, 2, 3))):
        name = choose(names)
        names.remove(name)
        fields.append(f"[ {_field(choose, name)} ]")
    parts = [f"hk:fields ( {' '.join(fields)} )"]
    if choose((False, False, True)):
        parts.append(f"hk:entities {choose((':Film', ':Film , :Person'))}")
    if choose((False, True)):
        parts.append(f"hk:labels ( {choose((':note rdfs:label', 'rdfs:label :plot', ':plot'))} )")
    if choose((False, False, True)):
        parts.append(f"hk:ignore {choose((':when', ':by', ':note , :year'))}")
    return HEADER + " ; ".join(parts) + " ."


def _field(choose: Callable[[Sequence[Any]], Any], name: str) -> str:
    parts = [f'hk:name "{name}"']
    kind = choose(("path", "path", "path", "rest", "documents"))
    if kind == "path":
        parts.append(f"hk:path {_path(choose, MAX_DEPTH)} ; hk:text {choose(KINDS)}")
    elif kind == "rest":
        parts.append(f"hk:rest {choose(KINDS[:2])}")
    if choose((False, False, True)):
        parts.append("hk:localName true")
    if choose((False, False, True)) and kind != "documents":
        parts.append(f"hk:languages ( {choose(LANGUAGES)} )")
    if choose((False, True)):
        parts.append(f'hk:analyzer "{choose(ANALYZERS)}"')
    if choose((False, True)):
        parts.append(f"hk:weight {choose((0.3, 2))} ; hk:b {choose((0, 0.4, 1))}")
    return " ; ".join(parts)


def _path(choose: Callable[[Sequence[Any]], Any], depth: int) -> str:
    kind = choose(("predicate", "predicate", "sequence", "alternative", *MARKS)) if depth else "predicate"
    if kind == "predicate":
        return str(choose(PREDICATES))
    if kind in MARKS:
        return f"[ sh:{kind} {_path(choose, depth - 1)} ]"
    inner = " ".join(_path(choose, depth - 1) for _ in range(2))
    return f"( {inner} )" if kind == "sequence" else f"[ sh:alternativePath ( {inner} ) ]"
