"""Mappings in RML: both vocabularies, the term maps of single rows, and what is left to morph-kgc."""

from __future__ import annotations

import re

import pytest

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.inputs import opened_tables, table_sources
from hybridkg.tables.mapping import RDF_TYPE, PropertyMap, TermMap, constant_iri, literal_of
from hybridkg.tables.rml_reader import read_rml
from hybridkg.tables.yarrrml_reader import BeyondRowsError

EX = "http://e.org/"
OLD = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://e.org/> .
<#Films> rml:logicalSource [ rml:source "films.csv" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://e.org/{id}" ; rr:class ex:Film ] ;
"""
PAIRS = """
  rr:predicateObjectMap [ rr:predicate ex:a ; rr:objectMap [ rml:reference "title" ; rr:language "EN" ] ] ,
    [ rr:predicate ex:b ; rr:objectMap [ rml:reference "year" ; rr:datatype xsd:integer ] ] ,
    [ rr:predicate ex:c ; rr:objectMap [ rr:template "http://e.org/p/{a}-{b}\\\\{\\\\}" ] ] ,
    [ rr:predicate ex:d ; rr:objectMap [ rml:reference "page" ; rr:termType rr:IRI ] ] ,
    [ rr:predicateMap [ rr:constant ex:e ] ; rr:object ex:x , "y"@de ] ,
    [ rr:predicate ex:f , ex:g ; rr:objectMap [ rr:template "{a} of {b}" ; rr:termType rr:Literal ] ] .
"""


def read(tmp_path, text):
    path = tmp_path / "m.ttl"
    path.write_text(text)
    return read_rml(path)


@pytest.mark.parametrize("is_new", [False, True])
def test_term_maps_in_both_vocabularies(tmp_path, is_new):
    text = OLD + PAIRS
    if is_new:
        text = re.sub(r"<http://(www.w3.org/ns/r2rml#|semweb.mmlab.be/ns/(rml|ql)#)>", "<http://w3id.org/rml/>", text)
        text = text.replace('rml:source "films.csv"', 'rml:source [ a rml:RelativePathSource ; rml:path "films.csv" ]')
    (films,) = read(tmp_path, text).tables
    assert (films.name, films.source, films.part) == ("Films", "films.csv", "")
    assert films.subject == TermMap((EX, "id", ""), ValueKind.IRI)
    assert films.properties == (
        PropertyMap((RDF_TYPE,), constant_iri(EX + "Film")),
        PropertyMap((EX + "a",), literal_of("title", ValueKind.STRING, language="en")),
        PropertyMap((EX + "b",), literal_of("year", ValueKind.INTEGER)),
        PropertyMap((EX + "c",), TermMap((EX + "p/", "a", "-", "b", "{}"), ValueKind.IRI)),
        PropertyMap((EX + "d",), literal_of("page", ValueKind.IRI)),
        PropertyMap((EX + "e",), constant_iri(EX + "x")),
        PropertyMap((EX + "e",), TermMap(("y",), language="de")),
        PropertyMap((EX + "f", EX + "g"), TermMap(("", "a", " of ", "b", ""))),
    )


@pytest.mark.parametrize(
    "text",
    [
        OLD + "rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:parentTriplesMap <#Other> ] ] .",
        OLD
        + "rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rr:template 'x' ; rr:termType rr:BlankNode ] ] .",
        OLD.replace("ql:CSV", "ql:XPath") + PAIRS,
        OLD.replace("rr:class ex:Film", "rr:graph ex:g") + PAIRS,
    ],
)
def test_what_is_left_to_morph_kgc(tmp_path, text):
    with pytest.raises(BeyondRowsError):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a> <b", "not valid Turtle"),
        ("<http://e/a> <http://e/b> 1 .", "no mapping in RML: nothing has a logical source"),
        (OLD + 'rr:predicateObjectMap [ rr:object "x" ] .', "has no predicate"),
        (OLD.replace("{id}", "{id") + PAIRS, "'{id' in a template is not closed"),
        (OLD.replace('rml:source "films.csv" ;', "") + PAIRS, "no source where one is needed"),
    ],
)
def test_what_is_wrong(tmp_path, text, message):
    with pytest.raises(LoadError, match=message):
        read(tmp_path, text)


EVIL = "\\u003E\\u0020\\u003Chttp://evil/p\\u003E\\u0020\\u003Chttp://evil/o\\u003E\\u0020.\\u000A\\u003Chttp://evil/s"


@pytest.mark.parametrize(
    "pair",
    [
        f"rr:predicate <http://e/p{EVIL}> ; rr:object ex:x",
        f"rr:predicate ex:p ; rr:object <http://e/o{EVIL}>",
        f'rr:predicate ex:p ; rr:objectMap [ rml:reference "id" ; rr:datatype <http://e/d{EVIL}> ]',
        f'rr:predicate ex:p ; rr:objectMap [ rr:template "http://e/{{id}}{EVIL}" ]',
        'rr:predicate ex:p ; rr:objectMap [ rml:reference "id" ; rr:language "en . <x:a> <x:b> \\"x\\"@en" ]',
        'rr:predicate ex:p ; rr:objectMap [ rr:template "relative/{id}" ]',
    ],
)
def test_no_constant_of_a_mapping_ends_its_term_and_begins_a_triple(tmp_path, pair):
    (tmp_path / "films.csv").write_text("id\n1\n")
    mapping = read(tmp_path, f"{OLD} rr:predicateObjectMap [ {pair} ] .")
    with pytest.raises(LoadError, match=r"is no (IRI|language tag)"):
        table_sources(opened_tables([tmp_path / "films.csv"]), mapping)
