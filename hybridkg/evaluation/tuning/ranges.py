"""Search spaces of the ranking models: parameters and ranges as data. A new model is one entry here.

Only w_f/k1 of BM25F matters, up to scale, so k1 is fixed and log w_f is searched: one parameter fewer, and steps of
equal effect everywhere. The weights of a mixture sum to 1. FSDM is learned in stages, as by its authors: the field
weights for words, for phrases and for windows, each with the other two kinds switched off, then the factors of the
kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hybridkg.config.model_parameters import WEIGHT
from hybridkg.registry import Registry

LINEAR, LOG, SHARE = "linear", "log", "share"
"""Scales: steps are added, or multiplied; when a share moves, the others of its stage change in proportion."""

FIELD, MODEL, LENGTH = "field", "model", "length"
"""Owners: a number for each field; one number; one factor of the default mu of each smoothed text."""


@dataclass(frozen=True)
class Range:
    """The range of a parameter.

    Args:
        name: argument of the model or of a field, or `weight` of a field.
        low, high: bounds.
        step: the first step: an amount, a factor (log) or a part of the whole (share).
        scale: LINEAR, LOG or SHARE.
        of: FIELD, MODEL or LENGTH.
        start: the model's default; those of fields come from the profile, that of a factor is 1.
        smoothing: the kind of smoothing that uses it; empty for every kind.
    """

    name: str
    low: float
    high: float
    step: float
    scale: str = LINEAR
    of: str = FIELD
    start: float = 1.0
    smoothing: str = ""


@dataclass(frozen=True)
class Stage:
    """Parameters that are searched together; `pinned` has arguments of the model and their values meanwhile."""

    name: str
    ranges: tuple[Range, ...]
    pinned: Mapping[str, float] = field(default_factory=dict)


MU = Range("mu", 0.02, 50, 4, LOG, LENGTH, smoothing="dirichlet")
LAMBDA = Range("lambda", 0.001, 1, 4, LOG, MODEL, start=0.1, smoothing="jm")
SMOOTHING = (MU, LAMBDA)

WEIGHTS = Range(WEIGHT, 0, 1, 0.2, SHARE)
FACTORS = tuple(
    Range(name, 0, 1, 0.2, SHARE, MODEL, start)
    for name, start in [("terms", 0.8), ("ordered", 0.1), ("unordered", 0.1)]
)

K1 = Range("k1", 0.05, 20, 3, LOG, MODEL, start=1.2)
B = Range("b", 0, 1, 0.25, LINEAR, MODEL, start=0.75)


def _only(kind: str) -> dict[str, float]:
    return {factor.name: float(factor.name == kind) for factor in FACTORS}


BM25F = (Stage("all", (Range(WEIGHT, 0.005, 200, 4, LOG), Range("b", 0, 1, 0.25))),)
BM25 = (Stage("all", (K1, B)),)
COMBINED_FIELDS = (Stage("all", (Range(WEIGHT, 1, 50, 3, LOG), K1, B)),)
LM = (Stage("all", SMOOTHING),)
MLM = (Stage("all", (WEIGHTS, *SMOOTHING)),)
PRMS = (Stage("all", SMOOTHING),)
SDM = (Stage("all", (*FACTORS, *SMOOTHING)),)
FSDM = (
    Stage("words", (WEIGHTS, *SMOOTHING), _only("terms")),
    Stage("phrases", (Range("ordered", 0, 1, 0.2, SHARE),), _only("ordered")),
    Stage("windows", (Range("unordered", 0, 1, 0.2, SHARE),), _only("unordered")),
    Stage("kinds", FACTORS),
)

ELR_FACTORS = (("terms", 0.8), ("ordered", 0.05), ("unordered", 0.05), ("entities", 0.1))
ELR = (Stage("kinds", tuple(Range(name, 0, 1, 0.1, SHARE, MODEL, start) for name, start in ELR_FACTORS)),)

_HERE = "hybridkg.evaluation.tuning.ranges:"

SEARCH_SPACES = Registry(
    "search space for the model",
    "hybridkg.search_spaces",
    {
        "bm25": _HERE + "BM25",
        "bm25f": _HERE + "BM25F",
        "combined_fields": _HERE + "COMBINED_FIELDS",
        "elr": _HERE + "ELR",
        "fsdm": _HERE + "FSDM",
        "lm": _HERE + "LM",
        "mlm": _HERE + "MLM",
        "prms": _HERE + "PRMS",
        "sdm": _HERE + "SDM",
    },
)
"""Tuples of Stage by model; a plug-in adds its own."""
