"""The fields of the paper once more, slowly: whole dumps in memory, terms by a parser, one rule after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

R, P, O = "http://dbpedia.org/resource/", "http://dbpedia.org/property/", "http://dbpedia.org/ontology/"  # noqa: E741
FOAF = "http://xmlns.com/foaf/0.1/"
LABEL, COMMENT = (f"http://www.w3.org/2000/01/rdf-schema#{name}" for name in ("label", "comment"))
SUBJECT, ANCHOR = "http://purl.org/dc/terms/subject", O + "wikiPageWikiLinkText"
POINTING = (O + "wikiPageRedirects", O + "wikiPageDisambiguates")
NAMES = {
    *(
        P + name
        for name in ["name", "officialName", "fullname", "nativeName", "birthName", "nickname", "showName", "shipName"]
    ),
    *(
        P + name
        for name in ["clubname", "unitName", "otherName", "birthname", "alternativeNames", "otherNames", "names"]
    ),
    *(O + name for name in ("birthName", "formerName")),
    *(FOAF + name for name in ("name", "givenName", "surname")),
    LABEL,
}
BLACKLIST_B = {
    *POINTING,
    *(
        O + f"{name}Position"
        for name in ["capital", "government", "highest", "lowest", "management", "mouth", "restingPlace"]
    ),
    *(O + name for name in ["sourceConfluencePosition", "sourcePosition", "location", "thumbnail", "wikiPageID"]),
    *(FOAF + name for name in ("homepage", "depiction", "thumbnail")),
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    "http://www.w3.org/2002/07/owl#sameAs",
}
"""As far as the dumps of the tests go."""

KNOWN = (O, P, FOAF, "http://www.w3.org/2002/07/owl#", "http://schema.org/", "http://www.wikidata.org/entity/")
FIELDS = ("names", "categories", "similar", "attributes", "related")

Fields = dict[str, list[str]]


def words(iri: str) -> str:
    """Nordlys: after the prefix, after the last colon of a category or file."""
    if iri.startswith((R + "Category:", R + "File:")):
        return iri[iri.rindex(":") + 1 :].replace("_", " ")
    for prefix in (R, *KNOWN):
        if iri.startswith(prefix):
            return iri[len(prefix) :].replace("_", " ")
    return iri[iri.rindex("/") + 1 :].replace("_", " ") if iri.startswith("http://en.wikipedia.org") else iri


def predicate_words(iri: str) -> str:
    if not iri.startswith(P):
        return ""
    return "".join(" " + c if c.isupper() else c for c in iri[len(P) :].replace("_", " ")) + " "


def triples(lines: Iterable[bytes]) -> set[tuple[str, str, NamedNode | Literal]]:
    found = parse(b"".join(lines), format=RdfFormat.N_TRIPLES)
    return {(q.subject.value, q.predicate.value, q.object) for q in found if isinstance(q.subject, NamedNode)}


def _entities(some) -> set[str]:
    has = defaultdict(set)
    for s, p, o in some:
        if o.value:  # Nordlys drops empty literals before anything else
            has[s].add(p)
    return {s for s in has if s.startswith(R) and {LABEL, COMMENT} <= has[s] and not has[s] & set(POINTING)}


def _sorted(found, entities, *, catchall: bool) -> dict[str, Fields]:
    made = {}
    for entity in entities:
        fields = {field: sorted(found[entity, field]) for field in FIELDS if found[entity, field]}
        if catchall:
            fields["catchall"] = ["\n".join(text for field in FIELDS for text in fields.get(field, []))]
        made[entity] = fields
    return made


def index_b(lines: Iterable[bytes]) -> dict[str, Fields]:
    some = triples(lines)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for s, p, o in some:
        literal = isinstance(o, Literal)
        if literal and not o.value:
            continue
        text = o.value if literal else words(o.value)
        if p in NAMES:
            found[s, "names"].add(text)
        elif p == SUBJECT:
            found[s, "categories"].add(text)
        elif p == ANCHOR:
            found[s, "similar"].add(text)
        elif p not in BLACKLIST_B:
            found[s, "attributes" if literal else "related"].add(predicate_words(p) + text)
        if p in POINTING and not literal:
            found[o.value, "similar"].add(words(s))
    return _sorted(found, _entities(some), catchall=True)


def index_a(lines: Iterable[bytes], definitions: Iterable[bytes] = (), *, category_labels: bool) -> dict[str, Fields]:
    some = triples(lines)
    labels = defaultdict(list)
    for s, p, o in triples(definitions):
        if p == LABEL:
            labels[s].append(o)
    before = {p: min(map(str, some)) for p, some in labels.items()}
    before = {p: text[1 : text.rindex('"')] + " " for p, text in before.items()}
    called: dict[str, tuple[int, str, str]] = {}
    for s, p, o in some:
        if p in NAMES and isinstance(o, Literal) and o.value:
            rank = (0, "", str(o)) if p == LABEL else (1, p, str(o))
            called[s] = min(rank, called.get(s, rank))
    name = {s: next(iter(parse(f"<x:s> <x:p> {rank[2]} .".encode(), format=RdfFormat.N_TRIPLES))).object.value
            for s, rank in called.items()}  # fmt: skip
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for s, p, o in some:
        literal = isinstance(o, Literal)
        if literal and not o.value:
            continue
        if p in POINTING:
            if not literal and s in name:
                found[o.value, "similar"].add(name[s])
            continue
        lead = (before.get(p, "") if definitions else predicate_words(p)) if p.startswith(P) else ""
        if p in NAMES:
            if literal:
                found[s, "names"].add(o.value)
        elif p == SUBJECT:
            text = o.value if literal else name.get(o.value) if category_labels else words(o.value)
            if text:
                found[s, "categories"].add(text)
        elif literal:
            found[s, "attributes"].add(lead + o.value)
            if p == ANCHOR:
                found[s, "similar"].add(o.value)
        elif p != ANCHOR:
            if o.value.startswith(R) and o.value in name:
                found[s, "related"].add(lead + name[o.value])
            if o.value.startswith(R + "File:"):
                file = o.value[len(R + "File:") :]
                for field in ("attributes", "related"):
                    found[s, field].add((file.rpartition(".")[0] or file).replace("_", " "))
    return _sorted(found, _entities(some), catchall=False)
