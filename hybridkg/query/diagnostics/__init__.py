"""Help for common mistakes: documentation, look-up table and test data in one.

Each example is a query with one mistake. The parser's state at the mistake and the kind of the token select the
message, so a PREFIX line or a longer query around the same mistake changes nothing.
"""

from __future__ import annotations

from hybridkg.query.diagnostics.columns import COLUMNS
from hybridkg.query.diagnostics.entry import Help
from hybridkg.query.diagnostics.expressions import EXPRESSIONS
from hybridkg.query.diagnostics.patterns import PATTERNS
from hybridkg.query.diagnostics.ranking import RANKING
from hybridkg.query.diagnostics.triple_terms import TRIPLE_TERMS
from hybridkg.query.diagnostics.updates import UPDATES
from hybridkg.query.diagnostics.vectors import VECTORS

__all__ = ["HELP", "Help"]

HELP: tuple[Help, ...] = (*PATTERNS, *RANKING, *VECTORS, *COLUMNS, *EXPRESSIONS, *TRIPLE_TERMS, *UPDATES)
