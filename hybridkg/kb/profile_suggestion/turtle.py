"""The file of a suggested profile: Turtle with the figures that decided as comments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hybridkg.kb.profile_suggestion.choice import Choice, SuggestedField
from hybridkg.kb.profile_suggestion.kinds import JudgedPredicate
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, NamedNode, Term
from hybridkg.rdf.well_known import shortened
from hybridkg.terminal_text import printable

MAX_EXAMPLE_LENGTH = 60
"""Characters of an example."""

MAX_LISTED = 20
"""Predicates and classes with a comment of their own in one place."""

FIXED = {
    "hk": "https://w3id.org/hybridkg/ns#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sh": "http://www.w3.org/ns/shacl#",
}


def turtle_of(choice: Choice, prefixes: Mapping[str, str], label_of: Callable[[Term], str]) -> str:
    """The text of the file.

    Args:
        choice: what it proposes.
        prefixes: shorten IRIs; those that are used are declared.
        label_of: the label of a node for an example; empty for none.
    """
    writer = _Writer(choice, {**prefixes, **FIXED}, label_of)
    body = writer.body()
    declared = {name: iri for name, iri in writer.prefixes.items() if name in writer.used or name in ("hk", "rdfs")}
    heads = [f"@prefix {name}: <{iri}> ." for name, iri in sorted(declared.items())]
    return "\n".join([*writer.head(), *heads, "", *body, ""])


@dataclass
class _Writer:
    """Writer of one file; `used` collects the prefixes."""

    choice: Choice
    prefixes: Mapping[str, str]
    label_of: Callable[[Term], str]

    def __post_init__(self) -> None:
        self.used: set[str] = set()
        self._subjects = max(self.choice.figures.subjects, 1)

    def head(self) -> list[str]:
        figures = self.choice.figures
        return [
            "# A profile suggested by `hybridkg profile KB --suggest`: edit it, then hybridkg index KB --profile FILE",
            f"# {figures.triples:,} triples, {self._about_count(figures.subjects)} nodes with a literal. "
            f"Figures: {figures.source}.",
            "",
        ]

    def body(self) -> list[str]:
        lines = ["<> a hk:Profile ;", '    rdfs:label "suggested" ;']
        lines += self._entities()
        if self.choice.labels:
            listed = " ".join(self.name(one.figures.iri) for one in self.choice.labels)
            lines += ["    # What names a node; the first that it has is shown.", f"    hk:labels ( {listed} ) ;"]
        if types := [iri for iri in self.choice.figures.types if iri != RDF_TYPE]:
            listed = " ".join(map(self.name, (RDF_TYPE, *types)))
            lines += ["    # What leads to the classes of a node.", f"    hk:types ( {listed} ) ;"]
        lines += self._ignored()
        lines += ["    hk:fields (", *self._fields(), "    ) ."]
        return lines

    def _entities(self) -> list[str]:
        choice = self.choice
        if not choice.entities:
            return []
        lines = ["    # Classes whose instances have text; without hk:entities every node that has text is an entity."]
        lines += [
            f"    #   {self.name(one.iri)}: {one.instances:,} instances, {one.labelled:,} with a literal"
            for one in choice.entities[:MAX_LISTED]
        ]
        names = " , ".join(self.name(one.iri) for one in choice.entities)
        if choice.is_typed:
            return [*lines, f"    hk:entities {names} ;"]
        untyped = choice.figures.untyped
        lines.append(
            f"    # {untyped:,} of {self._subjects:,} nodes with a literal have no class, so all nodes stay entities:"
        )
        return [*lines, f"    # hk:entities {names} ;"]

    def _ignored(self) -> list[str]:
        if not self.choice.ignored:
            return []
        lines = ["    # No text: not in attributes and related."]
        lines += [
            f"    #   {self._named(one)}: {one.kind.value}{self._linked(one)}{self._example(one)}"
            for one in self.choice.ignored[:MAX_LISTED]
        ]
        names = " , ".join(self.name(one.figures.iri) for one in self.choice.ignored)
        return [*lines, f"    hk:ignore {names} ;"]

    def _fields(self) -> list[str]:
        choice = self.choice
        local_name = "hk:localName true ; " if choice.names_speak or not choice.labels else ""
        labels = f"hk:path {self._paths(choice.labels)} ; " if choice.labels else ""
        lines = self._about(choice.labels)
        share = choice.figures.speaking_names
        lines.append(
            f"        # local names of IRIs: {share:.0%} are words without digits, which hk:localName true adds"
        )
        lines.append(f'        [ hk:name "label" ; {labels}hk:text hk:Strings ; {local_name}hk:weight 3 ; hk:b 0.5 ]')
        for field in choice.texts:
            lines += self._about(field.members)
            lines.append(self._field(field, _LONG_TEXT))
        if choice.identifiers:
            lines += self._about(choice.identifiers)
            lines.append(
                f'        [ hk:name "identifiers" ; hk:path {self._paths(choice.identifiers)} ; '
                'hk:analyzer "identifier" ; hk:weight 1 ; hk:b 0.3 ]'
            )
        if choice.short or choice.figures.unread:
            lines += self._about(choice.short)
            if choice.figures.unread:
                lines.append(
                    f"        # and {choice.figures.unread:,} predicates of fewer triples, which were not read"
                )
            lines.append('        [ hk:name "attributes" ; hk:rest hk:Literals ; hk:weight 0.5 ; hk:b 0.75 ]')
        if choice.followed:
            lines += self._about(choice.followed)
            if choice.links:
                lines.append(
                    "        # All links share a field: many neighbours would outweigh a node. Fields of their own are:"
                )
                lines += [f"        # {self._field(field, _OWN_LINK)[8:]}" for field in choice.links]
            lines.append('        [ hk:name "related" ; hk:rest hk:Labels ; hk:weight 0.5 ; hk:b 0.75 ]')
        if choice.figures.classes:
            path = " , ".join(self.name(iri) for iri in choice.figures.types)
            lines += [
                "        # labels of the classes",
                f'        [ hk:name "types" ; hk:path {path} ; hk:text hk:Labels ; hk:weight 0.5 ; hk:b 0.5 ]',
            ]
        return lines

    def _field(self, field: SuggestedField, rest: str) -> str:
        return f'        [ hk:name "{field.name}" ; hk:path {self._paths(field.members)} ; {rest} ]'

    def _paths(self, members: Sequence[JudgedPredicate]) -> str:
        return " , ".join(self.name(one.figures.iri) for one in members)

    def _about(self, members: Sequence[JudgedPredicate]) -> list[str]:
        """A comment for each predicate of a field."""
        lines = []
        for one in members[:MAX_LISTED]:
            figures = one.figures
            about = "about " if figures.read else ""
            share = min(figures.subjects / self._subjects, 1.0)
            parts = [
                f"{about}{figures.subjects:,} nodes ({share:.0%})",
                f"{figures.uniqueness:.0%} of the values distinct",
            ]
            if figures.read:
                parts.append(f"estimated from the first {figures.read:,} of {figures.triples:,} triples")
            if one.words:
                parts.append(f"{one.words:.1f} words")
            parts += self._languages(one)
            shown = ", ".join(parts) + self._linked(one)
            lines.append(f"        # {self._named(one)}: {shown}{self._example(one)}")
        if len(members) > MAX_LISTED:
            lines.append(f"        # and {len(members) - MAX_LISTED:,} more")
        return lines

    def _linked(self, one: JudgedPredicate) -> str:
        """What the nodes that a link leads to are."""
        figures = one.figures
        if not figures.linked or figures.nodes <= 0.5:
            return ""
        blank = f"{figures.blank:.0%} of the linked nodes are blank" if figures.blank else ""
        if figures.blank == 1:
            return f", {blank}, and {figures.labelled:.0%} of them have a label"
        labelled = f"{figures.labelled:.0%} of the {'others' if blank else 'linked nodes'} have a label"
        return f", {blank}, {labelled}" if blank else f", {labelled}"

    def _named(self, one: JudgedPredicate) -> str:
        """A predicate, with its label where its local name is a code."""
        name = self.name(one.figures.iri)
        return f"{name} ({_short(one.figures.label)})" if one.figures.is_code else name

    def _about_count(self, n: int) -> str:
        return f"about {n:,}" if self.choice.figures.is_estimated else f"{n:,}"

    def _languages(self, one: JudgedPredicate) -> Iterable[str]:
        if not one.languages:
            return []
        shown = ", ".join(f"{tag} {share:.0%}" for tag, share in one.languages[:5])
        keep = f'; hk:languages ( "{one.languages[0][0]}" ) keeps one' if len(one.languages) > 1 else ""
        return [f"languages {shown}, each stemmed as its own{keep}"]

    def _example(self, one: JudgedPredicate) -> str:
        terms: Sequence[Term] = one.figures.literals or one.figures.linked
        if not terms:
            return ""
        term = terms[len(terms) // 2]
        label = self.label_of(term)
        if isinstance(term, NamedNode) and not label:
            return f"; e.g. {self.name(term.value)}"
        if isinstance(term, BlankNode):
            return ""
        return f'; e.g. "{_short(label or str(getattr(term, "value", term)))}"'

    def name(self, iri: str) -> str:
        """An IRI in Turtle."""
        text = shortened(iri, self.prefixes)
        if not text.startswith("<"):
            self.used.add(text.partition(":")[0])
        return text


def _short(text: str) -> str:
    """A text in a comment, which ends with the line, whatever the text has for line ends."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= MAX_EXAMPLE_LENGTH else text[: MAX_EXAMPLE_LENGTH - 1] + "…"


_LONG_TEXT = "hk:text hk:Strings ; hk:weight 0.5 ; hk:b 0.75"
"""Names weigh six times as much, as in the default profile; docs/profiles.md has what other weights do."""

_OWN_LINK = "hk:text hk:Labels ; hk:weight 0.5 ; hk:b 0.75"
