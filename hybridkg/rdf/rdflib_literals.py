"""Literals of rdflib that are made without its warning.

rdflib reads the value of a literal with Python's datetime, and logs a traceback for each that it cannot hold, such as a
year before the common era. The literal is right, with its lexical form and without a Python value, so there is nothing
to warn of. Literals that the user's own code makes are logged as ever.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdflib.term import Literal, URIRef

_WARNING = "Failed to convert Literal lexical form"


class _OwnConversions(logging.Filter):
    """Drops the warning of rdflib about a literal that this module makes, in the same thread."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        return not (getattr(self.thread, "converts", False) and record.getMessage().startswith(_WARNING))


_FILTER = _OwnConversions()
logging.getLogger("rdflib.term").addFilter(_FILTER)


def typed_literal(text: str, datatype: URIRef) -> Literal:
    """The rdflib literal of a lexical form, which stays as it is.

    >>> from rdflib import XSD
    >>> typed_literal("-0043-03-15", XSD.date).n3()
    '"-0043-03-15"^^<http://www.w3.org/2001/XMLSchema#date>'
    """
    import rdflib

    _FILTER.thread.converts = True
    try:
        return rdflib.Literal(text, datatype=datatype, normalize=False)
    finally:
        _FILTER.thread.converts = False
