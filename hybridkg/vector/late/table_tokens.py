"""Token vectors of an encoder with a table of tokens, such as `model2vec`: they do not depend on the text around them.

The vectors of a question keep their length, which such a table makes small for frequent tokens; so these count less,
as with an idf. Those of documents have length 1, each token once, because a maximum does not count repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridkg.interfaces.encoder import TokenTable, Vectors
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.late.token_model import QuestionTokens


class TableTokens:
    """A TokenModel by an encoder of the knowledge base."""

    def __init__(self, encoder: TokenTable):
        self._encoder = encoder

    @property
    def fingerprint(self) -> str:
        return self._encoder.name

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    def question(self, text: str) -> QuestionTokens:
        names, vectors = self._encoder.tokens(text)
        return QuestionTokens(tuple(names), vectors)

    def documents(self, texts: Sequence[str]) -> list[Vectors]:
        found = []
        for text in texts:
            names, vectors = self._encoder.tokens(text)
            first = [names.index(name) for name in dict.fromkeys(names)]
            found.append(unit(np.asarray(vectors[first])))
        return found
