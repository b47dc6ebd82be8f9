"""Experiments: systems that rank the same topics, with evaluation, comparison and report."""

from __future__ import annotations

from hybridkg.evaluation.experiment.experiment import Experiment
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome

__all__ = ["Experiment", "ExperimentOutcome"]
