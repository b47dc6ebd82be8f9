"""A prefixed name that is shown can be copied into a query, where it is the same IRI."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.known_prefixes import known_prefixes, why_not_kept
from hybridkg.rdf.terms import NamedNode, Triple
from hybridkg.rdf.well_known import abbreviation, prefix_lines
from hybridkg.results.iri_names import IriNames

names = st.text("ab-_.1\u00e9:", max_size=4)
namespaces = st.builds("http://{}".format, st.text("ab/#-.%", min_size=1, max_size=6))
locals_ = st.text("ab1-_.:/#%(\u00e9\\ ", max_size=8)


def is_iri(text: str) -> bool:
    try:
        NamedNode(text)
    except ValueError:
        return False
    return True


@given(st.dictionaries(names, namespaces.filter(is_iri), max_size=4), namespaces, locals_)
def test_an_abbreviation_is_read_back_as_the_same_iri(prefixes, namespace, local):
    kept = {name: iri for name, iri in prefixes.items() if not why_not_kept(name, iri)}
    iri = next(iter(kept.values()), namespace) + local
    if not is_iri(iri):
        return
    known = known_prefixes(kept)
    short = abbreviation(iri, known.under(()))
    if short:
        text = "\n".join(prefix_lines(kept)) + f" SELECT * {{ ?x ?p {short} }}"
        assert parse(text).form.where.elements[0].items[0].object == ast.Iri(iri)
        assert len(short) < len(iri) + 2


def test_the_terms_of_a_triple_term_are_abbreviated():
    a, p = NamedNode("http://e/a"), NamedNode("http://f/p")
    assert IriNames({"e": "http://e/"}, {}).term(Triple(a, p, Triple(a, p, a))) == (
        "<<( e:a <http://f/p> <<( e:a <http://f/p> e:a )>> )>>"
    )
