"""Predicates whose names say that their values identify: numbers of theirs count nothing."""

from __future__ import annotations

from hybridkg.entities.profile.labels import local_name

IDENTIFYING = frozenset(
    (
        *("accession", "asin", "barcode", "code", "doi", "ean", "gtin", "id", "identifier", "ids", "inchi", "inchikey"),
        *("iri", "isbn", "isin", "issn", "key", "mpn", "nr", "number", "orcid", "pmcid", "pmid", "serial", "sku"),
        *("upc", "uri", "url", "uuid", "vat", "viaf", "zip"),
    )
)
"""Last words of such names, in lower case."""


def says_identifier(name: str) -> bool:
    """Whether the last word of a name, digits aside, is one for identifiers; the first, too, if it is `id`.

    >>> [says_identifier(name) for name in ("partNumber", "GTIN-13", "id_local", "numberOfPages", "price")]
    [True, True, True, False, False]
    """
    words = [word for word in local_name(f"x:{name}").lower().split() if not word.isdigit()]
    words = [word.rstrip("0123456789") for word in words]
    return bool(words) and (words[-1] in IDENTIFYING or words[0] in ("id", "identifier"))
