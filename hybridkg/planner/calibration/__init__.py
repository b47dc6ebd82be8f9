"""Calibration: unit costs of this machine and of its servers."""
