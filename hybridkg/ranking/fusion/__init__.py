"""Fusion functions: functions of RANK BY that read every surviving score."""
