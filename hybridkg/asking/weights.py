"""The weights of the formulas, and what was learned from questions with known queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hybridkg.asking.lexicon import Signature


@dataclass(frozen=True)
class Weights:
    """Weights of paths and of the beam; those of the specification, not learned.

    Args:
        cue: of the words around a mention.
        learned: of the log-odds of a path in training questions.
        hop: of each step beyond the first, subtracted.
        reach: of log10(1 + number of answers), subtracted.
        joined: of a constraint that leaves some answers.
        covered: of the idf share of the words that mentions cover.
        log_odds: of paths, from training.
    """

    cue: float = 2.0
    learned: float = 0.5
    hop: float = 0.7
    reach: float = 0.3
    joined: float = 1.5
    covered: float = 0.5
    log_odds: Mapping[Signature, float] = field(default_factory=dict)


DEFAULT_WEIGHTS = Weights()
