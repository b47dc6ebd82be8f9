"""The compiled loops of this folder, for all of its files."""

from __future__ import annotations

from hybridkg.compute.kernels import LazyKernel

KERNEL = LazyKernel("hybridkg.graph.match.neighbours_kernel", background=True)
