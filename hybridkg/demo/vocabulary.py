"""The vocabulary of the package graph, https://w3id.org/hybridkg/packages#.

Package            a distribution, installed or only required; its IRI is its page on the package index
  rdfs:label       its name
  version, summary, description (long, without markup), keyword, pythonRequires, module (importable), extra,
  requirement (as written, with versions and markers): literals; a package that is required but not installed
                   has none of them
  requires         -> Package, always needed
  conditionalRequires -> Package, needed only in some environments (a marker such as python_version < "3.11")
  optionalRequires -> Package, needed by an extra
  author, maintainer -> Person;  licence -> Licence;  classifier -> Classifier;  topic -> Topic
  homepage, link   -> web pages
Topic              a classifier below "Topic"; broader -> the Topic above it
"""

from __future__ import annotations

import re
from urllib.parse import quote

from hybridkg.rdf.terms import NamedNode

PK = "https://w3id.org/hybridkg/packages#"
RESOURCE = "https://w3id.org/hybridkg/packages/"
PACKAGE_INDEX = "https://pypi.org/project/"
RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")

MAX_IRI_LENGTH = 500
"""Maximum length of a web address; a longer one is left out."""


def term(name: str) -> NamedNode:
    """A class or property of the vocabulary."""
    return NamedNode(PK + name)


def package_iri(name: str) -> NamedNode:
    """The IRI of a package; names that are equal on the package index have one IRI.

    >>> package_iri("Typing_Extensions").value
    'https://pypi.org/project/typing-extensions'
    """
    return NamedNode(PACKAGE_INDEX + quote(re.sub(r"[-_.]+", "-", name).lower(), safe=""))


def resource_iri(kind: str, label: str) -> NamedNode:
    """The IRI of a person, licence or classifier, from its label.

    >>> resource_iri("person", "Zoë  Doe").value
    'https://w3id.org/hybridkg/packages/person/Zo%C3%AB_Doe'
    """
    return NamedNode(f"{RESOURCE}{kind}/{quote('_'.join(label.split()))}")


def web_page(url: str) -> NamedNode | None:
    """The IRI of a web address, percent-encoded where IRIs require it; None for any other text.

    >>> web_page("https://example.org/a b").value
    'https://example.org/a%20b'
    """
    url = url.strip()
    if len(url) > MAX_IRI_LENGTH or not re.match(r"https?://[^\s/]", url):
        return None
    try:
        return NamedNode(quote(url, safe="/:?#[]@!$&'()*+,;=%-._~"))
    except ValueError:
        return None
