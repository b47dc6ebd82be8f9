"""Sum of maximum similarities of late interaction.

    score(q, d) = sum over the tokens i of q of the maximum over the tokens j of d of  q_i . d_j

Source: Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over
BERT" (SIGIR 2020), equation 3; Santhanam et al., "ColBERTv2" (NAACL 2022) keeps it. Every document is one matrix
product of its own, so its score does not depend on the other candidates, and memory is that of one document.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.encoder import Vectors

WITHOUT_TOKENS = -1.0
"""Maximum for a document without tokens: the least similarity of two vectors of length 1."""


def maxima(question: Vectors, document: Vectors) -> NDArray[np.float64]:
    """The summands of a score.

    Args:
        question: float32[tokens, dimensions].
        document: float32[tokens, dimensions], perhaps without a token.

    Returns:
        float64[tokens of the question], the similarity of each to the most similar token of the document.

    For two tokens of the question, the first of which is 0.6 and 0.8 like those of the document:

    >>> question = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    >>> document = np.array([[0.6, 0.8], [0.8, -0.6]], np.float32)
    >>> maxima(question, document).round(4).tolist()
    [0.8, 0.8]
    """
    if not len(document):
        return np.full(len(question), WITHOUT_TOKENS)
    # A BLAS would share so small a product between threads, which takes ten times as long beside other work.
    similar: NDArray[np.float64] = np.einsum("td,qd->qt", document, question).max(axis=1).astype(np.float64)
    return similar
