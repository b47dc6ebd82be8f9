"""The contrastive loss of bi-encoders, with in-batch negatives. Imports torch.

Karpukhin et al., "Dense passage retrieval for open-domain question answering" (EMNLP 2020), equation 2. The documents
of the other questions of a batch are wrong ones, unless they are right: those are masked.
tests/vector/training/test_contrastive.py has a loss worked by hand.
"""

from __future__ import annotations

from typing import Any

import torch

SCALE = 20.0
"""Factor of a cosine, as in sentence-transformers; 1 would let no probability come near 1."""


def contrastive_loss(questions: Any, documents: Any, target: Any, masked: Any, scale: float = SCALE) -> Any:
    """Mean over the questions of -ln of the softmax of the right document.

    Args:
        questions: float32[b, d] of length 1.
        documents: float32[n, d] of length 1.
        target: int64[b], the column of the right document of each question.
        masked: bool[b, n], documents that do not count for a question: right ones beside its target.
        scale: factor of the cosine.
    """
    scores = scale * questions @ documents.T
    return torch.nn.functional.cross_entropy(scores.masked_fill(masked, float("-inf")), target)
