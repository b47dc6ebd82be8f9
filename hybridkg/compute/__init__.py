"""Compiled kernels, loaded when they pay, and worker processes."""
